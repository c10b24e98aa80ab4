"""Archives: zips of JSON and safetensors, written atomically and checked before use."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.torch
import torch

from gym_attrplan.error import InvalidArchive
from gym_attrplan.files import read_npz, replacing

MANIFEST = "manifest.json"
FORMAT = 1

MAX_BYTES = 4 * 2**30
"""Maximum number of bytes of an unpacked file, by default."""

MAX_JSON_BYTES = 16 * 2**20
"""Maximum number of bytes of a JSON entry; its values may take twenty times as much memory."""

_SMALL = 256 * 2**20
_MAX_GROWTH = 100
"""Maximum ratio of unpacked to packed size, for files that unpack to over :data:`_SMALL`."""


def write_archive(path: Path, kind: str, entries: Mapping[str, bytes]) -> None:
    """Write a zip of ``entries`` with a manifest of its kind and the hash of each entry.

    A file of that name is replaced only when the new one is complete.

    Args:
        path: The file; its folder must exist.
        kind: Kind of the contents, which :func:`read_archive` checks.
        entries: Name inside the zip → content.
    """
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in entries.items()}
    manifest = json.dumps({"kind": kind, "format": FORMAT, "sha256": hashes}).encode()
    n_bytes = sum(map(len, entries.values()))
    with replacing(path) as file:
        _pack(file, {MANIFEST: manifest, **entries}, zipfile.ZIP_DEFLATED)
        if n_bytes > most_bytes(file.tell()):  # the reader would refuse it
            file.seek(0)
            file.truncate()
            _pack(file, {MANIFEST: manifest, **entries}, zipfile.ZIP_STORED)


def _pack(file: BinaryIO, entries: Mapping[str, bytes], method: int) -> None:
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def read_archive(path: Path, kind: str, *, max_bytes: int | None = None) -> dict[str, bytes]:
    """Return the entries that :func:`write_archive` wrote, each checked against its hash.

    Args:
        path: The file.
        kind: The expected kind of the contents.
        max_bytes: Maximum number of unpacked bytes; by default :func:`most_bytes`.

    Raises:
        InvalidArchive: If the file is no such archive, has another kind, is damaged, too large,
            or of a newer format.
        FileNotFoundError: If there is no file.
    """
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise InvalidArchive(f"{path} is not a regular file.")
    with path.open("rb") as file, reading(path, kind):
        max_bytes = most_bytes(path.stat().st_size) if max_bytes is None else max_bytes
        with zipfile.ZipFile(file) as archive:
            hashes = _read_manifest(archive, kind)
            contents = _declared(archive, hashes, max_bytes)
            entries = {name: _unpack(archive, info) for name, info in contents.items()}
        for name, content in entries.items():
            if hashlib.sha256(content).hexdigest() != hashes[name]:
                raise InvalidArchive(f"the file is damaged: {name} is not what was saved.")
    return entries


def most_bytes(file_size: int) -> int:
    """Return the maximum number of unpacked bytes for a file of this size, by default."""
    return min(MAX_BYTES, _SMALL + _MAX_GROWTH * file_size)


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Context that reports every error in it as an error of the file.

    Raises:
        InvalidArchive: Instead of any other error, except lack of memory: size limits, which are
            checked first, keep a file from using it up.
    """
    try:
        yield
    except MemoryError:
        raise
    except InvalidArchive as error:
        raise InvalidArchive(f"{path}: {error}") from error
    except Exception as error:  # hostile values fail anywhere in zipfile, numpy, torch or SB3
        shown = f"{type(error).__name__}: {error}"[:300]
        raise InvalidArchive(
            f"{path} does not hold {kind}, or is damaged: {shown}. Save it again."
        ) from error


def _read_manifest(archive: zipfile.ZipFile, kind: str) -> dict[str, str]:
    """Return the hashes of the entries, if the archive is readable and of this kind."""
    manifest = json.loads(_unpack(archive, _declared(archive, [MANIFEST])[MANIFEST]))
    found, version, hashes = (manifest[key] for key in ("kind", "format", "sha256"))
    if found != kind:
        raise InvalidArchive(f"the file holds {found!r:.100}, not {kind}.")
    if version > FORMAT:
        raise InvalidArchive(
            f"the file has format {version!r:.100}; this version reads {FORMAT}. "
            "pip install --upgrade gym_attrplan."
        )
    return dict(hashes)


def _declared(
    archive: zipfile.ZipFile, names: Iterable[str], max_bytes: int = MAX_BYTES
) -> dict[str, zipfile.ZipInfo]:
    """Return the zip's records of the entries, if they can be unpacked safely."""
    listed = archive.namelist()
    if len(listed) != len(set(listed)):
        raise InvalidArchive("the file is damaged: an entry is in it twice.")
    contents = {name: archive.getinfo(name) for name in names}
    for name, info in contents.items():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidArchive(f"the entry {name!r:.100} is packed in an unknown way.")
        if name.endswith(".json") and info.file_size > MAX_JSON_BYTES:
            raise InvalidArchive(
                f"the entry {name!r:.100} has {info.file_size:,} bytes of JSON; at most "
                f"{MAX_JSON_BYTES:,} are read."
            )
    n_bytes = sum(info.file_size for info in contents.values())
    if n_bytes > max_bytes:
        raise InvalidArchive(
            f"the file would unpack to {n_bytes:,} bytes, more than the {max_bytes:,} that it may "
            "take. If you trust it and have the memory, give a larger max_bytes."
        )
    return contents


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as entry:
        return entry.read(info.file_size)  # without a limit it might unpack more than declared


def tensors_to_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Convert a ``state_dict`` to the safetensors format."""
    return safetensors.torch.save({name: t.cpu().contiguous() for name, t in tensors.items()})


def tensors_from_bytes(content: bytes) -> dict[str, torch.Tensor]:
    """Return the ``state_dict`` that :func:`tensors_to_bytes` converted.

    Raises:
        InvalidArchive: If the content is not valid.
    """
    try:
        return safetensors.torch.load(content)
    except safetensors.SafetensorError as error:
        raise InvalidArchive(f"the weights cannot be read: {error}.") from error


def arrays_to_bytes(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Convert arrays to NumPy's format, uncompressed: the archive compresses them."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def arrays_from_bytes(
    entries: Mapping[str, bytes], *, max_bytes: int
) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Return the arrays of all entries that :func:`arrays_to_bytes` wrote, by entry name.

    Args:
        entries: Name inside the zip → content; entries other than ``.npz`` are ignored.
        max_bytes: Maximum number of bytes of all arrays; older versions compressed them twice.

    Raises:
        ValueError: If they are larger. NumPy raises many kinds of errors for damaged ones.
    """
    arrays: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for name, content in entries.items():
        if name.endswith(".npz"):
            found = read_npz(io.BytesIO(content), max_bytes=max_bytes)
            max_bytes -= sum(array.nbytes for array in found.values())
            arrays[name.removesuffix(".npz")] = found
    return arrays


def json_to_bytes(value: Any) -> bytes:
    """Convert to strict JSON: NaN and infinity are refused."""
    return json.dumps(value, indent=1, allow_nan=False).encode()
