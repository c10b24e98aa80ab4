"""AgentOptions: everything an agent can be told, checked before any work and saved as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy

from gym_attrplan.agent.explore import EXPLORATIONS
from gym_attrplan.agent.low_level import find_algorithm
from gym_attrplan.agent.plain import from_plain, to_plain
from gym_attrplan.error import InvalidOption, did_you_mean
from gym_attrplan.models.restoring import is_a

_DEFAULTS = {"exploration": "bonus", "exploration_fraction": 0.2, "max_hop_steps": 80}
_INVERSE_DEFAULTS = {"exploration": "random", "exploration_fraction": 0.5, "max_hop_steps": 1}

MAX_ENVS = 2**20
"""Environments at most, in one process."""

MAX_SEED = 2**32 - 1
"""What NumPy's global generator, which SB3 seeds, can take."""


@dataclass(frozen=True)
class AgentOptions:
    """What there is to choose about an agent.

    Attributes:
        policy: The SB3 policy, by name or class; ``"UnitPolicy"`` for environments of units.
        low_level: The SB3 algorithm that hops, or ``"inverse"``.
        exploration: A name in :data:`EXPLORATIONS`; by default ``"bonus"``, for an inverse model
            ``"random"``.
        n_envs: Environments made of an id; by default 512 if it has a batched twin, else 16.
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
    n_envs: int | None = None
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
        find_algorithm(options.low_level)
        options._check_types()
        options._check_ranges()
        options.to_json()
        return options

    @property
    def is_inverse(self) -> bool:
        """Whether one action is a hop and π is learned by supervision."""
        return self.low_level == "inverse"

    def _check_types(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            if not is_a(value := getattr(self, name), hint):
                known = getattr(hint, "__name__", str(hint))
                raise InvalidOption(f"{name} is of type {known}; received {value!r:.200}.")

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
            ("n_envs", 1, MAX_ENVS),
            ("exploration_fraction", 0, 1),
            ("max_hop_steps", 1, math.inf),
            ("step_penalty", 0, math.inf),
            ("decay", 0, 1),
            ("epoch_steps", 1, math.inf),
            ("seed", 0, MAX_SEED),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise InvalidOption(f"{name} is from {low} to {high}; received {value!r}.")
        if not 0 < self.bonus_scale < math.inf:
            raise InvalidOption(f"bonus_scale is above 0; received {self.bonus_scale!r}.")

    def to_json(self) -> dict[str, Any]:
        """The options as plain data.

        Raises:
            InvalidOption: If a value is code: a schedule, a noise object, a function.
        """
        return {one.name: to_plain(getattr(self, one.name), one.name) for one in fields(self)}

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], custom_objects: Mapping[str, type[Any]] | None = None
    ) -> AgentOptions:
        """The options that :meth:`to_json` wrote, held to their rules.

        Args:
            data: What it wrote.
            custom_objects: ``"module:Name"`` → a class to take for it.

        Raises:
            InvalidArchive: If they name a class that is not imported, or that no agent is made of.
            InvalidOption: If one is unknown or out of range.
        """
        return cls.checked(
            **{name: from_plain(one, custom_objects or {}) for name, one in data.items()}
        )
