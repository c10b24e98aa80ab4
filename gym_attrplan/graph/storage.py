"""Counts as plain arrays and as a file, without pickle and checked before use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph, shortened
from gym_attrplan.files import read_npz, replacing
from gym_attrplan.graph.edges import ATTEMPTED, DTYPES, EdgeStore
from gym_attrplan.graph.index import NodeIndex

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

FORMAT = 1

MAX_BYTES = 1 << 29
"""Maximum number of bytes of arrays in any counts file, 512 MiB: some 25 million edges."""

MAX_RATIO = 32
"""Maximum ratio of array bytes to file bytes in larger files: real counts shrink to a fifth.

Zeros shrink a thousandfold, so a small file of them could ask for all memory.
"""

_NAMES = ("format", "space", "nodes", "indptr", *DTYPES, ATTEMPTED, "total", "decay")


def read_arrays(space: AttributeSpace, arrays: Arrays) -> tuple[NodeIndex, EdgeStore, float, float]:
    """Return node index, edges, total and decay from ``TransitionCounts.to_arrays``.

    Raises:
        InvalidGraph: If an array is missing or the arrays are not a graph over ``space``.
    """
    missing = {"nodes", "indptr", "total", "decay", *DTYPES} - set(arrays)
    if missing:
        raise InvalidGraph(f"counts are missing their arrays {sorted(missing)}.")
    for name in ("total", "decay"):
        _check(arrays[name].shape == () and arrays[name].dtype.kind == "f", f"{name} is no number")
    total, decay = float(arrays["total"]), float(arrays["decay"])
    dtypes = dict(DTYPES)
    if decay < 1.0:
        dtypes[ATTEMPTED] = np.dtype(bool)
    columns = {name: np.array(arrays.get(name, ()), copy=True) for name in dtypes}
    indptr = np.array(arrays["indptr"], copy=True)
    index = NodeIndex.from_packed(space, arrays["nodes"])
    _check(
        indptr.dtype == np.int32 and indptr.shape == (len(index) + 1,), "indptr has another size"
    )
    for name, column in columns.items():
        fits = column.dtype == dtypes[name] and column.shape == (int(indptr[-1]),)
        _check(fits, f"{name} has another size or type")
    _check(
        0.0 <= total < np.inf and 0.0 <= decay <= 1.0,
        f"total {total} or decay {decay} out of range",
    )
    _check_edges(indptr, columns)
    return index, EdgeStore(indptr, columns), total, decay


def _check_edges(indptr: npt.NDArray[np.int32], columns: Arrays) -> None:
    # Compared, not subtracted: the difference of two int32 may wrap around.
    ascends = indptr[0] == 0 and bool((indptr[1:] >= indptr[:-1]).all())
    _check(ascends, "indptr does not ascend from 0")
    lengths = np.diff(indptr)
    n_nodes, target = len(lengths), columns["target"]
    _check(bool(((target >= 0) & (target < n_nodes)).all()), "a target is not among the nodes")
    source = np.repeat(np.arange(n_nodes, dtype=np.int32), lengths)
    ascending = (np.diff(target) > 0) | (np.diff(source) > 0)
    _check(bool(ascending.all()), "the targets of a row are not in ascending order")
    _check(bool((target != source).all()), "an edge leads from a node to itself")
    for name in ("visits", "attempts", "successes"):
        _check(bool(((columns[name] >= 0) & np.isfinite(columns[name])).all()), f"{name} below 0")
    more = columns["successes"] > columns["attempts"]
    _check(not more.any(), "an edge has more successes than attempts")


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise InvalidGraph(f"these arrays are no transition graph: {what}.")


def write_file(path: Path, space: AttributeSpace, arrays: Arrays) -> None:
    """Write one ``.npz``; the file is replaced only when the new one is complete.

    Raises:
        OSError: If the file cannot be written.
    """
    contents: dict[str, Any] = {"format": FORMAT, "space": space.to_json(), **arrays}
    n_bytes = sum(np.asarray(part).nbytes for part in contents.values())
    with replacing(path) as file:
        np.savez_compressed(file, **contents)  # effective for small integers in wide columns
        if n_bytes > _most_bytes(file.tell()):  # the reader would refuse it
            file.seek(0)
            file.truncate()
            np.savez(file, **contents)


def read_file(path: Path) -> tuple[AttributeSpace, dict[str, npt.NDArray[Any]]]:
    """Read the space and arrays that :func:`write_file` wrote.

    Raises:
        InvalidGraph: If the file does not contain counts, or would take more memory than
            :data:`MAX_BYTES` and :data:`MAX_RATIO` times its own size.
    """
    with path.open("rb") as file:
        try:
            most_bytes = _most_bytes(os.fstat(file.fileno()).st_size)
            arrays = read_npz(file, max_bytes=most_bytes, wanted=_NAMES)
            found = int(arrays.pop("format"))
            space = AttributeSpace.from_json(str(arrays.pop("space")))
        except Exception as error:  # zipfile and numpy raise many kinds of errors for damaged files
            raise InvalidGraph(
                f"{path} does not hold transition counts: {shortened(str(error))}."
            ) from error
    if found != FORMAT:
        raise InvalidGraph(f"{path} has format {found}; this version reads {FORMAT}.")
    return space, arrays


def _most_bytes(file_size: int) -> int:
    """Return the maximum number of unpacked bytes for a file of this size."""
    return max(MAX_BYTES, MAX_RATIO * file_size)
