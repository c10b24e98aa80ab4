"""BabyAI's missions as instructions: every form is read, others are refused."""

from __future__ import annotations

import contextlib

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import pytest
from minigrid.envs.babyai.core import verifier

from gym_attrplan.attributes.library.babyai_missions import Instruction, Thing, read_mission
from gym_attrplan.error import InvalidGoal

LEVELS = [
    f"BabyAI-{name}-v0"
    for name in (
        "GoToLocal",
        "GoTo",
        "GoToSeq",
        "Open",
        "OpenDoor",
        "OpenDoorsOrderN4",
        "Pickup",
        "PickupDist",
        "PickupLoc",
        "PutNextLocal",
        "PutNextS5N2",
        "MoveTwoAcrossS5N2",
        "Unlock",
        "UnlockLocal",
        "Synth",
        "SynthLoc",
        "SynthSeq",
        "BossLevel",
    )
]


def quiet_reset(env, seed):
    """Reset without BabyAI's prints about layouts that it rejects."""
    with contextlib.redirect_stdout(None):
        return env.reset(seed=seed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go to the red ball", [["go to red ball"]]),
        ("go to a door", [["go to any door"]]),
        ("pick up the grey object", [["pick up grey any"]]),
        ("open the door on your left", [["open any door on your left"]]),
        ("put a key next to the blue box", [["put any key by blue box"]]),
        (
            "put the box behind you next to the door in front of you",
            [["put any box behind you by any door in front of you"]],
        ),
        ("go to a box and open a door", [["go to any box", "open any door"]]),
        ("open the red door, then go to a key", [["open red door"], ["go to any key"]]),
        (
            "go to a key after you pick up a box and open a door",
            [["pick up any box", "open any door"], ["go to any key"]],
        ),
    ],
)
def test_a_mission_is_read(text, expected):
    found = [[in_words(one) for one in step] for step in read_mission(text)]
    assert found == expected


def in_words(one):
    def described(thing):
        words = [thing.color or "any", thing.kind or "any", thing.place]
        return " ".join(filter(None, words))

    fixed = f" by {described(one.fixed)}" if one.fixed else ""
    return f"{one.verb} {described(one.thing)}{fixed}"


@pytest.mark.parametrize(
    "text", ["", "eat the red ball", "go to the pink ball", "go to red ball", "open a door then"]
)
def test_another_form_is_refused_with_all_that_are_known(text):
    with pytest.raises(InvalidGoal, match=r"is not an instruction.*put X next to X.*after you"):
        read_mission(text)


@pytest.mark.parametrize("env_id", LEVELS)
def test_missions_of_levels_mean_what_their_verifiers_look_for(env_id):
    env = gym.make(env_id).unwrapped
    for seed in range(200):
        quiet_reset(env, seed)
        steps = read_mission(env.mission)
        assert [list(step) for step in steps] == instructions_of(env.instrs)
        for step, checked in zip(steps, steps_of(env.instrs), strict=True):
            for one, instr in zip(step, checked, strict=True):
                assert_same_things(env, one, instr)


def steps_of(instr):
    """The verifier's instructions in their order."""
    if isinstance(instr, verifier.BeforeInstr):
        return [*steps_of(instr.instr_a), *steps_of(instr.instr_b)]
    if isinstance(instr, verifier.AfterInstr):
        return [*steps_of(instr.instr_b), *steps_of(instr.instr_a)]
    if isinstance(instr, verifier.AndInstr):
        return [[instr.instr_a, instr.instr_b]]
    return [[instr]]


VERBS = {
    verifier.GoToInstr: "go to",
    verifier.PickupInstr: "pick up",
    verifier.OpenInstr: "open",
    verifier.PutNextInstr: "put",
}
PLACES = {
    "left": "on your left",
    "right": "on your right",
    "front": "in front of you",
    "behind": "behind you",
}


def descriptions_of(instr):
    names = ("desc", "desc_move", "desc_fixed")
    return [getattr(instr, name) for name in names if hasattr(instr, name)]


def instructions_of(instr):
    def thing(one):
        return Thing(one.color, one.type, PLACES.get(one.loc))

    return [
        [Instruction(VERBS[type(one)], *map(thing, descriptions_of(one))) for one in step]
        for step in steps_of(instr)
    ]


def assert_same_things(env, one, instr):
    for thing, desc in zip((one.thing, one.fixed), [*descriptions_of(instr), None], strict=False):
        if thing is not None:
            found = {id(cell) for cell in thing.find(env)}
            assert found == {id(cell) for cell in desc.obj_set if cell.type != "wall"}
