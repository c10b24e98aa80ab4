"""Saving and loading of agents: one zip of JSON, npz and safetensors, without code."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from gymnasium.spaces import Dict

import gym_attrplan
from gym_attrplan.agent.bounds import check_buffers
from gym_attrplan.agent.environments import EnvLike, SpacesOnly, as_vec_env
from gym_attrplan.agent.kinds import Kind
from gym_attrplan.agent.learned import EXPERIENCE, Learned, Learner
from gym_attrplan.agent.options import MAX_ENVS, AgentOptions
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space_json import space_from_json, space_to_json
from gym_attrplan.error import InvalidArchive, InvalidEnvironment, InvalidOption
from gym_attrplan.models.archive import (
    MAX_BYTES,
    MAX_JSON_BYTES,
    arrays_from_bytes,
    arrays_to_bytes,
    read_archive,
    reading,
    tensors_from_bytes,
    tensors_to_bytes,
    write_archive,
)
from gym_attrplan.models.restoring import no_larger_than, typed, whole_number
from gym_attrplan.wrappers.observation import GOAL_KEYS
from gym_attrplan.wrappers.origin import Origin, origin_from_json

KIND = "an agent"


class Savable(Learner, Protocol):
    """Protocol of an agent: the parts that are saved beside what it has learned."""

    options: AgentOptions
    planner_options: PlannerOptions
    given: Kind
    action_choices: int
    trained_in: Origin | None

    @property
    def n_envs(self) -> int:
        """Number of environments."""


def save(agent: Savable, path: str | Path, include: Collection[str]) -> None:
    """Save the agent to ``path``, with ``.zip`` added as in SB3; a crash leaves the old file."""
    unknown = sorted(set(include) - set(EXPERIENCE))
    if unknown:
        raise InvalidOption(f"include names parts of {list(EXPERIENCE)}; received {unknown}.")
    target = check_target(path)
    learned = Learned.by(agent, include)
    entries = {
        "agent.json": about(agent, learned.progress),
        "weights.json": json.dumps(learned.skeleton).encode(),
        "weights.safetensors": tensors_to_bytes(learned.tensors),
    }
    for name, arrays in learned.arrays.items():
        entries[f"{name}.npz"] = arrays_to_bytes(arrays)
    write_archive(target, KIND, entries)


def _time_left(agent: Savable) -> float:
    """Return the remaining share of the training, from 1 to 0, as for SB3's schedules."""
    return float(getattr(agent.low_level, "_current_progress_remaining", 1.0))


def about(agent: Savable, progress: dict[str, Any]) -> bytes:
    """Return an agent's options, spaces and progress as JSON.

    Raises:
        InvalidEnvironment: If its spaces cannot be saved.
    """
    facts = {
        "library": gym_attrplan.__version__,
        "options": agent.options.at(_time_left(agent)).to_json(),
        "planner": asdict(agent.planner_options),
        "progress": progress,
        "attributes": agent.given[0].table,
        "observation_space": space_to_json(agent.given[1]),
        "action_space": space_to_json(agent.given[2]),
        "action_choices": agent.action_choices,
        "n_envs": agent.n_envs,
        "trained_in": agent.trained_in,
    }
    content = json.dumps(facts, indent=1).encode()
    if len(content) > MAX_JSON_BYTES:
        raise InvalidEnvironment(
            f"an agent's spaces and options can be saved if they take at most {MAX_JSON_BYTES:,} "
            f"bytes as JSON; received {len(content):,}. Give the boxes the same bounds everywhere."
        )
    return content


def check_target(path: str | Path) -> Path:
    """Return the file that an agent would be saved to, if it can be written.

    Raises:
        InvalidOption: If it cannot be written.
    """
    target = _with_suffix(path)
    if target.exists() and not target.is_file():
        raise InvalidOption(
            f"an agent is saved to a file; {target} is not one. Choose another name."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise InvalidOption(
            f"an agent cannot be saved to {target}: {error.strerror or error}. Choose a folder "
            "that can be written to."
        ) from error
    return target


def load(
    kind: type[Any],
    path: str | Path,
    env: EnvLike | None,
    changes: dict[str, Any],
    *,
    custom_objects: Mapping[str, type[Any]] | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Load the agent that :func:`save` wrote, in the given environments or in none."""
    source = _with_suffix(path)
    if not source.exists():
        raise InvalidArchive(f"there is no file {source}.")
    entries = read_archive(source, KIND, max_bytes=max_bytes)
    limit = MAX_BYTES if max_bytes is None else max_bytes
    restore = partial(_restored, kind, entries, custom_objects=custom_objects, max_bytes=limit)
    try:
        agent = restore(changes)
    except Exception:
        with reading(source, KIND):
            if not changes:
                raise
            restore({})
        raise  # the file is valid: the changes are wrong
    if env is not None:
        venv = as_vec_env(env, n_envs=agent.options.n_envs)
        check_buffers(agent.options, venv, max_bytes=limit)
        agent.set_env(venv)
    return agent


def _restored(
    kind: type[Any],
    entries: Mapping[str, bytes],
    changes: Mapping[str, Any],
    *,
    custom_objects: Mapping[str, type[Any]] | None,
    max_bytes: int,
) -> Any:
    """Build the agent that the entries describe, with some options changed."""
    facts = json.loads(entries["agent.json"])
    stand_in = _stand_in(facts)
    saved = AgentOptions.from_json(facts["options"], custom_objects)
    options = {one.name: getattr(saved, one.name) for one in fields(saved)}
    if changes.get("hops", saved.hops) != saved.hops:
        raise InvalidOption(
            f"hops is settled when an agent is made, here as {saved.hops!r}; received "
            f"{changes['hops']!r}. Train another agent."
        )
    options.update(changes)
    check_buffers(AgentOptions.checked(**options), stand_in, max_bytes=max_bytes)
    arrays = arrays_from_bytes(entries, max_bytes=max_bytes)
    tensors = tensors_from_bytes(entries["weights.safetensors"])
    learned = Learned(facts["progress"], json.loads(entries["weights.json"]), tensors, arrays)
    with no_larger_than(tensors):
        agent = kind(env=stand_in, planner=typed(PlannerOptions, facts["planner"]), **options)
        learned.give_to(agent)
    agent.trained_in = origin_from_json(facts.get("trained_in"))
    return agent


def _stand_in(facts: Mapping[str, Any]) -> SpacesOnly:
    """Build the stand-in for the environments that the agent was made for."""
    attributes = AttributeSpace(facts["attributes"])
    observations = space_from_json(facts["observation_space"])
    for key in GOAL_KEYS:
        if not isinstance(observations, Dict) or observations[key].shape != (len(attributes),):
            raise InvalidArchive(f"the observations have no {key} of {len(attributes)} attributes.")
    actions = space_from_json(facts["action_space"])
    n_values = math.prod(actions.shape or ())
    choices = whole_number(facts["action_choices"], most=n_values)
    n_envs = whole_number(facts["n_envs"], least=1, most=MAX_ENVS)
    return SpacesOnly(observations, actions, attributes, choices, n_envs=n_envs)


def _with_suffix(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix == ".zip" else path.with_name(path.name + ".zip")
