import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.envs.grids import Vocabulary

VOCABULARY = Vocabulary(6, ("key", "lamp"), ("lamp=on", "lamp=off"))


def test_words_are_counted_by_feature_then_row_then_column():
    # Offsets go from -4 to 4: 9 × 9 places for wall, key and lamp each, then two facts.
    assert VOCABULARY.place(0, -4, -4) == 1
    assert VOCABULARY.place(0, -3, -4) == 2
    assert VOCABULARY.place(0, -4, -3) == 10
    assert VOCABULARY.place(1, -4, -4) == 82
    assert VOCABULARY.fact(0) == 244
    assert VOCABULARY.n_words == 245


@given(st.integers(0, 2), st.integers(-4, 4), st.integers(-4, 4))
def test_a_word_reads_back_as_what_it_says(feature, dx, dy):
    name = ("wall", "key", "lamp")[feature]
    assert VOCABULARY.describe(VOCABULARY.place(feature, dx, dy)) == f"{name} at ({dx}, {dy})"


def test_facts_and_padding_read_back():
    assert VOCABULARY.describe(245) == "lamp=off"
    assert VOCABULARY.describe(0) == "nothing"


def test_multi_hot_marks_the_words_and_leaves_padding_out():
    marks = VOCABULARY.multi_hot(np.array([[3, 0, 245], [1, 1, 0]], np.int16))
    assert marks.shape == (2, 245)
    assert np.flatnonzero(marks[0]).tolist() == [2, 244]
    assert np.flatnonzero(marks[1]).tolist() == [0]


@pytest.mark.parametrize(("size", "dtype"), [(8, np.int16), (100, np.int32)])
def test_the_space_tells_the_number_of_words(size, dtype):
    vocabulary = Vocabulary(size, ("key",), ())
    space = vocabulary.space(3)
    assert space.dtype == dtype
    assert space.high.tolist() == [2 * (2 * size - 3) ** 2] * 3
