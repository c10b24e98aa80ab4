"""AttributePlannerAgent: explore, learn to hop, plan; with the feel of an SB3 algorithm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import configure_logger, get_device, set_random_seed
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_normalize

from gym_attrplan.agent import advice, cloning, storage, supervised
from gym_attrplan.agent.bridge import make_progress_bar
from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.building import build_navigator, build_practice
from gym_attrplan.agent.change_navigator import ChangeNavigator
from gym_attrplan.agent.guard import GuardedVecEnv
from gym_attrplan.agent.hop_judge import endless_goals
from gym_attrplan.agent.hop_policy import HopPolicy
from gym_attrplan.agent.inputs import CallbackLike, Observation, as_batch, as_callback
from gym_attrplan.agent.journey import Journey
from gym_attrplan.agent.kinds import check_same_kind, origin_advice
from gym_attrplan.agent.learned import Learned
from gym_attrplan.agent.logs import Describe
from gym_attrplan.agent.low_level import build_explorer, build_low_level
from gym_attrplan.agent.members import as_vector, headed_for
from gym_attrplan.agent.missing import Missing, find_missing
from gym_attrplan.agent.navigator import Navigator
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.planner_options import PlannerOptions, checked_options
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.remote.practice import (
    BATCH_STEPS,
    N_BATCHES,
    Recipe,
    Rounds,
    working_here,
    working_in,
)
from gym_attrplan.agent.remote.vec_env import Maker
from gym_attrplan.agent.training import Training
from gym_attrplan.agent.worlds import (
    SpacesOnly,
    Worlds,
    action_choices,
    as_vec_env,
    attribute_space,
    origin,
)
from gym_attrplan.attributes import FREE, GoalLike
from gym_attrplan.error import InvalidOption, shortened
from gym_attrplan.graph import Plan, Planner, TransitionCounts
from gym_attrplan.graph.drawing import GraphDrawing
from gym_attrplan.graph.hop_model import HopModel
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.models import Examples, SuccessModel
from gym_attrplan.wrappers.origin import Origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_MISSING = 3
"""Number of hops that ``verbose`` names after training for depending on more than attributes."""


class AttributePlannerAgent:
    """Practises changes of single attributes, remembers where they lead, and plans.

    It *has* an SB3 algorithm that hops and explores, and is used like one: ``learn``, ``predict``,
    ``save``, ``load``; callbacks and ``evaluate_policy`` work on it. What it reaches are goals that
    it was never trained on.

    Args:
        policy: The SB3 policy, by name or class; observations are dicts, so
            ``"MultiInputPolicy"``, or ``"UnitPolicy"`` for environments of units.
        env: An id, an environment, a ``gymnasium.vector`` environment or a ``VecEnv``.
        low_level: The SB3 algorithm that learns to hop, by class or name: ``ppo``, ``a2c``,
            ``dqn``, ``reinforce``, ``sac``, …; or ``inverse``, a supervised model for environments
            where one action makes one transition.
        planner: ``"robust"`` (default), :class:`PlannerOptions`, or ``"paper"``: the paper's
            agent, whose hops ask for whole neighbouring descriptions after exploring first.
        hops: See :class:`AgentOptions`, as for all that follow.
        exploration: How exploring is paid.
        n_envs: Environments made of an id.
        exploration_fraction: Share of the practice that explores.
        max_hop_steps: The longest hop.
        step_penalty: Taken off the reward of every step to a neighbour.
        bonus_scale: Factor on the exploration bonus.
        practice: How neighbours are drawn.
        decay: What older attempts keep when an epoch begins.
        epoch_steps: Steps between two epochs.
        learning_rate: Of all algorithms; a number, or a function as SB3 takes it.
        gamma: Discount of all algorithms.
        policy_kwargs: Of all policies.
        anneal: Whether the learning rate falls to a tenth.
        low_level_kwargs: For the algorithm that hops.
        exploration_kwargs: For the PPO that explores first.
        seed: Of everything random.
        device: As in SB3.
        verbose: 1 prints what was found, and the log.
        tensorboard_log: Folder of TensorBoard runs.

    Raises:
        InvalidEnvironment: If the environment has no attributes, or the algorithm cannot take its
            action space.
        InvalidOption: If an option is unknown, out of range, or cannot be saved as data.

    Example:
        >>> agent = AttributePlannerAgent("MultiInputPolicy", "AttrSwitches-v0", n_envs=8, seed=0)
        >>> agent = agent.learn(total_timesteps=2_000)
        >>> agent.counts.n_edges > 0
        True
    """

    def __init__(
        self,
        policy: str | type[BasePolicy],
        env: Worlds,
        *,
        low_level: str | type[BaseAlgorithm] = "ppo",
        planner: str | PlannerOptions = "robust",
        hops: str | None = None,
        exploration: str | None = None,
        n_envs: int | None = None,
        exploration_fraction: float | None = None,
        max_hop_steps: int | None = None,
        step_penalty: float | None = None,
        bonus_scale: float | None = None,
        practice: str | None = None,
        decay: float = 0.9,
        epoch_steps: int | None = None,
        learning_rate: float | Callable[[float], float] | None = None,
        gamma: float | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        anneal: bool = True,
        low_level_kwargs: dict[str, Any] | None = None,
        exploration_kwargs: dict[str, Any] | None = None,
        seed: int | None = None,
        device: str = "auto",
        verbose: int = 0,
        tensorboard_log: str | None = None,
    ) -> None:
        if hops is None and planner == "paper":
            hops = "neighbours"
        if n_envs is not None and not isinstance(env, str | SpacesOnly):
            raise InvalidOption(
                f"n_envs={n_envs} makes so many environments of an id; an environment is one, and "
                "a vector has its number. Give an id, or make_vec_env(lambda: env, n_envs=...)."
            )
        self.options = AgentOptions.checked(
            policy=policy,
            low_level=low_level,
            hops=hops,
            exploration=exploration,
            n_envs=n_envs,
            exploration_fraction=exploration_fraction,
            max_hop_steps=max_hop_steps,
            step_penalty=step_penalty,
            bonus_scale=bonus_scale,
            practice=practice,
            decay=decay,
            epoch_steps=epoch_steps,
            learning_rate=learning_rate,
            gamma=gamma,
            policy_kwargs=policy_kwargs,
            anneal=anneal,
            low_level_kwargs=low_level_kwargs,
            exploration_kwargs=exploration_kwargs,
            seed=seed,
            device=device,
            verbose=verbose,
            tensorboard_log=tensorboard_log,
        )
        self.planner_options = checked_options(planner, hops=self.options.hops)
        self.num_timesteps = 0
        self.steps_done = {"explore": 0, "hop": 0}
        self.steps_practised = 0
        self.trained_in: Origin | None = None
        self.success_model: SuccessModel | None = None
        self.imagined: TransitionCounts | None = None
        self.normalization: dict[str, npt.NDArray[Any]] | None = None
        self._logger: Logger | None = None
        self._custom_logger = False
        self._navigator: Navigator | ChangeNavigator | None = None
        self.rng = np.random.default_rng(self.options.seed)
        self._set_up(as_vec_env(env, n_envs=self.options.n_envs))
        storage.about(self, progress={})  # what cannot be saved is said before training

    def _set_up(self, venv: VecEnv) -> None:
        """Build what learns on the environments, so that whatever does not fit is said at once."""
        options = self.options
        self.env: VecEnv = venv
        if options.seed is not None:
            venv.seed(options.seed)
        self.attribute_space = attribute_space(venv)
        assert isinstance(venv.observation_space, spaces.Dict)  # attribute environments have one
        self.observation_space, self.action_space = venv.observation_space, venv.action_space
        self.action_choices = action_choices(venv)
        self.counts = TransitionCounts(self.attribute_space)
        self.attempts = AttemptBuffer(self.observation_space, capacity=options.n_attempts_kept)
        self.examples = (
            ExampleBuffer(self.observation_space, self.action_space) if options.is_inverse else None
        )
        self.outcomes = HopOutcomes(self.attribute_space)
        self.hop_model = HopModel(self.attribute_space)
        self.hops = build_practice(self, venv)
        self.low_level: Any = build_low_level(
            options,
            self.hops,
            self.attribute_space,
            examples=self.examples,
            action_choices=self.action_choices,
        )
        self.explorer: Any = self.low_level
        if not options.asks_for_changes:
            self.explorer = build_explorer(
                options,
                venv,
                self.counts,
                self.low_level,
                examples=self.examples,
                rng=self.rng,
            )

    # --- learning ---------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        callback: CallbackLike = None,
        log_interval: int | None = 1,
        tb_log_name: str = "AttributePlanner",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> AttributePlannerAgent:
        """Practise: hop and explore in turn; or, to neighbours, explore first and then hop.

        Args:
            total_timesteps: Steps over all environments and both phases.
            callback: SB3 callbacks; they see this agent as their ``model``, and ``False`` from one
                of them stops all phases.
            log_interval: Rollouts between two dumps of the log; None for none.
            tb_log_name: Name of the TensorBoard run.
            reset_num_timesteps: False goes on in the phase where the last call stopped.
            progress_bar: Whether to show a bar per phase.

        Ctrl-C keeps everything learned so far: the agent can be saved, asked and trained on.

        Raises:
            InvalidOption: If there is no step to take.
            InvalidEnvironment: If an environment fails: its process dies, or an observation is not
                finite. What was learned before is kept.
        """
        if not total_timesteps >= 1:
            raise InvalidOption(f"total_timesteps is at least 1; received {total_timesteps}.")
        self.trained_in = origin(self.env)
        if reset_num_timesteps:
            self.num_timesteps = self.low_level.num_timesteps = self.explorer.num_timesteps = 0
            self.steps_done = {"explore": 0, "hop": 0}
        if self.options.seed is not None:
            self._seed_all()
        self.counts.compact()  # draws go by its order, which a loaded agent has
        verbose, log = self.options.verbose, self.options.tensorboard_log
        if self._logger is None or (reset_num_timesteps and not self._custom_logger):
            self._logger = configure_logger(verbose, log, tb_log_name, reset_num_timesteps)
        inner = as_callback(callback)
        inner.init_callback(self)  # type: ignore[arg-type]
        inner.on_training_start({"total_timesteps": total_timesteps, "self": self}, {})
        with make_progress_bar(progress_bar) as progress, endless_goals(self.env):
            training = Training(self, inner, log_interval=log_interval, progress=progress)
            try:
                training.run(self.num_timesteps + total_timesteps)
            finally:
                self._navigator = None
                self._fit_success_model()
                self._imagine()
        inner.on_training_end()
        self._report()
        return self

    def practise(
        self,
        total_timesteps: int,
        workers: int = 0,
        *,
        make_env: Maker | None = None,
        address: str | None = None,
        batch_steps: int = BATCH_STEPS,
        round_batches: int = N_BATCHES,
        timeout: float = 600.0,
        checkpoint: str | Path | None = None,
        log_interval: int | None = 1,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> AttributePlannerAgent:
        """Hop and explore without learning, in many workers: the graph grows, the policy stays.

        Before training that explores far; after it, it tells how surely the hops work. The work is
        cut into batches, and what a batch counts depends on its number and on what was known when
        its round began, not on who works on it: any number of workers counts the same.

        Args:
            total_timesteps: Steps over all workers, rounded up to whole batches.
            workers: How many, each with a processor and as many environments as the agent has;
                0 practises here and needs no Ray.
            make_env: What makes the environments of a worker: an id, or a function that makes one,
                or a batch. By default the id that the agent's environments were made of.
            address: Of the Ray cluster, ``host:port`` or ``"auto"``; by default this machine.
            batch_steps: Steps of a batch, over its environments.
            round_batches: Batches of a round.
            timeout: Seconds after which a worker that is silent counts as dead.
            checkpoint: Where to save the agent after every round. One that was killed is loaded
                from there and called again, with ``reset_num_timesteps=False``.
            log_interval: Rounds between two dumps of the log; None for none.
            reset_num_timesteps: False goes on towards ``total_timesteps``.
            progress_bar: Whether to show a bar.

        Workers that die are replaced. Ctrl-C ends them and keeps the rounds that are complete.

        Raises:
            InvalidOption: If an option is out of range, the agent's hops ask for neighbours, or the
                cluster is not there.
            InvalidEnvironment: If environments cannot be made elsewhere, or keep failing.
            DependencyNotInstalled: If there are workers and no ray.
        """
        rounds = Rounds.checked(
            self, total_timesteps, batch_steps=batch_steps, n_batches=round_batches
        )
        if checkpoint is not None:
            storage.check_target(checkpoint)
        working = working_here(self)
        if workers:
            recipe = Recipe.of(self, make_env)
            working = working_in(recipe, workers, address=address, timeout=timeout)
        self._navigator = None
        with make_progress_bar(progress_bar) as progress, endless_goals(self.env), working as run:
            if not isinstance(self.env, SpacesOnly):  # workers have environments where it has none
                self.trained_in = origin(self.env)
            if reset_num_timesteps:
                self.steps_practised = 0
                self.outcomes.start_epoch(self.options.decay)
            for i, figures in enumerate(rounds.run(self, total_timesteps, run, progress), start=1):
                for name, value in figures.items():
                    self.logger.record(f"practise/{name}", value)
                if log_interval is not None and i % log_interval == 0:
                    self.logger.dump(self.steps_practised)
                if checkpoint is not None:
                    self.save(checkpoint)
        return self

    def _fit_success_model(self) -> None:
        """Learn how likely hops are from the state at hand; of few attempts the table knows all."""
        wanted = self.planner_options.first_edge and not self.options.asks_for_changes
        if not wanted or len(self.attempts) < supervised.MIN_ATTEMPTS:
            return
        if self.success_model is None:
            self.success_model = self.new_success_model()
        supervised.fit_success_model(self.success_model, self.attempts)
        self._navigator = None

    def new_success_model(self) -> SuccessModel:
        """A success model for this agent's observations that knows nothing yet."""
        return supervised.new_success_model(
            self.observation_space,
            self.low_level,
            device=self.options.device,
            seed=self.options.seed,
        )

    def _imagine(self) -> None:
        """Let an inverse learner's forward model draw a graph of its own."""
        if self.examples is None or len(self.examples) < supervised.MIN_ATTEMPTS:
            return
        self.imagined = supervised.imagine(self.low_level, self.examples, self.rng)
        self._navigator = None

    def _seed_all(self) -> None:
        """Draw a new seed for everything random, so that a loaded agent draws as this one would."""
        seed = int(self.rng.integers(2**31))
        set_random_seed(seed, using_cuda=get_device(self.options.device).type == "cuda")
        self.action_space.seed(seed)
        self.env.seed(seed)

    def learn_from(
        self,
        log: Any,
        *,
        describe: Describe | None = None,
        n_updates: int | None = None,
        progress_bar: bool = False,
    ) -> AttributePlannerAgent:
        """Learn from recorded episodes, without a step in an environment.

        Episodes are cut where attributes change. The hop policy copies what was done before each
        change, the kinds of changes are counted, and plans are made of them, also through
        descriptions that the log does not hold. :meth:`learn` may go on from there. An agent that
        has learned nothing yet gets a larger network, unless it was given ``policy_kwargs``.

        Args:
            log: An npz file or a mapping with ``observations``, ``actions`` and ``terminals``; a
                list of episodes, each a mapping with ``observations`` and ``actions``; a Minari
                dataset; or an SB3 replay buffer.
            describe: ``(n, …)`` observations → ``(n, n_attributes)`` descriptions, such as a
                detector's ``predict``. By default the log holds them, as ``attributes`` or as
                ``achieved_goal`` of its observations.
            n_updates: How many batches of 256 steps to copy; by default every step fifteen times,
                and at least 2,000.
            progress_bar: Whether to show a bar.

        Raises:
            InvalidOption: If the agent's hops ask for neighbours, its algorithm has no policy of
                actor and critic (``ppo``, ``a2c``, ``reinforce``), or there is nothing to do.
            InvalidEnvironment: If a wrapper normalises what the agent sees: the log is not.
            InvalidData: If the log has none of these forms, other spaces, numbers that are not
                finite, episodes of one state, or no change of an attribute.
            InvalidAttributes: If a description does not belong to the attributes.
        """
        if n_updates is not None and n_updates < 1:
            raise InvalidOption(f"n_updates is at least 1; received {n_updates}.")
        recorded, hops = cloning.read_log(self, log, describe)
        self.trained_in = origin(self.env)
        if not (self.num_timesteps or len(self.hop_model) or self.options.names_policy_kwargs):
            self.options = replace(self.options, policy_kwargs=cloning.POLICY)
            self._set_up(self.env)
        cloning.learn_from_log(self, recorded, hops, n_updates=n_updates, progress_bar=progress_bar)
        self._navigator = None
        return self

    def explain_hop(self, change: GoalLike) -> list[str]:
        """What hops that bring about a change alter beside it, need, and are worth, in words.

        Args:
            change: The attributes to change. There is a line for every kind of hop, of those that
                a log has shown, that changes all of them.
        """
        wanted = self.attribute_space.goal(change) != FREE
        kinds = np.flatnonzero((self.hop_model.kinds[:, wanted] != 0).all(axis=1))
        return [self.hop_model.explain(int(kind)) for kind in kinds]

    def add_examples(self, examples: Examples) -> None:
        """Take over what actions did elsewhere, in a log or a simulator, as if explored here.

        They count as steps of exploring. Attributes must be those the agent will see: with a
        detector, its own word.

        Args:
            examples: States, actions, and the attributes before and after.

        Raises:
            InvalidOption: If the low level learns from nothing but its own steps.
            InvalidData: If there are too few examples, lengths differ, a state is not finite or an
                action is none of the environment's.
        """
        if self.examples is None:
            raise InvalidOption(
                f"only low_level='inverse' learns from examples; this agent's is "
                f"{self.options.low_level!r}."
            )
        self.low_level.inverse.check(examples)
        self.examples.add_examples(examples)
        moved = (examples.attributes != examples.next_attributes).any(axis=1)
        self.counts.record(examples.attributes[moved], examples.next_attributes[moved])
        self.num_timesteps += len(examples)
        self.steps_done["explore"] += len(examples)
        self._navigator = None

    def _report(self) -> None:
        """Say in the log, and with ``verbose`` in words, what there is to plan with."""
        if self.counts.n_nodes == 0:
            return
        planner = self.navigator.planner
        probs = planner.edge_probs() if planner.counts.n_nodes else np.zeros(0)
        figures: dict[str, float] = {"nodes": self.counts.n_nodes, "edges": self.counts.n_edges}
        if len(probs):
            figures |= {"weakest_edge": float(probs.min()), "mean_edge": float(probs.mean())}
        for name, value in figures.items():
            self.logger.record(f"plan/{name}", value)
        self.logger.dump(self.num_timesteps)
        if self.options.verbose and planner.counts.n_nodes:
            print(advice.summary(planner))
            for missing in self.find_missing()[:_MAX_MISSING]:
                print(missing)
        advice.warn(self.find_problems())

    def find_problems(self) -> list[str]:
        """What the hops say about the attributes and options, and what to do about it, in words."""
        if isinstance(self.hops, PracticeVecEnv):
            limit = self.hops.lengths.limit
            return advice.on_practice(
                self.counts, self.outcomes, n_steps=self.num_timesteps, max_hop_steps=limit
            )
        edges = self.counts.edges()
        tried = float(edges.attempts.sum()), float(edges.successes.sum())
        assert self.options.max_hop_steps is not None  # neighbours have a default
        return advice.on_hopping(*tried, max_hop_steps=self.options.max_hop_steps)

    def find_missing(self) -> list[Missing]:
        """Hops whose success depends on more than the attributes, the most success lost first.

        The newest attempts of training are asked, with the states that they started from.
        """
        attempts = self.attempts
        return find_missing(attempts.observations, attempts.reached, self.attribute_space)

    # --- acting -----------------------------------------------------------------------------

    def predict(
        self,
        observation: Observation,
        state: Journey | None = None,
        episode_start: npt.ArrayLike | None = None,
        deterministic: bool = False,
        *,
        goal: GoalLike | None = None,
    ) -> tuple[npt.NDArray[Any], Journey]:
        """Plan, then act: the action of the hop policy towards the next node of the plan.

        Args:
            observation: Of one environment or of a batch of them.
            state: What the last call returned; None begins new journeys.
            episode_start: ``(n,)`` where an episode has just begun.
            deterministic: Whether to take the most likely action; a planner that samples samples.
            goal: What to head for instead of the observation's ``desired_goal``, in any form that
                ``AttributeSpace.goal_set`` reads, such as ``"ore>=3 or lamp"``.

        Returns:
            The action or actions, and the state to give to the next call.
        """
        batch, single = as_batch(observation, self.attribute_space, self.observation_space)
        n = len(batch["achieved_goal"])
        begun = False if episode_start is None else episode_start
        starts = np.broadcast_to(np.asarray(begun, np.bool_), n)
        asked = None if goal is None else self.attribute_space.goal_set(goal)
        if asked is not None:
            batch["desired_goal"] = headed_for(
                asked, batch["achieved_goal"], state, starts, self.navigator.plan
            )
        journey = self.navigator.advance(state, batch, starts)
        journey.asked = asked
        policy = HopPolicy(
            self.low_level,
            self.explorer,
            self.planner_options,
            draw=self.options.asks_for_changes,
        )
        actions = policy.act(batch, journey, deterministic=deterministic)
        return (actions[0] if single else actions), journey

    def plan(self, observation: Observation, goal: GoalLike | None = None) -> Plan | None:
        """The plan from an observation to a goal; None if there is none.

        Args:
            observation: Where to begin.
            goal: Where to go, in any form that ``AttributeSpace.goal_set`` reads; by default the
                observation's own goal.
        """
        batch, _ = as_batch(observation, self.attribute_space, self.observation_space)
        here, navigator = batch["achieved_goal"][0], self.navigator
        wanted = batch["desired_goal"][0] if goal is None else goal
        wanted = as_vector(self.attribute_space, wanted, here, navigator.plan)
        plan = navigator.plan(here, wanted, batch)
        if plan is None:
            advice.warn([advice.on_goal(self.counts, here, wanted)])
        return plan

    def plot_graph(
        self,
        goal: GoalLike | None = None,
        *,
        start: npt.ArrayLike | None = None,
        max_nodes: int = 300,
        ax: Axes | None = None,
    ) -> Axes:
        """The graph that plans are made over, with the plan for a goal drawn through it.

        Neighbours lie together, and darker edges work more often.

        Args:
            goal: Where to go, in any form that ``AttributeSpace.goal_set`` reads; None draws no
                plan. If there is none, the title says so.
            start: ``(n_attributes,)`` the description where the plan begins; by default the one
                that hops started from or ended in most often.
            max_nodes: Most nodes to draw: the plan's, or the most visited one, and what is near.
            ax: Where to draw; new axes by default.

        Raises:
            InvalidGoal: If the goal does not belong to the attributes.
            InvalidGraph: If nothing was explored yet.
            InvalidOption: If the plan has more nodes than may be drawn.
            DependencyNotInstalled: If matplotlib is missing.
        """
        planner, plan = self.graph, None
        if goal is not None:
            here = GraphDrawing.of(planner, max_nodes=1).vectors[0] if start is None else start
            plan = self.navigator.plan(self.attribute_space.check(here, leading=()), goal)
        drawing = GraphDrawing.of(
            planner, ways=[] if plan is None else [plan.vectors], max_nodes=max_nodes
        )
        ax = drawing.plot(plan, ax=ax)
        if goal is not None:
            wanted = self.attribute_space.describe(self.attribute_space.read_goal(goal))
            found = "no plan" if plan is None else plan.summary
            ax.set_title(f"{found}, to {shortened(wanted)}\n{drawing.about}", fontsize=10)
        return ax

    @property
    def navigator(self) -> Navigator | ChangeNavigator:
        """What follows the plans; made anew when the graph or the options have changed."""
        if self._navigator is None:
            self._navigator = build_navigator(self)
        return self._navigator

    @property
    def graph(self) -> Planner:
        """What hops did, as a graph; of an agent that has only read logs, the transitions there."""
        planner = self.navigator.planner
        return planner if planner.counts.n_nodes else Planner(self.counts)

    def set_planner(self, planner: str | PlannerOptions) -> None:
        """Plan in another way from now on; what was learned stays.

        Raises:
            InvalidOption: If it plans over whole descriptions, and hops ask for changes.
        """
        self.planner_options = checked_options(planner, hops=self.options.hops)
        self._navigator = None
        if self.success_model is None:
            self._fit_success_model()

    # --- an SB3 citizen ---------------------------------------------------------------------

    @property
    def logger(self) -> Logger:
        """The log of all phases."""
        if self._logger is None:
            self._logger = configure_logger(self.options.verbose, self.options.tensorboard_log)
        return self._logger

    def set_logger(self, logger: Logger) -> None:
        """Log elsewhere."""
        self._logger = logger
        self._custom_logger = True

    @property
    def n_envs(self) -> int:
        """Number of environments."""
        return self.env.num_envs

    def get_env(self) -> VecEnv:
        """The environments as they were given: callbacks compare their kind with that of others."""
        return self.env.venv if isinstance(self.env, GuardedVecEnv) else self.env

    def get_vec_normalize_env(self) -> VecNormalize | None:
        """The normalising wrapper among them, if there is one."""
        return unwrap_vec_normalize(self.env)

    def set_env(self, env: Worlds) -> None:
        """Train in other environments with the same attributes, observations and actions.

        Raises:
            InvalidEnvironment: If they differ.
        """
        venv = as_vec_env(env, n_envs=self.options.n_envs)
        assert isinstance(venv.observation_space, spaces.Dict)  # attribute environments have one
        mine = (self.attribute_space, self.observation_space, self.action_space)
        check_same_kind(mine, (attribute_space(venv), venv.observation_space, venv.action_space))
        advice.warn(origin_advice(self.trained_in, origin(venv)))
        learned = Learned.by(self)
        self._set_up(venv)
        learned.give_to(self)
        self._navigator = None

    def save(self, path: str | Path, include: Collection[str] = ("attempts", "examples")) -> None:
        """Write everything learned into one zip of plain data, whole or not at all.

        Args:
            path: The zip; ``.zip`` is added if it is missing.
            include: What of the agent's experience to keep beside what it learned from it:
                ``"attempts"``, ``"examples"`` and ``"replay_buffer"`` (of DQN, SAC, …; it may be
                large). A loaded agent that has all of them trains on as if never saved.

        Raises:
            InvalidOption: If ``include`` names anything else.
        """
        storage.save(self, path, include)

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: Worlds | None = None,
        *,
        custom_objects: Mapping[str, type[Any]] | None = None,
        max_bytes: int | None = None,
        **changes: Any,
    ) -> Any:
        """An agent that :meth:`save` wrote.

        The file is data: nothing in it is run, and nothing is imported because it says so.

        Args:
            path: The zip.
            env: Worlds to train on in; without any the agent acts but cannot learn.
            custom_objects: ``"module:Name"`` → your own class, of a policy, algorithm, network or
                optimizer that the agent was made with; without it, import that module first.
            max_bytes: What the file may unpack to, and what the buffers it asks for may take; by
                default 4 GiB, and less for a file that says it unpacks to a hundred times its size.
            changes: Options to change, such as ``device`` or ``verbose``.

        Raises:
            InvalidArchive: If the file is truncated, foreign, damaged or newer than this library.
            InvalidEnvironment: If the environment is not of the kind the agent was made for.
            InvalidOption: If a change is out of range, or the buffers would be too large.
        """
        return storage.load(
            cls, path, env, changes, custom_objects=custom_objects, max_bytes=max_bytes
        )
