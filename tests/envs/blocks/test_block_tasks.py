"""Goals by a task's name, and the examples to train on."""

import gymnasium as gym
import numpy as np
import pytest

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.envs.blocks import BlockGoals, BlocksRules, collect
from gym_attrplan.envs.blocks.tasks import TASKS
from gym_attrplan.error import InvalidData, InvalidEnvironment, InvalidGoal

RULES = BlocksRules()
EVERY_TASK = [*TASKS, *(f"{task}_70" for task in TASKS)]
STARTS = RULES.random_starts(2_000, np.random.default_rng(0))


def hold(goals, achieved):
    return ((goals == -1) | (goals == achieved)).all(axis=1)


def draw(task, states=STARTS, rules=RULES):
    return BlockGoals(rules, task).draw(states, np.random.default_rng(1))


@pytest.mark.parametrize("task", EVERY_TASK)
def test_goals_never_hold_at_the_start(task):
    assert not hold(draw(task), RULES.evaluate(STARTS)).any()


def test_one_step_goals_are_one_action_away_in_the_true_state():
    # Every one-step goal, each held against all 36 actions from its start.
    goals = draw("one_step")
    after = RULES.move(np.repeat(STARTS, 36), np.tile(np.arange(36), len(STARTS)))
    reached = hold(np.repeat(goals, 36, axis=0), RULES.evaluate(after)).reshape(-1, 36)
    assert reached.any(axis=1).all()


def test_multi_step_goals_are_possible_and_mostly_farther_away():
    goals = draw("multi_step")
    possible = {one.tobytes() for one in RULES.evaluate(np.arange(RULES.n_states))}
    assert {one.tobytes() for one in goals} <= possible
    after = RULES.move(np.repeat(STARTS, 36), np.tile(np.arange(36), len(STARTS)))
    reached = hold(np.repeat(goals, 36, axis=0), RULES.evaluate(after)).reshape(-1, 36)
    assert reached.any(axis=1).mean() < 0.05


def test_the_four_stack_is_red_green_blue_yellow_and_nothing_else():
    names = np.array(RULES.attributes)
    for goal in draw("four_stack")[:5]:
        assert names[goal == 1].tolist() == [
            "on(red, green)",
            "on(green, blue)",
            "on(blue, yellow)",
        ]
        assert (goal >= 0).all()


def test_where_the_four_stack_stands_another_goal_is_drawn():
    stack = RULES.encode([[4, 4, 4, 4]], [[3, 2, 1, 0]])
    goal = draw("four_stack", stack)
    assert not hold(goal, RULES.evaluate(stack)).any()
    assert (goal >= 0).all()


def test_with_six_blocks_the_four_stack_leaves_the_other_two_free():
    rules = BlocksRules(6)
    goal = draw("four_stack", np.array([7]), rules)[0]
    named = [name for name, value in zip(rules.attributes, goal, strict=True) if value >= 0]
    assert len(named) == 36
    assert not any("purple" in name or "white" in name for name in named)


@pytest.mark.parametrize("task", ["one_step_70", "multi_step_70", "four_stack_70"])
def test_25_of_36_attributes_are_kept_and_every_one_comes_up(task):
    goals = draw(task)
    assert ((goals >= 0).sum(axis=1) == 25).all()  # 70% of 36 is 25.2
    assert ((goals >= 0).mean(axis=0) > 0.6).all()


def test_a_kept_part_agrees_with_a_possible_goal():
    values = np.unique(RULES.evaluate(np.arange(RULES.n_states)), axis=0)
    for goal in draw("multi_step_70")[:50]:
        assert hold(goal[None], values).any()


@pytest.mark.parametrize("single", [True, False])
def test_environments_draw_one_step_goals_from_their_own_states(single):
    options = {"task": "one_step", "obs_type": "state"}
    if single:
        env = gym.make("AttrBlocks-v0", **options)
        for seed in range(10):
            observation, _ = env.reset(seed=seed)
            after = RULES.move(np.full(36, env.unwrapped.state), np.arange(36))
            assert hold(observation["desired_goal"][None], RULES.evaluate(after)).any()
        return
    envs = gym.make_vec("AttrBlocks-v0", 50, max_episode_steps=3, **options)
    observations, _ = envs.reset(seed=0)
    rng, begun = np.random.default_rng(0), np.ones(50, bool)
    for _ in range(20):
        for i in np.flatnonzero(begun):
            after = RULES.move(np.full(36, envs.unwrapped.states[i]), np.arange(36))
            assert hold(observations["desired_goal"][i][None], RULES.evaluate(after)).any()
        observations, _, terminated, truncated, _ = envs.step(rng.integers(36, size=50))
        begun = terminated | truncated


def test_a_sampler_refuses_goals_for_other_episodes_than_the_last_resets():
    env = gym.make("AttrBlocks-v0", obs_type="state")
    env.reset(seed=0)
    sampler = BlockGoals(RULES, "one_step").of(env.unwrapped)
    with pytest.raises(InvalidGoal, match=r"began 1 episodes.*asked for 2"):
        sampler(np.zeros((2, 36), np.int8), np.random.default_rng(0))


def test_unknown_tasks_and_too_few_blocks_are_refused():
    with pytest.raises(InvalidEnvironment, match="received 'one_step_60'"):
        BlockGoals(RULES, "one_step_60")
    with pytest.raises(InvalidEnvironment, match="four_stack needs 4 blocks; received n_blocks=3"):
        BlockGoals(BlocksRules(3), "four_stack")


# --- examples -------------------------------------------------------------------------------


def test_examples_obey_the_rules():
    examples = collect(5_000, seed=0)
    assert len(examples) == 5_000
    moved = RULES.move(examples.states, examples.actions)
    np.testing.assert_array_equal(examples.next_states, moved)
    np.testing.assert_array_equal(examples.attributes, RULES.evaluate(examples.states))
    np.testing.assert_array_equal(examples.next_attributes, RULES.evaluate(moved))
    assert set(examples.actions.tolist()) == set(range(36))


def test_74_percent_of_random_actions_change_the_attributes():
    examples = collect(50_000, seed=1)
    changed = (examples.attributes != examples.next_attributes).any(axis=1)
    assert changed.mean() == pytest.approx(0.74, abs=0.01)


def test_100_000_examples_uncover_about_51_000_edges():
    examples = collect(100_000, seed=2)
    pairs = np.concatenate([examples.attributes, examples.next_attributes], axis=1)
    changed = (examples.attributes != examples.next_attributes).any(axis=1)
    assert len(np.unique(pairs[changed], axis=0)) == pytest.approx(51_363, rel=0.02)


@pytest.mark.parametrize(("split", "variants"), [("train", {0, 1, 2, 3}), ("held_out", {4})])
def test_frames_are_pictures_of_the_states_from_the_split(split, variants):
    examples = collect(3_000, seed=0, split=split)
    for frames, states in (
        (examples.frames, examples.states),
        (examples.next_frames, examples.next_states),
    ):
        np.testing.assert_array_equal(frames % RULES.n_states, states)
        assert set((frames // RULES.n_states).tolist()) == variants
    still = examples.states == examples.next_states
    np.testing.assert_array_equal(examples.frames[still], examples.next_frames[still])


def test_a_seed_repeats_the_examples():
    one, same, other = collect(100, seed=5), collect(100, seed=5), collect(100, seed=6)
    np.testing.assert_array_equal(one.next_frames, same.next_frames)
    assert (one.states != other.states).any()


def test_examples_of_six_blocks():
    examples = collect(2_000, seed=0, rules=BlocksRules(6))
    assert examples.attributes.shape == (2_000, 90)


def test_a_negative_number_of_examples_is_refused():
    with pytest.raises(InvalidData, match="at least 0; received -1"):
        collect(-1, seed=0)
