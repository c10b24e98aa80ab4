"""Learned: the state of an agent's training as plain data, from which training resumes."""

from __future__ import annotations

import operator
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecNormalize

from gym_attrplan.agent import advice
from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.neighbours import HopVecEnv
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidArchive
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.hop_model import HopModel
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.models import SuccessModel
from gym_attrplan.models.restoring import check_optimizer, check_weights, whole_number

Tensors = dict[str, torch.Tensor]
Arrays = dict[str, npt.NDArray[Any]]

EXPERIENCE = ("attempts", "examples", "replay_buffer")
"""Parts of the experience that a file may leave out; everything else is always saved."""

_CLOCKS = ("num_timesteps", "_n_updates", "_n_calls", "_episode_num")
"""Counters of SB3's learners, which control schedules, target updates and delayed updates."""


class Learner(Protocol):
    """Protocol of an agent: the parts that are saved."""

    num_timesteps: int
    steps_done: dict[str, int]
    steps_practised: int
    rng: np.random.Generator
    attribute_space: AttributeSpace
    counts: TransitionCounts
    outcomes: HopOutcomes
    hop_model: HopModel
    imagined: TransitionCounts | None
    attempts: AttemptBuffer
    examples: ExampleBuffer | None
    hops: PracticeVecEnv | HopVecEnv
    low_level: Any
    explorer: Any
    success_model: SuccessModel | None
    normalization: Arrays | None

    def new_success_model(self) -> SuccessModel:
        """Return an untrained success model."""

    def get_vec_normalize_env(self) -> VecNormalize | None:
        """Return the wrapper that normalises observations, if there is one."""


@dataclass(frozen=True)
class Learned:
    """Everything that an agent has learned and experienced, with its counters and random state.

    Attributes:
        progress: Counters and random state, as JSON values.
        skeleton: Networks and optimisers, with a name in place of each tensor.
        tensors: Name → tensor.
        arrays: ``counts``, ``outcomes``, ``practice``, ``hop_model``, ``imagined``,
            ``normalization`` and the available parts of :data:`EXPERIENCE`, each name → array.
    """

    progress: dict[str, Any]
    skeleton: Any
    tensors: Tensors
    arrays: dict[str, Arrays] = field(default_factory=dict)

    @classmethod
    def by(cls, agent: Learner, include: Collection[str] = EXPERIENCE) -> Learned:
        """Collect what the agent has learned, with the parts of its experience in ``include``."""
        progress = {
            "num_timesteps": agent.num_timesteps,
            "steps_done": dict(agent.steps_done),
            "steps_practised": agent.steps_practised,
            "random_state": agent.rng.bit_generator.state,
            "clocks": {name: _clocks_of(model) for name, model in _models(agent).items()},
        }
        tensors: Tensors = {}
        skeleton = _take_apart(_weights_of(agent), "", tensors, {})
        arrays = {name: part.to_arrays() for name, part in _counted(agent).items()}
        if len(agent.hop_model):
            arrays["hop_model"] = agent.hop_model.to_arrays()
        if agent.imagined is not None:
            arrays["imagined"] = agent.imagined.to_arrays()
        if (normalization := normalization_of(agent)) is not None:
            arrays["normalization"] = normalization
        for name, part in _experience(agent).items():
            if name in include:
                arrays[name] = _replayed(part) if name == "replay_buffer" else part.to_arrays()
        return cls(progress, skeleton, tensors, arrays)

    def give_to(self, agent: Learner) -> None:
        """Restore this state in an agent of the same kind.

        Raises:
            InvalidArchive: If this is not the state of such an agent.
        """
        for name, part in _counted(agent).items():
            part.restore(self.arrays[name])
        if "hop_model" in self.arrays:
            agent.hop_model.restore(self.arrays["hop_model"])
        if "imagined" in self.arrays:
            agent.imagined = type(agent.counts).from_arrays(
                agent.attribute_space, self.arrays["imagined"]
            )
        _give_weights(agent, _put_together(self.skeleton, self.tensors))
        self.give_progress(agent)
        for name, part in _experience(agent).items():
            if name in self.arrays:
                restore = _replay if name == "replay_buffer" else type(part).restore
                restore(part, self.arrays[name])
        _normalize(agent, self.arrays.get("normalization"))

    def give_progress(self, agent: Learner) -> None:
        """Restore the counters and the random state alone.

        Raises:
            InvalidArchive: If they are not those of such an agent.
        """
        agent.num_timesteps = whole_number(self.progress["num_timesteps"])
        done = self.progress["steps_done"]
        agent.steps_done = {phase: whole_number(done[phase]) for phase in agent.steps_done}
        agent.steps_practised = whole_number(self.progress.get("steps_practised", 0))
        agent.rng.bit_generator.state = self.progress["random_state"]
        if agent.rng.bit_generator.state != self.progress["random_state"]:
            raise InvalidArchive("the random state is not valid: NumPy would change it.")
        for name, model in _models(agent).items():
            _set_clocks(model, self.progress["clocks"][name])


def _counted(agent: Learner) -> dict[str, Any]:
    """Return the tables that the agent plans and practises with."""
    if not isinstance(agent.hops, PracticeVecEnv):
        return {"counts": agent.counts}
    return {"counts": agent.counts, "outcomes": agent.outcomes, "practice": agent.hops}


def _models(agent: Learner) -> dict[str, Any]:
    if agent.explorer is agent.low_level:
        return {"low_level": agent.low_level}
    return {"low_level": agent.low_level, "explorer": agent.explorer}


def _clocks_of(model: Any) -> dict[str, int]:
    return {name: int(getattr(model, name)) for name in _CLOCKS if hasattr(model, name)}


def _set_clocks(model: Any, clocks: dict[str, Any]) -> None:
    if set(clocks) != set(_clocks_of(model)):
        raise InvalidArchive(f"a learner's clocks are {list(_clocks_of(model))}, not these.")
    for name, value in clocks.items():
        setattr(model, name, whole_number(value))


def _experience(agent: Learner) -> dict[str, Any]:
    """Return the agent's buffers."""
    parts = {
        "attempts": agent.attempts,
        "examples": agent.examples,
        "replay_buffer": getattr(agent.low_level, "replay_buffer", None),
    }
    return {name: part for name, part in parts.items() if part is not None}


# --- networks -----------------------------------------------------------------------------------


def _weights_of(agent: Learner) -> dict[str, Any]:
    """Return the state of all networks and optimisers."""
    weights: dict[str, Any] = {}
    for name, model in _models(agent).items():
        if hasattr(model, "get_parameters"):
            weights[name] = {"parameters": model.get_parameters(), "variables": _variables(model)}
    if agent.success_model is not None:
        weights["success"] = agent.success_model.state_dict()
    return weights


def _variables(model: Any) -> dict[str, torch.Tensor]:
    """Return the tensors that SB3 keeps beside its networks, such as SAC's entropy coefficient."""
    names = model._get_torch_save_params()[1] if isinstance(model, BaseAlgorithm) else []
    return {name: getattr(model, name).detach() for name in names}


def _give_weights(agent: Learner, weights: dict[str, Any]) -> None:
    for name, model in _models(agent).items():
        if hasattr(model, "get_parameters"):
            _check_parameters(model, weights[name]["parameters"], name)
            check_weights(_variables(model), weights[name]["variables"], f"{name}/variables")
            model.set_parameters(weights[name]["parameters"], exact_match=True)
            for key, variable in _variables(model).items():
                variable.copy_(weights[name]["variables"][key])
    if "success" in weights:
        agent.success_model = agent.new_success_model()
        check_weights(agent.success_model.state_dict(), weights["success"], "success")
        agent.success_model.load_state_dict(weights["success"])


def _check_parameters(model: Any, given: Any, name: str) -> None:
    """Check parameters against the model's own; SB3 would open a file if given a string."""
    own = model.get_parameters()
    if not isinstance(given, dict) or set(given) != set(own):
        raise InvalidArchive(f"{name} has other parts than {sorted(own)}.")
    for part, values in own.items():
        owner = operator.attrgetter(part)(model)
        if isinstance(owner, torch.optim.Optimizer):
            check_optimizer(owner, given[part], f"{name}/{part}")
        else:
            check_weights(values, given[part], f"{name}/{part}")


def _take_apart(value: Any, path: str, tensors: Tensors, known: dict[Any, str]) -> Any:
    """Convert a nested value to JSON, with its tensors stored under their paths.

    SB3 lists the trunk that actor and critic share three times; it is stored once.
    """
    if isinstance(value, torch.Tensor):
        place = (value.data_ptr(), value.shape, value.dtype) if value.numel() else path
        if place not in known:
            known[place] = path
            tensors[path] = value.detach().cpu().contiguous().clone()
        return {"tensor": known[place]}
    if isinstance(value, dict):
        parts = [(key, f"{path}/{key}", one) for key, one in value.items()]
        return {"dict": [[key, _take_apart(one, at, tensors, known)] for key, at, one in parts]}
    if isinstance(value, (list, tuple)):
        return [_take_apart(one, f"{path}/{i}", tensors, known) for i, one in enumerate(value)]
    return value


def _put_together(value: Any, tensors: Tensors) -> Any:
    if isinstance(value, dict) and "tensor" in value:
        return tensors[value["tensor"]]
    if isinstance(value, dict):
        return {key: _put_together(one, tensors) for key, one in value["dict"]}
    if isinstance(value, list):
        return [_put_together(one, tensors) for one in value]
    return value


# --- replay buffers -----------------------------------------------------------------------------


def _replayed(buffer: ReplayBuffer) -> Arrays:
    """Convert an SB3 replay buffer to arrays, without empty rows."""
    n_rows = buffer.buffer_size if buffer.full else buffer.pos
    filled = {
        name: array[:n_rows] if len(array) == buffer.buffer_size else array
        for name, array in _columns(buffer).items()
    }
    return {**filled, "pos": np.array(buffer.pos), "full": np.array(buffer.full)}


def _replay(buffer: ReplayBuffer, arrays: Arrays) -> None:
    """Fill an SB3 replay buffer with the arrays of :func:`_replayed`."""
    columns = _columns(buffer)
    n_envs = arrays["rewards"].shape[1]
    if n_envs != buffer.n_envs:
        advice.warn(
            [
                f"the replay buffer holds the steps of {n_envs} environments and is left behind: "
                f"there are {buffer.n_envs} now. Give as many to keep it."
            ]
        )
        return
    for name, column in columns.items():
        found = arrays[name]
        if found.shape[1:] != column.shape[1:] or len(found) > len(column):
            raise InvalidArchive(
                f"{name} of the replay buffer has rows of shape {column.shape[1:]}, at most "
                f"{len(column)}; received {found.shape}."
            )
        column[: len(found)] = found
    buffer.pos, buffer.full = int(arrays["pos"]), bool(arrays["full"])
    if not 0 <= buffer.pos < buffer.buffer_size:
        raise InvalidArchive(f"pos of the replay buffer is a row of it; received {buffer.pos}.")


def _columns(buffer: ReplayBuffer) -> Arrays:
    """Return the arrays of an SB3 replay buffer; infos, which are objects, are not saved."""
    columns: Arrays = {}
    for name, value in vars(buffer).items():
        parts = value if isinstance(value, dict) else {"": value}
        for key, part in parts.items():
            if isinstance(part, np.ndarray) and part.dtype != object:
                columns[f"{name}/{key}" if key else name] = part
    return columns


# --- observations normalised by running statistics ----------------------------------------------


def normalization_of(agent: Learner) -> Arrays | None:
    """Return the statistics of the agent's ``VecNormalize``, or those kept for a later one."""
    venv = agent.get_vec_normalize_env()
    if venv is None:
        return agent.normalization
    arrays: Arrays = {}
    for name, statistics in _statistics(venv).items():
        for part in ("mean", "var", "count"):
            arrays[f"{name}/{part}"] = np.asarray(getattr(statistics, part))
    return arrays


def _normalize(agent: Learner, arrays: Arrays | None) -> None:
    """Set the statistics of the agent's ``VecNormalize``; without one they are kept for later."""
    agent.normalization = arrays
    venv = agent.get_vec_normalize_env()
    if venv is None or arrays is None:
        return
    for name, statistics in _statistics(venv).items():
        mean, var, count = (arrays[f"{name}/{part}"] for part in ("mean", "var", "count"))
        if not mean.shape == var.shape == statistics.mean.shape:
            raise InvalidArchive(
                f"the statistics of {name} have shape {statistics.mean.shape}; received "
                f"{mean.shape} and {var.shape}."
            )
        statistics.mean, statistics.var = (np.array(one, np.float64) for one in (mean, var))
        statistics.count = float(count)


def _statistics(venv: VecNormalize) -> dict[str, RunningMeanStd]:
    observed = getattr(venv, "obs_rms", None) or {}
    parts = observed if isinstance(observed, dict) else {"": observed}
    return {"returns": venv.ret_rms, **{f"seen/{key}": one for key, one in parts.items()}}
