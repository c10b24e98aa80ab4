"""Tasks of the economy: which goals there are, and how they are drawn."""

import numpy as np
import pytest

from gym_attrplan.envs.build_order import CountTargets, EconomyRules
from gym_attrplan.error import InvalidEnvironment

START = np.array([[2, 4, 0, 0, 0]], np.int8)


def goals(task, version="small"):
    return EconomyRules(version).sampler(task).goals


def test_the_small_version_has_43_goals_none_of_which_holds_at_the_start():
    every = goals("counts")
    # 4 counts of depots, and no barracks or 1 to 2 of them with 0 to 4 marines; less the start.
    assert len(every) == 4 * (1 + 2 * 5) - 1
    assert (every[:, :2] == -1).all()
    assert every[:, 2:].max(axis=0).tolist() == [3, 2, 4]
    assert (every[:, 2:].max(axis=1) > 0).all()


def test_the_large_version_asks_for_engineering_bays_and_turrets_too():
    every = goals("counts", "large")
    assert len(every) == 4 * (1 + 2 * 5) * (1 + 2 * 3) - 1
    assert every[:, 5:].max(axis=0).tolist() == [2, 2]


def test_marines_are_only_asked_for_with_a_barracks_and_turrets_with_an_engineering_bay():
    every = goals("counts", "large")
    assert not ((every[:, 4] > 0) & (every[:, 3] == 0)).any()
    assert not ((every[:, 6] > 0) & (every[:, 5] == 0)).any()


def test_lower_limits_make_easier_tasks():
    assert goals("counts<=1")[:, 2:].tolist() == [
        [0, 1, 0],
        [0, 1, 1],
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 1],
    ]
    assert goals("counts==3")[:, 2:].max(axis=1).tolist() == [3] * len(goals("counts==3"))
    sizes = [len(goals(f"counts<={d}")) for d in (1, 2, 3, 4)]
    assert sizes == [5, 20, 35, 43]


def test_every_goal_is_drawn_and_equally_often():
    sampler = EconomyRules("small").sampler("counts")
    drawn = sampler(np.repeat(START, 43_000, axis=0), np.random.default_rng(0))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 43
    assert counts.min() > 850  # 1,000 on average, with a standard deviation of 31
    assert drawn.dtype == np.int8


def test_a_goal_that_holds_is_not_drawn():
    sampler = CountTargets((None, 1), (None, None), least=0, most=1)
    achieved = np.array([[7, 0], [7, 1]] * 50, np.int8)
    assert sampler(achieved, np.random.default_rng(0))[:, 1].tolist() == [1, 0] * 50


@pytest.mark.parametrize("task", ["count", "counts<2", "counts<=0", "counts<=5", "counts==", 3])
def test_a_task_that_does_not_exist_is_refused(task):
    with pytest.raises(InvalidEnvironment, match="counts"):
        EconomyRules("small").sampler(task)
