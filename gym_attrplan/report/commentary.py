"""Commentary: what an agent is after, moment by moment, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.graph.plan import describe_change
from gym_attrplan.report.calibration import hop_probs
from gym_attrplan.report.episodes import Moment


@dataclass
class Hop:
    """A hop that was begun.

    Attributes:
        words: What it changes.
        prob: How likely it is, by what is known; None where nothing is.
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
        if moment.state is None:
            self.goal = self._space.describe(moment.observation["desired_goal"])
            self._look_ahead(moment.description, moment.observation["desired_goal"])
        else:
            self.n_steps += 1
            if self._agent is not None:
                self._follow_hop(moment)
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
            elif moment.done:
                hop.status = "failed"

    def _begin(self, journey: Any, here: npt.NDArray[Any]) -> None:
        assert self._agent is not None  # of others no hop is followed
        target = journey.targets[0]
        self._look_ahead(here, journey.goals[0])
        if journey.lost[0]:
            self.hops.append(Hop("explore", None, np.full_like(target, FREE)))
            return
        probs, known = hop_probs(self._agent, here[None], target[None])
        words = describe_change(self._space, here, target)
        self.hops.append(Hop(words, float(probs[0]) if known[0] else None, target))

    def _look_ahead(self, here: npt.NDArray[Any], goal: npt.NDArray[Any]) -> None:
        if self._agent is not None:
            plan = self._agent.navigator.plan(here, goal)
            self.plan = "no plan is known" if plan is None else plan.summary
