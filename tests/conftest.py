"""What holds for all tests: no windows, no chance, and learning tests to repeat over seeds.

A test that seeds nothing draws the same numbers in every run, whichever tests ran before it.

A test marked ``learning`` trains something and asserts how well it then does. It takes the fixture
``seed``: 0, or 0 to n - 1 in turn with ``--seeds n``, and then a table says how often each passed.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter

import numpy as np
import pytest
import torch
from gymnasium.utils import seeding
from hypothesis import settings

# Tests never time anything and try the same examples in every run: a busy machine fails none of
# them, and neither does an unlucky one.
settings.register_profile("untimed", deadline=None, derandomize=True)
settings.load_profile("untimed")

# No test opens a window. And where there is no display SDL would draw off screen with OpenGL, and
# on quitting close it for MuJoCo as well.
os.environ["SDL_VIDEODRIVER"] = "dummy"

ENOUGH = 0.95
"""The share of the seeds for which a learning test has to pass: 19 of 20."""

_SEED = re.compile(r"-?seed\d+-?")


_seeds = itertools.count()


def _seeded(make):
    """``make``, which draws its seed where none is given, with the next seed of this test."""

    def make_seeded(seed=None):
        return make(next(_seeds) if seed is None else seed)

    return make_seeded


np.random.default_rng = _seeded(np.random.default_rng)
seeding.np_random = _seeded(seeding.np_random)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    global _seeds
    _seeds = itertools.count()
    np.random.seed(0)  # noqa: NPY002  Stable-Baselines3 draws from it
    torch.manual_seed(0)  # Python's own generator is left: two Rays would draw the same ports


@pytest.fixture(scope="session")
def seed(request):
    """What a learning test draws all its random numbers from."""
    return getattr(request, "param", 0)


def pytest_addoption(parser):
    parser.addoption(
        "--seeds", type=int, default=1, metavar="n", help="run each learning test with n seeds"
    )


def pytest_generate_tests(metafunc):
    n_seeds = metafunc.config.getoption("--seeds")
    if metafunc.definition.get_closest_marker("learning") is None:
        return
    if "seed" not in metafunc.fixturenames:
        raise pytest.UsageError(f"{metafunc.function.__name__} learns: it takes the fixture 'seed'")
    if n_seeds > 1:
        ids = [f"seed{one}" for one in range(n_seeds)]
        metafunc.parametrize("seed", range(n_seeds), indirect=True, ids=ids, scope="session")


def pytest_terminal_summary(terminalreporter, config):
    n_seeds, passed = config.getoption("--seeds"), passed_by_test(terminalreporter)
    if n_seeds > 1:
        terminalreporter.section("learning tests, worst first")
        terminalreporter.write_line(f"{'passed of ' + str(n_seeds):>12}  test")
        for test, n in sorted(passed.items(), key=lambda row: row[1]):
            terminalreporter.write_line(f"{n:>12}  {test}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    """A learning test may fail for a few of many seeds; any other failure still counts."""
    n_seeds = session.config.getoption("--seeds")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if n_seeds > 1 and exitstatus == pytest.ExitCode.TESTS_FAILED and reporter is not None:
        all_repeated = all(_SEED.search(one.nodeid) for one in not_passed(reporter))
        if all_repeated and min(passed_by_test(reporter).values()) >= ENOUGH * n_seeds:
            session.exitstatus = pytest.ExitCode.OK


def passed_by_test(reporter):
    """How many seeds each learning test passed with, by the test's id without the seed."""
    passed = Counter()
    for report in [*reporter.getreports("passed"), *not_passed(reporter)]:
        if _SEED.search(report.nodeid) and (report.when == "call" or not report.passed):
            passed[_SEED.sub("", report.nodeid).removesuffix("[]")] += report.passed
    return passed


def not_passed(reporter):
    return [*reporter.getreports("failed"), *reporter.getreports("error")]
