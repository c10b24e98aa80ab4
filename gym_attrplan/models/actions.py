"""Representation of actions in models: a choice, then numbers in a box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from torch.nn import functional

from gym_attrplan.error import InvalidData, InvalidEnvironment

Array = npt.NDArray[Any]

N_COMPONENTS = 8
"""Number of components of a mixture density."""

_LOG_STD_RANGE = (-5.0, 1.0)


@dataclass(frozen=True)
class ActionLayout:
    """Structure of an action; models use ``(1 +) n_values`` numbers, the choice first.

    Attributes:
        n_choices: Number of choices; 0 without a choice.
        low: ``(n_values,)`` lower bounds of the numbers.
        high: ``(n_values,)`` upper bounds of the numbers.
        scored: Whether the environment encodes the choice as ``n_choices`` scores before the
            numbers, of which the highest is chosen.
    """

    n_choices: int
    low: Array
    high: Array
    scored: bool = False

    @classmethod
    def of(cls, space: spaces.Space[Any], *, n_choices: int = 0) -> ActionLayout:
        """Return the layout of an action space.

        Args:
            space: ``Discrete``, or a bounded ``Box`` with one axis.
            n_choices: Number of choice scores at the front of the box.

        Raises:
            InvalidEnvironment: If the space is another one, or has no bounds.
        """
        if isinstance(space, spaces.Discrete) and space.start == 0:
            return cls(int(space.n), np.zeros(0), np.zeros(0))
        bounded = isinstance(space, spaces.Box) and space.is_bounded()
        if not isinstance(space, spaces.Box) or not bounded or len(space.shape) != 1:
            raise InvalidEnvironment(
                "models of single actions need a Discrete action space that starts at 0 or a "
                f"bounded Box with one axis; received {space}. Use another low_level, such as "
                '"ppo".'
            )
        if not 0 <= n_choices < space.shape[0]:
            raise InvalidEnvironment(
                f"action_choices is from 0 to {space.shape[0] - 1} here; received {n_choices}."
            )
        low, high = space.low[n_choices:], space.high[n_choices:]
        return cls(n_choices, low.astype(np.float64), high.astype(np.float64), n_choices > 0)

    @property
    def n_values(self) -> int:
        """Number of numbers in an action."""
        return len(self.low)

    @property
    def n_outputs(self) -> int:
        """Number of network outputs for a distribution over actions."""
        per_choice = N_COMPONENTS * (1 + 2 * self.n_values) if self.n_values else 0
        return self.n_choices + max(1, self.n_choices) * per_choice

    @property
    def n_inputs(self) -> int:
        """Number of network inputs for an action."""
        return self.n_choices + self.n_values

    def check(self, actions: Array) -> None:
        """Check that actions ``(n, …)`` of the environment fit the layout.

        Raises:
            InvalidData: If a row is not an action: wrong shape, not finite, or out of range.
        """
        actions = np.asarray(actions)
        one_of_some = self.n_choices > 0 and not self.scored
        width = 1 if one_of_some else self.n_inputs
        rows = actions.reshape(len(actions), -1)
        if rows.shape[1] != width:
            raise InvalidData(f"an action holds {width} numbers; received {rows.shape[1]} a row.")
        if one_of_some:
            fine, rule = np.isin(rows, np.arange(self.n_choices)), f"from 0 to {self.n_choices - 1}"
        else:
            slack = 1e-5 * (self.high - self.low)  # float32 may round a bound to a value beyond it
            values = rows[:, width - self.n_values :]
            inside = (values >= self.low - slack) & (values <= self.high + slack)
            scores = np.isfinite(rows[:, : width - self.n_values])
            fine, rule = np.concatenate([scores, inside], axis=1), "finite and within its bounds"
        if not fine.all():
            row, column = np.argwhere(~fine)[0].tolist()
            raise InvalidData(f"row {row} of actions holds {rows[row, column]}; it must be {rule}.")

    def to_model(self, actions: Array) -> npt.NDArray[np.float32]:
        """Convert env actions ``(n, …)`` to ``(n, 1 or 0 + n_values)``, numbers in 0 … 1."""
        actions = np.asarray(actions)
        if self.n_choices and not self.scored:
            return actions.reshape(-1, 1).astype(np.float32)
        values = (actions[:, -self.n_values :] - self.low) / (self.high - self.low)
        parts = [values]
        if self.n_choices:
            parts.insert(0, actions[:, : self.n_choices].argmax(axis=1)[:, None])
        return np.concatenate(parts, axis=1).astype(np.float32)

    def to_env(self, actions: Array) -> Array:
        """Invert :meth:`to_model`; the score of the choice is 1, and the others are 0."""
        if self.n_choices and not self.scored:
            return actions[:, 0].astype(np.int64)
        values = np.clip(actions[:, -self.n_values :], 0.0, 1.0)
        parts = [self.low + values * (self.high - self.low)]
        if self.n_choices:
            parts.insert(0, np.eye(self.n_choices)[actions[:, 0].astype(np.int64)])
        return np.concatenate(parts, axis=1).astype(np.float32)

    def encode(self, actions: torch.Tensor) -> torch.Tensor:
        """Encode model actions ``(…, n)`` as ``(…, n_inputs)`` network inputs."""
        values = actions[..., actions.shape[-1] - self.n_values :] * 2.0 - 1.0
        if not self.n_choices:
            return values
        chosen = functional.one_hot(actions[..., 0].long(), self.n_choices).to(values.dtype)
        return torch.cat([chosen, values], dim=-1)

    def all_actions(self) -> npt.NDArray[np.float32] | None:
        """Return every action, if there are finitely many."""
        if self.n_values:
            return None
        return np.arange(self.n_choices, dtype=np.float32)[:, None]

    def random_actions(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
        """Draw ``(n, …)`` actions uniformly."""
        parts: list[Array] = [rng.random((n, self.n_values))]
        if self.n_choices:
            parts.insert(0, rng.integers(self.n_choices, size=(n, 1)))
        return np.concatenate(parts, axis=1).astype(np.float32)


class ActionDistribution:
    """Distribution over actions: a categorical choice, and a mixture density given the choice.

    Args:
        outputs: ``(n, layout.n_outputs)`` of a network.
        layout: The structure of actions.
    """

    def __init__(self, outputs: torch.Tensor, layout: ActionLayout) -> None:
        self._layout = layout
        self.choice_logits = outputs[:, : layout.n_choices].log_softmax(1)
        n_values = layout.n_values
        rest = outputs[:, layout.n_choices :]
        shape = (len(outputs), max(1, layout.n_choices), N_COMPONENTS, 1 + 2 * n_values)
        parts = rest.reshape(shape) if n_values else rest.reshape(len(outputs), 1, 0, 1)
        self._weights = parts[..., 0].log_softmax(-1)
        self._means = parts[..., 1 : 1 + n_values].sigmoid()
        # Narrow components allow exact drops; wide ones express uncertainty.
        self._log_stds = (parts[..., 1 + n_values :] - 2.0).clamp(*_LOG_STD_RANGE)

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """Return ``(n,)`` log probabilities of actions ``(n, …)``."""
        total = torch.zeros(len(actions), device=actions.device)
        choice = torch.zeros(len(actions), dtype=torch.long, device=actions.device)
        if self._layout.n_choices:
            choice = actions[:, 0].long()
            total = total + self.choice_logits.gather(1, choice[:, None])[:, 0]
        if self._layout.n_values:
            weights, means, log_stds = self._given(choice)
            values = actions[:, None, actions.shape[1] - self._layout.n_values :]
            scaled = (values - means) / log_stds.exp()
            densities = -0.5 * scaled.square() - log_stds - 0.5 * math.log(2 * math.pi)
            total = total + (weights + densities.sum(2)).logsumexp(1)
        return total

    def mode(self) -> torch.Tensor:
        """Return ``(n, …)`` the most probable choice, and the mean of its highest component."""
        return self._action(
            self.choice_logits.argmax(1) if self._layout.n_choices else None,
            lambda weights, means, stds: (weights - stds.sum(2)).argmax(1),
            spread=0.0,
        )

    def sample(self) -> torch.Tensor:
        """Draw ``(n, …)`` actions from the distribution."""
        choice = None
        if self._layout.n_choices:
            choice = self.choice_logits.exp().multinomial(1)[:, 0]
        return self._action(
            choice, lambda weights, means, stds: weights.exp().multinomial(1)[:, 0], spread=1.0
        )

    def _given(self, choice: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return weights ``(n, K)``, means and log deviations ``(n, K, n_values)`` for choices."""
        rows = torch.arange(len(choice), device=choice.device)
        return self._weights[rows, choice], self._means[rows, choice], self._log_stds[rows, choice]

    def _action(self, choice: torch.Tensor | None, pick: Any, *, spread: float) -> torch.Tensor:
        n = len(self.choice_logits)
        parts = [] if choice is None else [choice[:, None].float()]
        if self._layout.n_values:
            given = torch.zeros(n, dtype=torch.long) if choice is None else choice
            weights, means, log_stds = self._given(given.to(self._means.device))
            rows, which = torch.arange(n, device=means.device), pick(weights, means, log_stds)
            noise = spread * torch.randn_like(means[rows, which])
            values = means[rows, which] + noise * log_stds[rows, which].exp()
            parts.append(values.clamp(0.0, 1.0).float())
        return torch.cat(parts, dim=1)
