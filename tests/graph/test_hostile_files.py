"""Counts files of strangers and of two writers: refused by name, and before they take memory."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from graph_cases import FOUR_BITS, as_dict, graph_of

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph import TransitionCounts, storage

MEGABYTE = 1 << 20


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", MEGABYTE)


def contents(**changed):
    counts = graph_of({(0, 1): (1, 1), (0, 2): (1, 0)})
    return {"format": 1, "space": FOUR_BITS.to_json(), **counts.to_arrays(), **changed}


def npy(array, *, version=(1, 0)):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), version=version)
    return file.getvalue()


def write_zip(path, members, *, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def refused(path, match):
    with pytest.raises(InvalidGraph, match=match) as caught:
        TransitionCounts.load(path)
    assert len(str(caught.value)) < 1_000


def test_a_file_of_zeros_is_refused_before_it_is_unpacked(tmp_path, small_limit):
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, **contents(nodes=np.zeros((8 * MEGABYTE, 1), np.uint64)))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    refused(path, "above the limit")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * MEGABYTE


def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path):
    lies = bytearray(npy(np.zeros(4, np.float64)))
    place = lies.index(b"(4,)")
    lies[place : place + 15] = b"(40000000000,) "[:15]
    members = {name: npy(part) for name, part in contents().items()}
    write_zip(tmp_path / "lies.npz", {**members, "visits": bytes(lies)})
    refused(tmp_path / "lies.npz", "not as long as it says|header")


def test_what_follows_an_array_is_refused(tmp_path):
    members = {name: npy(part) for name, part in contents().items()}
    write_zip(tmp_path / "more.npz", {**members, "visits": members["visits"] + b"more"})
    refused(tmp_path / "more.npz", "visits is not as long as it says")


def test_headers_without_a_short_limit_are_refused(tmp_path):
    members = {name: npy(part, version=(2, 0)) for name, part in contents().items()}
    write_zip(tmp_path / "second.npz", members)
    refused(tmp_path / "second.npz", "unsupported header")


def test_another_way_of_packing_is_refused(tmp_path):
    members = {name: npy(part) for name, part in contents().items()}
    write_zip(tmp_path / "packed.npz", members, method=zipfile.ZIP_LZMA)
    refused(tmp_path / "packed.npz", "unsupported compression")


def test_arrays_that_are_not_ours_are_never_unpacked(tmp_path, small_limit):
    np.savez_compressed(tmp_path / "more.npz", **contents(zeros=np.zeros(8 * MEGABYTE)))
    assert TransitionCounts.load(tmp_path / "more.npz").n_edges == 2


def test_counts_that_shrink_a_great_deal_can_still_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 1_000)
    monkeypatch.setattr(storage, "MAX_RATIO", 2)
    space = AttributeSpace({"cell": 100})
    counts = TransitionCounts(space)
    cells = np.arange(100)
    counts.record(np.repeat(cells, 100)[:, None], np.tile(cells, 100)[:, None])
    counts.save(tmp_path / "dense.npz")
    assert as_dict(TransitionCounts.load(tmp_path / "dense.npz")) == as_dict(counts)


def test_rows_whose_differences_wrap_round_are_refused():
    arrays = contents()
    far = 2_000_000_000
    arrays["indptr"] = np.array([0, far, -far, 2], np.int32)
    with pytest.raises(InvalidGraph, match="ascend"):
        TransitionCounts.from_arrays(FOUR_BITS, arrays)


def test_nodes_are_not_all_unpacked_at_once():
    space = AttributeSpace([f"a{i}" for i in range(64)])
    n_nodes = 200_000
    empty = TransitionCounts(space).to_arrays()
    arrays = {
        **empty,
        "nodes": np.arange(n_nodes, dtype=np.uint64)[:, None],
        "indptr": np.zeros(n_nodes + 1, np.int32),
    }
    tracemalloc.start()
    TransitionCounts.from_arrays(space, arrays)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * 64 * n_nodes  # two bytes a bit; all at once they took five


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    graph_of({(0, 1): (1, 1)}).save(path)
    before = path.read_bytes()

    def fail(file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match=r"graph\.npz"):
        graph_of({(0, 2): (1, 1)}).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_do_not_share_a_part_file(tmp_path, monkeypatch):
    """The second save begins and ends while the first is half done."""
    path, real, inner = tmp_path / "graph.npz", np.savez_compressed, []

    def save_in_between(file, **parts):
        if not inner:
            inner.append(True)
            graph_of({(0, 2): (1, 1)}).save(path)
        real(file, **parts)

    monkeypatch.setattr(np, "savez_compressed", save_in_between)
    first = graph_of({(0, 1): (1, 1), (1, 2): (1, 0)})
    first.save(path)
    assert as_dict(TransitionCounts.load(path)) == as_dict(first)
    assert list(tmp_path.iterdir()) == [path]
