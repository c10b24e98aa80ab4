"""The order of the rooms: a file imports only from rooms to its left."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gym_attrplan"
ORDER = [
    "error",
    "files",
    "attributes",
    "graph",
    "wrappers",
    "models",
    "algorithms",
    "agent",
    "report",
    "cli",
]
MAY_IMPORT = {room: {*ORDER[:i], room} for i, room in enumerate(ORDER)}
MAY_IMPORT["envs"] = {"error", "files", "attributes", "graph", "wrappers", "envs"}
MAY_IMPORT["cli"] |= {"envs"}
MAY_IMPORT["__init__"] = {*ORDER, "envs"} - {"cli"}
LIGHT = ("error", "files", "attributes", "graph", "wrappers", "envs")
HEAVY = ("torch", "stable_baselines3")

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_imported(path: Path) -> set[str]:
    known = {room_of(file) for file in FILES}
    parts = [name.split(".") for name in imported_modules(path)]
    inside = {name[1] for name in parts if name[0] == "gym_attrplan" and len(name) > 1}
    return inside & known


def test_every_room_has_its_place_in_the_order():
    assert {room_of(path) for path in FILES} <= set(MAY_IMPORT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_from_rooms_to_its_left(path):
    assert rooms_imported(path) <= MAY_IMPORT[room_of(path)]


def file_of(name: str) -> Path | None:
    """The file that a dotted name is, or is in."""
    parts = name.split(".")[1:]
    for n in range(len(parts), 0, -1):
        for path in (PACKAGE.joinpath(*parts[:n]).with_suffix(".py"), PACKAGE.joinpath(*parts[:n])):
            if path.is_file():
                return path
            if (path / "__init__.py").is_file():
                return path / "__init__.py"
    return None


def imports_in_room(paths: list[Path]) -> dict[Path, set[Path]]:
    """File → the files of its own room that it imports, under ``TYPE_CHECKING`` too."""
    found = {}
    for path in paths:
        names = [name for name in imported_modules(path) if name.startswith("gym_attrplan.")]
        files = {file for file in map(file_of, names) if file is not None}
        found[path] = {file for file in files & set(paths) if room_of(file) == room_of(path)}
    return found


def circle(imports: dict[Path, set[Path]]) -> list[str]:
    """Names of files that are left when those are taken away, again and again, that need none."""
    left = {path: files - {path} for path, files in imports.items()}
    while done := {path for path, files in left.items() if not files}:
        left = {path: files - done for path, files in left.items() if path not in done}
    return sorted(path.name for path in left)


@pytest.mark.parametrize("room", sorted({room_of(path) for path in FILES}))
def test_nothing_runs_in_a_circle_inside_a_room(room):
    assert circle(imports_in_room([path for path in FILES if room_of(path) == room])) == []


def test_the_walk_sees_a_circle():
    one, two, three = (Path(name) for name in "abc")
    assert circle({one: {two}, two: {one}, three: set()}) == ["a", "b"]


@pytest.mark.parametrize("room", LIGHT)
def test_light_rooms_do_not_load_torch(room):
    code = (
        f"import sys, importlib; importlib.import_module('gym_attrplan.{room}');"
        f"sys.exit(any(name in sys.modules for name in {HEAVY!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_the_package_loads_no_simulator():
    code = "import sys, gym_attrplan; sys.exit(bool({'mujoco', 'minigrid'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_walk_sees_a_breach(tmp_path):
    file = tmp_path / "space.py"
    file.write_text("def late():\n    from gym_attrplan.wrappers import bonus\n")
    assert rooms_imported(file) == {"wrappers"}
