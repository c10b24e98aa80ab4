"""What holds for all tests."""

import os

# No test opens a window. And where there is no display SDL would draw off screen with OpenGL, and
# on quitting close it for MuJoCo as well.
os.environ["SDL_VIDEODRIVER"] = "dummy"
