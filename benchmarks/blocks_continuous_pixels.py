"""The continuous block world from images, with everything learned, beside the paper's figures.

``python benchmarks/blocks_continuous_pixels.py`` has four stages. A stage
whose file is in the folder is not run again, so each stage can run on the machine that suits it:

- drops: half of the budget explores, with one random drop from each random start. States before
  and after are rendered and labelled. Needs OpenGL.
- sight: a trunk and a detector are trained on these images. Needs neither OpenGL nor MuJoCo, but
  takes hours without a GPU.
- agent: π is fitted to the explored drops and spends the other half of the budget on attempts.
- tasks: new environments, rendered at each step, with at most 40 drops a task.

Only "sight" uses labels. Rewards, graph, models and planner get only the detector's predictions
from image features; the true attributes are used for the score alone.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from blocks_continuous import ENV_ID, METHODS, N_ENVS, RULES, SUITE, TASKS, is_done, measure
from blocks_table import print_table
from cells import add_arguments, run_cells
from gymnasium import spaces
from ledger import append, measured_since
from rich.progress import track
from stable_baselines3.common.vec_env import DummyVecEnv

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.envs.blocks import ContinuousBlocksEnv
from gym_attrplan.models import AttributeDetector, Examples, Trunk

STAGES = ("drops", "sight", "agent", "tasks")
SIZE = 64
ENV = f"{ENV_ID}[obs_type=pixels,image_size={SIZE}]"
N_DETECTED = 2_000
FIT: dict[str, Any] = {"holdout": 0.05, "patience": 1_000, "learning_rate": 2e-3}
HEADS = {**FIT, "max_epochs": 40, "batch_size": 512}


@dataclass(frozen=True)
class Photos:
    """Drops from random starts, with images; the first axis is before and after.

    Attributes:
        frames: ``(2, n, 64, 64, 3)`` uint8.
        attributes: ``(2, n, n_attributes)`` int8, the true ones.
        actions: ``(n, n_blocks + 2)`` float32.
    """

    frames: np.ndarray
    attributes: np.ndarray
    actions: np.ndarray

    @classmethod
    def take(cls, n: int, seed: int) -> Photos:
        """Make ``n`` drops, each from a new start."""
        env = ContinuousBlocksEnv(RULES, image_size=SIZE)
        env.reset(seed=seed)
        env.action_space.seed(seed)
        actions = np.stack([env.action_space.sample() for _ in range(n)])
        frames = np.empty((2, n, SIZE, SIZE, 3), np.uint8)
        attributes = np.empty((2, n, len(RULES.attributes)), np.int8)
        for i in track(range(n), "drops"):
            frames[0, i], attributes[0, i] = env.reset()[0], env.attributes
            frames[1, i], attributes[1, i] = env.step(actions[i])[0], env.attributes
        env.close()
        return cls(frames, attributes, actions)

    @classmethod
    def load(cls, file: Path) -> Photos:
        """The drops in a file."""
        with np.load(file) as kept:
            return cls(**kept)


@dataclass(frozen=True)
class Sight:
    """The models that turn images into features, and features into attributes."""

    trunk: Trunk
    detector: AttributeDetector

    @classmethod
    def learn(cls, photos: Photos, *, seed: int, epochs: int, device: str) -> Sight:
        """Train on labelled images: the trunk, then the detector on its features."""
        trunk = Trunk(
            spaces.Box(0, 255, photos.frames.shape[2:], np.uint8),
            spaces.Box(0, 1, photos.actions.shape[1:]),
            RULES.attributes,
            action_choices=RULES.n_blocks,
            device=device,
            seed=seed,
        )
        (before, after), (had, has) = photos.frames, photos.attributes
        examples = Examples(before, photos.actions, had, has, after)
        seen = trunk.fit(examples, **FIT, max_epochs=epochs, batch_size=256)
        features = np.concatenate([trunk.encode(before), trunk.encode(after)])
        detector = AttributeDetector(
            trunk.observation_space, RULES.attributes, device=device, seed=seed
        )
        read = detector.fit(features, np.concatenate([had, has]), **HEADS)
        print(f"{seen}, full-set error of the detector {read.full_set_error:.2%}", flush=True)
        return cls(trunk, detector)

    @classmethod
    def load(cls, folder: Path) -> Sight:
        """The models that :meth:`save` wrote."""
        trunk = Trunk.load(folder / "trunk.zip", device="cpu")
        return cls(trunk, AttributeDetector.load(folder / "detector.zip", device="cpu"))

    def save(self, folder: Path) -> None:
        """Save both; the trunk last, since its file marks the stage as done."""
        self.detector.save(folder / "detector.zip")
        self.trunk.save(folder / "trunk.zip")

    def look(self, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Images ``(n, …)`` → features and predicted attributes."""
        features = self.trunk.encode(frames)
        return features, self.detector.predict(features)

    def make_env(self, task: str) -> gym.Env[Any, Any]:
        """An environment as the agent sees it."""
        raw = ContinuousBlocksEnv(RULES, image_size=SIZE)
        seen, goals = Seen(raw, self.trunk), raw.sampler(task)
        env = AttributeWrapper(seen, RULES.attributes, self.detector, goal_sampler=goals)
        return gym.wrappers.TimeLimit(env, 40)

    def make_envs(self, task: str, n_envs: int = N_ENVS) -> DummyVecEnv:
        """``n_envs`` such environments in one process."""
        return DummyVecEnv([partial(self.make_env, task)] * n_envs)


class Seen(gym.Wrapper[Any, Any, Any, Any]):
    """Replaces images by features; true attributes are in the infos, for the score alone."""

    def __init__(self, env: ContinuousBlocksEnv, trunk: Trunk) -> None:
        super().__init__(env)
        self._trunk, self._truth = trunk, env
        self.observation_space = trunk.observation_space

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset and encode the image."""
        frame, info = self.env.reset(**options)
        return self._trunk.encode(frame), {**info, "true_attributes": self._truth.attributes}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Step and encode the image."""
        frame, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "true_attributes": self._truth.attributes}
        return self._trunk.encode(frame), float(reward), terminated, truncated, info


@dataclass(frozen=True)
class Run:
    """The stages of one seed, and the files that they write."""

    folder: Path
    budget: int
    seed: int
    epochs: int
    device: str

    @property
    def files(self) -> dict[str, Path]:
        """The file that each stage writes when it is done."""
        own = self.folder / f"{self.budget}-{self.seed}"
        files = own / "drops.npz", own / "trunk.zip", own / "agent.zip"
        return dict(zip(STAGES, files, strict=False))

    def go(self, stage: str) -> None:
        """Run a stage, unless its file exists."""
        file = self.files[stage]
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            getattr(self, stage)(file)
            print(f"seed {self.seed}: {file}, {file.stat().st_size / 2**20:.1f} MiB", flush=True)

    def drops(self, file: Path) -> None:
        """Explore and save the drops."""
        photos = Photos.take(self.budget // 2, 10_000 + self.seed)
        part = file.with_suffix(".part.npz")  # so that an existing file is complete
        np.savez_compressed(part, **vars(photos))
        part.rename(file)

    def sight(self, file: Path) -> None:
        """Train the trunk and the detector."""
        photos = Photos.load(self.files["drops"])
        sight = Sight.learn(photos, seed=self.seed, epochs=self.epochs, device=self.device)
        sight.save(file.parent)

    def agent(self, file: Path) -> None:
        """Train the agent on the explored drops, as the detector sees them, and on attempts."""
        photos, sight = Photos.load(self.files["drops"]), Sight.load(file.parent)
        (features, before), (_, after) = map(sight.look, photos.frames)
        venv = sight.make_envs("one_step")
        venv.seed(15_000 + self.seed * N_ENVS)
        agent = AttributePlannerAgent(
            "MultiInputPolicy",
            venv,
            low_level="inverse",
            seed=self.seed,
            device=self.device,
            low_level_kwargs={**HEADS, "forward_arch": [512, 512, 256]},
        )
        agent.add_examples(Examples(features, photos.actions, before, after))
        agent.learn(self.budget - len(features), reset_num_timesteps=False, progress_bar=True)
        venv.close()
        agent.save(file)

    def note_detector(self) -> None:
        """Measure the detector on new images."""
        file = self.files["sight"]
        key: dict[str, Any] = {"env": ENV, "budget": self.budget, "seed": self.seed}
        key |= {"task": "full_set", "method": "detector"}
        if measured_since(file.stat().st_mtime, SUITE, **key):
            return
        sight, photos = Sight.load(file.parent), Photos.take(N_DETECTED // 2, 12_000 + self.seed)
        right = sum(
            int((sight.look(frames)[1] == truth).all(axis=1).sum())
            for frames, truth in zip(photos.frames, photos.attributes, strict=True)
        )
        append(SUITE, n=N_DETECTED, successes=right, **key)

    def task(self, method: str, task: str, n_tasks: int) -> None:
        """Evaluate the agent and append the result."""
        torch.set_num_threads(1)
        file = self.files["agent"]
        agent = AttributePlannerAgent.load(file, device="cpu")
        measure(
            agent,
            method,
            task,
            n_tasks,
            self.seed,
            env=ENV,
            make=Sight.load(file.parent).make_envs,
            truth="true_attributes",
            obs_type="pixels",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=50_000, help="drops, attempts included")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--until", choices=STAGES, default="tasks", help="the last stage")
    parser.add_argument(
        "--epochs", type=int, default=100, help="passes of the trunk over its drops"
    )
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=["inverse", "ap_no_cpi", "ap_paper", "ap"]
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, default=Path("runs/pixels"))
    parser.add_argument("--device", default="auto", help="of training; evaluation uses the CPU")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    stages = STAGES[: STAGES.index(options.until) + 1]
    for seed in options.seeds:
        run = Run(options.folder, options.budget, seed, options.epochs, options.device)
        for stage in stages[:3]:
            run.go(stage)
        if options.until != "tasks":
            continue
        run.note_detector()
        which = {"env": ENV, "budget": options.budget}
        jobs = [
            (method, task, options.n_tasks)
            for method in options.methods
            for task in options.tasks
            if not is_done(run.files["agent"], method, task, options.n_tasks, seed, **which)
        ]
        run_cells(run.task, jobs, options)
    if options.until == "tasks":
        print_table(ENV, [options.budget], suite=SUITE)


if __name__ == "__main__":
    main()
