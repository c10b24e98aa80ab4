"""GridWords: MiniGrid's symbols as words, which networks learn fast."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from gym_attrplan.error import InvalidEnvironment

_N_TYPES, _N_STATES, _N_COLORS, _N_DIRECTIONS = 11, 4, 6, 4
_COLORED = np.isin(np.arange(_N_TYPES), (4, 5, 6, 7))  # doors, keys, balls and boxes


class GridWords(gym.ObservationWrapper[npt.NDArray[np.int32], Any, Any], RecordConstructorArgs):
    """Wrapper that converts MiniGrid's view to a list of word numbers; 0 is no word.

    There is a word for the content of each cell of the view and its state, one for its colour if
    that matters, and one for the agent's direction. The words contain no more than the view; the
    mission and the colours of walls and floors are left out. The agent reads words with
    :class:`~gym_attrplan.WordsExtractor`, which costs far less than convolutions over symbols.

    Args:
        env: A MiniGrid environment with its own observations, partial or full.
        whole: Whether to see all of the grid instead, as it lies around the agent, which looks up
            from the middle. Near objects then look alike wherever the agent stands, so that a
            policy has far less to learn than from MiniGrid's full view.

    Raises:
        InvalidEnvironment: If there is no image of symbols to read.

    Example:
        >>> import minigrid
        >>> env = GridWords(gym.make("MiniGrid-Empty-5x5-v0"))
        >>> env.observation_space.shape, int(env.observation_space.high[0])
        ((99,), 2454)
        >>> GridWords(gym.make("MiniGrid-Empty-5x5-v0"), whole=True).observation_space.shape
        (163,)
    """

    def __init__(self, env: gym.Env[Any, Any], *, whole: bool = False) -> None:
        RecordConstructorArgs.__init__(self, whole=whole)
        gym.ObservationWrapper.__init__(self, env)
        seen = env.observation_space
        image = seen.spaces.get("image") if isinstance(seen, spaces.Dict) else None
        if image is None or image.shape is None or image.shape[2:] != (3,):
            raise InvalidEnvironment(
                f"GridWords reads MiniGrid's image of symbols; {env} observes {seen}."
            )
        raw: Any = env.unwrapped
        self._reach = max(raw.width, raw.height) - 1 if whole else 0
        sides = (2 * self._reach + 1,) * 2 if whole else image.shape[:2]
        self._n_cells = int(np.prod(sides))
        self._places = np.arange(self._n_cells)
        n_words = self._n_cells * (_N_TYPES * _N_STATES + _N_COLORS) + _N_DIRECTIONS
        self.observation_space = spaces.Box(0, n_words, (2 * self._n_cells + 1,), np.int32)

    def observation(self, observation: dict[str, Any]) -> npt.NDArray[np.int32]:
        """Return the words of one observation."""
        image = self._around() if self._reach else observation["image"]
        kinds, colors, states = image.reshape(-1, 3).astype(np.int32).T
        things = 1 + (self._places * _N_TYPES + kinds) * _N_STATES + states
        first = 1 + self._n_cells * _N_TYPES * _N_STATES
        hues = first + self._places * _N_COLORS + colors
        words = np.empty(2 * self._n_cells + 1, np.int32)
        words[: self._n_cells] = np.where(kinds > 0, things, 0)  # 0 is a cell out of sight
        words[self._n_cells : -1] = np.where(_COLORED[kinds], hues, 0)
        words[-1] = first + self._n_cells * _N_COLORS + observation["direction"]
        return words

    def _around(self) -> npt.NDArray[np.uint8]:
        """Return the whole grid, centred on the agent, which looks up; outside it is empty."""
        raw: Any = self.unwrapped
        symbols, reach = raw.grid.encode(), self._reach
        columns, rows, _ = symbols.shape
        padded = np.zeros((columns + 2 * reach, rows + 2 * reach, 3), np.uint8)
        padded[reach : reach + columns, reach : reach + rows] = symbols
        column, row = raw.agent_pos
        view = padded[column : column + 2 * reach + 1, row : row + 2 * reach + 1]
        if raw.carrying is not None:  # MiniGrid shows it where the agent stands
            view[reach, reach] = raw.carrying.encode()
        return np.rot90(view, -raw.agent_dir - 1)
