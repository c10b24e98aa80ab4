"""Crafter: an agent that is trained without reward, and then unlocks what it can.

``python benchmarks/crafter_score.py --total-timesteps 1000000 --seeds 0 1 2`` trains with default
options, with an environment in each of ``--n-envs`` processes, and then plays ``--n-episodes``
episodes. In an episode the agent is asked for one achievement after the other, first for the one
with the best plan; if food, drink or energy is low, it is asked for that. Lines of suite ``hard``:
Crafter's score, with all 22 success rates. ``--methods random`` plays random actions.

Crafter's own protocol scores the episodes of the training. They are recorded too, but here training
means practice of changes drawn at random, not an attempt at achievements.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch
from ledger import append
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.attributes import FREE
from gym_attrplan.envs.crafter import crafter_score
from gym_attrplan.envs.crafter.game import ACHIEVEMENTS, ACTIONS, ITEMS

SUITE, ENV = "hard", "AttrCrafter-v0"
METHODS = ("ap", "random")

NEEDS = {"drink": "collect_drink", "food": "eat_cow", "energy": "wake_up"}
"""What to ask for if a level is low."""

LOW, ENOUGH = 4, 8
"""Level below which a need comes first, and level up to which it then stays first."""

DOUBT = 0.5
"""Factor on the value of an achievement for each time that it took too long in an episode."""

Observations = dict[str, npt.NDArray[Any]]
BoolArray = npt.NDArray[np.bool_]


class Player(Protocol):
    """Protocol of what plays a batch of environments."""

    def act(self, observations: Observations, starts: BoolArray) -> npt.NDArray[Any]:
        """Return an action for each environment; ``starts`` says where an episode begins."""


class RandomPlayer:
    """Plays random actions."""

    def __init__(self, *, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, observations: Observations, starts: BoolArray) -> npt.NDArray[Any]:
        """Return an action for each environment."""
        return self._rng.integers(len(ACTIONS), size=len(starts))


class Seeker:
    """Asks an agent for one achievement after the other, and acts as it does.

    The next achievement is the one whose plan has the highest value from here: its probability,
    discounted by its length. One that takes too long is doubted for the rest of the episode.

    Args:
        agent: A trained agent, with Crafter's ready attributes.
        n_envs: Number of environments.
    """

    def __init__(self, agent: AttributePlannerAgent, n_envs: int) -> None:
        self._agent = agent
        self._columns = np.array([agent.attribute_space.names.index(one) for one in ACHIEVEMENTS])
        values = [agent.navigator.changes.values({one: True}).nodes for one in ACHIEVEMENTS]
        self._values = np.stack(values, axis=1)
        self._known = agent.outcomes.index.vectors(np.arange(len(self._values)))
        self._state: Any = None
        self._patience = 2 * agent.navigator.max_hop_steps
        self._asked = np.full(n_envs, -1)
        self._n_steps = np.zeros(n_envs, np.int64)
        self._needs: list[str | None] = [None] * n_envs
        self._done = np.zeros((n_envs, len(ACHIEVEMENTS)), np.bool_)
        self._faith = np.ones((n_envs, len(ACHIEVEMENTS)))

    def act(self, observations: Observations, starts: BoolArray) -> npt.NDArray[Any]:
        """Return an action for each environment."""
        happened = observations["achieved_goal"][:, self._columns] > 0
        self._done[starts], self._faith[starts], self._asked[starts] = False, 1.0, -1
        self._done |= happened
        self._n_steps += 1
        goals = np.full_like(observations["desired_goal"], FREE)
        for i in range(len(goals)):
            self._ask(i, observations, happened[i])
            goals[i, self._columns[self._asked[i]]] = 1
        actions, self._state = self._agent.predict(
            {**observations, "desired_goal": goals}, self._state, starts, deterministic=False
        )
        return actions

    def _ask(self, i: int, observations: Observations, happened: BoolArray) -> None:
        """Choose what to ask for in environment i, if it is time to."""
        need = self._need(i, observations["inventory"][i])
        asked = self._asked[i]
        late = self._n_steps[i] > self._patience
        if asked >= 0 and not happened[asked] and not late and need == self._needs[i]:
            return
        if asked >= 0 and late:
            self._faith[i, asked] *= DOUBT
        self._needs[i], self._n_steps[i] = need, 0
        if need is not None:
            self._asked[i] = ACHIEVEMENTS.index(NEEDS[need])
        else:
            value = self._value(observations["achieved_goal"][i]) * self._faith[i]
            self._asked[i] = np.where(self._done[i], -1.0, value).argmax()

    def _need(self, i: int, inventory: npt.NDArray[Any]) -> str | None:
        """Return the lowest level, if it is low or was and is not yet high enough."""
        levels = {name: int(inventory[ITEMS.index(name)]) for name in NEEDS}
        lowest = min(NEEDS, key=levels.__getitem__)
        limit = ENOUGH if lowest == self._needs[i] else LOW
        return lowest if levels[lowest] < limit else None

    def _value(self, description: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return ``(22,)`` values of the achievements here, or from the most similar places."""
        n_different = (self._known != description).sum(axis=1)
        values: npt.NDArray[np.float64] = self._values[n_different == n_different.min()].mean(0)
        return values


class Episodes:
    """Finished episodes: what each unlocked, and its length."""

    def __init__(self) -> None:
        self._unlocked: list[list[bool]] = []
        self._n_steps: list[int] = []

    def add(self, info: dict[str, Any]) -> None:
        """Add an episode by its last info."""
        self._unlocked.append([info["achievements"][one] > 0 for one in ACHIEVEMENTS])
        self._n_steps.append(info["episode"]["l"])

    def __len__(self) -> int:
        return len(self._unlocked)

    @property
    def rates(self) -> npt.NDArray[np.float64]:
        """``(22,)`` percent of the episodes that unlocked each achievement."""
        return 100.0 * np.mean(self._unlocked or [[False] * len(ACHIEVEMENTS)], axis=0)

    @property
    def mean_steps(self) -> float:
        """Mean length of an episode in steps."""
        return float(np.mean(self._n_steps)) if self._n_steps else 0.0

    def describe(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        percent = self.rates.round(2).tolist()
        rates = dict(zip(ACHIEVEMENTS, percent, strict=True))
        return {"score": round(crafter_score(self.rates), 2), "n": len(self), "rates": rates}


class RecordedVecEnv(VecEnvWrapper):
    """Environments that record their finished episodes.

    Args:
        venv: The environments.

    Attributes:
        episodes: Those finished.
    """

    def __init__(self, venv: VecEnv) -> None:
        super().__init__(venv)
        self.episodes = Episodes()

    def reset(self) -> VecEnvObs:
        """Begin new episodes."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Step the environments."""
        observations, rewards, done, infos = self.venv.step_wait()
        for i in np.flatnonzero(done).tolist():
            self.episodes.add(infos[i])
        return observations, rewards, done, infos


def make_envs(n_envs: int) -> VecEnv:
    """Make environments in processes of their own: a step takes longer than a message."""
    return make_vec_env(make_env, n_envs, vec_env_cls=SubprocVecEnv)


def make_env() -> gym.Env[Any, Any]:
    """Make one environment, whose episodes end only with the game."""
    return gym.make(f"gym_attrplan:{ENV}", terminate_on_success=False)


def play(player: Player, venv: VecEnv, *, n_episodes: int, seed: int) -> Episodes:
    """Play episodes, in each environment equally many: the first to end would be short ones."""
    n_left = np.full(venv.num_envs, -(-n_episodes // venv.num_envs))
    venv.seed(seed)
    observations: Any = venv.reset()
    starts, episodes = np.ones(venv.num_envs, np.bool_), Episodes()
    while n_left.any():
        observations, _, starts, infos = venv.step(player.act(observations, starts))
        for i in np.flatnonzero(starts & (n_left > 0)).tolist():
            episodes.add(infos[i])
            n_left[i] -= 1
    return episodes


def run(method: str, seed: int, options: argparse.Namespace) -> None:
    """Train, play, print all success rates, and append the score."""
    torch.set_num_threads(1)
    extra: dict[str, Any] = {}
    player: Player = RandomPlayer(seed=seed)
    tests = make_envs(min(options.n_envs, options.n_episodes))
    if method == "ap":
        start = time.perf_counter()
        venv = RecordedVecEnv(make_envs(options.n_envs))
        agent = AttributePlannerAgent("MultiInputPolicy", venv, seed=seed, device="cpu")
        agent.learn(options.total_timesteps, progress_bar=options.progress_bar)
        venv.close()
        if options.save:
            agent.save(options.save.format(seed=seed))
        player = Seeker(agent, tests.num_envs)
        extra |= {
            "train_seconds": round(time.perf_counter() - start, 1),
            "training": venv.episodes.describe(),
            "n_nodes": len(agent.outcomes.index),
        }
    start = time.perf_counter()
    episodes = play(player, tests, n_episodes=options.n_episodes, seed=10_000 + seed)
    tests.close()
    extra |= {
        **episodes.describe(),
        "mean_steps": round(episodes.mean_steps, 1),
        "play_seconds": round(time.perf_counter() - start, 1),
    }
    append(
        SUITE,
        env=ENV,
        task="score",
        method=method,
        budget=options.total_timesteps if method == "ap" else 0,
        seed=seed,
        value=extra.pop("score"),
        unit="percent",
        extra=extra,
    )
    print_result(f"{method} seed {seed}", episodes, extra)


def print_result(who: str, episodes: Episodes, extra: dict[str, Any]) -> None:
    """Print the score and all success rates, the highest first."""
    print(
        f"{who}: score {crafter_score(episodes.rates):.2f}, {len(episodes)} episodes of "
        f"{episodes.mean_steps:.0f} steps, trained in {extra.get('train_seconds', 0.0):.0f} s"
    )
    for i in np.argsort(-episodes.rates, kind="stable").tolist():
        print(f"  {ACHIEVEMENTS[i]:20} {episodes.rates[i]:5.1f}%")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["ap"])
    parser.add_argument("--total-timesteps", type=int, default=1_000_000)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-envs", type=int, default=32, help="processes, each with one")
    parser.add_argument("--n-episodes", type=int, default=100)
    parser.add_argument("--save", metavar="ZIP", help="such as runs/crafter-{seed}.zip")
    parser.add_argument("--progress-bar", action="store_true")
    options = parser.parse_args()
    for method in options.methods:
        for seed in options.seeds:
            run(method, seed, options)


if __name__ == "__main__":
    main()
