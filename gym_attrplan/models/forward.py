"""ForwardModel: predicts the effects of an action on the attributes from the current state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import create_mlp
from torch import nn

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.models.actions import ActionLayout
from gym_attrplan.models.answers import AttributeLogits
from gym_attrplan.models.examples import Examples
from gym_attrplan.models.fitting import (
    Array,
    FitSettings,
    Inputs,
    autocast,
    fit_network,
    fit_temperatures,
    to_tensor,
)
from gym_attrplan.models.single_action import SingleActionModel
from gym_attrplan.wrappers.observation import GOAL_KEYS

ACTION = "action"
_CHUNK = 1 << 16  # (state, action) pairs judged at a time


class Outcomes:
    """Predicted outcomes of actions.

    Args:
        logs: ``(n, m, n_attributes, n_values)`` calibrated log probabilities of each value after
            each of m actions in n states; ``-inf`` for values that an attribute does not have.
        answers: The layout of the values.
        dtype: Type of attribute vectors.
    """

    def __init__(self, logs: torch.Tensor, answers: AttributeLogits, dtype: Any) -> None:
        self._logs, self._answers = logs, answers
        best = logs.max(-1)
        self.vectors: IntArray = best.indices.cpu().numpy().astype(dtype)
        """``(n, m, n_attributes)`` the most probable outcomes."""
        self.probs: npt.NDArray[np.float32] = best.values.sum(-1).exp().cpu().numpy()
        """``(n, m)`` their probabilities."""

    def chances(self, goals: IntArray) -> npt.NDArray[np.float32]:
        """Return ``(n, m, k)`` log probabilities of meeting goals ``(n, k, …)``; -1 is free."""
        named = self._answers.one_hot(to_tensor(goals).to(self._logs.device))
        logs = self._answers.flat(self._logs) @ named.transpose(1, 2)
        return np.asarray(logs.cpu().numpy())

    def worth(self, pairs: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
        """Return ``(n, m)`` expected bonuses of the outcomes.

        Args:
            pairs: ``(n_logits, n_logits)`` bonus of each pair of values, laid out as in
                :meth:`AttributeLogits.one_hot`; bonuses add up over all pairs, including each
                value with itself.
        """
        table = torch.as_tensor(pairs).float().to(self._logs.device)
        shares = self._answers.flat(self._logs).exp()
        alone = table.diagonal()
        both = (shares @ (table - alone.diag()) * shares).sum(-1)
        return np.asarray((both + shares @ alone).cpu().numpy())


class ForwardHead(nn.Module):
    """Network head: features, current attributes and an action → logits of the next attributes.

    Args:
        n_features: Number of features.
        space: The attributes.
        layout: The structure of actions.
        net_arch: Sizes of the hidden layers.
    """

    temperatures: torch.Tensor

    def __init__(
        self,
        n_features: int,
        space: AttributeSpace,
        layout: ActionLayout,
        net_arch: Sequence[int] = (512, 256),
    ) -> None:
        super().__init__()
        self.answers = AttributeLogits(space.sizes)
        self._layout = layout
        width, *rest = net_arch
        self.from_state = nn.Linear(n_features + self.answers.n_logits, width)
        self.from_action = nn.Linear(layout.n_inputs, width)
        layers = create_mlp(width, self.answers.n_logits, list(rest), nn.ELU)
        self.layers = nn.Sequential(nn.ELU(), *layers)
        # Most attributes keep their values: the network only has to predict the changes.
        self.inertia = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("temperatures", torch.ones(len(space)))

    def forward(
        self, features: torch.Tensor, attributes: torch.Tensor, actions: torch.Tensor
    ) -> torch.Tensor:
        """Rows ``(…, n)`` of each, which broadcast → ``(…, n_logits)``.

        Actions are in the models' form. A state that is broadcast over actions is read once.
        """
        now = self.answers.one_hot(attributes)
        hidden = self.from_state(torch.cat([features, now], dim=-1))
        hidden = hidden + self.from_action(self._layout.encode(actions))
        logits: torch.Tensor = self.layers(hidden) + self.inertia * now
        return logits


@dataclass(frozen=True)
class ForwardReport:
    """Training report of a forward model, with its error on held-out examples.

    ``error`` is the share of examples with any wrong attribute.
    """

    n_examples: int
    epochs: int
    loss: float
    error: float


class ForwardModel(SingleActionModel):
    """(s, a) → ρ': predicts the first edge from the current state, and edges never seen.

    It is for environments in which one action makes one transition. The table of counts has only
    averages over states; this model predicts the effect of each action in a state. Weights shared
    over states and actions let it predict transitions that were never tried.

    Takes the arguments of :class:`SingleActionModel`.

    Example:
        >>> from gymnasium import spaces
        >>> model = ForwardModel(spaces.Box(0, 1, (1,)), spaces.Discrete(2), ["lit"], device="cpu")
        >>> rng = np.random.default_rng(0)
        >>> actions, before = rng.integers(2, size=400), rng.integers(2, size=(400, 1))
        >>> report = model.fit(Examples(rng.random((400, 1), np.float32), actions, before,
        ...                             actions[:, None]), max_epochs=20)
        >>> state = {"observation": np.zeros((1, 1), np.float32), "achieved_goal": np.array([[0]])}
        >>> model.foresee(state, np.array([[[0.0], [1.0]]])).vectors.tolist()
        [[[0], [1]]]
    """

    head: ForwardHead

    def make_head(self, n_features: int, **options: Any) -> ForwardHead:
        """Return the head, which predicts the attributes."""
        return ForwardHead(n_features, self.attribute_space, self.layout, **options)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """Observations with ``achieved_goal`` and ``action`` → ``(n, n_logits)``."""
        features = self.encoder(inputs)
        logits: torch.Tensor = self.head(features, inputs["achieved_goal"], inputs[ACTION])
        return logits

    def fit(
        self,
        examples: Examples,
        *,
        progress_bar: bool = False,
        logger: Logger | None = None,
        **settings: Any,
    ) -> ForwardReport:
        """Train on examples. Each call starts from the initial weights.

        Args:
            examples: The effects of actions.
            progress_bar: Whether to show a progress bar over the epochs.
            logger: Receives ``forward/loss`` and ``forward/held_out_loss`` every epoch.
            settings: Fields of :class:`FitSettings`.

        Raises:
            InvalidData: If there are too few examples, or lengths differ.
        """
        inputs = self._begin_fit(examples)
        vectors = inputs.pop("desired_goal")
        inputs[ACTION] = torch.from_numpy(self.layout.to_model(examples.actions))
        fit = fit_network(
            self,
            inputs,
            vectors,
            self.head.answers.loss,
            FitSettings(**settings),
            rng=np.random.default_rng(self.seed),
            progress_bar=progress_bar,
            logger=logger,
            name="forward",
        )
        blocks, truth = self.head.answers(fit.logits).cpu(), fit.targets.cpu()
        self.head.temperatures.copy_(fit_temperatures(blocks, truth))
        self.n_examples.fill_(len(examples))
        error = 1.0 - float((blocks.argmax(2) == truth).all(1).double().mean())
        return ForwardReport(len(examples), fit.epochs, fit.loss, error)

    def foresee(self, observations: Mapping[str, Array], actions: Array) -> Outcomes:
        """Predict the outcomes of several actions in each state.

        Args:
            observations: Key → ``(n, …)`` rows with ``achieved_goal``.
            actions: ``(n, m, …)`` in the models' form, or ``(m, …)`` for all states.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        rows = self._rows(observations)
        attributes = np.asarray(observations[GOAL_KEYS[0]])
        n, shared = len(attributes), actions.ndim == 2
        device, step = self.head.temperatures.device, max(1, _CHUNK // actions.shape[-2])
        parts = []
        for i in range(0, max(n, 1), step):
            seen = {key: to_tensor(row[i : i + step]).to(device) for key, row in rows.items()}
            now = to_tensor(attributes[i : i + step]).to(device)
            taken = actions[None] if shared else actions[i : i + step]
            logits = self._judge(seen, now, to_tensor(taken).to(device))
            blocks = self.head.answers(logits) / self.head.temperatures[:, None]
            parts.append(blocks.log_softmax(-1))
        return Outcomes(torch.cat(parts), self.head.answers, self.attribute_space.dtype)

    def _judge(self, rows: Inputs, now: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """``(n, …)`` states, ``(n or 1, m, …)`` actions → ``(n, m, n_logits)``."""
        self.eval()
        with torch.no_grad(), autocast(now.device):
            features = self.encoder(rows)[:, None]
            logits: torch.Tensor = self.head(features, now[:, None], actions.float())
        return logits.float()
