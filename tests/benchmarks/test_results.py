"""Lines that count, figures made of them, and the paper's tables around those."""

from __future__ import annotations

import json

import pytest
from paper.figures import BLOCK_TASKS, IMAGES, paper_figure
from paper.results import (
    CHANGES,
    FIELDS,
    PROVENANCE,
    CodeChange,
    Measured,
    Results,
    Source,
)
from paper.tables import all_tables

from gym_attrplan.error import InvalidData

EMPTY = dict.fromkeys((*FIELDS, *PROVENANCE))
DETAILS = {"command": "python benchmarks/x.py", "commit": "abc", "machine": "m", "versions": {}}


def line(**parts):
    return {**EMPTY, **DETAILS, "extra": {}, "date": "2026-01-01", **parts}


def solved(successes, n=100, **parts):
    return line(**{"suite": "blocks", "env": "AttrBlocks-v0", "seed": 0, **parts}) | {
        "n": n,
        "successes": successes,
    }


def table(results, key):
    return next(one for one in all_tables(results) if one.key == key)


def cell(results, key, name, column, data=""):
    rows = [row for row in table(results, key).rows if (row.name, row.data) == (name, data)]
    return next(one for one in rows[0].cells if one.column == column)


def runs(*successes, **parts):
    """Lines with the same key, one a month from January on."""
    key = {"task": "multi_step", "method": "ap", "budget": 10} | parts
    return [
        solved(one, **key) | {"date": f"2026-{month:02}-01"}
        for month, one in enumerate(successes, start=1)
    ]


def test_all_runs_of_a_cell_count_together():
    found = Results(runs(60, 6)).find(Source("blocks"))
    assert (found.percent, found.n, found.seeds) == (33.0, 200, {0: 33.0})


def test_runs_from_before_a_change_of_code_give_way_to_all_newer_ones():
    change = CodeChange(Source("blocks", method="ap"), "2026-01-15", "another planner")
    assert Results(runs(90, 20, 40), [change]).find(Source("blocks")).percent == 30.0


def test_of_several_changes_the_last_that_was_measured_decides():
    changes = [CodeChange(Source("blocks"), f"2026-{month:02}-15", "x") for month in (2, 1, 3)]
    assert Results(runs(90, 20, 40), changes).find(Source("blocks")).percent == 40.0


def test_runs_from_before_a_change_count_while_there_are_no_newer_ones():
    change = CodeChange(Source("blocks"), "2026-03-01", "another planner")
    assert Results(runs(90, 20), [change]).find(Source("blocks")).percent == 55.0


def test_runs_that_were_measured_wrongly_never_count():
    change = CodeChange(Source("blocks", method="ap"), "2026-03-01", "no goal was set", wrong=True)
    results = Results([*runs(90, 20), *runs(40, method="inverse")], [change])
    assert results.find(Source("blocks", method="ap")) is None
    assert results.find(Source("blocks", method="inverse")).percent == 40.0
    assert Results(runs(90, 20, 30), [change]).find(Source("blocks")).percent == 30.0


def test_a_change_leaves_the_figures_of_other_sources_alone():
    change = CodeChange(Source("blocks", method="ap"), "2026-01-15", "another planner")
    results = Results([*runs(90, 20), *runs(90, 20, method="inverse")], [change])
    assert results.find(Source("blocks", method="inverse")).percent == 55.0


def test_changes_are_read_beside_the_results(tmp_path):
    texts = [json.dumps(one) for one in runs(90, 20)]
    (tmp_path / "blocks.jsonl").write_text("\n".join(texts))
    change = {"suite": "blocks", "since": "2026-01-15", "reason": "another planner"}
    (tmp_path / CHANGES).write_text(json.dumps([change]))
    assert Results.read(tmp_path).find(Source("blocks")).percent == 20.0


@pytest.mark.parametrize(
    "text",
    [
        "[",
        '{"since": "2026-01-15", "reason": "x"}',
        '["2026-01-15"]',
        '[{"since": "2026-01-15"}]',
        '[{"since": "2026-01-15", "reason": ""}]',
        '[{"since": "soon", "reason": "x"}]',
        '[{"since": "2026-01-15", "reason": "x", "wrong": "yes"}]',
        '[{"since": "2026-01-15", "reason": "x", "envs": "AttrBlocks-v0"}]',
    ],
)
def test_what_is_no_list_of_changes_is_refused(tmp_path, text):
    (tmp_path / CHANGES).write_text(text)
    with pytest.raises(InvalidData, match=CHANGES):
        Results.read(tmp_path)


@pytest.mark.parametrize(
    ("seeds", "words"),
    [([0], "1 seed"), ([0, 1, 2], "3 seeds"), ([0, 0], "1 seed, 2 runs")],
)
def test_seeds_and_runs_are_told_apart(seeds, words):
    assert Measured(tuple(solved(1, seed=seed) for seed in seeds)).runs == words


def test_seeds_are_counted_together():
    measured = Measured((solved(90, seed=0), solved(290, n=300, seed=1)))
    assert measured.percent == 95.0
    assert measured.seeds == {0: 90.0, 1: pytest.approx(96.667, abs=1e-3)}
    low, high = measured.interval
    assert (round(low, 1), round(high, 1)) == (92.4, 96.7)  # Wilson's interval of 380 of 400


@pytest.mark.parametrize(("paper", "verdict"), [(90, "ours"), (95, "even"), (98, "paper")])
def test_who_wins_is_decided_by_the_interval(paper, verdict):
    assert Measured((solved(380, n=400),)).verdict(paper) == verdict


def test_without_a_figure_of_the_paper_nobody_wins():
    assert Measured((solved(380, n=400),)).verdict(None) == ""


def test_the_papers_budget_is_preferred_to_the_largest():
    lines = [
        solved(share, task="multi_step", method="ap", budget=budget)
        for budget, share in ((100_000, 1), (1_000_000, 2), (10_000_000, 3))
    ]
    found = cell(Results(lines), "blocks", "AP, our default", "multi-step")
    assert (found.ours.percent, found.paper, found.verdict) == (2.0, 66.7, "paper")
    without = [one for one in lines if one["budget"] != 1_000_000]
    found = cell(Results(without), "blocks", "AP, our default", "multi-step")
    assert found.ours.percent == 3.0


def test_the_table_by_examples_takes_each_budget_for_itself():
    lines = [solved(40, task="multi_step", method="ap", budget=10_000)]
    lines += [
        line(suite="blocks", env="AttrBlocks-v0", task="edges", method="ap", budget=10_000)
        | {"value": edges, "seed": seed}
        for seed, edges in enumerate((4_000, 5_000))
    ]
    rows = {row.name: row for row in table(Results(lines), "examples").rows}
    cells = {one.column: one for one in rows["10,000"].cells}
    assert cells["AP, our default, multi-step"].ours.percent == 40.0
    assert cells["edges found"].ours.value == 4_500
    assert cells["edges found"].paper == 11_438
    assert cells["edges found"].verdict == ""
    assert not rows["100,000"].is_measured


def test_rivals_come_from_their_own_suite_where_ap_has_a_row_of_its_own():
    rival = {"suite": "baselines", "task": "multi_step", "budget": 5}
    lines = [solved(7, method="a2c/curriculum", **rival), solved(8, method="ap", **rival)]
    results = Results(lines)
    name = "A3C (ours: A2C)"
    found = cell(results, "blocks", name, "multi-step", "curriculum")
    assert (found.ours.percent, found.paper) == (7.0, 17.0)
    assert cell(results, "blocks", "AP, our default", "multi-step").ours is None
    words = "with the rivals’ view"
    again = cell(results, "blocks", "AP, our default", "multi-step", words)
    assert (again.ours.percent, again.paper) == (8.0, None)


def test_an_inverse_model_trained_as_a_rival_goes_before_our_agents_own():
    ours = solved(6, suite="blocks", task="one_step_70", method="inverse", budget=5)
    rival = solved(9, suite="baselines", task="one_step_70", method="inverse/one_step", budget=5)
    for lines, percent in (([ours], 6.0), ([ours, rival], 9.0)):
        found = cell(Results(lines), "blocks", "Inverse", "1-step, 70% of goal", "1-step")
        assert found.ours.percent == percent


def test_rivals_from_images_have_rows_of_their_own():
    rival = {"suite": "baselines", "task": "multi_step", "budget": 5, "method": "inverse/one_step"}
    lines = [solved(7, **rival), solved(5, env=IMAGES, **rival)]
    figures = {
        data: cell(Results(lines), "blocks", "Inverse", "multi-step", data)
        for data in ("1-step", "1-step, from images")
    }
    assert [one.ours.percent for one in figures.values()] == [7.0, 5.0]
    assert [one.paper for one in figures.values()] == [9.1, None]


def test_a_method_that_the_paper_lacks_gets_a_row_without_its_figure():
    lines = [solved(7, method="ppo/test_tasks", suite="baselines", task="multi_step", budget=5)]
    found = cell(Results(lines), "blocks", "PPO", "multi-step", "test tasks")
    assert (found.ours.percent, found.paper) == (7.0, None)


def test_a_method_that_cannot_act_in_an_environment_says_why():
    lines = [
        line(suite="baselines", env="AttrBlocks-v0", task="multi_step", method="a2c/one_step")
        | {"extra": {"cannot": "no such actions"}, "budget": 5, "seed": 0}
    ]
    found = cell(Results(lines), "blocks", "A3C (ours: A2C)", "multi-step", "1-step")
    assert (found.ours, found.reason) == (None, "no such actions")


def test_the_reason_that_was_given_last_counts():
    told = [
        line(suite="baselines", method="ppo", date=date) | {"extra": {"cannot": words}}
        for date, words in (("2026-02-01", "in plain words"), ("2026-01-01", "TypeError"))
    ]
    assert Results(told).reason(Source("baselines")) == "in plain words"


def test_the_papers_figures_have_the_names_of_ours():
    tasks = [paper_figure("AttrBlocks-v0", task, "ap_paper") for task in BLOCK_TASKS]
    assert tasks == [98.8, 66.7, 98.5, 97.8, 63.5]
    assert paper_figure("AttrBlocks-v0", "multi_step", "inverse") == 9.1
    assert paper_figure("AttrBuildOrder-v0", "counts", "ap/random_exploration") == 6.4
    assert paper_figure("AttrCrafting-v0", "items", "reinforce/curriculum") == 51.5
    assert paper_figure("AttrBlocks-v0", "multi_step", "ap_beta") is None
    assert paper_figure("AttrCrafting-v0", "targets", "ap") is None
    assert paper_figure("CartPole-v1", "any", "ap") is None


def test_a_folder_is_read_whole(tmp_path):
    for suite in ("grids", "blocks"):
        one = solved(1, suite=suite, task="t", method="m", budget=1)
        (tmp_path / f"{suite}.jsonl").write_text(json.dumps(one) + "\n\n")
    assert set(Results.read(tmp_path).suites) == {"grids", "blocks"}


def test_a_line_that_is_no_benchmarks_is_named(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"suite": "x"}')
    with pytest.raises(InvalidData, match="line 1 lacks"):
        Results.read(tmp_path)


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_that_was_cut_off_is_left_out_with_a_warning(tmp_path, end):
    whole = json.dumps(solved(1, task="t", method="m", budget=1))
    (tmp_path / "x.jsonl").write_text(f"{whole}\n{whole[:50]}{end}")
    with pytest.warns(UserWarning, match="line 2 was cut off"):
        assert len(Results.read(tmp_path).lines) == 1


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidData, match="no folder"):
        Results.read(tmp_path / "nowhere")
