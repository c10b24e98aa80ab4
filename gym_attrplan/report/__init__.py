"""What a person looks at: figures, an agent's word held against the facts, and one page."""

from gym_attrplan.report.album import save_graph, save_picture
from gym_attrplan.report.aliasing import Aliasing, StateDependence, find_aliasing
from gym_attrplan.report.calibration import EdgeTrials, Trials, try_edges, try_plans
from gym_attrplan.report.episodes import Episode, record_episode
from gym_attrplan.report.page import write_report
from gym_attrplan.report.plots import (
    film_strip,
    plot_graph,
    plot_learning,
    plot_plan,
    plot_reliability,
)

__all__ = [
    "Aliasing",
    "EdgeTrials",
    "Episode",
    "StateDependence",
    "Trials",
    "film_strip",
    "find_aliasing",
    "plot_graph",
    "plot_learning",
    "plot_plan",
    "plot_reliability",
    "record_episode",
    "save_graph",
    "save_picture",
    "try_edges",
    "try_plans",
    "write_report",
]
