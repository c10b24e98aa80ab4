"""Pictures of blocks made by the tests go to a folder of their own, not to the user's."""

import pytest

from gym_attrplan.envs.blocks.scene import load_mujoco


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTRPLAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _mujoco_as_it_is_here():
    """Loaded before any test pretends that other libraries are there: it would remember them."""
    load_mujoco()


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
