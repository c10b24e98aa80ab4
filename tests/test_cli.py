"""The command line, called as a person would."""

from __future__ import annotations

import gymnasium as gym
import pytest
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper
from gym_attrplan.cli import main


class Impure(AttributeWrapper):
    def compute_reward(self, achieved_goal, desired_goal, info=None):
        return super().compute_reward(achieved_goal, desired_goal, info) + 1


def sound(ends_at=None):
    return AttributeWrapper(GenericTestEnv(ends_at=ends_at), ["four", "two", "one"], three_bits)


def impure():
    return Impure(GenericTestEnv(), ["four", "two", "one"], three_bits)


gym.register("CliSound-v0", entry_point=sound)
gym.register("CliImpure-v0", entry_point=impure)


def test_check_is_content_with_a_sound_environment(capsys):
    arguments = ["check", "CliSound-v0", "--env-kwargs", '{"ends_at": 5}', "--seed", "3"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "CliSound-v0: 3 attributes, every promise kept.\n"


def test_check_names_the_broken_promise(capsys):
    assert main(["check", "CliImpure-v0"]) == 1
    assert capsys.readouterr().err.startswith("CheckFailed: step paid 0.0, compute_reward says 1.0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "CartPole-v1"], "wrap it in AttributeWrapper"),
        (["check", "NoSuchEnv-v0"], "NoSuchEnv"),
        (["check", "CliSound-v0", "--gym-packages", "no_such_package"], "no_such_package"),
    ],
)
def test_check_says_in_one_line_what_is_wrong(capsys, arguments, message):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_env_kwargs_must_be_a_json_object(capsys, text):
    with pytest.raises(SystemExit):
        main(["check", "CliSound-v0", "--env-kwargs", text])
    assert "not" in capsys.readouterr().err
