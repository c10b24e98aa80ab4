"""NextStateModel: predicts the next observation, if observations are plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import create_mlp
from torch import nn
from torch.nn import functional

from gym_attrplan.models.actions import ActionLayout
from gym_attrplan.models.answers import AttributeLogits
from gym_attrplan.models.encoders import Standardizer
from gym_attrplan.models.examples import Examples
from gym_attrplan.models.fitting import (
    Array,
    FitSettings,
    Inputs,
    answer_in_batches,
    fit_network,
)
from gym_attrplan.models.forward import ACTION
from gym_attrplan.models.single_action import SingleActionModel
from gym_attrplan.wrappers.observation import GOAL_KEYS


class NextStateHead(nn.Module):
    """Network head: numbers, an action, attributes before and after → changes of the numbers.

    Args:
        n_features: Number of values, standardised.
        answers: The layout of the attributes' values.
        layout: The structure of actions.
        net_arch: Sizes of the hidden layers.
    """

    def __init__(
        self,
        n_features: int,
        answers: AttributeLogits,
        layout: ActionLayout,
        net_arch: Sequence[int] = (512, 256),
    ) -> None:
        super().__init__()
        self.answers = answers
        self._layout = layout
        n_inputs = n_features + 2 * answers.n_logits + layout.n_inputs
        self.layers = nn.Sequential(*create_mlp(n_inputs, 2 * n_features, list(net_arch), nn.ELU))

    def forward(
        self,
        features: torch.Tensor,
        before: torch.Tensor,
        after: torch.Tensor,
        actions: torch.Tensor,
    ) -> torch.Tensor:
        """``(n, …)`` each → ``(n, n_features)``; actions in the models' form."""
        parts = [self.answers.one_hot(before), self.answers.one_hot(after)]
        inputs = torch.cat([features, *parts, self._layout.encode(actions)], dim=1)
        gates, values = self.layers(inputs).chunk(2, dim=1)
        # Most numbers keep their values: the gates select those that change.
        moves: torch.Tensor = gates.sigmoid() * (values - features)
        return moves


class NextStateModel(SingleActionModel):
    """(s, a, ρ') → s': together with a forward model, it predicts sequences of actions.

    For random outcomes it predicts the mean. It takes the arguments of
    :class:`SingleActionModel`.

    Example:
        >>> model = NextStateModel(spaces.Box(-9, 9, (1,)), spaces.Discrete(2), ["far"],
        ...                        device="cpu")
        >>> rng = np.random.default_rng(0)
        >>> place, action = rng.uniform(-3, 3, (2_000, 1)), rng.integers(2, size=2_000)
        >>> after = (place + 2 * action[:, None] - 1).astype(np.float32)
        >>> far = [(one > 0).astype(np.int8) for one in (place, after)]
        >>> model.fit(Examples(place.astype(np.float32), action, *far, after), max_epochs=20)
        >>> seen = {"observation": np.array([[2.0]], np.float32)}
        >>> seen |= dict.fromkeys(["achieved_goal", "desired_goal"], np.array([[1]]))
        >>> model.imagine(seen, np.array([[0.0]]))["observation"].round(1)
        array([[1.]], dtype=float32)
    """

    head: NextStateHead

    @staticmethod
    def suits(parts: Mapping[str, spaces.Space[Any]]) -> bool:
        """Return whether all parts of an observation are numbers of any size."""
        return all(
            isinstance(part, spaces.Box) and len(part.shape) == 1 and part.dtype.kind == "f"
            for part in parts.values()
        )

    def make_head(self, n_features: int, **options: Any) -> NextStateHead:
        """Return the head, which predicts the numbers."""
        answers = AttributeLogits(self.attribute_space.sizes)
        return NextStateHead(n_features, answers, self.layout, **options)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """Observations, with both goals and ``action`` → ``(n, n_features)``."""
        known = (inputs[key] for key in (*GOAL_KEYS, ACTION))
        moves: torch.Tensor = self.head(self.encoder(inputs), *known)
        return moves

    def fit(
        self,
        examples: Examples,
        *,
        progress_bar: bool = False,
        logger: Logger | None = None,
        **settings: Any,
    ) -> None:
        """Train on examples. Each call starts from the initial weights.

        Args:
            examples: The effects of actions, with ``next_observations``.
            progress_bar: Whether to show a progress bar over the epochs.
            logger: Receives ``next_state/loss`` and ``next_state/held_out_loss`` every epoch.
            settings: Fields of :class:`FitSettings`.

        Raises:
            InvalidData: If there are too few examples, or lengths differ.
        """
        inputs = self._begin_fit(examples)
        inputs[ACTION] = torch.from_numpy(self.layout.to_model(examples.actions))
        device = next(self.parameters()).device
        before, after = (
            self.encoder({key: seen[key].to(device) for key in self.parts}).cpu()
            for seen in (inputs, examples.next_inputs())
        )
        fit_network(
            self,
            inputs,
            after - before,
            functional.mse_loss,
            FitSettings(**settings),
            rng=np.random.default_rng(self.seed),
            progress_bar=progress_bar,
            logger=logger,
            name="next_state",
        )
        self.n_examples.fill_(len(examples))

    def imagine(self, observations: Mapping[str, Array], actions: Array) -> dict[str, Array]:
        """Predict the observations after ``(n, …)`` actions: key → ``(n, …)``.

        Args:
            observations: Key → ``(n, …)`` rows with ``achieved_goal`` and, for the attributes after
                the action, ``desired_goal``.
            actions: One for each row, in the models' form.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        rows = self._rows(observations, *GOAL_KEYS)
        moves = answer_in_batches(self, {**rows, ACTION: actions.astype(np.float32)}).numpy()
        after, first = {}, 0
        for key, encoder in self.encoder.encoders.items():
            assert isinstance(encoder, Standardizer)
            last = first + len(encoder.deviation)
            after[key] = rows[key] + moves[:, first:last] * encoder.deviation.cpu().numpy()
            first = last
        return {key: part.astype(rows[key].dtype) for key, part in after.items()}
