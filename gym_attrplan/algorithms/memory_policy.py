"""MemoryPolicy: an LSTM policy whose memory lasts as long as the environment's episodes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib import RecurrentPPO
from sb3_contrib.common.recurrent.buffers import RecurrentDictRolloutBuffer
from sb3_contrib.common.recurrent.type_aliases import RecurrentDictRolloutBufferSamples, RNNStates
from sb3_contrib.ppo_recurrent.policies import MultiInputLstmPolicy
from stable_baselines3.common.distributions import Distribution
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from gym_attrplan.algorithms.memory import BEGUN, HIDDEN, pack_states, unpack_states

PADDING = -1
"""Value of :data:`BEGUN` in rows that only pad a shorter sequence."""

MAX_SEQUENCE = 64
"""Maximum number of steps through which a gradient is propagated back in time."""

Seen = dict[str, torch.Tensor]
States = tuple[torch.Tensor, torch.Tensor]


class MemoryPolicy(MultiInputLstmPolicy):
    """LSTM policy that reads from the observation whether an episode has just begun.

    sb3-contrib's policies forget everything after a ``done``. This one forgets where the
    observation has :data:`~gym_attrplan.algorithms.memory.BEGUN`, which
    :class:`~gym_attrplan.algorithms.memory.BegunVecEnv` adds. Wrappers may then divide an episode
    into parts, and the memory lasts for all of them. The hidden state before an observation
    may be part of it, as :data:`~gym_attrplan.algorithms.memory.HIDDEN`.

    Its arguments are those of ``MultiInputLstmPolicy``.

    Example:
        >>> from stable_baselines3.common.env_util import make_vec_env
        >>> import gym_attrplan
        >>> from gym_attrplan.algorithms.memory import BegunVecEnv
        >>> envs = BegunVecEnv(make_vec_env("AttrSwitches-v0", 4))
        >>> model = RecurrentPPO(MemoryPolicy, envs, n_steps=16, device="cpu").learn(64)
        >>> actions, state = model.predict(envs.reset())
        >>> actions, state = model.predict(envs.step(actions)[0], state)
    """

    def make_features_extractor(self) -> BaseFeaturesExtractor:
        """Return a features extractor that does not read whether an episode has begun."""
        seen = self.observation_space
        assert isinstance(seen, spaces.Dict)
        read = spaces.Dict({key: part for key, part in seen.spaces.items() if key != BEGUN})
        extractor = self.features_extractor_class(read, **self.features_extractor_kwargs)
        extractor._features_dim = int(extractor.features_dim)  # an LSTM takes no NumPy integer
        return extractor

    def obs_to_tensor(self, observation: Any) -> tuple[Any, bool]:
        """Convert observations to tensors, with the hidden state if it is among them."""
        hidden = observation.get(HIDDEN)
        if hidden is None:
            return super().obs_to_tensor(observation)
        rest = {key: part for key, part in observation.items() if key != HIDDEN}
        seen: Any
        seen, is_batch = super().obs_to_tensor(rest)
        return {**seen, HIDDEN: torch.as_tensor(hidden, device=self.device)}, is_batch

    def extract_features(  # type: ignore[override]
        self, obs: Seen, features_extractor: BaseFeaturesExtractor | None = None
    ) -> Any:
        """Return features; those of padding are 0, and it counts in no statistics."""
        is_real = obs[BEGUN].flatten() != PADDING if BEGUN in obs else None
        if is_real is None or is_real.all():
            return super().extract_features(obs, features_extractor)
        real = {key: part[is_real] for key, part in obs.items()}
        found = super().extract_features(real, features_extractor)
        if isinstance(found, tuple):  # of the actor and of the critic
            return tuple(_padded(one, is_real) for one in found)
        return _padded(found, is_real)

    def forward(  # type: ignore[override]
        self, obs: Seen, lstm_states: RNNStates, episode_starts: torch.Tensor, *args: Any
    ) -> Any:
        """Return actions, values, log probabilities and the next hidden states."""
        return super().forward(obs, lstm_states, _starts(obs, episode_starts), *args)  # type: ignore[arg-type]

    def get_distribution(  # type: ignore[override]
        self,
        obs: Seen,
        lstm_states: States | None = None,
        episode_starts: torch.Tensor | None = None,
    ) -> tuple[Distribution, tuple[torch.Tensor, ...]]:
        """Return the distribution of actions and the actor's next hidden state."""
        starts = _starts(obs, episode_starts)
        obs, hidden = _apart(obs)
        states: Any = lstm_states if hidden is None else hidden[:2]
        return super().get_distribution(obs, states, starts)  # type: ignore[arg-type]

    def predict_values(  # type: ignore[override]
        self, obs: Seen, lstm_states: States, episode_starts: torch.Tensor
    ) -> torch.Tensor:
        """Return ``(n, 1)`` values."""
        return super().predict_values(obs, lstm_states, _starts(obs, episode_starts))  # type: ignore[arg-type]

    def evaluate_actions(  # type: ignore[override]
        self,
        obs: Seen,
        actions: torch.Tensor,
        lstm_states: RNNStates | None = None,
        episode_starts: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return values, log probabilities of actions and entropies."""
        starts = _starts(obs, episode_starts)
        obs, hidden = _apart(obs)
        states: Any = lstm_states if hidden is None else RNNStates(hidden[:2], hidden[2:])
        for lstm in (self.lstm_actor, self.lstm_critic):
            if lstm is not None:
                lstm.train()  # cuDNN computes no gradients in evaluation mode
        return super().evaluate_actions(obs, actions, states, starts)  # type: ignore[arg-type]

    def begin(self, n: int) -> npt.NDArray[np.float32]:
        """Return the actor's hidden state at the start of n episodes, for :data:`HIDDEN`."""
        n_layers, _, size = self.lstm_hidden_state_shape
        return np.zeros((n, 2, n_layers, size), np.float32)

    def remember(self, observation: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
        """Return the actor's hidden state after a batch of observations that include the last."""
        self.set_training_mode(False)
        with torch.no_grad():
            seen, _ = self.obs_to_tensor(observation)
            _, states = self.get_distribution(seen)
        hidden: npt.NDArray[np.float32] = pack_states(states).cpu().numpy()
        return hidden

    @staticmethod
    def _process_sequence(
        features: torch.Tensor, lstm_states: States, episode_starts: torch.Tensor, lstm: nn.LSTM
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Run the LSTM; a sequence that begins an episode needs no loop over its steps."""
        starts = episode_starts.reshape(lstm_states[0].shape[1], -1).clone()
        kept = 1.0 - starts[:, :1]
        starts[:, 0] = 0.0
        states = (kept * lstm_states[0], kept * lstm_states[1])
        return MultiInputLstmPolicy._process_sequence(features, states, starts.flatten(), lstm)


def _starts(obs: Seen, episode_starts: torch.Tensor | None) -> torch.Tensor:
    """Return ``(n,)`` 1 where an episode begins: as observed, else as given, else 0."""
    if BEGUN in obs:
        return (obs[BEGUN].flatten() > 0).float()
    if episode_starts is not None and HIDDEN not in obs:
        return episode_starts
    some = next(iter(obs.values()))
    return torch.zeros(len(some), device=some.device)


def _padded(features: torch.Tensor, is_real: torch.Tensor) -> torch.Tensor:
    """Return the features of real rows among rows of zeros."""
    padded = features.new_zeros((len(is_real), features.shape[1]))
    padded[is_real] = features
    return padded


def _apart(obs: Seen) -> tuple[Seen, tuple[torch.Tensor, ...] | None]:
    """Return the observation without hidden states, and these."""
    if HIDDEN not in obs:
        return obs, None
    rest = {key: part for key, part in obs.items() if key != HIDDEN}
    return rest, unpack_states(obs[HIDDEN])


class MemoryRolloutBuffer(RecurrentDictRolloutBuffer):
    """Rollouts that are cut into sequences where an episode begins, not where a ``done`` was.

    A gradient then also teaches to remember what a later part of the episode needs. Sequences have
    at most :data:`MAX_SEQUENCE` steps, and batches mix those of different environments.
    """

    _order: npt.NDArray[np.int64]

    def compute_returns_and_advantage(
        self, last_values: torch.Tensor, dones: npt.NDArray[Any]
    ) -> None:
        """Compute the returns, and mark where sequences begin."""
        super().compute_returns_and_advantage(last_values, dones)
        # From here on the marks are only used to cut sequences.
        self.episode_starts = self.observations[BEGUN][:, :, 0].astype(np.float32)
        self.episode_starts[::MAX_SEQUENCE] = 1.0

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[RecurrentDictRolloutBufferSamples, None, None]:
        """Yield batches of sequences in random order."""
        n_pieces = -(-self.buffer_size // MAX_SEQUENCE)
        piece = np.arange(self.buffer_size) // MAX_SEQUENCE
        pieces = (n_pieces * np.arange(self.n_envs)[:, None] + piece).flatten()
        places = torch.randperm(n_pieces * self.n_envs).numpy()
        self._order = np.argsort(places[pieces], kind="stable")
        yield from super().get(batch_size)

    def _get_samples(  # type: ignore[override]
        self, batch_inds: npt.NDArray[Any], env_change: npt.NDArray[Any], env: Any = None
    ) -> RecurrentDictRolloutBufferSamples:
        samples = super()._get_samples(self._order[batch_inds], env_change, env)
        samples.observations[BEGUN][samples.mask == 0] = PADDING
        return samples


def remember_whole_episodes(model: RecurrentPPO) -> None:
    """Give a model with a :class:`MemoryPolicy` a :class:`MemoryRolloutBuffer`."""
    old = model.rollout_buffer
    assert isinstance(old, RecurrentDictRolloutBuffer)  # observations are dicts
    model.rollout_buffer = MemoryRolloutBuffer(
        old.buffer_size,
        old.observation_space,
        old.action_space,
        old.hidden_state_shape,
        old.device,
        gamma=old.gamma,
        gae_lambda=old.gae_lambda,
        n_envs=old.n_envs,
    )
