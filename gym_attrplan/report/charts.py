"""Line charts as places in a drawing, which the page's template turns into SVG."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gym_attrplan.report import paper
from gym_attrplan.report.paper import BLOCKS, BY_EXAMPLES
from gym_attrplan.report.results import Line, Results, Source
from gym_attrplan.report.tables import TASKS, name_of

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 700, 14, 310
"""The edges of the drawing area within it."""

N_HUES = 7


@dataclass(frozen=True)
class Point:
    """A figure at some budget, with what to say about it."""

    x: float
    y: float
    low: float
    high: float
    words: str


@dataclass(frozen=True)
class Series:
    """The points of one method; ``kind`` is ``ours``, ``paper`` or ``rival``, ``hue`` a number."""

    name: str
    kind: str
    hue: int
    points: tuple[Point, ...]

    @property
    def line(self) -> str:
        """The line through its points, as SVG has them."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)

    @property
    def band(self) -> str:
        """The area between the lower and the upper ends."""
        upper = [f"{point.x:.1f},{point.high:.1f}" for point in self.points]
        lower = [f"{point.x:.1f},{point.low:.1f}" for point in reversed(self.points)]
        return " ".join(upper + lower)


@dataclass(frozen=True)
class Chart:
    """A line chart, all of it in places of a drawing of :data:`WIDTH` by :data:`HEIGHT`.

    Args:
        title: What is shown.
        x_label: Of the horizontal axis.
        y_label: Of the vertical axis.
        x_ticks: Places and words.
        y_ticks: Places and words.
        series: The lines.
    """

    title: str
    x_label: str
    y_label: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    series: tuple[Series, ...]


Mark = tuple[float, float, float, float]
"""x, y, and the low and the high end of y."""

Curve = tuple[str, str, int, Sequence[Mark]]
"""Name, kind, hue, and points."""


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


def line_chart(
    title: str, curves: Sequence[Curve], *, x_label: str, y_label: str, log: str = ""
) -> Chart:
    """Lay out curves; ``log`` names the axes, of x and y, that are logarithmic.

    Example:
        >>> curve = ("AP", "ours", 1, [(0, 0, 0, 0), (100, 50, 40, 60)])
        >>> chart = line_chart("", [curve], x_label="steps", y_label="solved, %")
        >>> chart.series[0].line
        '64.0,310.0 700.0,162.0'
    """
    points = [point for *_, own in curves for point in own]
    xs = [point[0] for point in points]
    most = max(point[3] for point in points)
    x_low, x_high = (min(xs) if "x" in log else 0.0), max(xs)
    y_low, y_high = (1e3, 10 ** math.ceil(math.log10(most))) if "y" in log else (0.0, 100.0)

    def x_place(x: float) -> float:
        return LEFT + (RIGHT - LEFT) * _share(x, x_low, x_high, "x" in log)

    def y_place(y: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * _share(y, y_low, y_high, "y" in log)

    series = []
    for name, kind, hue, own in curves:
        marks = []
        for x, y, low, high in own:
            interval = "" if low == high else f" ({low:.1f} to {high:.1f})"
            value = short(y) if "y" in log else f"{y:.1f}%"
            words = f"{name}\n{short(x)} {x_label}: {value}{interval}"
            marks.append(Point(x_place(x), y_place(y), y_place(low), y_place(high), words))
        series.append(Series(name, kind, hue, tuple(marks)))
    x_ticks = _decades(x_low, x_high) if "x" in log else [x_high * i / 4 for i in range(5)]
    y_ticks = _decades(y_low, y_high) if "y" in log else [0.0, 25.0, 50.0, 75.0, 100.0]
    return Chart(
        title=title,
        x_label=x_label,
        y_label=y_label,
        x_ticks=tuple((x_place(x), short(x)) for x in x_ticks),
        y_ticks=tuple((y_place(y), short(y)) for y in y_ticks),
        series=tuple(series),
    )


def sample_charts(results: Results) -> list[Chart]:
    """Success on the blocks by training examples, a chart for each task; then edges found."""
    charts = []
    for task, title in TASKS.items():
        curves: list[Curve] = []
        for hue, method in enumerate(("ap", "ap_paper", "inverse"), start=1):
            found = _by_budget(results, task, method)
            if found:
                curves.append((f"{name_of(method)[0]}: ours", _kind(method), hue, found))
        if task in ("one_step", "multi_step"):
            place = ("one_step", "multi_step").index(task)
            for hue, method in ((2, "ap_paper"), (3, "inverse/one_step")):
                own = [_exact(n, row[method][place]) for n, row in BY_EXAMPLES.items()]
                name = "AP" if method == "ap_paper" else "Inverse"
                curves.append((f"{name}: the paper’s", "paper", hue, own))
        if curves:
            charts.append(
                line_chart(title, curves, x_label="examples", y_label="tasks solved, %", log="x")
            )
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
            marks = [(n, sum(s) / len(s), min(s), max(s)) for n, s in sorted(own.items())]
            name = f"{name}, {data}" if data else name
            curves.append((name, _kind(method), 1 + i % N_HUES, marks))
        charts.append(line_chart(env, curves, x_label="steps", y_label="test tasks solved, %"))
    return charts


def _edges_chart(results: Results) -> Chart:
    curves: list[Curve] = []
    lines = results.select(Source("blocks", BLOCKS, "edges", "ap"))
    own: list[Mark] = []
    for budget in sorted({line["budget"] for line in lines}):
        values = [float(line["value"]) for line in lines if line["budget"] == budget]
        own.append((budget, sum(values) / len(values), min(values), max(values)))
    if own:
        curves.append(("AP: ours", "ours", 1, own))
    theirs = [_exact(n, edges) for n, edges in paper.EDGES_BY_EXAMPLES.items()]
    curves.append(("AP: the paper’s", "paper", 2, theirs))
    return line_chart("edges found", curves, x_label="examples", y_label="edges", log="xy")


def _by_budget(results: Results, task: str, method: str) -> list[Mark]:
    points = []
    lines = results.select(Source("blocks", BLOCKS, task, method))
    for budget in sorted({line["budget"] for line in lines if line["n"]}):
        found = results.find(Source("blocks", BLOCKS, task, method, budget))
        if found:
            points.append((budget, found.percent, *found.interval))
    return points


def _exact(x: float, y: float) -> Mark:
    return x, y, y, y


def _kind(method: str) -> str:
    return "ours" if method == "ap" else "rival"


def _share(value: float, low: float, high: float, log: bool) -> float:
    """How far from low to high a value lies."""
    if log:
        value, low, high = (math.log10(max(one, 1e-9)) for one in (value, low, high))
    return (value - low) / ((high - low) or 1.0)


def _decades(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]
