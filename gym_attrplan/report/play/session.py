"""Session: what one tab of the page plays, without the page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from gym_attrplan.attributes import AttributeSpace, GoalLike, GoalSet
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidOption, did_you_mean
from gym_attrplan.graph import Planner
from gym_attrplan.report.play.pictures import Picture, as_picture
from gym_attrplan.report.play.player import Player
from gym_attrplan.report.play.setup import Setup
from gym_attrplan.report.play.suggestions import Suggestion, suggest_goals


class Session:
    """An agent at a task, and perhaps a rival at the same one beside it.

    Whatever the environment or a model raises is kept as :attr:`error`, in words; a new episode
    tries again.

    Args:
        setup: The agent and its environment.
        seed: Of the first episode.

    Attributes:
        playing: Whether steps are to follow each other without being asked for.
        speed: How many of them in a second, at most.
        error: What went wrong, in words; empty if nothing did.
        rival: The name of who plays beside the agent; None for nobody.
        owner: Who plays: of two pages with one session, before and after a reload, the newer.
        pictures: What each player's environment looks like now.
        suggestions: Goals near and far from where the episode began.
    """

    def __init__(self, setup: Setup, *, seed: int = 0) -> None:
        self.setup, self.seed = setup, seed
        self.goal: GoalSet | None = None
        self.playing, self.speed = False, 10
        self.error = ""
        self.rival: str | None = None
        self.players: list[Player] = []
        self.owner = ""
        self.pictures: list[Picture] = []
        self.suggestions: list[Suggestion] = []
        self.new_episode(seed)

    @property
    def space(self) -> AttributeSpace:
        """The attributes."""
        return self.setup.agent.attribute_space

    @property
    def planner(self) -> Planner:
        """The agent's graph."""
        return self.setup.agent.graph

    @property
    def over(self) -> bool:
        """Whether no player has anything left to do."""
        return all(player.over for player in self.players)

    def new_episode(self, seed: int | None = None) -> None:
        """Begin an episode with the same goal; by default with the next seed."""
        self.seed = self.seed + 1 if seed is None else seed
        self.error = ""
        self._guarded(self._begin)

    def ask(self, wanted: GoalLike) -> None:
        """Head for another goal in the same episode, or in a new one if that has ended.

        Raises:
            InvalidGoal: If the goal does not belong to the attributes.
        """
        self.goal = self.space.goal_set(wanted)
        if self.error or not self.players or any(player.ended for player in self.players):
            self.new_episode(self.seed)
        else:
            self._guarded(self._ask)

    def ask_attribute(self, column: int, value: int) -> None:
        """Have the goal ask for one value of one attribute, or with -1 leave it free."""
        vector = self.goal_vector()
        vector[column] = value
        self.ask(vector)

    def goal_vector(self) -> IntArray:
        """The goal as values, -1 for what is free; all free if one vector cannot hold it."""
        goal = self.goal if self.goal is not None and self.goal.is_vector else None
        return self.space.goal({} if goal is None else goal)

    def step(self) -> None:
        """One step of every player whose task is not over."""
        self._guarded(self._step)
        if self.over or self.error:
            self.playing = False

    def compare_with(self, rival: str | None) -> None:
        """Begin the task again with a rival beside the agent, or alone.

        Raises:
            InvalidOption: If there is no such rival.
        """
        if rival is not None and rival not in self.setup.rivals:
            offered = did_you_mean(rival, self.setup.rivals)
            raise InvalidOption(f"a rival is one that is offered; received {rival!r}. {offered}")
        self.rival = rival
        self._close(self.players[1:])
        self.new_episode(self.seed)

    def close(self) -> None:
        """Close the environments."""
        self.playing = False
        self._close(self.players)

    def _begin(self) -> None:
        models = [self.setup.agent]
        models += [] if self.rival is None else [self.setup.rivals[self.rival]]
        for model in models[len(self.players) :]:
            self.players.append(Player(model, self.setup.make_env()))
        first, *others = self.players
        drawn = first.begin(self.goal, self.seed)
        self.suggestions = suggest_goals(self.planner, first.here, seed=self.seed)
        if self.goal is None:
            self.goal = self._first_goal(drawn)
            if self.goal != drawn:
                first.begin(self.goal, self.seed)
        for player in others:
            player.begin(self.goal, self.seed)
        self._draw()

    def _first_goal(self, drawn: GoalSet) -> GoalSet:
        """What the environment has drawn; where it knows only its start, a goal of the graph."""
        env = self.players[0].env
        knows_more = not env.get_wrapper_attr("draws_what_it_saw") and not self.players[0].reached
        if knows_more or not self.suggestions:
            return drawn
        return self.space.goal_set(self.suggestions[-1].words)

    def _ask(self) -> None:
        assert self.goal is not None  # ask() has just set it
        for player in self.players:
            player.ask(self.goal)
        self._draw()

    def _step(self) -> None:
        for player in self.players:
            player.step()
        self._draw()

    def _draw(self) -> None:
        self.pictures = [as_picture(player.picture()) for player in self.players]

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # the user's environment may raise anything
            self.error = f"{type(error).__name__}: {error}"
            self.close()

    def _close(self, players: list[Player]) -> None:
        self.players = [player for player in self.players if player not in players]
        for player in players:
            with suppress(Exception):  # an environment that has failed may fail again
                player.env.close()
