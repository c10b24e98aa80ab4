"""AgentOptions: all options of an agent, checked at construction and saved as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_type_hints

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy

from gym_attrplan.agent.explore import EXPLORATIONS
from gym_attrplan.agent.learners import find_algorithm, is_masked, is_recurrent, named
from gym_attrplan.agent.plain import from_plain, to_plain
from gym_attrplan.error import InvalidOption, did_you_mean
from gym_attrplan.models.questions import Question
from gym_attrplan.models.restoring import is_a, typed

HOPS = ("changes", "neighbours")
"""Goals of hops: a change, with other attributes free, or a whole neighbouring description."""

_PAPER = {"step_penalty": 0.02, "bonus_scale": 0.1, "practice": "visits", "epoch_steps": 16_384}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "changes": {
        "exploration": "count_bonus",
        "exploration_fraction": 0.25,
        "max_hop_steps": None,
        "step_penalty": 0.0,
        "bonus_scale": 0.3,
        "practice": "need",
        "epoch_steps": 8_192,
    },
    "neighbours": {
        "exploration": "bonus",
        "exploration_fraction": 0.2,
        "max_hop_steps": 80,
        **_PAPER,
    },
    "inverse": {
        "exploration": "random",
        "exploration_fraction": 0.5,
        "max_hop_steps": 1,
        **_PAPER,
    },
}

MAX_ENVS = 2**20
"""Maximum number of environments in one process."""

MAX_SEED = 2**32 - 1
"""Maximum seed: the largest that NumPy's global generator, which SB3 seeds, takes."""


MIN_RATE = 1e-9
"""Minimum learning rate that is saved; it replaces a rate that has fallen to 0."""


@dataclass(frozen=True)
class AgentOptions:
    """Options of an agent.

    Attributes:
        policy: The SB3 policy, by name or class; ``"UnitPolicy"`` for environments of units.
        low_level: The SB3 algorithm that hops, or ``"inverse"``. ``"recurrent_ppo"`` and
            ``"maskable_ppo"`` need sb3-contrib.
        hops: The goal of a hop: ``"changes"``, new values of some attributes while the others are
            free, or ``"neighbours"``, a whole neighbouring description, as in the paper. An inverse
            model supports neighbours only.
        exploration: A name in :data:`EXPLORATIONS`. With ``hops="changes"`` it is
            ``"count_bonus"`` or ``"bonus"``, and a transition seen 100 times pays nothing. With
            ``hops="neighbours"`` exploration comes first, by default with ``"bonus"``, and for an
            inverse model with ``"random"``.
        n_envs: Number of environments made from an id; by default 64 if they form one batch, else
            32.
        exploration_fraction: Share of the training that explores. With ``"changes"`` exploration is
            mixed with hops, 0.25 by default. With ``"neighbours"`` it comes first, 0.2 by default,
            and 0.5 for an inverse model, which learns from exploration.
        max_hop_steps: Maximum length of a hop in steps, in training and when following a plan. The
            default with ``"changes"`` is three times the 90% quantile of successful hops, with
            ``"neighbours"`` 80. For an inverse model it is always 1.
        step_penalty: Subtracted from the reward of every step of a hop to a neighbour.
        bonus_scale: Factor on the exploration bonus; a successful hop pays 1.
        practice: Which neighbours hops are practised to: drawn by their ``visits``, as in the
            paper, or by ``need``, mostly those that fail as often as they work. Changes are always
            drawn by need.
        decay: γ of c_π: the factor on older attempts when an epoch begins.
        epoch_steps: Number of steps between two epochs.
        learning_rate: Learning rate of all algorithms: a number, or a function of the remaining
            share of the training, from 1 to 0; None for our default. A function is saved as its
            current value.
        gamma: Discount of all algorithms; None for our default, which for changes follows from the
            length of hops.
        policy_kwargs: Arguments of all policies.
        anneal: Whether the hop policy's learning rate falls to a tenth during training.
        low_level_kwargs: Arguments of the algorithm that hops; for an inverse model ``n_features``,
            ``inverse_arch``, ``forward_arch`` and the fields of ``FitSettings``.
        exploration_kwargs: Arguments of the PPO that explores first, with ``hops="neighbours"``.
        questions: Name → :class:`~gym_attrplan.models.questions.Question` about the observation,
            whose answer is a further attribute; ``refine`` adds them.
        seed: Seed of networks, actions, neighbours and environments.
        device: As in SB3.
        verbose: 1 prints the results of each phase, and the log.
        tensorboard_log: Folder of TensorBoard runs.
    """

    policy: str | type[BasePolicy] = "MultiInputPolicy"
    low_level: str | type[BaseAlgorithm] = "ppo"
    hops: str = "changes"
    exploration: str = "count_bonus"
    n_envs: int | None = None
    exploration_fraction: float = 0.25
    max_hop_steps: int | None = None
    step_penalty: float = 0.0
    bonus_scale: float = 0.3
    practice: str = "need"
    decay: float = 0.9
    epoch_steps: int = 8_192
    learning_rate: float | Callable[[float], float] | None = None
    gamma: float | None = None
    policy_kwargs: dict[str, Any] = field(default_factory=dict)
    anneal: bool = True
    low_level_kwargs: dict[str, Any] = field(default_factory=dict)
    exploration_kwargs: dict[str, Any] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    seed: int | None = None
    device: str = "auto"
    verbose: int = 0
    tensorboard_log: str | None = None

    @classmethod
    def checked(cls, **given: Any) -> AgentOptions:
        """Create options and check them.

        Raises:
            InvalidOption: If one is unknown, out of range, or cannot be saved as data.
        """
        names = [one.name for one in fields(cls)]
        for name in given:
            if name not in names:
                raise InvalidOption(f"no option named {name!r}. {did_you_mean(name, names)}")
        for name in ("policy_kwargs", "low_level_kwargs", "exploration_kwargs", "questions"):
            given[name] = dict(given.get(name) or {})
        if "low_level" in given:
            given["low_level"] = named(given["low_level"])
        inverse = given.get("low_level") == "inverse"
        if given.get("hops") is None:
            given["hops"] = "neighbours" if inverse else "changes"
        kind = "inverse" if inverse else given["hops"]
        for name, default in _DEFAULTS.get(kind, {}).items():
            if given.get(name) is None:
                given[name] = default
        options = cls(**{name: one for name, one in given.items() if one is not None})
        find_algorithm(options.low_level)
        options._check_types()
        options._check_ranges()
        options.at(1.0).to_json()
        return options

    def at(self, left: float) -> AgentOptions:
        """Return these options with the current value of a learning rate that is a function.

        Args:
            left: The remaining share of the training, from 1 to 0.
        """
        if not callable(self.learning_rate):
            return self
        rate = float(self.learning_rate(min(max(left, 0.0), 1.0)))
        # Many schedules end at 0, or below it by the steps of the last rollout, which SB3 refuses.
        return replace(self, learning_rate=max(rate, MIN_RATE), anneal=False)

    @property
    def is_inverse(self) -> bool:
        """Whether one action is a hop and π is learned by supervision."""
        return self.low_level == "inverse"

    @property
    def n_attempts_kept(self) -> int:
        """Number of attempts at hops that are kept with the states they started from."""
        if self.is_inverse:
            return 500_000
        return 10_000 if self.asks_for_changes else 30_000

    @property
    def names_policy_kwargs(self) -> bool:
        """Whether the user gave arguments of the policy that hops."""
        return bool(self.policy_kwargs or self.low_level_kwargs.get("policy_kwargs"))

    @property
    def asks_for_changes(self) -> bool:
        """Whether a hop asks for a change, not for a whole description."""
        return self.hops == "changes"

    def _check_types(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            if not is_a(value := getattr(self, name), hint):
                known = getattr(hint, "__name__", str(hint))
                raise InvalidOption(f"{name} is of type {known}; received {value!r:.200}.")

    def _check_ranges(self) -> None:
        for name, names in (
            ("exploration", EXPLORATIONS),
            ("practice", ("visits", "need")),
            ("hops", HOPS),
        ):
            if (value := getattr(self, name)) not in names:
                raise InvalidOption(f"{name} is one of {list(names)}; received {value!r}.")
        algorithm = find_algorithm(self.low_level)
        if self.asks_for_changes:
            self._check_changes()
        elif is_recurrent(algorithm) or is_masked(algorithm):
            raise InvalidOption(
                f'{algorithm.__name__} hops with hops="changes" alone, where it also explores; '
                f"received hops={self.hops!r}."
            )
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
        for name, low, high in (
            ("n_envs", 1, MAX_ENVS),
            ("exploration_fraction", 0, 1),
            ("max_hop_steps", 1, math.inf),
            ("step_penalty", 0, math.inf),
            ("decay", 0, 1),
            ("epoch_steps", 1, math.inf),
            ("gamma", 0, 1),
            ("seed", 0, MAX_SEED),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise InvalidOption(f"{name} is from {low} to {high}; received {value!r}.")
        rate = self.learning_rate
        rate = rate(1.0) if callable(rate) else rate
        for name, value in (("bonus_scale", self.bonus_scale), ("learning_rate", rate)):
            if value is not None and not (is_a(value, float) and 0 < value < math.inf):
                raise InvalidOption(f"{name} is a number above 0; received {value!r}.")

    def _check_changes(self) -> None:
        """Check options that cannot be combined with hops that ask for changes."""
        refused = {
            'low_level="inverse"': self.is_inverse,
            f"exploration={self.exploration!r}": EXPLORATIONS[self.exploration] is None,
            "exploration_kwargs": bool(self.exploration_kwargs),
            f"practice={self.practice!r}": self.practice != "need",
            f"step_penalty={self.step_penalty!r}": self.step_penalty != 0.0,
            "decay=0": self.decay == 0.0,
            "goal_selection_strategy": "goal_selection_strategy"
            in self.low_level_kwargs.get("replay_buffer_kwargs", {}),
        }
        for what, is_given in refused.items():
            if is_given:
                raise InvalidOption(
                    f'hops="changes" does not support {what}: one policy hops and explores, paid '
                    'for changes. Leave it out, or explore first with hops="neighbours".'
                )

    def to_json(self) -> dict[str, Any]:
        """Return the options as plain data.

        Raises:
            InvalidOption: If a value is code: a schedule, a noise object, a function.
        """
        asked = {name: asdict(question) for name, question in self.questions.items()}
        values = {one.name: getattr(self, one.name) for one in fields(self)} | {"questions": asked}
        return {name: to_plain(value, name) for name, value in values.items()}

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], custom_objects: Mapping[str, type[Any]] | None = None
    ) -> AgentOptions:
        """Return the options that :meth:`to_json` wrote, checked.

        Args:
            data: The plain data.
            custom_objects: ``"module:Name"`` → a class to use for it.

        Raises:
            InvalidArchive: If they name a class that is not imported, or that no agent may use.
            InvalidOption: If one is unknown or out of range.
        """
        data = {"hops": "neighbours", **data}  # the only kind of hops in older files
        given = {name: from_plain(one, custom_objects or {}) for name, one in data.items()}
        asked = given.get("questions") or {}
        given["questions"] = {name: typed(Question, one) for name, one in asked.items()}
        return cls.checked(**given)
