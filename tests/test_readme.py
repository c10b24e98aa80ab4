"""The README's Python examples run as pasted, in order, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.rst"


def python_blocks(text: str) -> list[str]:
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)", text)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks]


def test_the_examples_run_as_pasted():
    blocks = python_blocks(README.read_text())
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    assert namespace["observation"]["desired_goal"].tolist() == [3, -1]


def test_the_two_commands_are_named():
    text = README.read_text()
    assert "make demo" in text
    assert "make test" in text
