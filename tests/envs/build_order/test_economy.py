"""The rules, worked out by hand on single economies."""

import numpy as np
import pytest
from economies import BARRACKS, CENTRE, act, begin, legal

from gym_attrplan.envs.build_order import EconomyRules, Job, Kind
from gym_attrplan.error import InvalidEnvironment

MOVES = {"right", "down", "left", "up"}


def test_an_economy_begins_with_four_scvs_a_command_centre_and_fifty_ore():
    economy = begin()
    assert sorted(economy.units) == [0, 1, 2, 3, CENTRE]
    assert (economy.ore, economy.counts) == (50, [4, 0, 0, 0])
    assert economy.state().attributes()[0].tolist() == [2, 4, 0, 0, 0]


def test_a_trip_takes_fifteen_steps_and_brings_eight_ore_again_and_again():
    economy = begin()
    act(economy, 14, s0="mine")  # 4 steps there, 7 of drilling, 3 of 4 back
    assert economy.ore == 50
    act(economy)
    assert economy.ore == 58
    act(economy, 15)
    assert economy.ore == 66


def test_an_scv_that_walks_keeps_its_load_and_takes_it_home_when_told_to_mine():
    economy = begin()
    act(economy, 12, s0="mine")
    act(economy, 5, s0="up")
    assert economy.units[0].cargo
    assert economy.ore == 50
    act(economy, 4, s0="mine")
    assert economy.ore == 58


def test_drilling_is_seen_through_and_walking_to_the_minerals_is_not():
    economy = begin()
    act(economy, 3, s0="mine")
    assert legal(economy, 0) == {"wait", *MOVES}
    act(economy)
    assert economy.units[0].job == Job.DRILLING
    assert legal(economy, 0) == {"wait"}
    act(economy, s0="left")
    assert economy.units[0].cell == economy.patches[0]


def test_the_second_scv_at_a_patch_waits_until_the_first_has_drilled():
    economy = begin()
    economy.units[8] = type(economy.units[0])(8, Kind.SCV, (16, 16))
    act(economy, 15, s0="mine", s8="mine")
    assert economy.ore == 58  # both came in step 4; number 8 began to drill in step 11
    act(economy, 6)
    assert economy.ore == 58
    act(economy)
    assert economy.ore == 66


def test_a_move_is_two_cells_and_ends_at_the_edge_of_the_map():
    economy = begin(cells=((1, 30), (16, 16), (16, 16), (16, 16)))
    act(economy, s0="left", s1="down")
    assert economy.units[0].cell == (0, 30)
    assert economy.units[1].cell == (16, 18)
    assert legal(economy, 0) == {"wait", "right", "up", "down", "mine"}


def test_an_scv_is_paid_for_at_once_counted_at_once_and_there_after_25_steps():
    economy = begin()
    act(economy, 24, s10="train scv")
    assert (economy.ore, economy.counts[0], economy.done[0]) == (0, 5, 4)
    assert 4 not in economy.units
    act(economy)
    assert economy.done[0] == 5
    assert economy.units[4].cell == (16, 16)
    assert "mine" in legal(economy, 4)


def test_a_building_makes_one_thing_at_a_time():
    economy = begin(ore=500)
    act(economy, s10="train scv")
    assert legal(economy, CENTRE) == {"wait"}
    act(economy, s10="train scv")
    assert (economy.ore, economy.counts[0]) == (450, 5)


def test_an_order_that_cannot_be_paid_is_refused_and_costs_nothing():
    economy = begin(ore=99)
    before = economy.state()
    act(economy, s0="build depot")
    assert "build depot" not in legal(economy, 0)
    assert economy.ore == 99
    np.testing.assert_array_equal(economy.state().jobs, before.jobs)


def test_of_two_orders_with_ore_for_one_the_first_slots_is_carried_out():
    economy = begin(ore=199)
    act(economy, s2="build depot", s1="build depot")
    assert (economy.ore, economy.counts[1]) == (99, 1)
    assert economy.units[1].job == Job.TO_SITE
    assert economy.units[2].job == Job.IDLE


def test_construction_occupies_the_scv_and_its_site_until_the_building_stands():
    economy = begin(ore=150)
    # The nearest free site is (16, 11), 5 cells away: 3 steps of walking, then 100 of building.
    act(economy, 103 - 1, s0="build barracks")
    assert legal(economy, 0) == {"wait"}
    assert (economy.counts[2], economy.done[2]) == (1, 0)
    assert BARRACKS not in economy.units
    act(economy)
    assert economy.done[2] == 1
    assert economy.units[BARRACKS].cell == (16, 11)
    assert economy.units[0].job == Job.IDLE
    assert {site: one.done for site, one in economy.buildings.items()} == {0: True}


def test_two_scvs_never_build_on_one_site():
    economy = begin(ore=400)
    act(economy, s0="build depot", s1="build depot", s2="build depot")
    assert len({economy.units[slot].site for slot in range(3)}) == 3


def test_without_a_free_site_in_reach_nothing_can_be_built():
    economy = begin(ore=400, cells=((31, 16), *((16, 16),) * 3))
    assert "build depot" not in legal(economy, 0)  # the nearest sites are in columns 16 and 20
    assert "build depot" in legal(economy, 1)
    assert economy.spots()[0, :2].tolist() == [False, True]


def test_marines_need_a_finished_barracks_and_are_trained_in_it():
    economy = begin(ore=250)
    act(economy, 102, s0="build barracks")
    assert BARRACKS not in economy.units
    act(economy)
    assert legal(economy, BARRACKS) == {"wait", "train marine"}
    act(economy, 30, s11="train marine")
    assert (economy.ore, economy.done[3]) == (50, 1)


def test_turrets_need_a_finished_engineering_bay():
    economy = begin("large", ore=1000)
    act(economy, 77, s0="build engineering_bay")
    assert "build turret" not in legal(economy, 1)
    act(economy)  # 3 steps of walking and 75 of building
    assert "build turret" in legal(economy, 1)


def test_supply_is_used_from_the_order_on_and_given_by_finished_depots():
    economy = begin(ore=2000)
    for _ in range(6):
        act(economy, 25, s10="train scv")
    assert (economy.supply_used, economy.supply) == (10, 10)
    act(economy, 102, s0="build barracks")
    act(economy)
    assert legal(economy, BARRACKS) == {"wait"}
    act(economy, 52, s1="build depot")
    assert economy.supply == 10
    act(economy)
    assert economy.supply == 18
    assert "train marine" in legal(economy, BARRACKS)


@pytest.mark.parametrize("product", ["depot", "barracks", "turret"])
def test_orders_beyond_the_cap_are_refused(product):
    economy = begin("large", ore=5000)
    number = [one.name for one in economy.rules.products].index(product)
    economy.done[4] = economy.counts[4] = 1  # an engineering bay, which turrets need
    cap = economy.rules.products[number].cap
    for slot in range(cap):
        act(economy, 110, **{f"s{slot}": f"build {product}"})
    ore = economy.ore
    assert economy.counts[number] == cap
    assert f"build {product}" not in legal(economy, 0)
    act(economy, s0=f"build {product}")
    assert (economy.ore, economy.counts[number]) == (ore, cap)


def test_units_cannot_do_what_is_anothers_trade():
    economy = begin(ore=1000)
    act(economy, s0="train scv", s10="build depot", s11="train marine")
    assert (economy.ore, economy.counts) == (1000, [4, 0, 0, 0])


def test_ore_counts_in_steps_of_25_up_to_40():
    for ore, level in ((24, 0), (25, 1), (999, 39), (1000, 40), (5000, 40)):
        assert begin(ore=ore).state().attributes()[0, 0] == level


@pytest.mark.parametrize("version", ["small", "large"])
def test_the_numbers_are_brood_wars(version):
    table = {
        "scv": (50, 300, 1),
        "depot": (100, 600, -8),
        "barracks": (150, 1200, 0),
        "marine": (50, 360, 1),
        "engineering_bay": (125, 900, 0),
        "turret": (75, 450, 0),
    }
    for one in EconomyRules(version).products:
        assert (one.ore, one.frames, one.supply) == table[one.name]


@pytest.mark.parametrize("side", range(4))
def test_the_minerals_are_eight_cells_from_the_centre_and_no_two_things_overlap(side):
    rules = EconomyRules("large")
    away = np.abs(rules.patches[side].astype(int) - 16)
    assert (away.max(axis=1) == 8).all()
    covered = np.zeros((32, 32), int)
    covered[14:18, 15:18] += 1
    for x, y in rules.patches[side]:
        covered[x, y] += 1
    for x, y in rules.sites[side]:
        covered[x - 2 : x + 2, y - 1 : y + 2] += 1
    assert covered.max() == 1
    assert covered.sum() == 12 + 8 + 16 * 12  # nothing lies outside the map


@pytest.mark.parametrize("version", ["medium", "", None])
def test_an_unknown_version_is_refused(version):
    with pytest.raises(InvalidEnvironment, match=r"version is one of \['small', 'large'\]"):
        EconomyRules(version)


@pytest.mark.parametrize("frames", [0, 5, 49])
def test_a_step_too_short_or_too_long_is_refused(frames):
    with pytest.raises(InvalidEnvironment, match="frames_per_step is from 6"):
        EconomyRules("small", frames)


def test_longer_steps_are_fewer():
    rules = EconomyRules("small", frames_per_step=24)
    assert (rules.walk, rules.drill_steps, rules.steps.tolist()) == (4, 3, [12, 25, 50, 15])
