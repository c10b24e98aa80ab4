"""What an agent knows and does not: the words of its training's advice."""

from __future__ import annotations

from gym_attrplan.agent import AttributePlannerAgent, advice
from gym_attrplan.report.drawing import planner_of


def what_is_known(agent: AttributePlannerAgent) -> list[str]:
    """The graph in a sentence, then attributes that never changed and hops that fail."""
    planner = planner_of(agent)
    if not agent.counts.n_nodes or not planner.counts.n_nodes:
        return advice.on_exploring(agent.counts)
    return [advice.summary(planner), *advice.on_exploring(agent.counts), *_on_hops(agent)]


def _on_hops(agent: AttributePlannerAgent) -> list[str]:
    max_hop_steps = agent.navigator.max_hop_steps
    if agent.options.asks_for_changes:
        return advice.on_practice(
            agent.counts, agent.outcomes, n_steps=agent.num_timesteps, max_hop_steps=max_hop_steps
        )
    edges = agent.counts.edges()
    tried, arrived = float(edges.attempts.sum()), float(edges.successes.sum())
    return advice.on_hopping(tried, arrived, max_hop_steps=max_hop_steps)
