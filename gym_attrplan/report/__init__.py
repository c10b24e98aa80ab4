"""What a person looks at: figures and a demonstration."""

from gym_attrplan.report.plots import film_strip, plot_plan

__all__ = ["film_strip", "plot_plan"]
