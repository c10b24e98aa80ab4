"""Supervised training: one loop with early stopping, and temperatures for calibration."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from rich.progress import track
from stable_baselines3.common.logger import Logger
from torch import nn

from gym_attrplan.error import InvalidData

Inputs = dict[str, torch.Tensor]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Score = Callable[[torch.Tensor, npt.NDArray[np.int64]], float]
Array = npt.NDArray[Any]

MIN_BATCHES = 32
"""Minimum number of batches per epoch, so that small data give enough updates."""

_EVALUATION_BATCH = 4096
_UNSIGNED = {2: np.int32, 4: np.int64, 8: np.int64}  # torch cannot index these unsigned types


@dataclass(frozen=True)
class FitSettings:
    """Settings of the training of a network.

    Args:
        holdout: Share of the examples kept out of training, for early stopping and calibration.
        max_epochs: Maximum number of passes over the data; the learning rate has one cycle over
            them.
        batch_size: Maximum number of examples per update; small data have :data:`MIN_BATCHES`.
        learning_rate: Maximum rate of the cycle.
        patience: Number of epochs without a better held-out loss before training stops.
        weight_decay: Weight decay of AdamW.

    Raises:
        InvalidData: If a setting is out of its range.
    """

    holdout: float = 0.1
    max_epochs: int = 40
    batch_size: int = 512
    learning_rate: float = 2e-3
    patience: int = 8
    weight_decay: float = 1e-2

    def __post_init__(self) -> None:
        if not 0.0 < self.holdout < 1.0:
            raise InvalidData(f"holdout is a share between 0 and 1; received {self.holdout}.")
        for name in ("max_epochs", "batch_size", "patience"):
            if getattr(self, name) < 1:
                raise InvalidData(f"{name} must be at least 1; received {getattr(self, name)}.")
        if not (
            isinstance(self.learning_rate, (int, float)) and 0.0 < self.learning_rate < math.inf
        ):
            raise InvalidData(
                f"learning_rate is a number above 0; received {self.learning_rate!r}."
            )


@dataclass(frozen=True)
class Fit:
    """Result of :func:`fit_network`: epochs run, and the best weights' results on held-out data.

    ``loss`` is the held-out loss, ``rows`` the numbers of the held-out examples, ``logits`` and
    ``targets`` the predictions and true answers for them.
    """

    epochs: int
    loss: float
    rows: npt.NDArray[np.int64]
    logits: torch.Tensor
    targets: torch.Tensor


def fit_network(
    network: nn.Module,
    inputs: Inputs,
    targets: torch.Tensor,
    loss: Loss,
    settings: FitSettings,
    *,
    rng: np.random.Generator,
    rows: npt.NDArray[np.int64] | None = None,
    score: Score | None = None,
    progress_bar: bool = False,
    logger: Logger | None = None,
    name: str = "model",
) -> Fit:
    """Train ``network(inputs) -> logits`` and keep the weights with the best held-out loss.

    It uses AdamW with a one-cycle rate and clipped gradients. On CUDA it uses bfloat16, and keeps
    all examples on the device if they fit.

    Args:
        network: Takes a dict of tensors; its parameters determine the device.
        inputs: Key → ``(n, …)`` tensors, or objects that can be indexed like them.
        targets: ``(n, …)``.
        loss: ``(logits, targets) -> mean loss``.
        settings: The hyper-parameters.
        rng: Generator of the held-out part and the order of the examples.
        rows: Numbers of the examples to use; all by default.
        score: ``(held-out logits, their rows) -> number``, lower is better, for early stopping; the
            held-out loss by default.
        progress_bar: Whether to show a progress bar over the epochs.
        logger: Receives ``<name>/loss`` and ``<name>/held_out_loss`` every epoch.
        name: Name of the bar and prefix of the logger's keys.

    Raises:
        InvalidData: If the loss is never finite.
    """
    rows = np.arange(len(targets)) if rows is None else rows
    training = _Training(network, inputs, targets, loss, settings, rng, rows)
    epochs = range(1, settings.max_epochs + 1)
    best_epoch, epoch = 0, 0
    for epoch in track(epochs, description=f"training {name}", disable=not progress_bar):
        train_loss = training.run_epoch()
        logits = training.held_out_logits()
        held_out_loss = float(loss(logits, training.held_out_targets))
        standing = held_out_loss if score is None else score(logits, training.held_out)
        if logger is not None:
            logger.record(f"{name}/loss", train_loss)
            logger.record(f"{name}/held_out_loss", held_out_loss)
            logger.dump(epoch)
        if standing < training.best:
            training.keep(standing, held_out_loss)
            best_epoch = epoch
        elif epoch - best_epoch >= settings.patience:
            break
    if not math.isfinite(training.best_loss):
        raise InvalidData(
            f"training {name} diverged: the held-out loss was never finite. Look for NaN and "
            f"infinity in the observations, or lower learning_rate={settings.learning_rate}."
        )
    training.restore()
    return Fit(
        epoch,
        training.best_loss,
        training.held_out,
        training.held_out_logits(),
        training.held_out_targets,
    )


class _Training:
    """The state of one :func:`fit_network`."""

    def __init__(
        self,
        network: nn.Module,
        inputs: Inputs,
        targets: torch.Tensor,
        loss: Loss,
        settings: FitSettings,
        rng: np.random.Generator,
        rows: npt.NDArray[np.int64],
    ) -> None:
        self._network, self._loss, self._rng = network, loss, rng
        self._device = next(network.parameters()).device
        self._inputs, self._targets = _resident(inputs, targets, self._device)
        order = rng.permutation(rows)
        n_held_out = min(max(1, round(settings.holdout * len(order))), len(order) - 1)
        self.held_out, self._train = order[:n_held_out], order[n_held_out:]
        self._batch_size = min(settings.batch_size, max(1, len(self._train) // MIN_BATCHES))
        # Batch norm cannot take a batch of one row, which a remainder of two rows might leave.
        self._batch_size = max(self._batch_size, min(16, len(self._train)))
        self._n_batches = max(1, len(self._train) // self._batch_size)
        rate = settings.learning_rate
        self._optimizer = torch.optim.AdamW(
            network.parameters(), lr=rate, weight_decay=settings.weight_decay
        )
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, max_lr=rate, total_steps=settings.max_epochs * self._n_batches
        )
        self.held_out_targets = self._batch(self.held_out)[1]
        self.best = self.best_loss = float("inf")
        self._weights = copy.deepcopy(network.state_dict())

    def run_epoch(self) -> float:
        """Make one pass over the training part and return its mean loss."""
        self._network.train()
        losses = []
        rows = self._rng.permutation(self._train)[: self._n_batches * self._batch_size]
        for batch in np.split(rows, self._n_batches):
            inputs, targets = self._batch(batch)
            with autocast(self._device):
                logits = self._network(inputs)
            loss = self._loss(logits.float(), targets)
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
            self._optimizer.step()
            self._schedule.step()
            losses.append(loss.detach())
        return float(torch.stack(losses).mean())

    def held_out_logits(self) -> torch.Tensor:
        n_batches = -(-len(self.held_out) // _EVALUATION_BATCH)
        batches = (self._batch(rows)[0] for rows in np.array_split(self.held_out, n_batches))
        return torch.cat([compute_logits(self._network, batch) for batch in batches])

    def keep(self, standing: float, loss: float) -> None:
        self.best, self.best_loss = standing, loss
        self._weights = copy.deepcopy(self._network.state_dict())

    def restore(self) -> None:
        self._network.load_state_dict(self._weights)

    def _batch(self, rows: npt.NDArray[np.int64]) -> tuple[Inputs, torch.Tensor]:
        index = torch.from_numpy(rows).to(self._targets.device)
        inputs = {key: value[index].to(self._device) for key, value in self._inputs.items()}
        return inputs, self._targets[index].to(self._device)


def compute_logits(network: nn.Module, inputs: Inputs) -> torch.Tensor:
    """Return the network's outputs in float32, without gradients, in evaluation mode."""
    if network.training:  # eval() on every call costs as much as a small network's forward pass
        network.eval()
    device = next(network.parameters()).device
    with torch.no_grad(), autocast(device):
        logits: torch.Tensor = network(inputs)
    return logits.float()


def answer_in_batches(network: nn.Module, rows: Mapping[str, Array]) -> torch.Tensor:
    """Return :func:`compute_logits` of arrays of any length ``(n, …)``, on the CPU."""
    device = next(network.parameters()).device
    n_rows = len(next(iter(rows.values())))
    answers = [
        compute_logits(
            network,
            {key: to_tensor(x[i : i + _EVALUATION_BATCH]).to(device) for key, x in rows.items()},
        )
        for i in range(0, max(n_rows, 1), _EVALUATION_BATCH)
    ]
    return torch.cat(answers).cpu()


def to_tensor(array: Array) -> torch.Tensor:
    """Convert an array to a tensor of a type that torch can index."""
    array = np.asarray(array)
    if array.dtype.kind == "u" and array.dtype.itemsize in _UNSIGNED:
        array = array.astype(_UNSIGNED[array.dtype.itemsize])
    return torch.from_numpy(np.require(array, requirements=("C", "W")))


def fit_temperatures(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return temperatures ``(k,)`` that calibrate logits ``(n, k, size)`` when they divide them.

    The likelihood is smoothed as in Platt scaling: as if each column had one more wrong answer,
    with weight ``1 / (n + 2)``, so that n right answers out of n do not count as proof.

    Args:
        logits: Of k questions; ``-inf`` marks answers that a question does not have.
        targets: ``(n, k)`` the true answers.
    """
    logits = logits.double()
    real = logits.isfinite()
    logits = logits.masked_fill(~real, -1e9)
    doubt = 1.0 / (len(logits) + 2)
    right = logits.gather(2, targets.long()[..., None]).squeeze(2)
    mean = logits.masked_fill(~real, 0.0).sum(2) / real.sum(2)
    wanted = ((1.0 - doubt) * right + doubt * mean).mean(0)
    # The loss is convex in the inverse temperature: bisect for the root of its derivative.
    low, high = torch.full_like(wanted, -5.0), torch.full_like(wanted, 5.0)
    for _ in range(50):
        middle = (low + high) / 2
        probs = torch.softmax(logits * middle.exp()[:, None], dim=2)
        too_sharp = (probs * logits).sum(2).mean(0) > wanted
        low, high = torch.where(too_sharp, low, middle), torch.where(too_sharp, middle, high)
    return (-(low + high) / 2).exp().float()


def calibration_error(
    confidence: torch.Tensor, correct: torch.Tensor, *, n_bins: int = 15
) -> float:
    """Return the expected calibration error: confidence against accuracy, in equal bins.

    Example:
        >>> calibration_error(torch.tensor([0.8, 0.8, 0.6, 0.6]), torch.tensor([1, 1, 1, 0]))
        0.15...
    """
    confidence, correct = confidence.flatten().double(), correct.flatten().double()
    bins = (confidence * n_bins).long().clamp(max=n_bins - 1)
    gaps = torch.zeros(n_bins, dtype=torch.double, device=bins.device)
    gaps.index_add_(0, bins, confidence - correct)
    return float(gaps.abs().sum() / max(len(confidence), 1))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch inside the context, and restore its generator afterwards."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def autocast(device: torch.device) -> torch.autocast:
    """Return a context with mixed precision on a GPU."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def _resident(
    inputs: Inputs, targets: torch.Tensor, device: torch.device
) -> tuple[Inputs, torch.Tensor]:
    """Move all examples to the GPU if they take less than half of its free memory."""
    if device.type != "cuda":
        return inputs, targets
    n_bytes = sum(value.nbytes for value in inputs.values())
    if n_bytes > torch.cuda.mem_get_info(device)[0] // 2:
        return inputs, targets
    return {key: value.to(device) for key, value in inputs.items()}, targets.to(device)
