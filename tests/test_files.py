"""gym_attrplan/files.py: a file is the old one or the new one, whatever happens to its writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gym_attrplan.files import replacing


def write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


KILLED_WHILE_WRITING = """
import os, signal, sys
from gym_attrplan.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path):
    write(tmp_path / "counts", b"old")
    write(tmp_path / "counts", b"new")
    assert (tmp_path / "counts").read_bytes() == b"new"
    assert names_in(tmp_path) == ["counts"]


def test_the_old_file_is_there_until_the_block_ends(tmp_path):
    write(tmp_path / "counts", b"old")
    with replacing(tmp_path / "counts") as file:
        file.write(b"new")
        file.flush()
        assert (tmp_path / "counts").read_bytes() == b"old"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_the_old_file_and_nothing_else(tmp_path, error):
    def write_half() -> None:
        with replacing(tmp_path / "counts") as file:
            file.write(b"new")
            raise error

    write(tmp_path / "counts", b"old")
    with pytest.raises(error):
        write_half()
    assert (tmp_path / "counts").read_bytes() == b"old"
    assert names_in(tmp_path) == ["counts"]


def test_two_writers_at_once_leave_one_whole_file(tmp_path):
    with replacing(tmp_path / "counts") as first, replacing(tmp_path / "counts") as second:
        first.write(b"first")
        second.write(b"second")
        first.write(b"first")
    assert (tmp_path / "counts").read_bytes() == b"firstfirst"  # the last to finish
    assert names_in(tmp_path) == ["counts"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_mode_follows_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write(tmp_path / "counts", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "counts").stat().st_mode & 0o777 == mode


def test_contents_are_on_disk_before_the_name_is(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, name=name, real=real: (calls.append(name), real(*args))
        )
    write(tmp_path / "counts", b"new")
    assert calls == ["fsync", "replace"]


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    write(tmp_path / "counts", b"old")
    killed = run_python(KILLED_WHILE_WRITING, tmp_path / "counts")
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "counts").read_bytes() == b"old"
    assert len(names_in(tmp_path)) == 2
    write(tmp_path / "counts", b"new")
    assert names_in(tmp_path) == ["counts"]


def test_only_abandoned_parts_of_the_same_file_are_removed(tmp_path):
    part = f".{'0' * 16}.part"
    kept = [f".other{part}", ".counts.mine.part", "counts.part"]
    for name in [f".counts[1]{part}", *kept]:
        (tmp_path / name).touch()
    write(tmp_path / "counts[1]", b"new")
    assert names_in(tmp_path) == sorted([*kept, "counts[1]"])


def test_a_writer_whose_part_is_removed_before_it_is_locked_makes_another(tmp_path, monkeypatch):
    real, removed = Path.open, []

    def open_and_lose(self, mode="r", *args):
        file = real(self, mode, *args)
        if mode == "xb" and not removed:
            removed.append(self.unlink())
        return file

    monkeypatch.setattr(Path, "open", open_and_lose)
    write(tmp_path / "counts", b"new")
    assert removed
    assert (tmp_path / "counts").read_bytes() == b"new"


@pytest.fixture(params=["file system", "operating system"])
def no_locks(request, monkeypatch):
    def refuse(*_):
        raise OSError("Function not implemented")

    if request.param == "file system":
        monkeypatch.setattr("fcntl.flock", refuse)
    else:
        monkeypatch.setitem(sys.modules, "fcntl", None)


def test_files_are_replaced_where_there_are_no_locks(tmp_path, no_locks):
    write(tmp_path / "counts", b"old")
    write(tmp_path / "counts", b"new")
    assert (tmp_path / "counts").read_bytes() == b"new"
    assert names_in(tmp_path) == ["counts"]


def test_without_locks_an_open_part_is_closed_before_it_is_renamed(tmp_path, no_locks, monkeypatch):
    real, closed = os.replace, []
    with replacing(tmp_path / "counts") as file:
        monkeypatch.setattr(os, "replace", lambda *a: (closed.append(file.closed), real(*a)))
    assert closed == [True]


def test_without_locks_the_parts_of_others_stay(tmp_path, no_locks):
    """Nobody can tell whether they are still being written."""
    other = tmp_path / f".counts.{'0' * 16}.part"
    other.touch()
    write(tmp_path / "counts", b"new")
    assert other.exists()


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path):
    write(tmp_path / "counts", b"old")
    code = """
import resource, sys
from gym_attrplan.files import replacing
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with replacing(sys.argv[1]) as file:
        for _ in range(100):
            file.write(bytes(1000))
except OSError as error:
    print(error.filename)
"""
    assert run_python(code, tmp_path / "counts").stdout.strip() == str(tmp_path / "counts")
    assert (tmp_path / "counts").read_bytes() == b"old"
    assert names_in(tmp_path) == ["counts"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("missing/counts", FileNotFoundError), ("file/counts", NotADirectoryError)],
)
def test_a_folder_that_is_none_is_refused_by_the_name_of_the_file(tmp_path, name, error):
    (tmp_path / "file").touch()
    with pytest.raises(error) as caught, replacing(tmp_path / name):
        pass
    assert caught.value.filename == str(tmp_path / name)


def test_a_folder_is_no_file_to_replace(tmp_path):
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        raise AssertionError("the block must not run")


def test_an_error_about_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "counts"):
        (tmp_path / "source").open()
    assert caught.value.filename == str(tmp_path / "source")
