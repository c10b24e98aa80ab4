"""Graphs as files: what is kept of a graph and its plans."""

from __future__ import annotations

import json

import pytest

from gym_attrplan import AttributeSpace, TransitionCounts
from gym_attrplan.error import InvalidData
from gym_attrplan.graph import Planner
from gym_attrplan.report import save_graph


@pytest.fixture
def planner():
    counts = TransitionCounts(AttributeSpace(["key", "door"]))
    counts.record([[0, 0], [1, 0], [0, 0]], [[1, 0], [1, 1], [0, 1]])
    return Planner(counts)


def test_a_graph_is_kept_with_its_plans(planner, tmp_path):
    file = tmp_path / "new" / "keys.graph.json"
    save_graph(planner, file, title="Keys", tasks=[([0, 0], "key, door"), ([0, 0], "key")])
    graph = json.loads(file.read_text())
    assert [plan["goal"] for plan in graph["plans"]] == ["key, door", "key"]
    assert [node[3] for node in graph["nodes"]][graph["plans"][0]["nodes"][-1]] == "key, door"
    assert graph["plans"][0]["changes"] == ["key", "door"]
    assert graph["plans"][0]["probs"] == [0.5, 0.5]
    assert len(graph["edges"]) == 3


def test_a_goal_without_a_plan_is_not_drawn(planner, tmp_path):
    with pytest.raises(InvalidData, match="no plan for 'not key'"):
        save_graph(planner, tmp_path / "x.graph.json", title="", tasks=[([1, 1], "not key")])
