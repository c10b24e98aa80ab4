"""SuccessModel: probability that the hop policy reaches a neighbour from the current state."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.preprocessing import (
    is_image_space,
    is_image_space_channels_first,
    maybe_transpose,
    preprocess_obs,
)
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, create_mlp
from stable_baselines3.common.utils import get_device
from stable_baselines3.common.vec_env import VecTransposeImage
from torch import nn

from gym_attrplan.error import InvalidData, InvalidEnvironment, NotFitted
from gym_attrplan.models.fitting import (
    Array,
    Fit,
    FitSettings,
    Inputs,
    answer_in_batches,
    calibration_error,
    fit_network,
    fit_temperatures,
    seeded,
    to_tensor,
)
from gym_attrplan.models.networks import GoalFusionExtractor

MIN_EXAMPLES = 50
"""Minimum number of attempts with which a network is trained."""


@dataclass(frozen=True)
class SuccessReport:
    """Training report of a :class:`SuccessModel`, with its errors on held-out attempts.

    ``trained`` is False if the data could not distinguish states, so that only the share of
    successes is known; the figures for held-out attempts are then NaN. The calibration errors are
    measured before and after the temperature was fitted to the same held-out attempts.
    """

    trained: bool
    n_examples: int
    n_held_out: int
    success_rate: float
    epochs: int
    loss: float
    error: float
    calibration_error_before: float
    calibration_error_after: float


class SuccessModel(nn.Module):
    """q(s, ρ'): the probability that the hop policy, in state s, reaches neighbour ρ'.

    The table of edges has only averages over states with equal attributes; this model sees the
    state. It learns from the policy's own attempts: the observation at the start of each, with the
    target as ``desired_goal``, and whether it was reached.

    :meth:`fit` can be called again as the policy improves. Each call starts from the same initial
    weights. A model that continued from its last weights would already have trained on attempts
    that are now held out, and would overestimate itself.

    If the attempts cannot distinguish states, because all had the same result or there are fewer
    than :data:`MIN_EXAMPLES` and no earlier training, :meth:`predict` gives the smoothed success
    rate ``(successes + 1) / (attempts + 2)`` for every state. Fewer than :data:`MIN_EXAMPLES`
    after a training leave the model unchanged. Everything learned, including the calibration, is in
    ``state_dict()``.

    Args:
        observation_space: The flat ``Dict`` space of an attribute environment. Images may have
            their channels first or last.
        features_extractor_class: As in SB3's policies; ``WordsExtractor`` for word observations.
        features_extractor_kwargs: Its keyword arguments.
        net_arch: Sizes of the hidden layers on top.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: Seed of the initial weights, the held-out part and the order of examples; with the
            same seed and data a CPU gives the same model.

    Raises:
        InvalidEnvironment: If the space is not that of an attribute environment.

    Example:
        >>> goal = spaces.Box(-1, 1, (1,), np.int8)
        >>> space = spaces.Dict({"observation": spaces.Box(0, 1, (1,)), "achieved_goal": goal,
        ...                      "desired_goal": goal})
        >>> model = SuccessModel(space, device="cpu")
        >>> place = np.random.default_rng(0).uniform(size=(400, 1)).astype(np.float32)
        >>> attempts = {"observation": place, "achieved_goal": np.zeros((400, 1), np.int8),
        ...             "desired_goal": np.ones((400, 1), np.int8)}
        >>> report = model.fit(attempts, reached=place[:, 0] > 0.5)
        >>> near_and_far = {key: rows[:2] for key, rows in attempts.items()}
        >>> near_and_far["observation"] = np.array([[0.9], [0.1]], np.float32)
        >>> (model.predict(near_and_far) > 0.5).tolist()
        [True, False]
    """

    inverse_temperature: torch.Tensor
    base_rate: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Dict,
        *,
        features_extractor_class: type[BaseFeaturesExtractor] = GoalFusionExtractor,
        features_extractor_kwargs: dict[str, Any] | None = None,
        net_arch: Sequence[int] = (128,),
        device: torch.device | str = "auto",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.observation_space = _channels_first(observation_space)
        self._seed = seed
        with seeded(seed):
            self.extractor = features_extractor_class(
                self.observation_space, **(features_extractor_kwargs or {})
            )
            self.head = nn.Sequential(
                *create_mlp(self.extractor.features_dim, 1, list(net_arch), nn.ReLU)
            )
        self.register_buffer("inverse_temperature", torch.ones(()))
        # The prediction while no network is trained; NaN before the first fit, -1 once one is.
        self.register_buffer("base_rate", torch.full((), torch.nan))
        self._initial = copy.deepcopy(self.state_dict())
        self.to(get_device(device))

    @property
    def is_fitted(self) -> bool:
        """Whether :meth:`predict` can be called."""
        return not bool(self.base_rate.isnan())

    @property
    def is_trained(self) -> bool:
        """Whether the prediction depends on the state."""
        return bool(self.base_rate == -1.0)

    def forward(self, observations: Inputs) -> torch.Tensor:
        """Observations ``{key: (n, …)}`` as the environment gives them → ``(n,)`` raw logits."""
        seen = preprocess_obs(observations, self.observation_space)
        logits: torch.Tensor = self.head(self.extractor(seen)).squeeze(1)
        return logits

    def fit(
        self,
        observations: Mapping[str, Array],
        reached: npt.NDArray[np.bool_],
        *,
        progress_bar: bool = False,
        logger: Logger | None = None,
        **settings: Any,
    ) -> SuccessReport:
        """Train on attempts.

        Args:
            observations: Key → ``(n, …)`` rows at the start of each attempt.
            reached: ``(n,)`` whether the attempt succeeded.
            progress_bar: Whether to show a progress bar over the epochs.
            logger: Receives ``success/loss`` and ``success/held_out_loss`` every epoch.
            settings: Fields of :class:`FitSettings`; some have different defaults here.

        Raises:
            InvalidData: If there are no attempts, keys are missing or lengths differ.
        """
        chosen = FitSettings(**{"max_epochs": 15, "learning_rate": 3e-3, "patience": 4, **settings})
        reached = np.asarray(reached, np.bool_)
        rows = self._check(observations, reached)
        if len(reached) < MIN_EXAMPLES or reached.all() or not reached.any():
            return self._settle_for_base_rate(reached)
        self.load_state_dict(self._initial)
        fit = fit_network(
            self,
            {key: to_tensor(row) for key, row in rows.items()},
            torch.from_numpy(reached.astype(np.float32)),
            nn.functional.binary_cross_entropy_with_logits,
            chosen,
            rng=np.random.default_rng(self._seed),
            progress_bar=progress_bar,
            logger=logger,
            name="success",
        )
        return self._calibrate(fit, reached)

    def predict(self, observations: Mapping[str, Array]) -> npt.NDArray[np.float32]:
        """Return calibrated probabilities ``(n,)`` of reaching ``desired_goal``.

        Args:
            observations: Key → ``(n, …)`` rows; further keys are ignored.

        Raises:
            NotFitted: Before the first :meth:`fit`.
            InvalidData: If keys are missing or lengths differ.
        """
        rows = self._check(observations)
        if not self.is_fitted:
            raise NotFitted(
                "the success model has seen no attempts. Call fit(observations, reached) first, "
                "or load_state_dict() of a fitted one."
            )
        if not self.is_trained:
            n_rows = len(rows["desired_goal"])
            return np.full(n_rows, self.base_rate.item(), np.float32)
        logits = answer_in_batches(self, rows) * self.inverse_temperature.cpu()
        probs: npt.NDArray[np.float32] = logits.sigmoid().numpy()
        return probs

    def _calibrate(self, fit: Fit, reached: npt.NDArray[np.bool_]) -> SuccessReport:
        pair = torch.stack([torch.zeros_like(fit.logits), fit.logits], dim=1)[:, None]
        self.inverse_temperature.copy_(1.0 / fit_temperatures(pair, fit.targets[:, None])[0])
        self.base_rate.fill_(-1.0)
        before, after = (
            calibration_error(logits.sigmoid(), fit.targets)
            for logits in (fit.logits, fit.logits * self.inverse_temperature)
        )
        return SuccessReport(
            trained=True,
            n_examples=len(reached),
            n_held_out=len(fit.targets),
            success_rate=float(reached.mean()),
            epochs=fit.epochs,
            loss=fit.loss,
            error=float(((fit.logits > 0) != (fit.targets > 0)).float().mean()),
            calibration_error_before=before,
            calibration_error_after=after,
        )

    def _settle_for_base_rate(self, reached: npt.NDArray[np.bool_]) -> SuccessReport:
        n = len(reached)
        if n >= MIN_EXAMPLES or not self.is_trained:
            self.base_rate.fill_((int(reached.sum()) + 1) / (n + 2))
        nan = float("nan")
        return SuccessReport(False, n, 0, float(reached.mean()), 0, nan, nan, nan, nan)

    def _check(
        self, observations: Mapping[str, Array], reached: Array | None = None
    ) -> dict[str, Array]:
        """Return the rows that the model reads, channels first, all of one length."""
        missing = [key for key in self.observation_space.spaces if key not in observations]
        if missing:
            raise InvalidData(f"observations lack the keys {missing}; received {[*observations]}.")
        rows = {
            key: maybe_transpose(np.asarray(observations[key]), space)
            for key, space in self.observation_space.spaces.items()
        }
        lengths = {key: len(row) for key, row in rows.items()}
        if reached is not None:
            lengths["reached"] = len(reached)
        if len(set(lengths.values())) > 1 or (reached is not None and not len(reached)):
            raise InvalidData(f"every key needs one row per attempt; received {lengths} rows.")
        return rows


def _channels_first(space: spaces.Dict) -> spaces.Dict:
    """Return the space as SB3's networks see it: image channels before height and width."""
    if not isinstance(space, spaces.Dict) or "desired_goal" not in space.spaces:
        raise InvalidEnvironment(
            f"a success model needs the Dict space of an attribute environment; received {space}. "
            "Wrap the environment in AttributeWrapper."
        )
    return spaces.Dict({key: _image_first(part) for key, part in space.spaces.items()})


def _image_first(space: spaces.Space[Any]) -> spaces.Space[Any]:
    if not isinstance(space, spaces.Box) or not is_image_space(space):
        return space
    return (
        space if is_image_space_channels_first(space) else VecTransposeImage.transpose_space(space)
    )
