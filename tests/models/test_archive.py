"""Archives and what is restored from them: held to limits, names, shapes and types."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from archive_damage import unzipped, zipped
from gymnasium import spaces
from torch import nn

from gym_attrplan.error import InvalidArchive, InvalidData, InvalidEnvironment
from gym_attrplan.models import AttributeDetector, Trunk, archive
from gym_attrplan.models.archive import (
    arrays_from_bytes,
    arrays_to_bytes,
    read_archive,
    reading,
    write_archive,
)
from gym_attrplan.models.restoring import (
    check_optimizer,
    check_weights,
    no_larger_than,
    typed,
    whole_number,
)

MEGABYTE = 2**20


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "a.zip", "Thing", {"entry": b"content"})
    return tmp_path / "a.zip"


def refused(path, match, **options):
    with pytest.raises(InvalidArchive, match=match):
        read_archive(path, "Thing", **options)


# --- the zip ------------------------------------------------------------------------------------


def test_a_file_of_zeros_is_refused_before_it_is_unpacked(path, monkeypatch):
    monkeypatch.setattr(archive, "_SMALL", MEGABYTE)
    parts = unzipped(path.read_bytes())
    path.write_bytes(zipped({**parts, "entry": bytes(16 * MEGABYTE)}))
    tracemalloc.start()
    refused(path, r"would unpack to 16,777,2.*larger max_bytes")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * MEGABYTE
    assert len(read_archive(path, "Thing", max_bytes=20 * MEGABYTE)["entry"]) == 16 * MEGABYTE


def test_an_entry_unpacks_to_no_more_than_it_declares(path):
    parts = unzipped(path.read_bytes())
    content = zipped({**parts, "entry": bytes(16 * MEGABYTE)})
    path.write_bytes(content.replace(struct.pack("<I", 16 * MEGABYTE), struct.pack("<I", 5)))
    tracemalloc.start()
    refused(path, "damaged")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * MEGABYTE


def test_what_is_written_can_be_read_however_much_it_shrinks(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_SMALL", MEGABYTE)
    write_archive(tmp_path / "a.zip", "Thing", {"entry": bytes(8 * MEGABYTE)})
    assert read_archive(tmp_path / "a.zip", "Thing") == {"entry": bytes(8 * MEGABYTE)}


def test_long_json_is_refused(path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_JSON_BYTES", 200)
    parts = unzipped(path.read_bytes())
    path.write_bytes(zipped({**parts, "entry.json": b" " * 201}))
    refused(path, "201 bytes of JSON; at most 200")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_another_way_of_packing_is_refused(path, method):
    parts = unzipped(path.read_bytes())
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", parts["manifest.json"])
        file.writestr("entry", b"content", method)
    refused(path, "packed in an unknown way")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_is_there_twice_is_refused(path):
    parts = unzipped(path.read_bytes())
    with zipfile.ZipFile(path, "w") as file:
        for name in ("manifest.json", "entry", "entry"):
            file.writestr(name, parts[name])
    refused(path, "twice")


def test_entries_that_the_manifest_does_not_name_are_ignored(path):
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("evil.pkl", b"cos\nsystem\n")
    assert read_archive(path, "Thing") == {"entry": b"content"}


@pytest.mark.parametrize("manifest", [[], {}, {"kind": "Thing", "format": "1", "sha256": {}}, None])
def test_another_manifest_is_refused(path, manifest):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", json.dumps(manifest))
    refused(path, "does not hold Thing, or is damaged")


def test_whatever_fails_while_reading_is_the_files_fault_except_memory(path):
    said = r"a\.zip does not hold Thing.*ZeroDivisionError"
    with pytest.raises(InvalidArchive, match=said), reading(path, "Thing"):
        raise ZeroDivisionError
    with pytest.raises(MemoryError), reading(path, "Thing"):
        raise MemoryError


def test_arrays_of_all_entries_share_one_limit():
    entry = arrays_to_bytes({"a": np.zeros(100, np.int8)})
    entries = {"one.npz": entry, "two.npz": entry, "other.json": b"{}"}
    assert set(arrays_from_bytes(entries, max_bytes=200)) == {"one", "two"}
    with pytest.raises(ValueError, match="above the limit of 99"):
        arrays_from_bytes(entries, max_bytes=199)


def test_arrays_that_run_code_when_read_are_refused():
    content = io.BytesIO()
    np.savez(content, a=np.array([print], object))
    with pytest.raises(ValueError, match=r"allow_pickle|as long as it says"):
        arrays_from_bytes({"a.npz": content.getvalue()}, max_bytes=MEGABYTE)


# --- what is restored ---------------------------------------------------------------------------


def test_networks_that_outgrow_their_weights_are_not_built():
    weights = nn.Linear(100, 100).state_dict()
    with no_larger_than(weights):
        nn.Linear(100, 100)
    with pytest.raises(InvalidArchive, match="larger networks"), no_larger_than(weights):
        nn.Linear(1_000, 1_000)
    nn.Linear(1_000, 1_000)  # nothing is counted any more


def test_many_small_layers_are_counted_too():
    with pytest.raises(InvalidArchive, match="larger networks"), no_larger_than({}):
        nn.Sequential(*(nn.Linear(1, 1) for _ in range(10_000)))


@pytest.mark.parametrize(
    "given",
    [
        "/a/path",
        {"w": torch.zeros(2)},
        {"w": torch.zeros(3, dtype=torch.float64), "n": [1]},
        {"w": torch.zeros(3), "n": [1, 2]},
        {"w": torch.zeros(3), "n": ["1"]},
        {"w": torch.zeros(3), "n": [float("nan")]},
        {"w": torch.zeros(1, 3), "n": [1]},
    ],
)
def test_weights_of_other_names_shapes_types_or_lengths_are_refused(given):
    own = {"w": torch.ones(3), "n": [5]}
    check_weights(own, {"w": torch.zeros(3), "n": [1.5]})
    with pytest.raises(InvalidArchive, match="do not fit the networks"):
        check_weights(own, given)


def trained_adam():
    layer = nn.Linear(2, 1)
    adam = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 2)).sum().backward()
    adam.step()
    return adam


def as_read(state):
    """As JSON and safetensors give it back: tuples are lists."""
    groups = [
        {key: list(value) if isinstance(value, tuple) else value for key, value in group.items()}
        for group in state["param_groups"]
    ]
    return {"state": state["state"], "param_groups": groups}


def test_the_state_of_a_trained_optimizer_fits_a_fresh_one():
    fresh = torch.optim.Adam(nn.Linear(2, 1).parameters())
    check_optimizer(fresh, as_read(trained_adam().state_dict()), "adam")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state["param_groups"][0].update(params=[0, 5]),
        lambda state: state["param_groups"][0].update(lr="fast"),
        lambda state: state["param_groups"][0].update(betas=[0.9]),
        lambda state: state["param_groups"].clear(),
        lambda state: state["state"].update({7: {}}),
        lambda state: state["state"][0].update(exp_avg=torch.zeros(5)),
        lambda state: state["state"][0].update(step=torch.zeros(1, 2)),
        lambda state: state["state"][0].update(step="/a/path"),
        lambda state: state.update(state="/a/path"),
    ],
)
def test_the_state_of_an_optimizer_of_other_parameters_is_refused(spoil):
    adam = trained_adam()
    state = as_read(adam.state_dict())
    state["state"] = {number: dict(one) for number, one in state["state"].items()}
    spoil(state)
    with pytest.raises(InvalidArchive, match="do not fit the networks"):
        check_optimizer(adam, state, "adam")


@dataclass(frozen=True)
class Report:
    n: int
    loss: float
    errors: dict[str, float]


def test_a_dataclass_takes_what_its_fields_are_made_of():
    assert typed(Report, {"n": 1, "loss": 2, "errors": {"a": 0.5}}) == Report(1, 2, {"a": 0.5})
    for change in ({"n": 1.5}, {"loss": "2"}, {"errors": {"a": "b"}}, {"more": 1}):
        with pytest.raises(InvalidArchive, match=r"is of type|Report has no 'more'"):
            typed(Report, {"n": 1, "loss": 2, "errors": {}, **change})


def test_whole_numbers_have_bounds():
    assert whole_number(5, least=1, most=5) == 5
    for value in (6, 0, 1.0, True, "1", None):
        with pytest.raises(InvalidArchive, match="from 1 to 5"):
            whole_number(value, least=1, most=5)


def test_a_detector_reads_no_more_text_than_it_can_be_loaded_with():
    with pytest.raises(InvalidData, match="from 1 to 4096 bytes"):
        AttributeDetector(spaces.Text(9), ["a"], text=10**12)


def test_a_model_of_a_space_that_cannot_be_saved_is_refused_before_training():
    class Odd(spaces.Box):
        pass

    with pytest.raises(InvalidEnvironment, match="can be saved if"):
        AttributeDetector(Odd(0, 1, (2,)), ["a"])
    with pytest.raises(InvalidEnvironment, match="can be saved if"):
        Trunk(spaces.Box(0, 1, (2,)), Odd(0, 1, (2,)), ["a"])
