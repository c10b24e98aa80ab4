"""Agents trained once for all tests of the report."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import report_agents

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def log(tmp_path_factory, seed):
    return tmp_path_factory.mktemp("log")


@pytest.fixture(scope="session")
def counter_agent(log, seed):
    return report_agents.trained(report_agents.counter, 8_000, seed, log)


@pytest.fixture(scope="session")
def neighbour_agent(seed):
    """Hops to whole neighbouring descriptions, as in the paper."""
    return report_agents.trained(report_agents.counter, 8_000, seed, **report_agents.FIRST)


@pytest.fixture(scope="session")
def moody_agent(seed):
    return report_agents.trained(report_agents.moody, 8_000, seed)
