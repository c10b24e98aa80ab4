"""What notebooks show of attributes and results: small tables, escaped."""

from __future__ import annotations

import numpy as np

from gym_attrplan import AttributeSpace
from gym_attrplan.agent.evaluation import TaskResult
from gym_attrplan.attributes.html_table import MAX_ROWS, html_table


def test_names_and_values_are_escaped():
    html = AttributeSpace({"<b>": 2, "lamp": ["<red>", "a&b"], "ore": 41})._repr_html_()
    assert "&lt;b&gt;" in html
    assert "&lt;red&gt;, a&amp;b" in html
    assert "<red>" not in html
    assert "3 attributes" in html
    assert "0 to 40" in html


def test_a_long_table_tells_how_much_it_leaves_out():
    html = html_table("all", ["n"], [[i] for i in range(MAX_ROWS + 1_000)])
    assert html.count("<tr>") == 1 + MAX_ROWS
    assert "and 1,000 more" in html


def test_a_result_is_shown_by_goal_the_least_often_met_first():
    solved, steps = np.array([True, False, True]), np.array([4, 9, 2])
    html = TaskResult(solved, steps, ("a < b", "a < b", "key"))._repr_html_()
    assert "66.7% of 3 tasks" in html
    assert html.index("a &lt; b") < html.index("key")
    assert "a < b" not in html
    assert "0 tasks" not in TaskResult(solved, steps)._repr_html_()


def test_no_colour_is_fixed_so_that_dark_notebooks_stay_readable():
    assert "color" not in AttributeSpace(["key"])._repr_html_()
