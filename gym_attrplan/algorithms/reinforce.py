"""Reinforce: Monte-Carlo policy gradient, which Stable-Baselines3 does not have."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import torch
from gymnasium import spaces
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import (
    ActorCriticCnnPolicy,
    ActorCriticPolicy,
    BasePolicy,
    MultiInputActorCriticPolicy,
)
from stable_baselines3.common.type_aliases import (
    GymEnv,
    MaybeCallback,
    RolloutBufferSamples,
    Schedule,
)
from stable_baselines3.common.utils import explained_variance
from torch.nn import functional

from gym_attrplan.error import InvalidData

Baseline = Literal["moment", "value"]
BASELINES: tuple[Baseline, ...] = ("moment", "value")


class Reinforce(OnPolicyAlgorithm):
    """Williams' REINFORCE, with the interface of SB3's A2C.

    The probability of every action is raised in proportion to the discounted return that followed
    it, minus a baseline. One gradient step is made per rollout, over all of it.

    Rollouts have a fixed length and cut episodes off. The return of a cut episode is bootstrapped
    with the value of its last state, and so is that of an episode ended by a time limit. An episode
    that terminated ends with its last reward. Only for this purpose there is a value head even with
    ``baseline="moment"``. Longer rollouts depend on it less: with ``n_steps`` of several episodes
    this is the textbook's algorithm, with few steps it resembles A2C.

    Args:
        policy: ``"MlpPolicy"``, ``"CnnPolicy"``, ``"MultiInputPolicy"``, or a class.
        env: An environment, a ``VecEnv`` or an id.
        learning_rate: A number, or a function of the progress remaining (from 1 to 0).
        n_steps: Number of steps of each environment per update.
        gamma: Discount.
        baseline: ``"moment"`` subtracts the mean of the rollout's returns and divides by their
            standard deviation; ``"value"`` subtracts the value head's estimate.
        ent_coef: Weight of the entropy in the loss.
        vf_coef: Weight of the value head's error in the loss.
        max_grad_norm: Gradients are clipped to this norm.
        use_rms_prop: RMSprop, or Adam; ``policy_kwargs["optimizer_class"]`` overrides both.
        rms_prop_eps: RMSprop's epsilon.
        options: Further arguments of SB3's on-policy algorithms: ``policy_kwargs``, ``seed``,
            ``device``, ``tensorboard_log``, ``verbose``, …

    Raises:
        InvalidData: If ``baseline`` is none of the two.

    Example:
        >>> model = Reinforce("MlpPolicy", "CartPole-v1", n_steps=32, seed=0, device="cpu")
        >>> model = model.learn(64)
        >>> action, _ = model.predict(model.get_env().reset(), deterministic=True)
        >>> action.shape
        (1,)
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": ActorCriticPolicy,
        "CnnPolicy": ActorCriticCnnPolicy,
        "MultiInputPolicy": MultiInputActorCriticPolicy,
    }

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 1e-3,
        n_steps: int = 128,
        gamma: float = 0.99,
        *,
        baseline: Baseline = "moment",
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        use_rms_prop: bool = True,
        rms_prop_eps: float = 1e-5,
        _init_setup_model: bool = True,
        **options: Any,
    ) -> None:
        if baseline not in BASELINES:
            raise InvalidData(f"baseline is one of {BASELINES}; received {baseline!r}.")
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            n_steps=n_steps,
            gamma=gamma,
            gae_lambda=1.0,  # Monte-Carlo returns
            ent_coef=ent_coef,
            vf_coef=vf_coef,
            max_grad_norm=max_grad_norm,
            use_sde=False,
            sde_sample_freq=-1,
            _init_setup_model=False,
            supported_action_spaces=(
                spaces.Box,
                spaces.Discrete,
                spaces.MultiDiscrete,
                spaces.MultiBinary,
            ),
            **options,
        )
        self.baseline: Baseline = baseline
        if use_rms_prop and "optimizer_class" not in self.policy_kwargs:
            self.policy_kwargs["optimizer_class"] = torch.optim.RMSprop
            self.policy_kwargs["optimizer_kwargs"] = {"alpha": 0.99, "eps": rms_prop_eps}
        if _init_setup_model:
            self._setup_model()

    def train(self) -> None:
        """Make one gradient step over the whole rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        rollout = next(self.rollout_buffer.get(batch_size=None))
        actions = rollout.actions
        if isinstance(self.action_space, spaces.Discrete):
            actions = actions.long().flatten()
        values, log_probs, entropy = self.policy.evaluate_actions(rollout.observations, actions)
        policy_loss = -(self._credit(rollout) * log_probs).mean()
        value_loss = functional.mse_loss(values.flatten(), rollout.returns)
        # A squashed Gaussian has no entropy in closed form; use the sample mean.
        entropy_loss = log_probs.mean() if entropy is None else -entropy.mean()
        loss = policy_loss + self.ent_coef * entropy_loss + self.vf_coef * value_loss
        self.policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
        self.policy.optimizer.step()
        self._n_updates += 1
        self._log(policy_loss.item(), value_loss.item(), entropy_loss.item())

    def _credit(self, rollout: RolloutBufferSamples) -> torch.Tensor:
        """Return the factors on the steps' log-probabilities: their returns, minus the baseline."""
        if self.baseline == "value":
            return rollout.advantages
        returns = rollout.returns
        return (returns - returns.mean()) / (returns.std(correction=0) + 1e-8)

    def _log(self, policy_loss: float, value_loss: float, entropy_loss: float) -> None:
        buffer = self.rollout_buffer
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/explained_variance", explained)
        self.logger.record("train/entropy_loss", entropy_loss)
        self.logger.record("train/policy_loss", policy_loss)
        self.logger.record("train/value_loss", value_loss)
        if hasattr(self.policy, "log_std"):
            self.logger.record("train/std", self.policy.log_std.exp().mean().item())

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 10,
        tb_log_name: str = "Reinforce",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Train for ``total_timesteps`` environment steps."""
        return super().learn(
            total_timesteps=total_timesteps,
            callback=callback,
            log_interval=log_interval,
            tb_log_name=tb_log_name,
            reset_num_timesteps=reset_num_timesteps,
            progress_bar=progress_bar,
        )
