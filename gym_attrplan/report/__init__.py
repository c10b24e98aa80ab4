"""What a person looks at: figures, predictions compared with results, videos and one page."""

from gym_attrplan.report.agent_page import write_agent_report
from gym_attrplan.report.album import save_picture
from gym_attrplan.report.calibration import EdgeTrials, Trials, try_edges, try_plans
from gym_attrplan.report.episodes import Episode, record_episode
from gym_attrplan.report.graphs import save_graph
from gym_attrplan.report.plots import film_strip, plot_learning, plot_reliability
from gym_attrplan.report.video import Video, record_video

__all__ = [
    "EdgeTrials",
    "Episode",
    "Trials",
    "Video",
    "film_strip",
    "plot_learning",
    "plot_reliability",
    "record_episode",
    "record_video",
    "save_graph",
    "save_picture",
    "try_edges",
    "try_plans",
    "write_agent_report",
]
