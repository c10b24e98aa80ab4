"""The paper's five tables, each cell with the paper's figure and ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paper.figures import (
    BLOCKS,
    BUDGETS,
    BY_EXAMPLES,
    CONTINUOUS,
    CRAFTING,
    EDGES_BY_EXAMPLES,
    IMAGES,
    LARGE,
    SMALL,
    SWITCHES,
    paper_figure,
)
from paper.results import Measured, Results, Source

MODELS = {
    "a2c": "A3C (ours: A2C)",
    "option_critic": "Option-Critic",
    "reinforce": "REINFORCE",
    "inverse": "Inverse",
    "ap_no_cpi": "AP without c_π",
    "ap_paper": "AP as in the paper",
    "ap": "AP, our default",
    "ppo": "PPO",
    "dqn_her": "DQN + HER",
    "dqn_her_stock": "DQN + stock HER",
    "sac_her": "SAC + HER",
    "sac_her_stock": "SAC + stock HER",
    "random": "Random actions",
    "ap_beta": "AP + posterior",
    "ap_beta_memory": "AP + posterior, memory",
    "ap_beta_memory_q": "AP + posterior, memory, first edge",
    "ap_forward": "AP + forward model",
    "detector": "AP with a detector",
}
TRAINED_ON = {
    "one_step": "1-step",
    "test_tasks": "test tasks",
    "curriculum": "curriculum",
    "argmax": "most likely actions",
    "model": "imagined graph",
    "random_exploration": "random exploration",
}
TASKS = {
    "one_step": "1-step",
    "multi_step": "multi-step",
    "four_stack": "4-stack",
    "one_step_70": "1-step, 70% of goal",
    "multi_step_70": "multi-step, 70% of goal",
}
_REGIMES = ("one_step", "test_tasks", "curriculum")


@dataclass(frozen=True)
class Cell:
    """One figure: the paper's, ours, or why there is none.

    Args:
        column: The name of its column.
        paper: The paper's, None if it has none.
        ours: Ours, None if it has not been measured.
        is_rate: Whether it is a success rate in percent.
        reason: Why the method cannot be measured, if it cannot.
    """

    column: str
    paper: float | None
    ours: Measured | None
    is_rate: bool = True
    reason: str | None = None

    @property
    def verdict(self) -> str:
        """Who is ahead, where the two can be compared; see :meth:`Measured.verdict`."""
        return self.ours.verdict(self.paper) if self.ours and self.is_rate else ""


@dataclass(frozen=True)
class Row:
    """A method, or an amount of data.

    Args:
        name: The method's.
        data: What it was trained on.
        cells: One for each column.
        command: What would measure it.
        is_extra: Whether the paper has no such row.
    """

    name: str
    data: str
    cells: tuple[Cell, ...]
    command: str
    is_extra: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether there is any figure of ours."""
        return any(cell.ours for cell in self.cells)

    @property
    def budgets(self) -> list[int]:
        """What its figures were trained with, in the order of the columns."""
        return list(dict.fromkeys(cell.ours.budget for cell in self.cells if cell.ours))


@dataclass(frozen=True)
class Table:
    """A table of the paper beside our figures.

    Args:
        key: A short name, for links.
        title: Its title.
        about: What the reader has to know to compare.
        columns: Names of the columns.
        headline: The column that matters most.
        spotlight: The row that does.
        rows: From the weakest rival to our default, then what the paper does not have.
        command: What would fill it.
        unit: What training is measured in.
    """

    key: str
    title: str
    about: str
    columns: tuple[str, ...]
    headline: str
    spotlight: str
    rows: tuple[Row, ...]
    command: str
    unit: str = "steps"

    @property
    def is_measured(self) -> bool:
        """Whether there is any figure of ours."""
        return any(row.is_measured for row in self.rows)

    @property
    def best(self) -> tuple[Row, Cell]:
        """The figure to look at first."""
        return next(
            (row, cell)
            for row in self.rows
            for cell in row.cells
            if row.name == self.spotlight and cell.column == self.headline
        )

    def cells(self, column: str) -> list[tuple[Row, Cell]]:
        """A column, with the rows that have a figure in it."""
        found = [(row, cell) for row in self.rows for cell in row.cells if cell.column == column]
        return [(row, cell) for row, cell in found if cell.paper is not None or cell.ours]


def all_tables(results: Results) -> list[Table]:
    """The paper's five."""
    return [
        _blocks(results, BLOCKS, "blocks"),
        _blocks(results, CONTINUOUS, "blocks_continuous"),
        _by_examples(results),
        _grids(results),
        _build_order(results),
    ]


def name_of(method: str) -> tuple[str, str]:
    """A method's name in words, and what it was trained on or how it acts."""
    model, _, rest = method.partition("/")
    if rest.endswith("_labels"):
        rest = f"{int(rest.removesuffix('_labels')):,} labels"
    return MODELS.get(model, model), TRAINED_ON.get(rest, rest)


def _blocks(results: Results, env: str, suite: str) -> Table:
    columns = {title: (env, task) for task, title in TASKS.items()}
    methods = [f"{one}/{regime}" for one in ("a2c", "option_critic") for regime in _REGIMES]
    methods += ["inverse/one_step", "inverse/test_tasks", "ap_no_cpi", "ap_paper", "ap"]
    continuous = env == CONTINUOUS
    unit = "drops" if continuous else "examples"
    rows = [_row(results, method, columns, suite) for method in methods]
    seen = (
        "positions and turns, has its attributes from the simulator and explores by surprise"
        if continuous
        else "64 × 64 images"
    )
    return Table(
        key="continuous" if continuous else "blocks",
        title="Block stacking, continuous" if continuous else "Block stacking",
        about=f"Tasks of at most 40 actions; goals that hold at the start are left out. Our AP "
        f"sees {seen}; the rivals see positions unless a row says otherwise, and rows differ in "
        f"{unit}. The paper’s environment is not ours: compare our rows with each other, and with "
        "the paper’s with care.",
        columns=tuple(columns),
        headline="multi-step",
        spotlight=MODELS["ap"],
        rows=(
            *rows,
            *_more(results, methods, columns, suite),
            *([] if continuous else _from_images(results, methods)),
        ),
        command=f"python benchmarks/{suite}.py",
        unit=unit,
    )


def _from_images(results: Results, methods: Sequence[str]) -> list[Row]:
    """Rivals that see what our agent sees: its image features and its detector's predictions."""
    columns = {title: (IMAGES, task) for task, title in TASKS.items()}
    rows = [_row(results, method, columns, "baselines", is_extra=True) for method in methods]
    return [replace(row, data=f"{row.data}, from images") for row in rows if row.is_measured]


def _grids(results: Results) -> Table:
    columns = {"switches": (SWITCHES, "targets"), "crafting": (CRAFTING, "items")}
    methods = [f"reinforce/{regime}" for regime in _REGIMES] + ["ap_paper", "ap"]
    return Table(
        key="grids",
        title="Grid worlds",
        about="Rooms never seen before, at most 300 steps a task. AP is trained on no task.",
        columns=tuple(columns),
        headline="switches",
        spotlight=MODELS["ap"],
        rows=(
            *(_row(results, method, columns, "grids") for method in methods),
            *_more(results, methods, columns, "grids"),
        ),
        command="python benchmarks/grids.py",
    )


def _build_order(results: Results) -> Table:
    columns = {"small": (SMALL, "counts"), "large": (LARGE, "counts")}
    methods = ["reinforce/test_tasks", "reinforce/curriculum", "ap_paper/random_exploration"]
    methods += ["ap_paper", "ap"]
    rows = [_row(results, method, columns, "build_order") for method in methods]
    for steps in rows[0].budgets:  # ours again with as many steps as the rivals
        for method in ("ap_paper", "ap"):
            row = _row(results, method, columns, "build_order", is_extra=True, budget=steps)
            rows += [replace(row, data="the rivals’ steps")] if steps in row.budgets else []
    return Table(
        key="build-order",
        title="Build order",
        about="Unit counts to reach exactly, at most 500 steps a task. The paper plays StarCraft "
        "for 30M steps; ours is an economy after its published numbers.",
        columns=tuple(columns),
        headline="small",
        spotlight=MODELS["ap"],
        rows=(*rows, *_more(results, methods, columns, "build_order")),
        command="python benchmarks/build_order.py",
    )


def _by_examples(results: Results) -> Table:
    columns = [
        (f"{name_of(method)[0]}, {TASKS[task]}", method, i, task)
        for method in ("inverse/one_step", "ap_paper", "ap")
        for i, task in enumerate(("one_step", "multi_step"))
    ]
    rows = []
    for budget, figures in BY_EXAMPLES.items():
        cells = [
            Cell(
                title,
                figures["ap_paper" if method == "ap" else method][i],
                results.find(Source("blocks", BLOCKS, task, method.split("/")[0], budget)),
            )
            for title, method, i, task in columns
        ]
        found = results.find(Source("blocks", BLOCKS, "edges", "ap", budget))
        cells.append(Cell("edges found", EDGES_BY_EXAMPLES[budget], found, is_rate=False))
        command = f"python benchmarks/blocks.py --budgets {budget}"
        rows.append(Row(f"{budget:,}", "examples", tuple(cells), command))
    return Table(
        key="examples",
        title="Block stacking by training examples",
        about="An example is one action from a random state, and its label. The paper’s "
        "environment has more transitions than ours, which has 134,976 in all.",
        columns=(*(title for title, *_ in columns), "edges found"),
        headline="AP, our default, multi-step",
        spotlight="10,000",
        rows=tuple(rows),
        command="python benchmarks/blocks.py",
        unit="examples",
    )


def _row(
    results: Results,
    method: str,
    columns: dict[str, tuple[str, str]],
    suite: str,
    *,
    is_extra: bool = False,
    budget: int | None = None,
) -> Row:
    name, data = name_of(method)
    cells = []
    for title, (env, task) in columns.items():
        sources = _sources(suite, env, task, method)
        ours = results.find(*sources, budget=budget or BUDGETS.get(env))
        figure = None if is_extra else paper_figure(env, task, method)
        reason = None if ours else results.reason(*sources)
        cells.append(Cell(title, figure, ours, reason=reason))
    envs = list(dict.fromkeys(env for env, _ in columns.values()))
    return Row(name, data, tuple(cells), _command(method, suite, envs), is_extra)


def _more(
    results: Results, listed: Sequence[str], columns: dict[str, tuple[str, str]], suite: str
) -> list[Row]:
    """Our methods that the paper lacks, including those that cannot act in an environment."""
    found: dict[str, None] = {}
    for env, task in columns.values():
        for name in (suite, "baselines"):
            lines = results.select(Source(name, env, task))
            told = [line for line in lines if line["n"] or line["extra"].get("cannot")]
            found |= dict.fromkeys(line["method"] for line in told)
    known = {*listed, "inverse"}
    methods = sorted(set(found) - known)
    rows = [_row(results, method, columns, suite, is_extra=True) for method in methods]
    again = _row(results, "ap", columns, "baselines", is_extra=True)
    if again.is_measured:
        rows.append(replace(again, data="with the rivals’ view"))
    return rows


def _sources(suite: str, env: str, task: str, method: str) -> list[Source]:
    """Where a method's figures may stand: rivals have a benchmark of their own."""
    rival = Source("baselines", env, task, method)
    if suite == "baselines":
        return [rival]
    own = Source(suite, env, task, "inverse" if method == "inverse/one_step" else method)
    return [own] if method.startswith("ap") else [rival, own]


def _command(method: str, suite: str, envs: Sequence[str]) -> str:
    model, _, rest = method.partition("/")
    if model.startswith("ap") and suite != "baselines":
        return f"python benchmarks/{suite}.py"
    regime = f" --regime {rest}" if rest in _REGIMES else ""
    return f"python benchmarks/baselines.py --env {' '.join(envs)} --algo {model}{regime}"
