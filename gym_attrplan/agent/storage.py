"""A saved agent is data, not code: one zip of JSON, npz and safetensors, written atomically."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import gym_attrplan
from gym_attrplan.agent.learned import EXPERIENCE, Learned
from gym_attrplan.agent.navigator import PlannerOptions
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.worlds import SpacesOnly, Worlds
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space_json import space_from_json, space_to_json
from gym_attrplan.error import InvalidArchive, InvalidOption
from gym_attrplan.models.archive import (
    read_archive,
    tensors_from_bytes,
    tensors_to_bytes,
    write_archive,
)

if TYPE_CHECKING:
    from gym_attrplan.agent.planner_agent import AttributePlannerAgent

KIND = "an agent"


def save(agent: AttributePlannerAgent, path: str | Path, include: Collection[str]) -> None:
    """Write the agent to ``path``, with ``.zip`` added as SB3 does; a crash leaves the old file."""
    unknown = sorted(set(include) - set(EXPERIENCE))
    if unknown:
        raise InvalidOption(f"include names parts of {list(EXPERIENCE)}; received {unknown}.")
    target = _with_suffix(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    learned = Learned.by(agent, include)
    about = {
        "library": gym_attrplan.__version__,
        "options": agent.options.to_json(),
        "planner": asdict(agent.planner_options),
        "progress": learned.progress,
        "attributes": agent.attribute_space.table,
        "observation_space": space_to_json(agent.observation_space),
        "action_space": space_to_json(agent.action_space),
        "action_choices": agent.action_choices,
        "n_envs": agent.n_envs,
    }
    entries = {
        "agent.json": json.dumps(about, indent=1).encode(),
        "weights.json": json.dumps(learned.skeleton).encode(),
        "weights.safetensors": tensors_to_bytes(learned.tensors),
    }
    for name, arrays in learned.arrays.items():
        entries[f"{name}.npz"] = _to_bytes(arrays)
    write_archive(target, KIND, entries)


def load(
    kind: type[AttributePlannerAgent],
    path: str | Path,
    env: Worlds | None,
    changes: dict[str, Any],
) -> AttributePlannerAgent:
    """The agent that :func:`save` wrote, in the given environments or in none."""
    source = _with_suffix(path)
    if not source.exists():
        raise InvalidArchive(f"there is no file {source}.")
    entries = read_archive(source, KIND)
    try:
        manifest = json.loads(entries["agent.json"])
        stand_in = SpacesOnly(
            space_from_json(manifest["observation_space"]),
            space_from_json(manifest["action_space"]),
            AttributeSpace(manifest["attributes"]),
            int(manifest["action_choices"]),
            n_envs=int(manifest["n_envs"]),
        )
        saved = AgentOptions.from_json(manifest["options"])
        options = {name: getattr(saved, name) for name in saved.__dataclass_fields__} | changes
        planner = PlannerOptions(**manifest["planner"])
        agent = kind(env=stand_in, planner=planner, **options)
        arrays = {
            name.removesuffix(".npz"): _from_bytes(content)
            for name, content in entries.items()
            if name.endswith(".npz")
        }
        tensors = tensors_from_bytes(entries["weights.safetensors"])
        skeleton = json.loads(entries["weights.json"])
        Learned(manifest["progress"], skeleton, tensors, arrays).give_to(agent)
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise InvalidArchive(f"{path} is no agent of this library: {error!r}.") from error
    if env is not None:
        agent.set_env(env)
    return agent


def _to_bytes(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def _from_bytes(content: bytes) -> dict[str, npt.NDArray[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def _with_suffix(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix == ".zip" else path.with_name(path.name + ".zip")
