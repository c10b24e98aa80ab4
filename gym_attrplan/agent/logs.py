"""Log: recorded episodes in several common formats, from which an agent learns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidData, shown
from gym_attrplan.wrappers.observation import GOAL_KEYS, ROOT

Array: TypeAlias = npt.NDArray[Any]
Parts: TypeAlias = dict[str, Array]
Describe: TypeAlias = Callable[[Any], Any]

ENDS = ("terminals", "terminations", "timeouts", "truncations", "dones")
"""Names of an array that marks the ends of episodes."""

FORMS = (
    "an npz file or a mapping with 'observations', 'actions' and 'terminals'; a list of episodes, "
    "each a mapping with 'observations' and 'actions'; a Minari dataset; or an SB3 replay buffer"
)


@dataclass(frozen=True)
class Episode:
    """One recorded episode.

    Args:
        observations: Key → ``(n_states, …)``.
        actions: ``(n_states - 1, …)`` or ``(n_states, …)``; in the latter the last is ignored.
        attributes: ``(n_states, n_attributes)``; None if they have to be computed.
    """

    observations: Parts
    actions: Array
    attributes: Array | None = None


@dataclass(frozen=True)
class Log:
    """Recorded episodes, one after another.

    Attributes:
        observations: Key → ``(n, …)`` observations.
        actions: ``(n, …)`` actions; those of the last states of episodes have no meaning.
        attributes: ``(n, n_attributes)`` descriptions of the states.
        last: ``(n,)`` whether a state is the last of its episode.
    """

    observations: Parts
    actions: Array
    attributes: IntArray
    last: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.last)

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        observation_space: spaces.Dict,
        action_space: spaces.Space[Any],
        attribute_space: AttributeSpace,
        describe: Describe | None = None,
    ) -> Log:
        """Read a log from one of the :data:`FORMS`.

        Args:
            source: The recorded episodes.
            observation_space: The agent's observation space.
            action_space: The agent's action space.
            attribute_space: The attributes.
            describe: ``(n, …)`` observations of an episode → ``(n, n_attributes)`` descriptions,
                such as a detector's ``predict``; None if the log contains them, as ``attributes``
                or as ``achieved_goal`` of the observations.

        Raises:
            InvalidAttributes: If a description does not fit the attributes.
            InvalidData: If the format is unknown, there are no attributes, or an episode has other
                spaces, numbers that are not finite, or a single state.
        """
        seen = {key: one for key, one in observation_space.items() if key not in GOAL_KEYS}
        parts: list[tuple[Parts, Array, IntArray, Array]] = []
        for number, episode in enumerate(episodes(source)):
            place = f"episode {number} of the log"
            checked = _checked_observations(episode, seen, place)
            n_states = len(next(iter(checked.values())))
            if n_states < 2:
                raise InvalidData(
                    f"{place} has {n_states} state; a hop needs two. Leave such episodes out."
                )
            actions = _checked_actions(episode.actions, action_space, n_states, place)
            described = _described(episode, describe, attribute_space, n_states, place)
            parts.append((checked, actions, described, np.arange(n_states) == n_states - 1))
        if not parts:
            raise InvalidData("a log holds at least one episode; received none.")
        return cls(
            {key: np.concatenate([part[0][key] for part in parts]) for key in seen},
            np.concatenate([part[1] for part in parts]),
            np.concatenate([part[2] for part in parts]),
            np.concatenate([part[3] for part in parts]),
        )


# --- the forms ----------------------------------------------------------------------------------


def episodes(source: Any) -> Iterable[Episode]:
    """Return the episodes of a log in any of the formats.

    Raises:
        InvalidData: If it has none of the :data:`FORMS`.
    """
    if isinstance(source, ReplayBuffer):
        return _of_buffer(source)
    if hasattr(source, "iterate_episodes"):  # Minari's, without needing it
        return (
            Episode(_parts(one.observations), np.asarray(one.actions))
            for one in source.iterate_episodes()
        )
    if isinstance(source, str | Path):
        return _of_flat(_read_npz(Path(source)))
    if isinstance(source, Mapping):
        return _of_flat(source)
    if isinstance(source, Sequence) and all(isinstance(one, Mapping) for one in source):
        return (_of_mapping(one, f"episode {i} of the log") for i, one in enumerate(source))
    raise InvalidData(f"a log is {FORMS}; received {shown(source)}.")


def _read_npz(file: Path) -> dict[str, Array]:
    if not file.exists():
        raise InvalidData(f"there is no file {file}.")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidData(f"{file} is not an npz file of plain arrays: {error}.") from error


def _of_flat(arrays: Mapping[str, Any]) -> Iterator[Episode]:
    """Yield episodes stored one after another in the same arrays, split at the marked ends."""
    whole = _of_mapping(arrays, "the log")
    after = _parts(arrays["next_observations"]) if "next_observations" in arrays else {}
    ends = [np.asarray(arrays[name], np.bool_).ravel() for name in ENDS if name in arrays]
    if not ends:
        raise InvalidData(
            f"a log says where its episodes end, as one of {list(ENDS)}; received {list(arrays)}."
        )
    n = len(whole.actions)
    own = [] if whole.attributes is None else [whole.attributes]
    lengths = {len(one) for one in [*ends, *whole.observations.values(), *after.values(), *own]}
    if lengths != {n}:
        raise InvalidData(f"the arrays of a log are equally long; received {lengths | {n}} rows.")
    last = np.flatnonzero(np.logical_or.reduce(ends))
    stops = np.unique([*(last + 1).tolist(), n])
    for start, stop in zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True):
        rows = slice(start, stop)
        described = None if whole.attributes is None else whole.attributes[rows]
        seen = {key: part[rows] for key, part in whole.observations.items()}
        if described is None and after.keys() >= seen.keys():  # also the final state of the episode
            ended = {key: after[key][stop - 1 : stop] for key in seen}
            seen = {key: np.concatenate([part, ended[key]]) for key, part in seen.items()}
        yield Episode(seen, whole.actions[rows], described)


def _of_mapping(arrays: Mapping[str, Any], place: str) -> Episode:
    for name in ("observations", "actions"):
        if name not in arrays:
            raise InvalidData(f"{place} has no {name!r}, only {list(arrays)}.")
    own = arrays.get("attributes")
    own = None if own is None else np.asarray(own)
    return Episode(_parts(arrays["observations"]), np.asarray(arrays["actions"]), own)


def _of_buffer(buffer: ReplayBuffer) -> Iterator[Episode]:
    """Yield the episodes of a replay buffer, environment by environment, the oldest step first."""
    if buffer.optimize_memory_usage:
        raise InvalidData(
            "a replay buffer with optimize_memory_usage=True does not hold where episodes ended. "
            "Record with a buffer that does."
        )
    n_rows = buffer.buffer_size if buffer.full else buffer.pos
    order = (np.arange(n_rows) + (buffer.pos if buffer.full else 0)) % buffer.buffer_size
    seen, after = _parts(buffer.observations), _parts(buffer.next_observations)
    for env in range(buffer.n_envs):
        stops = np.flatnonzero(buffer.dones[order, env]) + 1
        stops = np.unique([*stops.tolist(), n_rows])
        for start, stop in zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True):
            rows = order[start:stop]
            if len(rows):
                both = {
                    key: np.concatenate([seen[key][rows, env], after[key][rows[-1:], env]])
                    for key in seen
                }
                shape = buffer.action_space.shape or ()  # SB3 keeps a number as an array of one
                yield Episode(both, buffer.actions[rows, env].reshape(len(rows), *shape))


def _parts(observations: Any) -> Parts:
    if isinstance(observations, Mapping):
        return {str(key): np.asarray(part) for key, part in observations.items()}
    return {ROOT: np.asarray(observations)}


# --- checks -------------------------------------------------------------------------------------


def _checked_observations(
    episode: Episode, seen: Mapping[str, spaces.Space[Any]], place: str
) -> Parts:
    """Return the parts of an episode's observations that the agent uses, in its space's types."""
    checked: Parts = {}
    n_states = {len(part) for part in episode.observations.values()}
    if len(n_states) != 1:
        raise InvalidData(f"{place} has parts of {sorted(n_states)} states; they are as many.")
    for key, space in seen.items():
        if key not in episode.observations:
            raise InvalidData(
                f"{place} has no observation {key!r}, only {list(episode.observations)}; the agent "
                f"sees {list(seen)}."
            )
        part = episode.observations[key]
        shape = space.shape or ()
        if part.shape[1:] != shape:
            raise InvalidData(
                f"{place} has observations {key!r} of shape {part.shape[1:]}; the agent's have "
                f"{shape}."
            )
        _check_finite(part, f"observation {key!r}", place)
        checked[key] = _cast(part, space.dtype, f"observation {key!r}", place)
    return checked


def _checked_actions(actions: Array, space: spaces.Space[Any], n_states: int, place: str) -> Array:
    """Return ``(n_states, …)`` actions; if the last state has none, the first action fills in."""
    if len(actions) not in (n_states - 1, n_states):
        raise InvalidData(
            f"{place} has {len(actions)} actions for {n_states} states; it has one for each state, "
            "or none for the last."
        )
    if actions.shape[1:] != (space.shape or ()):
        raise InvalidData(
            f"{place} has actions of shape {actions.shape[1:]}; the agent's have {space.shape}."
        )
    _check_finite(actions, "action", place)
    padded = np.concatenate([actions, actions[:1]])[:n_states]
    padded = _cast(padded, space.dtype, "action", place)
    fine = _are_of(space, padded)
    if not fine.all():
        step = int(fine.argmin())
        raise InvalidData(
            f"step {step} of {place} has the action {padded[step]}; the agent's are of {space}."
        )
    return padded


def _described(
    episode: Episode,
    describe: Describe | None,
    space: AttributeSpace,
    n_states: int,
    place: str,
) -> IntArray:
    if describe is not None:
        parts = {key: one for key, one in episode.observations.items() if key not in GOAL_KEYS}
        found = describe(parts[ROOT] if list(parts) == [ROOT] else parts)
    elif episode.attributes is not None:
        found = episode.attributes
    elif "achieved_goal" in episode.observations:
        found = episode.observations["achieved_goal"]
    else:
        raise InvalidData(
            f"{place} has no attributes: give them in the log, as 'attributes' or as the "
            "observations' 'achieved_goal', or give a function that reads them from observations."
        )
    return space.check(found, source=f"the description in {place}", leading=(n_states,))


def _cast(values: Array, dtype: Any, name: str, place: str) -> Array:
    """Convert values to a dtype; refuse if that would change a number."""
    cast = values.astype(dtype, copy=False)
    if cast.dtype.kind != "f":
        same = np.asarray(cast == values).reshape(len(values), -1).all(axis=1)
        if not same.all():
            raise InvalidData(
                f"step {int(same.argmin())} of {place} has an {name} of {values.dtype} that "
                f"{cast.dtype} cannot hold. Give it as the environment does."
            )
    return cast


def _are_of(space: spaces.Space[Any], actions: Array) -> npt.NDArray[np.bool_]:
    """Return ``(n,)`` whether each action belongs to a space."""
    if isinstance(space, spaces.Box):
        within = np.asarray((actions >= space.low) & (actions <= space.high))
        return np.asarray(within.reshape(len(actions), -1).all(axis=1))
    if isinstance(space, spaces.Discrete):
        return np.asarray((actions >= space.start) & (actions < space.start + space.n))
    return np.array([space.contains(one) for one in actions], np.bool_)


def _check_finite(values: Array, name: str, place: str) -> None:
    if values.dtype.kind == "f":
        fine = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
        if not fine.all():
            raise InvalidData(
                f"step {int(fine.argmin())} of {place} has a {name} that is not finite. Leave such "
                "episodes out."
            )
