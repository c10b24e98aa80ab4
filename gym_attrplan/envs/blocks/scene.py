"""BlockScene: blocks on a table in MuJoCo, which is loaded when a scene is made.

The discrete and the continuous environment both use it. It handles poses, drops, rest, contacts and
images, but neither cells nor attributes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.blocks.camera import camera_mjcf
from gym_attrplan.envs.blocks.rules import PITCH, SIDE
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment
from gym_attrplan.wrappers.offscreen import GL_LIBRARIES, draw_off_screen

RGB = {
    "red": (0.90, 0.16, 0.16),
    "green": (0.13, 0.68, 0.22),
    "blue": (0.16, 0.36, 0.95),
    "yellow": (0.98, 0.85, 0.10),
    "purple": (0.62, 0.20, 0.78),
    "white": (0.97, 0.97, 0.97),
}

MAX_IMAGE_SIZE = 1024
FLOOR = -0.2
"""Height of the floor, which catches falling blocks, relative to the table's top, in metres."""

MARGIN = 0.01
"""Width of the table beyond the outer cells, in metres."""

_TIMESTEP = 0.005  # 0.01 is faster, but drops onto an edge then have different results
_AT_REST = 0.005  # maximum speed at rest, in m/s, and rotation, in rad/s times half a side
_STEPS_PER_LOOK = 4
_LOOKS = 3  # slow checks in a row: a block at the top of its bounce is not at rest
_GL_LINES = (
    'pip install "gym_attrplan[mujoco]" and, on Debian, apt-get install libegl1 libegl-mesa0 '
    "libgl1 libgl1-mesa-dri (MUJOCO_GL=egl) or apt-get install libosmesa6 (MUJOCO_GL=osmesa). "
    'obs_type="state" needs none of them.'
)

Poses = npt.NDArray[np.float64]
Image = npt.NDArray[np.uint8]


class BlockScene:
    """Free boxes on a table, at rest between drops.

    A pose is ``(x, y, z, qw, qx, qy, qz)``: metres from the middle of the table's top (x to the
    right, y away from the camera, z up) and a rotation as a unit quaternion. A scene has no other
    state: equal drops from equal poses have equal results.

    Args:
        colors: The blocks' colours, one block each.
        grid: Number of marked cells along a side; the marks have no effect.
        contact_time: Duration of a contact in seconds. Impacts at several m/s need 0.02.
        overhang: Distance beyond the table that the camera sees, in metres.

    Raises:
        DependencyNotInstalled: If MuJoCo is missing; from :meth:`render`, if OpenGL is.

    Example:
        >>> scene = BlockScene(["red", "green"])
        >>> scene.place(upright([[0.0, 0.0, 0.02], [0.1, 0.0, 0.02]]))
        >>> scene.drop(0, 0.1, 0.0, 0.07)
        >>> scene.settle(), scene.positions().round(2).tolist()
        (True, [[0.1, 0.0, 0.06], [0.1, 0.0, 0.02]])
        >>> scene.contacts().tolist()
        [[False, True], [True, False]]
    """

    def __init__(
        self,
        colors: Sequence[str],
        grid: int = 3,
        *,
        contact_time: float = 0.01,
        overhang: float = 0.0,
    ) -> None:
        self.colors = tuple(colors)
        self.mjcf = scene_mjcf(self.colors, grid, contact_time=contact_time, overhang=overhang)
        self._load()

    def _load(self) -> None:
        self._mujoco = load_mujoco()
        self._model = self._mujoco.MjModel.from_xml_string(self.mjcf)
        self._data = self._mujoco.MjData(self._model)
        self._views: dict[int, _View] = {}
        self._block_of_geom = np.full(self._model.ngeom, -1)
        for i, color in enumerate(self.colors):
            self._block_of_geom[self._model.geom(color).id] = i
        self._velocities = self._data.qvel.reshape(-1, 6)
        self._poses: Poses = self._data.qpos.reshape(-1, 7)

    # --- poses ------------------------------------------------------------------------------

    def place(self, poses: npt.ArrayLike) -> None:
        """Place all blocks at poses ``(n_blocks, 7)``, at rest, without simulation."""
        self._mujoco.mj_resetData(self._model, self._data)
        self._poses[:] = poses

    def poses(self) -> Poses:
        """Return ``(n_blocks, 7)`` poses of the blocks; a copy."""
        return self._poses.copy()

    def positions(self) -> Poses:
        """Return ``(n_blocks, 3)`` centres of the blocks; a copy."""
        return self._poses[:, :3].copy()

    def drop(
        self, block: int, x: float, y: float, z: float, yaw: float = 0.0, *, speed: float = 0.0
    ) -> None:
        """Move a block to (x, y, z), upright, and release it.

        Its initial downward ``speed`` is in m/s. Nothing moves until :meth:`settle`.
        """
        poses = self.poses()
        poses[block] = upright([[x, y, z]], [yaw])[0]
        self.place(poses)
        self._velocities[block, 2] = -speed

    def settle(self, max_time: float = 3.0) -> bool:
        """Simulate until all blocks rest, or for ``max_time`` seconds of simulated time.

        Returns:
            Whether they rest.
        """
        n_slow = 0
        for _ in range(round(max_time / _TIMESTEP / _STEPS_PER_LOOK)):
            self._mujoco.mj_step(self._model, self._data, _STEPS_PER_LOOK)
            n_slow = n_slow + 1 if self._is_slow() else 0
            if n_slow == _LOOKS:
                return True
        return False

    def contacts(self) -> npt.NDArray[np.bool_]:
        """Return ``(n_blocks, n_blocks)`` whether two blocks touch."""
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_collision(self._model, self._data)
        blocks = self._block_of_geom[self._data.contact.geom]
        a, b = blocks[(blocks >= 0).all(axis=1)].T
        touching = np.zeros((len(self.colors),) * 2, np.bool_)
        touching[a, b] = touching[b, a] = True
        return touching

    def _is_slow(self) -> bool:
        speeds = np.abs(self._velocities)
        speeds[:, 3:] *= SIDE / 2
        return bool(speeds.max() < _AT_REST)

    # --- images -----------------------------------------------------------------------------

    def render(self, size: int) -> Image:
        """Return an image ``(size, size, 3)`` of the blocks.

        Raises:
            InvalidEnvironment: If the size is not 16 to 1024.
            DependencyNotInstalled: If OpenGL is missing.
        """
        if size not in self._views:
            self._views[size] = _View(self._mujoco, self._model, check_image_size(size))
        # Poses are enough for an image: no forces, no contacts.
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)
        return self._views[size].draw(self._data)

    def close(self) -> None:
        """Release OpenGL's memory; later images allocate it again."""
        while self._views:
            self._views.popitem()[1].close()

    # --- copies -----------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {"colors": self.colors, "mjcf": self.mjcf, "poses": self.poses()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.colors, self.mjcf = state["colors"], state["mjcf"]
        self._load()
        self.place(state["poses"])


class _View:
    """Draws images of one size.

    MuJoCo's own Renderer fixes its OpenGL backend when MuJoCo is loaded, perhaps by other code.
    """

    def __init__(self, mujoco: Any, model: Any, size: int) -> None:
        self._mujoco, self._model = mujoco, model
        self._gl = open_gl(mujoco, size)
        self._gl.make_current()
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=model.ngeom + 8)
        for flag in ("SHADOW", "REFLECTION", "SKYBOX", "FOG", "HAZE"):
            self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        self._option = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = 0
        self._rect = mujoco.MjrRect(0, 0, size, size)
        self._pixels = np.empty((size, size, 3), np.uint8)

    def draw(self, data: Any) -> Image:
        mujoco = self._mujoco
        every = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, data, self._option, None, self._camera, every, self._scene
        )
        self._gl.make_current()
        mujoco.mjr_render(self._rect, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._rect, self._context)
        return self._pixels[::-1].copy()  # OpenGL's first row is the lowest

    def close(self) -> None:
        self._gl.make_current()
        self._context.free()
        self._gl.free()


# --- functions ------------------------------------------------------------------------------


def upright(positions: npt.ArrayLike, yaws: npt.ArrayLike = 0.0) -> Poses:
    """``(n, 3)`` positions and ``(n,)`` turns about the vertical, in radians → ``(n, 7)`` poses."""
    positions = np.asarray(positions, np.float64)
    poses = np.zeros((len(positions), 7))
    poses[:, :3] = positions
    poses[:, 3] = np.cos(np.asarray(yaws) / 2)
    poses[:, 6] = np.sin(np.asarray(yaws) / 2)
    return poses


def check_image_size(size: int) -> int:
    """Check the size of an image and return it.

    Raises:
        InvalidEnvironment: If not.
    """
    if not isinstance(size, (int, np.integer)) or not 16 <= size <= MAX_IMAGE_SIZE:
        raise InvalidEnvironment(
            f"image_size must be a whole number from 16 to {MAX_IMAGE_SIZE}; received {size!r}."
        )
    return int(size)


def load_mujoco() -> Any:
    """Import MuJoCo, with off-screen rendering if there is no display and MUJOCO_GL is not set.

    Raises:
        DependencyNotInstalled: If it is missing.
    """
    draw_off_screen()
    try:
        return import_module("mujoco")
    except ImportError as error:
        raise DependencyNotInstalled(
            f'the block environments need MuJoCo ({error}): pip install "gym_attrplan[mujoco]".'
        ) from error


def open_gl(mujoco: Any, size: int) -> Any:
    """Create an OpenGL context with the backend that MUJOCO_GL names.

    Raises:
        DependencyNotInstalled: If there is none.
    """
    backend = os.environ.get("MUJOCO_GL", "").lower()
    try:
        module = import_module(f"mujoco.{backend}") if backend in GL_LIBRARIES else mujoco
        return module.GLContext(size, size)
    except Exception as error:  # each backend fails in its own way: AttributeError, GLError, …
        raise DependencyNotInstalled(
            f"images of blocks need OpenGL, and MUJOCO_GL={backend!r} gives none "
            f"({type(error).__name__}: {error}): {_GL_LINES}"
        ) from error


def scene_mjcf(
    colors: Sequence[str], grid: int, *, contact_time: float = 0.01, overhang: float = 0.0
) -> str:
    """Return the scene as MJCF. Light and faces are plain, so that images compress well."""
    half = grid * PITCH / 2 + MARGIN
    camera = camera_mjcf(half + overhang, max(len(colors), 4) * SIDE)
    middle = (grid - 1) / 2
    cells = "\n".join(
        f'<geom type="plane" size="{0.42 * PITCH} {0.42 * PITCH} 1" contype="0" conaffinity="0" '
        f'pos="{(i % grid - middle) * PITCH:.4f} {(middle - i // grid) * PITCH:.4f} 0.001" '
        'rgba="0.56 0.56 0.58 1"/>'
        for i in range(grid**2)
    )
    blocks = "\n".join(
        f'<body name="{color}" pos="{2 * i * SIDE} 0 {SIDE / 2}"><freejoint/>'
        f'<geom name="{color}" type="box" size="{SIDE / 2} {SIDE / 2} {SIDE / 2}" '
        f'rgba="{" ".join(map(str, RGB[color]))} 1" mass="0.1"/></body>'
        for i, color in enumerate(colors)
    )
    return f"""<mujoco model="blocks">
  <option timestep="{_TIMESTEP}" cone="elliptic" impratio="10"/>
  <visual>
    <headlight ambient="0.45 0.45 0.45" diffuse="0 0 0" specular="0 0 0"/>
    <quality offsamples="0" shadowsize="0"/>
    <global offwidth="{MAX_IMAGE_SIZE}" offheight="{MAX_IMAGE_SIZE}"/>
  </visual>
  <default><geom friction="1 0.005 0.0001" condim="4" solref="{contact_time} 1"/></default>
  <worldbody>
    <light directional="true" dir="0.25 0.55 -1" diffuse="0.6 0.6 0.6" specular="0 0 0"
      castshadow="false"/>
    {camera}
    <geom name="table" type="box" size="{half} {half} {-FLOOR / 2}"
      pos="0 0 {FLOOR / 2}" rgba="0.42 0.42 0.45 1"/>
    <geom name="floor" type="plane" size="0 0 1" pos="0 0 {FLOOR}" rgba="0 0 0 0"/>
    {cells}
    {blocks}
  </worldbody>
</mujoco>
"""
