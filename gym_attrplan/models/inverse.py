"""InverseModel: predicts the action that leads from a state to a neighbouring description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import create_mlp
from torch import nn

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.models.actions import ActionDistribution, ActionLayout
from gym_attrplan.models.examples import Examples
from gym_attrplan.models.fitting import (
    Array,
    FitSettings,
    Inputs,
    answer_in_batches,
    fit_network,
)
from gym_attrplan.models.networks import GoalFusion
from gym_attrplan.models.single_action import SingleActionModel
from gym_attrplan.wrappers.observation import GOAL_KEYS

GOAL_FEATURES = 128
Judge = Callable[[npt.NDArray[np.int64], Array], npt.NDArray[np.bool_]]


class InverseHead(nn.Module):
    """Network head: features and the desired change → a distribution over actions.

    Args:
        n_features: Number of features.
        space: The attributes.
        layout: The structure of actions.
        net_arch: Sizes of the hidden layers.
    """

    def __init__(
        self,
        n_features: int,
        space: AttributeSpace,
        layout: ActionLayout,
        net_arch: Sequence[int] = (256, 256),
    ) -> None:
        super().__init__()
        self.fusion = GoalFusion(space.sizes.astype(np.int64))
        self.goal = nn.Sequential(nn.Linear(self.fusion.n_features, GOAL_FEATURES), nn.ELU())
        n_inputs = n_features + GOAL_FEATURES
        self.layers = nn.Sequential(*create_mlp(n_inputs, layout.n_outputs, list(net_arch), nn.ELU))

    def forward(self, features: torch.Tensor, inputs: Inputs) -> torch.Tensor:
        """``(n, n_features)`` and both goal keys → ``(n, layout.n_outputs)``."""
        goals = self.goal(self.fusion(inputs["achieved_goal"], inputs["desired_goal"]))
        outputs: torch.Tensor = self.layers(torch.cat([features, goals], dim=1))
        return outputs


@dataclass(frozen=True)
class InverseReport:
    """Training report of an inverse model; ``loss`` and ``success`` are on held-out examples.

    ``success`` is the success rate of the most probable actions by the judge. Without a judge it is
    the share of them that equal the action taken: a lower bound, since others may work too.
    """

    n_examples: int
    epochs: int
    loss: float
    success: float


class InverseModel(SingleActionModel):
    """π(s, ρ') by supervision: trained on the effects of actions, it predicts the action to take.

    It is for environments in which one action makes one transition. Images pass convolutions (five
    for 128 pixels, as in the paper) and a layer, the goal a layer, both together two more; ELU
    throughout. ``Discrete`` actions get a softmax, numbers in a ``Box`` a mixture density, and a
    box whose first numbers are scores of a choice both.

    Takes the arguments of :class:`SingleActionModel`.

    Example:
        >>> from gymnasium import spaces
        >>> model = InverseModel(spaces.Box(0, 1, (1,)), spaces.Discrete(2), ["lit"], device="cpu")
        >>> rng = np.random.default_rng(0)
        >>> actions = rng.integers(2, size=400)          # action 1 lights the lamp, 0 puts it out
        >>> examples = Examples(rng.random((400, 1), np.float32), actions,
        ...                     1 - actions[:, None], actions[:, None])
        >>> report = model.fit(examples, max_epochs=20)
        >>> state = {"observation": np.zeros((1, 1), np.float32), "achieved_goal": np.array([[0]]),
        ...          "desired_goal": np.array([[1]])}
        >>> model.predict(state).tolist()
        [1]
    """

    head: InverseHead

    def make_head(self, n_features: int, **options: Any) -> InverseHead:
        """Return the head, which predicts the actions."""
        return InverseHead(n_features, self.attribute_space, self.layout, **options)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """Observations with both goal keys → ``(n, layout.n_outputs)``."""
        outputs: torch.Tensor = self.head(self.encoder(inputs), inputs)
        return outputs

    def fit(
        self,
        examples: Examples,
        *,
        judge: Judge | None = None,
        progress_bar: bool = False,
        logger: Logger | None = None,
        **settings: Any,
    ) -> InverseReport:
        """Train on examples; those without a change of attributes are not used.

        Each call starts from the initial weights.

        Args:
            examples: The effects of actions.
            judge: ``(example numbers, actions) -> reached``, if a simulator can tell; early
                stopping then uses success instead of likelihood.
            progress_bar: Whether to show a progress bar over the epochs.
            logger: Receives ``inverse/loss`` and ``inverse/held_out_loss`` every epoch.
            settings: Fields of :class:`FitSettings`.

        Raises:
            InvalidData: If there are too few examples, or lengths differ.
        """
        inputs = self._begin_fit(examples)
        moved = np.flatnonzero((examples.attributes != examples.next_attributes).any(axis=1))
        rows = moved if len(moved) else np.arange(len(examples))
        actions = torch.from_numpy(self.layout.to_model(examples.actions))
        fit = fit_network(
            self,
            inputs,
            actions,
            self._loss,
            FitSettings(**settings),
            rng=np.random.default_rng(self.seed),
            rows=rows,
            score=None if judge is None else self._failures(judge),
            progress_bar=progress_bar,
            logger=logger,
            name="inverse",
        )
        self.n_examples.fill_(len(examples))
        chosen = ActionDistribution(fit.logits, self.layout).mode()
        if judge is not None:
            success = 1.0 - self._failures(judge)(fit.logits, fit.rows)
        else:
            success = float((chosen.cpu() == fit.targets.cpu()).all(1).double().mean())
        return InverseReport(len(rows), fit.epochs, fit.loss, success)

    def _loss(self, outputs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        return -ActionDistribution(outputs, self.layout).log_prob(actions).mean()

    def _failures(self, judge: Judge) -> Callable[[torch.Tensor, npt.NDArray[np.int64]], float]:
        def score(outputs: torch.Tensor, rows: npt.NDArray[np.int64]) -> float:
            actions = ActionDistribution(outputs, self.layout).mode().cpu().numpy()
            return 1.0 - float(np.mean(judge(rows, self.layout.to_env(actions))))

        return score

    def predict(
        self, observations: Mapping[str, Array], *, deterministic: bool = True
    ) -> npt.NDArray[Any]:
        """Return actions ``(n, …)`` in the environment's form.

        Args:
            observations: Key → ``(n, …)`` rows with ``achieved_goal`` and ``desired_goal``.
            deterministic: Whether to take the most probable actions, or to sample.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        distribution = self.distribution(observations)
        actions = distribution.mode() if deterministic else distribution.sample()
        return self.layout.to_env(actions.numpy())

    def distribution(self, observations: Mapping[str, Array]) -> ActionDistribution:
        """Return the distribution over actions for each row, on the CPU.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        rows = self._rows(observations, *GOAL_KEYS)
        return ActionDistribution(answer_in_batches(self, rows), self.layout)
