"""GoalSet: goals worked out by hand, and laws held to every description of small spaces."""

from __future__ import annotations

import itertools
import math
import operator
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan import AttributeSpace, Bins, GoalSet
from gym_attrplan.attributes.goal_forms import KINDS
from gym_attrplan.attributes.goal_terms import FORMS
from gym_attrplan.error import InvalidAttributes, InvalidGoal

MOST = 4_096  # descriptions that a law looks at
EDGES = [[0.0], [-1.5, 0.0, 2.0]]
OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
SPACE = AttributeSpace(
    {
        "door": ["open", "closed", "locked"],
        "ore": 41,
        "lamp": 2,
        "on(red, green)": 2,
        "far left": 2,
        "height": Bins([-1, 0, 1]),
    }
)


class Literal(NamedTuple):
    """A term as the test understands it: this, and no code of the library, says when it is met."""

    name: str
    sign: str
    value: Any
    is_negated: bool

    def text(self) -> str:
        return f"{'not ' * self.is_negated}{self.name}{self.sign}{self.value}"

    def is_met(self, description: dict[str, Any]) -> bool:
        return OPERATORS[self.sign](description[self.name], self.value) != self.is_negated


NAMES = ["a", "b", "ore", "door", "on(red, green)", "far left", "order", "not_a"]
ODD_NAMES = ["a", "a!", "a<", "a<1", "a or b", "b", "or b", "or", "ore", "ore>", "near(x or y)"]
ODD_WORDS = ["red", "green", "red or green", ">=2", "!red", "{red}", "c=d", "not red", "a or b"]


@st.composite
def small_spaces(draw, names=NAMES, words=("red", "green", "blue", "far left")):
    word_lists = st.lists(st.sampled_from(words), min_size=2, max_size=4, unique=True)
    sizes = st.one_of(st.just(2), st.integers(2, 8), word_lists, st.sampled_from(EDGES).map(Bins))
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True))
    table: dict[str, Any] = {}
    for name in chosen:
        table[name] = draw(sizes)
        if math.prod(AttributeSpace(table).sizes.tolist()) > MOST:
            table[name] = 2
    return AttributeSpace(table)


def all_vectors(space: AttributeSpace) -> np.ndarray:
    ranges = [range(size) for size in space.sizes.tolist()]
    return np.array(list(itertools.product(*ranges)), space.dtype)


def as_measured(space: AttributeSpace, vector: np.ndarray) -> dict[str, Any]:
    """The values in the units that goals are written in: of a bin, a number inside it."""
    values = {}
    for name, number in zip(space.names, vector.tolist(), strict=True):
        if name in space.bins:
            edges = space.bins[name].edges
            values[name] = [edges[0] - 1.0, *edges][number]
        else:
            values[name] = space.words[name][number] if name in space.words else number
    return values


@st.composite
def literals(draw, space):
    name = draw(st.sampled_from(space.names))
    if name in space.bins:
        sign = draw(st.sampled_from([">=", "<"]))
        value = draw(st.sampled_from(space.bins[name].edges))
    elif name in space.words:
        sign, value = draw(st.sampled_from(["=", "!="])), draw(st.sampled_from(space.words[name]))
    else:
        sign = draw(st.sampled_from(list(OPERATORS)))
        value = draw(st.integers(0, int(space.sizes[list(space.names).index(name)]) - 1))
    return Literal(name, sign, value, draw(st.booleans()))


@st.composite
def spaces_with_goals(draw):
    space = draw(small_spaces())
    conjunctions = st.lists(literals(space), min_size=1, max_size=4)
    return space, draw(st.lists(conjunctions, min_size=1, max_size=4))


@given(spaces_with_goals())
def test_a_text_means_what_its_terms_say_of_every_description(case):
    space, goal = case
    text = " or ".join(", ".join(literal.text() for literal in terms) for terms in goal)
    vectors = all_vectors(space)
    described = [as_measured(space, vector) for vector in vectors]
    met = [
        any(all(literal.is_met(values) for literal in terms) for terms in goal)
        for values in described
    ]
    can_be_met = all(
        any(literal.is_met(values) for values in described) for terms in goal for literal in terms
    )
    if can_be_met and any(met):
        assert space.goal_set(text).matches(vectors).tolist() == met
    else:
        with pytest.raises(InvalidGoal, match=r"none of its values|two values|no value of"):
            space.goal_set(text)


@st.composite
def goal_sets(draw, spaces):
    """Goals given by values, so that no text is read to make them."""
    space = draw(spaces)
    values = [
        space.words.get(name, tuple(range(size)))
        for name, size in zip(space.names, space.sizes.tolist(), strict=True)
    ]
    alternatives = [
        {
            space.names[i]: draw(st.sets(st.sampled_from(values[i]), min_size=1))
            for i in draw(st.sets(st.integers(0, len(space) - 1), max_size=4))
        }
        for _ in range(draw(st.integers(1, 4)))
    ]
    return space, space.goal_set(alternatives)


@given(goal_sets(small_spaces(names=NAMES + ODD_NAMES[1:], words=ODD_WORDS)))
def test_a_printed_goal_reads_back(case):
    space, goal = case
    assert space.goal_set(goal.describe()) == goal
    assert hash(space.goal_set(str(goal))) == hash(goal)


@given(goal_sets(small_spaces()), st.data())
def test_order_and_repetition_do_not_matter(case, data):
    space, goal = case
    parts = [GoalSet(goal.lexicon, (alternative,)) for alternative in goal.alternatives]
    shuffled = data.draw(st.permutations(parts + parts[:1]))
    assert space.goal_set(list(shuffled)) == goal


@given(small_spaces(), st.data())
def test_a_conjunction_is_met_as_its_vector_is(space, data):
    vector = [data.draw(st.integers(-1, int(size) - 1)) for size in space.sizes]
    goal = space.goal_set(vector)
    vectors = all_vectors(space)
    assert goal.is_vector
    assert goal.as_vector().tolist() == vector
    assert goal == space.goal_set(space.describe(vector))
    np.testing.assert_array_equal(goal.matches(vectors), space.matches(vectors, np.array(vector)))


@given(goal_sets(small_spaces()))
def test_n_missed_is_the_fewest_attributes_that_differ_from_a_description_that_meets_it(case):
    space, goal = case
    vectors = all_vectors(space)
    ends = vectors[goal.matches(vectors)][:200]
    for vector in vectors[:: max(1, len(vectors) // 20)]:
        fewest = int((ends != vector).sum(axis=1).min())
        assert goal.n_missed(vector) <= fewest
        if len(ends) < 200:
            assert goal.n_missed(vector) == fewest


def test_leading_axes_broadcast():
    goal = SPACE.goal_set("lamp or ore>=40")
    rows = np.zeros((2, 3, 6), np.int8)
    rows[1, 2, 2] = 1
    assert goal.matches(rows).tolist() == [[False] * 3, [False, False, True]]
    assert goal.matches(rows[1, 2]).shape == ()


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("ore>=3", "ore>=3"),
        ("ore > 3", "ore>=4"),
        ("ore<3", "ore<=2"),
        ("ore>=3, ore<=7", "ore>=3, ore<=7"),
        ("ore>=40", "ore=40"),
        ("ore>=0", "anything"),
        ("ore<99", "anything"),
        ("ore>=-5", "anything"),
        ("not ore>=3", "ore<=2"),
        ("door!=locked", "door!=locked"),
        ("not door=locked", "door!=locked"),
        ("door={open, closed}", "door!=locked"),
        ("door!={open, closed}", "door=locked"),
        ("ore={3, 37}", "ore={3, 37}"),
        ("lamp!=1", "not lamp"),
        ("lamp, ore=1 or far left", "ore=1, lamp or far left"),
        ("on(red,green) or lamp", "lamp or on(red, green)"),
        ("lamp\nor far left", "lamp or far left"),
        ("ore>=3 or ore>=5", "ore>=3"),
        ("lamp or lamp, ore=1", "lamp"),
        ("ore=1, ore=2 or lamp", "lamp"),
        ("lamp or anything_else", None),
        ({"ore": ">=3"}, "ore>=3"),
        ({"ore": range(3, 8)}, "ore>=3, ore<=7"),
        ({"ore": [0, ">=39"]}, "ore={0, 39, 40}"),
        ({"door": ["open", "closed"]}, "door!=locked"),
        ({"door": {"open"}, "lamp": True}, "door=open, lamp"),
        ([{"lamp": True}, "ore=3", [0, -1, -1, -1, -1, -1]], "door=open or ore=3 or lamp"),
        (np.array([[0, -1, -1, -1, -1, -1], [-1, 3, -1, -1, -1, -1]]), "door=open or ore=3"),
        ("", "anything"),
    ],
)
def test_every_form_is_read_and_written_in_one_way(wanted, text):
    if text is None:
        with pytest.raises(InvalidGoal, match="no attribute named 'anything_else'"):
            SPACE.goal_set(wanted)
        return
    assert str(SPACE.goal_set(wanted)) == text
    assert SPACE.goal_set(text) == SPACE.goal_set(wanted)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("ore>=99", "no value of 'ore' meets the goal: it takes 0 to 40; received 'ore>=99'"),
        ("lamp or ore<0", "no value of 'ore' meets the goal"),
        ("door>=open", "words have no order; received 'door>=open'. List those wanted: 'door={"),
        ("ore>2.5", "'ore' is compared with a whole number; received 'ore>2.5'"),
        ("ore!=41", "'ore' takes 0 to 40; received '41'"),
        ("ore>=3, ore<2", "asks of 'ore' what none of its values meets all at once"),
        ("ore=1, ore=2", "asks two values of 'ore'; name it once"),
        ("oar>=3", "no attribute named 'oar'. Did you mean 'ore'?"),
        ("lamp or lampe", "no attribute named 'lampe'. Did you mean 'lamp'?"),
        ("lamp and ore=3", "by commas, not by 'and'"),
        ("ore==3", "'ore==3' is not a valid goal. " + FORMS),
        ("ore=>3", "'ore=>3' is not a valid goal. " + FORMS),
        ("ore>=", "whole number; received 'ore>='. " + FORMS),
        ("ore is 3", FORMS),
        ("(lamp or far left), ore=3", FORMS),
        ("lamp or ", FORMS),
        ("not door", "'door' is not a yes-or-no attribute: write 'door=open', not 'not door'"),
        ({"door": []}, "no value of 'door' meets the goal"),
        ({"door": ["open", "ajar"]}, "'door' takes one of .*; received 'ajar'"),
        ({"ore": "=>3"}, FORMS),
        ({"ore": None}, "'ore' takes 0 to 40; received None"),
        (None, KINDS),
        ([["lamp"], "lamp"], KINDS),
        ([[[0] * 6]], "received shape"),
        (AttributeSpace(["lamp"]).goal_set("lamp"), "belongs to one space"),
        ([AttributeSpace(["lamp"]).goal_set("lamp"), "lamp"], "belongs to one space"),
    ],
)
def test_bad_goals_are_refused_with_the_remedy(wanted, message):
    with pytest.raises(InvalidGoal) as caught:
        SPACE.goal_set(wanted)
    parts = message.split(".*")
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize(
    "wanted",
    [
        "ore>=3",
        "lamp or far left",
        "door!=locked",
        "not door=open",
        {"ore": ">=3"},
        {"door": ["open", "closed"]},
    ],
)
def test_one_vector_cannot_hold_a_set_and_the_error_names_goal_set(wanted):
    with pytest.raises(InvalidGoal, match="is a set of descriptions and cannot be one vector") as e:
        SPACE.goal(wanted)
    assert f"space.goal_set({wanted!r})" in str(e.value)
    with pytest.raises(InvalidGoal, match="cannot be one vector"):
        SPACE.goal_set(wanted).as_vector()
    with pytest.raises(InvalidGoal, match="cannot be one vector"):
        SPACE.goal(SPACE.goal_set(wanted))


def test_a_goal_set_of_single_values_is_a_goal():
    assert SPACE.goal(SPACE.goal_set("lamp, ore=3")).tolist() == [-1, 3, 1, -1, -1, -1]
    assert SPACE.read_goal("lamp, ore>=40").tolist() == [-1, 40, 1, -1, -1, -1]
    assert isinstance(SPACE.read_goal("lamp or ore=3"), GoalSet)
    assert SPACE.describe(SPACE.goal_set("lamp or ore=3")) == "ore=3 or lamp"


def test_the_longest_known_name_wins():
    space = AttributeSpace({"a": 4, "a<3": 2, "a!": 4, "b or c": 2, "b": 2, "c": 2})
    assert space.goal("a<3").tolist() == space.goal({"a<3": True}).tolist()
    assert space.goal("a!=3").tolist() == space.goal({"a!": 3}).tolist()
    assert space.goal("b or c").tolist() == space.goal({"b or c": True}).tolist()
    assert space.goal_set("b\nor c") == space.goal_set([{"b": True}, {"c": True}])
    assert str(space.goal_set({"a": [0, 1, 3]})) == "a={0, 1, 3}"
    assert str(space.goal_set(["b", "c"])) == "b\nor c"


def test_vectors_of_another_length_are_refused():
    with pytest.raises(InvalidAttributes, match="hold 6 values"):
        SPACE.goal_set("lamp").matches([[0, 1]])


def test_ten_thousand_alternatives_are_kept_until_one_contains_them_all():
    space = AttributeSpace({"x": 200, "y": 200})
    vectors = np.argwhere(np.ones((100, 100)))
    goal = space.goal_set(vectors)
    assert len(goal.alternatives) == 10_000
    assert space.goal_set([goal, "anything"]).alternatives == ((),)


def test_a_goal_set_survives_pickle_and_cannot_be_changed():
    goal = SPACE.goal_set("lamp or ore>=3")
    assert pickle.loads(pickle.dumps(goal)) == goal
    with pytest.raises(AttributeError):
        goal.alternatives = ()
