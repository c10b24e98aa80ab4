"""The page as text: everything in one file, figures beside the paper's, gaps named."""

from __future__ import annotations

import json
import re
from html import unescape

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from page_text import tips, visible
from paper.album import read_graphs, read_pictures
from paper.charts import Chart, Curve, Mark, learning_charts, sample_charts
from paper.results import Results
from paper_page import main, write_report
from PIL import Image
from test_results import line, solved

from gym_attrplan import AttributeSpace, TransitionCounts
from gym_attrplan.error import InvalidData
from gym_attrplan.graph import Planner
from gym_attrplan.report import film_strip, save_graph, save_picture

mpl.use("Agg")


def write_lines(folder, lines):
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(json.dumps(one) for one in lines)
    (folder / f"{lines[0]['suite']}.jsonl").write_text(text)


@pytest.fixture
def folder(tmp_path):
    """Three seeds of one figure, a picture and a graph with two plans."""
    results = tmp_path / "results"
    lines = [
        solved(successes, task="multi_step", method="ap", budget=1_000_000, seed=seed)
        for seed, successes in enumerate((90, 95, 100))
    ]
    write_lines(results, lines)
    frames = [np.zeros((4, 4, 3), np.uint8)] * 2
    save_picture(
        film_strip(frames, ["start", "goal"]),
        results / "pictures" / "strip.png",
        title="Two <blocks>",
        caption="One on the other.",
    )
    counts = TransitionCounts(AttributeSpace(["key", "door"]))
    counts.record([[0, 0], [1, 0], [0, 0]], [[1, 0], [1, 1], [0, 1]])
    tasks = [([0, 0], "key, door"), ([0, 0], "key")]
    save_graph(Planner(counts), results / "keys.graph.json", title="Keys", tasks=tasks)
    yield results
    plt.close("all")


def test_a_figure_stands_beside_the_papers_with_interval_and_seeds(folder):
    page = write_report(folder).read_text()
    assert "95.0 91.9–96.9 · 3 seeds paper 66.7" in visible(page)
    assert '<td class="ours"' in page
    assert "seed 2: 100.0%" in unescape(page)


def test_the_page_needs_nothing_but_itself(folder):
    page = write_report(folder).read_text()
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert addresses
    assert all(one.startswith(("#", "data:")) for one in addresses)
    assert not re.search(r"https?://|@import|url\(", page)


def test_what_is_missing_names_its_command(folder):
    text = visible(write_report(folder).read_text())
    assert "python benchmarks/grids.py" in text
    assert "python benchmarks/build_order.py" in text
    assert "python benchmarks/baselines.py --algo ap ppo a2c reinforce --points 10" in text
    assert "python benchmarks/baselines.py --env AttrBlocks-v0 --algo a2c --regime one_step" in text


def test_a_table_without_any_figure_says_so(folder):
    page = write_report(folder).read_text()
    grids = page[page.index('<section id="grids">') : page.index('<section id="build-order">')]
    assert "Not run yet." in grids
    blocks = page[page.index('<section id="blocks">') : page.index('<section id="continuous">')]
    assert "Not run yet." not in blocks


def test_an_empty_folder_gives_a_page_of_what_to_run(tmp_path):
    text = visible(write_report(tmp_path, tmp_path / "out" / "page.html").read_text())
    assert "Nothing has been measured yet." in text
    assert "paper 66.7" in text


def test_run_details_name_commands_commits_and_seeds(folder):
    text = visible(write_report(folder).read_text())
    assert "Seeds 0, 1, 2 Commits abc Machines m" in text
    assert "Commands python benchmarks/x.py" in text


def test_pictures_and_graphs_are_inside_with_their_words_escaped(folder):
    page = write_report(folder).read_text()
    assert "data:image/png;base64," in page
    assert "<strong>Two &lt;blocks&gt;</strong>. One on the other." in page
    assert '<button type="button" value="1" aria-pressed="false">key</button>' in page


def test_a_picture_without_words_is_called_by_its_name(tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "my_strip.png")
    (picture,) = read_pictures(tmp_path)
    assert (picture.title, picture.caption) == ("my strip", "")


@pytest.mark.parametrize(("text", "message"), [("{", "no JSON"), ("{}", "lacks")])
def test_a_damaged_graph_is_named(tmp_path, text, message):
    (tmp_path / "x.graph.json").write_text(text)
    with pytest.raises(InvalidData, match=message):
        read_graphs(tmp_path)


def test_learning_curves_show_the_mean_and_range_of_the_longest_trainings():
    lines = [
        solved(successes, suite="curves", env="AttrSwitches-v0", task=f"targets@{moment}")
        | {"method": "ap", "budget": budget, "seed": seed, "extra": {"moment": moment}}
        for budget, moment, seed, successes in (
            (100, 50, 0, 20),
            (100, 50, 1, 40),
            (100, 100, 0, 80),
            (10, 10, 0, 99),
        )
    ]
    (chart,) = learning_charts(Results(lines))
    (curve,) = chart.curves
    assert [mark.x for mark in curve.marks] == [50, 100]
    assert [mark.y for mark in curve.marks] == [30.0, 80.0]
    assert tips(chart.svg) == [
        "AP, our default\n50 steps: 30.0% (20.0 to 40.0)",
        "AP, our default\n100 steps: 80.0%",
    ]


def test_the_sample_size_curve_has_a_point_for_each_budget():
    lines = [
        solved(successes, task="multi_step", method="ap", budget=budget)
        for budget, successes in ((10_000, 50), (1_000_000, 90))
    ]
    chart = next(one for one in sample_charts(Results(lines)) if one.title == "multi-step")
    ours = next(curve for curve in chart.curves if curve.kind == "ours")
    theirs = [curve for curve in chart.curves if curve.kind == "paper"]
    assert [mark.x for mark in ours.marks] == [10_000, 1_000_000]
    assert [len(curve.marks) for curve in theirs] == [4, 4]
    assert len(tips(chart.svg)) == 10


def test_edges_are_drawn_on_logarithmic_axes():
    edges = line(suite="blocks", env="AttrBlocks-v0", task="edges", method="ap", budget=10_000)
    chart = sample_charts(Results([edges | {"value": 10_000.0, "seed": 0}]))[-1]
    ours = next(curve for curve in chart.curves if curve.kind == "ours")
    assert (chart.log, ours.marks[0].y) == ("xy", 10_000.0)
    assert {">10K<", ">100K<", ">1M<"} <= set(re.findall(">[^<>]+<", chart.svg))


def test_a_chart_has_the_colours_of_the_page_and_nothing_from_elsewhere():
    curves = [Curve("a < b", "ours", 1, [Mark(0, 10, 0, 20), Mark(5, 50, 40, 60)])]
    svg = Chart("<title>", "steps", "solved, %", curves).svg
    assert "var(--s1)" in svg
    assert "var(--muted)" in svg
    assert not re.search("http|url|<title>|font-family", svg)
    assert tips(svg)[1] == "a < b\n5 steps: 50.0% (40.0 to 60.0)"


def test_the_script_writes_the_page_where_it_is_told_to(folder, tmp_path, capsys):
    main([str(folder)])
    assert (folder / "report.html").exists()
    main([str(folder), "--out", str(tmp_path / "page.html")])
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {tmp_path / 'page.html'}"
    with pytest.raises(SystemExit, match="no folder"):
        main([str(tmp_path / "nowhere")])
