"""InverseLearner: ``low_level="inverse"``, for environments with one transition per action."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.actors import Actor
from gym_attrplan.agent.buffers import ExampleBuffer
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.models.examples import MIN_EXAMPLES
from gym_attrplan.models.fitting import FitSettings
from gym_attrplan.models.forward import ForwardModel
from gym_attrplan.models.inverse import InverseModel
from gym_attrplan.models.next_state import NextStateModel
from gym_attrplan.models.single_action import SingleActionModel

Observations = dict[str, npt.NDArray[Any]]


class InverseLearner(Actor):
    """Supervised hop policy: fits an inverse and a forward model, and attempts hops.

    Exploration provides the examples. π is fitted to them when hopping begins. Its attempts then
    measure the success probabilities, and are further examples for the forward model, which is
    fitted last. If observations are plain numbers, a model of the next observation is fitted too.

    Args:
        venv: Environments that run hops.
        space: The attributes.
        examples: Buffer of the effects of actions.
        action_choices: Number of choice scores at the front of a ``Box`` action.
        seed: Seed of the models.
        device: Device of the models.
        n_features: Number of features of images and words.
        inverse_arch: Hidden layers of the inverse model.
        forward_arch: Hidden layers of the forward model.
        settings: Fields of :class:`~gym_attrplan.models.fitting.FitSettings`.
    """

    def __init__(
        self,
        venv: VecEnv,
        space: AttributeSpace,
        examples: ExampleBuffer,
        *,
        action_choices: int = 0,
        seed: int | None = None,
        device: str = "auto",
        n_features: int = 128,
        inverse_arch: tuple[int, ...] = (256, 256),
        forward_arch: tuple[int, ...] = (512, 256),
        **settings: Any,
    ) -> None:
        super().__init__(venv)
        self.examples = examples
        FitSettings(**settings)  # errors are raised now
        self._settings = settings
        common: dict[str, Any] = {"action_choices": action_choices, "n_features": n_features}
        common |= {"device": device, "seed": seed or 0}
        what = venv.observation_space, venv.action_space, space
        self.inverse = InverseModel(*what, net_arch=inverse_arch, **common)
        self.forward = ForwardModel(*what, net_arch=forward_arch, **common)
        self.next_state = NextStateModel(*what, **common) if examples.keeps_next else None

    def learn(
        self,
        total_timesteps: int,
        callback: BaseCallback,
        log_interval: int | None = 1,
        **unused: Any,
    ) -> InverseLearner:
        """Fit π if the examples have doubled since its last fit, then attempt hops."""
        if len(self.examples) >= 2 * int(self.inverse.n_examples):
            self.inverse.fit(self.examples.examples, **self._settings, logger=self.logger)
        super().learn(total_timesteps, callback, log_interval)
        return self

    def fit_forward(self, **settings: Any) -> None:
        """Fit the forward model to all examples, unless it was already fitted to at least as many.

        Args:
            settings: Fields of :class:`~gym_attrplan.models.fitting.FitSettings` to change.
        """
        if len(self.examples) > int(self.forward.n_examples):
            self.forward.fit(self.examples.examples, **(self._settings | settings))

    def fit_next_state(self) -> None:
        """Fit the model of the next observation, if there is one and it has new examples."""
        followed = self.examples.followed
        if self.next_state is None or followed is None:
            return
        if len(followed) > max(MIN_EXAMPLES, int(self.next_state.n_examples)):
            self.next_state.fit(followed, **self._settings)

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], None]:
        """Return actions towards ``desired_goal``, one for each row."""
        return self.inverse.predict(observation, deterministic=deterministic), None

    def log_probs(self, observations: Observations) -> npt.NDArray[np.float64]:
        """Return ``(n, n_actions)`` log probabilities of discrete actions."""
        assert isinstance(self.action_space, spaces.Discrete)
        logits: npt.NDArray[np.float64] = (
            self.inverse.distribution(observations).choice_logits.double().numpy()
        )
        return logits

    def _act(self, observations: Observations) -> npt.NDArray[Any]:
        return self.predict(observations, deterministic=True)[0]

    def get_parameters(self) -> dict[str, Any]:
        """Return the weights of the models, in the form of SB3's algorithms."""
        return {name: model.state_dict() for name, model in self._models().items()}

    def set_parameters(self, weights: dict[str, Any], exact_match: bool = True) -> None:
        """Set the weights that :meth:`get_parameters` returned."""
        for name, model in self._models().items():
            model.load_state_dict(weights[name], strict=exact_match)

    def _models(self) -> dict[str, SingleActionModel]:
        models = {"inverse": self.inverse, "forward": self.forward, "next_state": self.next_state}
        return {name: model for name, model in models.items() if model is not None}
