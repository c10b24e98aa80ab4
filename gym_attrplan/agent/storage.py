"""A saved agent is data, not code: one zip of JSON, npz and safetensors, written atomically."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import gym_attrplan
from gym_attrplan.agent.lessons import new_success_model
from gym_attrplan.agent.navigator import PlannerOptions
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.worlds import SpacesOnly, Worlds
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space_json import space_from_json, space_to_json
from gym_attrplan.error import InvalidArchive
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.models.archive import (
    read_archive,
    tensors_from_bytes,
    tensors_to_bytes,
    write_archive,
)

if TYPE_CHECKING:
    from gym_attrplan.agent.planner_agent import AttributePlannerAgent

KIND = "an agent"

Tensors = dict[str, torch.Tensor]


def save(agent: AttributePlannerAgent, path: str | Path) -> None:
    """Write the agent to ``path``, with ``.zip`` added as SB3 does; a crash leaves the old file."""
    target = _with_suffix(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    skeleton, tensors = weights_of(agent)
    about = {
        "library": gym_attrplan.__version__,
        "options": agent.options.to_json(),
        "planner": asdict(agent.planner_options),
        "num_timesteps": agent.num_timesteps,
        "steps_done": agent.steps_done,
        "attributes": agent.attribute_space.table,
        "observation_space": space_to_json(agent.observation_space),
        "action_space": space_to_json(agent.action_space),
        "action_choices": agent.action_choices,
    }
    entries = {
        "agent.json": json.dumps(about, indent=1).encode(),
        "weights.json": json.dumps(skeleton).encode(),
        "weights.safetensors": tensors_to_bytes(tensors),
        "counts.npz": _counts_to_bytes(agent.counts),
    }
    if agent.imagined is not None:
        entries["imagined.npz"] = _counts_to_bytes(agent.imagined)
    write_archive(target, KIND, entries)


def load(
    kind: type[AttributePlannerAgent],
    path: str | Path,
    env: Worlds | None,
    changes: dict[str, Any],
) -> AttributePlannerAgent:
    """The agent that :func:`save` wrote, in the given worlds or in none."""
    source = _with_suffix(path)
    if not source.exists():
        raise InvalidArchive(f"there is no file {source}.")
    entries = read_archive(source, KIND)
    try:
        manifest = json.loads(entries["agent.json"])
        space = AttributeSpace(manifest["attributes"])
        stand_in = SpacesOnly(
            space_from_json(manifest["observation_space"]),
            space_from_json(manifest["action_space"]),
            space,
            int(manifest["action_choices"]),
        )
        saved = AgentOptions.from_json(manifest["options"])
        options = {name: getattr(saved, name) for name in saved.__dataclass_fields__} | changes
        planner = PlannerOptions(**manifest["planner"])
        agent = kind(env=stand_in, planner=planner, **options)
        agent._set_up(stand_in, _counts_from_bytes(entries["counts.npz"], space))
        if "imagined.npz" in entries:
            agent.imagined = _counts_from_bytes(entries["imagined.npz"], space)
        tensors = tensors_from_bytes(entries["weights.safetensors"])
        give_weights(agent, (json.loads(entries["weights.json"]), tensors))
        agent.num_timesteps = int(manifest["num_timesteps"])
        agent.steps_done = {name: int(n) for name, n in manifest["steps_done"].items()}
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise InvalidArchive(f"{path} is no agent of this library: {error!r}.") from error
    if env is not None:
        agent.set_env(env)
    return agent


def _counts_to_bytes(counts: TransitionCounts) -> bytes:
    arrays = io.BytesIO()
    np.savez_compressed(arrays, allow_pickle=False, **counts.to_arrays())
    return arrays.getvalue()


def _counts_from_bytes(content: bytes, space: AttributeSpace) -> TransitionCounts:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return TransitionCounts.from_arrays(space, dict(arrays))


def weights_of(agent: AttributePlannerAgent) -> tuple[Any, Tensors]:
    """Everything the networks and optimisers hold: what is not a tensor, and the tensors by key."""
    weights: dict[str, Any] = {"low_level": agent.low_level.get_parameters()}
    if hasattr(agent.explorer, "get_parameters"):
        weights["explorer"] = agent.explorer.get_parameters()
    if agent.success_model is not None:
        weights["success"] = agent.success_model.state_dict()
    tensors: Tensors = {}
    return _take_apart(weights, "", tensors, {}), tensors


def give_weights(agent: AttributePlannerAgent, apart: tuple[Any, Tensors]) -> None:
    """Give an agent of the same shape what :func:`weights_of` took."""
    weights = _put_together(*apart)
    agent.low_level.set_parameters(weights["low_level"], exact_match=True)
    if "explorer" in weights:
        agent.explorer.set_parameters(weights["explorer"], exact_match=True)
    if "success" in weights:
        agent.success_model = new_success_model(agent)
        agent.success_model.load_state_dict(weights["success"])
    agent._navigator = None


def _take_apart(value: Any, path: str, tensors: Tensors, known: dict[Any, str]) -> Any:
    """A nested value as JSON, with its tensors put aside under their paths.

    SB3 lists the trunk that actor and critic share three times over; it is put aside once.
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


def _with_suffix(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix == ".zip" else path.with_name(path.name + ".zip")
