"""What all pages share: templates, ways to write numbers, and one file that needs no network."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_attrplan.error import DependencyNotInstalled
from gym_attrplan.files import replacing
from gym_attrplan.report.graphs import graph_svg

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Dots:
    """A line of a chart of success rates.

    Args:
        name: What is measured.
        small: Said beside it.
        tip: Said when a reader points at it.
        percent: The rate; None if it was not measured.
        interval: Its lower and upper end, in percent.
        tick: Another rate to compare with.
        kind: ``mine`` for what stands out.
    """

    name: str
    small: str = ""
    tip: str = ""
    percent: float | None = None
    interval: tuple[float, float] | None = None
    tick: float | None = None
    kind: str = ""


def write_page(file: Path, template: Path, context: dict[str, Any]) -> Path:
    """Fill in a template and write it, whole or not at all.

    Args:
        file: The page.
        template: A file; it may use its neighbours and :data:`TEMPLATES`.
        context: What it is filled in with.

    Raises:
        DependencyNotInstalled: If Jinja2 or matplotlib is missing.
    """
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            'the page needs Jinja2: pip install "gym_attrplan[viz]".'
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"short": short, "percent": _percent}
    environment.globals |= {"graph_svg": graph_svg, "today": _today()}
    page = environment.get_template(template.name).render(**context)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as part:
        part.write(page.encode())
    return file


def short(number: float) -> str:
    """A count as people write it.

    Example:
        >>> short(2_400_000), short(300_032), short(18.6), short(120_000)
        ('2.4M', '300K', '18.6', '120K')
    """
    for size, letter in ((1e6, "M"), (1e3, "K")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:g}"


def _percent(value: float) -> str:
    return f"{value:.1f}"


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
