"""Planning from images on a CPU: one network encodes them, all models learn on its features.

``python examples/blocks_from_pixels.py`` took 21 minutes on two cores, and two more to draw the
images, and solved 200 of 200 tasks that it never trained on, from held-out images;
blocks.png shows one of them. Labels are only used to train the encoder and the detector: graph,
policy and planner get nothing but the detector's predictions.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from gymnasium.wrappers.vector import TransformObservation

from gym_attrplan import AttributePlannerAgent, AttributeVectorWrapper
from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks
from gym_attrplan.envs.blocks import BlocksRules, BlocksVectorEnv, Frames, collect
from gym_attrplan.models import AttributeDetector, Examples, IndexedRows, Trunk
from gym_attrplan.report import film_strip


def main(total_timesteps: int = 120_000, n_blocks: int = 4, n_tasks: int = 200) -> TaskResult:
    """Learn to see, then to plan; count the tasks solved and draw one."""
    rules = BlocksRules(n_blocks)
    frames = Frames(rules, image_size=64).array.reshape(-1, 64, 64, 3)
    labelled = collect(total_timesteps // 2, seed=0, rules=rules)

    trunk = Trunk(
        spaces.Box(0, 255, frames.shape[1:], np.uint8),
        spaces.Discrete(rules.n_actions),
        rules.attributes,
    )
    seen = IndexedRows(frames, labelled.frames)
    what_happened = labelled.actions, labelled.attributes, labelled.next_attributes
    trunk.fit(
        Examples(seen, *what_happened),
        max_epochs=6,
        batch_size=128,
        holdout=0.02,
        progress_bar=True,
    )
    features = trunk.encode(frames)  # each image once
    detector = AttributeDetector(trunk.observation_space, rules.attributes)
    print(detector.fit(features[labelled.frames], labelled.attributes, max_epochs=15))

    def make_envs(n_envs: int, split: str, max_episode_steps: int) -> AttributeVectorWrapper:
        raw = BlocksVectorEnv(
            rules,
            num_envs=n_envs,
            obs_type="state",
            split=split,
            max_episode_steps=max_episode_steps,
        )
        look = TransformObservation(
            raw,
            lambda _: features[raw.frame_numbers],
            single_observation_space=trunk.observation_space,
        )
        goals = raw.sampler("multi_step")
        return AttributeVectorWrapper(look, rules.attributes, detector, goal_sampler=goals)

    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        make_envs(300, "train", max_episode_steps=1),
        low_level="inverse",
        low_level_kwargs={"max_epochs": 15},
        seed=0,
        verbose=1,
    )
    agent.learn(total_timesteps, progress_bar=True)

    tests = VectorEnvAdapter(make_envs(n_tasks // 2, "held_out", max_episode_steps=40))
    result = evaluate_tasks(agent, tests, n_tasks=n_tasks, seed=1, truth="true_attributes")
    print(f"solved {result}")
    draw_episode(agent, make_envs(1, "held_out", max_episode_steps=40), frames)
    return result


def draw_episode(
    agent: AttributePlannerAgent, envs: AttributeVectorWrapper, frames: np.ndarray
) -> None:
    """Draw one task: the start, each hop, and a state that meets the goal."""
    raw = envs.unwrapped
    observation, _ = envs.reset(seed=3)
    goal, state, done = observation["desired_goal"][0], None, False
    images = [frames[raw.frame_numbers[0]]]
    while not done and len(images) < 12:
        action, state = agent.predict(observation, state, deterministic=True)
        after = raw.rules.move(raw.states, action)[0]
        observation, _, terminated, truncated, _ = envs.step(action)
        done = bool(terminated[0] or truncated[0])
        images.append(frames[after])
    every = raw.rules.evaluate(np.arange(raw.rules.n_states))
    images.append(frames[np.flatnonzero((every == goal).all(axis=1))[0]])
    hops = [f"hop {i}" for i in range(1, len(images) - 1)]
    film_strip(images, ["start", *hops, "goal"]).figure.savefig("blocks.png")


if __name__ == "__main__":
    main()
