"""Metadata and extras. Tool settings stand in pyproject.toml, tested versions in requirements/."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (HERE / "gym_attrplan/__init__.py").read_text())[1]

EXTRAS = {
    "mujoco": ["mujoco>=3.2"],
    "minigrid": ["minigrid>=3.0"],
    "pettingzoo": ["pettingzoo>=1.24", "pygame-ce>=2.5"],
    "robotics": ["gymnasium-robotics>=1.4"],
    # Crafter's maps are made in numba if it is there, and in plain Python if not.
    "crafter": ["crafter>=1.8.3", "numba>=0.60"],
    "ray": ["ray>=2.40"],
    "contrib": ["sb3-contrib>=2.7"],
    "play": ["nicegui>=3.0", "networkx>=3.0", "pillow>=10"],
    "viz": [
        "matplotlib>=3.8",
        "imageio>=2.31",
        "imageio-ffmpeg>=0.5",
        "networkx>=3.0",  # torch brings it anyway
        "tensorboard>=2.14",
        "jinja2>=3.1",
        "pillow>=10",
    ],
}
EXTRAS["all"] = sorted({line for lines in EXTRAS.values() for line in lines})
EXTRAS["docs"] = ["sphinx>=7", "furo"]
EXTRAS["dev"] = [
    *EXTRAS["all"],
    *EXTRAS["docs"],
    "pytest>=8",
    "pytest-xdist",
    "hypothesis",
    "ruff",
    "mypy",
    "scipy-stubs",
    "types-PyYAML",
    "pre-commit",
    # The peers that benchmarks/graph_scale.py runs beside our planner.
    "igraph",
    "rustworkx",
    # The environment of examples/spread.py.
    "mpe2>=1.1",
]

setup(
    name="gym_attrplan",
    version=VERSION,
    description="Agents that do what you ask: planning over named attributes for Gymnasium",
    long_description=(HERE / "README.rst").read_text(encoding="utf-8"),
    long_description_content_type="text/x-rst",
    author="The gym_attrplan developers",
    license="MIT",
    keywords=["reinforcement learning", "planning", "gymnasium", "stable-baselines3"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=find_packages(include=["gym_attrplan", "gym_attrplan.*"]),
    package_data={"gym_attrplan": ["py.typed", "report/templates/*"]},
    install_requires=[
        "gymnasium>=1.1",
        "numpy>=1.26",
        "scipy>=1.14",
        "torch>=2.4",
        "stable-baselines3>=2.7",
        "pyyaml>=6",
        "rich>=13",
        "safetensors>=0.4",
        "tqdm>=4.66",
    ],
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["attrplan = gym_attrplan.cli:main"]},
)
