"""The README's Python examples run as pasted, in order, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ledger import read

ROOT = Path(__file__).parent.parent
README = ROOT / "README.rst"


def python_blocks(text: str) -> list[str]:
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)", text)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks]


@pytest.mark.slow
@pytest.mark.learning
def test_the_examples_run_as_pasted(seed):
    blocks = python_blocks(README.read_text())
    assert any("seed=0" in block for block in blocks)
    namespace: dict[str, object] = {}
    for block in blocks:
        code = block.replace("seed=0", f"seed={seed}")
        exec(compile(code, str(README), "exec"), namespace)
    assert namespace["observation"]["desired_goal"].tolist() == [-1, 2]
    assert namespace["plan"].vectors[-1, 1] == 2
    assert namespace["done"]


def test_the_two_commands_are_named():
    text = README.read_text()
    assert "make demo" in text
    assert "make test" in text


def test_it_is_short_and_its_links_lead_somewhere():
    text = README.read_text()
    assert len(text.splitlines()) <= 150
    linked = re.findall(r"<(docs/.*?)>|image:: (docs/.*)", text)
    assert len(linked) >= 9
    assert all((ROOT / (page or picture)).exists() for page, picture in linked)


def success_rates(method: str, env_id: str) -> str:
    lines = [line for line in read("grids") if (line["method"], line["env"]) == (method, env_id)]
    lines = [
        line for line in lines if line["budget"] == 2_400_000 and line["successes"] is not None
    ]
    assert {line["seed"] for line in lines} == {0, 1, 2}
    return f"{sum(line['successes'] for line in lines) / sum(line['n'] for line in lines):.1%}"


@pytest.mark.parametrize("env_id", ["AttrSwitches-v0", "AttrCrafting-v0"])
def test_the_headline_table_equals_the_raw_results(env_id):
    row = re.search(
        rf"\* - ``{env_id}``: .*\n     - \*\*(.*)\*\*\n     - (.*)\n",
        (ROOT / "docs" / "results.rst").read_text(),
    )
    assert row.groups() == (success_rates("ap", env_id), success_rates("ap_paper", env_id))
