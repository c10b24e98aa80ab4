"""BabyAIGoals: asks for the goals of a BabyAI level's mission, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from gym_attrplan.attributes.library.babyai_missions import Instruction, read_mission
from gym_attrplan.attributes.library.babyai_readers import NOTHING, look
from gym_attrplan.attributes.library.minigrid_readers import Scene
from gym_attrplan.attributes.space import AttributeSpace, IntArray
from gym_attrplan.error import InvalidEnvironment

Observation = dict[str, Any]
Named = dict[str, str]

_PICK_UP, _DROP, _TOGGLE = 3, 4, 5
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
_NOWHERE = 10_000
"""Distance of a thing that is no longer there, beyond that of all others."""


class BabyAIGoals(gym.Wrapper[Observation, Any, Observation, Any], RecordConstructorArgs):
    """Wrapper that turns the mission of a BabyAI level into goals, for an agent to follow.

    ``desired_goal`` is the goal of the first instruction that is not done yet:

    - ``go to the red ball``: ``facing=red ball``;
    - ``open the red door``: ``facing=open red door``;
    - ``pick up the red ball``: ``carrying=red ball``;
    - ``put the red ball next to the blue key``: ``carrying=red ball``, then ``carrying=red ball,
      beside=blue key``, then ``carrying=nothing``.

    A mission may mean several things (``a ball``), or say where they were at the start (``on your
    left``). The layout at the start shows which are meant, and the goal is the look of the nearest.
    If the level has several rooms, the goal also names the room of the thing: ``facing=red ball,
    room=B``, which comes before ``carrying=red ball`` too. If something else there looks the same,
    the goal does not tell them apart. If a goal already holds without its instruction being done,
    such as for a door that is open already, the opposite is asked for first.

    Reward and end are the level's own: BabyAI's verifier decides. ``info["is_success"]`` is whether
    the mission was done, ``info["n_left"]`` the number of instructions that are not done yet.

    Args:
        env: One of BabyAI's levels in :class:`~gym_attrplan.AttributeWrapper`, with its ready
            attributes.

    Raises:
        InvalidEnvironment: If the environment has no attributes, or is not one of BabyAI's levels.

    Example:
        >>> import gymnasium as gym, minigrid
        >>> from gym_attrplan import AttributeWrapper
        >>> env = BabyAIGoals(AttributeWrapper(gym.make("BabyAI-GoToLocal-v0")))
        >>> observation, info = env.reset(seed=0)
        >>> env.unwrapped.mission, env.goal
        ('go to the green ball', 'facing=green ball')
    """

    draws_what_it_saw = False
    """Whether goals are drawn from what was seen: they are those of the missions."""

    def __init__(self, env: gym.Env[Observation, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        if not env.has_wrapper_attr("attribute_space") or not hasattr(env.unwrapped, "gen_mission"):
            raise InvalidEnvironment(
                "missions become goals in BabyAI's levels with attributes: "
                f"BabyAIGoals(AttributeWrapper(gym.make('BabyAI-GoTo-v0'))); received {env}."
            )
        self._space: AttributeSpace = env.get_wrapper_attr("attribute_space")
        self._steps: list[list[_Task]] = []
        self._task: _Task | None = None

    @property
    def goal(self) -> str:
        """The current goal, in words."""
        return self._space.describe(self._vector)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Reset the level and ask for the first goal of its mission.

        Raises:
            InvalidGoal: If the mission has an unknown form.
        """
        observation, info = self.env.reset(seed=seed, options=options)
        level: Any = self.unwrapped
        mission = read_mission(level.mission)
        finder = self._finder()
        self._steps = [[_Task(one, level, finder) for one in step] for step in mission]
        self._take_up(self._steps[0][0])
        info = {**info, "is_success": False, "n_left": self._n_left}
        return self._ask(observation), info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Step the level, and ask for the next goal if an instruction is done."""
        level: Any = self.unwrapped
        held = level.carrying
        observation, _, _, truncated, info = self.env.step(action)
        self._tick_off(int(action), held)
        if action == _TOGGLE and self._task is not None:  # a box may be gone
            self._task.choose(level)
        reward = float(info["env_reward"])
        info = {**info, "is_success": reward > 0, "n_left": self._n_left}
        return self._ask(observation), reward, bool(info["env_terminated"]), truncated, info

    @property
    def _n_left(self) -> int:
        return sum(map(len, self._steps))

    def _tick_off(self, action: int, held: Any) -> None:
        """Remove the instructions that the last action has done."""
        level = self.unwrapped
        while self._steps:
            left = [task for task in self._steps[0] if not task.is_done(level, action, held)]
            self._steps[0] = left
            if left:
                self._take_up(left[0])
                return
            self._steps.pop(0)  # the same action may do one of the next, as for the verifier

    def _take_up(self, task: _Task) -> None:
        """Make a task the current one."""
        if task is not self._task:
            self._task = task
            task.choose(self.unwrapped)

    def _ask(self, observation: Observation) -> Observation:
        """Set the goal of the current task, or what follows it if it holds already."""
        achieved = observation["achieved_goal"]
        assert self._task is not None  # chosen at the reset
        goal, after = self._task.goals(self.unwrapped)
        wanted = self._space.goal(goal)
        if self._space.matches(achieved, wanted):
            wanted = self._space.goal(after)
        self._vector: IntArray = wanted
        self.env.get_wrapper_attr("set_goal")(wanted)
        return {**observation, "desired_goal": wanted.copy()}

    def _finder(self) -> RoomFinder | None:
        """Return what finds the rooms of things in this episode; None if rooms have no names."""
        names = self._space.words.get("room")
        return None if names is None else RoomFinder(self.unwrapped, names)


class RoomFinder:
    """Finds the rooms of things in one episode.

    Args:
        level: The level, at the start of the episode.
        names: The names of the rooms.
    """

    def __init__(self, level: Any, names: Sequence[str]) -> None:
        self._level, self._names = level, names
        self._scene = Scene(level)

    def find(self, thing: Any) -> str:
        """Return the name of the room of a thing; of a door, the nearer one of its two rooms."""
        column, row = self._position(thing)
        number, other = self._scene.rooms[row][column], self._scene.before[row][column]
        if number != other:
            number = self._nearer((column, row), {number, other})
        return self._names[min(number, len(self._names) - 1)]

    def number(self, i: int) -> int:
        """Return the number of the room at a cell of the grid."""
        row, column = divmod(i, int(self._level.grid.width))
        return self._scene.rooms[row][column]

    def _position(self, thing: Any) -> tuple[int, int]:
        """Return column and row of a thing, or of the agent for one that is in hand or gone."""
        grid = self._level.grid
        for i, cell in enumerate(grid.grid):
            if cell is thing:
                row, column = divmod(i, int(grid.width))
                return column, row
        return self._here

    @property
    def _here(self) -> tuple[int, int]:
        column, row = self._level.agent_pos
        return int(column), int(row)

    def _nearer(self, door: tuple[int, int], numbers: set[int]) -> int:
        """Return the room from which the agent gets to a door; locked doors are closed to it."""
        seen, front = {self._here}, [self._here]
        while front:
            for column, row in front:
                if (number := self._scene.rooms[row][column]) in numbers:
                    return number
            beyond = {(x + dx, y + dy) for x, y in front for dx, dy in _SIDES} - seen - {door}
            seen |= beyond
            front = [cell for cell in sorted(beyond) if self._is_open(*cell)]
        return max(numbers)

    def _is_open(self, column: int, row: int) -> bool:
        """Return whether the agent can get into a cell, if need be after taking what lies there."""
        thing = self._level.grid.get(column, row)
        return thing is None or not (thing.type == "wall" or getattr(thing, "is_locked", False))


class _Task:
    """An instruction in an episode, with the things that it means.

    Args:
        instruction: The instruction.
        level: The level, at the start of the episode.
        finder: Finds the rooms of things; None if the level has one room.
    """

    def __init__(self, instruction: Instruction, level: Any, finder: RoomFinder | None) -> None:
        self._finder = finder
        self._verb = instruction.verb
        fixed = instruction.fixed
        self._meant = [one.find(level) for one in (instruction.thing, fixed) if one is not None]
        self._chosen: list[Any] = []

    def is_done(self, level: Any, action: int, held: Any) -> bool:
        """Return whether the last action has done it.

        Args:
            level: The level after the action.
            action: The action.
            held: The thing that the agent carried before it.
        """
        things, front = self._meant[0], level.grid.get(*level.front_pos)
        if self._verb == "go to":
            return _is_in(front, things)
        if self._verb == "open":
            return action == _TOGGLE and _is_in(front, things) and front.is_open
        if self._verb == "pick up":
            return action == _PICK_UP and held is None and _is_in(level.carrying, things)
        dropped = action == _DROP and held is not None and front is held and _is_in(held, things)
        return dropped and any(_is_in(one, self._meant[1]) for one in _beside_front(level))

    def goals(self, level: Any) -> tuple[Named, Named]:
        """Return the goal with the chosen things, and the one to ask for where it holds.

        That is the next step of the task if there is one, and else the opposite: whatever the goal
        holds for, it was not the deed that counts.
        """
        thing, held = look(self._chosen[0]), level.carrying
        room = self._room_of(self._chosen[0])
        if self._verb == "go to":
            is_open = getattr(self._chosen[0], "is_open", False)
            return {**room, "facing": f"open {thing}" if is_open else thing}, {"facing": NOTHING}
        if self._verb == "open":
            return {**room, "facing": f"open {thing}"}, {"facing": thing}
        if self._verb == "put" and _is_in(held, self._meant[0]):
            place = {**self._room_of(self._chosen[1]), "beside": look(self._chosen[1])}
            return {"carrying": look(held), **place}, {"carrying": NOTHING}
        if room and not (held is not None and look(held) == thing):
            return {**room, "facing": thing}, {"carrying": thing}
        return {"carrying": thing}, {"carrying": NOTHING}

    def _room_of(self, thing: Any) -> Named:
        """Return the room of a thing as part of a goal; nothing if rooms do not matter."""
        return {} if self._finder is None else {"room": self._finder.find(thing)}

    def choose(self, level: Any) -> None:
        """Choose one of the things meant by each description, unless those chosen are there."""
        places = _distances(level)
        if self._chosen and all(id(one) in places for one in self._chosen):
            return
        names = {
            id(cell): (look(cell), None if self._finder is None else self._finder.number(i))
            for i, cell in enumerate(level.grid.grid)
            if cell is not None
        }
        self._chosen = []
        for things in self._meant:
            others = [names[one] for one in names.keys() - {id(thing) for thing in things}]

            def rank(one: Any, others: list[Any] = others) -> tuple[bool, int]:
                return names.get(id(one)) in others, places.get(id(one), _NOWHERE)

            self._chosen.append(min(things, key=rank))


def _is_in(thing: Any, things: list[Any]) -> bool:
    return any(thing is one for one in things)


def _beside_front(level: Any) -> list[Any]:
    """Return the contents of the cells beside the cell ahead."""
    (column, row), grid = level.front_pos, level.grid
    return [grid.get(column + x, row + y) for x, y in _SIDES]


def _distances(level: Any) -> dict[int, int]:
    """Return the distance of everything in the grid and in hand from the agent, by its id."""
    column, row = level.agent_pos
    found = {}
    for i, cell in enumerate(level.grid.grid):
        if cell is not None:
            y, x = divmod(i, level.grid.width)
            found[id(cell)] = abs(x - column) + abs(y - row)
    if level.carrying is not None:
        found[id(level.carrying)] = 0
    return found
