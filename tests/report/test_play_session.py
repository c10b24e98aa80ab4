"""What a tab of the page plays, without the page."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from play_worlds import N_STEPS, counting_agent, counting_setup

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGoal, InvalidOption
from gym_attrplan.graph import Planner, TransitionCounts
from gym_attrplan.report.play.pictures import as_picture
from gym_attrplan.report.play.quick_training import QuickTraining
from gym_attrplan.report.play.session import Session
from gym_attrplan.report.play.setup import WITHOUT_PLANNING
from gym_attrplan.report.play.suggestions import suggest_goals
from gym_attrplan.report.play.surroundings import MAX_NODES, Surroundings


@pytest.fixture
def session():
    session = Session(counting_setup())
    yield session
    session.close()


def play(session, n_steps=100):
    for _ in range(n_steps):
        session.step()
    return session.players[0]


def kinds(player):
    return [event.kind for event in player.events]


def test_it_begins_with_the_environments_own_goal_and_a_plan_for_it(session):
    (player,) = session.players
    assert session.goal.describe() == "not four, two, one"
    assert [hop.words for hop in player.hops] == ["one", "two, not one", "one"]
    assert player.following == "one"
    assert all(0.9 < hop.prob <= 1 for hop in player.hops)
    assert session.pictures[0].url.startswith("data:image/png")


def test_playing_makes_hop_after_hop_and_says_what_came_of_it(session):
    player = play(session)
    assert player.reached
    assert player.result().startswith("Reached in 3 steps. In this episode 3 hops worked and 0")
    assert kinds(player) == ["goal", "made", "made", "made", "end"]
    assert session.over
    assert not player.hops


def test_another_goal_goes_on_in_the_same_episode(session):
    session.step()
    session.ask("four, not two, not one")
    (player,) = session.players
    assert player.n_steps == 1
    assert [hop.words for hop in player.hops] == ["two, not one", "one", "four, not two, not one"]
    assert play(session).result().startswith("Reached in 3 steps.")
    assert player.n_steps == 4
    session.ask("not four")
    assert not session.over
    assert play(session).n_steps == 8


def test_the_environment_is_told_the_goal_since_some_draw_it(session):
    session.ask("four")
    session.step()
    (player,) = session.players
    assert player._observation["desired_goal"].tolist() == [1, -1, -1, -1]


def test_goals_that_are_met_in_several_ways_are_planned_for(session):
    session.ask("four or two")
    assert play(session).result().startswith("Reached in 2 steps.")
    assert session.goal_vector().tolist() == [-1, -1, -1, -1]


def test_controls_change_one_attribute_of_the_goal(session):
    session.ask_attribute(0, 1)
    assert session.goal.describe() == "four, two, one"
    session.ask_attribute(1, -1)
    assert session.goal.describe() == "four, one"


def test_an_unreachable_goal_names_the_nearest_description_and_what_differs(session):
    session.ask("never, four")
    (player,) = session.players
    assert player.plan is None
    assert "no description that meets the goal was ever seen" in player.trouble
    assert "what differs is 'never'" in player.trouble
    assert "'four, not two, not one, not never'" in player.trouble
    play(session)
    assert player.result().startswith(f"Not reached: the time was up after {N_STEPS} steps.")


def test_a_wrong_goal_is_refused_and_changes_nothing(session):
    before = session.goal
    with pytest.raises(InvalidGoal, match="Did you mean 'four'"):
        session.ask("fuor")
    assert session.goal == before


@pytest.mark.parametrize("hops", ["changes", "neighbours"])
def test_a_hop_that_fails_is_told_and_planned_anew(hops):
    session = Session(counting_setup(hops=hops, n_idle=9))
    player = play(session)
    assert player.reached
    (failed,) = [event.words for event in player.events if event.kind == "failed"]
    assert failed == "one did not come about in 6 steps; planned anew"


def test_after_the_end_a_goal_begins_a_new_episode_with_the_same_seed(session):
    session.ask("never")
    player = play(session)
    assert player.ended
    session.ask("two, one")
    assert player.n_steps == 0
    assert session.seed == 0


def test_a_new_episode_keeps_the_goal_and_takes_the_next_seed(session):
    session.ask("four")
    session.new_episode()
    assert (session.seed, session.goal.describe()) == (1, "four")
    session.new_episode(7)
    assert session.seed == 7


def test_a_rival_gets_the_same_task():
    other = counting_agent(n_idle=5)
    session = Session(counting_setup(hops="neighbours", others={"other.zip": other}))
    assert list(session.setup.rivals) == [WITHOUT_PLANNING, 'planner="paper"', "other.zip"]
    for rival in session.setup.rivals:
        session.compare_with(rival)
        assert len(session.players) == len(session.pictures) == 2
        play(session)
        assert [player.reached for player in session.players] == [True, True]
    session.compare_with(None)
    assert len(session.players) == 1
    with pytest.raises(InvalidOption, match=r"other\.zip"):
        session.compare_with("others.zip")


def test_the_policy_without_planning_is_asked_for_the_whole_goal():
    session = Session(counting_setup())
    session.compare_with(WITHOUT_PLANNING)
    direct = session.players[1]
    assert direct.following == "two, one"
    assert direct.plan is None
    assert not direct.trouble


def test_the_papers_planner_is_offered_where_hops_go_to_neighbours_alone():
    assert 'planner="paper"' in counting_setup(hops="neighbours").rivals
    setup = counting_setup(hops="changes")
    assert list(setup.rivals) == [WITHOUT_PLANNING]
    assert 'planner="paper" is not offered' in setup.refused[0]


def test_an_environment_that_fails_leaves_its_error_and_a_new_episode_tries_again():
    session = Session(counting_setup(kwargs={"fails_at": 2}))
    session.playing = True
    for _ in range(4):
        session.step()
    assert session.error == "RuntimeError: the counter is stuck"
    assert not session.playing
    session.new_episode()
    assert session.error == ""
    assert session.players[0].n_steps == 0


def test_an_environment_that_cannot_be_made_leaves_its_error():
    def make():
        raise OSError("no display")

    session = Session(replace(counting_setup(), make_env=make))
    assert session.error == "OSError: no display"
    session.step()
    session.ask("four")
    assert session.error == "OSError: no display"


@pytest.mark.parametrize(
    ("env_id", "text"),
    [("PlayText-v0", "count 0"), ("PlayBlind-v0", "not four, not two, not one, not never")],
)
def test_without_pictures_there_is_text(env_id, text):
    session = Session(counting_setup(env_id))
    assert session.pictures[0].text == text
    assert session.pictures[0].url == ""


def test_large_and_colourful_pictures_are_sent_small():
    noise = np.random.default_rng(0).integers(256, size=(900, 1200, 3), dtype=np.uint8)
    picture = as_picture(noise)
    assert picture.url.startswith("data:image/jpeg")
    assert len(picture.url) < 400_000


def test_suggestions_are_near_and_far_and_do_not_hold_yet():
    agent = counting_agent()
    found = suggest_goals(agent.graph, np.zeros(4, np.int8))
    assert [one.n_hops for one in found] == sorted(one.n_hops for one in found)
    assert found[0].n_hops == 1
    assert found[-1].n_hops >= 4
    assert len({one.words for one in found}) == len(found)
    assert suggest_goals(agent.graph, np.array([0, 0, 0, 1], np.int8)) == []


def test_the_chart_shows_the_way_and_the_plan(session):
    session.step()
    surroundings = Surroundings(session.planner)
    series = surroundings.chart(session.players[0])["series"][0]
    assert len(series["data"]) == 8
    labels = [one["label"].get("formatter") for one in series["data"]]
    assert sorted(filter(None, labels)) == ["goal", "here"]
    widths = [one["lineStyle"]["width"] for one in series["links"]]
    assert widths.count(3) == 1 + 2  # one hop is behind, two are ahead


def test_of_a_large_graph_only_the_neighbourhood_is_drawn():
    space = AttributeSpace({"place": 20_000})
    counts = TransitionCounts(space)
    places = np.arange(19_999)
    for jump in range(1, 11):
        counts.record(places[: 20_000 - jump, None], (places[: 20_000 - jump] + jump)[:, None])
    assert counts.n_edges > 199_000

    class Standing:
        plan = Planner(counts).plan([500], {"place": 530})
        visited = [np.array([500], np.int16)]  # noqa: RUF012

    chart = Surroundings(Planner(counts)).chart(Standing())
    assert len(chart["series"][0]["data"]) == MAX_NODES
    assert len(chart["series"][0]["links"]) < 500


def test_what_is_known_names_what_never_changed():
    summary, never, *_ = counting_setup().what_is_known()
    assert summary.startswith("8 attribute sets, 8 transitions")
    assert never.startswith("'never' never changed")


def test_a_training_tells_its_progress_and_can_be_stopped():
    training = QuickTraining("PlayCounter-v0", {}, total_timesteps=10_000_000)
    training.start()
    while not training.n_steps:
        time.sleep(0.05)
    assert 0 < training.progress < 1
    training.stop()
    while training.setup is None and not training.error:
        time.sleep(0.05)
    assert training.error == ""
    assert training.n_descriptions > 1
    assert Session(training.setup).error == ""


def test_a_training_that_fails_keeps_the_error():
    training = QuickTraining("PlayCounter-v0", {"fails_at": 1}, total_timesteps=100)
    training.run()
    assert "the counter is stuck" in training.error
    assert training.setup is None
