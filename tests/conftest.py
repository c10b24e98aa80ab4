"""What holds for all tests."""

import os

from hypothesis import settings

# Tests never time anything: a busy machine fails none of them.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# No test opens a window. And where there is no display SDL would draw off screen with OpenGL, and
# on quitting close it for MuJoCo as well.
os.environ["SDL_VIDEODRIVER"] = "dummy"
