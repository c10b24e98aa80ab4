"""MaskPolicy: a policy that reads from the observation which actions are allowed."""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.ppo_mask.policies import MultiInputPolicy

from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers.masks import ACTION_MASK, mask_sizes

Seen = dict[str, torch.Tensor]


class MaskPolicy(MultiInputPolicy):
    """Policy for ``MaskablePPO`` that takes the mask from the observation's ``action_mask``.

    The environment need not be asked for it: rollouts, replayed observations and ``predict`` all
    have the mask that belongs to them. Its arguments are those of sb3-contrib's policy.

    Example:
        >>> import gymnasium as gym, gym_attrplan
        >>> from sb3_contrib import MaskablePPO
        >>> env = gym.make("AttrBuildOrder-v0")
        >>> model = MaskablePPO(MaskPolicy, env, n_steps=32, batch_size=32, device="cpu")
        >>> model = model.learn(32, use_masking=False)
        >>> observation, _ = env.reset(seed=0)
        >>> actions, _ = model.predict(observation)
        >>> all(observation["action_mask"][range(len(actions)), actions])
        True
    """

    def forward(  # type: ignore[override]
        self, obs: Seen, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return actions, values and log probabilities."""
        return super().forward(obs, deterministic, self._allowed(obs))  # type: ignore[arg-type]

    def evaluate_actions(  # type: ignore[override]
        self, obs: Seen, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return values, log probabilities of actions and entropies."""
        return super().evaluate_actions(obs, actions, self._allowed(obs))  # type: ignore[arg-type]

    def get_distribution(self, obs: Any, action_masks: Any = None) -> MaskableDistribution:
        """Return the distribution of allowed actions."""
        return super().get_distribution(obs, self._allowed(obs))  # type: ignore[arg-type]

    def _allowed(self, obs: Seen) -> torch.Tensor:
        """Return ``(n, n_choices)`` whether each choice is allowed.

        Raises:
            InvalidEnvironment: If a mask allows nothing.
        """
        allowed = obs[ACTION_MASK].flatten(1) > 0
        for part in torch.split(allowed, mask_sizes(self.action_space), dim=1):
            if not bool(part.any(dim=1).all()):
                raise InvalidEnvironment(
                    f"the environment's {ACTION_MASK} forbids every action: a mask allows at least "
                    "one. End the episode, or allow an action without effect."
                )
        return allowed
