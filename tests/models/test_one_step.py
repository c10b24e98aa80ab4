"""Models of single actions: layouts, distributions, examples, inverse, forward and trunk."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidArchive, InvalidData, InvalidEnvironment, NotFitted
from gym_attrplan.models import Examples, ForwardModel, IndexedRows, InverseModel, Trunk
from gym_attrplan.models.actions import ActionDistribution, ActionLayout
from gym_attrplan.models.answers import AttributeLogits
from gym_attrplan.models.forward import Outcomes

PLACE = spaces.Box(0, 1, (1,))
QUICK = {"max_epochs": 25, "patience": 25}


# --- actions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "n_choices", "actions"),
    [
        (spaces.Discrete(5), 0, np.array([0, 4, 2])),
        (spaces.Box(-2, 2, (2,)), 0, np.array([[-2, 2], [0, 1]], np.float32)),
        (spaces.Box(0, 1, (4,)), 2, np.array([[1, 0, 0.5, 0], [0, 1, 1, 0.25]], np.float32)),
    ],
)
def test_actions_go_to_models_and_back(space, n_choices, actions):
    layout = ActionLayout.of(space, n_choices=n_choices)
    seen = layout.to_model(actions)
    assert seen.shape == (len(actions), bool(layout.n_choices) + layout.n_values)
    assert np.allclose(layout.to_env(seen), actions)
    assert layout.encode(torch.from_numpy(seen)).shape == (len(actions), layout.n_inputs)


def test_of_scores_the_highest_chooses_and_numbers_are_scaled():
    layout = ActionLayout.of(spaces.Box(0, 10, (3,), np.float32), n_choices=2)
    assert layout.to_model(np.array([[3.0, 7.0, 5.0]])).tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize(
    "space",
    [
        spaces.MultiBinary(3),
        spaces.Discrete(3, start=1),
        spaces.Box(-np.inf, np.inf, (2,)),
        spaces.Box(0, 1, (2, 2)),
    ],
)
def test_other_action_spaces_are_refused(space):
    with pytest.raises(InvalidEnvironment, match="low_level"):
        ActionLayout.of(space)


def test_more_choices_than_numbers_are_refused():
    with pytest.raises(InvalidEnvironment, match="0 to 2 here; received 3"):
        ActionLayout.of(spaces.Box(0, 1, (3,)), n_choices=3)


def test_the_mixture_is_a_density():
    layout = ActionLayout.of(spaces.Box(0, 1, (1,)))
    outputs = torch.randn((1, layout.n_outputs), generator=torch.Generator().manual_seed(0))
    grid = torch.linspace(-20, 20, 40_001)[:, None]
    density = ActionDistribution(outputs.expand(len(grid), -1), layout).log_prob(grid).exp()
    assert float(density.sum() * 0.001) == pytest.approx(1.0, abs=1e-3)


def test_samples_follow_the_choice():
    layout = ActionLayout.of(spaces.Discrete(2))
    distribution = ActionDistribution(torch.tensor([[0.0, np.log(3.0)]]).expand(4_000, -1), layout)
    torch.manual_seed(0)
    assert float(distribution.sample().mean()) == pytest.approx(0.75, abs=0.03)
    assert distribution.mode()[:, 0].tolist() == [1.0] * 4_000


# --- examples -------------------------------------------------------------------------------


def walk(n: int, seed: int = 0) -> Examples:
    """A lamp that action 1 lights and action 0 puts out, but only in the right half of the room."""
    rng = np.random.default_rng(seed)
    place = rng.random((n, 1)).astype(np.float32)
    actions, before = rng.integers(2, size=n), rng.integers(2, size=(n, 1)).astype(np.int8)
    after = np.where(place > 0.5, actions[:, None], before).astype(np.int8)
    return Examples(place, actions, before, after)


def test_indexed_rows_are_rows_of_a_table_that_is_not_copied():
    table = np.zeros((3, 2), np.float32)
    rows = IndexedRows(table, [2, 0, 2])
    table[2] = 7.0
    assert rows[np.array([0, 1])].tolist() == [[7.0, 7.0], [0.0, 0.0]]
    assert len(rows) == 3


def test_a_read_only_table_raises_no_warning(recwarn):
    table = np.ones((2, 2))
    table.flags.writeable = False
    assert IndexedRows(table, [1])[torch.tensor([0])].tolist() == [[1.0, 1.0]]
    assert not recwarn


def test_batches_of_a_generator_are_one_set_of_examples():
    joined = Examples.concatenate(walk(30, seed) for seed in range(3))
    assert len(joined) == 90
    assert np.array_equal(joined.observations[30:60], walk(30, 1).observations)
    with pytest.raises(InvalidData, match="no batch"):
        Examples.concatenate([])


def test_examples_that_do_not_fit_together_are_refused():
    space, layout = AttributeSpace(["lit"]), ActionLayout.of(spaces.Discrete(2))
    good = walk(40)
    short = Examples(good.observations[:30], good.actions, good.attributes, good.next_attributes)
    with pytest.raises(InvalidData, match="30} rows for 40 actions"):
        short.checked(space, layout)
    with pytest.raises(InvalidData, match="at least 20 examples"):
        walk(5).checked(space, layout)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_refused_by_its_row(value):
    good, layout = walk(40), ActionLayout.of(spaces.Discrete(2))
    seen = np.array(good.observations)
    seen[17] = value
    rows = good.actions, good.attributes, good.next_attributes
    with pytest.raises(InvalidData, match=r"row 17 of observations\['observation'\]"):
        Examples(seen, *rows).checked(AttributeSpace(["lit"]), layout)
    table = IndexedRows(seen, [0, 1, 2, *[17] * 37])
    with pytest.raises(InvalidData, match=r"row 3 of observations\['observation'\]"):
        Examples(table, *rows).checked(AttributeSpace(["lit"]), layout)


@pytest.mark.parametrize(
    ("space", "action", "message"),
    [
        (spaces.Discrete(4), 4, "row 9 of actions holds 4.0; it must be from 0 to 3"),
        (spaces.Discrete(4), -1, "row 9 of actions holds -1"),
        (spaces.Discrete(4), 0.5, "row 9 of actions holds 0.5"),
        (spaces.Discrete(4), np.nan, "row 9 of actions holds nan"),
        (spaces.Box(-1, 1, (1,)), 1.1, "row 9 of actions holds 1.1; it must be finite and within"),
        (spaces.Box(-1, 1, (1,)), np.nan, "row 9 of actions holds nan"),
        (spaces.Box(-1, 1, (2,)), 0.0, "an action holds 2 numbers; received 1 a row"),
    ],
)
def test_what_is_no_action_is_refused_by_its_row(space, action, message):
    actions = np.zeros((20, 1))
    actions[9] = action
    with pytest.raises(InvalidData, match=message):
        ActionLayout.of(space).check(actions)


# --- models ---------------------------------------------------------------------------------


def states(places, before, wanted):
    columns = (np.array(column)[:, None] for column in (places, before, wanted))
    place, now, goal = columns
    return {"observation": place.astype(np.float32), "achieved_goal": now, "desired_goal": goal}


@pytest.mark.learning
def test_the_inverse_model_names_the_action_that_does_what_is_wanted(seed):
    model = InverseModel(PLACE, spaces.Discrete(2), ["lit"], device="cpu", seed=seed)
    report = model.fit(walk(600, seed), **QUICK)
    assert report.n_examples < 200  # the lamp changed in about a quarter of the examples
    assert model.predict(states([0.8, 0.8], [0, 1], [1, 0])).tolist() == [1, 0]


def test_the_judge_decides_what_success_is():
    model = InverseModel(PLACE, spaces.Discrete(2), ["lit"], device="cpu")
    asked = []

    def judge(rows, actions):
        asked.append(len(rows))
        return np.arange(len(rows)) % 2 == 0

    report = model.fit(walk(600), **QUICK, judge=judge)
    assert report.success == pytest.approx(np.mean(np.arange(asked[0]) % 2 == 0))
    assert report.epochs == len(asked) - 1  # once after every epoch, once for the report


@pytest.mark.learning
def test_numbers_in_a_box_are_found_to_the_point(seed):
    rng = np.random.default_rng(seed)
    actions = rng.random((2_000, 1)).astype(np.float32)
    after = (np.abs(actions - 0.3) < 0.1).astype(np.int8)
    examples = Examples(np.zeros((2_000, 1), np.float32), actions, np.zeros_like(after), after)
    model = InverseModel(PLACE, spaces.Box(0, 1, (1,)), ["hit"], device="cpu", seed=seed)
    model.fit(examples, **QUICK)
    found = model.predict(states([0.0], [0], [1]))
    assert found.shape == (1, 1)
    assert abs(found[0, 0] - 0.3) < 0.1


@pytest.mark.learning
def test_the_forward_model_sees_what_an_action_would_do_here(seed):
    model = ForwardModel(PLACE, spaces.Discrete(2), ["lit"], device="cpu", seed=seed)
    report = model.fit(walk(1_500, seed), **QUICK)
    outcomes = model.foresee(states([0.9, 0.1], [0, 0], [0, 0]), model.layout.all_actions())
    assert outcomes.vectors[:, :, 0].tolist() == [[0, 1], [0, 0]]
    assert outcomes.probs.shape == (2, 2)
    assert outcomes.probs.min() > 0.8
    assert report.error < 0.05


def test_actions_for_all_states_are_foreseen_as_those_of_each():
    model = ForwardModel(PLACE, spaces.Discrete(3), ["lit"], device="cpu", seed=0)
    model.n_examples.fill_(1)
    some, actions = states([0.9, 0.1, 0.5], [0, 1, 0], [0, 0, 0]), model.layout.all_actions()
    shared = model.foresee(some, actions)
    own = model.foresee(some, np.stack([actions] * 3))
    assert shared.probs.shape == (3, 3)
    assert len(np.unique(shared.probs)) > 3  # states and actions make a difference
    assert np.allclose(shared.probs, own.probs)
    assert (shared.vectors == own.vectors).all()


@pytest.mark.learning
def test_a_forward_model_is_as_sure_as_it_is_right(seed):
    rng = np.random.default_rng(seed)
    before = np.zeros((4_000, 1), np.int8)
    after = (rng.random((4_000, 1)) < 0.8).astype(np.int8)
    examples = Examples(rng.random((4_000, 1), np.float32), np.zeros(4_000, int), before, after)
    model = ForwardModel(PLACE, spaces.Discrete(1), ["lit"], device="cpu", seed=seed)
    model.fit(examples, **QUICK)
    outcomes = model.foresee(states([0.5], [0], [0]), model.layout.all_actions())
    assert outcomes.probs[0, 0] == pytest.approx(0.8, abs=0.08)


def test_outcomes_know_the_chance_of_partial_goals_and_what_pairs_of_values_are_worth():
    chances = np.array([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])  # of two values, and of three
    logs = torch.tensor(chances, dtype=torch.float32).log()[None, None]
    outcomes = Outcomes(logs, AttributeLogits(np.array([2, 3])), np.int8)
    assert outcomes.vectors.tolist() == [[[1, 2]]]
    assert outcomes.probs[0, 0] == pytest.approx(0.75 * 0.7)
    goals = np.array([[[0, 1], [-1, 2], [-1, -1]]])
    found = np.exp(outcomes.chances(goals)[0, 0])
    assert found == pytest.approx([0.25 * 0.2, 0.7, 1.0])
    pairs = np.zeros((5, 5))
    pairs[1, 4], pairs[0, 0] = 10.0, 100.0  # the last values of both together; one value alone
    assert outcomes.worth(pairs)[0, 0] == pytest.approx(10 * 0.75 * 0.7 + 100 * 0.25)


def test_models_that_were_not_fitted_say_so():
    what = PLACE, spaces.Discrete(2), ["lit"]
    with pytest.raises(NotFitted, match="fit"):
        InverseModel(*what, device="cpu").predict(states([0.5], [0], [1]))
    with pytest.raises(NotFitted, match="fit"):
        ForwardModel(*what, device="cpu").foresee(states([0.5], [0], [1]), np.zeros((1, 1)))


def test_the_same_seed_gives_the_same_model():
    answers = []
    for _ in range(2):
        model = ForwardModel(PLACE, spaces.Discrete(2), ["lit"], device="cpu", seed=3)
        model.fit(walk(200), max_epochs=2)
        answers.append(model.foresee(states([0.9], [0], [0]), np.zeros((1, 1))).probs)
    assert np.array_equal(*answers)


def test_attributes_of_any_size_share_one_row_of_logits():
    layout = AttributeLogits(np.array([2, 3]))
    vectors = torch.tensor([[1, 2]])
    assert layout.one_hot(vectors).tolist() == [[0, 1, 0, 0, 1]]
    certain = 100.0 * layout.one_hot(vectors)
    assert float(layout.loss(certain, vectors)) == pytest.approx(0.0, abs=1e-6)
    assert float(layout.loss(torch.zeros(1, 5), vectors)) == pytest.approx(np.log(6))


# --- trunk ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trunk_and_frames(seed):
    """Pictures of a bright square left or right; the two actions put it there."""
    rng = np.random.default_rng(seed)
    frames = np.zeros((40, 36, 36, 3), np.uint8)
    right = np.arange(40) % 2
    for frame, side in zip(frames, right, strict=True):
        row, column = rng.integers(26), rng.integers(10) + 16 * side
        frame[row : row + 10, column : column + 10] = 255
    first, actions = rng.integers(40, size=400), rng.integers(2, size=400)
    then = rng.integers(20, size=400) * 2 + actions
    examples = Examples(
        IndexedRows(frames, first),
        actions,
        right[first][:, None],
        actions[:, None],
        IndexedRows(frames, then),
    )
    space = spaces.Box(0, 255, (36, 36, 3), np.uint8)
    trunk = Trunk(space, spaces.Discrete(2), ["right"], n_features=16, device="cpu", seed=seed)
    report = trunk.fit(examples, max_epochs=4, batch_size=64)
    return trunk, frames, report


@pytest.mark.learning
def test_a_trunk_learns_to_read_and_to_foresee(trunk_and_frames):
    _, _, report = trunk_and_frames
    assert report.attribute_error < 0.1
    assert report.forward_error < 0.1


def test_features_of_one_frame_are_those_of_the_batch(trunk_and_frames):
    trunk, frames, _ = trunk_and_frames
    batch = trunk.encode(frames[:5])
    assert batch.shape == (5, 16)
    assert trunk.observation_space.contains(batch[0])
    assert np.allclose(trunk.encode(frames[3]), batch[3], atol=1e-5)


def test_a_saved_trunk_gives_the_same_features(trunk_and_frames, tmp_path):
    trunk, frames, report = trunk_and_frames
    trunk.save(tmp_path / "trunk.zip")
    again = Trunk.load(tmp_path / "trunk.zip", device="cpu")
    assert np.array_equal(again.encode(frames[:5]), trunk.encode(frames[:5]))
    assert again.report == report


def test_what_is_no_trunk_is_refused(tmp_path):
    (tmp_path / "no.zip").write_bytes(b"no zip")
    with pytest.raises(InvalidArchive, match="Trunk"):
        Trunk.load(tmp_path / "no.zip")
    trunk = Trunk(PLACE, spaces.Discrete(2), ["lit"], device="cpu")
    with pytest.raises(NotFitted, match="fit"):
        trunk.encode(np.zeros(1, np.float32))
    with pytest.raises(NotFitted, match="nothing to save"):
        trunk.save(tmp_path / "trunk.zip")
