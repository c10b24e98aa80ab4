"""AttributeDetector: predicts attributes from observations, trained on labelled ones."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import get_device

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import IntArray, Sizes
from gym_attrplan.attributes.space_json import space_from_json, space_to_json
from gym_attrplan.error import InvalidData, NotFitted
from gym_attrplan.models.answers import AttributeLogits
from gym_attrplan.models.archive import (
    json_to_bytes,
    read_archive,
    reading,
    tensors_from_bytes,
    tensors_to_bytes,
    write_archive,
)
from gym_attrplan.models.encoders import ObservationNetwork
from gym_attrplan.models.fitting import (
    Array,
    Fit,
    FitSettings,
    answer_in_batches,
    calibration_error,
    fit_network,
    fit_temperatures,
    seeded,
    to_tensor,
)
from gym_attrplan.models.restoring import check_weights, no_larger_than, typed
from gym_attrplan.wrappers.observation import FlatObservation

MIN_LABELS = 20
MAX_TEXT = 4096
_KIND = "AttributeDetector"


@dataclass(frozen=True)
class DetectorReport:
    """Training report of a detector, with its errors on held-out labels.

    ``errors`` is the share of wrong values of each attribute, ``full_set_error`` the share of
    states with any wrong value. The calibration errors (over all attributes) are measured before
    and after the temperatures were fitted to the same held-out labels.
    """

    n_labels: int
    n_held_out: int
    epochs: int
    loss: float
    errors: dict[str, float]
    full_set_error: float
    calibration_error_before: float
    calibration_error_after: float


class AttributeDetector:
    """f̂(s) → ρ: a network that predicts the attributes from an observation, trained on labels.

    A fitted detector *is* an attribute function: use it as ``AttributeWrapper(env,
    detector.attribute_space, detector)``, or with the vector wrapper. The reward then depends on
    the detector's predictions.

    Every part of the observation gets a suitable network. Bags of words (integers above 255) use a
    table whose rows are summed. Smaller integers use a table for each position. Images use
    convolutions, and other numbers are standardised. Each attribute has its own softmax.

    Args:
        observation_space: Observation space of one environment to be wrapped.
        attribute_space: The attributes, or the arguments of an :class:`AttributeSpace`.
        net_arch: Sizes of the hidden layers.
        text: Number of bytes of text observations to read, up to 4096; None drops them.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: Seed of the initial weights, the held-out part and the order of labels; with the same
            seed and data a CPU gives the same detector.

    Raises:
        InvalidEnvironment: If an observation part has no fixed shape, or cannot be saved.
        InvalidData: If ``text`` is out of range.

    Example:
        >>> detector = AttributeDetector(spaces.Box(-1, 1, (2,)), ["right", "up"], device="cpu")
        >>> points = np.random.default_rng(0).uniform(-1, 1, (500, 2)).astype(np.float32)
        >>> report = detector.fit(points, (points > 0).astype(int), max_epochs=20)
        >>> detector.predict(np.array([[0.5, -0.5], [-0.5, 0.9]], np.float32)).tolist()
        [[1, 0], [0, 1]]
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        attribute_space: Sizes,
        *,
        net_arch: Sequence[int] = (256, 256),
        text: int | None = None,
        device: torch.device | str = "auto",
        seed: int = 0,
    ) -> None:
        if text is not None and not 1 <= text <= MAX_TEXT:
            raise InvalidData(f"text is from 1 to {MAX_TEXT} bytes, or None; received {text!r}.")
        self.observation_space = _plain_text(observation_space)
        space_to_json(self.observation_space)  # raises now if it cannot be saved
        self.attribute_space = AttributeSpace(attribute_space)
        self.report: DetectorReport | None = None
        self._options = {"net_arch": list(net_arch), "text": text, "seed": seed}
        self._flat = FlatObservation(self.observation_space, text=text)
        sizes = self.attribute_space.sizes.astype(np.int64)
        self._layout = AttributeLogits(sizes)
        with seeded(seed):
            self._network = ObservationNetwork(self._flat.spaces, self._layout.n_logits, net_arch)
        self._initial = copy.deepcopy(self._network.state_dict())
        self._network.to(get_device(device))
        self._layout.to(get_device(device))
        self._temperatures = torch.ones(len(sizes))

    @property
    def is_fitted(self) -> bool:
        """Whether the detector has been trained."""
        return self.report is not None

    # --- training ---------------------------------------------------------------------------

    def fit(
        self,
        observations: Any,
        attributes: npt.ArrayLike,
        *,
        progress_bar: bool = False,
        logger: Logger | None = None,
        **settings: Any,
    ) -> DetectorReport:
        """Train on labelled observations. Each call starts from the initial weights.

        Args:
            observations: A batch as from a vector environment, or a list of observations.
            attributes: ``(n, n_attributes)`` their attributes.
            progress_bar: Whether to show a progress bar over the epochs.
            logger: Receives ``detector/loss`` and ``detector/held_out_loss`` every epoch.
            settings: Fields of :class:`FitSettings`; some have different defaults here.

        Raises:
            InvalidAttributes: If a label is not a vector of the attribute space.
            InvalidData: If there are fewer than 20 labels, or not one for each observation.
        """
        chosen = FitSettings(**{"patience": 10, **settings})
        rows = self._rows(observations)
        n_rows = len(next(iter(rows.values())))
        labels = self.attribute_space.check(attributes, source="a label", leading=(n_rows,))
        if n_rows < MIN_LABELS:
            raise InvalidData(
                f"a detector needs at least {MIN_LABELS} labels; received {n_rows}. "
                "Label more states, or write the attribute function by hand."
            )
        inputs = {key: to_tensor(row) for key, row in rows.items()}
        self.report = None
        self._network.load_state_dict(self._initial)
        self._network.encoder.learn_scale(inputs)
        fit = fit_network(
            self._network,
            inputs,
            torch.from_numpy(labels.astype(np.int64)),
            self._layout.loss,
            chosen,
            rng=np.random.default_rng(self._options["seed"]),
            progress_bar=progress_bar,
            logger=logger,
            name="detector",
        )
        self.report = self._calibrate(fit, n_rows)
        return self.report

    def _calibrate(self, fit: Fit, n_labels: int) -> DetectorReport:
        blocks, targets = self._layout(fit.logits).cpu(), fit.targets.cpu()
        self._temperatures = fit_temperatures(blocks, targets)
        correct = blocks.argmax(2) == targets
        before, after = (
            calibration_error(scaled.softmax(2).amax(2), correct)
            for scaled in (blocks, blocks / self._temperatures[:, None])
        )
        wrong = 1.0 - correct.double().mean(0)
        return DetectorReport(
            n_labels=n_labels,
            n_held_out=len(targets),
            epochs=fit.epochs,
            loss=fit.loss,
            errors=dict(zip(self.attribute_space.names, wrong.tolist(), strict=True)),
            full_set_error=1.0 - float(correct.all(1).double().mean()),
            calibration_error_before=before,
            calibration_error_after=after,
        )

    # --- answers ----------------------------------------------------------------------------

    def predict(self, observations: Any) -> IntArray:
        """Return the most probable value of each attribute, ``(n, n_attributes)``.

        Args:
            observations: A batch as from a vector environment, or a list of observations.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        vectors: IntArray = self._answer(observations).argmax(2).numpy()
        return vectors.astype(self.attribute_space.dtype)

    def predict_probs(self, observations: Any) -> dict[str, npt.NDArray[np.float32]]:
        """Return calibrated probabilities: attribute name → ``(n, size)``.

        Args:
            observations: A batch as from a vector environment, or a list of observations.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        probs = (self._answer(observations) / self._temperatures[:, None]).softmax(2).numpy()
        sizes = zip(self.attribute_space.names, self.attribute_space.sizes.tolist(), strict=True)
        return {name: probs[:, i, :size] for i, (name, size) in enumerate(sizes)}

    def __call__(self, env: Any, observation: Any, /) -> IntArray:
        """Return the attributes of one observation, or of a batch from a vector environment."""
        if self._is_batch(observation):
            return self.predict(observation)
        vector: IntArray = self.predict([observation])[0]
        return vector

    def _answer(self, observations: Any) -> torch.Tensor:
        if not self.is_fitted:
            raise NotFitted(
                "the detector has learned nothing yet. Call fit(observations, attributes) first, "
                "or AttributeDetector.load(path)."
            )
        logits = answer_in_batches(self._network, self._rows(observations))
        blocks: torch.Tensor = self._layout(logits)
        return blocks

    def _rows(self, observations: Any) -> dict[str, Array]:
        if isinstance(observations, list):
            rows = [self._flat.convert(observation) for observation in observations]
            return {key: np.stack([row[key] for row in rows]) for key in self._flat.spaces}
        return self._flat.convert(observations, batch_axes=1)

    def _is_batch(self, observation: Any) -> bool:
        """Return whether there is an axis before those of the space; one part suffices to tell."""
        path = self._flat.parts[0].path
        space: Any = self.observation_space
        for step in path:
            observation, space = observation[step], space[step]
        return np.ndim(observation) > len(space.shape or ())

    # --- files ------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Save the detector to one zip of JSON and safetensors; a crash leaves the old file intact.

        Raises:
            NotFitted: Before :meth:`fit`.
        """
        if self.report is None:
            raise NotFitted("there is nothing to save yet. Call fit(observations, attributes).")
        about = {
            "observation_space": space_to_json(self.observation_space),
            "attribute_space": self.attribute_space.table,
            "options": self._options,
            "report": dataclasses.asdict(self.report),
        }
        weights = {**self._network.state_dict(), "temperatures": self._temperatures}
        entries = {
            "detector.json": json_to_bytes(about),
            "weights.safetensors": tensors_to_bytes(weights),
        }
        write_archive(Path(path), _KIND, entries)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: torch.device | str = "auto",
        max_bytes: int | None = None,
    ) -> AttributeDetector:
        """Load the detector that :meth:`save` wrote.

        Args:
            path: The zip.
            device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
            max_bytes: Maximum number of unpacked bytes; by default 4 GiB, and less for a file that
                unpacks to more than a hundred times its size.

        Raises:
            InvalidArchive: If the file is not a detector, damaged, or of a newer version.
            FileNotFoundError: If there is no file.
        """
        path = Path(path)
        entries = read_archive(path, _KIND, max_bytes=max_bytes)
        with reading(path, _KIND):
            about = json.loads(entries["detector.json"])
            space, options = space_from_json(about["observation_space"]), about["options"]
            weights = tensors_from_bytes(entries["weights.safetensors"])
            with no_larger_than(weights):
                detector = cls(space, about["attribute_space"], device="cpu", **options)
            network = detector._network.state_dict()
            check_weights({**network, "temperatures": detector._temperatures}, weights)
            detector._temperatures = weights.pop("temperatures")
            detector._network.load_state_dict(weights)
            detector.report = typed(DetectorReport, about["report"])
        detector._network.to(get_device(device))
        detector._layout.to(get_device(device))
        return detector


def _plain_text(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Replace all text spaces, such as MiniGrid's missions, by Gymnasium's ``Text``."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict([(key, _plain_text(part)) for key, part in space.spaces.items()])
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([_plain_text(part) for part in space.spaces])
    if space.dtype == str and type(space) is not spaces.Text:
        return spaces.Text(4096, min_length=0)
    return space
