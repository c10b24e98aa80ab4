"""The page to play on, with NiceGUI's simulated user: no browser is needed."""

from __future__ import annotations

import asyncio
import logging

import pytest
from play_worlds import counting_setup

pytest.importorskip("nicegui", reason='needs NiceGUI: pip install "gym_attrplan[play]"')

import httpx
from nicegui import core, ui
from nicegui.testing import User
from nicegui.testing.user_simulation import user_simulation

from gym_attrplan.report.play.lobby import Lobby
from gym_attrplan.report.play.page import open_page
from gym_attrplan.report.play.quick_training import QuickTraining
from gym_attrplan.report.play.setup import WITHOUT_PLANNING

PATIENCE = 200
"""Looks, a tenth of a second apart, before something is taken to be missing."""


@pytest.fixture
def visit(caplog):
    """Runs a story of a user who has opened the page; nothing may be logged as an error."""

    def run(story, source=None):
        lobby = Lobby(counting_setup(hops="neighbours") if source is None else source)

        async def tell():
            async with user_simulation(root=lambda: open_page(lobby)) as user:
                await user.open("/")
                await story(user)
                # As NiceGUI's own fixture, before the simulation is torn down with tasks in it.
                assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []

        asyncio.run(tell())

    return run


async def sees(user, content):
    await user.should_see(content, retries=PATIENCE)


async def found(user, *target, **marks):
    """What a user looks for, as soon as the page shows it."""
    await user.should_see(*target, **marks, retries=PATIENCE)
    return user.find(*target, **marks)


async def ask(user, text):
    await sees(user, "goal: ")  # the page is there: it overwrites no text any more
    (field,) = (await found(user, marker="goal text")).elements
    field.set_value(text)
    (await found(user, marker="goal text")).trigger("keydown.enter.prevent")


def test_the_plan_is_there_before_anything_moves(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        await sees(user, "3 hops · probability 0.9")
        await sees(user, "two, not one")
        await sees(user, "goal: not four, two, one")

    visit(story)


def test_a_goal_picked_by_controls_is_reached(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        for name, value in (("two", -1), ("one", -1), ("four", 1)):
            (control,) = (await found(user, marker=f"attribute {name}")).elements
            control.set_value(value)
            await asyncio.sleep(0.1)
        await sees(user, "goal: four")
        (await found(user, marker="play")).click()
        await sees(user, "Reached in 4 steps.")
        await sees(user, "Play")

    visit(story)


def test_a_goal_in_words_is_changed_on_the_way(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        await ask(user, "four, two")
        await sees(user, "6 hops")
        (await found(user, "Step")).click()
        await sees(user, "step 1 ·")
        await ask(user, "two, not one")
        await sees(user, "1 hop ·")
        (await found(user, "Step")).click()
        await sees(user, "Reached in 1 step.")

    visit(story)


def test_a_goal_that_controls_cannot_show_is_left_alone_by_them(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        await ask(user, "four or two, one")
        await sees(user, "goal: four or two, one")
        await asyncio.sleep(0.5)
        assert [one.value for one in (await found(user, marker="goal text")).elements] == [
            "four or two, one"
        ]
        goals = [
            one for one in (await found(user, ui.label)).elements if one.text.startswith("goal: ")
        ]
        assert len(goals) == 2

    visit(story)


def test_a_seed_that_is_typed_begins_its_episode(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        (await found(user, "Step")).click()
        await sees(user, "step 1 ·")
        (seed,) = (await found(user, marker="seed")).elements
        seed.set_value(7)
        (await found(user, marker="seed")).trigger("change")
        await sees(user, "step 0 ·")
        (await found(user, "New episode")).click()
        for _ in range(PATIENCE):
            if seed.value == 8:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"the seed is {seed.value}")

    visit(story)


def test_a_suggestion_is_a_goal(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        (await found(user, marker="suggestion")).click()
        await sees(user, "goal: one")

    visit(story)


def test_an_unreachable_goal_is_answered_with_the_nearest_description(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        await ask(user, "never")
        await sees(user, "what differs is 'never'")

    visit(story)


def test_a_wrong_text_is_answered_beside_it_until_it_is_put_right(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        await ask(user, "fuor")
        await sees(user, "Did you mean 'four'?")
        assert [one.value for one in (await found(user, marker="goal text")).elements] == ["fuor"]
        await ask(user, "four")
        await user.should_not_see("Did you mean 'four'?", retries=PATIENCE)
        await sees(user, "goal: four")

    visit(story)


@pytest.mark.parametrize("rival", [WITHOUT_PLANNING, 'planner="paper"'])
def test_two_play_the_same_task_side_by_side(visit, rival):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        (choice,) = (await found(user, marker="rival")).elements
        choice.set_value(rival)
        await sees(user, "the agent")
        (await found(user, marker="play")).click()
        for _ in range(PATIENCE):
            reached = [
                one for one in (await found(user, ui.label)).elements if "Reached in" in one.text
            ]
            shown = [one for one in reached if "result" in one.classes]
            if len(shown) == 2:
                return
            await asyncio.sleep(0.1)
        raise AssertionError("only one has a result")

    visit(story)


def test_two_users_play_apart_and_a_reload_goes_on(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        transport = httpx.ASGITransport(core.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            other = User(client)
            await other.open("/")
            await sees(other, "PlayCounter-v0")
            await ask(other, "four")
            await sees(other, "goal: four")
        await user.should_not_see("goal: four")
        (await found(user, "Step")).click()
        await sees(user, "step 1 ·")
        await user.open("/")
        await sees(user, "step 1 ·")

    visit(story)


def test_a_failing_environment_shows_its_error_and_a_new_episode_goes_on(visit):
    async def story(user):
        await sees(user, "PlayCounter-v0")
        (await found(user, marker="play")).click()
        await sees(user, "RuntimeError: the counter is stuck A new episode tries again.")
        (await found(user, "New episode")).click()
        await user.should_not_see("the counter is stuck", retries=PATIENCE)
        await sees(user, "step 0 ·")

    visit(story, counting_setup(kwargs={"fails_at": 2}))


def test_text_stands_in_for_a_picture(visit):
    async def story(user):
        await sees(user, "count 0")

    visit(story, counting_setup("PlayText-v0"))


def test_what_the_attributes_miss_is_looked_for_on_demand(visit):
    training = QuickTraining("PlayCounter-v0", {}, total_timesteps=4_000)
    training.run()

    async def story(user):
        await sees(user, "'never' never changed")
        (await found(user, "Do the attributes say enough?")).click()
        await sees(user, "No hop depends on more than the attributes")

    visit(story, training)


def test_a_training_shows_its_progress_and_then_the_page(visit):
    training = QuickTraining("PlayCounter-v0", {}, total_timesteps=50_000_000)

    async def story(user):
        await sees(user, "Training an agent in PlayCounter-v0")
        training.start()
        await sees(user, "of 50,000,000 steps")
        (await found(user, "Play with what it knows now")).click()
        await sees(user, "step 0")
        (await found(user, "Step")).click()
        await sees(user, "step 1")

    visit(story, training)


def test_a_training_that_fails_says_so_on_the_page(visit):
    training = QuickTraining("PlayCounter-v0", {"fails_at": 1}, total_timesteps=100)
    training.start()

    async def story(user):
        await sees(user, "the counter is stuck")

    visit(story, training)
