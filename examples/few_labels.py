"""Attributes from images: 300 labelled frames of Taxi instead of an attribute function.

``python examples/few_labels.py`` shows a detector 300 of the taxi's 500 images with their labels,
and trains two agents for 500,000 steps each: one with the detector's predictions, the
other with the true attributes. The goals are all places of the passenger. The detector is wrong on
0.5% of the images without a label. Its agent solves 82.0% of 200 tasks, the other 100.0%. The true
attributes decide what is solved.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan import AttributeDetector, AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks
from gym_attrplan.attributes.library.toy_text import TaxiAttributes

GOALS = [f"passenger={place}" for place in ("red", "green", "yellow", "blue", "in taxi")]


def draw_all() -> tuple[np.ndarray, np.ndarray]:
    """Images ``(500, 57, 67, 3)`` of all states, and their true attributes."""
    env = gym.make("Taxi-v4", render_mode="rgb_array")
    env.reset(seed=0)
    read, drawn = TaxiAttributes(env), []
    for env.unwrapped.s in range(500):
        drawn.append((env.render()[::8, ::8], read(env)))
    return tuple(map(np.array, zip(*drawn, strict=True)))


class Truth(gym.Wrapper):
    """Tells the true attributes beside what happened, for the score alone."""

    def step(self, action):
        """Step, and tell."""
        state, reward, terminated, truncated, info = self.env.step(action)
        true = np.array(TaxiAttributes(self)(self), np.int8)
        return state, reward, terminated, truncated, {**info, "true": true}


def make_env(values: np.ndarray) -> gym.Env:
    """The taxi with the attributes that a table has of each state."""
    env = Truth(gym.make("Taxi-v4"))
    return AttributeWrapper(
        env,
        TaxiAttributes(env).attribute_space,
        lambda env, state: values[state],
        goal_sampler=lambda here, rng: [GOALS[i] for i in rng.integers(5, size=len(here))],
    )


def main(
    total_timesteps: int = 500_000, n_envs: int = 32, n_tasks: int = 200, max_epochs: int = 100
) -> dict[str, TaskResult]:
    """Learn to see, then to plan with what is seen; compare with the truth."""
    frames, truth = draw_all()
    labelled, unseen = np.split(np.random.default_rng(0).permutation(500), [300])
    image = spaces.Box(0, 255, frames.shape[1:], np.uint8)
    detector = AttributeDetector(image, TaxiAttributes(None).attribute_space)
    detector.fit(frames[labelled], truth[labelled], max_epochs=max_epochs, batch_size=32)
    predicted = detector.predict(frames)
    wrong = (predicted != truth).any(axis=1)[unseen]
    print(f"wrong on {wrong.mean():.1%} of the images without a label")
    results = {}
    for name, values in {"detector": predicted, "truth": truth}.items():
        envs = make_vec_env(make_env, n_envs, env_kwargs={"values": values})
        agent = AttributePlannerAgent("MultiInputPolicy", envs, seed=0)
        agent.learn(total_timesteps, progress_bar=True)
        tests = make_vec_env(make_env, min(50, n_tasks), env_kwargs={"values": values})
        results[name] = evaluate_tasks(agent, tests, n_tasks=n_tasks, seed=1, truth="true")
        print(f"with the {name}: {results[name]}")
    return results


if __name__ == "__main__":
    main()
