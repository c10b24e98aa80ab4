"""Sphinx settings: `make docs` builds with warnings as errors and runs every example."""

import gym_attrplan

project = "gym_attrplan"
author = "The gym_attrplan developers"
copyright = "2026, The gym_attrplan developers"
release = version = gym_attrplan.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "description"
autodoc_member_order = "bysource"
doctest_global_setup = "import gymnasium as gym, numpy as np"
# Plain examples stand in docstrings, which pytest runs; here run the directives of these pages.
doctest_test_doctest_blocks = ""
exclude_patterns = ["_build"]
html_theme = "furo"
html_static_path = ["_static"]
html_title = f"gym_attrplan {release}"
