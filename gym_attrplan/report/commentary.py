"""Commentary: what an agent is after, moment by moment, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.change_navigator import ChangeNavigator
from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.graph.plan import Plan, describe_change
from gym_attrplan.report.episodes import Moment


@dataclass
class Hop:
    """A hop that was begun.

    Attributes:
        words: What it changes.
        prob: How likely it is by the plan that it begins; None where there is none.
        target: ``(n_attributes,)`` what it asks for, -1 for what is free.
        status: ``now``, ``done`` or ``failed``.
    """

    words: str
    prob: float | None
    target: npt.NDArray[Any]
    status: str = "now"

    def __str__(self) -> str:
        return self.words if self.prob is None else f"{self.words}, {self.prob:.2f}"


class Commentary:
    """Follows an agent through an episode; of other models it tells the goal alone.

    Args:
        model: Who acts.
        space: The attributes.
    """

    def __init__(self, model: Any, space: AttributeSpace) -> None:
        self._agent = model if hasattr(model, "navigator") else None
        self._space = space
        self.goal = ""
        self.plan = ""
        self.hops: list[Hop] = []
        self.outcome = ""
        self.solved = False
        self.n_steps = 0

    def follow(self, moment: Moment) -> None:
        """Take in the next moment of the episode, the start first."""
        wanted, self.n_steps = moment.observation["desired_goal"], moment.n_steps
        self.goal = self._space.describe(wanted)
        if self._agent is not None:
            if moment.n_steps:
                self._follow_hop(moment)
            else:
                self.plan = _summary(self._agent.navigator.plan(moment.description, wanted))
        self._before = moment
        if moment.done:
            self.solved = moment.solved
            word = "goal reached after" if moment.solved else "goal not reached in"
            self.outcome = f"{word} {self.n_steps} steps"

    def _follow_hop(self, moment: Moment) -> None:
        journey, here = moment.state, self._before.description
        if journey.n_steps[0] == 1:  # a hop began with this step
            if self.hops and self.hops[-1].status == "now":
                self.hops[-1].status = "failed"
            self._begin(journey, here)
        hop = self.hops[-1]
        if hop.status == "now" and (hop.target != FREE).any():
            held = (moment.description == hop.target) | (hop.target == FREE)
            if held.all():
                hop.status = "done"
            elif moment.done and not moment.solved:  # a goal may be reached on the way
                hop.status = "failed"

    def _begin(self, journey: Any, here: npt.NDArray[Any]) -> None:
        assert self._agent is not None  # of others no hop is followed
        target = journey.targets[0]
        navigator = self._agent.navigator
        plan: Plan | None = (
            navigator.followed_plan(journey, 0, here)
            if isinstance(navigator, ChangeNavigator)
            else navigator.plan(here, journey.goals[0])
        )
        self.plan = _summary(plan)
        if journey.lost[0]:
            self.hops.append(Hop("explore", None, np.full_like(target, FREE)))
            return
        words = describe_change(self._space, here, target)
        prob = None
        if plan is not None and plan.hops[:1] == [words]:
            prob = float(plan.edge_probs[0])
        self.hops.append(Hop(words, prob, target))


def _summary(plan: Plan | None) -> str:
    return "no plan is known" if plan is None else plan.summary
