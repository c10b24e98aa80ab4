"""Inverse models as rivals: they learn, by supervision, the first action on the way to a goal.

One-step: the goal is what the action led to. Multi-step: the attributes at a random later moment of
the same eight random drops, as in the paper's "Inverse, multi-step".
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from rivals_envs import Cell, make_envs

from gym_attrplan.agent.actors import random_actions
from gym_attrplan.agent.environments import action_choices, attribute_space
from gym_attrplan.agent.hop_judge import last_vectors
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.envs.blocks.tasks import hold, thin
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.models import Examples, InverseModel
from gym_attrplan.models.actions import ActionLayout

LENGTH = 8
"""Drops of an episode: the paper's multi-step tasks take three to eight."""

N_ENVS = {True: 512, False: 8}
"""Number of environments, by whether they are batched."""

FIT = {"updates": 7_500_000, "learning_rate": 6e-3}
"""Examples to go through in all, at least four times each; and the highest learning rate, by
``search.py``."""


class GoalExamples(Examples):
    """Examples whose ``next_attributes`` are goals, in which some attributes may be free."""

    def checked(self, space: AttributeSpace, layout: ActionLayout) -> Self:
        """The examples themselves: the environment made them."""
        return self


class InverseRival:
    """An inverse model that acts on the goal itself, however far away it is.

    Args:
        inverse: The fitted model.
    """

    def __init__(self, inverse: InverseModel) -> None:
        self.inverse = inverse

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, None]:
        """The most probable first actions."""
        return self.inverse.predict(observation, deterministic=deterministic), None


def train_inverse(cell: Cell, *, device: str = "cpu", **overrides: Any) -> InverseRival:
    """Collect as many examples as the budget has steps, and fit to them.

    Args:
        cell: What to train.
        device: Of the model.
        overrides: Other values for :data:`FIT`.

    Raises:
        InvalidEnvironment: Where one action seldom makes a transition, or for a curriculum.
    """
    if "Blocks" not in cell.env:
        raise InvalidEnvironment(
            f"an inverse model learns what one action changes; in {cell.env} most change nothing."
        )
    if cell.regime == "curriculum":
        raise InvalidEnvironment("an inverse model is fitted to examples, which have no order.")
    length = 1 if cell.regime == "one_step" else LENGTH
    venv = make_envs(
        cell,
        "one_step",
        N_ENVS[cell.case.batched],
        max_episode_steps=length,
        terminate_on_success=False,
    )
    space, choices = attribute_space(venv), action_choices(venv)
    examples = collect(venv, cell, length)
    spaces = venv.observation_space, venv.action_space, space
    model = InverseModel(*spaces, action_choices=choices, seed=cell.seed, device=device)
    fit = {**FIT, **overrides}
    model.fit(
        examples,
        holdout=0.05,
        max_epochs=max(4, int(fit["updates"]) // cell.budget),
        learning_rate=fit["learning_rate"],
        batch_size=1_024,
        patience=1_000,
    )
    venv.close()
    return InverseRival(model)


def collect(venv: Any, cell: Cell, length: int) -> GoalExamples:
    """Episodes of random drops → an example for each drop, but for goals that held before it."""
    rng = np.random.default_rng(cell.seed)
    venv.seed(cell.seed)
    observations = venv.reset()
    n_rounds = -(-cell.budget // (venv.num_envs * length))
    batches = []
    for _ in range(n_rounds):
        rows, actions, ends = [], [], []
        for _ in range(length):
            chosen = random_actions(venv.action_space, venv.num_envs, rng)
            rows.append(observations)
            actions.append(chosen)
            observations, _, done, infos = venv.step(chosen)
            ends.append(last_vectors(observations, done, infos))
        batches.append(_examples(rows, np.stack(actions), np.stack(ends), cell, rng))
    parts = Examples.concatenate(batches)
    return GoalExamples(parts.observations, parts.actions, parts.attributes, parts.next_attributes)


def _examples(
    rows: list[dict[str, np.ndarray]],
    actions: np.ndarray,
    ends: np.ndarray,
    cell: Cell,
    rng: np.random.Generator,
) -> Examples:
    length, n_envs = actions.shape[:2]
    now = np.arange(length)[:, None]
    later = rng.integers(now, length, size=(length, n_envs))
    goals = ends[later, np.arange(n_envs)].reshape(length * n_envs, -1)
    goals = thin("one_step" + cell.suffix, goals, rng)
    seen = {key: np.concatenate([row[key] for row in rows]) for key in rows[0]}
    before = seen["achieved_goal"]
    new = ~hold(before, goals)
    parts = {key: part[new] for key, part in seen.items() if not key.endswith("_goal")}
    return Examples(
        parts, actions.reshape(length * n_envs, *actions.shape[2:])[new], before[new], goals[new]
    )
