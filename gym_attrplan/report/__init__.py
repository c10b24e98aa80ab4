"""What a person looks at: figures and a demonstration."""

from gym_attrplan.report.plots import plot_plan

__all__ = ["plot_plan"]
