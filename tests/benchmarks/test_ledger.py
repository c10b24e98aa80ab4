"""The benchmarks' own ledger, after a benchmark was killed while it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import ledger
import pytest
from paper.results import read_lines

KEY = {"env": "Env-v0", "task": "t", "method": "ap", "budget": 10}


@pytest.fixture
def results(tmp_path, monkeypatch):
    folder = tmp_path / "new" / "folder"
    monkeypatch.setattr(ledger, "RESULTS", folder)
    return folder


def test_a_line_that_was_cut_off_is_left_out_with_a_warning(results):
    whole = ledger.append("grids", **KEY, seed=0, n=9, successes=3)
    with (results / "grids.jsonl").open("a") as file:
        file.write(json.dumps(whole)[:40])
    with pytest.warns(UserWarning, match="line 2 was cut off"):
        assert ledger.read("grids") == [whole]


def test_a_line_after_one_that_was_cut_off_is_not_glued_to_it(results):
    results.mkdir(parents=True)
    (results / "grids.jsonl").write_text('{"suite": "gri')
    whole = ledger.append("grids", **KEY, seed=0, n=9, successes=3)
    with pytest.warns(UserWarning, match="line 1 was cut off"):
        assert ledger.read("grids") == [whole]


def test_whole_lines_follow_each_other_without_gaps(results):
    for seed in (0, 1):
        ledger.append("grids", **KEY, seed=seed)
    texts = (results / "grids.jsonl").read_text().split("\n")
    assert [bool(text) for text in texts] == [True, True, False]


def test_what_is_measured_is_known_by_its_key(results):
    ledger.append("grids", **KEY, seed=0)
    assert ledger.is_measured("grids", **KEY, seed=0)
    assert not ledger.is_measured("grids", **KEY, seed=1)
    assert not ledger.is_measured("blocks", **KEY, seed=0)


def test_a_budget_that_whole_rollouts_exceed_is_known_again(results):
    key = KEY | {"budget": 2_048}
    ledger.append("grids", **key, seed=0)
    assert ledger.is_measured("grids", **key, seed=0)
    assert not ledger.is_measured("grids", **key | {"budget": 4_096}, seed=0)


def test_no_seed_is_for_choosing_and_for_reporting():
    assert not set(ledger.TEST_SEEDS) & set(ledger.TUNING_SEEDS)
    for file in sorted((Path(ledger.__file__).parent / "results").glob("*.jsonl")):
        for line in read_lines(file):
            if line["seed"] is not None:
                chosen = line["suite"] in ledger.CHOOSING
                assert line["seed"] in (ledger.TUNING_SEEDS if chosen else ledger.TEST_SEEDS), line


def test_a_figure_of_a_tuning_seed_stands_in_no_table(results):
    line = ledger.append("grids", **KEY, seed=101)
    assert line["suite"] == "tuning"
    assert [file.name for file in results.iterdir()] == ["tuning.jsonl"]


@pytest.mark.parametrize(("suite", "seed"), [("search", 0), ("grids", 200), ("tuning", 3)])
def test_a_seed_of_the_wrong_kind_is_refused(results, suite, seed):
    with pytest.raises(ValueError, match=f"takes no figure of seed {seed}. Settings are chosen on"):
        ledger.append(suite, **KEY, seed=seed)
