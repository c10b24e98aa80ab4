"""FlatObservation: converts any observation space to one flat level that SB3 can read."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.error import InvalidEnvironment

ROOT = "observation"
GOAL_KEYS = ("achieved_goal", "desired_goal")

NATURE_CNN_MIN = 36
"""Minimum side in pixels that SB3's default image network can take."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Part:
    """One leaf of the inner space: its path, its key, and its conversion.

    ``start`` is subtracted from values that do not count from 0, and ``n_bytes`` of a text are
    kept. Any other value is only cast to the dtype and shape of ``space``. ``unchanged`` parts have
    both already.
    """

    key: str
    path: tuple[str | int, ...]
    space: spaces.Space[Any]
    start: Any = None
    n_bytes: int | None = None
    unchanged: bool = False

    def read(self, observation: Any) -> Any:
        """Return the part's own value.

        Raises:
            InvalidEnvironment: If the observation lacks it.
        """
        try:
            for step in self.path:
                observation = observation[step]
        except (KeyError, IndexError, TypeError) as error:
            raise InvalidEnvironment(
                f"the environment declares {self.key!r} and did not observe it; received "
                f"{reprlib.repr(observation)}."
            ) from error
        return observation

    def convert(self, value: Any, batch_axes: int) -> Array:
        """Convert the value (or a batch, with ``batch_axes=1``) to an array of :attr:`space`.

        Raises:
            InvalidEnvironment: If the value does not belong to the declared space.
        """
        if (
            self.unchanged
            and type(value) is np.ndarray
            and value.dtype == self.dtype
            and value.shape[batch_axes:] == self.shape
        ):
            return value
        if self.n_bytes is not None:
            return _text_bytes(value, self.n_bytes, batch_axes)
        try:
            array = self._cast(np.asarray(value))
            if self.start is not None:
                array = array - self.start
            if (shape := array.shape[batch_axes:]) != self.shape:
                if self.unchanged and _without_ones(shape) != _without_ones(self.shape):
                    raise ValueError(
                        f"the shape is {shape}"
                    )  # the same size may mean other numbers
                array = array.reshape(*array.shape[:batch_axes], *self.shape)
        except (TypeError, ValueError) as error:
            raise InvalidEnvironment(
                f"the environment declares {self.key!r} as {self.space} and observed "
                f"{reprlib.repr(value)}: {error}. Fix the environment or its observation_space."
            ) from error
        return array if array.ndim else array[()]  # Gymnasium wants a plain integer of Discrete

    def _cast(self, array: Array) -> Array:
        """Cast the array to the dtype of :attr:`space`; a cast to integers must be exact."""
        cast = array.astype(self.dtype, copy=False)
        if array.dtype.kind == "f" and cast.dtype.kind != "f" and (cast != array).any():
            raise ValueError(f"these are no {self.dtype}")
        return cast

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of :attr:`space`, cached for speed."""
        return np.dtype(self.space.dtype)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of :attr:`space`, cached for speed."""
        return self.space.shape or ()


class FlatObservation:
    """Converts observations of any space to ``{key: array}`` whose spaces SB3's policies accept.

    ``Dict`` and ``Tuple`` parts become top-level keys. A goal environment's own goal keys get the
    prefix ``env_``. Parts of size 0 are dropped, and text unless ``text`` gives the number of bytes
    to keep. Images too small for SB3's image network keep their shape and values but become int16,
    which SB3 flattens and :class:`~gym_attrplan.models.GoalFusionExtractor` reads with a small
    network of its own.

    Args:
        space: The inner environment's observation space (of a single environment).
        text: Number of UTF-8 bytes kept of each text part, or None to drop text.

    Raises:
        InvalidEnvironment: If a part has no fixed shape, or if nothing is left to observe.
    """

    def __init__(self, space: spaces.Space[Any], *, text: int | None = None) -> None:
        self.parts: list[Part] = []
        for path, leaf in _leaves(space):
            if 0 in (leaf.shape or ()):
                continue  # of size 0: SB3 cannot flatten it, and it has no content
            if not _is_text(leaf):
                legal, start = _legal(leaf, path)
                same = isinstance(leaf, spaces.Box) and leaf == legal
                self.parts.append(Part(self._key(path), path, legal, start, unchanged=same))
            elif text is not None:
                letters = spaces.Box(0, 255, (text,), np.uint8)
                self.parts.append(Part(self._key(path), path, letters, n_bytes=text))
        if not self.parts:
            raise InvalidEnvironment(
                f"nothing is left of {space}: text is dropped unless text= says how much to keep, "
                "and parts of size 0 show nothing."
            )
        # A single array needs no walk through its parts: the common case, kept fast.
        self._only = self.parts[0] if len(self.parts) == 1 and not self.parts[0].path else None

    @property
    def spaces(self) -> dict[str, spaces.Space[Any]]:
        """Key → space of each part."""
        return {part.key: part.space for part in self.parts}

    def convert(self, observation: Any, batch_axes: int = 0) -> dict[str, Array]:
        """Convert an observation (or a batch, with ``batch_axes=1``) to ``{key: array}``."""
        if self._only is not None:
            return {self._only.key: self._only.convert(observation, batch_axes)}
        return {part.key: part.convert(part.read(observation), batch_axes) for part in self.parts}

    def _key(self, path: tuple[str | int, ...]) -> str:
        named = isinstance(path[0], str) if path else False
        # torch modules, which SB3 names after the keys, do not allow dots.
        key = "_".join(map(str, path if named else (ROOT, *path))).replace(".", "_")
        key = f"env_{key}" if key in GOAL_KEYS else key
        taken = {part.key for part in self.parts}
        while key in taken:
            key += "_"
        return key


def _leaves(
    space: spaces.Space[Any], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], spaces.Space[Any]]]:
    if isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            yield from _leaves(part, (*path, name))
    elif isinstance(space, spaces.Tuple):
        for i, part in enumerate(space.spaces):
            yield from _leaves(part, (*path, i))
    else:
        yield path, space


def _legal(space: spaces.Space[Any], path: tuple[str | int, ...]) -> tuple[spaces.Space[Any], Any]:
    """Return the space that SB3 accepts for a leaf, and the offset to subtract."""
    if isinstance(space, spaces.Box):
        dtype = np.dtype(np.int16) if _is_small_image(space) else space.dtype
        low, high = (np.atleast_1d(bound).astype(dtype) for bound in (space.low, space.high))
        return spaces.Box(low, high, dtype=dtype.type), None
    if isinstance(space, spaces.Discrete):  # SB3 one-hot encodes from 0
        return spaces.Discrete(int(space.n)), space.start or None
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec.ravel()), space.start if space.start.any() else None
    if isinstance(space, spaces.MultiBinary):
        return spaces.MultiBinary(int(np.prod(space.shape))), None
    raise InvalidEnvironment(
        f"the observation part {path or ROOT!r} is a {type(space).__name__}, which has no fixed "
        "shape. Turn it into a Box first, say with gymnasium.wrappers.TransformObservation."
    )


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _is_text(space: spaces.Space[Any]) -> bool:
    """Return whether it is text: Gymnasium's Text or MiniGrid's MissionSpace."""
    return bool(space.dtype == str)


def _text_bytes(value: Any, n_bytes: int, batch_axes: int) -> Array:
    if batch_axes:
        return np.stack([_text_bytes(one, n_bytes, batch_axes - 1) for one in value])
    raw = np.frombuffer(str(value).encode()[:n_bytes], np.uint8)
    return np.pad(raw, (0, n_bytes - len(raw)))


def _is_small_image(box: spaces.Box) -> bool:
    is_image = len(box.shape) == 3 and box.dtype == np.uint8
    is_image = is_image and bool((box.low == 0).all() and (box.high == 255).all())
    return is_image and sorted(box.shape)[1] < NATURE_CNN_MIN
