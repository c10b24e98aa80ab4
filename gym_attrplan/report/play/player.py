"""Player: one model at one task in one environment, step by step, with its plan in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from gym_attrplan.agent.journey import Journey
from gym_attrplan.agent.members import nearest_member
from gym_attrplan.attributes import FREE, AttributeSpace, GoalSet
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.graph import Plan
from gym_attrplan.graph.plan import describe_change
from gym_attrplan.report.play.reach import out_of_reach

Kind = Literal["made", "failed", "lost", "goal", "end"]


@dataclass(frozen=True)
class Event:
    """Something worth telling of an episode: at which step, of which kind, in words."""

    step: int
    kind: Kind
    words: str


@dataclass(frozen=True)
class PlannedHop:
    """A hop of a plan: what it asks for, in words, and how likely it is to work."""

    words: str
    prob: float


class Player:
    """A model that acts in an environment of its own, and an account of it.

    Meeting a goal does not end the environment's episode: another goal may be asked for then.

    Args:
        model: The agent, or anything with its ``predict``; what has a ``navigator`` plans.
        env: An attribute environment.

    Attributes:
        plan: From here to the goal; None without a planner, or if the goal is out of reach.
        following: The change that is asked for now, in words; empty if there is none.
        trouble: Why there is no plan; empty if there is one.
        events: What happened in this episode, oldest first.
        visited: The descriptions passed through, one after the other.
        reached: Whether the goal holds.
        ended: How the environment ended the episode, in words; empty while it goes on.
    """

    def __init__(self, model: Any, env: gym.Env[Any, Any]) -> None:
        if not env.has_wrapper_attr("attribute_space"):
            raise InvalidEnvironment(f"the page plays in attribute environments; received {env}.")
        env.set_wrapper_attr("terminate_on_success", False)
        self.model, self.env = model, env
        self.space: AttributeSpace = env.get_wrapper_attr("attribute_space")
        self.plan: Plan | None = None
        self.first_chance: float | None = None
        self.following = self.trouble = self.ended = ""
        self.events: list[Event] = []
        self.visited: list[IntArray] = []
        self.n_steps = self.n_steps_of_goal = 0
        self.reached = False

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do."""
        return self.reached or bool(self.ended)

    @property
    def here(self) -> IntArray:
        """``(n_attributes,)`` the description now."""
        described: IntArray = self._observation["achieved_goal"]
        return described

    @property
    def hops(self) -> list[PlannedHop]:
        """The plan from here, hop by hop."""
        if self.plan is None:
            return []
        probs = self.plan.edge_probs.tolist()
        return [PlannedHop(*hop) for hop in zip(self.plan.hops, probs, strict=True)]

    def begin(self, goal: GoalSet | None, seed: int) -> GoalSet:
        """Begin an episode; without a goal the environment draws one. Returns the goal."""
        self.events, self.n_steps, self.ended = [], 0, ""
        self._observation, _ = self.env.reset(seed=seed)
        self.visited = [self.here]
        self._before: Journey | None = None
        self._start = True
        drawn = self.space.goal_set(self._observation["desired_goal"])
        self.ask(drawn if goal is None else goal)
        return self.goal

    def ask(self, goal: GoalSet) -> None:
        """Head for this goal from now on, in the same episode."""
        self.goal, self.n_steps_of_goal, self.first_chance = goal, 0, None
        self.events.append(Event(self.n_steps, "goal", f"goal: {goal.describe()}"))
        self.reached = bool(goal.matches(self.here))
        self._show_goal(nearest_member(goal, self.here))
        self._decide()

    def step(self) -> None:
        """Take the next step, if the task is not over."""
        if self.over:
            return
        self._observation, _, terminated, truncated, _ = self.env.step(self._action)
        self._before, self._start = self._journey, False
        self.n_steps, self.n_steps_of_goal = self.n_steps + 1, self.n_steps_of_goal + 1
        if (self.here != self.visited[-1]).any():
            self.visited.append(self.here)
        self.reached = bool(self.goal.matches(self.here))
        if terminated or truncated:
            how = "the environment ended the episode" if terminated else "the time was up"
            self.ended = f"{how} after {counted(self.n_steps, 'step')}"
        self._decide()

    def outcome(self) -> str:
        """What came of the task, in a sentence; empty while it goes on."""
        if self.reached and not self.n_steps_of_goal:
            return "The goal holds here already."
        if self.reached:
            return f"Reached in {counted(self.n_steps_of_goal, 'step')}."
        return f"Not reached: {self.ended}." if self.ended else ""

    def result(self) -> str:
        """The outcome, how the hops of the episode went, and what was expected of the plan."""
        words = [self.outcome()]
        n_made, n_failed = (
            sum(event.kind == kind for event in self.events) for kind in ("made", "failed")
        )
        if self.over and n_made + n_failed:
            words.append(f"In this episode {counted(n_made, 'hop')} worked and {n_failed} failed.")
        if self.over and self.n_steps_of_goal and self.first_chance is not None:
            words.append(f"The first plan gave it a probability of {self.first_chance:.2f}.")
        return " ".join(words)

    def picture(self) -> Any:
        """What the environment draws: an array, a text, or without either the description."""
        drawn = self.env.render() if self.env.render_mode is not None else None
        return self.space.describe(self.here) if drawn is None else drawn

    def _decide(self) -> None:
        """Note what came of the last hop, and choose the next action."""
        if self.over:
            if self._before is not None and self.n_steps_of_goal:
                self._judge(self._before)
            self.plan, self.following, self.trouble = None, "", ""
            if self.n_steps_of_goal or self.ended:
                self.events.append(Event(self.n_steps, "end", self.outcome()))
            return
        self._action, journey = self.model.predict(
            self._observation, self._before, self._start, True, goal=self.goal
        )
        self._journey = journey
        if journey.n_steps[0] != 1 and self.n_steps_of_goal:
            return  # the same hop goes on
        if self._before is not None and self.n_steps_of_goal:
            self._judge(self._before)
        self._look_ahead(journey)

    def _show_goal(self, goal: IntArray) -> None:
        """Have the environment ask for the goal too: some draw it."""
        self.env.get_wrapper_attr("set_goal")(goal)

    def _look_ahead(self, journey: Journey) -> None:
        """The plan that the journey follows, in words."""
        self.following = self._asked_for(journey)
        self._show_goal(journey.goals[0])
        navigator = getattr(self.model, "navigator", None)
        self.plan, self.trouble = None, ""
        if navigator is None:
            return
        batch = {key: np.asarray(part)[None] for key, part in self._observation.items()}
        self.plan = navigator.plan(self.here, journey.goals[0], batch)
        if self.plan is None:
            self.trouble = out_of_reach(navigator.planner, self.here, self.goal)
        if self.n_steps_of_goal == 0:
            self.first_chance = None if self.plan is None else self.plan.success_prob
        if journey.lost[0]:
            self.events.append(Event(self.n_steps, "lost", "no plan leads on: exploring"))

    def _judge(self, journey: Journey) -> None:
        """Note what came of a hop that has ended."""
        words, start = self._asked_for(journey), journey.starts[0]
        if not words or not hasattr(self.model, "navigator"):
            return
        if self.space.matches(self.here, journey.targets[0]):
            self.events.append(Event(self.n_steps, "made", words))
            return
        n_steps = counted(int(journey.n_steps[0]), "step")
        happened = f"{words} did not come about in {n_steps}"
        if (self.here != start).any():
            happened += f"; {describe_change(self.space, start, self.here)} did"
        again = "" if self.over else "; planned anew"
        self.events.append(Event(self.n_steps, "failed", happened + again))

    def _asked_for(self, journey: Journey) -> str:
        """The change that a journey's hop asks for; empty if it asks for none."""
        target, start = journey.targets[0], journey.starts[0]
        change = np.where(target == start, FREE, target)
        return "" if (change == FREE).all() else self.space.describe(change)


def counted(n: int, word: str) -> str:
    """A number with its word, in the plural unless it is one."""
    return f"{n:,} {word}{'s' * (n != 1)}"
