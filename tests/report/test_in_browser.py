"""The page about an agent in a real browser, opened from disk."""

from __future__ import annotations

import time

import pytest
from headless import NEEDS_BROWSER, Browser
from test_episodes import pictured

from gym_attrplan.report import write_agent_report

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


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
    assert len(agent_page.shown("main > section")) == 8


def test_its_video_can_be_played(agent_page):
    state = "const film = document.querySelector('.film video, .film img'); return {}"
    assert agent_page.run(state.format("film.readyState ?? 4 * film.complete")) >= 1
    assert agent_page.run(state.format("film.videoWidth || film.naturalWidth")) >= 400
    assert agent_page.run(state.format("film.error === null || film.error === undefined"))


def test_choosing_other_hops_shows_them(agent_page):
    first, second = (f'[data-panel="hops:{i}"]' for i in range(2))
    assert (len(agent_page.shown(first)), len(agent_page.shown(second))) == (1, 0)
    agent_page.click('[data-choices="hops"] button[value="1"]')
    assert (len(agent_page.shown(first)), len(agent_page.shown(second))) == (0, 1)


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
