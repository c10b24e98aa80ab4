"""Training throughput: the agent's hop phase beside plain SB3 PPO.

``python benchmarks/learn_speed.py`` trains both on the same batched ``AttrSwitches-v0``, with the
same network and hyper-parameters, in turn, and prints environment steps per second and their ratio.
Plain PPO works on the environment's own tasks, the agent on hops, and counts all that they do.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import torch
from ledger import append
from stable_baselines3 import PPO

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import AttributePlannerAgent
from gym_attrplan.agent.low_level import defaults, policy_defaults
from gym_attrplan.agent.worlds import as_vec_env

ENV_ID = "AttrSwitches-v0"
N_ENVS = 512
N_STEPS = 16_384 * 20
"""So many that what the agent does once per call, fitting its success model, weighs little."""
N_TURNS = 2


def plain_ppo() -> PPO:
    venv = as_vec_env(ENV_ID, n_envs=N_ENVS)
    kwargs = policy_defaults(venv.observation_space)
    return PPO(
        "MultiInputPolicy", venv, policy_kwargs=kwargs, seed=0, device="cpu", **defaults(PPO, venv)
    )


def agent_that_has_explored() -> AttributePlannerAgent:
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        ENV_ID,
        hops="neighbours",
        n_envs=N_ENVS,
        seed=0,
        device="cpu",
        exploration="random",
    )
    agent.options = replace(agent.options, exploration_fraction=1.0)
    agent.learn(100_000)
    agent.options = replace(agent.options, exploration_fraction=0.0)
    return agent


def main() -> None:
    torch.set_num_threads(2)
    ppo, agent = plain_ppo(), agent_that_has_explored()
    learners = {
        "ppo": lambda: ppo.learn(N_STEPS, reset_num_timesteps=False),
        "ap": lambda: agent.learn(N_STEPS, reset_num_timesteps=False),
    }
    rates: dict[str, list[float]] = {name: [] for name in learners}
    for _ in range(N_TURNS):
        for name, learn in learners.items():
            start = time.perf_counter()
            learn()
            rates[name].append(N_STEPS / (time.perf_counter() - start))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = statistics.median(
        ours / theirs for ours, theirs in zip(rates["ap"], rates["ppo"], strict=True)
    )
    for name, rate in medians.items():
        print(f"{name:4} {rate:8,.0f} environment steps/s")
        append("learn_speed", env=ENV_ID, task="targets", method=name, value=rate, unit="steps/s")
    print(f"the agent trains at {ratio:.2f} × plain PPO's rate (at least 0.85 wanted)")
    append("learn_speed", env=ENV_ID, task="targets", method="ap/ppo", value=ratio, unit="ratio")


if __name__ == "__main__":
    main()
