"""Saved agents that are damaged, hostile, half written or written twice: none is half loaded."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from archive_damage import hashed_damage, raw_damage, unzipped
from campaign import Tally, sized
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.error import InvalidArchive
from gym_attrplan.models import AttributeDetector
from gym_attrplan.models.archive import tensors_from_bytes

GIB = 2**30
SECONDS = 20
"""Beyond this a load hangs; one takes a tenth of a second."""

CANARY = """
import pathlib
from torch import nn
pathlib.Path(__file__).with_suffix(".ran").touch()
class Net(nn.Module):
    pass
"""


class Hangs(BaseException):
    """Not an ``Exception``, which loading would take for the file's fault."""


@contextmanager
def limits(tally, what):
    """Two gigabytes more than now, and a time to be ready in."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = pages * os.sysconf("SC_PAGE_SIZE")
    previous = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(Hangs))
    resource.setrlimit(resource.RLIMIT_AS, (now + 2 * GIB, before[1]))
    signal.alarm(SECONDS)
    try:
        yield
    except Hangs:
        tally.must(False, f"hangs: {what}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        resource.setrlimit(resource.RLIMIT_AS, before)


def counter():
    env = gym.wrappers.TimeLimit(GenericTestEnv(), 30)
    return AttributeWrapper(env, ["four", "two", "one"], three_bits)


@pytest.fixture(scope="module")
def agent():
    small = {"n_steps": 32, "batch_size": 32, "policy_kwargs": {"net_arch": [4]}}
    made = AttributePlannerAgent(
        "MultiInputPolicy",
        DummyVecEnv([counter] * 8),
        seed=0,
        max_hop_steps=4,
        low_level_kwargs=small,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.learn(1_000)


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """Values that run code or wait for ever if anything believes them, and what tells."""
    (tmp_path / "canary.py").write_text(CANARY)
    monkeypatch.syspath_prepend(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    pipe = str(tmp_path / "pipe")
    hostile = [
        {"class": "canary:Net"},
        {"class": "os:system"},
        {"class": "torch.nn:Module.__init__"},
        {"class": "builtins:object"},
        "canary:Net",
        pipe,
        ["low_level", pipe],
        {"dict": [["policy", pipe]]},
    ]
    return hostile, tmp_path / "canary.ran"


def same_contents(loaded, parts, folder):
    """Whether a loaded agent, saved again, says what the entries of its file said."""
    loaded.save(folder / "again.zip")
    again = unzipped((folder / "again.zip").read_bytes())
    ours, theirs = (json.loads(one["agent.json"]) for one in (again, parts))
    theirs.pop("library", None)
    tensors, kept = tensors_of(again), tensors_of(parts)
    # Torch makes a tensor of a number of steps.
    same = says(theirs, ours) and kept.items() <= tensors.items()
    same = same and all(path[-1] == "step" for path in tensors.keys() - kept.keys())
    for name in again.keys() & parts.keys():  # a file may be without experience
        if name.endswith(".npz"):
            one, other = (arrays_of(entries[name]) for entries in (again, parts))
            same = same and all(map(np.array_equal, one.values(), map(other.get, one)))
    return same


def says(told, known):
    """Whether everything told is known; None stands for a default."""
    if isinstance(told, dict):
        return told.keys() <= known.keys() and all(says(told[key], known[key]) for key in told)
    if isinstance(told, list) and isinstance(known, list):
        return len(told) == len(known) and all(map(says, told, known))
    return told is None or told == known or [known] == told or json.dumps(told) == str(known)


def tensors_of(parts):
    """Path → bytes of every tensor of networks and optimizers."""
    tensors = tensors_from_bytes(parts["weights.safetensors"])
    found = {}

    def walk(value, path):
        if isinstance(value, dict) and "tensor" in value:
            found[path] = tensors[value["tensor"]].numpy().tobytes()
        elif isinstance(value, dict):
            for key, one in value["dict"]:
                walk(one, (*path, key))
        elif isinstance(value, list):
            for i, one in enumerate(value):
                walk(one, (*path, i))

    walk(json.loads(parts["weights.json"]), ())
    return found


def arrays_of(content):
    with np.load(io.BytesIO(content)) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("kind", ["raw", "hashed"])
def test_a_damaged_agent_is_refused_or_whole(agent, canary, tmp_path, kind):
    tally = Tally(f"archives, {kind} damage", (InvalidArchive,))
    hostile, ran = canary
    path = tmp_path / "agent.zip"
    agent.save(path)
    sound = path.read_bytes()
    parts = unzipped(sound)
    warnings.simplefilter("ignore")
    for seed in range(sized(75, 6_000 if kind == "raw" else 4_500)):
        rng = np.random.default_rng(seed)
        if kind == "raw":
            what, content = raw_damage(sound, rng)
        else:
            what, content = hashed_damage(parts, rng, hostile)
        what = f"seed {seed}, {what}"
        path.write_bytes(content)
        with limits(tally, what), tally.fault(what):
            loaded = AttributePlannerAgent.load(path, max_bytes=GIB // 4)
            same = same_contents(loaded, parts if kind == "raw" else unzipped(content), tmp_path)
            tally.must(same, f"{what}: loaded, but not what the file says")
    tally.must(not ran.exists(), "a file had code executed")
    tally.settle()


def test_a_damaged_detector_is_refused_or_whole(canary, tmp_path):
    tally = Tally("detectors, raw and hashed damage", (InvalidArchive,))
    hostile, ran = canary
    space = gym.spaces.Dict({"place": gym.spaces.Box(-1, 1, (2,)), "said": gym.spaces.Text(9)})
    detector = AttributeDetector(space, ["right", "up"], net_arch=(4,), text=3, device="cpu")
    points = np.random.default_rng(0).uniform(-1, 1, (40, 2)).astype(np.float32)
    batch = {"place": points, "said": ("no",) * 40}
    detector.fit(batch, (points > 0).astype(int), max_epochs=1)
    path = tmp_path / "detector.zip"
    detector.save(path)
    sound = path.read_bytes()
    parts = unzipped(sound)
    for seed in range(sized(50, 2_000)):
        rng = np.random.default_rng(seed)
        raw = seed % 2
        what, content = raw_damage(sound, rng) if raw else hashed_damage(parts, rng, hostile)
        what = f"seed {seed}, {what}"
        path.write_bytes(content)
        with limits(tally, what), tally.fault(what):
            loaded = AttributeDetector.load(path, device="cpu")
            if raw:
                tally.must((loaded.predict(batch) == detector.predict(batch)).all(), what)
    tally.must(not ran.exists(), "a file had code executed")
    tally.settle()


# --- writing ------------------------------------------------------------------------------------


def in_child(work):
    """The process id of a copy of this process that does ``work`` and ends."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)


def saves(agent, path, steps, n=10**9):
    for i in range(n):
        agent.num_timesteps = steps[i % len(steps)]
        agent.save(path)


def left_behind(folder):
    return [file.name for file in folder.iterdir() if file.name.endswith(".part")]


def test_a_kill_while_saving_leaves_the_old_file_or_the_new_one(agent, tmp_path):
    tally = Tally("SIGKILL while an agent is saved", ())
    path, rng = tmp_path / "agent.zip", np.random.default_rng(0)
    agent.save(path)
    known = {agent.num_timesteps, 1, 2}
    for _ in range(sized(3, 25)):
        child = in_child(lambda: saves(agent, path, [1, 2]))
        time.sleep(0.05 + 0.1 * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with tally.fault("after a kill"):
            tally.must(AttributePlannerAgent.load(path).num_timesteps in known, "another agent")
    agent.save(path)
    tally.must(not left_behind(tmp_path), f"left behind: {left_behind(tmp_path)}")
    tally.settle()


def test_a_full_disk_leaves_the_old_file(agent, tmp_path):
    tally = Tally("full disk while an agent is saved", (OSError,))
    path = tmp_path / "agent.zip"
    agent.save(path)
    before = path.read_bytes()

    def save_with_room_for(n_bytes):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        try:
            agent.save(path)
        except OSError:
            os._exit(28)

    for n_bytes in np.linspace(0, len(before) * 0.9, sized(4, 25), dtype=int).tolist():
        child = in_child(lambda n_bytes=n_bytes: save_with_room_for(n_bytes))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with tally.fault("no room"):
            tally.must(status == 28, f"room for {n_bytes}: exit status {status}, not an OSError")
            tally.must(path.read_bytes() == before, f"room for {n_bytes}: the file is another")
            tally.must(not left_behind(tmp_path), f"room for {n_bytes}: a part is left behind")
    tally.settle()


def test_two_writers_of_one_agent_never_mix(agent, tmp_path):
    tally = Tally("two writers of one agent", ())
    path = tmp_path / "agent.zip"
    agent.save(path)
    known = {agent.num_timesteps, 1, 2}
    n = sized(10, 200)
    children = [in_child(lambda one=one: saves(agent, path, [one], n)) for one in (1, 2)]
    while children:
        with tally.fault("read while both write"):
            tally.must(AttributePlannerAgent.load(path).num_timesteps in known, "another agent")
        for child in list(children):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                children.remove(child)
                tally.must(status == 0, f"a writer ended with {status}")
    tally.must(not left_behind(tmp_path), f"left behind: {left_behind(tmp_path)}")
    tally.settle()


assert sys.platform != "win32", "forks, pipes and limits are needed here"
