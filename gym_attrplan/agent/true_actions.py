"""TrueActions: a learner learns from what was done, also where that was not its own choice."""

from __future__ import annotations

import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from gym_attrplan.agent.practice import PracticeVecEnv


class TrueActions(BaseCallback):
    """Puts the random actions of noisy hops in the place of those that the policy had chosen.

    A policy that keeps away from what it is asked for would otherwise be praised for keeping away
    whenever chance takes it there. The probability of such an action is the policy's, as if it had
    chosen it: the gradient is then that of any other action, however unlikely this one is.

    Args:
        practice: Where actions are replaced, while an on-policy algorithm learns from it.
    """

    def __init__(self, practice: PracticeVecEnv) -> None:
        super().__init__()
        self._practice = practice

    def _on_training_start(self) -> None:
        self._practice.is_noisy = isinstance(self.model, OnPolicyAlgorithm)

    def _on_step(self) -> bool:
        rows = self._practice.replaced
        if len(rows):
            assert isinstance(self.model, OnPolicyAlgorithm)
            chosen, log_probs = self.locals["actions"], self.locals["log_probs"]
            chosen[rows] = self._practice.actions[rows]
            seen = {key: part[rows] for key, part in self.locals["obs_tensor"].items()}
            with torch.no_grad():
                actions = torch.as_tensor(chosen[rows], device=self.model.device)
                log_probs[rows] = self.model.policy.evaluate_actions(seen, actions)[1]
        return True

    def _on_training_end(self) -> None:
        self._practice.is_noisy = False
