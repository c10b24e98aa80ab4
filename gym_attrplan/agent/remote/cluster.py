"""Connection to a Ray cluster, or start of a private one on this machine."""

from __future__ import annotations

import importlib
import logging
import os
import socket
from typing import Any

from gym_attrplan.error import DependencyNotInstalled, InvalidOption, shortened

LOCAL = "local"
"""Address of a cluster on this machine alone."""

STORE_BYTES = 512 * 2**20
"""Number of bytes that a cluster on this machine reserves for the workers' messages."""

_PATIENCE = 5.0
"""Number of seconds after which an address that does not answer counts as wrong."""


def connect(address: str | None = None, *, n_workers: int = 1) -> Any:
    """Return the module ``ray``, connected.

    Args:
        address: ``host:port`` of a cluster, ``"auto"`` for the one that this machine is part of, or
            ``"local"`` for one of this machine alone. By default the cluster that this process is
            connected to, or else a local one.
        n_workers: Minimum number of workers that must fit.

    Raises:
        DependencyNotInstalled: If ray is missing.
        InvalidOption: If there is no such cluster, its versions differ from those here, or it has
            fewer processors than workers are wanted.
    """
    ray = import_ray()
    if not ray.is_initialized():
        if address in (None, LOCAL):
            _start(ray, n_workers)
        else:
            assert address is not None
            _join(ray, address)
    elif address not in (None, LOCAL, "auto", ray.get_runtime_context().gcs_address):
        raise InvalidOption(
            f"this process is connected to {ray.get_runtime_context().gcs_address}, not to "
            f"{address}: call ray.shutdown() first, or leave the address out."
        )
    n_processors = int(ray.cluster_resources().get("CPU", 0))
    if n_processors < n_workers:
        raise InvalidOption(
            f"each worker takes a processor: the cluster has {n_processors}, and {n_workers} "
            "workers are wanted. Add machines with ray start --address=..., or ask for fewer."
        )
    return ray


def import_ray() -> Any:
    """Return the module ``ray``.

    Raises:
        DependencyNotInstalled: If it is missing.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            'workers on many machines need ray: pip install "gym_attrplan[ray]".'
        ) from error


def _start(ray: Any, n_workers: int) -> None:
    """Start a cluster on this machine; Ray's token keeps other users out."""
    ray.init(
        address=LOCAL,
        num_cpus=max(n_workers, os.cpu_count() or 1),
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        log_to_driver=False,
        logging_level=logging.WARNING,
    )


def _join(ray: Any, address: str) -> None:
    """Connect to an existing cluster."""
    remedy = (
        "Start one with: ray start --head --node-ip-address=127.0.0.1 --port=6379, "
        "and give its address, 127.0.0.1:6379."
    )
    if address != "auto":
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise InvalidOption(f"a cluster's address is host:port; received {address!r}. {remedy}")
        try:  # Ray itself would try for minutes, and then end the process
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
        except OSError as error:
            raise InvalidOption(f"nothing answers at {address}: {error}. {remedy}") from error
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except ConnectionError as error:
        raise InvalidOption(
            f"no cluster at {address}: {shortened(str(error))}. {remedy}"
        ) from error
    except RuntimeError as error:
        if "mismatch" not in str(error).lower():
            raise
        raise InvalidOption(
            f"the cluster at {address} runs other versions than this process, which has ray "
            f"{ray.__version__}: {error} Install the same ones everywhere."
        ) from error
