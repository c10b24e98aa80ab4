"""Who makes many of other people's environments at once, and who does not."""

import pytest
from gymnasium.vector import VectorEnv

from gym_attrplan.agent.environments import N_BATCHED, N_COPIES, as_vec_env, origin
from gym_attrplan.wrappers import batches


def test_minigrids_ids_are_made_as_one_batch_with_their_attributes():
    made = batches.make_batch("MiniGrid-DoorKey-5x5-v0", 3, {})
    assert isinstance(made, VectorEnv)
    assert (made.num_envs, made.attribute_space.names[0]) == (3, "carrying")
    venv = as_vec_env("MiniGrid-DoorKey-5x5-v0")
    assert venv.num_envs == N_BATCHED
    assert origin(venv) == {"id": "MiniGrid-DoorKey-5x5-v0", "kwargs": {}}


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        ("FrozenLake-v1", {}),
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", {}),  # its balls move by rules of their own
        ("MiniGrid-DoorKey-5x5-v0", {"max_episode_steps": 9}),  # an argument of gym.make
    ],
)
def test_of_others_copies_are_made(env_id, kwargs):
    assert batches.make_batch(env_id, 2, kwargs) is None
    assert as_vec_env(env_id, env_kwargs=kwargs).num_envs == N_COPIES


def test_who_registers_is_asked_once(monkeypatch):
    monkeypatch.setattr(batches, "_MAKERS", [])
    asked = []

    def maker(env_id, num_envs, kwargs):
        asked.append((env_id, num_envs, kwargs))

    batches.register_batch_maker(maker)
    batches.register_batch_maker(maker)
    assert batches.make_batch("Mine-v0", 4, {"size": 2}) is None
    assert asked == [("Mine-v0", 4, {"size": 2})]
