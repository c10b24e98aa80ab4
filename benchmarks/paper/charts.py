"""Line charts of results, for the page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from gym_attrplan.graph.figures import GROUND
from gym_attrplan.report.page import short
from gym_attrplan.report.svg import HUES, page_axes, to_svg
from paper.figures import BLOCKS, BY_EXAMPLES, EDGES_BY_EXAMPLES
from paper.results import Line, Results, Source
from paper.tables import TASKS, name_of


class Mark(NamedTuple):
    """A figure at some budget, from the low to the high end of its interval or range."""

    x: float
    y: float
    low: float
    high: float


class Curve(NamedTuple):
    """The figures of one method.

    Attributes:
        name: Of the method.
        kind: ``ours``, ``paper`` or ``rival``.
        hue: A number from 1.
        marks: The figures.
    """

    name: str
    kind: str
    hue: int
    marks: list[Mark]


@dataclass(frozen=True)
class Chart:
    """A line chart.

    Args:
        title: What is shown.
        x_label: Of the horizontal axis.
        y_label: Of the vertical axis.
        curves: The lines.
        log: Which axes, of x and y, are logarithmic.
    """

    title: str
    x_label: str
    y_label: str
    curves: list[Curve]
    log: str = ""

    @property
    def svg(self) -> str:
        """The chart as an element of the page."""
        ax, tips = page_axes(), {}
        x_end = max(mark.x for curve in self.curves for mark in curve.marks)
        ax.set(**({"xscale": "log"} if "x" in self.log else {"xlim": (0, x_end)}))
        percent = {"ylim": (-1, 101), "yticks": [0, 25, 50, 75, 100]}
        ax.set(**({"yscale": "log"} if "y" in self.log else percent))
        for i, (name, kind, hue, marks) in enumerate(self.curves):
            x, y, low, high = zip(*marks, strict=True)
            colour, width = HUES[hue - 1], 3 if kind == "ours" else 2
            ax.fill_between(x, low, high, color=colour, alpha=0.14, linewidth=0)
            ax.plot(x, y, "--" if kind == "paper" else "-", color=colour, linewidth=width)
            points = ax.scatter(
                x, y, s=50, color=colour, edgecolors=GROUND, zorder=3, clip_on=False
            )
            points.set_gid(f"points {i}")
            tips[f"points {i}"] = [self.tip(name, mark) for mark in marks]
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: short(value))
            axis.set_minor_formatter("")
        ax.set_xlabel(self.x_label)
        return to_svg(ax, f"{self.title}: {self.y_label} by {self.x_label}", tips)

    def tip(self, name: str, mark: Mark) -> str:
        """What is said about a figure when a reader points at it."""
        interval = "" if mark.low == mark.high else f" ({mark.low:.1f} to {mark.high:.1f})"
        value = short(mark.y) if "y" in self.log else f"{mark.y:.1f}%"
        return f"{name}\n{short(mark.x)} {self.x_label}: {value}{interval}"


def sample_charts(results: Results) -> list[Chart]:
    """Success on the blocks by training examples, a chart for each task; then edges found."""
    charts = []
    for task, title in TASKS.items():
        curves: list[Curve] = []
        for hue, method in enumerate(("ap", "ap_paper", "inverse"), start=1):
            found = _by_budget(results, task, method)
            if found:
                curves.append(Curve(f"{name_of(method)[0]}: ours", _kind(method), hue, found))
        if task in ("one_step", "multi_step"):
            place = ("one_step", "multi_step").index(task)
            for hue, method in ((2, "ap_paper"), (3, "inverse/one_step")):
                own = [_exact(n, row[method][place]) for n, row in BY_EXAMPLES.items()]
                name = "AP" if method == "ap_paper" else "Inverse"
                curves.append(Curve(f"{name}: the paper’s", "paper", hue, own))
        if curves:
            charts.append(Chart(title, "examples", "tasks solved, %", curves, log="x"))
    return [*charts, _edges_chart(results)]


def learning_charts(results: Results) -> list[Chart]:
    """Success on the test tasks while training, a chart for each environment."""
    by_env: dict[str, list[Line]] = defaultdict(list)
    for line in results.select(Source("curves")):
        if line["n"] and "_70@" not in line["task"]:
            by_env[line["env"]].append(line)
    charts = []
    for env, lines in sorted(by_env.items()):
        longest = max(line["budget"] for line in lines)
        shares: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for line in lines:
            if line["budget"] == longest:
                moment, share = line["extra"]["moment"], 100 * line["successes"] / line["n"]
                shares[line["method"]][moment].append(share)
        curves: list[Curve] = []
        ours_first = sorted(shares.items(), key=lambda item: item[0] != "ap")
        for i, (method, own) in enumerate(ours_first):
            name, data = name_of(method)
            marks = [Mark(n, sum(s) / len(s), min(s), max(s)) for n, s in sorted(own.items())]
            name = f"{name}, {data}" if data else name
            curves.append(Curve(name, _kind(method), 1 + i % len(HUES), marks))
        charts.append(Chart(env, "steps", "test tasks solved, %", curves))
    return charts


def _edges_chart(results: Results) -> Chart:
    curves: list[Curve] = []
    lines = results.select(Source("blocks", BLOCKS, "edges", "ap"))
    own: list[Mark] = []
    for budget in sorted({line["budget"] for line in lines}):
        values = [float(line["value"]) for line in lines if line["budget"] == budget]
        own.append(Mark(budget, sum(values) / len(values), min(values), max(values)))
    if own:
        curves.append(Curve("AP: ours", "ours", 1, own))
    theirs = [_exact(n, edges) for n, edges in EDGES_BY_EXAMPLES.items()]
    curves.append(Curve("AP: the paper’s", "paper", 2, theirs))
    return Chart("edges found", "examples", "edges", curves, log="xy")


def _by_budget(results: Results, task: str, method: str) -> list[Mark]:
    points = []
    lines = results.select(Source("blocks", BLOCKS, task, method))
    for budget in sorted({line["budget"] for line in lines if line["n"]}):
        found = results.find(Source("blocks", BLOCKS, task, method, budget))
        if found:
            points.append(Mark(budget, found.percent, *found.interval))
    return points


def _exact(x: float, y: float) -> Mark:
    return Mark(x, y, y, y)


def _kind(method: str) -> str:
    return "ours" if method == "ap" else "rival"
