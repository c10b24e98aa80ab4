"""Counts files: damaged, wrong, written by two at once, cut off by a kill or by a full disk."""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import signal
import time
import zipfile
from pathlib import Path
from typing import Any

import bad_values
import numpy as np
import pytest
from campaign import Tally, sized

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph import Planner, TransitionCounts, storage

SPACE = AttributeSpace({"cell": 200, "door": 2, "lamp": ["red", "green", "blue"]})
PROCESSES = multiprocessing.get_context("fork")  # the library is there at once


def random_counts(n: int, seed: int) -> TransitionCounts:
    """Counts of about ``n`` edges, within an epoch of attempts."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, SPACE.sizes, (2, n, len(SPACE)))
    counts = TransitionCounts(SPACE)
    counts.record(*ends)
    counts.start_epoch(0.5)
    counts.attempt(*ends[:, : n // 2], rng.random(n // 2) < 0.5)
    return counts


def same(counts: TransitionCounts, arrays: dict[str, Any]) -> bool:
    """Whether counts hold exactly these arrays."""
    found = counts.to_arrays()
    return found.keys() == arrays.keys() and all(
        found[name].dtype == part.dtype and found[name].tobytes() == part.tobytes()
        for name, part in arrays.items()
    )


@pytest.fixture(scope="module")
def counts() -> TransitionCounts:
    return random_counts(60, 0)


# --- damaged and wrong files ----------------------------------------------------------------


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Bytes flipped, cut, put in, left out, zeroed or copied to another place."""
    data = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        first = int(rng.integers(0, len(data) + 1))
        last = min(len(data), first + int(2 ** rng.uniform(0, 10)))
        kind = rng.integers(6)
        if kind == 0 and first < len(data):
            data[first] ^= int(rng.integers(1, 256))
        elif kind == 1:
            del data[first:]
        elif kind == 2:
            data[first:first] = rng.bytes(int(rng.integers(1, 40)))
        elif kind == 3:
            del data[first:last]
        elif kind == 4:
            data[first:last] = bytes(last - first)
        else:
            data[first:first] = data[first:last]
    return bytes(data)


def test_a_damaged_file_is_refused_or_unaltered(tmp_path, counts):
    tally = Tally("counts files, damaged", allowed=(InvalidGraph,))
    path, rng = tmp_path / "graph.npz", np.random.default_rng(0)
    counts.save(path)
    whole, arrays = path.read_bytes(), counts.to_arrays()
    for number in range(sized(200, 10_000)):
        path.write_bytes(damaged(whole, rng))
        with tally.fault(f"damage {number}"):
            tally.must(same(TransitionCounts.load(path), arrays), f"damage {number} altered counts")
    tally.settle()


def wrong_array(array: np.ndarray, rng: np.random.Generator) -> Any:
    """Another type, shape or content."""
    kind = rng.integers(8)
    if kind == 0:
        return bad_values.array(rng)
    if kind == 1:
        return np.zeros(array.shape, bad_values.DTYPES[rng.integers(len(bad_values.DTYPES))])
    if kind == 2:
        return np.concatenate([array.ravel()] * 2)[: rng.integers(0, 2 * array.size + 1)]
    if kind == 3:
        return array.reshape(-1, 1) if array.ndim < 2 else array.ravel()
    if kind == 4:
        return rng.permutation(array.ravel()).reshape(array.shape)
    if kind == 5 and array.dtype.kind != "U":
        return np.frombuffer(rng.bytes(array.nbytes), array.dtype).reshape(array.shape)
    changed = array.copy()
    if array.size and array.dtype.kind in "iuf":
        odd = np.array([-1, 0, 1, 2**31 - 1, -(2**31), np.inf, np.nan, 1e300][rng.integers(8)])
        with np.errstate(all="ignore"):
            changed.flat[rng.integers(array.size)] = odd.astype(array.dtype)
    return changed


def with_wrong_header(array: np.ndarray, rng: np.random.Generator) -> bytes:
    """An array's file whose header states another shape or type than it has."""
    header = np.lib.format.header_data_from_array_1_0(array)
    shapes = [(4 * 10**9,), (-1,), (-5, -7), (0,), (2, 2), (), (1.5,), "x", bad_values.nested(40)]
    types = ["|O", "<V4000000000", "<f8", [("a", "<i4")], "nonsense", "<U1000000000", 3]
    if rng.random() < 0.5:
        header["shape"] = shapes[rng.integers(len(shapes))]
    else:
        header["descr"] = types[rng.integers(len(types))]
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + array.tobytes()


def npy(array: Any) -> bytes:
    """An array as a file, pickled if need be."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), version=(1, 0))
    return file.getvalue()


def test_arrays_that_are_wrong_are_refused_or_can_be_used(tmp_path, counts):
    tally = Tally("counts files, wrong arrays", allowed=(InvalidGraph,))
    path, rng = tmp_path / "graph.npz", np.random.default_rng(1)
    arrays = {"format": np.array(1), "space": np.array(SPACE.to_json()), **counts.to_arrays()}
    right = {name: npy(array) for name, array in arrays.items()}
    for number in range(sized(150, 6_000)):
        chosen = rng.choice(list(arrays), rng.integers(1, 3), replace=False).tolist()
        wrong = {
            name: with_wrong_header(arrays[name], rng)
            if rng.random() < 0.2
            else npy(wrong_array(arrays[name], rng))
            for name in chosen
        }
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in {**right, **wrong}.items():
                archive.writestr(f"{name}.npy", content)
        with tally.fault(f"{chosen}, number {number}"):
            use(TransitionCounts.load(path))
    tally.settle()


def use(counts: TransitionCounts) -> None:
    """All that is asked of counts in a training."""
    rng = np.random.default_rng(0)
    if counts.n_nodes:
        counts.sample_neighbours(np.arange(counts.n_nodes), rng, by_need=True)
        Planner(counts).plan(0, counts.index.vectors([counts.n_nodes - 1])[0])
    ends = rng.integers(0, counts.space.sizes, (2, 5, len(counts.space)))
    counts.record(*ends)
    counts.attempt(*ends, True)


def write_zeros(path: Path, arrays: dict[str, Any], name: str, n_bytes: int) -> None:
    """A counts file one of whose arrays is ``n_bytes`` of zeros."""
    chunk, dtype = bytes(1 << 20), arrays[name].dtype
    header = {"descr": dtype.str, "fortran_order": False, "shape": (n_bytes // dtype.itemsize,)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for other in arrays.keys() - {name}:
            archive.writestr(f"{other}.npy", npy(arrays[other]))
        with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
            np.lib.format.write_array_header_1_0(stream, header)
            for _ in range(n_bytes // len(chunk)):
                stream.write(chunk)


def load_with_memory(path: Path, n_bytes: int, answer: Any) -> None:
    """Load with no more than ``n_bytes`` beyond what the process holds; tell what came of it."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes, held + n_bytes))
    try:
        TransitionCounts.load(path)
    except BaseException as error:
        answer.send(f"{type(error).__name__}: {error}")
    else:
        answer.send("loaded")


def test_a_small_file_of_zeros_takes_no_memory(tmp_path, counts, monkeypatch):
    tally = Tally("counts files, zeros", allowed=())
    monkeypatch.setattr(storage, "MAX_BYTES", sized(1 << 22, storage.MAX_BYTES))
    arrays = {"format": np.array(1), "space": np.array(SPACE.to_json()), **counts.to_arrays()}
    for name in ["nodes", "visits"]:
        write_zeros(tmp_path / "zeros.npz", arrays, name, storage.MAX_BYTES * 5 // 4)
        said = in_another_process(load_with_memory, tmp_path / "zeros.npz", 1 << 24)
        refused = "InvalidGraph" in said and "above the limit" in said
        tally.outcomes["InvalidGraph" if refused else f"{said[:40]} (!)"] += 1
        tally.must(refused, f"{name}: {said}")
    tally.settle()


def in_another_process(task: Any, *arguments: Any) -> str:
    """What a task sends back from a process of its own, where limits can be set."""
    ours, theirs = PROCESSES.Pipe()
    process = PROCESSES.Process(target=task, args=(*arguments, theirs))
    process.start()
    process.join()
    return ours.recv() if ours.poll() else f"the process ended with {process.exitcode}"


# --- writers --------------------------------------------------------------------------------


def save_until(path: Path, counts: TransitionCounts, stop: Path) -> None:
    while not stop.exists():
        counts.save(path)


def parts_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name.endswith(".part")]


def test_two_writers_never_tear_a_file(tmp_path):
    tally = Tally("counts files, two writers", allowed=())
    path, stop = tmp_path / "graph.npz", tmp_path / "stop"
    both = [random_counts(n, seed=n) for n in (100, 4_000)]
    arrays = [counts.to_arrays() for counts in both]
    both[0].save(path)
    writers = [PROCESSES.Process(target=save_until, args=(path, one, stop)) for one in both]
    for writer in writers:
        writer.start()
    try:
        for number in range(sized(40, 600)):
            with tally.fault(f"read {number}"):
                found = TransitionCounts.load(path)
                tally.must(any(same(found, one) for one in arrays), f"read {number} was altered")
    finally:
        stop.touch()
        for writer in writers:
            writer.join()
    tally.must(all(writer.exitcode == 0 for writer in writers), "a writer failed")
    tally.must(not parts_in(tmp_path), f"left behind: {parts_in(tmp_path)}")
    tally.settle()


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path):
    tally = Tally("counts files, SIGKILL", allowed=())
    path, rng = tmp_path / "graph.npz", np.random.default_rng(0)
    both = [random_counts(n, seed=n) for n in (100, 20_000)]
    arrays = [counts.to_arrays() for counts in both]
    both[0].save(path)
    n_kills = sized(3, 30)
    for number in range(n_kills):
        writer = PROCESSES.Process(target=save_until, args=(path, both[1], tmp_path / "never"))
        writer.start()
        time.sleep(rng.uniform(0.05, 0.15))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        left = parts_in(tmp_path)
        tally.outcomes["while writing" if left else "between two saves"] += 1
        tally.must(len(left) <= 1, f"kill {number}: the parts of earlier kills are there: {left}")
        found = TransitionCounts.load(path)
        tally.must(any(same(found, one) for one in arrays), f"kill {number} altered the file")
    both[0].save(path)
    tally.must(not parts_in(tmp_path), f"left behind: {parts_in(tmp_path)}")
    tally.settle()


def save_with_room(path: Path, counts: TransitionCounts, n_bytes: int, answer: Any) -> None:
    """Save where no file may become larger than ``n_bytes``; tell what came of it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    try:
        counts.save(path)
    except OSError as error:
        answer.send(error.filename)
    except BaseException as error:
        answer.send(repr(error))
    else:
        answer.send("saved")


def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path):
    tally = Tally("counts files, full disk", allowed=())
    path, rng = tmp_path / "graph.npz", np.random.default_rng(0)
    old, new = random_counts(50, 0), random_counts(3_000, 1)
    new.save(path)
    size = path.stat().st_size
    old.save(path)
    for room in rng.integers(0, size, sized(5, 100)).tolist():
        said = in_another_process(save_with_room, path, new, room)
        tally.outcomes["OSError" if said == str(path) else f"{said} (!)"] += 1
        tally.must(said == str(path), f"with {room} of {size} bytes: {said}")
        tally.must(same(TransitionCounts.load(path), old.to_arrays()), f"{room}: altered")
        tally.must(not parts_in(tmp_path), f"{room}: left behind: {parts_in(tmp_path)}")
    tally.settle()
