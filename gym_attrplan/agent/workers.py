"""Environments in processes of their own: which of them died, instead of a broken pipe."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

from gym_attrplan.error import InvalidEnvironment

PIPE_ERRORS = (EOFError, BrokenPipeError, ConnectionResetError)
"""What the pipe to a process that has died raises."""

_PATIENCE = 5.0
"""Seconds to wait for the end of a process that has closed its pipe."""


def watch_workers(venv: VecEnv) -> None:
    """Have a ``SubprocVecEnv`` name the environment whose process died; other kinds are left alone.

    Its own pipes do not tell: of processes made by fork the first ones hold the pipes of the later
    ones open, and who waits for the answer of a dead one waits forever.
    """
    vector = venv.unwrapped
    if isinstance(vector, SubprocVecEnv) and not isinstance(vector.remotes[0], WatchedPipe):
        vector.remotes = tuple(WatchedPipe(vector, i) for i in range(vector.num_envs))


def dead_workers(processes: Sequence[Any]) -> InvalidEnvironment:
    """The error that says which of the environments' processes died, and how."""
    ending = wait([process.sentinel for process in processes], _PATIENCE)
    dead = [(i, process) for i, process in enumerate(processes) if process.sentinel in ending]
    for _, process in dead:
        process.join(_PATIENCE)  # it has let go of its files; its exit code comes a moment later
    which = ", ".join(f"environment {i} (exit code {process.exitcode})" for i, process in dead)
    return InvalidEnvironment(
        f"the process of {which or 'an environment'} has ended. An error that it raised is printed "
        "above, and an exit code below 0 is a signal; DummyVecEnv shows the error in one process. "
        "What was learned is kept: give new environments to set_env()."
    )


class WatchedPipe:
    """The pipe to one environment's process, which notices that the process has died.

    Args:
        vector: Whose processes to watch.
        i: Number of the environment.
    """

    def __init__(self, vector: SubprocVecEnv, i: int) -> None:
        self._vector = vector
        self._pipe: Any = vector.remotes[i]
        self._process: Any = vector.processes[i]

    def send(self, message: Any) -> None:
        """Ask the process for something.

        Raises:
            InvalidEnvironment: If it has died; a dead one need not be told to close.
        """
        try:
            self._pipe.send(message)
        except PIPE_ERRORS as error:
            if message[0] != "close":
                raise self._give_up() from error

    def recv(self) -> Any:
        """The answer.

        Raises:
            InvalidEnvironment: If the process has died and left none.
        """
        wait([self._pipe, self._process.sentinel])
        try:
            if self._pipe.poll():  # it may have answered before it died
                return self._pipe.recv()
        except PIPE_ERRORS as error:
            raise self._give_up() from error
        raise self._give_up()

    def close(self) -> None:
        """Close this end of the pipe."""
        self._pipe.close()

    def _give_up(self) -> InvalidEnvironment:
        """The error to raise; the other processes end too, so that closing waits for nobody.

        Without this one they are of no use: an answer that was not fetched would be taken for the
        answer to the next question.
        """
        error: InvalidEnvironment | None = getattr(self._vector, "given_up", None)
        if error is None:
            error = dead_workers(self._vector.processes)
            for process in self._vector.processes:
                process.terminate()
                process.join()
            self._vector.waiting = False
            self._vector.given_up = error  # type: ignore[attr-defined]
        return InvalidEnvironment(str(error))
