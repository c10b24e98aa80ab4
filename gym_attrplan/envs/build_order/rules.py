"""The rules of the economy: products, costs and positions.

The numbers are Brood War's. A step lasts ``frames_per_step`` of its frames, and all durations are
rounded to whole steps. A cell of the map is a build tile: 32 pixels, or 4 walk tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.build_order.tasks import CountTargets
from gym_attrplan.envs.goals import read_task
from gym_attrplan.error import InvalidEnvironment

IntArray = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int16]

ORE_UNIT, ORE_LEVELS = 25, 41
"""The attribute ``ore`` is ``min(ore // 25, 40)``."""

START_ORE, START_SCVS, CENTRE_SUPPLY = 50, 4, 10
CARGO, DRILL_FRAMES, FRAMES_PER_CELL = 8, 80, 6
MAP_SIZE, CENTRE, REACH = 32, 16, 8
"""Cells along a side, the command centre's column and row, and an SCV's building distance."""

CENTRE_FOOTPRINT = (4, 3)
N_SIDES = 4


class Kind(IntEnum):
    """Units that act."""

    SCV = 0
    CENTRE = 1
    BARRACKS = 2


class Job(IntEnum):
    """Current activity of a unit."""

    IDLE = 0
    TO_PATCH = 1
    DRILLING = 2
    RETURNING = 3
    TO_SITE = 4
    MAKING = 5


LEAVABLE = (Job.IDLE, Job.TO_PATCH, Job.RETURNING)
"""Jobs that another order can interrupt; drilling and making are completed."""

WAIT, RIGHT, DOWN, LEFT, UP, MINE, FIRST_ORDER = range(7)
"""The first actions of every version; action ``FIRST_ORDER + i`` makes product i."""

MOVES: Cells = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.int16)


@dataclass(frozen=True)
class Product:
    """Product of the economy.

    Attributes:
        name: Also the attribute's name.
        ore: Cost.
        frames: Duration, in frames.
        supply: Supply used; below 0, supply provided.
        maker: Kind of unit that makes it: SCVs build, buildings train.
        requires: A finished product without which it is refused.
        footprint: Width and height in cells; ``(0, 0)`` for mobile units.
        cap: Maximum number; orders beyond it are refused.
        limit: Maximum number in a task's goals; None leaves it free.
    """

    name: str
    ore: int
    frames: int
    supply: int
    maker: Kind
    requires: str | None
    footprint: tuple[int, int]
    cap: int
    limit: int | None


_SMALL = (
    Product("scv", 50, 300, 1, Kind.CENTRE, None, (0, 0), 10, None),
    Product("depot", 100, 600, -8, Kind.SCV, None, (3, 2), 4, 3),
    Product("barracks", 150, 1200, 0, Kind.SCV, None, (4, 3), 3, 2),
    Product("marine", 50, 360, 1, Kind.BARRACKS, "barracks", (0, 0), 6, 4),
)
_LARGE = (
    *_SMALL,
    Product("engineering_bay", 125, 900, 0, Kind.SCV, None, (4, 3), 3, 2),
    Product("turret", 75, 450, 0, Kind.SCV, "engineering_bay", (2, 2), 3, 2),
)
VERSIONS: dict[str, tuple[Product, ...]] = {"small": _SMALL, "large": _LARGE}

# For minerals in the east; other sides are rotations about the centre.
_PATCHES = [(8, y) for y in range(-7, 8, 2)]
_SITES = [
    *[(0, y) for y in (-5, 5, -9, 9)],
    *[(-5, y) for y in (0, -4, 4, -8, 8)],
    *[(-10, y) for y in (0, -4, 4, -8, 8)],
    *[(4, y) for y in (-9, 9)],
]


@dataclass(frozen=True)
class Starts:
    """Starts of episodes.

    Attributes:
        sides: ``(n,)`` side of the minerals: 0 to 3 for east, south, west, north.
        scvs: ``(n, 4, 2)`` the first SCVs' columns and rows.
    """

    sides: IntArray
    scvs: Cells

    def __len__(self) -> int:
        return len(self.sides)

    def __getitem__(self, rows: Any) -> Starts:
        """Return the chosen starts; one number gives a batch of one."""
        chosen = np.atleast_1d(rows)
        return Starts(self.sides[chosen], self.scvs[chosen])

    @classmethod
    def draw(cls, n: int, rng: np.random.Generator) -> Starts:
        """Draw starts with minerals on any side, and SCVs around the command centre."""
        around = CENTRE + rng.integers(-2, 3, size=(n, START_SCVS, 2))
        return cls(rng.integers(N_SIDES, size=n), around.astype(np.int16))


@dataclass(frozen=True)
class EconomyRules:
    """One version of the economy.

    Args:
        version: ``"small"``: SCVs, depots, barracks and marines; ``"large"``: engineering bays and
            missile turrets as well.
        frames_per_step: Number of frames of the game in a step; 23.81 frames are a second.

    Raises:
        InvalidEnvironment: On another version, or a step too short or too long for the map.

    Example:
        >>> rules = EconomyRules("small")
        >>> rules.actions[5:]
        ('mine', 'train scv', 'build depot', 'build barracks', 'train marine')
        >>> rules.attributes
        {'ore': 41, 'scv': 11, 'depot': 5, 'barracks': 4, 'marine': 7}
        >>> rules.walk, rules.drill_steps, rules.steps.tolist()
        (2, 7, [25, 50, 100, 30])
    """

    version: str = "small"
    frames_per_step: int = 12

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise InvalidEnvironment(
                f"version is one of {list(VERSIONS)}; received {self.version!r}."
            )
        if not FRAMES_PER_CELL <= self.frames_per_step <= 8 * FRAMES_PER_CELL:
            raise InvalidEnvironment(
                f"frames_per_step is from {FRAMES_PER_CELL} (a cell's walk) to "
                f"{8 * FRAMES_PER_CELL} (the walk to the minerals); "
                f"received {self.frames_per_step!r}."
            )

    # --- products, attributes and actions ---------------------------------------------------

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """The products, in the order of the attributes after ``ore``."""
        return VERSIONS[self.version]

    @cached_property
    def attributes(self) -> dict[str, int]:
        """Arguments of :class:`~gym_attrplan.AttributeSpace`: name → number of values."""
        return {"ore": ORE_LEVELS, **{one.name: one.cap + 1 for one in self.products}}

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions; all units share the numbering, and masks give the legal ones."""
        verbs = ["build" if one.maker == Kind.SCV else "train" for one in self.products]
        orders = [f"{verb} {one.name}" for verb, one in zip(verbs, self.products, strict=True)]
        return ("wait", "right", "down", "left", "up", "mine", *orders)

    def sampler(self, task: str) -> CountTargets:
        """Return the goals of a task: ``counts``, or with limits ``counts<=d``, ``counts==d``."""
        limits = [one.limit for one in self.products]
        least, most = read_task(task, "counts", max(limit for limit in limits if limit))
        requires = tuple(None if i < 0 else 1 + int(i) for i in self.requires)
        return CountTargets((None, *limits), (None, *requires), least=least, most=most)

    # --- the products as arrays -------------------------------------------------------------

    @cached_property
    def ore(self) -> IntArray:
        """``(n_products,)`` costs."""
        return np.array([one.ore for one in self.products])

    @cached_property
    def steps(self) -> IntArray:
        """``(n_products,)`` durations."""
        return np.array([self._in_steps(one.frames) for one in self.products])

    @cached_property
    def supply(self) -> IntArray:
        """``(n_products,)`` supply used."""
        return np.array([max(one.supply, 0) for one in self.products])

    @cached_property
    def supply_given(self) -> IntArray:
        """``(n_products,)`` supply given once finished."""
        return np.array([max(-one.supply, 0) for one in self.products])

    @cached_property
    def caps(self) -> IntArray:
        """``(n_products,)`` maximum numbers."""
        return np.array([one.cap for one in self.products])

    @cached_property
    def requires(self) -> IntArray:
        """``(n_products,)`` number of the product required; -1 for none."""
        names = [one.name for one in self.products]
        return np.array(
            [names.index(one.requires) if one.requires else -1 for one in self.products]
        )

    # --- units and time ---------------------------------------------------------------------

    @cached_property
    def kinds(self) -> IntArray:
        """``(n_slots,)`` the kind of each unit slot: SCVs, the command centre, barracks."""
        caps = {one.name: one.cap for one in self.products}
        counts = (caps["scv"], 1, caps["barracks"])
        return np.repeat(np.array(list(Kind)), counts)

    @cached_property
    def n_slots(self) -> int:
        """Number of unit slots."""
        return len(self.kinds)

    def first_slot(self, kind: Kind) -> int:
        """Return the slot of a kind's first unit."""
        return int(np.argmax(self.kinds == kind))

    @cached_property
    def n_scvs(self) -> int:
        """Number of SCV slots, which come first."""
        return self.first_slot(Kind.CENTRE)

    @cached_property
    def slot_names(self) -> tuple[str, ...]:
        """The units' names: ``scv_0``, …, ``command_centre_0``, ``barracks_0``, …."""
        names = {Kind.SCV: "scv", Kind.CENTRE: "command_centre", Kind.BARRACKS: "barracks"}
        kinds = [Kind(kind) for kind in self.kinds]
        return tuple(f"{names[kind]}_{i - self.first_slot(kind)}" for i, kind in enumerate(kinds))

    @cached_property
    def walk(self) -> int:
        """Number of cells that an SCV walks in a step."""
        return round(self.frames_per_step / FRAMES_PER_CELL)

    @cached_property
    def drill_steps(self) -> int:
        """Number of steps that an SCV drills for a load."""
        return self._in_steps(DRILL_FRAMES)

    def _in_steps(self, frames: int) -> int:
        return max(1, round(frames / self.frames_per_step))

    # --- the map ----------------------------------------------------------------------------

    @cached_property
    def patches(self) -> Cells:
        """``(4, n_patches, 2)`` the mineral patches, for minerals on each side."""
        return _turned(_PATCHES)

    @cached_property
    def sites(self) -> Cells:
        """``(4, n_sites, 2)`` the building sites."""
        return _turned(_SITES)

    @cached_property
    def reach(self) -> IntArray:
        """``(4, columns, rows)`` the sites that an SCV reaches from a cell, bit i for site i."""
        near = np.abs(self.sites[:, :, :, None] - np.arange(MAP_SIZE)) <= REACH
        both = near[:, :, 0, :, None] & near[:, :, 1, None, :]  # side, site, column, row
        bits: IntArray = np.einsum("sixy,i->sxy", both, 1 << np.arange(len(_SITES)))
        return bits


def _turned(offsets: list[tuple[int, int]]) -> Cells:
    """Return cells for minerals in the east, south, west and north."""
    sides = [np.array(offsets)]
    for _ in range(N_SIDES - 1):
        x, y = sides[-1].T
        sides.append(np.stack([-y, x], axis=1))
    return (CENTRE + np.stack(sides)).astype(np.int16)
