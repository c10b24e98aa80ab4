"""Videos of episodes, with the goal, the plan and the running hop as a caption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.evaluation import Predictor
from gym_attrplan.attributes import GoalLike
from gym_attrplan.error import DependencyNotInstalled, InvalidOption
from gym_attrplan.files import replacing
from gym_attrplan.report.album import data_address
from gym_attrplan.report.commentary import Commentary
from gym_attrplan.report.episodes import picture, seen_by, space_of, watch

Frame = npt.NDArray[np.uint8]
Line = tuple[str, str | None]
"""A line of a caption, and the colour of the dot before it."""

MIN_WIDTH = 400
"""Narrower pictures are enlarged: a caption needs room."""

BLOCK = 16
"""Codecs want widths and heights that are multiples of this."""

GROUND, INK, MUTED = "#14161a", "#e8e5de", "#a09c92"
STATUS = {"now": "#f2a65e", "done": "#86cf7f", "failed": "#f08bb1"}


@dataclass(frozen=True)
class Video:
    """A video that :func:`record_video` has written; a notebook shows it.

    Args:
        path: The file.
        goal: What was wanted, in words.
        solved: Whether it was reached.
        n_steps: Steps taken.
        n_frames: Pictures: the start, one after each step, and the last one held for a second.
    """

    path: Path
    goal: str
    solved: bool
    n_steps: int
    n_frames: int

    @property
    def kind(self) -> str:
        """Its MIME type."""
        return "image/gif" if self.path.suffix == ".gif" else "video/mp4"

    @property
    def address(self) -> str:
        """A ``data:`` address that holds the whole video."""
        return data_address(self.path.read_bytes(), self.kind)

    def _repr_html_(self) -> str:
        if self.kind == "image/gif":
            return f'<img src="{self.address}" style="max-width:100%">'
        return (
            f'<video src="{self.address}" controls autoplay loop muted playsinline '
            'style="max-width:100%"></video>'
        )


def record_video(
    agent: Predictor,
    env: gym.Env[Any, Any],
    goal: GoalLike | None,
    path: str | Path,
    *,
    seed: int = 0,
    fps: int = 5,
) -> Video:
    """Watch an agent, or any SB3 model, at one task, and keep it as MP4 or GIF.

    Under the pictures stand the goal, what the plan promises, the hop before with what came of it,
    and the running hop with its probability.

    Args:
        agent: What acts, deterministically.
        env: An attribute environment with ``render_mode="rgb_array"``.
        goal: What is wanted; None for what the environment draws.
        path: Ends in ``.mp4``, or in ``.gif``, which needs no ffmpeg.
        seed: Of the environment; with the same one several models get the same task.
        fps: Steps a second.

    Raises:
        InvalidEnvironment: If the environment has no attributes or draws no pictures.
        InvalidGoal: If the goal does not belong to the attributes.
        InvalidOption: If the path ends otherwise, or ``fps`` is below 1.
        DependencyNotInstalled: If imageio, matplotlib or Pillow is missing, or imageio-ffmpeg for
            MP4.
    """
    env = seen_by(agent, env)
    path, commentary = Path(path), Commentary(agent, space_of(env))
    _check(path, fps)
    import imageio.v2 as imageio

    style: dict[str, Any] = {"format": "GIF", "duration": 1_000 / fps, "loop": 0}
    if path.suffix == ".mp4":
        style = {"format": "mp4", "fps": fps, "macro_block_size": BLOCK}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file, imageio.get_writer(file, mode="I", **style) as opened:
        writer: Any = opened
        for moment in watch(agent, env, goal=goal, seed=seed):
            commentary.follow(moment)
            frame = captioned(picture(env), commentary)
            for _ in range(1 + fps * moment.done):
                writer.append_data(frame)
    n_steps = commentary.n_steps
    return Video(path, commentary.goal, commentary.solved, n_steps, n_frames=n_steps + 1 + fps)


def video_suffix() -> str:
    """``.mp4`` where ffmpeg is there to write it, else ``.gif``."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):  # no package, or one without a program for this machine
        return ".gif"
    return ".mp4"


def captioned(frame: Frame, commentary: Commentary) -> Frame:
    """A picture, enlarged if it is small, with a caption below it."""
    from matplotlib import get_data_path
    from PIL import Image, ImageDraw, ImageFont

    scale = -(-MIN_WIDTH // frame.shape[1])
    frame = frame.repeat(scale, axis=0).repeat(scale, axis=1)
    full_width = _whole_blocks(frame.shape[1])
    size = full_width // 30
    line, margin, left = round(1.5 * size), size, round(2.2 * size)
    font = ImageFont.truetype(Path(get_data_path(), "fonts/ttf/DejaVuSans.ttf"), size)

    def fits(text: str) -> bool:
        return font.getlength(text) <= full_width - left - margin

    lines: list[Line] = [(text, None) for text in _wrapped(f"goal: {commentary.goal}", fits)]
    lines += [("".join(_wrapped(text, fits, 1)), colour) for text, colour in _status(commentary)]
    full_height = _whole_blocks(len(frame) + 2 * margin + line * len(lines))
    image = Image.new("RGB", (full_width, full_height), GROUND)
    image.paste(Image.fromarray(frame), ((full_width - frame.shape[1]) // 2, 0))
    draw = ImageDraw.Draw(image)
    for i, (text, colour) in enumerate(lines):
        y = len(frame) + margin + line * i
        if colour is not None:
            draw.ellipse((margin, y + 0.3 * size, margin + 0.7 * size, y + size), fill=colour)
        draw.text((left, y), text, fill=INK if colour else MUTED, font=font)
    return np.asarray(image)


def _whole_blocks(side: int) -> int:
    return -(-side // BLOCK) * BLOCK


def _status(commentary: Commentary) -> list[Line]:
    """The plan, the hop before, the running hop and the step; each with the colour of its dot."""
    hops: list[Line] = [
        (f"{hop.status}: {hop}", STATUS[hop.status]) for hop in commentary.hops[-2:]
    ]
    blank: list[Line] = [("", None)] * (2 - len(hops))
    end: Line = (f"step {commentary.n_steps}", None)
    if commentary.outcome:
        end = (commentary.outcome, STATUS["done" if commentary.solved else "failed"])
    plan = f"plan: {commentary.plan}" if commentary.plan else ""
    return [(plan, None), *blank, *hops, end]


def _wrapped(text: str, fits: Callable[[str], bool], n_lines: int = 2) -> list[str]:
    """A text as lines that fit, at most so many; the last one is cut off where it must be."""
    lines: list[str] = []
    left = text.split()
    while left and len(lines) < n_lines:
        n = len(left)
        while n > 1 and not fits(" ".join(left[:n])):
            n -= 1
        lines.append(" ".join(left[:n]))
        left = left[n:]
    while lines and (left or not fits(lines[-1])):
        left = []
        lines[-1] = lines[-1][:-2].rstrip("…") + "…"
    return lines


def _check(path: Path, fps: int) -> None:
    """Say what would fail, before an episode is played."""
    if path.suffix not in (".mp4", ".gif"):
        raise InvalidOption(f"a video is an .mp4 or a .gif; received {str(path)!r}.")
    if fps < 1:
        raise InvalidOption(f"fps is at least 1; received {fps}.")
    try:
        import imageio  # noqa: F401  here only to see whether they can be
        import matplotlib  # noqa: F401  whose font the caption has
        import PIL  # noqa: F401
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            f'videos need {error.name}: pip install "gym_attrplan[viz]".'
        ) from error
    if path.suffix == ".mp4" and video_suffix() == ".gif":
        raise DependencyNotInstalled(
            'MP4 needs imageio-ffmpeg: pip install "gym_attrplan[viz]"; or write a .gif.'
        )
