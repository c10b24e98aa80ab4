"""Figures of matplotlib as part of a page: its colours, light and dark, its fonts and its tips."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gym_attrplan.graph.figures import GROUND, INK, NODE_COLOUR, PLAN_COLOUR, RULE, load_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HUES = ("#0b6477", PLAN_COLOUR, "#6b4fa0", "#3f7d3a", "#b03060", "#7a6a1d", "#4a6fa5")
_VARIABLES = {hue: f"--s{i}" for i, hue in enumerate(HUES, start=1)}
_VARIABLES |= {NODE_COLOUR: "--muted", RULE: "--rule", GROUND: "--paper-bg", INK: "--ink"}
_KEPT = ("d", "x", "y", "transform", "style", "viewBox", "id", "href", "data-tip", "tabindex")


def page_axes(width: float = 7.2, height: float = 3.6) -> Axes:
    """Axes that look like the page; 1 is 72 of its units.

    Raises:
        DependencyNotInstalled: If matplotlib is missing.
    """
    load_matplotlib()
    from matplotlib.figure import Figure

    ax = Figure(figsize=(width, height), layout="constrained").add_subplot()
    ax.spines[:].set_visible(False)
    ax.tick_params(which="both", length=0, pad=8, labelcolor=NODE_COLOUR, labelsize=10)
    ax.grid(axis="y", color=RULE)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=NODE_COLOUR, size=10)
        axis.labelpad = 10
    return ax


def to_svg(ax: Axes, label: str, tips: Mapping[str, Sequence[str]] | None = None) -> str:
    """The figure of axes as an ``<svg>`` element.

    An artist whose ``gid`` is ``panel NAME`` belongs to that panel of the page, and is hidden at
    first unless it is the first panel.

    Args:
        ax: Its figure is drawn.
        label: What it shows, for those who do not see it.
        tips: ``gid`` → what to say when a reader points at each of that artist's marks.
    """
    import matplotlib as mpl

    file = io.StringIO()
    figure = ax.get_figure(root=True)
    assert figure is not None  # axes of a page have one
    # The salt makes ids differ between figures: a mark must not be one of a hidden panel.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": label}):
        figure.savefig(file, format="svg", transparent=True)
    root = ElementTree.fromstring(file.getvalue())
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.text, element.tail = (element.text or "").strip(), ""
        _clean(element, tips or {})
    for part in [one for one in root if one.tag in ("metadata", "defs")]:
        root.remove(part)
    root.attrib |= {"class": "chart", "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _clean(element: ElementTree.Element, tips: Mapping[str, Sequence[str]]) -> None:
    """Keep what a page needs, and say it in the page's terms."""
    found = {name.rpartition("}")[2]: value for name, value in element.items()}
    element.attrib.clear()
    element.attrib |= {name: value for name, value in found.items() if name in _KEPT}
    name = found.get("id", "")
    if element.tag == "g":
        element.attrib.pop("id", None)
    if name.startswith("panel "):
        element.set("data-panel", name.removeprefix("panel "))
        if not name.endswith(":0"):
            element.set("hidden", "")
    if "d" in found:
        element.set("d", _rounded(" ".join(found["d"].split())))
    if "style" in found:
        plain = re.sub(r"font-family:[^;]*;?", "", found["style"])
        element.set("style", re.sub("#[0-9a-f]{6}", _variable, plain))
    if name in tips:
        for mark, words in zip(_marks(element), tips[name], strict=True):
            mark.attrib |= {"data-tip": words, "tabindex": "0"}


def _marks(element: ElementTree.Element) -> list[ElementTree.Element]:
    """What a scatter plot has drawn: copies of one mark, or marks of different sizes."""
    copies = [one for one in element.iter() if one.tag.endswith("use")]
    return copies or [one for one in element if one.tag.endswith("path")]


def _rounded(text: str) -> str:
    return re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.1f}", text)


def _variable(found: re.Match[str]) -> str:
    name = _VARIABLES.get(found[0])
    return f"var({name})" if name else found[0]
