"""Odd environments: each is trained in, or refused in words; nothing hangs and no weight is NaN."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest
from campaign import FULL, Tally, sized
from gymnasium import spaces
from odd_envs import (
    OwnError,
    dies_at,
    make_agent,
    make_walk,
    nan_at,
    raises_at,
    weights_are_finite,
)
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.error import AttrPlanError

Maker = Callable[[], Any]

SECONDS = 300
"""After so long a training of a few hundred steps is taken to hang."""

STICK = spaces.Box(-1, 1, (2,), np.float32)


def box(*shape: int, dtype: Any = np.float32, high: float = 4) -> spaces.Box:
    return spaces.Box(0, high, shape, dtype)


def seen(value: Any) -> Callable[[int, int], Any]:
    """Observes the same whatever happens."""
    return lambda place, n: value


def keyed(*keys: str) -> dict[str, Any]:
    """Observes the place under each key."""
    return {
        "observation_space": spaces.Dict({key: box(1) for key in keys}),
        "observe": lambda place, n: {key: np.array([place], np.float32) for key in keys},
    }


def later(function: Any, step: int = 20) -> Callable[[Any, Any], Any]:
    """Attributes that are sound at first."""

    def attributes(env: Any, observation: Any) -> Any:
        place = env.unwrapped.place
        sound = [int(place < 2), int(place > 2)]
        return function(sound) if env.unwrapped.n_all >= step else sound

    return attributes


def fail(_: Any) -> Any:
    raise OwnError("no attributes today")


def swing(env: Any, observation: Any) -> list[int]:
    """A different description at every step."""
    return [int(bit) for bit in f"{env.unwrapped.n_all % 512:09b}"]


def many(env: Any, observation: Any) -> list[int]:
    return [int(env.unwrapped.place < 2), *[0] * 1_999]


OBSERVATIONS: dict[str, dict[str, Any]] = {
    "nan at once": {"observe": nan_at(0)},
    "nan in step 1": {"observe": nan_at(1)},
    "nan while exploring": {"observe": nan_at(30)},
    "nan while hopping": {"observe": nan_at(90)},
    "infinity": {"observe": nan_at(30, np.inf)},
    "minus infinity": {"observe": nan_at(90, -np.inf)},
    "nan under a second key": {
        **keyed("a", "b"),
        "observe": lambda place, n: {
            "a": np.zeros(1, np.float32),
            "b": np.array([np.nan if n > 40 else 0], np.float32),
        },
    },
    "nan declared whole": {
        "observation_space": box(1, dtype=np.int64),
        "observe": nan_at(30),
    },
    "out of bounds": {"observe": nan_at(10, 1e9)},
    "far out of bounds": {"observe": nan_at(10, 1e30)},
    "beyond float32": {"observe": lambda place, n: np.array([1e300 if n > 30 else place])},
    "other dtype": {"observe": lambda place, n: np.array([place], np.int8)},
    "half where whole is declared": {
        "observation_space": box(1, dtype=np.int8),
        "observe": lambda place, n: np.array([place + 0.5]),
    },
    "a list": {"observe": lambda place, n: [place]},
    "text": {"observe": seen("here")},
    "None": {"observe": seen(None)},
    "no array at all": {"observe": seen({"x": 1})},
    "longer than declared": {"observe": seen(np.zeros(2, np.float32))},
    "shorter than declared": {
        "observation_space": box(3),
        "observe": seen(np.zeros(1, np.float32)),
    },
    "longer later": {"observe": lambda place, n: np.zeros(2 if n > 30 else 1, np.float32)},
    "turned on its side": {
        "observation_space": box(2, 3),
        "observe": seen(np.zeros((3, 2), np.float32)),
    },
    "ragged": {"observation_space": box(2), "observe": seen([[1], [1, 2]])},
    "a key is missing": {**keyed("a", "b"), "observe": seen({"a": np.zeros(1, np.float32)})},
    "a key too many": {
        **keyed("a"),
        "observe": seen({"a": np.zeros(1, np.float32), "b": np.zeros(1, np.float32)}),
    },
    "discrete beyond its end": {
        "observation_space": spaces.Discrete(5),
        "observe": lambda place, n: 7 if n > 30 else place,
    },
    "discrete below its start": {
        "observation_space": spaces.Discrete(5),
        "observe": lambda place, n: -1 if n > 90 else place,
    },
    "discrete from 7": {
        "observation_space": spaces.Discrete(5, start=7),
        "observe": lambda place, n: place + 7,
    },
    "multi-discrete beyond": {
        "observation_space": spaces.MultiDiscrete([5, 2]),
        "observe": lambda place, n: np.array([place, n % 3]),
    },
    "multi-binary": {
        "observation_space": spaces.MultiBinary(5),
        "observe": lambda place, n: np.eye(5, dtype=np.int8)[place],
    },
    "nothing to see": {"observation_space": box(0), "observe": seen(np.zeros(0, np.float32))},
    "an empty dict": {"observation_space": spaces.Dict({}), "observe": seen({})},
    "an empty tuple": {"observation_space": spaces.Tuple(()), "observe": seen(())},
    "a sequence": {
        "observation_space": spaces.Sequence(box(1)),
        "observe": seen((np.zeros(1, np.float32),)),
    },
    "a tuple of parts": {
        "observation_space": spaces.Tuple((box(1), spaces.Discrete(5))),
        "observe": lambda place, n: (np.array([place], np.float32), place),
    },
    "an image": {
        "observation_space": box(8, 8, 3, dtype=np.uint8, high=255),
        "observe": lambda place, n: np.full((8, 8, 3), 50 * place, np.uint8),
    },
    "half floats": {
        "observation_space": box(1, dtype=np.float16),
        "observe": lambda place, n: np.array([place], np.float16),
    },
    "our own keys": keyed("after", "before", "action", "reached"),
    "goal keys": keyed("achieved_goal", "desired_goal"),
    "keys with dots": keyed("a.b", "a_b", "ö", "", " "),
    "names of methods": keyed("keys", "training", "forward", "type"),
}
"""What an environment may show."""

ACTIONS: dict[str, dict[str, Any]] = {
    "actions from 5": {"action_space": spaces.Discrete(2, start=5)},
    "actions from -1": {"action_space": spaces.Discrete(3, start=-1)},
    "several from 1": {"action_space": spaces.MultiDiscrete([2, 3], start=[1, 0])},
    "several": {"action_space": spaces.MultiDiscrete([2, 3])},
    "buttons": {"action_space": spaces.MultiBinary(3)},
    "a table of buttons": {"action_space": spaces.MultiBinary([2, 2])},
    "a tuple of actions": {"action_space": spaces.Tuple((spaces.Discrete(2), STICK))},
    "a dict of actions": {"action_space": spaces.Dict({"move": spaces.Discrete(2)})},
    "text for actions": {"action_space": spaces.Text(3)},
    "unbounded actions": {"action_space": spaces.Box(-np.inf, np.inf, (2,))},
    "a stick": {"action_space": STICK},
    "a table of sticks": {"action_space": spaces.Box(-1, 1, (2, 2), np.float32)},
    "whole numbers in a box": {"action_space": spaces.Box(0, 3, (1,), np.int64)},
    "one action": {"action_space": spaces.Discrete(1)},
}
"""What an environment may take."""

COURSES: dict[str, dict[str, Any]] = {
    "one-step episodes": {"length": 1},
    "episodes without end": {"length": None},
    "raises in step 30": {"fault": raises_at(30)},
    "raises in step 90": {"fault": raises_at(90)},
    "nothing ever changes": {"function": lambda env, observation: [0, 1]},
    "everything always changes": {"function": swing, "names": list("abcdefghi")},
    "2,000 attributes": {"function": many, "names": [f"a{i}" for i in range(2_000)]},
    "names of other alphabets": {"names": ["左", "прав о"]},
    "too few attributes": {"function": later(lambda sound: sound[:1])},
    "too many attributes": {"function": later(lambda sound: [*sound, 0])},
    "attributes are nan": {"function": later(lambda sound: [float("nan"), 0])},
    "attributes are fractions": {"function": later(lambda sound: [0.5, 0])},
    "attributes are None": {"function": later(lambda sound: None)},
    "attributes are words": {"function": later(lambda sound: ["yes", "no"])},
    "attributes out of range": {"function": later(lambda sound: [2, 0])},
    "attributes below 0": {"function": later(lambda sound: [-1, 0])},
    "attributes by other names": {"function": later(lambda sound: {"up": 1, "down": 0})},
    "attributes of half the names": {"function": later(lambda sound: {"left": 1})},
    "attributes that raise": {"function": later(fail)},
}
"""How episodes may go, and what may be said of them."""

SOUND = {
    *("out of bounds", "other dtype", "a list", "a key too many", "discrete from 7"),
    *("multi-binary", "a tuple of parts", "an image", "half floats", "our own keys", "goal keys"),
    *("one-step episodes", "episodes without end", "nothing ever changes"),
    *("everything always changes", "2,000 attributes", "names of other alphabets"),
}
"""Odd, but nothing to refuse."""

ODD = OBSERVATIONS | ACTIONS | COURSES
LEARNERS = ("ppo", "inverse", "dqn", "a2c", "reinforce", "sac")


@contextmanager
def alarm(seconds: int) -> Iterator[None]:
    """Raises ``TimeoutError`` in what takes longer."""

    def ring(*_: Any) -> None:
        raise TimeoutError(f"still at it after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def live(tally: Tally, what: str, make: Maker, low_level: str, path: Any) -> None:
    """Learn, act, save and load; whatever came of it, no weight may be NaN."""
    agent: AttributePlannerAgent | None = None
    with tally.fault(what), alarm(SECONDS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = make_agent(make(), low_level, exploration_fraction=0.5)
        agent.learn(240)
        observations: Any = agent.env.reset()
        actions = agent.predict(observations)[0]
        tally.must(agent.action_space.contains(actions[0]), f"{what}: took {actions[0]}")
        agent.save(path)
        loaded = AttributePlannerAgent.load(path)
        loaded.predict(observations)
    if agent is not None:
        tally.must(weights_are_finite(agent), f"{what}: weights are not finite")


@pytest.mark.slow
def test_odd_environments_are_learned_in_or_refused_in_words(tmp_path):
    tally = Tally("odd environments", allowed=(AttrPlanError, OwnError))
    pairs = [(name, learner) for learner in LEARNERS for name in ODD]
    if not FULL:  # each environment once, with one learner after the other
        pairs = list(zip(ODD, islice(cycle(LEARNERS[:2]), len(ODD)), strict=True))
        pairs = pairs[:: max(1, len(pairs) // sized(24, 1))]
    for name, low_level in pairs:
        actions = {"action_space": STICK} if low_level == "sac" else {}
        odd = partial(make_walk, **{**actions, **ODD[name]})
        make = partial(DummyVecEnv, [odd, odd])
        accepted = tally.outcomes["accepted"]
        live(tally, f"{name}, {low_level}", make, low_level, tmp_path / "agent.zip")
        fine = name not in SOUND or tally.outcomes["accepted"] > accepted
        tally.must(fine, f"{name}, {low_level}: refused without need")
    tally.settle()


def test_dead_workers_are_named_and_closed(tmp_path):
    tally = Tally("dead workers")
    starts = ("fork", "spawn", "forkserver") if FULL else ("fork",)
    faults = {"dies": dies_at, "raises": raises_at}
    for start in starts:
        for name, fault in faults.items():
            for step in (1, 40, 90)[: sized(1, 3)]:
                what = f"{name} in step {step}, {start}"
                venv = SubprocVecEnv(
                    [make_walk, partial(make_walk, fault=fault(step)), make_walk],
                    start_method=start,
                )
                before = tally.outcomes["InvalidEnvironment"]
                live(tally, what, lambda venv=venv: venv, "ppo", tmp_path / "agent.zip")
                tally.must(tally.outcomes["InvalidEnvironment"] > before, f"{what}: not named")
                with alarm(SECONDS):
                    venv.close()
    tally.settle()
