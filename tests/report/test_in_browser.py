"""The page in a real browser, opened from disk."""

from __future__ import annotations

import time

import pytest
from headless import CHROMIUM, DRIVER, Browser
from test_episodes import pictured
from test_page import folder, planner, write_lines  # noqa: F401  fixtures
from test_results import solved

from gym_attrplan.report import write_agent_report, write_report

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs a browser: sh requirements/browser.sh"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


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


def shown(page, selector):
    """Texts of the elements that can be seen."""
    return page.run(
        f"return [...document.querySelectorAll({selector!r})]"
        ".filter((one) => one.getClientRects().length).map((one) => one.textContent.trim())"
    )


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
    assert "95.0" in shown(page, f"{panels.format(1)} .figure")
    assert shown(page, panels.format(2)) == []
    page.click('[data-choices="blocks"] button[value="2"]')
    assert shown(page, panels.format(1)) == []
    assert len(shown(page, panels.format(2))) == 1
    assert shown(page, '[data-choices="blocks"] [aria-pressed="true"]') == ["4-stack"]
    assert page.console() == []


def test_choosing_a_plan_shows_its_way_and_its_hops(page):
    assert shown(page, "#graphs .hops li") == ["0.50key", "0.50door"]
    page.click('[data-choices="graph1"] button[value="1"]')
    assert shown(page, "#graphs .hops li") == ["0.50key"]
    assert len(shown(page, '#graphs svg [data-panel="graph1:1"]')) == 3  # the way and its ends
    assert shown(page, '#graphs svg [data-panel="graph1:0"]') == []


def test_choosing_an_environment_shows_its_learning_curve(page):
    assert shown(page, '[data-choices="learning"] button') == ["AttrCrafting-v0", "AttrSwitches-v0"]
    page.click('[data-choices="learning"] button[value="1"]')
    labels = (
        "return [...document.querySelectorAll('#learning svg')]"
        ".filter((one) => one.getClientRects().length).map((one) => one.ariaLabel)"
    )
    assert page.run(labels) == ["AttrSwitches-v0: test tasks solved, % by steps"]


def test_pointing_at_a_cell_tells_its_seeds(page):
    assert shown(page, "#tip") == []
    page.click("#table-blocks td.ours")
    (said,) = shown(page, "#tip")
    assert "seed 1: 95.0%" in said
    page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert shown(page, "#tip") == []


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


@pytest.fixture
def agent_page(browser, counter_agent, tmp_path):
    file = write_agent_report(
        counter_agent, tmp_path / "agent.html", picture_env=pictured(), n_tasks=40
    )
    browser.resize(1280, 900)
    browser.open(file)
    return browser


def test_the_page_of_an_agent_opens_without_a_word_on_the_console(agent_page):
    assert agent_page.console() == []
    assert len(shown(agent_page, "main > section")) == 8


def test_its_video_can_be_played(agent_page):
    state = "const film = document.querySelector('.film video, .film img'); return {}"
    assert agent_page.run(state.format("film.readyState ?? 4 * film.complete")) >= 1
    assert agent_page.run(state.format("film.videoWidth || film.naturalWidth")) >= 400
    assert agent_page.run(state.format("film.error === null || film.error === undefined"))


def test_choosing_other_hops_shows_them(agent_page):
    first, second = (f'[data-panel="hops:{i}"]' for i in range(2))
    assert (len(shown(agent_page, first)), len(shown(agent_page, second))) == (1, 0)
    agent_page.click('[data-choices="hops"] button[value="1"]')
    assert (len(shown(agent_page, first)), len(shown(agent_page, second))) == (0, 1)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_an_agents_page_fits_any_width(agent_page, width, dark):
    agent_page.resize(width, 800, dark=dark)
    assert agent_page.run("return document.documentElement.scrollWidth") <= width


def test_a_wide_table_shows_that_there_is_more_until_it_is_scrolled_to(agent_page):
    more = "return document.querySelector('#attributes .wide').hasAttribute('data-more')"
    assert not agent_page.run(more)
    agent_page.resize(390, 800)
    assert eventually(agent_page, more, True)
    agent_page.run("document.querySelector('#attributes .scroll').scrollLeft = 10_000")
    assert eventually(agent_page, more, False)


def eventually(page, script, wanted):
    """Whether a script gives what is wanted before long: layout and scrolling are not at once."""
    for _ in range(50):
        if page.run(script) == wanted:
            return True
        time.sleep(0.05)
    return False
