"""OGBench's puzzles and scene from logs alone: ``python benchmarks/offline.py --data FOLDER``.

In the puzzles a robot arm presses buttons; each press flips its light and those beside it. In the
scene it opens and closes a drawer and a window, which two buttons lock, and carries a cube. Needs
``pip install ogbench==1.2.2``. The play data comes from OGBench's own collector,
``generate_manipspace.py`` in its repository, unchanged (it draws its own seeds)::

    python generate_manipspace.py --env_name=puzzle-4x4-v0 --save_path=FOLDER/puzzle-4x4-0.npz
        --num_episodes=100 --max_episode_steps=1001 --dataset_type=play

The agent of a seed learns from ``FOLDER/ENV-SEED.npz``. Suite ``offline``. Methods:

- ``ap``: our agent with given attributes: the lights, or the scene's parts.
- ``ap_found``: our agent with attributes that ``FoundAttributes`` finds in the log's observations.
- ``ap_detector``: our agent, in puzzles, with lights that a detector reads from OGBench's 64x64
  images, trained on 1,000 of them with labels. Rendering the 100,000 images of a log needs a GPU.
- ``gcbc``: goal-conditioned behaviour cloning with the same attributes and network. Its goal is the
  description of a later state of the episode.
- ``gciql``: OGBench's own GCIQL with the lights as goal, trained by ``gciql.py`` (``--weights``).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import deque
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from cells import add_arguments, run_cells
from ledger import append

from gym_attrplan import (
    AttributeDetector,
    AttributePlannerAgent,
    AttributeSpace,
    AttributeWrapper,
    Bins,
    FoundAttributes,
)
from gym_attrplan.agent import cloning

METHODS = ("ap", "ap_found", "ap_detector", "gcbc", "gciql")
N_TASKS = 5

N_LABELS = 1_000
"""Number of labelled images that the detector is trained on."""

N_IMAGES = 5
"""Number of consecutive images whose predictions are averaged: the arm may hide a light."""

MEAN_AHEAD = 100
"""Mean number of steps to the rival's goals; a discount of 0.99, as in OGBench."""


class Described(NamedTuple):
    """The attributes of an environment, and the function that reads them from observations."""

    space: AttributeSpace
    describe: Callable[[Any], Any]


def lights(observation: Any) -> Any:
    """``(…, n_buttons)`` whether each light is on, in one observation or a batch."""
    return (np.asarray(observation)[..., 20::4] > 0.5).astype(np.int8)


def puzzle(size: str) -> Described:
    """The lights of a puzzle."""
    rows, columns = map(int, size.split("x"))
    return Described(AttributeSpace([f"light {i}" for i in range(rows * columns)]), lights)


SCENE = AttributeSpace(
    {
        "drawer unlocked": 2,
        "window unlocked": 2,
        "drawer": Bins([-0.13, -0.03], names=["open", "ajar", "closed"]),
        "window": Bins([0.03, 0.17], names=["closed", "ajar", "open"]),
        "cube x": ["carried", *(f"{x} cm" for x in range(30, 50, 5))],
        "cube y": ["carried", "in drawer", *(f"{y} cm" for y in range(-10, 20, 5))],
    }
)
"""The position of a resting cube, to five centimetres; a carried cube has none."""


def scene_parts(observation: Any) -> Any:
    """``(…, 6)`` values of the scene's attributes, in one observation or a batch."""
    seen = np.asarray(observation)
    x, y, z = np.moveaxis(seen[..., 19:22] / 10.0 + [0.425, 0.0, 0.0], -1, 0)
    drawer = seen[..., 36] / 18.0  # 0 is closed, -0.16 open
    in_drawer = (y < -0.3 - drawer) & (z > 0.05)  # no cube lies in front of a closed one
    rests = (z < 0.035) | (in_drawer & (z < 0.085))
    cell_x = np.where(in_drawer, 1, 1 + np.clip(np.rint(20.0 * x) - 6, 0, 3))
    cell_y = np.where(in_drawer, 1, 2 + np.clip(np.rint(20.0 * y) + 2, 0, 5))
    values = {
        "drawer unlocked": seen[..., 29] > 0.5,
        "window unlocked": seen[..., 33] > 0.5,
        "drawer": SCENE.bins["drawer"].find(drawer),
        "window": SCENE.bins["window"].find(seen[..., 38] / 15.0),
        "cube x": np.where(rests, cell_x, 0),
        "cube y": np.where(rests, cell_y, 0),
    }
    return np.stack([values[name] for name in SCENE.names], axis=-1).astype(np.int8)


ENVS = {f"puzzle-{size}": puzzle(size) for size in ("3x3", "4x4", "4x5", "4x6")}
ENVS["scene"] = Described(SCENE, scene_parts)


def make_env(name: str, told: Described, camera: Camera | None = None) -> gym.Env[Any, Any]:
    """The environment with its attributes; OGBench decides when a task is done.

    Args:
        name: Its name.
        told: Its attributes.
        camera: Reads the lights from images; observations are then without them.
    """
    import ogbench

    env = ogbench.make_env_and_datasets(f"{name}-play-v0", env_only=True)
    if camera is None:
        return _described(env, told.space, lambda _, seen: told.describe(seen))
    dark = gym.wrappers.TransformObservation(env, without_lights, env.observation_space)
    return _described(dark, told.space, lambda _, seen: camera.lights(env.unwrapped))


def _described(env: gym.Env[Any, Any], space: AttributeSpace, describe: Any) -> gym.Env[Any, Any]:
    return AttributeWrapper(env, space, describe, terminate_on_success=False)


def without_lights(observations: Any) -> Any:
    """One observation or a batch, with zeros for the two numbers that show each light."""
    dark = np.array(observations)
    dark[..., 19::4] = dark[..., 20::4] = 0.0
    return dark


class Camera:
    """OGBench's images of a puzzle, and a detector that reads the lights from them.

    Args:
        name: The puzzle's name.
        space: Its lights.
        seed: Of the labelled images and of the detector.
        device: Of the detector.
    """

    def __init__(self, name: str, space: AttributeSpace, *, seed: int, device: str) -> None:
        import ogbench.manipspace  # noqa: F401  registers the environments

        self._env: Any = gym.make(f"visual-{name}-v0").unwrapped
        self._env.reset(seed=0)
        image = gym.spaces.Box(0, 255, (64, 64, 3), np.uint8)
        self._detector = AttributeDetector(image, space, seed=seed, device=device)
        self._rng = np.random.default_rng(seed)
        self._recent: deque[Any] = deque(maxlen=N_IMAGES)
        self._time = 0.0

    def read(self, data: dict[str, Any]) -> dict[str, Any]:
        """A log without lights, with the detector's predictions as ``attributes``."""
        rows = zip(data.pop("qpos"), data.pop("qvel"), data["button_states"], strict=True)
        images = np.stack([self._image(*row) for row in rows])
        truth = data.pop("button_states")
        chosen = self._rng.permutation(len(images))[:N_LABELS]
        self._detector.fit(images[chosen], truth[chosen])
        probs = np.concatenate([self._probs(part) for part in np.array_split(images, 100)])
        last = np.flatnonzero(data["terminals"])[:-1]
        attributes = np.concatenate([_steady(part) for part in np.split(probs, last + 1)])
        wrong = {
            name: f"{100 * (read != truth).any(axis=1).mean():.2f}%"
            for name, read in (("image by image", probs > 0.5), ("steadily", attributes))
        }
        print(f"misread: {wrong}", flush=True)
        seen = without_lights(data["observations"])
        return {**data, "observations": seen, "attributes": attributes}

    def lights(self, env: Any) -> Any:
        """``(n_buttons,)`` predictions from the newest images of an environment."""
        if env.data.time <= self._time:
            self._recent.clear()
        self._time = env.data.time
        numbers = env.data.qpos, env.data.qvel, env.get_step_info()["button_states"]
        self._recent.append(self._probs(self._image(*numbers)[None])[0])
        return _steady(np.stack(self._recent))[-1]

    def _probs(self, images: Any) -> Any:
        """``(n, n_buttons)`` probability that each light is on."""
        probs = self._detector.predict_probs(images)
        return np.stack([one[:, 1] for one in probs.values()], axis=1)

    def _image(self, qpos: Any, qvel: Any, buttons: Any) -> Any:
        self._env.set_state(np.float64(qpos), np.float64(qvel), buttons)
        return self._env.get_pixel_observation()


def _steady(probs: Any) -> Any:
    """``(n, n_buttons)`` predictions, averaged over the newest images at each step."""
    sums = np.cumsum(np.pad(probs, ((N_IMAGES, 0), (0, 0)), mode="edge"), axis=0)
    return (sums[N_IMAGES:] - sums[:-N_IMAGES] > 0.5 * N_IMAGES).astype(np.int8)


def read_data(folder: Path, name: str, seed: int, n_steps: int, *more: str) -> dict[str, Any]:
    """The first episodes of a log; ``more`` names additional arrays."""
    names = ("observations", "actions", "terminals", *more)
    with np.load(folder / f"{name}-{seed}.npz") as arrays:
        data = {name: arrays[name] for name in names}
    if len(data["terminals"]) < n_steps:
        raise SystemExit(f"the log of {name}, seed {seed}, has fewer than {n_steps:,} steps")
    last = np.flatnonzero(data["terminals"])
    n_rows = int(last[: max(1, round(n_steps * len(last) / len(data["terminals"])))][-1]) + 1
    return {name: array[:n_rows] for name, array in data.items()}


def imitate(agent: AttributePlannerAgent, data: dict[str, Any], told: Described) -> Any:
    """Train the rival: the same policy, with a later description as goal, not the next change."""
    log, hops = cloning.read_log(agent, data, told.describe)
    rng = agent.rng
    end = np.flatnonzero(log.last)[np.searchsorted(np.flatnonzero(log.last), hops.step)]
    later = np.minimum(hops.step + rng.geometric(1.0 / MEAN_AHEAD, len(hops.step)), end)
    goals = hops._replace(target=log.attributes[later], distance=np.ones(len(later), np.int64))
    learner = cloning.Cloning(agent.low_level.policy, log, goals, rng=rng)
    for _ in range(learner.n_updates):
        learner.update()
    return agent.low_level


class GciqlActor:
    """The actor of a GCIQL agent.

    Args:
        folder: Folder of the weights, which ``gciql.py`` wrote.
        name: The puzzle's name.
        seed: Seed of the agent.
    """

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        with np.load(folder / f"{name.replace('puzzle', 'gciql')}.npz") as arrays:
            self.updates, self.seconds = int(arrays["updates"]), float(arrays["seconds"])
            mine = arrays["seeds"].tolist().index(seed)
            names = [one for one in arrays.files if "/" in one]
            self._weights = {one: arrays[one][mine] for one in names}
        self._n_layers = sum(one.startswith("actor_net/") for one in names) // 2

    def predict(
        self, observation: dict[str, Any], *_: Any, deterministic: bool = True
    ) -> tuple[Any, None]:
        """Return the most probable action."""
        x = np.concatenate([observation["observation"], observation["desired_goal"]])
        for i in range(self._n_layers):
            x = self._layer(f"actor_net/Dense_{i}", x)
            x = 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
        return np.clip(self._layer("mean_net", x), -1.0, 1.0).astype(np.float32), None

    def _layer(self, name: str, x: Any) -> Any:
        return x @ self._weights[f"{name}/kernel"] + self._weights[f"{name}/bias"]


def solve(
    model: Any, env: gym.Env[Any, Any], told: Described, task: int, seed: int
) -> tuple[bool, int]:
    """Run one episode of a task of OGBench; whether it was solved, and its steps."""
    _, info = env.reset(seed=seed, options={"task_id": task})
    goal = told.describe(info["goal"])
    observation, info = env.reset(seed=seed, options={"task_id": task, "goal": goal})
    state, n_steps, over = None, 0, False
    while not over:
        begun = np.array([n_steps == 0])
        action, state = model.predict(observation, state, begun, deterministic=True)
        observation, _, terminated, truncated, info = env.step(action)
        n_steps, over = n_steps + 1, terminated or truncated
    return bool(info["success"]), n_steps


class Trained(NamedTuple):
    """What has learned from a log, what it is evaluated in, and what the ledger keeps of it."""

    model: Any
    env: gym.Env[Any, Any]
    told: Described
    extra: dict[str, float]


def train(args: argparse.Namespace, name: str, method: str, seed: int) -> Trained:
    """Learn from a log."""
    log, told, camera = (args.data, name, seed, args.n_steps), ENVS[name], None
    if method == "ap_detector":
        camera = Camera(name, told.space, seed=seed, device=args.device)
        data = camera.read(read_data(*log, "qpos", "qvel", "button_states"))
    else:
        data = read_data(*log)
    if method == "ap_found":
        found = FoundAttributes.find(data["observations"])
        told = Described(found.space, found.describe)
    env = make_env(name, told, camera)
    own = {"policy_kwargs": cloning.POLICY} if method == "gcbc" else {}
    agent = AttributePlannerAgent("MultiInputPolicy", env, seed=seed, device=args.device, **own)
    began = time.perf_counter()
    if method == "gcbc":
        model: Any = imitate(agent, data, told)
    else:
        model = agent.learn_from(data, describe=None if camera else told.describe)
    seconds = time.perf_counter() - began
    return Trained(model, env, told, {"train_seconds": round(seconds, 1)})


def read_gciql(args: argparse.Namespace, name: str, seed: int) -> Trained:
    """Read what ``gciql.py`` has trained."""
    actor = GciqlActor(args.weights, name, seed)
    extra = {"train_seconds": round(actor.seconds, 1), "updates": actor.updates}
    return Trained(actor, make_env(name, ENVS[name]), ENVS[name], extra)


def run(args: argparse.Namespace, name: str, method: str, seed: int) -> None:
    """Learn from a log, evaluate every task, and append a line for each."""
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="gymnasium")
    found = read_gciql(args, name, seed) if method == "gciql" else train(args, name, method, seed)
    for task in range(1, N_TASKS + 1):
        seeds = [10_000 * seed + 100 * task + i for i in range(args.n_episodes)]
        episodes = [solve(found.model, found.env, found.told, task, one) for one in seeds]
        solved, lengths = zip(*episodes, strict=True)
        append(
            suite="offline",
            env=f"{name}-play",
            task=f"task {task}",
            method=method,
            budget=args.n_steps,
            seed=seed,
            n=len(solved),
            successes=sum(solved),
            extra={"mean_steps": float(np.mean(lengths)), **found.extra},
        )
        print(f"{name} {method} seed {seed} task {task}: {sum(solved)} of {len(solved)}")


def main() -> None:
    """Run the cells asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of ENV-SEED.npz")
    parser.add_argument("--envs", nargs="+", default=list(ENVS), choices=ENVS)
    parser.add_argument("--methods", nargs="+", default=["ap", "ap_found", "gcbc"], choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-steps", type=int, default=100_000, help="of the log to learn from")
    parser.add_argument("--n-episodes", type=int, default=20, help="of each of the five tasks")
    parser.add_argument("--weights", type=Path, help="folder of GCIQL's weights")
    parser.add_argument("--device", default="cpu")
    add_arguments(parser, jobs=1)
    args = parser.parse_args()
    if "ap_detector" in args.methods and "scene" in args.envs:
        raise SystemExit("ap_detector is for the puzzles; choose --envs or --methods")
    if "gciql" in args.methods and (args.weights is None or "scene" in args.envs):
        raise SystemExit("gciql is for the puzzles and needs --weights; train it with gciql.py")
    chosen = product(args.envs, args.seeds, args.methods)
    cells = [(args, name, method, seed) for name, seed, method in chosen]
    run_cells(run, cells, args)


if __name__ == "__main__":
    main()
