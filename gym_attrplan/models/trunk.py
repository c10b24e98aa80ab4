"""Trunk: one network shared by all models, so that each frame is encoded once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import get_device
from torch import nn
from torch.nn import functional

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import Sizes
from gym_attrplan.attributes.space_json import space_from_json, space_to_json
from gym_attrplan.error import NotFitted
from gym_attrplan.models.actions import ActionDistribution, ActionLayout
from gym_attrplan.models.answers import AttributeLogits
from gym_attrplan.models.archive import (
    json_to_bytes,
    read_archive,
    reading,
    tensors_from_bytes,
    tensors_to_bytes,
    write_archive,
)
from gym_attrplan.models.encoders import ObservationEncoder
from gym_attrplan.models.examples import Examples
from gym_attrplan.models.fitting import (
    Array,
    FitSettings,
    Inputs,
    answer_in_batches,
    fit_network,
    seeded,
)
from gym_attrplan.models.forward import ACTION, ForwardHead
from gym_attrplan.models.inverse import InverseHead
from gym_attrplan.models.restoring import check_weights, no_larger_than, typed
from gym_attrplan.wrappers.observation import FlatObservation

NEXT = "next_"
_KIND = "Trunk"


@dataclass(frozen=True)
class TrunkReport:
    """Training report of a trunk, with the errors of its own heads on held-out examples.

    ``attribute_error`` and ``forward_error`` are the shares of examples with any wrong attribute,
    of the current and of the next description.
    """

    n_examples: int
    epochs: int
    loss: float
    attribute_error: float
    forward_error: float


class Trunk(nn.Module):
    """Encoder of observations whose features contain the attributes and the effects of actions.

    It learns three things at once from labelled examples: to predict the attributes, to predict
    them after an action, and to predict the action that changed them. Its features then replace the
    observation: wrap an environment in ``gymnasium.wrappers.TransformObservation``
    (or its vector form) with :meth:`encode`. Detector, policy, success and forward model are then
    small networks on top, trained without reading a frame again.

    Args:
        observation_space: Of one environment, without goals.
        action_space: ``Discrete`` or a bounded ``Box``.
        attribute_space: The attributes, or the arguments of an :class:`AttributeSpace`.
        action_choices: Number of choice scores at the front of a ``Box`` action.
        n_features: Number of features.
        max_shift: Maximum number of pixels by which images are shifted in training.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: Seed of the initial weights, the held-out part and the order of examples.

    Raises:
        InvalidEnvironment: If a space cannot be read or saved.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        attribute_space: Sizes,
        *,
        action_choices: int = 0,
        n_features: int = 256,
        max_shift: int = 2,
        device: torch.device | str = "auto",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.attribute_space = AttributeSpace(attribute_space)
        self.layout = ActionLayout.of(action_space, n_choices=action_choices)
        self.report: TrunkReport | None = None
        self._inner = observation_space, action_space
        for space in self._inner:
            space_to_json(space)  # raises now if it cannot be saved
        self._options = {
            "action_choices": action_choices,
            "n_features": n_features,
            "max_shift": max_shift,
            "seed": seed,
        }
        self._flat = FlatObservation(observation_space)
        self.answers = AttributeLogits(self.attribute_space.sizes)
        with seeded(seed):
            self.encoder = ObservationEncoder(self._flat.spaces, n_features)
            self.to_features = nn.Sequential(
                nn.Linear(self.encoder.n_features, n_features), nn.LayerNorm(n_features), nn.ELU()
            )
            self.reader = nn.Linear(n_features, self.answers.n_logits)
            self.inverse = InverseHead(n_features, self.attribute_space, self.layout)
            self.foresight = ForwardHead(n_features, self.attribute_space, self.layout)
        self.to(get_device(device))

    @property
    def observation_space(self) -> spaces.Box:
        """The space of the features that :meth:`encode` returns."""
        return spaces.Box(-np.inf, np.inf, (int(self._options["n_features"]),), np.float32)

    # --- training ---------------------------------------------------------------------------

    def fit(
        self,
        examples: Examples,
        *,
        progress_bar: bool = False,
        logger: Logger | None = None,
        **settings: Any,
    ) -> TrunkReport:
        """Train on labelled examples; call it once.

        Args:
            examples: The effects of actions; ``next_observations`` are labelled states too.
            progress_bar: Whether to show a progress bar over the epochs.
            logger: Receives ``trunk/loss`` and ``trunk/held_out_loss`` every epoch.
            settings: Fields of :class:`FitSettings`.

        Raises:
            InvalidData: If there are too few examples, or lengths differ.
        """
        examples.checked(self.attribute_space, self.layout)
        inputs = examples.inputs()
        self.encoder.learn_scale(inputs)
        inputs |= {f"{NEXT}{key}": rows for key, rows in examples.next_inputs().items()}
        inputs[ACTION] = torch.from_numpy(self.layout.to_model(examples.actions))
        vectors = [inputs[key].float() for key in ("achieved_goal", "desired_goal")]
        fit = fit_network(
            _MultiTaskNetwork(self),
            inputs,
            torch.cat([*vectors, inputs[ACTION]], dim=1),
            self._loss,
            FitSettings(**settings),
            rng=np.random.default_rng(int(self._options["seed"])),
            progress_bar=progress_bar,
            logger=logger,
            name="trunk",
        )
        (now, foreseen, *_), (before, after, _) = self._split(fit.logits, fit.targets)
        errors = [
            1.0 - float((self.answers(logits).argmax(2) == truth).all(1).double().mean())
            for logits, truth in ((now, before), (foreseen, after))
        ]
        self.report = TrunkReport(len(examples), fit.epochs, fit.loss, *errors)
        return self.report

    def _loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        (now, foreseen, action, then), (before, after, actions) = self._split(outputs, targets)
        total = self.answers.loss(now, before) + self.answers.loss(foreseen, after)
        if then.shape[1]:
            total = total + self.answers.loss(then, after)
        log_probs = ActionDistribution(action, self.layout).log_prob(actions)
        moved = (before != after).any(dim=1)  # without a change no action is the right one
        return total - (log_probs * moved).sum() / moved.sum().clamp(min=1)

    def _split(
        self, outputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Split the outputs of :class:`_MultiTaskNetwork`, and the true values."""
        n, k = self.answers.n_logits, len(self.attribute_space)
        widths = [n, n, self.layout.n_outputs, outputs.shape[1] - 2 * n - self.layout.n_outputs]
        parts = list(torch.split(outputs, widths, dim=1))
        return parts, [targets[:, :k], targets[:, k : 2 * k], targets[:, 2 * k :]]

    def shifted(self, image: torch.Tensor) -> torch.Tensor:
        """Shift images ``(n, height, width, channels)`` a little, all alike; ignore others."""
        pixels = int(self._options["max_shift"])
        if not pixels or image.ndim != 4 or image.shape[3] > 4:
            return image
        down, right = torch.randint(0, 2 * pixels + 1, (2,)).tolist()
        height, width = image.shape[1:3]
        padded = functional.pad(image.movedim(3, 1).float(), (pixels,) * 4, mode="replicate")
        return padded[:, :, down : down + height, right : right + width].movedim(1, 3)

    # --- answers ----------------------------------------------------------------------------

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """``{key: (n, …)}`` → features ``(n, n_features)``."""
        features: torch.Tensor = self.to_features(self.encoder(inputs))
        return features

    def encode(self, observations: Any) -> npt.NDArray[np.float32]:
        """Return features of one observation, or of a batch from a vector environment.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        if self.report is None:
            raise NotFitted("the trunk has learned nothing yet. Call fit(examples) first.")
        path = self._flat.parts[0].path
        first: Any = observations
        space: Any = self._inner[0]
        for step in path:
            first, space = first[step], space[step]
        single = np.ndim(first) == len(space.shape or ())
        rows: Mapping[str, Array] = self._flat.convert(observations, batch_axes=int(not single))
        rows = {key: row[None] for key, row in rows.items()} if single else rows
        features: npt.NDArray[np.float32] = answer_in_batches(self, rows).numpy()
        return features[0] if single else features

    # --- files ------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Save the trunk to one zip of JSON and safetensors; a crash leaves the old file intact.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        if self.report is None:
            raise NotFitted("there is nothing to save yet. Call fit(examples).")
        about = {
            "observation_space": space_to_json(self._inner[0]),
            "action_space": space_to_json(self._inner[1]),
            "attribute_space": self.attribute_space.table,
            "options": self._options,
            "report": asdict(self.report),
        }
        entries = {
            "trunk.json": json_to_bytes(about),
            "weights.safetensors": tensors_to_bytes(self.state_dict()),
        }
        write_archive(Path(path), _KIND, entries)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: torch.device | str = "auto",
        max_bytes: int | None = None,
    ) -> Trunk:
        """Load the trunk that :meth:`save` wrote.

        Args:
            path: The zip.
            device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
            max_bytes: Maximum number of unpacked bytes; by default 4 GiB, and less for a file that
                unpacks to more than a hundred times its size.

        Raises:
            InvalidArchive: If the file is not a trunk, damaged, or of a newer version.
            FileNotFoundError: If there is no file.
        """
        path = Path(path)
        entries = read_archive(path, _KIND, max_bytes=max_bytes)
        with reading(path, _KIND):
            about = json.loads(entries["trunk.json"])
            weights = tensors_from_bytes(entries["weights.safetensors"])
            with no_larger_than(weights):
                trunk = cls(
                    space_from_json(about["observation_space"]),
                    space_from_json(about["action_space"]),
                    about["attribute_space"],
                    device="cpu",
                    **about["options"],
                )
            check_weights(trunk.state_dict(), weights)
            trunk.load_state_dict(weights)
            trunk.report = typed(TrunkReport, about["report"])
        return trunk.to(get_device(device))


class _MultiTaskNetwork(nn.Module):
    """A trunk with all its heads, for training: a batch of examples → the outputs of all heads."""

    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk

    def forward(self, inputs: Inputs) -> torch.Tensor:
        trunk, keys = self.trunk, list(self.trunk.encoder.encoders)
        features = trunk(self._seen(inputs, keys, ""))
        answers = [
            trunk.reader(features),
            trunk.foresight(features, inputs["achieved_goal"], inputs[ACTION]),
            trunk.inverse(features, inputs),
        ]
        if f"{NEXT}{keys[0]}" in inputs:
            answers.append(trunk.reader(trunk(self._seen(inputs, keys, NEXT))))
        return torch.cat(answers, dim=1)

    def _seen(self, inputs: Inputs, keys: list[str], prefix: str) -> Inputs:
        shift = self.trunk.shifted if self.training else (lambda image: image)
        return {key: shift(inputs[f"{prefix}{key}"]) for key in keys}
