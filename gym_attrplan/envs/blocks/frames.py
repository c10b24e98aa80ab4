"""Frames: an image of every state, drawn once by MuJoCo and cached in a file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from gym_attrplan.envs.blocks.rules import BlocksRules, draw_jitter
from gym_attrplan.envs.blocks.scene import (
    BlockScene,
    Image,
    check_image_size,
    load_mujoco,
    scene_mjcf,
    upright,
)
from gym_attrplan.envs.blocks.views import check_jitter
from gym_attrplan.error import InvalidEnvironment

MAX_STATES = 20_000
"""Maximum number of states with images of all: more would take tens of gigabytes."""

SPLITS = ("train", "held_out")

_VERSION = 1  # to be raised when this code draws different images of the same scene
_N_CHECKED = 256  # images that the checksum covers; all of them in small caches
_N_WRITTEN = 64  # images written at a time


class Frames:
    """Images of all states, in several variants, in a file that all processes share.

    Each variant shows every state with its blocks a little off-centre and turned differently.
    The last variant is held out, to evaluate models trained on the others. Without
    jitter there is one variant, for both.

    The file is made when it is first needed, in ``$ATTRPLAN_CACHE``, or else in ``gym_attrplan``
    under ``$XDG_CACHE_HOME`` or ``~/.cache``. It is written atomically, and drawn again if it is
    damaged, or if the scene or MuJoCo's version has changed.

    Args:
        rules: The rules.
        image_size: Side of the images, in pixels.
        jitter: How far off-centre and turned the blocks are, from 0 to 1.
        n_variants: Number of images of each state; at least 2, as one is held out.

    Raises:
        InvalidEnvironment: If a number is out of range, or there are too many states.

    Example:
        >>> frames = Frames(BlocksRules(), image_size=64)
        >>> frames.shape, frames.path.name[:12]
        ((5, 11880, 64, 64, 3), 'blocks-64px-')
    """

    def __init__(
        self,
        rules: BlocksRules,
        *,
        image_size: int = 128,
        jitter: float = 1.0,
        n_variants: int = 5,
    ) -> None:
        if rules.n_states > MAX_STATES:
            raise InvalidEnvironment(
                f"images in batches come from a file with every state, at most {MAX_STATES:,} of "
                f"them; {rules.n_blocks} blocks on {rules.grid} x {rules.grid} cells have "
                f"{rules.n_states:,}. Give obs_type='state', or make single environments."
            )
        self.rules = rules
        self.image_size = check_image_size(image_size)
        self.jitter = check_jitter(jitter)
        self.n_variants = check_variants(n_variants, jitter)

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """``(n_variants, n_states, image_size, image_size, 3)``."""
        return self.n_variants, self.rules.n_states, self.image_size, self.image_size, 3

    @cached_property
    def array(self) -> npt.NDArray[np.uint8]:
        """All images, of :attr:`shape`, read from the file on demand."""
        if (array := self._open(self.path)) is None:
            self._build()
            array = self._open(self.path)
        if array is None:
            raise InvalidEnvironment(
                f"{self.path} cannot be read back just after it was written: is the disk sound? "
                "ATTRPLAN_CACHE names another place."
            )
        return array

    @cached_property
    def path(self) -> Path:
        """The folder of these images; its name identifies them."""
        made_of = {
            "version": _VERSION,
            "mujoco": load_mujoco().__version__,
            "mjcf": scene_mjcf(self.rules.colors, self.rules.grid),
            "shape": self.shape,
            "jitter": self.jitter,
        }
        key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]
        return cache_folder() / f"blocks-{self.image_size}px-{key}"

    def take(self, numbers: npt.NDArray[np.int64]) -> Image:
        """Return ``(n, size, size, 3)`` images numbered ``variant * n_states + state``; a copy."""
        return self.array.reshape(-1, *self.shape[2:])[numbers]

    def __getstate__(self) -> dict[str, Any]:
        # A pickled memory map would be a copy of the whole file.
        return {name: value for name, value in self.__dict__.items() if name != "array"}

    # --- the file ---------------------------------------------------------------------------

    def _open(self, folder: Path) -> npt.NDArray[np.uint8] | None:
        """Return the images in a folder; None if they are missing or damaged."""
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            # A shorter file fails here, before the checksum would read beyond its end.
            array = np.memmap(folder / "frames.bin", np.uint8, "r", shape=self.shape)
        except (OSError, ValueError):
            return None
        whole = (folder / "frames.bin").stat().st_size == array.nbytes
        return array if whole and manifest == self._manifest(array) else None

    def _manifest(self, array: npt.NDArray[np.uint8]) -> dict[str, Any]:
        frames = array.reshape(-1, *self.shape[2:])
        chosen = np.linspace(0, len(frames) - 1, min(len(frames), _N_CHECKED)).astype(np.int64)
        checksum = hashlib.blake2b(frames[chosen].tobytes()).hexdigest()
        return {"shape": list(self.shape), "jitter": self.jitter, "checksum": checksum}

    def _build(self) -> None:
        """Write the file beside its target, then move it there atomically.

        Two processes that do so at the same time each write their own; the first one's stays.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        size = int(np.prod(self.shape))
        free = shutil.disk_usage(self.path.parent).free
        if size > free:
            raise InvalidEnvironment(
                f"images of all states take {size / 1e9:.2f} GB, and {self.path.parent} has "
                f"{free / 1e9:.2f} GB left. ATTRPLAN_CACHE names another place."
            )
        folder = Path(tempfile.mkdtemp(prefix=f"{self.path.name}-", dir=self.path.parent))
        try:
            self._write(folder, size)
            self._move(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, folder: Path, size: int) -> None:
        console = Console(stderr=True)
        n_frames = self.shape[0] * self.shape[1]
        text = f"Drawing {n_frames:,} images once, {size / 1e6:,.0f} MB, in {self.path}"
        console.print(text, soft_wrap=True)
        with (folder / "frames.bin").open("wb") as file:
            frames = self._draw()
            for first in track(
                range(0, n_frames, _N_WRITTEN), "Drawing blocks", console=console, transient=True
            ):
                for _ in range(min(_N_WRITTEN, n_frames - first)):
                    file.write(next(frames).tobytes())
        written = np.memmap(folder / "frames.bin", np.uint8, "r", shape=self.shape)
        (folder / "manifest.json").write_text(json.dumps(self._manifest(written)))

    def _draw(self) -> Iterator[Image]:
        """Yield every image, in the order of the file."""
        rules, scene = self.rules, BlockScene(self.rules.colors, self.rules.grid)
        centers = rules.centers(*rules.decode(np.arange(rules.n_states)))
        for variant in range(self.n_variants):
            rng = np.random.default_rng(variant)
            jitters = draw_jitter(centers.shape[:2], self.jitter, rng)
            for center, jitter in zip(centers, jitters, strict=True):
                positions = center.copy()
                positions[:, :2] += jitter[:, :2]
                scene.place(upright(positions, jitter[:, 2]))
                yield scene.render(self.image_size)
        scene.close()

    def _move(self, folder: Path) -> None:
        if self._open(self.path) is not None:
            return  # another process was faster
        if self.path.exists():
            # Moved away before it is deleted, so that no process opens half of it.
            damaged = Path(tempfile.mkdtemp(prefix="damaged-", dir=self.path.parent))
            os.replace(self.path, damaged / "frames")
            shutil.rmtree(damaged, ignore_errors=True)
        try:
            os.replace(folder, self.path)
        except OSError:
            if self._open(self.path) is None:
                raise


def check_variants(n_variants: int, jitter: float) -> int:
    """Return the number of images of each state: one if all of them would be equal.

    Raises:
        InvalidEnvironment: If there is none to hold out.
    """
    if not isinstance(n_variants, (int, np.integer)) or n_variants < 2:
        raise InvalidEnvironment(
            f"n_variants counts the one that is held out and must be at least 2; "
            f"received {n_variants!r}."
        )
    return int(n_variants) if jitter else 1


def split_variants(split: str, n_variants: int) -> npt.NDArray[np.int64]:
    """Return the variants of a split: the last one is held out; a single one serves both.

    Raises:
        InvalidEnvironment: If there is no such split.
    """
    if split not in SPLITS:
        raise InvalidEnvironment(f"split is one of {list(SPLITS)}; received {split!r}.")
    numbers = np.arange(n_variants)
    if n_variants == 1:
        return numbers
    return numbers[:-1] if split == "train" else numbers[-1:]


def cache_folder() -> Path:
    """Return the folder of images: ``ATTRPLAN_CACHE``, or a folder in the user's cache."""
    if own := os.environ.get("ATTRPLAN_CACHE"):
        return Path(own)
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user) / "gym_attrplan"
