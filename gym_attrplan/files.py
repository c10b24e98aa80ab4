"""Files that are written whole or not at all, and arrays that are read within bounds."""

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
    """Open a new file that takes the place of ``path`` when the block ends well.

    Until then the old file stays as it is, and it stays if the block raises or the process is
    killed. Of several writers the last to finish wins, each file being whole. The new file's mode
    follows the umask.

    The file is written beside its target as ``.<name>.<random>.part``. One that a killed process
    left behind is removed by the next writer of the same target.

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
            # Windows, which has none of these locks, renames no open file.
            if not locked:
                file.close()
            os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(part)):
            raise _naming(path, error) from error
        raise


def _new_part(path: Path) -> tuple[Path, BinaryIO, bool]:
    """A new file beside ``path``, and whether it is locked for as long as it is open."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        file = part.open("xb")
        locked = _lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return part, file, locked
        file.close()  # before it was locked, another writer took it for abandoned


def _remove_abandoned(path: Path) -> None:
    """Remove the part files of ``path`` that no process holds: their writers were killed."""
    # The glob passes over a folder that cannot be listed, and a part that is gone or another
    # user's is no reason not to write.
    for part in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 16}.part"):
        with contextlib.suppress(OSError), part.open("rb") as file:
            if _lock(file, wait=False):
                part.unlink()


def _lock(file: IO[bytes], *, wait: bool) -> bool:
    """Whether this process now holds the file; some network file systems have no locks."""
    try:
        import fcntl  # not on Windows

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _naming(path: Path, error: OSError) -> OSError:
    """The same error, of the file that the caller knows."""
    if error.errno is None:
        return OSError(f"{path} cannot be written: {error}")
    return OSError(error.errno, os.strerror(error.errno), str(path))


def read_npz(
    file: IO[bytes], *, max_bytes: int, wanted: Collection[str] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an ``.npz``, held to their stated sizes, and these to a limit.

    Args:
        file: What ``numpy.savez`` or ``savez_compressed`` wrote.
        max_bytes: Of all arrays together.
        wanted: Names to read if they are there; others are never unpacked. None reads all.

    Raises:
        ValueError: If an array is not as long as it says, or they are too large. On a damaged
            file ``zipfile`` and NumPy raise almost anything else.

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
    """What an array takes, by its header alone."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is packed in a way that is not ours")
    with archive.open(info) as stream:
        # Longer headers than those of version 1.0, up to 4 GB, have no use here.
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError(f"{name} has a header that is not ours")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        n_bytes = math.prod(shape) * dtype.itemsize
        # The checksum is compared where a member ends, so nothing may follow the array.
        if n_bytes != info.file_size - stream.tell():
            raise ValueError(f"{name} is not as long as it says")
    return n_bytes


def _unpacked(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    with archive.open(f"{name}.npy") as stream:
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array
