"""QuickTraining: an agent trained in a thread, with its progress, while a page is served."""

from __future__ import annotations

import threading
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from gym_attrplan.agent import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.report.play.setup import Setup


class QuickTraining:
    """Trains an agent with the defaults, beside whatever else the process does.

    Args:
        env_id: The id of the environment.
        env_kwargs: For the environment.
        total_timesteps: Steps of training.
        seed: Of everything.

    Attributes:
        n_steps: Steps taken so far.
        n_descriptions: Descriptions seen so far.
        setup: What to play with; None until the training is done.
        error: What went wrong, in words; empty if nothing did.
    """

    def __init__(
        self,
        env_id: str,
        env_kwargs: dict[str, Any],
        *,
        total_timesteps: int,
        seed: int = 0,
    ) -> None:
        self.env_id, self.env_kwargs = env_id, env_kwargs
        self.total_timesteps, self.seed = total_timesteps, seed
        self.n_steps = self.n_descriptions = 0
        self.setup: Setup | None = None
        self.error = ""
        self._stopped = False

    @property
    def progress(self) -> float:
        """The share of the steps that is done."""
        return min(self.n_steps / self.total_timesteps, 1.0)

    def start(self) -> None:
        """Begin, and return at once."""
        threading.Thread(target=self.run, name="training", daemon=True).start()

    def stop(self) -> None:
        """Have the training end soon; what was learned by then is played with."""
        self._stopped = True

    def run(self) -> None:
        """Train; whatever goes wrong is kept in words."""
        try:
            # Made in this thread: an environment may draw, and drawing is tied to a thread.
            envs = as_vec_env(self.env_id, env_kwargs=self.env_kwargs)
            agent = AttributePlannerAgent("MultiInputPolicy", envs, seed=self.seed)
            agent.learn(self.total_timesteps, callback=_Watch(self), log_interval=None)
            self.setup = Setup.of(agent, self.env_id, self.env_kwargs)
        except Exception as error:  # the user's environment may raise anything
            self.error = f"{type(error).__name__}: {error}"

    def note(self, agent: AttributePlannerAgent) -> bool:
        """Note how far an agent has come; whether it is to go on."""
        self.n_steps, self.n_descriptions = agent.num_timesteps, agent.counts.n_nodes
        return not self._stopped


class _Watch(BaseCallback):
    """Tells a training how far its agent has come."""

    def __init__(self, training: QuickTraining) -> None:
        super().__init__()
        self._training = training

    def _on_step(self) -> bool:
        agent: Any = self.model  # the agent shows itself as the callback's model
        return self._training.note(agent)
