"""OptionPolicy: the networks of option-critic, and the choice and end of options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import (
    DiagGaussianDistribution,
    Distribution,
    make_proba_distribution,
)
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import (
    BaseFeaturesExtractor,
    CombinedExtractor,
    FlattenExtractor,
    NatureCNN,
    create_mlp,
)
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import nn

State = tuple[npt.NDArray[Any], ...]


@dataclass(frozen=True)
class View:
    """Outputs of the networks for a batch of observations.

    Attributes:
        latent: ``(n, n_features)`` for the actions.
        q: ``(n, n_options)`` values of continuing with each option.
        termination: ``(n, n_options)`` probabilities that each ends here.
    """

    latent: torch.Tensor
    q: torch.Tensor
    termination: torch.Tensor

    @staticmethod
    def of(table: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
        """``(n, n_options)`` and ``(n,)`` options → ``(n,)``."""
        return table.gather(1, options.unsqueeze(1)).squeeze(1)


class OptionPolicy(BasePolicy):
    """Policy with values, terminations and actions for each option, on shared features.

    Args:
        observation_space: The observation space.
        action_space: ``Discrete``, ``MultiDiscrete``, ``MultiBinary`` or ``Box``.
        lr_schedule: Learning rate by progress.
        net_arch: Layers, the same for actions (``pi``) and values (``vf``) or by these names.
        activation_fn: Activation after each layer.
        n_options: Number of options.
        epsilon: Probability that an option is chosen at random.
        use_sde: Not supported; SB3's algorithms pass it by name.
        features_extractor_class: Class of the features extractor.
        optimizer_class: RMSprop by default.
        optimizer_kwargs: Arguments of the optimizer.
        kwargs: Further arguments of SB3's policies.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.Tanh,
        n_options: int = 8,
        epsilon: float = 0.1,
        use_sde: bool = False,
        features_extractor_class: type[BaseFeaturesExtractor] = FlattenExtractor,
        optimizer_class: type[torch.optim.Optimizer] = torch.optim.RMSprop,
        optimizer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if optimizer_kwargs is None and optimizer_class is torch.optim.RMSprop:
            optimizer_kwargs = {"alpha": 0.99, "eps": 1e-5}
        super().__init__(
            observation_space,
            action_space,
            features_extractor_class,
            optimizer_class=optimizer_class,
            optimizer_kwargs=optimizer_kwargs,
            **kwargs,
        )
        layers = [64, 64] if net_arch is None else net_arch
        self.net_arch = layers if isinstance(layers, dict) else {"pi": layers, "vf": layers}
        self.activation_fn = activation_fn
        self.n_options = n_options
        self.epsilon = epsilon
        self.features_extractor = self.make_features_extractor()
        self._build(lr_schedule)

    def _build(self, lr_schedule: Schedule) -> None:
        n_features = self.features_extractor.features_dim
        self.for_actions = self._trunk(n_features, self.net_arch["pi"])
        self.for_values = self._trunk(n_features, self.net_arch["vf"])
        n_latent = [n_features, *self.net_arch["pi"]][-1]
        self.action_dist = make_proba_distribution(self.action_space)
        made: Any = self.action_dist.proba_distribution_net(latent_dim=n_latent)
        if isinstance(self.action_dist, DiagGaussianDistribution):
            made, self.log_std = made
        self.action_net = nn.Linear(n_latent, self.n_options * made.out_features)
        self.termination_net = nn.Linear(n_latent, self.n_options)
        self.value_net = nn.Linear([n_features, *self.net_arch["vf"]][-1], self.n_options)
        for trunk in (self.for_actions, self.for_values):
            trunk.apply(partial(self.init_weights, gain=np.sqrt(2)))
        for head, gain in ((self.action_net, 0.01), (self.termination_net, 0.01)):
            self.init_weights(head, gain)
        self.init_weights(self.value_net, 1.0)
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]  # every optimizer takes it
            **self.optimizer_kwargs,
        )

    def _trunk(self, n_features: int, layers: list[int]) -> nn.Sequential:
        return nn.Sequential(*create_mlp(n_features, -1, layers, self.activation_fn))

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {
            **super()._get_constructor_parameters(),
            "net_arch": self.net_arch,
            "activation_fn": self.activation_fn,
            "n_options": self.n_options,
            "epsilon": self.epsilon,
            "lr_schedule": self._dummy_schedule,
            "features_extractor_class": self.features_extractor_class,
            "features_extractor_kwargs": self.features_extractor_kwargs,
            "optimizer_class": self.optimizer_class,
            "optimizer_kwargs": self.optimizer_kwargs,
        }

    def look(self, obs: PyTorchObs) -> View:
        """Compute all network outputs for observations."""
        features = self.extract_features(obs, self.features_extractor)
        latent = self.for_actions(features)
        q = self.value_net(self.for_values(features))
        return View(latent, q, torch.sigmoid(self.termination_net(latent)))

    def state_values(self, q: torch.Tensor) -> torch.Tensor:
        """``(n, n_options)`` values → ``(n,)`` value of a new choice of option."""
        return (1 - self.epsilon) * q.max(dim=1).values + self.epsilon * q.mean(dim=1)

    def choose(
        self,
        view: View,
        options: torch.Tensor,
        starts: torch.Tensor,
        deterministic: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Continue with options ``(n,)`` or choose new ones.

        Args:
            view: Of the current states.
            options: The options followed so far.
            starts: ``(n,)`` whether an episode begins, so that there is no option to continue.
            deterministic: Whether to end options if their end is more probable than not, and always
                to choose the best ones.

        Returns:
            The options to follow, and which of the old ones were ended.
        """
        probs = view.of(view.termination, options)
        marks = torch.full_like(probs, 0.5) if deterministic else torch.rand_like(probs)
        ended = (probs > marks) & ~starts
        best = view.q.argmax(dim=1)
        if not deterministic:
            anything = torch.randint_like(best, self.n_options)
            best = torch.where(torch.rand_like(probs) < self.epsilon, anything, best)
        return torch.where(ended | starts, best, options), ended

    def distribution(self, view: View, options: torch.Tensor) -> Distribution:
        """Return the action distribution of options ``(n,)``."""
        outputs = self.action_net(view.latent).view(len(options), self.n_options, -1)
        own = outputs[torch.arange(len(options), device=options.device), options]
        if isinstance(self.action_dist, DiagGaussianDistribution):
            return self.action_dist.proba_distribution(own, self.log_std)
        return self.action_dist.proba_distribution(own)

    def forward(self, obs: PyTorchObs, deterministic: bool = False) -> torch.Tensor:
        """Return actions of newly chosen options."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> torch.Tensor:
        view = self.look(observation)
        starts = torch.ones(len(view.q), dtype=torch.bool, device=view.q.device)
        options, _ = self.choose(view, torch.zeros_like(starts).long(), starts, deterministic)
        return self.distribution(view, options).get_actions(deterministic=deterministic)

    def predict(
        self,
        observation: npt.NDArray[Any] | dict[str, npt.NDArray[Any]],
        state: State | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], State]:
        """Return actions, and their options as the state for the next call."""
        self.set_training_mode(False)
        obs, is_batch = self.obs_to_tensor(observation)
        with torch.no_grad():
            view = self.look(obs)
            n, device = len(view.q), view.q.device
            starts = np.ones(n, np.bool_) if state is None else np.zeros(n, np.bool_)
            if episode_start is not None:
                starts = starts | np.asarray(episode_start, np.bool_)
            held = np.zeros(n, np.int64) if state is None else state[0]
            options, _ = self.choose(
                view,
                torch.as_tensor(held, device=device),
                torch.as_tensor(starts, device=device),
                deterministic,
            )
            actions = self.distribution(view, options).get_actions(deterministic=deterministic)
        array = actions.cpu().numpy().reshape(-1, *(self.action_space.shape or ()))
        if isinstance(self.action_space, spaces.Box):
            array = np.clip(array, self.action_space.low, self.action_space.high)
        return (array if is_batch else array[0]), (options.cpu().numpy(),)


class OptionCnnPolicy(OptionPolicy):
    """:class:`OptionPolicy` for images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"features_extractor_class": NatureCNN, **kwargs})


class OptionMultiInputPolicy(OptionPolicy):
    """:class:`OptionPolicy` for dictionaries."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"features_extractor_class": CombinedExtractor, **kwargs})
