"""One zip of JSON and safetensors: written whole or not at all, believed only after checks."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from gym_attrplan.error import InvalidArchive

MANIFEST = "manifest.json"
FORMAT = 1


def write_archive(path: Path, kind: str, entries: Mapping[str, bytes]) -> None:
    """Write a zip of ``entries`` with a manifest of what it is and what each entry's hash is.

    A file of that name is replaced only when the new one is complete.

    Args:
        path: The file; its folder must exist.
        kind: What the archive holds; :func:`read_archive` asks for it.
        entries: Name inside the zip → content.
    """
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in entries.items()}
    manifest = {"kind": kind, "format": FORMAT, "sha256": hashes}
    handle, part = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr(MANIFEST, json.dumps(manifest))
            for name, content in entries.items():
                archive.writestr(name, content, zipfile.ZIP_DEFLATED)
        Path(part).chmod(0o644)  # temporary files are made for their owner's eyes only
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def read_archive(path: Path, kind: str) -> dict[str, bytes]:
    """The entries that :func:`write_archive` wrote, each held to its hash.

    Raises:
        InvalidArchive: If the file is no such archive, holds another kind, is damaged, or is of a
            newer format.
        FileNotFoundError: If there is no file.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            manifest = json.loads(archive.read(MANIFEST))
            found, version, hashes = (manifest[key] for key in ("kind", "format", "sha256"))
            if found != kind:
                raise InvalidArchive(f"{path} holds {found}, not {kind}.")
            if version > FORMAT:
                raise InvalidArchive(
                    f"{path} has format {version}; this version reads {FORMAT}. "
                    "pip install --upgrade gym_attrplan."
                )
            entries = {name: archive.read(name) for name in hashes}
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidArchive):
            raise
        raise InvalidArchive(
            f"{path} does not hold {kind}, or is damaged: {error}. Save it again."
        ) from error
    for name, content in entries.items():
        if hashlib.sha256(content).hexdigest() != hashes[name]:
            raise InvalidArchive(f"{path} is damaged: {name} is not what was saved.")
    return entries


def tensors_to_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """A ``state_dict`` in the safetensors format."""
    return safetensors.torch.save({name: t.cpu().contiguous() for name, t in tensors.items()})


def tensors_from_bytes(content: bytes) -> dict[str, torch.Tensor]:
    """The ``state_dict`` that :func:`tensors_to_bytes` wrote.

    Raises:
        InvalidArchive: If it is none.
    """
    try:
        return safetensors.torch.load(content)
    except safetensors.SafetensorError as error:
        raise InvalidArchive(f"the weights cannot be read: {error}.") from error


def json_to_bytes(value: Any) -> bytes:
    """Strict JSON: NaN and infinity are refused."""
    return json.dumps(value, indent=1, allow_nan=False).encode()
