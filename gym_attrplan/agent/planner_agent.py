"""AttributePlannerAgent: explore, learn to hop, plan; with the feel of an SB3 algorithm."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import configure_logger, get_device, set_random_seed
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_normalize

from gym_attrplan.agent import advice, lessons, storage
from gym_attrplan.agent.bridge import make_progress_bar
from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.guard import GuardedVecEnv
from gym_attrplan.agent.inputs import CallbackLike, Observation, as_batch, as_callback
from gym_attrplan.agent.kinds import check_same_kind, origin_advice
from gym_attrplan.agent.learned import Learned
from gym_attrplan.agent.low_level import build_explorer, build_low_level
from gym_attrplan.agent.navigator import Journey, Navigator, PlannerOptions, checked_options
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.phases import HopVecEnv, endless_goals
from gym_attrplan.agent.retries import searching_actions, wandering_actions
from gym_attrplan.agent.training import Training
from gym_attrplan.agent.worlds import Worlds, action_choices, as_vec_env, attribute_space, origin
from gym_attrplan.attributes import FREE, GoalLike
from gym_attrplan.error import InvalidOption
from gym_attrplan.graph import Plan, TransitionCounts
from gym_attrplan.models import Examples, SuccessModel
from gym_attrplan.wrappers.origin import Origin


class AttributePlannerAgent:
    """Explores the graph of attribute transitions, learns to hop along its edges, and plans.

    It *has* SB3 algorithms, one that explores and one that hops, and is used like one: ``learn``,
    ``predict``, ``save``, ``load``; callbacks and ``evaluate_policy`` work on it. What it reaches
    are goals that it was never trained on.

    Args:
        policy: The SB3 policy of both algorithms, by name or class; observations are dicts, so
            ``"MultiInputPolicy"``, or ``"UnitPolicy"`` for environments of units.
        env: The worlds: an id, an environment, a ``gymnasium.vector`` environment or a ``VecEnv``.
        low_level: The SB3 algorithm that learns to hop, by class or name: ``ppo``, ``a2c``,
            ``dqn``, ``reinforce``, ``sac``, …; or ``inverse``, a supervised model for worlds where
            one action makes one transition.
        exploration: ``"bonus"``, ``"count_bonus"``, ``"random"``, or with an inverse model
            ``"surprise"``: on to what is rare, by foresight.
        planner: ``"robust"`` (default), ``"paper"``, or :class:`PlannerOptions`.
        options: What else there is to choose, each a field of :class:`AgentOptions`.

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
        exploration: str | None = None,
        planner: str | PlannerOptions = "robust",
        **options: Any,
    ) -> None:
        self.options = AgentOptions.checked(
            policy=policy, low_level=low_level, exploration=exploration, **options
        )
        self.planner_options = checked_options(planner)
        self.num_timesteps = 0
        self.steps_done = {"explore": 0, "hop": 0}
        self.trained_in: Origin | None = None
        self.success_model: SuccessModel | None = None
        self.imagined: TransitionCounts | None = None
        self.normalization: dict[str, npt.NDArray[Any]] | None = None
        self._logger: Logger | None = None
        self._custom_logger = False
        self._navigator: Navigator | None = None
        self.rng = np.random.default_rng(self.options.seed)
        self._set_up(as_vec_env(env, n_envs=self.options.n_envs))
        storage.about(self, progress={})  # what cannot be saved is said before training

    def _set_up(self, venv: VecEnv) -> None:
        """Build both algorithms on the worlds, so that whatever does not fit is said at once."""
        options = self.options
        self.env: VecEnv = venv
        if options.seed is not None:
            venv.seed(options.seed)
        self.attribute_space = attribute_space(venv)
        assert isinstance(venv.observation_space, spaces.Dict)  # attribute environments have one
        self.observation_space, self.action_space = venv.observation_space, venv.action_space
        self.action_choices = action_choices(venv)
        self.counts = TransitionCounts(self.attribute_space)
        self.attempts = AttemptBuffer(
            self.observation_space, capacity=500_000 if options.is_inverse else 30_000
        )
        self.examples = (
            ExampleBuffer(self.observation_space, self.action_space) if options.is_inverse else None
        )
        self.hops = HopVecEnv(
            venv,
            self.counts,
            self.attempts,
            max_hop_steps=options.max_hop_steps,
            step_penalty=options.step_penalty,
            rng=self.rng,
            examples=self.examples,
            practice=options.practice,
        )
        self.low_level: Any = build_low_level(self)
        self.explorer: Any = build_explorer(self)

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
        """Explore for ``exploration_fraction`` of the steps, then learn to hop.

        Args:
            total_timesteps: Steps over all worlds and both phases.
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
                lessons.fit_success_model(self)
                lessons.imagine(self)
        inner.on_training_end()
        self._report()
        return self

    def _seed_all(self) -> None:
        """Draw a new seed for everything random, so that a loaded agent draws as this one would."""
        seed = int(self.rng.integers(2**31))
        set_random_seed(seed, using_cuda=get_device(self.options.device).type == "cuda")
        self.action_space.seed(seed)
        self.env.seed(seed)

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
        probs = self.navigator.planner.edge_probs()
        figures: dict[str, float] = {"nodes": self.counts.n_nodes, "edges": self.counts.n_edges}
        figures |= {"weakest_edge": float(probs.min()), "mean_edge": float(probs.mean())}
        for name, value in figures.items():
            self.logger.record(f"plan/{name}", value)
        self.logger.dump(self.num_timesteps)
        if self.options.verbose:
            print(advice.summary(self.navigator.planner))
        advice.warn(advice.on_hopping(self.counts, max_hop_steps=self.options.max_hop_steps))

    # --- acting -----------------------------------------------------------------------------

    def predict(
        self,
        observation: Observation,
        state: Journey | None = None,
        episode_start: npt.ArrayLike | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], Journey]:
        """Plan, then act: the action of the hop policy towards the next node of the plan.

        Args:
            observation: Of one environment or of a batch of them.
            state: What the last call returned; None begins new journeys.
            episode_start: ``(n,)`` where an episode has just begun.
            deterministic: Whether to take the most likely action; a planner that samples samples.

        Returns:
            The action or actions, and the state to give to the next call.
        """
        batch, single = as_batch(observation, self.attribute_space, self.observation_space)
        n = len(batch["achieved_goal"])
        begun = False if episode_start is None else episode_start
        starts = np.broadcast_to(np.asarray(begun, np.bool_), n)
        journey = self.navigator.advance(state, batch, starts)
        shape = (n, *(self.action_space.shape or ()))
        actions = np.zeros(shape, self.action_space.dtype)
        if journey.actions is not None:
            actions[journey.foreseen] = journey.actions[journey.foreseen]
        hopping = np.flatnonzero(~journey.foreseen & ~journey.lost)
        if len(hopping):
            rows = {**batch, "desired_goal": journey.targets}
            rows = {key: part[hopping] for key, part in rows.items()}
            actions[hopping] = self._hop(rows, journey, hopping, deterministic)
        lost = np.flatnonzero(journey.lost)
        if len(lost):
            rows = {key: part[lost] for key, part in batch.items()}
            rows["desired_goal"] = np.full_like(rows["desired_goal"], FREE)
            if deterministic:
                actions[lost] = wandering_actions(self.explorer, rows, journey, lost)
            else:
                actions[lost] = self.explorer.predict(rows, deterministic=False)[0]
        return (actions[0] if single else actions), journey

    def _hop(
        self,
        rows: Observation,
        journey: Journey,
        envs: npt.NDArray[np.int64],
        deterministic: bool,
    ) -> npt.NDArray[Any]:
        """The hop policy's actions."""
        options = self.planner_options
        deterministic = deterministic and not options.sample_actions
        if deterministic and options.retry_cost:
            return searching_actions(self.low_level, rows, journey, envs)
        return np.asarray(self.low_level.predict(rows, deterministic=deterministic)[0])

    def plan(self, observation: Observation, goal: GoalLike | None = None) -> Plan | None:
        """The plan from an observation to a goal, by default its own; None if there is none."""
        batch, _ = as_batch(observation, self.attribute_space, self.observation_space)
        wanted = batch["desired_goal"][0] if goal is None else goal
        here, planner = batch["achieved_goal"][0], self.navigator.planner
        plan = planner.plan(here, wanted, unknown_start="nearest") if self.counts.n_nodes else None
        if plan is None:
            advice.warn([advice.on_goal(planner, here, wanted)])
        return plan

    @property
    def navigator(self) -> Navigator:
        """What follows the plans; made anew when the graph or the options have changed."""
        if self._navigator is None:
            self._navigator = Navigator(
                lessons.planning_graph(self),
                self.planner_options,
                max_hop_steps=self.options.max_hop_steps,
                continuum=isinstance(self.action_space, spaces.Box),
                success_probs=self.success_model and self.success_model.predict,
                foresight=lessons.foresight(self),
            )
        return self._navigator

    def set_planner(self, planner: str | PlannerOptions) -> None:
        """Plan in another way from now on; what was learned stays."""
        self.planner_options = checked_options(planner)
        self._navigator = None
        if self.success_model is None:
            lessons.fit_success_model(self)

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
        """Number of worlds."""
        return self.env.num_envs

    def get_env(self) -> VecEnv:
        """The environments as they were given: callbacks compare their kind with that of others."""
        return self.env.venv if isinstance(self.env, GuardedVecEnv) else self.env

    def get_vec_normalize_env(self) -> VecNormalize | None:
        """The normalising wrapper among them, if there is one."""
        return unwrap_vec_normalize(self.env)

    def set_env(self, env: Worlds) -> None:
        """Train in other worlds with the same attributes, observations and actions.

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
