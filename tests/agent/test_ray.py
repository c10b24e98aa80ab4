"""Environments and practice in Ray's workers: what is counted, whoever dies on the way."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest.mock
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO
from testing_env import same

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.copies import CopiesVecEnv, joined
from gym_attrplan.agent.remote import RayVecEnv, batches, cluster
from gym_attrplan.agent.remote.batches import Workers
from gym_attrplan.agent.vec_env import VectorEnvAdapter
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment, InvalidOption
from gym_attrplan.wrappers import with_attributes

ray = pytest.importorskip("ray")

N_ENVS = 4
SMALL = {"batch_steps": 256, "round_batches": 6}
TOTAL = 6_000
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def nodes():
    """Two machines of two processors each, as far as Ray knows."""
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    known = [str(ROOT), str(ROOT / "benchmarks"), *sys.path]  # for what tests define
    patch.setenv("PYTHONPATH", os.pathsep.join(known))
    node = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
    found = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    found.add_node(**node)
    cluster.connect(found.address)
    yield found
    ray.shutdown()
    found.shutdown()
    patch.undo()


def make_taxi():
    return with_attributes(gym.make("Taxi-v4", max_episode_steps=30))


def make_failing():
    class Failing(gym.Wrapper):
        def step(self, action):
            raise RuntimeError("the brakes failed")

    return Failing(make_taxi())


def make_agent(**options):
    return AttributePlannerAgent("MultiInputPolicy", "Taxi-v4", seed=5, n_envs=N_ENVS, **options)


def counted(agent):
    """Everything that practice has counted, as bytes."""
    parts = (agent.counts, agent.outcomes, agent.hops)
    arrays = [part.to_arrays() for part in parts]
    return [{name: array.tobytes() for name, array in part.items()} for part in arrays]


@pytest.fixture(scope="module")
def alone():
    """What is counted without Ray."""
    agent = make_agent().practise(TOTAL, **SMALL)
    assert agent.counts.n_edges > 20
    return counted(agent)


def pids(name):
    """The processes of workers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(f"ray::{name}".encode()):
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return found


class Mortal(gym.Wrapper):
    """Kills its process at random moments, until so many have died."""

    def __init__(self, env, marks, n_deaths, chance):
        super().__init__(env)
        self._marks = [Path(marks) / str(i) for i in range(n_deaths)]
        self._chance = chance

    def step(self, action):
        if random.SystemRandom().random() < self._chance:
            for mark in self._marks:
                with contextlib.suppress(FileExistsError):
                    mark.touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)
        return self.env.step(action)


def make_mortal(marks, n_deaths, chance):
    return with_attributes(Mortal(gym.make("Taxi-v4"), marks, n_deaths, chance))


# --- without a cluster --------------------------------------------------------------------------


def test_without_ray_the_line_to_install_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    for ask in (lambda: RayVecEnv("Taxi-v4"), lambda: make_agent().practise(100, workers=2)):
        with pytest.raises(DependencyNotInstalled, match=r'pip install "gym_attrplan\[ray\]"'):
            ask()


def test_nothing_imports_ray_by_itself():
    code = "import sys, gym_attrplan.agent.remote, gym_attrplan.cli; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("address", "message"),
    [("nowhere", "host:port"), ("127.0.0.1:1", "nothing answers"), ("localhost:x", "host:port")],
)
def test_a_cluster_that_is_not_there(address, message):
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(InvalidOption, match=f"{message}.*ray start --head"):
        cluster.connect(address)


def test_a_cluster_of_other_versions(monkeypatch):
    def refuse(**_):
        raise RuntimeError("Version mismatch: The cluster was started with: Ray: 1.0, Python: 2.7.")

    monkeypatch.setattr(cluster.socket, "create_connection", unittest.mock.MagicMock())
    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(InvalidOption, match=r"Ray: 1\.0, Python: 2\.7.*Install the same ones"):
        cluster.connect("127.0.0.1:6379")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"total_timesteps": 0}, "total_timesteps is at least 1"),
        ({"batch_steps": 0}, "batch_steps is at least 1"),
        ({"round_batches": -1}, "round_batches is at least 1"),
        ({"workers": -1}, "workers is a number from 0 on"),
        ({"workers": 1, "timeout": 0.0}, "timeout one above 0"),
        ({"checkpoint": "/proc/no/such"}, "cannot be saved"),
    ],
)
def test_bad_options_are_refused_before_any_work(given, message):
    agent = make_agent()
    with pytest.raises(InvalidOption, match=message):
        agent.practise(**{"total_timesteps": 100, **given})
    assert agent.counts.n_nodes == 0


def test_hops_to_neighbours_are_not_practised():
    with pytest.raises(InvalidOption, match=r'hops="changes"'):
        make_agent(hops="neighbours").practise(100)


def test_environments_that_are_made_already_cannot_be_made_elsewhere():
    agent = AttributePlannerAgent("MultiInputPolicy", make_taxi(), seed=0)
    with pytest.raises(InvalidEnvironment, match="make_env"):
        agent.practise(100, workers=2)


def test_practice_in_two_calls_is_that_in_one(alone):
    agent = make_agent()
    agent.practise(3_000, **SMALL)  # two of four rounds
    assert agent.steps_practised == 3_072
    agent.practise(TOTAL, reset_num_timesteps=False, **SMALL)
    assert counted(agent) == alone


def test_an_interrupted_round_leaves_nothing_behind(monkeypatch):
    agent = make_agent()
    agent.practise(1_536, **SMALL)
    before = counted(agent)
    calls = []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 150:
            raise KeyboardInterrupt
        return predict(*args, **kwargs)

    predict = agent.low_level.predict
    monkeypatch.setattr(agent.low_level, "predict", interrupted)
    with pytest.raises(KeyboardInterrupt):
        agent.practise(TOTAL, reset_num_timesteps=False, **SMALL)
    assert counted(agent) == before
    assert agent.hops.notes is None


# --- environments -------------------------------------------------------------------------------


def test_workers_see_what_one_process_sees(nodes):
    remote, here = RayVecEnv(make_taxi, 2, envs_per_worker=3), CopiesVecEnv([make_taxi] * 6)
    rng = np.random.default_rng(0)
    for venv in (remote, here):
        venv.seed(7)
    assert same(here.reset(), remote.reset())
    for _ in range(70):  # two episodes and more
        actions = rng.integers(remote.action_space.n, size=6)
        assert same(here.step(actions), remote.step(actions))
        assert same(here.reset_infos, remote.reset_infos)
    assert remote.get_attr("terminate_on_success", [4, 1]) == [True, True]
    assert not remote.has_attr("no_such_thing")
    PPO("MultiInputPolicy", remote, n_steps=16, batch_size=96).learn(96)
    agent = AttributePlannerAgent("MultiInputPolicy", remote, seed=0).learn(600)
    assert agent.counts.n_edges > 0
    remote.close()


class Nobody:
    """A ray whose workers never start."""

    kill = staticmethod(lambda worker: None)
    wait = staticmethod(lambda refs, num_returns, timeout: ([], refs))


def test_workers_that_never_start_are_not_waited_for_forever(monkeypatch):
    monkeypatch.setattr(batches, "START_SECONDS", 0.0)

    def make():
        worker = unittest.mock.MagicMock()
        worker.is_ready.remote = lambda: object()
        return worker

    with (
        Workers(Nobody(), make, 2, timeout=60.0) as workers,
        pytest.raises(InvalidEnvironment, match=r"no worker could be started .* ray status"),
    ):
        list(workers.run([(1,)]))


def make_batch():
    return gym.make_vec("AttrSwitches-v0", 3, vectorization_mode="vector_entry_point")


def test_batches_are_shards_as_they_are(nodes):
    remote, parts = RayVecEnv(make_batch, 2), [VectorEnvAdapter(make_batch()) for _ in range(2)]
    remote.seed(7)
    for i, part in enumerate(parts):
        part.seed(7 + 3 * i)
    assert same(dict(remote.reset()), joined([part.reset() for part in parts]))
    actions = np.arange(6) % remote.action_space.n
    seen = joined(
        [part.step(some)[0] for part, some in zip(parts, np.split(actions, 2), strict=True)]
    )
    assert same(dict(remote.step(actions)[0]), seen)
    remote.close()


def test_a_lost_worker_is_replaced_and_told_what_it_was_told(nodes):
    venv = RayVecEnv(make_taxi, n_workers=2, envs_per_worker=2)
    venv.env_method("set_wrapper_attr", "terminate_on_success", False)
    venv.seed(1)
    seen = venv.reset()
    pid = ray.get(venv._shards[1].__ray_call__.remote(lambda _: os.getpid()))
    os.kill(pid, signal.SIGKILL)
    with pytest.warns(UserWarning, match="a worker was lost"):
        _, rewards, dones, infos = venv.step(np.zeros(4, int))
    assert dones.tolist() == [False, False, True, True]
    assert rewards[2:].tolist() == [0.0, 0.0]
    last = {key: part[3] for key, part in seen.items()}
    assert same(infos[3]["terminal_observation"], last)
    assert infos[3]["TimeLimit.truncated"]
    assert venv.get_attr("terminate_on_success") == [False] * 4
    venv.step(np.zeros(4, int))
    venv.close()


def test_an_environment_that_raises_is_heard(nodes):
    venv = RayVecEnv(make_failing, n_workers=1)
    venv.reset()
    with pytest.raises(RuntimeError, match="the brakes failed"):
        venv.step(np.zeros(1, int))
    venv.close()


def test_more_workers_than_processors_are_refused(nodes):
    with pytest.raises(InvalidOption, match="the cluster has 4, and 5 workers"):
        RayVecEnv(make_taxi, n_workers=5)


# --- practice -----------------------------------------------------------------------------------


def test_four_workers_count_what_one_counts_though_two_are_killed(nodes, alone, tmp_path):
    make_env = partial(make_mortal, tmp_path, n_deaths=2, chance=0.01)
    agent = make_agent().practise(TOTAL, workers=4, make_env=make_env, **SMALL)
    assert len(list(tmp_path.iterdir())) == 2
    assert counted(agent) == alone


@pytest.mark.slow
def test_twenty_kills_and_a_lost_node_are_not_missed(nodes, tmp_path):
    extra = nodes.add_node(num_cpus=2, object_store_memory=80 * 2**20)
    nodes.wait_for_nodes()
    make_env = partial(make_mortal, tmp_path, n_deaths=20, chance=0.0005)
    lost = threading.Timer(10.0, nodes.remove_node, [extra], {"allow_graceful": False})
    lost.start()
    agent = make_agent().practise(20 * TOTAL, workers=4, make_env=make_env, **SMALL)
    lost.join()
    assert len(list(tmp_path.iterdir())) == 20
    assert counted(agent) == counted(make_agent().practise(20 * TOTAL, **SMALL))


class Sleeper:
    """Falls asleep over the first job that it ever gets."""

    def is_ready(self):
        return True

    def work(self, marks):
        first = Path(marks) / "first"
        if not first.exists():
            first.touch()
            time.sleep(3_600)
        return "awake"


def test_a_silent_worker_counts_as_dead(nodes, tmp_path):
    actor = ray.remote(num_cpus=1)(Sleeper)
    with Workers(ray, actor.remote, 1, timeout=1.0) as workers:
        assert list(workers.run([(str(tmp_path),)])) == [(0, "awake")]


BENCHMARK = """
import argparse, os, signal, sys
from pathlib import Path
from cells import add_arguments, run_cells
from ledger import append

def run(number, marks):
    append("toy", env="toy", task="count", method="ap", budget=7, seed=number, value=1.0, unit="n")
    tried = Path(marks) / str(number)
    if number % 3 == 0 and not tried.exists():  # some workers die in the middle of a cell
        tried.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    append("toy", env="toy", task="done", method="ap", budget=7, seed=number, value=1.0, unit="n")
    return 10 * number

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    add_arguments(parser, jobs=2)
    parser.add_argument("marks")
    options = parser.parse_args()
    print(run_cells(run, [(i, options.marks) for i in range(5)], options))
"""


def test_no_line_of_a_ledger_is_lost_or_doubled(nodes, tmp_path):
    script, results = tmp_path / "toy.py", tmp_path / "results"
    script.write_text(BENCHMARK)
    (tmp_path / "marks").mkdir()
    env = {**os.environ, "ATTRPLAN_RESULTS": str(results)}
    command = [sys.executable, str(script), "--ray", nodes.address, str(tmp_path / "marks")]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "[0, 10, 20, 30, 40]" in done.stdout
    lines = [json.loads(line) for line in (results / "toy.jsonl").read_text().splitlines()]
    found = sorted((line["task"], line["seed"]) for line in lines)
    assert found == [(task, seed) for task in ("count", "done") for seed in range(5)]
    assert {line["command"] for line in lines} == {f"python toy.py --ray {nodes.address} marks"}


DRIVER = """
import signal
import sys
from gym_attrplan import AttributePlannerAgent

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if tests run in background
    path, total, again = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
    if again:
        agent = AttributePlannerAgent.load(path, env="Taxi-v4")
    else:
        agent = AttributePlannerAgent("MultiInputPolicy", "Taxi-v4", seed=5, n_envs=4)
    agent.practise(total, workers=2, batch_steps=256, round_batches=6, checkpoint=path,
                   reset_num_timesteps=not again)
"""


@pytest.mark.slow
def test_a_driver_that_was_killed_goes_on(tmp_path):
    script, path = tmp_path / "driver.py", tmp_path / "agent.zip"
    script.write_text(DRIVER)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(path), str(10 * TOTAL)]
    driver = subprocess.Popen(command, env=env, start_new_session=True)
    while not path.exists():
        assert driver.poll() is None
        time.sleep(0.05)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    done = AttributePlannerAgent.load(path).steps_practised
    assert 0 < done < 10 * TOTAL
    subprocess.run([*command, "again"], env=env, check=True, timeout=600)
    agent = AttributePlannerAgent.load(path)
    assert counted(agent) == counted(make_agent().practise(10 * TOTAL, **SMALL))


@pytest.mark.slow
def test_ctrl_c_ends_the_workers_and_keeps_the_rounds(tmp_path):
    script, path = tmp_path / "driver.py", tmp_path / "agent.zip"
    script.write_text(DRIVER)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    others = set(pids("PracticeWorker"))
    driver = subprocess.Popen(
        [sys.executable, str(script), str(path), str(100 * TOTAL)], env=env, stderr=subprocess.PIPE
    )
    while not path.exists():
        assert driver.poll() is None
        time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in driver.communicate(timeout=120)[1]
    assert AttributePlannerAgent.load(path).steps_practised > 0
    while left := set(pids("PracticeWorker")) - others:  # they end a moment after they are told to
        time.sleep(0.2)
    assert not left


def test_a_batch_that_fails_again_and_again_says_why_and_keeps_the_rounds_before(nodes):
    agent = make_agent()
    agent.practise(1_536, **SMALL)
    before = counted(agent)
    with pytest.raises(InvalidEnvironment, match=r"(?s)failed 3 times.*the brakes failed"):
        agent.practise(TOTAL, workers=1, make_env=make_failing, reset_num_timesteps=False, **SMALL)
    assert counted(agent) == before
