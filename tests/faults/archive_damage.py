"""Damages of a saved agent: of its bytes, and of its contents with the hashes made right again."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Parts = dict[str, bytes]
Rng = np.random.Generator

MANIFEST = "manifest.json"


def unzipped(content: bytes) -> Parts:
    """The entries of a zip."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: Parts) -> bytes:
    """A zip of entries, with a manifest that has their hashes."""
    kind = json.loads(parts[MANIFEST])
    others = {name: part for name, part in parts.items() if name != MANIFEST}
    kind["sha256"] = {name: hashlib.sha256(part).hexdigest() for name, part in others.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(kind))
        for name, part in others.items():
            archive.writestr(name, part)
    return file.getvalue()


# --- bytes --------------------------------------------------------------------------------------


def raw_damage(content: bytes, rng: Rng) -> tuple[str, bytes]:
    """What was done, and the bytes after it."""
    damage = _RAW[rng.integers(len(_RAW))]
    return damage.__name__, damage(content, rng)


def _place(content: bytes, rng: Rng) -> int:
    """Anywhere, and more often where the zip describes itself."""
    headers = [i for i in range(len(content) - 4) if content[i : i + 2] == b"PK"]
    where = rng.integers(3) if headers else 0
    if where == 0:
        return int(rng.integers(len(content)))
    if where == 1:
        return int(rng.integers(max(0, len(content) - 400), len(content)))
    return min(len(content) - 1, headers[rng.integers(len(headers))] + int(rng.integers(46)))


def flipped_bits(content: bytes, rng: Rng) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        changed[_place(content, rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwritten(content: bytes, rng: Rng) -> bytes:
    at, n = _place(content, rng), int(rng.integers(1, 9))
    return content[:at] + bytes([int(rng.choice([0, 255]))] * n) + content[at + n :]


def truncated(content: bytes, rng: Rng) -> bytes:
    return content[: rng.integers(len(content))]


def headless(content: bytes, rng: Rng) -> bytes:
    return content[rng.integers(1, len(content)) :]


def with_bytes_inserted(content: bytes, rng: Rng) -> bytes:
    at = _place(content, rng)
    return content[:at] + rng.bytes(int(rng.integers(1, 40))) + content[at:]


def with_bytes_removed(content: bytes, rng: Rng) -> bytes:
    at = _place(content, rng)
    return content[:at] + content[at + int(rng.integers(1, 40)) :]


def with_ranges_swapped(content: bytes, rng: Rng) -> bytes:
    a, b, c = sorted(rng.integers(len(content), size=3).tolist())
    return content[:a] + content[b:c] + content[a:b] + content[c:]


_RAW: list[Callable[[bytes, Rng], bytes]] = [
    flipped_bits,
    flipped_bits,
    overwritten,
    truncated,
    headless,
    with_bytes_inserted,
    with_bytes_removed,
    with_ranges_swapped,
]


# --- contents -----------------------------------------------------------------------------------


def hashed_damage(parts: Parts, rng: Rng, hostile: list[Any]) -> tuple[str, bytes]:
    """What was done, and a zip whose hashes are right.

    Args:
        parts: The entries of a sound archive.
        rng: Chooses the damage.
        hostile: Values to put into JSON: paths of pipes, names of classes that must not be run.
    """
    parts = dict(parts)
    entries = [name for name in parts if name != MANIFEST]
    name = entries[rng.integers(len(entries))]
    draw = rng.random()
    if draw < 0.04:
        parts.pop(name)
        return f"without {name}", zipped(parts)
    if draw < 0.08:
        other = entries[rng.integers(len(entries))]
        parts[name], parts[other] = parts[other], parts[name]
        return f"{name} and {other} swapped", zipped(parts)
    if draw < 0.14:
        parts[name] = raw_damage(parts[name], rng)[1]
        return f"{name} of other bytes", zipped(parts)
    if draw < 0.18:
        parts[name] = bytes(int(rng.integers(10_000_000)))
        return f"{name} of zeros", zipped(parts)
    ending = name.rsplit(".")[-1]
    what, parts[name] = _BY_ENDING[ending](parts[name], rng, hostile)
    return f"{name}: {what}", zipped(parts)


ODD_VALUES: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    2**31,
    10**7,
    10**10,
    10**12,
    10**30,
    10**400,
    "",
    "0",
    "é\ud800\x1b[2J",
    "x" * 2_000,
    [],
    {},
    [10**9],
    [[1, 2], [3]],
    ["low_level", "policy"],
    {"dict": []},
    {"tensor": "/low_level/policy/nowhere"},
    {"tuple": [1]},
]


def _damaged_json(content: bytes, rng: Rng, hostile: list[Any]) -> tuple[str, bytes]:
    value = json.loads(content)
    holders = [holder for holder in _walk(value) if len(holder)]
    what = []
    for _ in range(rng.choice([1, 1, 1, 3])):
        holder = holders[rng.integers(len(holders))]
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        if not keys:
            continue
        key = keys[rng.integers(len(keys))]
        before = holder[key]
        what.append(f"{key!r:.60}={before!r:.80} -> {_alter(holder, key, rng, hostile)!r:.80}")
    text = json.dumps(value)
    if rng.random() < 0.02:
        text = "[" * 100_000
    return "; ".join(what), text.encode()


def _alter(holder: Any, key: Any, rng: Rng, hostile: list[Any]) -> Any:
    value, draw = holder[key], rng.random()
    if draw < 0.1:
        del holder[key]
        return "removed"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and draw < 0.5:
        holder[key] = [value + 1, value * 1_000_000, -value, value / 3, 10**11][rng.integers(5)]
    elif draw < 0.55:
        holder[key] = [value]
    else:
        odd = hostile if draw < 0.7 else ODD_VALUES
        holder[key] = odd[rng.integers(len(odd))]
    return holder[key]


def _walk(value: Any) -> list[Any]:
    """All lists and dicts inside a value."""
    if not isinstance(value, (dict, list)):
        return []
    inside = value.values() if isinstance(value, dict) else value
    return [value, *(holder for one in inside for holder in _walk(one))]


def _damaged_tensors(content: bytes, rng: Rng, hostile: list[Any]) -> tuple[str, bytes]:
    """Other shapes, types, names, offsets or values in the safetensors format."""
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + length]), bytearray(content[8 + length :])
    names = [name for name in header if name != "__metadata__"]
    name = names[rng.integers(len(names))]
    entry, draw = header[name], int(rng.integers(8))
    if draw == 0:
        entry["shape"] = [*entry["shape"][::-1], 1]
    elif draw == 1:
        entry["dtype"] = str(rng.choice(["F64", "I32", "F16", "BOOL", "U8", "F8_E4M3", "X"]))
    elif draw == 2:
        entry["shape"] = [[2**40], [2**63], [0, 10**18], [-1], ["a"], []][rng.integers(6)]
    elif draw == 3:
        entry["data_offsets"] = rng.integers(-10, 2**40, size=2).tolist()
    elif draw == 4:
        header[f"{name}_"] = header.pop(name)
    elif draw == 5:
        length = int(rng.choice([0, 1, 2**30, 2**63]))
        return f"header of {length}", struct.pack("<Q", length) + content[8:]
    elif draw == 6:
        data = data[: rng.integers(len(data))]
    else:
        begin, end = entry["data_offsets"]
        data[begin:end] = b"\xff" * (end - begin)  # NaN
    text = json.dumps(header).encode()
    return f"{name} {draw}", struct.pack("<Q", len(text)) + text + bytes(data)


def _damaged_arrays(content: bytes, rng: Rng, hostile: list[Any]) -> tuple[str, bytes]:
    """Other arrays, or headers that lie about them, inside an npz."""
    inner = unzipped(content)
    name = list(inner)[rng.integers(len(inner))]
    draw = int(rng.integers(6))
    if draw == 0:
        inner.pop(name)
    elif draw == 1:
        inner[name] = _npy_header((10**12,), "<f8")
    elif draw == 2:
        inner[name] = _npy_header((3,), "|O")
    elif draw == 3:
        inner[name] = bytes(5_000_000)
    else:
        array = np.load(io.BytesIO(inner[name]))
        changed = [
            array.astype(np.float16),
            array[..., None],
            array.ravel()[: array.size // 2],
            np.full_like(array, -1 if array.dtype.kind in "if" else 1),
            array + array.dtype.type(1),
            array.ravel()[::-1],
        ][rng.integers(6)]
        file = io.BytesIO()
        np.save(file, changed)
        inner[name] = file.getvalue()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, part in inner.items():
            archive.writestr(key, part)
    return f"{name} {draw}", file.getvalue()


def _npy_header(shape: tuple[int, ...], descr: str) -> bytes:
    file = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


_BY_ENDING = {
    "json": _damaged_json,
    "safetensors": _damaged_tensors,
    "npz": _damaged_arrays,
}
