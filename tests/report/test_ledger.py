"""The benchmarks' own ledger, after a benchmark was killed while it wrote."""

from __future__ import annotations

import json

import pytest

from benchmarks import ledger

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
