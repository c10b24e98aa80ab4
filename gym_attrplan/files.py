"""Atomic writing of files, and reading of arrays within size limits."""

from __future__ import annotations

import contextlib
import errno
import glob
import math
import os
import secrets
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block ends without an error.

    Until then the old file stays, also if the block raises or the process is killed. Of several
    writers the last to finish wins, and each file is complete. The new file's mode follows the
    umask.

    The file is written beside its target as ``.<name>.<random>.part``. The next writer of the same
    target removes a part that a killed process left behind.

    Args:
        path: The file to write; its folder must exist.

    Yields:
        The new file, to be written to.

    Raises:
        OSError: If the file cannot be written: no such folder, no permission, a full disk. Its
            ``filename`` is ``path``.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "notes"
        >>> with replacing(path) as file:
        ...     n_bytes = file.write(b"whole")
        >>> path.read_bytes()
        b'whole'
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    _remove_abandoned(path)
    try:
        part, file, locked = _new_part(path)
    except OSError as error:
        raise _naming(path, error) from error
    try:
        with file:
            yield file
            file.flush()
            # Otherwise a power failure may leave the new name on a file without contents.
            os.fsync(file.fileno())
            # A lock lasts as long as its file is open, and until then no one may remove the part.
            # Windows has no such locks, and does not rename an open file.
            if not locked:
                file.close()
            os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(part)):
            raise _naming(path, error) from error
        raise


def _new_part(path: Path) -> tuple[Path, BinaryIO, bool]:
    """Create a new file beside ``path``; also return whether it is locked while open."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        file = part.open("xb")
        locked = _lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return part, file, locked
        file.close()  # another writer removed it as abandoned before it was locked


def _remove_abandoned(path: Path) -> None:
    """Remove the part files of ``path`` that no process has locked: their writers were killed."""
    # The glob ignores a folder that cannot be listed. A part that is gone, or another user's,
    # does not prevent writing.
    for part in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 16}.part"):
        with contextlib.suppress(OSError), part.open("rb") as file:
            if _lock(file, wait=False):
                part.unlink()


def _lock(file: IO[bytes], *, wait: bool) -> bool:
    """Lock the file and return whether that worked; some network file systems have no locks."""
    try:
        import fcntl  # not on Windows

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _naming(path: Path, error: OSError) -> OSError:
    """Return the same error, with the caller's file name."""
    if error.errno is None:
        return OSError(f"{path} cannot be written: {error}")
    return OSError(error.errno, os.strerror(error.errno), str(path))


def read_npz(
    file: IO[bytes], *, max_bytes: int, wanted: Collection[str] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of an ``.npz``, with their declared sizes checked against a limit.

    Args:
        file: A file that ``numpy.savez`` or ``savez_compressed`` wrote.
        max_bytes: Maximum number of bytes of all arrays.
        wanted: Names of the arrays to read, if present; None reads all.

    Raises:
        ValueError: If an array does not have its declared size, or they are too large. For a
            damaged file ``zipfile`` and NumPy raise many other errors.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> np.savez(file, a=[1, 2], b=3)
        >>> read_npz(file, max_bytes=100, wanted=["a"])
        {'a': array([1, 2])}
    """
    with zipfile.ZipFile(file) as archive:
        stored = [name.removesuffix(".npy") for name in archive.namelist()]
        names = [name for name in stored if wanted is None or name in wanted]
        total = sum(_stated_bytes(archive, name) for name in names)
        if total > max_bytes:
            raise ValueError(f"its arrays take {total:,} bytes, above the limit of {max_bytes:,}")
        return {name: _unpacked(archive, name) for name in names}


def _stated_bytes(archive: zipfile.ZipFile, name: str) -> int:
    """Return the number of bytes of an array, from its header."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} has an unsupported compression")
    with archive.open(info) as stream:
        # Longer headers than those of version 1.0, up to 4 GB, are not needed here.
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError(f"{name} has an unsupported header")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        n_bytes = math.prod(shape) * dtype.itemsize
        # The checksum is compared at the end of a member, so nothing may follow the array.
        if n_bytes != info.file_size - stream.tell():
            raise ValueError(f"{name} is not as long as it says")
    return n_bytes


def _unpacked(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    with archive.open(f"{name}.npy") as stream:
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array
