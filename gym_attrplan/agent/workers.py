"""Environments in subprocesses: errors that name a process that died."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

from gym_attrplan.error import InvalidEnvironment

PIPE_ERRORS = (EOFError, BrokenPipeError, ConnectionResetError)
"""Errors that the pipe to a dead process raises."""

_PATIENCE = 5.0
"""Maximum number of seconds to wait for the end of a process that has closed its pipe."""


def watch_workers(venv: VecEnv) -> None:
    """Make a ``SubprocVecEnv`` name the environment whose process died; ignore other classes.

    Its own pipes do not tell: with fork the first processes keep the pipes of the later ones open,
    so that waiting for the answer of a dead process never ends.
    """
    vector = venv.unwrapped
    if isinstance(vector, SubprocVecEnv) and not isinstance(vector.remotes[0], WatchedPipe):
        vector.remotes = tuple(WatchedPipe(vector, i) for i in range(vector.num_envs))


def dead_workers(processes: Sequence[Any]) -> InvalidEnvironment:
    """Return the error that names the dead processes of environments, with exit codes."""
    ending = wait([process.sentinel for process in processes], _PATIENCE)
    dead = [(i, process) for i, process in enumerate(processes) if process.sentinel in ending]
    for _, process in dead:
        process.join(_PATIENCE)  # it has closed its files; its exit code comes a moment later
    which = ", ".join(f"environment {i} (exit code {process.exitcode})" for i, process in dead)
    return InvalidEnvironment(
        f"the process of {which or 'an environment'} has ended. An error that it raised is printed "
        "above, and an exit code below 0 is a signal; DummyVecEnv shows the error in one process. "
        "What was learned is kept: give new environments to set_env()."
    )


class WatchedPipe:
    """The pipe to one environment's process, which notices that the process has died.

    Args:
        vector: The environments whose processes are watched.
        i: Number of the environment.
    """

    def __init__(self, vector: SubprocVecEnv, i: int) -> None:
        self._vector = vector
        self._pipe: Any = vector.remotes[i]
        self._process: Any = vector.processes[i]

    def send(self, message: Any) -> None:
        """Send a message to the process.

        Raises:
            InvalidEnvironment: If it has died, unless the message is to close.
        """
        try:
            self._pipe.send(message)
        except PIPE_ERRORS as error:
            if message[0] != "close":
                raise self._give_up() from error

    def recv(self) -> Any:
        """Return the answer.

        Raises:
            InvalidEnvironment: If the process has died without an answer.
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
        """End the other processes, so that closing does not wait, and return the error to raise.

        They cannot be used further: an answer that was not fetched would be taken for the answer to
        the next message.
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
