"""UnitPolicy: one set of weights for every unit, with masks, for Stable-Baselines3."""

from __future__ import annotations

from functools import partial
from typing import Any, Self, cast

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import Distribution
from stable_baselines3.common.policies import MultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, create_mlp
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import nn

from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.models.networks import GoalFusion, Observations

UNIT_KEYS = ("units", "slot_mask", "action_mask")
GOAL_KEYS = ("achieved_goal", "desired_goal")


class UnitExtractor(BaseFeaturesExtractor):
    """Features extractor of everything that units share: the goal, all units, other observations.

    Goals go through :class:`~gym_attrplan.models.GoalFusion`. The difference from each wanted value
    is added as a number, since counts have an order.

    Args:
        observation_space: A ``Dict`` with ``units`` ``(n_slots, n_features)``, ``slot_mask``
            ``(n_slots,)`` and ``action_mask`` ``(n_slots, n_actions)``, of an attribute
            environment.
        n_features: Number of outputs.

    Raises:
        InvalidEnvironment: If one of these keys is missing.
    """

    _scales: torch.Tensor

    def __init__(self, observation_space: spaces.Dict, n_features: int = 128) -> None:
        super().__init__(observation_space, features_dim=n_features)
        parts = observation_space.spaces
        for key in (*UNIT_KEYS, *GOAL_KEYS):
            if key not in parts:
                raise InvalidEnvironment(
                    f"UnitPolicy reads {key!r}, which is not among {sorted(parts)}. It is for "
                    "environments with unit slots, such as AttrBuildOrder-v0."
                )
        sizes = cast(spaces.Box, parts["desired_goal"]).high.astype(np.int64) + 1
        self.fusion = GoalFusion(sizes)
        scales = torch.as_tensor(sizes - 1, dtype=torch.float32)
        self.register_buffer("_scales", scales.clamp(min=1.0, max=8.0))
        self._rest = [key for key in parts if key not in (*UNIT_KEYS, *GOAL_KEYS)]
        n_rest = sum(spaces.flatdim(parts[key]) for key in self._rest)
        n_own = cast(tuple[int, ...], parts["units"].shape)[1]
        self.blocks = [*self.fusion.blocks, len(sizes), n_rest, n_own]
        self.common = nn.Linear(sum(self.blocks), n_features)

    def forward(self, observations: Observations) -> torch.Tensor:
        """Preprocessed observations → ``(n, n_features)``."""
        there = observations["slot_mask"].unsqueeze(2)
        together = (observations["units"] * there).mean(dim=1)
        achieved, desired = observations["achieved_goal"], observations["desired_goal"]
        away = torch.where(desired >= 0, (desired - achieved) / self._scales, 0.0).clamp(-1.0, 1.0)
        rest = [observations[key].flatten(1) for key in self._rest]
        inputs = [self.fusion(achieved, desired), away, *rest, together]
        return torch.relu(self.common(torch.cat(inputs, dim=1)))


class UnitDistribution(Distribution):
    """Distribution of the actions of all units that have a choice; the others wait.

    Units draw independently, so the log-probabilities and entropies of an environment's units add
    up. A unit without a choice takes action 0.

    Args:
        n_slots: Number of unit slots of an environment.
    """

    def __init__(self, n_slots: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._n_slots = n_slots

    def proba_distribution_net(self, *args: Any, **kwargs: Any) -> nn.Linear:
        """Return the layer that computes a unit's logits."""
        return nn.Linear(*args, **kwargs)

    def proba_distribution(self, logits: torch.Tensor, choosers: torch.Tensor, n_envs: int) -> Self:
        """Set the distribution.

        Args:
            logits: ``(n_choosers, n_actions)``, masked.
            choosers: ``(n_choosers,)`` which of the ``n_envs * n_slots`` slots they are.
            n_envs: Number of environments.
        """
        self._log_probs = torch.log_softmax(logits, dim=1)
        self._choosers, self._n_envs = choosers, n_envs
        return self

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """``(n_envs, n_slots)`` actions → ``(n_envs,)`` log-probabilities."""
        taken = actions.long().flatten()[self._choosers].unsqueeze(1)
        return self._add_up(self._log_probs.gather(1, taken).squeeze(1))

    def entropy(self) -> torch.Tensor:
        """Return ``(n_envs,)`` entropies."""
        # Masked actions have probability 0 and log-probability -inf, whose product would be NaN.
        finite = self._log_probs.clamp(min=torch.finfo(self._log_probs.dtype).min)
        return self._add_up(-(finite.exp() * finite).sum(dim=1))

    def sample(self) -> torch.Tensor:
        """Draw ``(n_envs, n_slots)`` actions at random."""
        # Gumbel's trick; torch.multinomial does not take a batch without any chooser.
        noise = -torch.empty_like(self._log_probs).exponential_().log()
        return self._place((self._log_probs + noise).argmax(dim=1))

    def mode(self) -> torch.Tensor:
        """Return ``(n_envs, n_slots)`` most probable actions."""
        return self._place(self._log_probs.argmax(dim=1))

    def actions_from_params(self, *params: Any, deterministic: bool = False) -> torch.Tensor:
        """Return actions of the distribution with these parameters."""
        return self.proba_distribution(*params).get_actions(deterministic=deterministic)

    def log_prob_from_params(self, *params: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return actions and their log-probabilities."""
        actions = self.actions_from_params(*params)
        return actions, self.log_prob(actions)

    def _place(self, chosen: torch.Tensor) -> torch.Tensor:
        actions = chosen.new_zeros(self._n_envs * self._n_slots)
        return actions.index_copy(0, self._choosers, chosen).view(self._n_envs, self._n_slots)

    def _add_up(self, values: torch.Tensor) -> torch.Tensor:
        total = values.new_zeros(self._n_envs)
        return total.index_add(0, self._choosers // self._n_slots, values)


class UnitPolicy(MultiInputActorCriticPolicy):
    """SB3 policy for environments with unit slots: one small network, shared by all units.

    Use it as ``PPO(UnitPolicy, env)``, and in the same way with A2C and
    :class:`~gym_attrplan.algorithms.Reinforce`. All units of all environments that have a choice go
    through one forward pass. Actions that ``action_mask`` forbids are never drawn.

    Args:
        observation_space: As for :class:`UnitExtractor`.
        action_space: ``MultiDiscrete`` with the same number of actions in every slot.
        lr_schedule: Learning rate by progress.
        net_arch: Layers of the unit network (``pi``) and of the value (``vf``).
        activation_fn: Activation after each layer.
        features_extractor_class: Class of the extractor of shared features.
        wait_bias: Initial advantage of the logit of action 0, to continue, over the others.
            Long orders, such as fetching ore, fail if untrained units replace them
            every few steps, and what never succeeds is never rewarded. With 2 an untrained policy
            saves 75 ore in none of 1,000 episodes of 40 steps, with 4 in about 30 of them, and
            PPO needs these few to learn it.
        **kwargs: Further arguments of SB3's policies.

    Raises:
        InvalidEnvironment: If the spaces are not those of unit slots.

    Example:
        >>> import gymnasium as gym, gym_attrplan
        >>> from stable_baselines3 import PPO
        >>> env = gym.make("AttrBuildOrder-v0")
        >>> model = PPO(UnitPolicy, env, n_steps=32, batch_size=32, device="cpu").learn(32)
        >>> observation, _ = env.reset(seed=0)
        >>> model.predict(observation)[0].shape
        (14,)
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.MultiDiscrete,
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.ReLU,
        features_extractor_class: type[BaseFeaturesExtractor] = UnitExtractor,
        wait_bias: float = 4.0,
        **kwargs: Any,
    ) -> None:
        if not isinstance(action_space, spaces.MultiDiscrete) or len(set(action_space.nvec)) != 1:
            raise InvalidEnvironment(
                "UnitPolicy needs a MultiDiscrete action space with as many actions in every "
                f"unit slot; received {action_space}."
            )
        layers = {"pi": [64, 64], "vf": [64]} if net_arch is None else net_arch
        self.wait_bias = wait_bias
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=layers if isinstance(layers, dict) else {"pi": layers, "vf": layers},
            activation_fn=activation_fn,
            features_extractor_class=features_extractor_class,
            **kwargs,
        )

    def _build(self, lr_schedule: Schedule) -> None:
        """Build the networks, as SB3's hook."""
        assert isinstance(self.net_arch, dict)  # the constructor made it one
        assert isinstance(self.observation_space, spaces.Dict)
        units = cast(tuple[int, ...], self.observation_space["units"].shape)
        action_space = cast(spaces.MultiDiscrete, self.action_space)
        first, *others = self.net_arch["pi"]
        self.units = UnitDistribution(units[0])
        # The first layer of the unit network has two parts: the shared one is computed once for all
        # units of an environment.
        self.from_own = nn.Linear(units[1], first)
        self.from_common = nn.Linear(self.features_dim, first)
        self.unit_net = nn.Sequential(
            self.activation_fn(), *create_mlp(first, -1, others, self.activation_fn)
        )
        self.action_net = self.units.proba_distribution_net(
            self.net_arch["pi"][-1], int(action_space.nvec[0])
        )
        layers = create_mlp(self.features_dim, 1, self.net_arch["vf"], self.activation_fn)
        self.value_net = nn.Sequential(*layers)  # type: ignore[assignment]  # SB3's is one layer
        if self.ortho_init:
            self.apply(partial(self.init_weights, gain=np.sqrt(2)))
            self.init_weights(self.action_net, 0.01)
            self.init_weights(layers[-1], 1.0)
        with torch.no_grad():
            self.action_net.bias[0] += self.wait_bias
        options = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.parameters(), **options)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "wait_bias": self.wait_bias}

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return actions ``(n, n_slots)``, values ``(n, 1)`` and log-probabilities ``(n,)``."""
        distribution, values = self._act(obs)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: PyTorchObs, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return values, log-probabilities of the actions, and entropies."""
        distribution, values = self._act(obs)
        return values, distribution.log_prob(actions), distribution.entropy()

    def get_distribution(self, obs: PyTorchObs) -> UnitDistribution:
        """Return the distribution of the units' actions."""
        return self._act(obs)[0]

    def predict_values(self, obs: PyTorchObs) -> torch.Tensor:
        """Return ``(n, 1)`` values."""
        values: torch.Tensor = self.value_net(self._common(obs)[1])
        return values

    def _act(self, obs: Any) -> tuple[UnitDistribution, torch.Tensor]:
        common, for_value = self._common(obs)
        mask = obs["action_mask"] > 0
        n_envs, n_slots, n_actions = mask.shape
        choosers = torch.nonzero((mask.sum(dim=2) > 1).flatten()).squeeze(1)
        own = self.from_own(obs["units"].flatten(0, 1)[choosers].float())
        units = self.unit_net(own + self.from_common(common)[choosers // n_slots])
        logits = self.action_net(units)
        logits = logits.masked_fill(~mask.view(-1, n_actions)[choosers], -torch.inf)
        return self.units.proba_distribution(logits, choosers, n_envs), self.value_net(for_value)

    def _common(self, obs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return shared features for the actions and for the value: ``(n, features_dim)`` each."""
        features = self.extract_features(obs)
        return features if isinstance(features, tuple) else (features, features)
