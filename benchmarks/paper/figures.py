"""The paper's figures, by the names our results have: what every figure of ours is printed beside.

Zhang, Lerer, Sukhbaatar, Fergus and Szlam, *Composable Planning with Attributes*, ICML 2018. Our
``a2c`` stands for its A3C, ``test_tasks`` for the training data that it calls multi-step.
"""

from __future__ import annotations

BLOCKS, CONTINUOUS = "AttrBlocks-v0", "AttrBlocksContinuous-v0"
IMAGES = f"{BLOCKS}[obs_type=pixels]"
"""The blocks from images; rivals see our agent's features and its detector's predictions."""

SWITCHES, CRAFTING = "AttrSwitches-v0", "AttrCrafting-v0"
SMALL, LARGE = "AttrBuildOrder-v0", "AttrBuildOrderLarge-v0"

BLOCK_TASKS = ("one_step", "multi_step", "four_stack", "one_step_70", "multi_step_70")

_BLOCKS = {
    BLOCKS: {
        "a2c/one_step": (98.5, 8.1, 1.9, 65.7, 6.6),
        "a2c/test_tasks": (2.6, 0.0, 0.0, 5.3, 0.0),
        "a2c/curriculum": (98.2, 17.0, 2.9, 8.2, 0.2),
        "option_critic/one_step": (33.3, 0.6, 1.0, 34.9, 1.2),
        "option_critic/test_tasks": (15.9, 0.2, 0.5, 32.9, 1.7),
        "option_critic/curriculum": (32.7, 0.4, 0.9, 32.0, 1.0),
        "inverse/one_step": (100.0, 9.1, 0.5, 98.8, 18.8),
        "inverse/test_tasks": (94.1, 13.7, 4.6, 71.2, 9.6),
        "ap_no_cpi": (74.5, 29.7, 62.2, 81.8, 28.1),
        "ap_paper": (98.8, 66.7, 98.5, 97.8, 63.5),
    },
    CONTINUOUS: {
        "a2c/one_step": (0.3, 0.0, 0.0, 0.0, 0.0),
        "a2c/test_tasks": (0.0, 0.0, 0.0, 0.5, 0.0),
        "a2c/curriculum": (0.3, 0.0, 0.0, 0.0, 0.0),
        "option_critic/one_step": (13.8, 0.0, 4.4, 14.6, 0.0),
        "option_critic/test_tasks": (14.4, 0.0, 0.0, 13.1, 0.0),
        "option_critic/curriculum": (15.2, 0.3, 1.3, 15.2, 0.1),
        "inverse/one_step": (60.1, 8.6, 0.0, 29.3, 2.5),
        "inverse/test_tasks": (0.7, 0.0, 0.0, 1.0, 0.1),
        "ap_no_cpi": (56.6, 13.6, 0.0, 40.0, 10.3),
        "ap_paper": (64.1, 17.0, 0.4, 45.3, 12.5),
    },
}
_SUCCESS = {
    SWITCHES: {
        "reinforce/one_step": 15.4,
        "reinforce/test_tasks": 0.0,
        "reinforce/curriculum": 33.3,
        "ap_paper": 83.1,
    },
    CRAFTING: {
        "reinforce/one_step": 26.0,
        "reinforce/test_tasks": 21.8,
        "reinforce/curriculum": 51.5,
        "ap_paper": 99.8,
    },
    SMALL: {
        "reinforce/test_tasks": 12.6,
        "reinforce/curriculum": 18.9,
        "ap_paper": 31.7,
        "ap_paper/random_exploration": 6.4,
    },
    LARGE: {"reinforce/test_tasks": 2.3, "reinforce/curriculum": 1.9, "ap_paper": 35.2},
}

ENV_TASKS = {SWITCHES: "targets", CRAFTING: "items", SMALL: "counts", LARGE: "counts"}
"""The task of each environment that has only one."""

BUDGETS = {BLOCKS: 1_000_000, SMALL: 30_000_000, LARGE: 30_000_000}
"""Examples or steps behind the paper's AP, where it names them and ours may match."""

BY_EXAMPLES = {
    10_000: {"inverse/one_step": (35.5, 1.6), "ap_paper": (50.0, 3.0)},
    100_000: {"inverse/one_step": (99.9, 7.8), "ap_paper": (89.0, 47.0)},
    1_000_000: {"inverse/one_step": (100.0, 9.1), "ap_paper": (98.9, 66.7)},
    10_000_000: {"inverse/one_step": (100.0, 8.5), "ap_paper": (96.5, 70.7)},
}
"""One-step and multi-step success on the discrete blocks, by training examples."""

EDGES_BY_EXAMPLES = {10_000: 11_438, 100_000: 57_299, 1_000_000: 144_083, 10_000_000: 238_969}
"""Edges that AP finds on the discrete blocks."""

EDGES = {
    CRAFTING: {"random": 18.6, "normalized_count_bonus": 25.0},
    SMALL: {"random": 2_047.0, "count_bonus": 120_000.0},
    LARGE: {"count_bonus": 420_000.0},
}
"""Edges found by exploring, by environment and the way to explore."""

DETECTOR_ERRORS = {10_000: 1.4, 1_000_000: 0.1}
"""Percent of block images with any wrongly predicted attribute, at most, by labels."""

_SAME = {"ap": "ap_paper", "inverse": "inverse/one_step"}
"""Our names of methods that the paper has under another name."""


def paper_figure(env: str, task: str, method: str) -> float | None:
    """The paper's success in percent on a task, None if it has none.

    Example:
        >>> paper_figure("AttrBlocks-v0", "multi_step", "ap")
        66.7
        >>> paper_figure("AttrSwitches-v0", "targets", "ppo") is None
        True
    """
    name, _, rest = method.partition("/")
    methods = (method, _SAME.get(method), f"{_SAME.get(name, name)}/{rest}")
    if env in _BLOCKS and task in BLOCK_TASKS:
        rows = (_BLOCKS[env].get(one) for one in methods if one)
        return next((row[BLOCK_TASKS.index(task)] for row in rows if row), None)
    if ENV_TASKS.get(env) != task:
        return None
    return next((_SUCCESS[env][one] for one in methods if one in _SUCCESS[env]), None)
