"""Why plans fail on block stacking: hops that are impossible from the state, or that π misses.

``python benchmarks/blocks_errors.py`` trains an agent on the exact positions of the blocks, without
a detector, and gives it multi-step tasks. For every failed hop, the rules tell whether any action
could have made it from that state. Takes about ten minutes on one core.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
import torch
from blocks import ENV_ID, METHODS, RULES, Beliefs, View, settings
from ledger import append

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.models import Examples

SUITE = "blocks_errors"
VIEW = View(jitter=0.0)
STATES = np.arange(RULES.n_states)


def exact() -> Beliefs:
    """Every state's block positions, one-hot, and its true attributes."""
    places = RULES.centers(*RULES.decode(STATES)).reshape(len(STATES), -1)
    one_hot = [column[:, None] == np.unique(column) for column in places.T]
    table = np.concatenate(one_hot, axis=1).astype(np.float32)
    return Beliefs(table, RULES.evaluate(STATES), VIEW)


def train(beliefs: Beliefs, budget: int, seed: int) -> AttributePlannerAgent:
    venv = beliefs.make_envs(512, task="multi_step", max_episode_steps=1)
    fit = {**settings(1_000_000, "heads"), "batch_size": 1_024}
    agent = AttributePlannerAgent(
        "MultiInputPolicy", venv, low_level="inverse", seed=seed, low_level_kwargs=fit
    )
    seen = VIEW.collect(budget // 2, seed)
    before, after = beliefs.vectors[seen.frames], beliefs.vectors[seen.next_frames]
    agent.add_examples(Examples(beliefs.table[seen.frames], seen.actions, before, after))
    return agent.learn(budget - len(seen), reset_num_timesteps=False)


def is_possible(state: int, target: np.ndarray) -> bool:
    """Whether one action leads from the state to the target's attributes."""
    actions = np.arange(RULES.n_actions)
    ends = RULES.evaluate(RULES.move(np.full(len(actions), state), actions))
    return bool((ends == target).all(axis=1).any())


def errors(
    agent: AttributePlannerAgent, beliefs: Beliefs, n_tasks: int, seed: int
) -> tuple[int, Counter[str], Counter[str]]:
    """Number of tasks solved; the most frequent failure of each other task; all failures."""
    venv = beliefs.make_envs(n_tasks, task="multi_step", max_episode_steps=40)
    raw = venv.envs.unwrapped
    venv.seed(20_000 + n_tasks * seed)
    observations, state = venv.reset(), None
    starts, running = np.ones(n_tasks, np.bool_), np.ones(n_tasks, np.bool_)
    wrong: list[Counter[str]] = [Counter() for _ in range(n_tasks)]
    solved = 0
    while running.any():
        actions, state = agent.predict(observations, state, starts, True)
        stood = raw.states.copy()
        observations, _, starts, infos = venv.step(actions)
        for i in np.flatnonzero(running):
            last = infos[i]["terminal_observation"] if starts[i] else None
            end = (last or {"achieved_goal": observations["achieved_goal"][i]})["achieved_goal"]
            target = state.targets[i]
            if state.lost[i]:
                wrong[i]["no plan"] += 1
            elif (end != target).any():
                possible = is_possible(int(stood[i]), target)
                wrong[i]["missed" if possible else "impossible here"] += 1
            if starts[i]:
                running[i] = False
                solved += bool(infos[i]["is_success"])
                if infos[i]["is_success"]:
                    wrong[i].clear()
                elif not wrong[i]:
                    wrong[i]["none: the way was too long"] += 1
    causes = Counter(one.most_common(1)[0][0] for one in wrong if one)
    return solved, causes, sum(wrong, Counter())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["ap_paper", "ap"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    beliefs = exact()
    agent = train(beliefs, options.budget, options.seed)
    for method in options.methods:
        agent.set_planner(METHODS[method])
        solved, causes, hops = errors(agent, beliefs, options.n_tasks, options.seed)
        append(
            SUITE,
            env=f"{ENV_ID}[exact]",
            task="multi_step",
            method=method,
            budget=options.budget,
            seed=options.seed,
            n=options.n_tasks,
            successes=solved,
            extra={"tasks_lost_by": dict(causes), "hops_gone_wrong": dict(hops)},
        )
        print(f"{method}: {solved} of {options.n_tasks:,} tasks solved", flush=True)
        print(f"  the others, by what went wrong most often: {dict(causes)}")
        print(f"  hops that went wrong in them: {dict(hops)}", flush=True)


if __name__ == "__main__":
    main()
