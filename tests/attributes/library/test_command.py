"""``attrplan attributes`` lists names, values now, and what they may be."""

from __future__ import annotations

import pytest

from gym_attrplan.cli import main


def test_the_attributes_that_are_ready_are_listed_with_their_values(capsys):
    env_id = "MiniGrid-DoorKey-8x8-v0"
    assert main(["attributes", env_id, "--gym-packages", "minigrid", "--seed", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "carrying: nothing of nothing, key",
        "door: locked of locked, closed, open",
        "room: 1 away of goal, 1 away",
        "at_goal: False of False, True",
    ]


def test_an_environment_s_own_attributes_are_listed_too(capsys):
    kwargs = '{"n_switches": 1, "n_colors": 3}'
    assert main(["attributes", "AttrSwitches-v0", "--env-kwargs", kwargs]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("switch 1: ")


def test_numbers_are_listed_as_a_range(capsys):
    assert main(["attributes", "FrozenLake-v1"]) == 0
    assert capsys.readouterr().out.startswith("row: 0 of 0 to 3\n")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Blackjack-v1"])
def test_an_environment_without_any_is_an_error_in_one_line(capsys, env_id):
    assert main(["attributes", env_id]) == 1
    error = capsys.readouterr().err
    assert error.startswith("InvalidAttributes: no attributes are ready")
    assert error.count("\n") == 1
