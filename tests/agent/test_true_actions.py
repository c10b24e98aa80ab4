"""TrueActions: what chance did is what the learner is told."""

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from test_practice import practice

from gym_attrplan.agent.learners import ALGORITHMS
from gym_attrplan.agent.low_level import build
from gym_attrplan.agent.true_actions import TrueActions


class Watch(BaseCallback):
    """Keeps what was done in every step, and looks at the buffer before anything is learned."""

    def __init__(self, env):
        super().__init__()
        self._env = env
        self._done = []
        self.n_replaced = 0

    def _on_step(self):
        self._done.append(self._env.actions.copy())
        self.n_replaced += len(self._env.replaced)
        return True

    def _on_rollout_end(self):
        buffer = self.model.rollout_buffer
        done = np.array(self._done)
        assert buffer.actions[:, :, 0].tolist() == done.tolist()
        n = done.size
        seen = {
            key: torch.as_tensor(part.reshape(n, -1)) for key, part in buffer.observations.items()
        }
        with torch.no_grad():
            log_probs = self.model.policy.evaluate_actions(seen, torch.as_tensor(done.ravel()))[1]
        np.testing.assert_allclose(buffer.log_probs.ravel(), log_probs.numpy(), atol=1e-5)
        self._done.clear()


@pytest.mark.parametrize("name", ["ppo", "a2c"])
def test_the_buffer_holds_what_was_done_with_the_policys_probability(name):
    env = practice(n=8, explore_share=0.0, hopeless=1.0, lesson_share=0.0)
    model = build(ALGORITHMS[name], "MultiInputPolicy", env, {"n_steps": 32}, anneal=False, seed=0)
    watch = Watch(env)
    model.learn(512, [TrueActions(env), watch])
    assert 60 < watch.n_replaced < 220  # half of the hops are noisy, half of their actions replaced
    assert not env.is_noisy


def test_a_learner_that_cannot_be_told_is_left_alone():
    env = practice(n=8, explore_share=0.0, hopeless=1.0, lesson_share=0.0)
    kwargs = {"learning_starts": 1_000, "replay_buffer_class": None}
    model = build(ALGORITHMS["dqn"], "MultiInputPolicy", env, kwargs, anneal=False, seed=0)
    model.learn(200, TrueActions(env))
    assert not len(env.replaced)
