"""The page with the paper's tables in a real browser, opened from disk."""

from __future__ import annotations

import pytest
from headless import NEEDS_BROWSER, Browser
from paper_page import write_report
from test_paper_page import folder, write_lines  # noqa: F401  fixtures
from test_results import solved

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def page(browser, folder):  # noqa: F811
    curves = [
        solved(50, suite="curves", env=env, task=f"targets@{moment}", method="ap", budget=100)
        | {"extra": {"moment": moment}}
        for env in ("AttrCrafting-v0", "AttrSwitches-v0")
        for moment in (50, 100)
    ]
    write_lines(folder, curves)
    browser.resize(1200, 900)
    browser.open(write_report(folder))
    return browser


def test_it_opens_without_a_word_on_the_console(page):
    assert page.console() == []


def test_all_tables_and_figures_are_there(page):
    assert page.run("return document.querySelectorAll('table[id]').length") == 5
    assert page.run("return document.querySelectorAll('svg.chart use[data-tip]').length") > 4
    loaded = "return [...document.images].map((one) => one.complete && one.naturalWidth > 0)"
    assert page.run(loaded) == [True]
    assert page.run("return document.querySelectorAll('#graphs svg [data-tip]').length") == 4


def test_choosing_a_task_shows_its_figures_alone(page):
    panels = '#blocks [data-panel="blocks:{}"]'
    assert "95.0" in page.shown(f"{panels.format(1)} .figure")
    assert page.shown(panels.format(2)) == []
    page.click('[data-choices="blocks"] button[value="2"]')
    assert page.shown(panels.format(1)) == []
    assert len(page.shown(panels.format(2))) == 1
    assert page.shown('[data-choices="blocks"] [aria-pressed="true"]') == ["4-stack"]
    assert page.console() == []


def test_choosing_a_plan_shows_its_way_and_its_hops(page):
    assert page.shown("#graphs .hops li") == ["0.50key", "0.50door"]
    page.click('[data-choices="graph1"] button[value="1"]')
    assert page.shown("#graphs .hops li") == ["0.50key"]
    assert len(page.shown('#graphs svg [data-panel="graph1:1"]')) == 3  # the way and its ends
    assert page.shown('#graphs svg [data-panel="graph1:0"]') == []


def test_choosing_an_environment_shows_its_learning_curve(page):
    assert page.shown('[data-choices="learning"] button') == ["AttrCrafting-v0", "AttrSwitches-v0"]
    page.click('[data-choices="learning"] button[value="1"]')
    labels = (
        "return [...document.querySelectorAll('#learning svg')]"
        ".filter((one) => one.getClientRects().length).map((one) => one.ariaLabel)"
    )
    assert page.run(labels) == ["AttrSwitches-v0: test tasks solved, % by steps"]


def test_pointing_at_a_cell_tells_its_seeds(page):
    assert page.shown("#tip") == []
    page.click("#table-blocks td.ours")
    (said,) = page.shown("#tip")
    assert "seed 1: 95.0%" in said
    page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert page.shown("#tip") == []


@pytest.mark.parametrize("width", [360, 390, 768, 1200])
def test_nothing_sticks_out_at_any_width(page, width):
    page.resize(width, 800)
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_it_is_readable_in_the_dark(page):
    page.resize(1200, 900, dark=True)
    colours = page.run(
        "const style = getComputedStyle(document.body);"
        "return [style.color, style.backgroundColor].map((one) => "
        "one.match(/[0-9]+/g).map(Number).reduce((a, b) => a + b) / 3)"
    )
    ink, ground = colours
    assert ink > 200
    assert ground < 40


def test_it_prints(page, tmp_path):
    page.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
