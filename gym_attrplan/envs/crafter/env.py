"""CrafterEnv: the package ``crafter`` with Gymnasium's interface."""

from __future__ import annotations

import threading
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gym_attrplan.envs.crafter.game import ACHIEVEMENTS, ACTIONS, Game
from gym_attrplan.envs.crafter.symbols import SymbolView
from gym_attrplan.error import InvalidEnvironment

OBS_TYPES = ("symbols", "pixels")
_DRAWN_SIDE = 576
_OBSERVED_SIDE = 64


class CrafterEnv(gym.Env[Any, Any]):
    """
    ## Description

    A survival game on a map of 64 × 64 cells, new in every episode: gather wood, stone, coal, iron
    and diamonds, craft tools, eat, drink, sleep, and defend yourself. Danijar Hafner's package
    `crafter` has the rules; this class has Gymnasium's interface.

    ## Action Space

    17 actions: `noop`, four moves, `do` (collect, attack, eat or drink what is ahead), `sleep`,
    four to place (stone, table, furnace, plant) and six to make (a pickaxe and a sword, of wood,
    stone and iron each).

    ## Observation Space

    - `symbols`: what the image shows, as symbols; see `SymbolView`.
    - `pixels`: Crafter's image, 64 × 64 × 3.

    ## Rewards

    Crafter's: 1 for each achievement that is new in the episode, and 0.1 for each point of health
    gained, or less for each lost.

    ## Termination

    When the player dies. `AttrCrafter-v0` truncates episodes after 10,000 steps.

    ## Info

    `achievements` and `inventory`, each name → count.

    ## Seeds

    `reset(seed=s)` begins the first episode of `crafter.Env(seed=s)`, and every further `reset()`
    the next one. With pixels the steps are the same as Crafter's. With symbols they differ at
    night, because drawing the image at night draws random numbers.

    ## Arguments

    - `obs_type`: `"symbols"` or `"pixels"`.
    - `render_mode`: `"rgb_array"`, 576 × 576 pixels.
    """  # noqa: D212, D415  the headings of MiniGrid's docstrings

    achievement_names = ACHIEVEMENTS
    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012  as in Gymnasium

    def __init__(self, *, obs_type: str = "symbols", render_mode: str | None = None) -> None:
        if obs_type not in OBS_TYPES:
            raise InvalidEnvironment(
                f"obs_type is one of {list(OBS_TYPES)}; received {obs_type!r}."
            )
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InvalidEnvironment(
                f"render_mode is None or one of {self.metadata['render_modes']}; received "
                f"{render_mode!r}."
            )
        self.obs_type, self.render_mode = obs_type, render_mode
        self.action_space = spaces.Discrete(len(ACTIONS))
        self._symbols = SymbolView() if obs_type == "symbols" else None
        side = _OBSERVED_SIDE
        pixels = spaces.Box(0, 255, (side, side, 3), np.uint8)
        self.observation_space = pixels if self._symbols is None else self._symbols.space
        self._episodes = _Episodes(draws=self._symbols is None)
        self.just_done: frozenset[str] = frozenset()
        """Achievements that the last step has made."""

    @property
    def game(self) -> Game:
        """Crafter's own environment."""
        return self._episodes.game

    @property
    def inventory(self) -> dict[str, int]:
        """Item → number, and health, food, drink and energy → level from 0 to 9."""
        return dict(self.game.player.inventory)

    @property
    def achievements(self) -> dict[str, int]:
        """Achievement → how often it was unlocked in this episode."""
        return dict(self.game.player.achievements)

    @property
    def nearby(self) -> frozenset[str]:
        """Materials in the 3 × 3 cells around the player, where tools can be made."""
        materials, _ = self.game.world.nearby(self.game.player.pos, 1)
        return frozenset(materials)

    @property
    def facing(self) -> str:
        """Texture of the object ahead of the player, or the material if there is none."""
        player = self.game.player
        material, thing = self.game.world[player.pos + player.facing]
        return str(material if thing is None else thing.texture)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see the class about seeds."""
        super().reset(seed=seed)
        if seed is None and not self._episodes.is_seeded:
            seed = int(self.np_random.integers(2**31))
        image = self._episodes.begin(seed)
        self.just_done = frozenset()
        return self._observe(image), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        before = self.achievements
        image, reward, died, _ = self.game.step(int(action))
        self.just_done = frozenset(
            name for name, n in self.game.player.achievements.items() if n > before[name]
        )
        return self._observe(image), float(reward), bool(died), False, self._info()

    def render(self) -> Any:
        """Return the image of the current state."""
        if self.render_mode is None:
            gym.logger.warn("render() needs a mode: gym.make(..., render_mode='rgb_array').")
            return None
        return self.game.draw(_DRAWN_SIDE)

    def close(self) -> None:
        """Wait for the episode that is being prepared."""
        self._episodes.wait()

    def _observe(self, image: Any) -> Any:
        return image if self._symbols is None else self._symbols.observe(self.game)

    def _info(self) -> dict[str, Any]:
        return {"achievements": self.achievements, "inventory": self.inventory}


class _Episodes:
    """Crafter's episodes, one after the other; a thread prepares the next map.

    Making a map takes as long as hundreds of steps. If environments run in processes of their own,
    they would all wait for it; the thread makes it while they wait for their actions.

    Args:
        draws: Whether every step draws the image.

    Attributes:
        game: The running episode.
        is_seeded: Whether a seed was given.
    """

    def __init__(self, *, draws: bool) -> None:
        self.game, self._next_game = Game(draws=draws), Game(draws=draws)
        self.is_seeded = False
        self._seed, self._number = 0, 0
        self._thread: threading.Thread | None = None
        self._prepared: tuple[Any] | None = None

    def begin(self, seed: int | None) -> Any:
        """Begin the first episode of a seed, or the next one; return its image, if it has one."""
        self.wait()
        if seed is not None:
            self._seed, self._number, self.is_seeded = seed, 0, True
            self._prepared = None
        if self._prepared is None:
            self._prepare()
        assert self._prepared is not None
        (image,) = self._prepared
        self.game, self._next_game = self._next_game, self.game
        self._number, self._prepared = self._number + 1, None
        self._thread = threading.Thread(target=self._prepare, daemon=True)
        self._thread.start()
        return image

    def wait(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _prepare(self) -> None:
        self._prepared = (self._next_game.begin(self._seed, self._number),)

    def __getstate__(self) -> dict[str, Any]:
        self.wait()
        return vars(self).copy()
