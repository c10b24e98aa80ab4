"""What the benchmark of Crafter asks an agent for, one goal after the other."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("crafter")

from crafter_score import Episodes, Seeker

from gym_attrplan.attributes.library.crafter import CrafterAttributes
from gym_attrplan.envs.crafter.env import CrafterEnv
from gym_attrplan.envs.crafter.game import ACHIEVEMENTS, ITEMS

MAX_HOP_STEPS = 5
VALUES = {"collect_wood": 0.9, "eat_cow": 0.6, "place_table": 0.5}


class Agent:
    """Knows one description, values some achievements, and shows what it is asked for."""

    def __init__(self) -> None:
        self.attribute_space = CrafterAttributes(CrafterEnv()).attribute_space
        known = np.zeros((1, len(self.attribute_space)), np.int8)
        self.outcomes = SimpleNamespace(index=SimpleNamespace(vectors=lambda _: known))
        self.navigator = SimpleNamespace(changes=self, max_hop_steps=MAX_HOP_STEPS)

    def values(self, goal):
        (name,) = goal
        return SimpleNamespace(nodes=np.array([VALUES.get(name, 0.0)]))

    def predict(self, observations, state, starts, deterministic):
        return observations["desired_goal"].argmax(axis=1), state


@pytest.fixture
def ask():
    """Return what is asked for after a step with these achievements and these levels."""
    seeker = Seeker(Agent(), 1)

    def asked(*happened, start=False, **levels):
        vector = np.zeros((1, len(seeker._agent.attribute_space)), np.int8)
        vector[0, [ACHIEVEMENTS.index(one) for one in happened]] = 1
        inventory = np.array([[levels.get(item, 9) for item in ITEMS]])
        seen = {"achieved_goal": vector, "desired_goal": vector, "inventory": inventory}
        return ACHIEVEMENTS[seeker.act(seen, np.array([start]))[0]]

    return asked


def test_the_best_plan_comes_first_and_what_is_unlocked_is_not_asked_for_again(ask):
    assert ask(start=True) == "collect_wood"
    assert ask() == "collect_wood"
    assert ask("collect_wood") == "eat_cow"
    assert ask("eat_cow") == "place_table"
    assert ask(start=True) == "collect_wood"


def test_a_low_level_comes_first_until_it_is_high_enough(ask):
    assert ask(start=True) == "collect_wood"
    assert ask(drink=3) == "collect_drink"
    assert ask("collect_drink", drink=4) == "collect_drink"
    assert ask("collect_drink", drink=8) == "collect_wood"


def test_what_takes_too_long_is_doubted(ask):
    asked = [ask(start=True)] + [ask() for _ in range(2 * MAX_HOP_STEPS + 1)]
    assert asked[0] == "collect_wood"
    assert asked[-1] == "eat_cow"


def test_rates_are_percent_of_the_episodes():
    episodes = Episodes()
    for n in (0, 3):
        counts = dict.fromkeys(ACHIEVEMENTS, 0) | {"wake_up": n}
        episodes.add({"achievements": counts, "episode": {"l": 10 + n}})
    assert episodes.rates[ACHIEVEMENTS.index("wake_up")] == 50.0
    assert episodes.rates.sum() == 50.0
    assert (len(episodes), episodes.mean_steps) == (2, 11.5)
