"""What ``reproduce.py`` runs: the scripts of ``benchmarks/``, as data.

Seconds are for one seed on two cores, scaled up from short pieces.
"""

from __future__ import annotations

from collections.abc import Sequence

from gym_attrplan.error import InvalidOption
from paper.figures import (
    BLOCK_TASKS,
    BLOCKS,
    CONTINUOUS,
    CRAFTING,
    LARGE,
    SMALL,
    SWITCHES,
)
from paper.stage import Promise, Stage

PARTS = ("blocks", "blocks-continuous", "grids", "build-order")
SCALES = ("quick", "full")
_REGIMES = "one_step test_tasks curriculum"
_HARDER = "reinforce in test_tasks curriculum"
_GRIDS: dict[str, Sequence[str]] = {SWITCHES: ["targets"], CRAFTING: ["items"]}
_COUNTS: dict[str, dict[str, Sequence[str]]] = {
    "small": {SMALL: ["counts"]},
    "large": {LARGE: ["counts"]},
}


def stages_of(part: str, scale: str) -> list[Stage]:
    """The stages of a part of the paper, or of ``all``, in order.

    Raises:
        InvalidOption: If there is no such part or scale.
    """
    if part not in (*PARTS, "all"):
        raise InvalidOption(f"a part is one of {[*PARTS, 'all']}; received {part!r}.")
    if scale not in SCALES:
        raise InvalidOption(f"a scale is one of {[*SCALES]}; received {scale!r}.")
    parts = PARTS if part == "all" else (part,)
    return [stage for one in parts for stage in _STAGES[scale][one]]


def _rivals(
    name: str,
    envs: dict[str, Sequence[str]],
    learners: str,
    budget: int,
    n_tasks: int,
    *,
    more: str = "",
    seconds: float,
) -> Stage:
    """Learners in regimes, such as ``"a2c in curriculum"``, on the tasks of each environment.

    Our agent, ``ap``, can be among them and has no regime.
    """
    algos, _, regimes = learners.partition(" in ")
    methods = [
        one if one == "ap" else f"{one}/{regime}"
        for one in algos.split()
        for regime in regimes.split()
    ]
    arguments = (
        f"--env {' '.join(envs)} --algo {algos} --regime {regimes} --budget {budget} "
        f"--n-tasks {n_tasks} --seeds <seeds> --jobs <jobs> <ray> "
        f"--agents '<out>/agents/{{env}}-{{method}}-{{seed}}-{{budget}}.zip' {more}"
    )
    promises = [Promise("baselines", budget, [env], envs[env], methods) for env in envs]
    return Stage(name, "baselines.py", arguments, seconds, tuple(promises))


def _blocks(
    budgets: Sequence[int],
    methods: str,
    how: str,
    *,
    seconds: float,
    gpu_seconds: float | None = None,
) -> Stage:
    promises = [
        promise
        for budget in budgets
        for promise in (
            Promise("blocks", budget, [BLOCKS], BLOCK_TASKS, methods.split()),
            Promise("blocks", budget, [BLOCKS], ["full_set"], ["detector"]),
            Promise("blocks", budget, [BLOCKS], ["edges"], ["ap"]),
        )
    ]
    arguments = (
        f"{how} --methods {methods} --agents <out>/agents/blocks --seeds <seeds> --jobs <jobs>"
    )
    return Stage(
        "blocks", "blocks.py", arguments, seconds, tuple(promises), gpu_seconds=gpu_seconds
    )


def _continuous(budget: int, methods: str, how: str, *, seconds: float) -> Stage:
    promise = Promise("blocks_continuous", budget, [CONTINUOUS], BLOCK_TASKS, methods.split())
    arguments = (
        f"--budget {budget} --methods {methods} {how} --seeds <seeds> --jobs <jobs> <ray> "
        f"--n-envs <jobs> --agents '<out>/agents/continuous-{{seed}}-{budget}.zip'"
    )
    return Stage("blocks-continuous", "blocks_continuous.py", arguments, seconds, (promise,))


def _grids(budget: int, n_tasks: int, *, seconds: float) -> Stage:
    methods = ("ap", "ap_paper", "ap_no_cpi", "random")
    promises = [Promise("grids", budget, [env], _GRIDS[env], methods) for env in _GRIDS]
    arguments = (
        f"--total-timesteps {budget} --n-tasks {n_tasks} --seeds <seeds> --jobs <jobs> <ray> "
        "--agents '<out>/agents/{env}-{seed}-{budget}.zip'"
    )
    return Stage("grids", "grids.py", arguments, seconds, tuple(promises))


def _exploration(budget: int, *, seconds: float) -> Stage:
    methods = ("random", "normalized_count_bonus", "count_bonus")
    promise = Promise("exploration", budget, [CRAFTING], ["edges"], methods)
    arguments = f"--total-timesteps {budget} --seeds <n_seeds> --jobs <jobs> <ray>"
    return Stage("exploration", "exploration.py", arguments, seconds, (promise,))


def _build_order(
    version: str, explorations: str, budget: int, n_tasks: int, *, seconds: float
) -> Stage:
    envs, ways, methods = [*_COUNTS[version]], explorations.split(), ["ap", "ap_paper"]
    if "random" in ways:
        methods += [f"{method}/random_exploration" for method in methods]
    promises = (
        Promise("build_order", budget, envs, ["counts"], methods),
        Promise("build_order", budget, envs, ["edges"], ways),
    )
    arguments = (
        f"--versions {version} --explorations {explorations} --budget {budget} "
        f"--n-tasks {n_tasks} --seeds <seeds> --jobs <jobs> <ray> "
        "--agents '<out>/agents/build-order-{version}-{exploration}-{seed}-{budget}.zip'"
    )
    return Stage(f"build-order-{version}", "build_order.py", arguments, seconds, promises)


def _block_pictures(budget: int, budget_of_rivals: int) -> Stage:
    agents = f"<out>/agents/{BLOCKS}"
    arguments = (
        f"strip stuck --out <out>/pictures --agent {agents}-ap-0-{budget}.zip "
        f"--rival {agents}-a2c-curriculum-0-{budget_of_rivals}.zip"
    )
    files = ("pictures/strip.png", "pictures/stuck.png")
    return Stage("blocks-pictures", "pictures.py", arguments, 40, files=files, per_seed=False)


def _graph_picture(budget: int) -> Stage:
    agent = f"<out>/agents/{SWITCHES}-0-{budget}.zip"
    arguments = f"graph --out <out>/pictures --agent {agent}"
    files = ("pictures/switches.graph.json", "pictures/plan.png")
    return Stage("grids-pictures", "pictures.py", arguments, 20, files=files, per_seed=False)


_ALL_METHODS = (
    "inverse ap_no_cpi ap_paper ap_paper/argmax ap_beta ap_beta_memory ap_beta_memory_q "
    "ap_forward ap_forward/model ap"
)
_QUICK = {
    "blocks": [
        _blocks([12_000], "inverse ap_no_cpi ap_paper ap", "--scale quick", seconds=280),
        _rivals(
            "blocks-positions",
            {BLOCKS: BLOCK_TASKS},
            "ap in curriculum",
            20_000,
            100,
            more="--passes 600000",
            seconds=170,
        ),
        _rivals(
            "blocks-rivals",
            {BLOCKS: BLOCK_TASKS},
            f"a2c in {_REGIMES}",
            100_000,
            200,
            seconds=200,
        ),
        _block_pictures(20_000, 100_000),
    ],
    "blocks-continuous": [
        _continuous(8_000, "inverse ap_paper ap", "--passes 200000 --n-tasks 30", seconds=380),
        _rivals(
            "blocks-continuous-rivals",
            {CONTINUOUS: BLOCK_TASKS[:3]},
            "a2c in one_step curriculum",
            8_000,
            30,
            more="--goals full",
            seconds=100,
        ),
    ],
    "grids": [
        _grids(600_000, 250, seconds=120),
        _rivals("grids-rivals", _GRIDS, f"reinforce in {_REGIMES}", 600_000, 250, seconds=420),
        _graph_picture(600_000),
    ],
    "build-order": [
        _build_order("small", "count_bonus random", 2_000_000, 200, seconds=340),
        _rivals("build-order-small-rivals", _COUNTS["small"], _HARDER, 2_000_000, 200, seconds=240),
        _build_order("large", "count_bonus", 300_000, 200, seconds=110),
        _rivals("build-order-large-rivals", _COUNTS["large"], _HARDER, 300_000, 200, seconds=70),
    ],
}
_FULL = {
    "blocks": [
        _blocks(
            [10_000, 100_000, 1_000_000],
            _ALL_METHODS,
            "--budgets 10000 100000 1000000",
            seconds=49_000,
            gpu_seconds=3_800,
        ),
        _rivals(
            "blocks-rivals",
            {BLOCKS: BLOCK_TASKS},
            f"ap a2c option_critic inverse in {_REGIMES}",
            1_000_000,
            1_000,
            more="--points 8",
            seconds=7_000,
        ),
        _block_pictures(1_000_000, 1_000_000),
    ],
    "blocks-continuous": [
        _continuous(
            300_000,
            "inverse ap_no_cpi ap_paper ap_beta_memory_q ap_forward ap",
            "",
            seconds=5_000,
        ),
        _rivals(
            "blocks-continuous-rivals",
            {CONTINUOUS: BLOCK_TASKS},
            f"a2c option_critic inverse in {_REGIMES}",
            300_000,
            1_000,
            seconds=12_000,
        ),
    ],
    "grids": [
        _grids(2_400_000, 1_000, seconds=450),
        _rivals(
            "grids-rivals",
            _GRIDS,
            f"ap reinforce in {_REGIMES}",
            2_400_000,
            1_000,
            more="--points 8",
            seconds=3_000,
        ),
        _exploration(600_000, seconds=120),
        _graph_picture(2_400_000),
    ],
    "build-order": [
        _build_order("small", "count_bonus random", 30_000_000, 1_000, seconds=3_400),
        _rivals(
            "build-order-small-rivals", _COUNTS["small"], _HARDER, 30_000_000, 1_000, seconds=3_300
        ),
        _build_order("large", "count_bonus random", 30_000_000, 1_000, seconds=5_000),
        _rivals(
            "build-order-large-rivals", _COUNTS["large"], _HARDER, 30_000_000, 1_000, seconds=4_200
        ),
    ],
}
_STAGES = {"quick": _QUICK, "full": _FULL}
