"""TaskEvalCallback: SB3's EvalCallback with goals that are not too easy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stable_baselines3.common.callbacks import EvalCallback

from gym_attrplan.agent.environments import EnvLike, as_vec_env
from gym_attrplan.agent.evaluation import asking_for, goals_to_ask
from gym_attrplan.agent.guard import GuardedVecEnv
from gym_attrplan.attributes import GoalLike

MAX_ENVS = 50
"""Maximum number of environments made from an id; fewer if there are fewer tasks."""


class TaskEvalCallback(EvalCallback):
    """Callback that evaluates during training, in the same way as :func:`evaluate_tasks`.

    SB3's own callback works too, but leaves the goals to the environments. Those without a sampler
    draw descriptions that they have just visited, which are easily reached again.

    Args:
        eval_env: An id, an environment or several, other than those for training.
        goals: Goals in any form; by default the environments' own tasks, or if they have no sampler
            the descriptions that the agent knows by then.
        n_eval_episodes: Number of tasks of an evaluation.
        kwargs: All other arguments of SB3's callback.

    Raises:
        InvalidOption: If ``goals`` is empty.
        InvalidGoal: If a goal does not fit the attributes.

    Example:
        >>> from gym_attrplan import AttributePlannerAgent
        >>> agent = AttributePlannerAgent("MultiInputPolicy", "AttrSwitches-v0", n_envs=8, seed=0)
        >>> callback = TaskEvalCallback("AttrSwitches-v0", goals=["switch 1=red"], eval_freq=64,
        ...                             n_eval_episodes=1, verbose=0)
        >>> agent = agent.learn(512, callback=callback)
        >>> callback.last_mean_reward >= 0.0
        True
    """

    def __init__(
        self,
        eval_env: EnvLike,
        *,
        goals: Sequence[GoalLike] | None = None,
        n_eval_episodes: int = 5,
        **kwargs: Any,
    ) -> None:
        venv = as_vec_env(eval_env, n_envs=min(n_eval_episodes, MAX_ENVS))
        # SB3 compares the type with that of the training environments as they were given.
        bare = venv.venv if isinstance(venv, GuardedVecEnv) else venv
        super().__init__(bare, n_eval_episodes=n_eval_episodes, **kwargs)
        goals_to_ask(None, self.eval_env, goals, seed=None)  # errors are raised now
        self._goals = goals

    def _on_step(self) -> bool:
        if not (self.eval_freq > 0 and self.n_calls % self.eval_freq == 0):
            return True
        wanted = goals_to_ask(self.model, self.eval_env, self._goals, seed=self.n_calls)
        with asking_for(self.eval_env, wanted):
            return super()._on_step()
