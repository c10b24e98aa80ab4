"""The page to play on, in a real browser, at the widths of a desktop and of a phone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from headless import NEEDS_BROWSER, Browser

pytest.importorskip("nicegui", reason='needs NiceGUI: pip install "gym_attrplan[play]"')

pytestmark = NEEDS_BROWSER

GOAL = "section.goal input, section.goal textarea"
RESULT = "[...document.querySelectorAll('.result')].filter(one => one.offsetParent)"
LOG = "document.querySelector('.log').textContent"
ENTER = "\ue007"
SELECT_ALL = "\ue009a\ue000"


@pytest.fixture(scope="module")
def address():
    """Where a server of its own process shows the page."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("play_server.py")
    # NiceGUI behaves otherwise where it finds that a test is running.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    server = subprocess.Popen([sys.executable, str(script), str(port)], env=env)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            break
    yield address
    server.terminate()
    server.wait()


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(params=[1280, 390])
def page(request, browser, address):
    """A page newly opened in a tab of its own; nothing is ever asked of another machine."""
    before = browser.new_tab()
    browser.resize(request.param, 900)
    browser.visit(address)
    browser.wait_for("document.querySelector('.hops li')")
    yield browser
    asked = [url for url in browser.requests() if not url.startswith(("data:", "chrome:"))]
    own = (f"{address}/", address.replace("http", "ws") + "/")
    assert asked
    assert [url for url in asked if not url.startswith(own)] == []
    assert browser.run("return document.documentElement.scrollWidth") <= request.param
    assert browser.console() == []
    browser.close_tab()
    browser.switch_to(before)


def ask(page, text):
    page.click(GOAL)
    page.type(GOAL, SELECT_ALL)
    page.type(GOAL, text + ENTER)


def press(page, key):
    page.run("document.activeElement.blur()")
    pressed = f"{{key: {key!r}, code: {key!r}, bubbles: true}}"
    page.run(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {pressed}))")


def test_a_goal_by_text_is_reached_with_the_keyboard_alone(page):
    ask(page, "four, two")
    page.wait_for(f"{LOG}.includes('goal: four, two')")
    press(page, "ArrowRight")
    page.wait_for("document.querySelector('.step').textContent.startsWith('step 1 ')")
    press(page, " ")
    page.wait_for(f"{RESULT}.length && {RESULT}[0].textContent.startsWith('Reached in 6 steps')")
    press(page, "n")
    page.wait_for("document.querySelector('.step').textContent.startsWith('step 0 ')")


def test_a_goal_by_controls_is_changed_on_the_way(page):
    page.click('[aria-label="four"] button:nth-child(3)')
    page.wait_for(f"{LOG}.includes('goal: four, two, one')")
    page.click(".buttons button:nth-child(2)")
    page.wait_for("document.querySelector('.step').textContent.startsWith('step 1 ')")
    page.click(".chip")
    page.wait_for(f"{LOG}.split('goal:').length == 4")
    page.click(".buttons button:nth-child(1)")
    page.wait_for(f"{RESULT}.length && {RESULT}[0].textContent.includes('eached')")


def test_an_unreachable_goal_and_a_wrong_one_are_answered(page):
    ask(page, "never")
    page.wait_for("document.querySelector('.trouble').textContent.includes(\"differs is 'never'\")")
    ask(page, "fuor")
    page.wait_for("document.querySelector('.goal .error').textContent.includes('Did you mean')")


def test_two_planners_play_side_by_side(page):
    page.click(".rival")
    page.wait_for("document.querySelectorAll('.q-menu .q-item').length == 3")
    page.click(".q-menu .q-item:nth-child(3)")
    page.wait_for("document.querySelectorAll('.lane').length == 2")
    page.click(".buttons button:nth-child(1)")
    page.wait_for(f"{RESULT}.length == 2")


def test_a_reload_in_the_middle_goes_on_and_another_tab_is_another_session(page, address):
    page.click(".buttons button:nth-child(2)")
    page.wait_for("document.querySelector('.step').textContent.startsWith('step 1 ')")
    page.visit(address)
    page.wait_for("document.querySelector('.step')")
    page.wait_for("document.querySelector('.step').textContent.startsWith('step 1 ')")
    before = page.new_tab()
    page.visit(address)
    page.wait_for("document.querySelector('.step')")
    page.wait_for("document.querySelector('.step').textContent.startsWith('step 0 ')")
    page.close_tab()
    page.switch_to(before)


def test_the_picture_and_the_graph_are_drawn(page):
    assert page.run("return document.querySelector('.lane img').naturalWidth") == 80
    page.wait_for("document.querySelector('.chart canvas')?.width > 100")


def test_it_is_readable_in_the_dark(page):
    page.resize(1280, 900, dark=True)
    page.wait_for("document.body.classList.contains('body--dark')")
    colours = page.run(
        "return [[document.body, 'backgroundColor'], [document.querySelector('.env'), 'color']]"
        ".map(([one, name]) => getComputedStyle(one)[name].match(/[0-9]+/g).slice(0, 3)"
        ".map(Number).reduce((a, b) => a + b) / 3)"
    )
    ground, ink = colours
    assert ground < 40
    assert ink > 200
    page.resize(390, 900)
