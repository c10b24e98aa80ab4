"""AgentOptions: everything an agent can be told, checked before any work and saved as data."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import dataclass, field, fields
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import BaseBuffer
from stable_baselines3.common.policies import BasePolicy
from torch import nn, optim

from gym_attrplan.agent.explore import EXPLORATIONS
from gym_attrplan.agent.low_level import find_algorithm
from gym_attrplan.error import InvalidArchive, InvalidOption, did_you_mean

_DEFAULTS = {"exploration": "bonus", "exploration_fraction": 0.2, "max_hop_steps": 80}
_INVERSE_DEFAULTS = {"exploration": "random", "exploration_fraction": 0.5, "max_hop_steps": 1}

_SAVED_CLASSES = (BaseAlgorithm, BaseBuffer, nn.Module, optim.Optimizer)
"""Classes that options may name; an archive can load no others."""


@dataclass(frozen=True)
class AgentOptions:
    """What there is to choose about an agent.

    Attributes:
        policy: The SB3 policy, by name or class; ``"UnitPolicy"`` for environments of units.
        low_level: The SB3 algorithm that hops, or ``"inverse"``.
        exploration: A name in :data:`EXPLORATIONS`; by default ``"bonus"``, for an inverse model
            ``"random"``.
        n_envs: Worlds made of an id that has a batched twin.
        exploration_fraction: Share of all steps that explores; by default 0.2, for an inverse
            model, which learns from exploring, 0.5.
        max_hop_steps: The longest hop, in training and when following a plan; by default 80, for
            an inverse model always 1.
        step_penalty: Taken off the reward of every step of a hop.
        bonus_scale: Factor on the exploration bonus.
        practice: Which hops π learns from: to neighbours drawn by their ``visits``, as in the
            paper, or by ``need``, mostly those that fail as often as they work.
        decay: γ of c_π: what older attempts at an edge keep when an epoch begins.
        epoch_steps: Steps between two epochs.
        anneal: Whether the hop policy's learning rate falls to a tenth while it learns.
        low_level_kwargs: For the algorithm that hops; for an inverse model ``n_features``,
            ``inverse_arch``, ``forward_arch`` and the fields of ``FitSettings``.
        exploration_kwargs: For the PPO that explores.
        seed: Of networks, actions, neighbours and worlds.
        device: As in SB3.
        verbose: 1 prints what each phase found, and the log.
        tensorboard_log: Folder of TensorBoard runs.
    """

    policy: str | type[BasePolicy] = "MultiInputPolicy"
    low_level: str | type[BaseAlgorithm] = "ppo"
    exploration: str = "bonus"
    n_envs: int = 512
    exploration_fraction: float = 0.2
    max_hop_steps: int = 80
    step_penalty: float = 0.02
    bonus_scale: float = 0.1
    practice: str = "visits"
    decay: float = 0.9
    epoch_steps: int = 16_384
    anneal: bool = True
    low_level_kwargs: dict[str, Any] = field(default_factory=dict)
    exploration_kwargs: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    device: str = "auto"
    verbose: int = 0
    tensorboard_log: str | None = None

    @classmethod
    def checked(cls, **given: Any) -> AgentOptions:
        """Options held to their rules.

        Raises:
            InvalidOption: If one is unknown, out of range, or cannot be saved as data.
        """
        names = [one.name for one in fields(cls)]
        for name in given:
            if name not in names:
                raise InvalidOption(f"no option named {name!r}. {did_you_mean(name, names)}")
        for name in ("low_level_kwargs", "exploration_kwargs"):
            given[name] = dict(given.get(name) or {})
        inverse = given.get("low_level") == "inverse"
        for name, default in (_INVERSE_DEFAULTS if inverse else _DEFAULTS).items():
            if given.get(name) is None:
                given[name] = default
        options = cls(**given)
        options._check_ranges()
        find_algorithm(options.low_level)
        options.to_json()
        return options

    @property
    def is_inverse(self) -> bool:
        """Whether one action is a hop and π is learned by supervision."""
        return self.low_level == "inverse"

    def _check_ranges(self) -> None:
        if self.exploration == "surprise" and not self.is_inverse:
            raise InvalidOption(
                'exploration="surprise" needs a forward model, which low_level="inverse" has; '
                f"received low_level={self.low_level!r}."
            )
        if self.is_inverse and self.max_hop_steps != 1:
            raise InvalidOption(
                'with low_level="inverse" a hop is one action, max_hop_steps=1; '
                f"received {self.max_hop_steps}."
            )
        for name, names in (("exploration", EXPLORATIONS), ("practice", ("visits", "need"))):
            if (value := getattr(self, name)) not in names:
                raise InvalidOption(f"{name} is one of {list(names)}; received {value!r}.")
        for name, low, high in (
            ("n_envs", 1, math.inf),
            ("exploration_fraction", 0, 1),
            ("max_hop_steps", 1, math.inf),
            ("step_penalty", 0, math.inf),
            ("decay", 0, 1),
            ("epoch_steps", 1, math.inf),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidOption(f"{name} is from {low} to {high}; received {value!r}.")
        if not 0 < self.bonus_scale < math.inf:
            raise InvalidOption(f"bonus_scale is above 0; received {self.bonus_scale!r}.")

    def to_json(self) -> dict[str, Any]:
        """The options as plain data.

        Raises:
            InvalidOption: If a value is code: a schedule, a noise object, a function.
        """
        return {one.name: _plain(getattr(self, one.name), one.name) for one in fields(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AgentOptions:
        """The options that :meth:`to_json` wrote."""
        return cls(**{name: _restored(value) for name, value in data.items()})


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, type) and issubclass(value, _SAVED_CLASSES):
        return {"class": f"{value.__module__}:{value.__qualname__}"}
    if isinstance(value, dict):
        return {key: _plain(one, f"{name}[{key!r}]") for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, name) for one in value]
    try:
        json.dumps(value)
    except TypeError:
        raise InvalidOption(
            f"{name} is saved with the agent as data and may not be code; received {value!r}. "
            "Give a number or a name; let a callback change it while training if it must change."
        ) from None
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"class"}:
        module, _, name = str(value["class"]).partition(":")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InvalidArchive(
                f"the agent was saved with {value['class']}, which is not here: {error}. "
                "Install or import what defines it."
            ) from error
        if not (isinstance(found, type) and issubclass(found, _SAVED_CLASSES)):
            raise InvalidArchive(f"{value['class']} is no class that an agent may be made of.")
        return found
    if isinstance(value, dict):
        return {key: _restored(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_restored(one) for one in value]
    return value
