"""Batches: jobs for Ray's workers, each answered exactly once even if workers die."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from gym_attrplan.error import InvalidEnvironment

MAX_ERRORS = 2
"""Maximum number of retries of a batch after an error of its own."""

MAX_DEATHS = 10
"""Maximum number of retries of a batch after the death of its worker."""

START_SECONDS = 300.0
"""Maximum number of seconds that workers may take to start while no other works."""

_PATIENCE = 1.0
"""Number of seconds between two checks for workers that do not answer."""


class Workers:
    """Ray actors with a method ``work``; dead ones are replaced.

    Args:
        ray: The module, connected.
        make: Starts an actor, which has the methods ``work`` and ``is_ready``.
        n_workers: Number of workers.
        timeout: Number of seconds without an answer after which a worker counts as dead.
    """

    def __init__(
        self, ray: Any, make: Callable[[], Any], n_workers: int, *, timeout: float
    ) -> None:
        self._ray = ray
        self._make = make
        self._timeout = timeout
        self._idle: list[Any] = []
        self._starting: dict[Any, Any] = {}
        self._busy: dict[Any, tuple[Any, int, float]] = {}
        self._alive = time.monotonic()
        for _ in range(n_workers):
            self._start()

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for worker in self.all():
            self._ray.kill(worker)

    def all(self) -> list[Any]:
        """The current workers."""
        return [*self._idle, *self._starting.values(), *(one[0] for one in self._busy.values())]

    def run(self, jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of ``work(*job)`` of each job, once, as they finish.

        Raises:
            InvalidEnvironment: If a job keeps failing, with its worker's error, or if no worker
                could be started for :data:`START_SECONDS`.
        """
        waiting, errors, deaths = deque(range(len(jobs))), Counter[int](), Counter[int]()
        n_left = len(jobs)
        self._alive = time.monotonic()
        while n_left:
            self._check_that_one_works()
            while waiting and self._idle:
                worker, number = self._idle.pop(), waiting.popleft()
                answer = worker.work.remote(*jobs[number])
                self._busy[answer] = (worker, number, time.monotonic())
            for number, answer, error in self._finished():
                if error is None:
                    n_left -= 1
                    yield number, answer
                    continue
                tried = deaths if self._is_death(error) else errors
                tried[number] += 1
                if deaths[number] > MAX_DEATHS or errors[number] > MAX_ERRORS:
                    raise InvalidEnvironment(
                        f"batch {number} failed {tried[number]} times; earlier results are "
                        "kept. See whether it runs in this process. Its worker "
                        f"said: {error}"
                    ) from error
                waiting.appendleft(number)

    def _finished(self) -> list[tuple[int, Any, Exception | None]]:
        """Return finished jobs after a short wait: number, result and error."""
        refs = [*self._busy, *self._starting]
        ready, _ = self._ray.wait(refs, num_returns=1, timeout=_PATIENCE)
        found: list[tuple[int, Any, Exception | None]] = []
        for ref in ready:
            if ref in self._starting:
                self._begin(ref)
                continue
            worker, number, _ = self._busy.pop(ref)
            try:
                found.append((number, self._ray.get(ref), None))
                self._idle.append(worker)
            except self._ray.exceptions.RayActorError as error:
                found.append((number, None, error))
                self._start()
            except self._ray.exceptions.RayTaskError as error:
                found.append((number, None, error))
                self._idle.append(worker)
        return found + self._silent()

    def _check_that_one_works(self) -> None:
        if self._busy or self._idle:
            self._alive = time.monotonic()
        elif time.monotonic() - self._alive > START_SECONDS:
            raise InvalidEnvironment(
                f"no worker could be started for {START_SECONDS:g} seconds; earlier results "
                "are kept. See whether the cluster's machines are there: ray status."
            )

    def _silent(self) -> list[tuple[int, Any, Exception | None]]:
        """Return the jobs of workers that have not answered in time; replace the workers."""
        found: list[tuple[int, Any, Exception | None]] = []
        for ref, (worker, number, since) in list(self._busy.items()):
            if time.monotonic() - since > self._timeout:
                del self._busy[ref]
                self._ray.kill(worker)
                self._start()
                silence = self._ray.exceptions.GetTimeoutError(
                    f"no answer for {self._timeout:g} seconds"
                )
                found.append((number, None, silence))
        return found

    def _is_death(self, error: Exception) -> bool:
        return not isinstance(error, self._ray.exceptions.RayTaskError)

    def _start(self) -> None:
        """Start a worker; it gets jobs when it is ready."""
        worker = self._make()
        self._starting[worker.is_ready.remote()] = worker

    def _begin(self, ref: Any) -> None:
        """Register a worker that has started.

        Raises:
            InvalidEnvironment: If making its environments raised an error.
        """
        worker = self._starting.pop(ref)
        try:
            self._ray.get(ref)
            self._idle.append(worker)
        except self._ray.exceptions.RayActorError as error:
            if "creation task" in str(error):
                raise InvalidEnvironment(f"a worker could not start: {error}") from error
            self._start()
