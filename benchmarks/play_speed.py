"""Frames a second of the page to play on: ``python benchmarks/play_speed.py``.

A session plays at top speed as ``attrplan play`` does, with a step, an image and the graph around
it for each frame, but without a browser. The agents are trained for 2,000 steps: how good they are
does not matter here. The first frames are timed apart: environments draw some parts only once.
Suite ``play_speed``.
"""

from __future__ import annotations

import argparse
import time

import gymnasium as gym
from ledger import append

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan import AttributePlannerAgent
from gym_attrplan.report.play.session import Session
from gym_attrplan.report.play.setup import Setup
from gym_attrplan.report.play.surroundings import Surroundings

ENVS = {
    "AttrSwitches-v0": "MultiInputPolicy",
    "MiniGrid-DoorKey-8x8-v0": "MultiInputPolicy",
    "AttrBuildOrder-v0": "UnitPolicy",
    "PointMaze_UMaze-v3": "MultiInputPolicy",
}
N_STEPS = 2_000
N_FIRST, N_FRAMES = 100, 300


def play(session: Session, graph: Surroundings, n_frames: int) -> float:
    """Frames a second; an episode that is over is followed by the next."""
    start = time.perf_counter()
    for _ in range(n_frames):
        if session.over:
            session.new_episode()
        session.step()
        if session.error:
            raise RuntimeError(session.error)
        graph.chart(session.players[0])
    return n_frames / (time.perf_counter() - start)


def measure(env_id: str) -> None:
    """Train, play and keep what was measured."""
    agent = AttributePlannerAgent(ENVS[env_id], env_id, seed=0, device="cpu")
    agent.learn(N_STEPS)
    session = Session(Setup.of(agent, env_id))
    graph = Surroundings(session.planner)
    rates = {
        "first frames": play(session, graph, N_FIRST),
        "frames": play(session, graph, N_FRAMES),
    }
    session.close()
    for task, rate in rates.items():
        append("play_speed", env=env_id, task=task, method="session", value=rate, unit="frames/s")
    print(f"{env_id}: {rates['first frames']:.0f}, then {rates['frames']:.0f} frames/s", flush=True)


def main() -> None:
    """Measure the environments asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", nargs="+", choices=ENVS, default=list(ENVS))
    for package in ("minigrid", "gymnasium_robotics"):
        gym.register_envs(__import__(package))
    for env_id in parser.parse_args().envs:
        measure(env_id)


if __name__ == "__main__":
    main()
