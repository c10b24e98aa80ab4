"""SingleActionModel: base class of models of single actions."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.utils import get_device
from torch import nn

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import Sizes
from gym_attrplan.error import InvalidData, NotFitted
from gym_attrplan.models.actions import ActionLayout
from gym_attrplan.models.encoders import ObservationEncoder, observation_parts
from gym_attrplan.models.examples import Examples
from gym_attrplan.models.fitting import Array, Inputs, seeded


class SingleActionModel(nn.Module, ABC):
    """Network over observations, for environments in which one action makes one transition.

    A subclass defines :meth:`make_head`, ``forward`` and ``fit``. Everything learned is in
    ``state_dict()``.

    Args:
        observation_space: Of one environment, with or without the goal keys.
        action_space: ``Discrete`` or a bounded ``Box``.
        attribute_space: The attributes, or the arguments of an :class:`AttributeSpace`.
        action_choices: Number of choice scores at the front of a ``Box`` action.
        n_features: Number of features of images and words.
        net_arch: Sizes of the last hidden layers; None for the model's own.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        seed: Seed of the initial weights, the held-out part and the order of examples.

    Raises:
        InvalidEnvironment: If the action space is another one.
    """

    n_examples: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        attribute_space: Sizes,
        *,
        action_choices: int = 0,
        n_features: int = 128,
        net_arch: tuple[int, ...] | list[int] | None = None,
        device: torch.device | str = "auto",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.attribute_space = AttributeSpace(attribute_space)
        self.layout = ActionLayout.of(action_space, n_choices=action_choices)
        self.seed = seed
        self.parts = observation_parts(observation_space)
        options = {} if net_arch is None else {"net_arch": net_arch}
        with seeded(seed):
            self.encoder = ObservationEncoder(self.parts, n_features)
            self.head = self.make_head(self.encoder.n_features, **options)
        self.register_buffer("n_examples", torch.zeros((), dtype=torch.int64))
        self._initial = copy.deepcopy(self.state_dict())
        self.to(get_device(device))

    @abstractmethod
    def make_head(self, n_features: int, **options: Any) -> Any:
        """Return the last layers, with ``n_features`` inputs."""

    @property
    def is_fitted(self) -> bool:
        """Whether the model has been trained."""
        return bool(self.n_examples)

    def check(self, examples: Examples) -> None:
        """Check that the model can learn from the examples.

        Raises:
            InvalidData: If there are too few, lengths or shapes differ, a state is not finite, or
                an action does not belong to the environment.
            InvalidAttributes: If a vector does not belong to the attribute space.
        """
        examples.checked(self.attribute_space, self.layout)
        self._check_rows("observations", examples.observations)
        if examples.next_observations is not None:
            self._check_rows("next_observations", examples.next_observations)

    def _check_rows(self, name: str, seen: Any) -> None:
        rows = seen if isinstance(seen, Mapping) else dict.fromkeys(self.parts, seen)
        for key, space in self.parts.items():
            shape = tuple(rows[key][:1].shape[1:]) if key in rows else None
            if shape != space.shape:
                found = f"shape {shape}" if key in rows else f"the keys {', '.join(rows)}"
                raise InvalidData(
                    f"{name} hold {key!r} with shape {space.shape}, as the environment gives it; "
                    f"received {found}."
                )

    def _begin_fit(self, examples: Examples) -> Inputs:
        """Reset to the initial weights, and return the inputs of the examples.

        Raises:
            InvalidData: If they cannot be learned from.
        """
        self.check(examples)
        self.load_state_dict(self._initial)
        inputs = examples.inputs()
        self.encoder.learn_scale(inputs)
        return inputs

    def _rows(self, observations: Mapping[str, Array], *others: str) -> dict[str, Array]:
        """Return the parts that the model reads, and others.

        Raises:
            NotFitted: If the model is not trained yet.
        """
        if not self.is_fitted:
            name = type(self).__name__
            raise NotFitted(f"the {name} has learned nothing yet. Call fit(examples) first.")
        return {key: observations[key] for key in (*self.parts, *others)}
