"""DropTable: physics of blocks dropped anywhere on a table, and the attributes of their poses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from gym_attrplan.envs.blocks.rules import PITCH, SIDE, Attributes, BlocksRules
from gym_attrplan.envs.blocks.scene import FLOOR, MARGIN, BlockScene, upright
from gym_attrplan.error import InvalidEnvironment

DROP_HEIGHT = 1.5
"""Height of a dropped block's centre above the table's top, in sides of the table."""

APART = SIDE / 2
"""Minimum distance of centres for one block to be left of or in front of another, in metres."""

ABOVE = SIDE / 2
"""Minimum height of a block's centre above that of a touching block it is on, in metres."""

BESIDE = SIDE
"""Maximum horizontal distance from that block, along x and along y, in metres."""

MAX_TIME = 3.0
"""Maximum simulated time for the blocks to come to rest, in seconds."""

N_NUMBERS = 9
"""Number of values in an observation for each block."""

_GRAVITY = 9.81
_CONTACT_TIME = 0.02  # blocks land at 3 m/s: with 0.01 they would bounce off other blocks
_HEADROOM = 1.5 * SIDE  # two blocks whose centres differ by this much in height cannot touch
_CLEARANCE = 1.4 * SIDE  # nor can two that differ by this much along x or y

_CUBE = Rotation.create_group("O").as_matrix()  # the 24 rotations that map a cube to itself

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Outcome:
    """Result of a drop.

    Attributes:
        moved: Whether the block was free to be lifted.
        settled: Whether the blocks came to rest in time; if not, they were stopped.
        fallen: Numbers of the blocks that left the table and were put back on it.
    """

    moved: bool
    settled: bool
    fallen: tuple[int, ...]


class DropTable:
    """Blocks at rest on a table, with physics of drops.

    Places on the table are ``(x, y)`` from 0 to 1, x to the right and y away from the camera. A
    block is dropped square to the table, with its centre 1.5 sides of the table above the top. It
    may slide, tip and push others. A block that leaves the table is put back flat on a random free
    spot. All random numbers come from the given generator. Equal drops from equal poses have equal
    results.

    Args:
        rules: The blocks and their names; ``rules.grid`` is the number of cells along a side.

    Raises:
        InvalidEnvironment: If the table has fewer than 3 cells along a side, since a fallen block
            might then have no free spot.
        DependencyNotInstalled: If MuJoCo is missing.

    Example:
        >>> table = DropTable(BlocksRules(n_blocks=2))
        >>> rng = np.random.default_rng(0)
        >>> _ = table.start(rng)
        >>> _ = table.drop(1, (0.5, 0.5), rng)
        >>> table.drop(0, (0.52, 0.5), rng)
        Outcome(moved=True, settled=True, fallen=())
        >>> dict(zip(table.rules.attributes, table.attributes.tolist()))["on(red, green)"]
        1
        >>> table.drop(1, (0.1, 0.1), rng)  # green is covered now
        Outcome(moved=False, settled=True, fallen=())
    """

    def __init__(self, rules: BlocksRules) -> None:
        if rules.grid < 3:
            raise InvalidEnvironment(
                f"grid must be 3 to 6 where blocks drop anywhere; received {rules.grid}."
            )
        self.rules = rules
        self.side = rules.grid * PITCH
        self.scene = BlockScene(
            rules.colors, rules.grid, contact_time=_CONTACT_TIME, overhang=SIDE / 2
        )
        self.place(upright(rules.centers(np.arange(rules.n_blocks), np.zeros(rules.n_blocks))))

    def place(self, poses: npt.ArrayLike) -> None:
        """Put the blocks at earlier resting poses: ``(n_blocks, 7)``, see :class:`BlockScene`."""
        self.scene.place(poses)
        self._read()

    def start(self, rng: np.random.Generator) -> Outcome:
        """Drop all blocks in random order on random places of the empty table."""
        n_blocks = self.rules.n_blocks
        # Blocks that are not dropped yet are on the floor, far away.
        waiting = [[10 + block, 0, FLOOR + SIDE / 2] for block in range(n_blocks)]
        self.scene.place(upright(waiting))
        outcomes = []
        done: list[int] = []
        for block in rng.permutation(n_blocks).tolist():
            done.append(block)
            outcomes.append(self._drop(block, rng.random(2), done, rng))
        self._read()
        fallen = {block for outcome in outcomes for block in outcome.fallen}
        settled = all(outcome.settled for outcome in outcomes)
        return Outcome(True, settled, tuple(sorted(fallen)))

    def drop(self, block: int, place: npt.ArrayLike, rng: np.random.Generator) -> Outcome:
        """Drop a block at ``(x, y)``, if no other is on it, until all rest on the table."""
        if self.covered()[block]:
            return Outcome(moved=False, settled=True, fallen=())
        outcome = self._drop(block, place, range(self.rules.n_blocks), rng)
        self._read()
        return outcome

    def settle(self, rng: np.random.Generator) -> Outcome:
        """Simulate until all blocks rest on the table."""
        outcome = self._settle(range(self.rules.n_blocks), rng)
        self._read()
        return outcome

    def covered(self) -> npt.NDArray[np.bool_]:
        """Return ``(n_blocks,)`` whether each block has another one on it."""
        pairs = self.rules.pairs
        above = self.attributes[-len(pairs) :] == 1
        covered = np.zeros(self.rules.n_blocks, np.bool_)
        covered[pairs[above, 1]] = True
        return covered

    def observe(self) -> FloatArray:
        """Return the ``(9 * n_blocks,)`` observation of the poses, see :func:`observe_poses`."""
        return observe_poses(self.scene.poses(), self.side)

    # --- helpers ----------------------------------------------------------------------------

    def _read(self) -> None:
        self.attributes = read_relations(
            self.scene.positions(), self.scene.contacts(), self.rules.pairs
        )

    def _drop(
        self, block: int, place: npt.ArrayLike, present: Iterable[int], rng: np.random.Generator
    ) -> Outcome:
        others = [other for other in present if other != block]
        tops = self.scene.positions()[others, 2]
        # The free fall is not simulated: all obstacles are below this height.
        height = DROP_HEIGHT * self.side
        z = min(height, tops.max(initial=0.0) + _HEADROOM)
        speed = np.sqrt(2 * _GRAVITY * (height - z))
        x, y = (np.asarray(place, np.float64) - 0.5) * self.side
        self.scene.drop(block, x, y, z, speed=speed)
        return self._settle([*others, block], rng)

    def _settle(self, present: Iterable[int], rng: np.random.Generator) -> Outcome:
        present = sorted(present)
        settled = self.scene.settle(MAX_TIME)
        put_back: set[int] = set()
        while len(fallen := self._fallen(present)):
            for i, block in enumerate(fallen):
                others = [other for other in present if other not in fallen[i:]]
                self._put_back(block, others, rng)
            put_back.update(fallen)
            settled = self.scene.settle(MAX_TIME)
        return Outcome(True, settled, tuple(sorted(put_back)))

    def _fallen(self, present: list[int]) -> list[int]:
        """Return blocks whose centre is below the table's top, or almost over its edge."""
        places = self.scene.positions()[present]
        outside = np.abs(places[:, :2]).max(axis=1) > self.side / 2 + MARGIN / 2
        return [present[i] for i in np.flatnonzero((places[:, 2] < 0) | outside)]

    def _put_back(self, block: int, others: list[int], rng: np.random.Generator) -> None:
        """Lay a block on a free spot of the table."""
        taken = self.scene.positions()[others, :2]
        while True:  # at most 5 blocks cannot cover 3 × 3 cells: some spot is always free
            x, y = (rng.random(2) - 0.5) * self.side
            if (np.abs(taken - (x, y)).max(axis=1) > _CLEARANCE).all():
                break
        self.scene.drop(block, x, y, SIDE / 2)


# --- attributes and observations of poses ---------------------------------------------------


def read_relations(
    positions: npt.ArrayLike, touching: npt.ArrayLike, pairs: npt.NDArray[Any]
) -> Attributes:
    """Return the attributes of blocks at ``(…, n_blocks, 3)`` positions in metres.

    Args:
        positions: The blocks' centres.
        touching: ``(…, n_blocks, n_blocks)`` whether two blocks touch.
        pairs: ``(n_pairs, 2)`` as in :attr:`BlocksRules.pairs`.

    Returns:
        ``(…, 3 * n_pairs)`` left_of, in_front_of and on, in the order of the pairs.
    """
    a, b = pairs.T
    places = np.moveaxis(np.asarray(positions), -1, 0)
    dx, dy, dz = places[..., a] - places[..., b]
    beside = (np.abs(dx) < BESIDE) & (np.abs(dy) < BESIDE)
    above = np.asarray(touching)[..., a, b] & beside & (dz > ABOVE)
    return np.concatenate([dx < -APART, dy < -APART, above], axis=-1).astype(np.int8)


def observe_poses(poses: npt.ArrayLike, side: float) -> FloatArray:
    """Convert ``(…, n_blocks, 7)`` poses to ``(…, 9 * n_blocks)`` observations.

    For each block: its place in sides of the table (x and y from 0 to 1 as in actions, z above the
    top), then the first two columns of its rotation matrix. Of the 24 equivalent rotations of a
    cube, the smallest is used.
    """
    poses = np.asarray(poses, np.float64)
    places = poses[..., :3] / side + (0.5, 0.5, 0.0)
    quaternions = poses[..., 3:].reshape(-1, 4)
    turns = Rotation.from_quat(quaternions, scalar_first=True).as_matrix()
    turns = turns.reshape(*poses.shape[:-1], 3, 3)
    nearest = np.tensordot(turns, _CUBE, axes=([-2, -1], [2, 1])).argmax(axis=-1)  # the trace
    columns = (turns @ _CUBE[nearest])[..., :2]
    numbers = np.concatenate([places, columns.reshape(*places.shape[:-1], 6)], axis=-1)
    return numbers.reshape(*places.shape[:-2], -1).astype(np.float32)
