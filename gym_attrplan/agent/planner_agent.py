"""AttributePlannerAgent: explores, learns to hop and plans, with the interface of SB3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
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
from gym_attrplan.agent.added import AddedVecEnv, AnyEnv, with_added
from gym_attrplan.agent.bridge import make_progress_bar
from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.building import build_navigator, build_practice
from gym_attrplan.agent.change_navigator import ChangeNavigator
from gym_attrplan.agent.environments import (
    EnvLike,
    SpacesOnly,
    action_choices,
    as_vec_env,
    attribute_space,
    origin,
)
from gym_attrplan.agent.guard import GuardedVecEnv
from gym_attrplan.agent.hop_judge import endless_goals
from gym_attrplan.agent.hop_policy import HopPolicy
from gym_attrplan.agent.inputs import (
    CallbackLike,
    Observation,
    as_batch,
    as_callback,
    check_batch,
)
from gym_attrplan.agent.journey import Journey
from gym_attrplan.agent.kinds import Kind, check_same_kind, origin_advice
from gym_attrplan.agent.learned import Learned
from gym_attrplan.agent.logs import Describe
from gym_attrplan.agent.low_level import build_explorer, build_low_level
from gym_attrplan.agent.members import as_vector, headed_for
from gym_attrplan.agent.missing import Missing, find_missing, find_needless, symbols_of
from gym_attrplan.agent.navigator import Navigator
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.planner_options import PlannerOptions, check_ignored, checked_options
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.refining import Ask, Omission, Refinement, check_name, refine
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
from gym_attrplan.attributes import FREE, GoalLike, GoalSet
from gym_attrplan.error import InvalidOption, shortened
from gym_attrplan.graph import Plan, Planner, TransitionCounts
from gym_attrplan.graph.drawing import GraphDrawing
from gym_attrplan.graph.hop_model import HopModel
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.models import Examples, SuccessModel
from gym_attrplan.models.questions import Question, asked_parts
from gym_attrplan.wrappers.origin import Origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_MISSING = 3
"""Number of hops that ``verbose`` names after training for depending on more than attributes."""


class AttributePlannerAgent:
    """Agent that practises changes of single attributes, records their outcomes, and plans.

    It *contains* an SB3 algorithm that hops and explores, and has the same interface: ``learn``,
    ``predict``, ``save``, ``load``; callbacks and ``evaluate_policy`` work with it. It reaches
    goals that it was never trained on.

    Args:
        policy: The SB3 policy, by name or class; observations are dicts, so
            ``"MultiInputPolicy"``, or ``"UnitPolicy"`` for environments of units.
        env: An id, an environment, a ``gymnasium.vector`` environment or a ``VecEnv``.
        low_level: The SB3 algorithm that learns to hop, by class or name: ``ppo``, ``a2c``,
            ``dqn``, ``reinforce``, ``sac``, …; ``recurrent_ppo`` and ``maskable_ppo`` of
            sb3-contrib; or ``inverse``, a supervised model for environments
            in which one action makes one transition.
        planner: ``"robust"`` (default), :class:`PlannerOptions`, or ``"paper"``: the paper's
            agent, which explores first and then hops to whole neighbouring descriptions.
        hops: See :class:`AgentOptions` for this and all following options.
        exploration: How to explore.
        n_envs: Number of environments made from an id.
        exploration_fraction: Share of the training that explores.
        max_hop_steps: Maximum length of a hop, in steps.
        step_penalty: Subtracted from the reward of every step to a neighbour.
        bonus_scale: Factor on the exploration bonus.
        practice: How neighbours are drawn.
        decay: Factor on older attempts when an epoch begins.
        epoch_steps: Number of steps between two epochs.
        learning_rate: Learning rate of all algorithms; a number, or a function as in SB3.
        gamma: Discount of all algorithms.
        policy_kwargs: Arguments of all policies.
        anneal: Whether the learning rate falls to a tenth.
        low_level_kwargs: Arguments of the algorithm that hops.
        exploration_kwargs: Arguments of the PPO that explores first.
        questions: Questions about the observation, whose answers are further attributes.
        seed: Seed of all random draws.
        device: As in SB3.
        verbose: 1 prints results, and the log.
        tensorboard_log: Folder of TensorBoard runs.

    Raises:
        InvalidEnvironment: If the environment has no attributes, or the algorithm does not support
            its action space.
        InvalidOption: If an option is unknown, out of range, or cannot be saved as data.
        DependencyNotInstalled: If the algorithm belongs to sb3-contrib, which is missing.

    Example:
        >>> agent = AttributePlannerAgent("MultiInputPolicy", "AttrSwitches-v0", n_envs=8, seed=0)
        >>> agent = agent.learn(total_timesteps=2_000)
        >>> agent.counts.n_edges > 0
        True
    """

    def __init__(
        self,
        policy: str | type[BasePolicy],
        env: EnvLike,
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
        questions: Mapping[str, Question] | None = None,
        seed: int | None = None,
        device: str = "auto",
        verbose: int = 0,
        tensorboard_log: str | None = None,
    ) -> None:
        if hops is None and planner == "paper":
            hops = "neighbours"
        if n_envs is not None and not isinstance(env, str | SpacesOnly):
            raise InvalidOption(
                f"n_envs={n_envs} is the number of environments to make from an id; env is one "
                "already, or a vector. Give an id, or make_vec_env(lambda: env, n_envs=...)."
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
            questions=questions,
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
        self.rng = np.random.default_rng(self.options.seed)
        self._set_up(as_vec_env(env, n_envs=self.options.n_envs))
        storage.about(self, progress={})  # raises now if the options cannot be saved

    def _set_up(self, venv: VecEnv) -> None:
        """Build the learners on the environments, so that errors are raised before training."""
        options = self.options
        self._navigator: Navigator | ChangeNavigator | None = None
        self.env: VecEnv = venv
        if options.seed is not None:
            venv.seed(options.seed)
        self.given = _kind(venv)
        venv = self.extend(venv)
        self.added = venv.added if isinstance(venv, AddedVecEnv) else None
        self.attribute_space = attribute_space(venv)
        check_ignored(self.planner_options, self.attribute_space)
        assert isinstance(venv.observation_space, spaces.Dict)  # attribute environments have one
        self.observation_space, self.action_space = venv.observation_space, venv.action_space
        self.action_choices = action_choices(venv)
        self.counts = TransitionCounts(self.attribute_space)
        changes = options.asks_for_changes
        kept = asked_parts(self.observation_space) if changes else self.observation_space
        self.attempts = AttemptBuffer(kept, capacity=options.n_attempts_kept, keep_ends=changes)
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

    def extend(self, env: AnyEnv) -> AnyEnv:
        """Return environments with the attributes that the agent has added to their own."""
        return with_added(env, self.options.questions)

    def as_batch(self, observation: Observation) -> tuple[Observation, bool]:
        """Convert an observation, or a batch, to a batch with all attributes of the agent.

        Returns:
            The batch, and whether it was a single observation.

        Raises:
            InvalidEnvironment: If the observation is not one of the agent's environments.
            InvalidGoal: If a vector's length differs from the number of attributes.
        """
        batch, single = as_batch(observation)
        if self.added is not None and self.added.are_missing(batch["achieved_goal"]):
            batch = self.added.extend(batch)
        check_batch(batch, self.attribute_space, self.observation_space)
        return batch, single

    def _whole(self, goal: GoalLike) -> GoalLike:
        """Leave added attributes free in a vector of the environments' own attributes."""
        named = isinstance(goal, str | Mapping | GoalSet)
        if named or self.added is None or not self.added.are_missing(goal):
            return goal
        return self.added.extend_goals(goal)  # type: ignore[arg-type]

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
        """Train: mix hops and exploration; with ``hops="neighbours"`` explore first, then hop.

        Args:
            total_timesteps: Number of steps over all environments and both phases.
            callback: SB3 callbacks; they see this agent as their ``model``, and ``False`` from one
                of them stops all phases.
            log_interval: Number of rollouts between two dumps of the log; None for none.
            tb_log_name: Name of the TensorBoard run.
            reset_num_timesteps: False resumes in the phase where the last call stopped.
            progress_bar: Whether to show a progress bar per phase.

        Ctrl-C keeps everything learned so far: the agent can be saved, used and trained further.

        Raises:
            InvalidOption: If ``total_timesteps`` is below 1.
            InvalidEnvironment: If an environment fails: its process dies, or an observation is not
                finite. Everything learned before is kept.
        """
        if not total_timesteps >= 1:
            raise InvalidOption(f"total_timesteps is at least 1; received {total_timesteps}.")
        self.trained_in = origin(self.env)
        if reset_num_timesteps:
            self.num_timesteps = self.low_level.num_timesteps = self.explorer.num_timesteps = 0
            self.steps_done = {"explore": 0, "hop": 0}
        if self.options.seed is not None:
            self._seed_all()
        self.counts.compact()  # draws depend on its order, which a loaded agent also has
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

        Before training this explores widely. After training it measures the success of hops. The
        work is split into batches. The counts of a batch depend only on its number and on the
        agent at the start of its round, so they are the same for any number of workers.

        Args:
            total_timesteps: Number of steps over all workers, rounded up to whole batches.
            workers: Number of workers, each with a processor and as many environments as the agent
                has; 0 practises in this process and needs no Ray.
            make_env: An id, or a function that makes one environment or a batch for a worker. By
                default the id that the agent's environments were made from.
            address: Address of the Ray cluster, ``host:port`` or ``"auto"``; by default this
                machine.
            batch_steps: Number of steps of a batch, over its environments.
            round_batches: Number of batches of a round.
            timeout: Number of seconds without an answer after which a worker counts as dead.
            checkpoint: File to save the agent to after every round. To resume after a crash, load
                it and call this method again with ``reset_num_timesteps=False``.
            log_interval: Number of rounds between two dumps of the log; None for none.
            reset_num_timesteps: False resumes towards ``total_timesteps``.
            progress_bar: Whether to show a progress bar.

        Dead workers are replaced. Ctrl-C ends the workers and keeps the complete rounds.

        Raises:
            InvalidOption: If an option is out of range, the agent's hops ask for neighbours, or the
                cluster is not available.
            InvalidEnvironment: If workers cannot make environments, or environments keep failing.
            DependencyNotInstalled: If ``workers`` is above 0 and ray is missing.
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
            if not isinstance(self.env, SpacesOnly):  # an agent without environments has no origin
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
        """Fit the success model of hops; with few attempts the table is as good."""
        wanted = self.planner_options.first_edge and not self.options.asks_for_changes
        if not wanted or len(self.attempts) < supervised.MIN_ATTEMPTS:
            return
        if self.success_model is None:
            self.success_model = self.new_success_model()
        supervised.fit_success_model(self.success_model, self.attempts)
        self._navigator = None

    def new_success_model(self) -> SuccessModel:
        """Return an untrained success model for this agent's observations."""
        return supervised.new_success_model(
            self.observation_space,
            self.low_level,
            names=self.attribute_space.value_names(),
            device=self.options.device,
            seed=self.options.seed,
        )

    def _imagine(self) -> None:
        """Let an inverse learner's forward model build a graph of its own."""
        if self.examples is None or len(self.examples) < supervised.MIN_ATTEMPTS:
            return
        self.imagined = supervised.imagine(self.low_level, self.examples, self.rng)
        self._navigator = None

    def _seed_all(self) -> None:
        """Draw a new seed for all generators, so that a loaded agent draws the same."""
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

        Episodes are cut where attributes change. The hop policy imitates the actions before each
        change, and the kinds of changes are counted. Plans consist of these changes, also through
        descriptions that the log does not contain. :meth:`learn` can continue the training. An
        untrained agent gets a larger network, unless it was given ``policy_kwargs``.

        Args:
            log: An npz file or a mapping with ``observations``, ``actions`` and ``terminals``; a
                list of episodes, each a mapping with ``observations`` and ``actions``; a Minari
                dataset; or an SB3 replay buffer.
            describe: ``(n, …)`` observations → ``(n, n_attributes)`` descriptions, such as a
                detector's ``predict``. By default the log contains them, as ``attributes`` or as
                ``achieved_goal`` of its observations.
            n_updates: Number of batches of 256 steps to train on; by default fifteen passes over
                all steps, and at least 2,000 batches.
            progress_bar: Whether to show a progress bar.

        Raises:
            InvalidOption: If the agent's hops ask for neighbours, its algorithm has no policy with
                actor and critic, without memory or masks (``ppo``, ``a2c``, ``reinforce``), or
                ``n_updates`` is below 1.
            InvalidEnvironment: If a wrapper normalises the agent's observations, unlike the log's.
            InvalidData: If the log has none of these formats, other spaces, numbers that are not
                finite, episodes of one state, or no change of an attribute.
            InvalidAttributes: If a description does not fit the attributes.
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
        """Describe the hops that make a change: side effects, conditions and success, in words.

        Args:
            change: The attributes to change. There is a line for each kind of hop in the log that
                changes all of them.
        """
        wanted = self.attribute_space.goal(change) != FREE
        kinds = np.flatnonzero((self.hop_model.kinds[:, wanted] != 0).all(axis=1))
        return [self.hop_model.explain(int(kind)) for kind in kinds]

    def add_examples(self, examples: Examples) -> None:
        """Add the effects of actions from elsewhere, such as a log or a simulator.

        They count as steps of exploration. Their attributes must be those that the agent sees; with
        a detector, its predictions.

        Args:
            examples: States, actions, and the attributes before and after.

        Raises:
            InvalidOption: If the low level learns from nothing but its own steps.
            InvalidData: If there are too few examples, lengths differ, a state is not finite or an
                action does not belong to the environment.
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
        """Log a summary of the graph, and print it with ``verbose``."""
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
        """Return problems of the attributes and options that the hops show, with remedies."""
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
        attempts, symbols = self.attempts, symbols_of(self.trained_in)
        return find_missing(
            attempts.observations, attempts.reached, self.attribute_space, symbols=symbols
        )

    def find_needless(self) -> list[str]:
        """Attributes on which the success of no hop to another attribute depends.

        The newest attempts of training are asked. An attribute is named only if they could have
        shown a dependence. Goals may still name it.
        """
        return find_needless(
            self.attempts.observations, self.attempts.reached, self.attribute_space
        )

    def refine(
        self,
        n_new: int = 1,
        total_timesteps: int | None = None,
        *,
        n_tasks: int = 400,
        ask: Ask | None = None,
        drop: bool = False,
        callback: CallbackLike = None,
        progress_bar: bool = False,
    ) -> list[Refinement | Omission]:
        """Add attributes where hops depend on more than the attributes, and practise with them.

        The questions that :meth:`find_missing` names become attributes, one after the other: their
        answers are part of every description, hops ask for them, and goals may name them. The
        attempts that the agent keeps are counted again with them, and training goes on. An
        attribute that does not raise the share of solved tasks is removed again, with everything
        learned since.

        Args:
            n_new: Maximum number of attributes to add.
            total_timesteps: Number of steps of training for each; by default a fifth of those so
                far, divided by ``n_new``.
            n_tasks: Number of tasks, in the agent's own environments, before and after.
            ask: Function from a finding to the name of the attribute, or None to leave it out; by
                default every finding is tried, and named by its question.
            drop: Whether plans are to ignore the attributes that :meth:`find_needless` names,
                unless a goal names them. If fewer tasks are solved without them, they stay.
            callback: SB3 callbacks for the training.
            progress_bar: Whether to show a progress bar.

        Returns:
            What was tried, with the tasks solved before and after, and whether it was kept.

        Raises:
            InvalidOption: If a number is below 1, hops ask for neighbours, the agent has not
                practised, or its network cannot grow.
            InvalidEnvironment: If the agent was loaded without an environment.
        """
        return refine(
            self,
            n_new,
            total_timesteps,
            n_tasks=n_tasks,
            ask=ask,
            drop=drop,
            learn=partial(self.learn, callback=callback, progress_bar=progress_bar),
        )

    def name_attribute(self, name: str, new_name: str) -> None:
        """Give an added attribute another name.

        Raises:
            InvalidOption: If the agent has added no attribute of this name, or the new one is
                taken.
            InvalidAttributes: If goals could not read the new name.
        """
        questions = self.options.questions
        if name not in questions:
            raise InvalidOption(
                f"the agent has added {list(questions) or 'no attributes'}; received {name!r}."
            )
        check_name(self, new_name)
        renamed = {new_name if one == name else one: asked for one, asked in questions.items()}
        learned = Learned.by(self)
        if (ignored := self.planner_options.ignore) is not None:
            ignored = tuple(new_name if one == name else one for one in ignored)
            self.planner_options = replace(self.planner_options, ignore=ignored)
        self.begin_with(renamed)
        learned.give_to(self)

    def begin_with(self, questions: Mapping[str, Question]) -> None:
        """Build the learners anew for other added attributes; they have learned nothing."""
        self.options = replace(self.options, questions=dict(questions))
        self._set_up(self.env)

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
        """Plan, then act: return the hop policy's action towards the next node of the plan.

        Args:
            observation: Of one environment or of a batch.
            state: The state that the last call returned; None starts new journeys.
            episode_start: ``(n,)`` whether an episode has just begun.
            deterministic: Whether to take the most probable action; no effect if
                ``sample_actions`` is set.
            goal: Goal to use instead of the observation's ``desired_goal``, in any form that
                ``AttributeSpace.goal_set`` reads, such as ``"ore>=3 or lamp"``.

        Returns:
            The action or actions, and the state to give to the next call.
        """
        batch, single = self.as_batch(observation)
        n = len(batch["achieved_goal"])
        begun = False if episode_start is None else episode_start
        starts = np.broadcast_to(np.asarray(begun, np.bool_), n)
        asked = None if goal is None else self.attribute_space.goal_set(self._whole(goal))
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
            is_random=isinstance(self.hops, PracticeVecEnv) and self.hops.chance.is_random,
        )
        actions = policy.act(batch, journey, deterministic=deterministic)
        return (actions[0] if single else actions), journey

    def plan(self, observation: Observation, goal: GoalLike | None = None) -> Plan | None:
        """Return the plan from an observation to a goal; None if there is none.

        Args:
            observation: The start.
            goal: The goal, in any form that ``AttributeSpace.goal_set`` reads; by default the
                observation's own goal.
        """
        batch, _ = self.as_batch(observation)
        here, navigator = batch["achieved_goal"][0], self.navigator
        wanted = batch["desired_goal"][0] if goal is None else self._whole(goal)
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
        """Draw the graph, with the plan for a goal.

        Neighbours lie close together. Darker edges have a higher success probability.

        Args:
            goal: The goal, in any form that ``AttributeSpace.goal_set`` reads; None draws no
                plan. If there is no plan, the title says so.
            start: ``(n_attributes,)`` the description where the plan begins; by default the one
                in which hops started or ended most often.
            max_nodes: Maximum number of nodes: the plan's, or the most visited one, and those
                nearby.
            ax: Axes to draw on; new ones by default.

        Raises:
            InvalidGoal: If the goal does not fit the attributes.
            InvalidGraph: If nothing was explored yet.
            InvalidOption: If the plan has more than ``max_nodes`` nodes.
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
        """The navigator, which follows plans; rebuilt when the graph or the options change."""
        if self._navigator is None:
            self._navigator = build_navigator(self)
        return self._navigator

    @property
    def graph(self) -> Planner:
        """The graph of hops; of an agent that has only read logs, of their transitions."""
        planner = self.navigator.planner
        return planner if planner.counts.n_nodes else Planner(self.counts)

    def set_planner(self, planner: str | PlannerOptions) -> None:
        """Change the planner; everything learned stays.

        Raises:
            InvalidOption: If it plans over whole descriptions, and hops ask for changes, or if it
                ignores an attribute that there is not.
        """
        options = checked_options(planner, hops=self.options.hops)
        check_ignored(options, self.attribute_space)
        self.planner_options = options
        self._navigator = None
        if self.success_model is None:
            self._fit_success_model()

    # --- the interface of SB3 ---------------------------------------------------------------

    @property
    def logger(self) -> Logger:
        """The logger of all phases."""
        if self._logger is None:
            self._logger = configure_logger(self.options.verbose, self.options.tensorboard_log)
        return self._logger

    def set_logger(self, logger: Logger) -> None:
        """Set the logger."""
        self._logger = logger
        self._custom_logger = True

    @property
    def n_envs(self) -> int:
        """Number of environments."""
        return self.env.num_envs

    def get_env(self) -> VecEnv:
        """Return the environments as given, whose type callbacks compare with that of others."""
        return self.env.venv if isinstance(self.env, GuardedVecEnv) else self.env

    def get_vec_normalize_env(self) -> VecNormalize | None:
        """Return the normalising wrapper of the environments, if there is one."""
        return unwrap_vec_normalize(self.env)

    def set_env(self, env: EnvLike) -> None:
        """Set other environments to train in, with the same attributes, observations and actions.

        Raises:
            InvalidEnvironment: If they differ.
        """
        venv = as_vec_env(env, n_envs=self.options.n_envs)
        check_same_kind(self.given, _kind(venv))
        advice.warn(origin_advice(self.trained_in, origin(venv)))
        learned = Learned.by(self)
        self._set_up(venv)
        learned.give_to(self)

    def save(self, path: str | Path, include: Collection[str] = ("attempts", "examples")) -> None:
        """Save everything learned to one zip of plain data; a crash leaves the old file intact.

        Args:
            path: The zip; ``.zip`` is added if it is missing.
            include: Parts of the agent's experience to save beside what it learned:
                ``"attempts"``, ``"examples"`` and ``"replay_buffer"`` (of DQN, SAC, …; it may be
                large). An agent saved with all of them resumes training as if never saved.

        Raises:
            InvalidOption: If ``include`` names anything else.
        """
        storage.save(self, path, include)

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: EnvLike | None = None,
        *,
        custom_objects: Mapping[str, type[Any]] | None = None,
        max_bytes: int | None = None,
        **changes: Any,
    ) -> Any:
        """Load an agent that :meth:`save` wrote.

        The file is data: no code in it is run, and no module is imported because it names it.

        Args:
            path: The zip.
            env: Environments for further training; without them the agent can act but not learn.
            custom_objects: ``"module:Name"`` → your own class of a policy, algorithm, network or
                optimizer that the agent was made with; without it, import that module first.
            max_bytes: Maximum size in bytes of the unpacked file, and of the buffers; by default
                4 GiB, and less for a file that unpacks to more than a hundred times its size.
            changes: Options to change, such as ``device`` or ``verbose``.

        Raises:
            InvalidArchive: If the file is truncated, foreign, damaged or newer than this library.
            InvalidEnvironment: If the environment does not fit the agent.
            InvalidOption: If a change is out of range, or the buffers would be too large.
        """
        return storage.load(
            cls, path, env, changes, custom_objects=custom_objects, max_bytes=max_bytes
        )


def _kind(venv: VecEnv) -> Kind:
    """Return the spaces of environments."""
    assert isinstance(venv.observation_space, spaces.Dict)  # attribute environments have one
    return attribute_space(venv), venv.observation_space, venv.action_space
