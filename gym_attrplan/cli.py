"""The command line: ``attrplan demo | train | evaluate | plan | play | report | …``."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import yaml

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import AttrPlanError, InvalidOption
from gym_attrplan.wrappers import check_attribute_env, with_attributes
from gym_attrplan.wrappers.offscreen import draw_off_screen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status: 0, or 1 for a failure said in one line."""
    options = _parser().parse_args(arguments)
    try:
        _import_packages(getattr(options, "gym_packages", []))
        options.run(options)
    except (AttrPlanError, gym.error.Error, ImportError) as error:
        unknown = isinstance(error, gym.error.NameNotFound)
        remedy = " If a package registers it, add --gym-packages PACKAGE." if unknown else ""
        print(f"{type(error).__name__}: {error}{remedy}", file=sys.stderr)
        return 1
    return 0


def _import_packages(names: Sequence[str]) -> None:
    """Import modules that register environments, also from the folder one works in.

    That folder comes last on the path: a ``json.py`` in it must not stand in for Python's. It stays
    there, since the module that defines an environment is imported when one is made.
    """
    if names and "" not in sys.path:
        sys.path.append("")
    for name in names:
        importlib.import_module(name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="attrplan", description="Agents that do what you ask, by planning over attributes."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    _add_agent_commands(commands)
    _add_play_command(commands)
    _add_report_command(commands)
    _add_refine_command(commands)
    for name, run, words in (
        ("check", _check, "hold an attribute environment to its contract"),
        ("attributes", _attributes, "list an environment's attributes"),
    ):
        command = commands.add_parser(name, help=words)
        _add_env_arguments(command)
        command.set_defaults(run=run)
    return parser


def _add_agent_commands(commands: Any) -> None:
    demo = commands.add_parser("demo", help="train, plan and compare, with pictures")
    demo.add_argument("--out", default="attrplan-demo", metavar="DIR")
    demo.add_argument("--total-timesteps", type=_at_least(1), default=1_000_000)
    demo.add_argument("--seed", type=_at_least(0), default=0)
    demo.set_defaults(run=_demo)

    train = commands.add_parser("train", help="train an agent and save it")
    _add_env_arguments(train)
    train.add_argument("--total-timesteps", type=_at_least(1))
    train.add_argument(
        "--n-envs",
        type=_at_least(1),
        help="environments to train in; default: 64 if they are made as one batch, else 32",
    )
    train.add_argument(
        "--from-log",
        type=Path,
        metavar="NPZ",
        help="learn from recorded episodes first: observations, actions, terminals, attributes",
    )
    train.add_argument(
        "--practise",
        type=_at_least(1),
        metavar="STEPS",
        help="hop and explore without learning, after all learning: a larger, surer graph",
    )
    train.add_argument(
        "--workers", type=_at_least(0), default=0, help="Ray's workers that practise; 0: no Ray"
    )
    train.add_argument(
        "--ray", metavar="ADDRESS", help="cluster of the workers, host:port; default: this machine"
    )
    train.add_argument("--config", type=Path, metavar="YML", help="hyper-parameters by id")
    train.add_argument("--save", type=Path, default=Path("agent.zip"), metavar="ZIP")
    train.add_argument("--tensorboard-log", metavar="DIR")
    train.add_argument("--no-progress", action="store_true", help="show no bar")
    train.set_defaults(run=_train)

    evaluate = commands.add_parser("evaluate", help="give an agent tasks, print what it solves")
    _add_env_arguments(evaluate)
    _add_agent_argument(evaluate)
    evaluate.add_argument("--n-tasks", type=_at_least(1), default=1_000)
    _add_goal_argument(evaluate)
    evaluate.add_argument("--planner", nargs="+", help="robust, paper; default: the agent's own")
    evaluate.set_defaults(run=_evaluate)

    plan = commands.add_parser("plan", help="print an agent's plan from a start to a goal")
    _add_env_arguments(plan)
    _add_agent_argument(plan)
    plan.add_argument("--goal", help="such as 'switch 1=red'; by default a task is drawn")
    plan.set_defaults(run=_plan)


def _add_play_command(commands: Any) -> None:
    play = commands.add_parser("play", help="a page to pick goals on and watch an agent")
    play.add_argument(
        "what", metavar="AGENT.zip|ENV_ID", help="what train saved, or an id to train in first"
    )
    _add_env_arguments(play, needed=False)
    play.add_argument(
        "--with", dest="other", type=Path, metavar="ZIP", help="a second agent, to compare with"
    )
    play.add_argument(
        "--total-timesteps",
        type=_at_least(1),
        default=500_000,
        help="steps of training, where an id is given; default: 500,000",
    )
    play.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine alone")
    play.add_argument("--port", type=_at_least(1), default=8080, help="default: 8080")
    play.add_argument("--no-show", action="store_true", help="open no browser")
    play.set_defaults(run=_play)


def _add_report_command(commands: Any) -> None:
    report = commands.add_parser("report", help="write one page about an agent")
    report.add_argument("agent", type=Path, metavar="AGENT.zip", help="what train saved")
    report.add_argument("--out", type=Path, metavar="HTML", help="default: AGENT.html")
    _add_env_arguments(report, needed=False)
    report.add_argument(
        "--n-tasks", type=_at_least(1), default=200, help="tasks to give the agent; default: 200"
    )
    _add_goal_argument(report)
    report.set_defaults(run=_report)


def _add_refine_command(commands: Any) -> None:
    refine = commands.add_parser("refine", help="add the attributes that an agent's own lack")
    refine.add_argument("agent", type=Path, metavar="AGENT.zip", help="what train saved")
    _add_env_arguments(refine, needed=False)
    refine.add_argument(
        "--n-new", type=_at_least(1), default=1, help="attributes to add at most; default: 1"
    )
    refine.add_argument(
        "--total-timesteps",
        type=_at_least(1),
        help="steps of training for each; default: a fifth of those so far, for all together",
    )
    refine.add_argument("--n-tasks", type=_at_least(1), default=400, help="default: 400")
    refine.add_argument(
        "--ask", action="store_true", help="show each finding, and ask for a name or none"
    )
    refine.add_argument("--save", type=Path, metavar="ZIP", help="default: AGENT.zip itself")
    refine.add_argument("--no-progress", action="store_true", help="show no bar")
    refine.set_defaults(run=_refine)


def _add_env_arguments(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    alone = parser.prog.endswith(("check", "attributes"))
    name = ["env"] if alone else ["--env"]
    required: dict[str, Any] = {} if alone else {"required": needed}
    known = "an id of the registry" if needed else "default: where the agent was trained"
    parser.add_argument(*name, metavar="ENV_ID", help=known, **required)
    parser.add_argument(
        "--env-kwargs",
        type=_json_object,
        metavar="JSON",
        help='such as {"size": 8}; default for a trained agent: those of its training',
    )
    parser.add_argument(
        "--gym-packages",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module to import first, so that it registers its environments; may be repeated",
    )
    parser.add_argument("--seed", type=_at_least(0), default=0)


def _add_agent_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", type=Path, required=True, metavar="ZIP", help="what train saved")


def _add_goal_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--goal",
        action="append",
        metavar="GOAL",
        help="such as 'switch 1=red'; may be repeated; default: the environment's own tasks, or "
        "whatever the agent knows",
    )


def _at_least(low: int) -> Callable[[str], int]:
    """A reader of whole numbers that refuses those below ``low``."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low:
            raise argparse.ArgumentTypeError(f"a whole number, at least {low}; received {text!r}")
        return number

    return read


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"not a JSON object: {text}")
    return value


def _demo(options: argparse.Namespace) -> None:
    from gym_attrplan.report.demo import run_demo

    run_demo(out=options.out, total_timesteps=options.total_timesteps, seed=options.seed)


def _train(options: argparse.Namespace) -> None:
    from stable_baselines3.common.utils import configure_logger

    from gym_attrplan.agent import AttributePlannerAgent
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.agent.remote.cluster import connect
    from gym_attrplan.agent.remote.practice import Rounds
    from gym_attrplan.agent.storage import check_target

    check_target(options.save)
    config = _read_config(options.config, options.env)
    total = options.total_timesteps or config.get("total_timesteps")
    if total is None and options.from_log is None and options.practise is None:
        raise InvalidOption(
            "say how long to train, --total-timesteps or in the config, or what from, --from-log, "
            "or how long to --practise."
        )
    _check_workers(options)
    venv = as_vec_env(
        options.env,
        n_envs=config.get("n_envs") if options.n_envs is None else options.n_envs,
        env_kwargs={**config.get("env_kwargs", {}), **(options.env_kwargs or {})},
    )
    agent = AttributePlannerAgent(
        config.get("policy", "MultiInputPolicy"),
        venv,
        seed=options.seed,
        verbose=1,
        **config.get("agent", {}),
    )
    if options.practise is not None:  # what cannot be done is said before training
        Rounds.checked(agent, options.practise)
        if options.workers:
            connect(options.ray, n_workers=options.workers)
    logs = options.tensorboard_log or agent.options.tensorboard_log
    if logs:  # to the folder alone: tables on the screen would tear the bars apart
        agent.set_logger(configure_logger(0, logs, "AttributePlanner"))
    try:
        _teach(agent, options, total, log_interval=1 if logs else None)
    except KeyboardInterrupt:
        print("interrupted; what was learned is kept", file=sys.stderr)
    agent.save(options.save)
    print(f"saved {options.save}")


def _check_workers(options: argparse.Namespace) -> None:
    if (options.workers or options.ray) and options.practise is None:
        raise InvalidOption("workers practise: say how long with --practise STEPS.")
    if options.ray and not options.workers:
        raise InvalidOption(f"say how many --workers practise on {options.ray}.")


def _teach(
    agent: Any, options: argparse.Namespace, total: int | None, *, log_interval: int | None
) -> None:
    """From a log, in the environment, and by practice, as far as each was asked for."""
    bar = not options.no_progress
    if options.from_log is not None:
        agent.learn_from(options.from_log, progress_bar=bar)
    if total is not None:
        agent.learn(int(total), progress_bar=bar, log_interval=log_interval)
    if options.practise is not None:
        agent.practise(
            options.practise,
            options.workers,
            address=options.ray,
            checkpoint=options.save,
            log_interval=log_interval,
            progress_bar=bar,
        )


def _read_config(path: Path | None, env_id: str) -> dict[str, Any]:
    """The part of a YAML file that belongs to the id."""
    if path is None:
        return {}
    try:
        table = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise InvalidOption(f"{path} cannot be read: {error}.") from error
    if not isinstance(table, dict) or env_id not in table:
        raise InvalidOption(f"{path} has no entry for {env_id}; it has {list(table or {})}.")
    known = {"total_timesteps", "n_envs", "env_kwargs", "policy", "agent"}
    unknown = set(table[env_id]) - known
    if unknown:
        raise InvalidOption(f"{path} says {sorted(unknown)}; an entry holds {sorted(known)}.")
    config: dict[str, Any] = table[env_id]
    return config


def _evaluate(options: argparse.Namespace) -> None:
    from gym_attrplan.agent import AttributePlannerAgent
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.agent.evaluation import evaluate_tasks

    agent = AttributePlannerAgent.load(options.agent)
    venv = as_vec_env(options.env, env_kwargs=_trained_kwargs(agent, options))
    for planner in options.planner or [None]:
        if planner is not None:
            agent.set_planner(planner)
        result = evaluate_tasks(
            agent, venv, n_tasks=options.n_tasks, goals=options.goal, seed=options.seed
        )
        name = options.env if planner is None else f"{options.env} {planner}"
        print(f"{name}: {result}, {result.n_steps.mean():.1f} steps on average")
        print(result.table())


def _plan(options: argparse.Namespace) -> None:
    from gym_attrplan.agent import AttributePlannerAgent

    agent = AttributePlannerAgent.load(options.agent)
    env = agent.extend(_make(options.env, _trained_kwargs(agent, options)))
    goal = {} if options.goal is None else {"goal": options.goal}
    observation, _ = env.reset(seed=options.seed, options=goal)
    plan = agent.plan(observation)
    wanted = agent.attribute_space.describe(observation["desired_goal"])
    print(f"goal: {wanted}")
    print("no plan: the goal is not in the explored graph" if plan is None else plan.describe())


def _play(options: argparse.Namespace) -> None:
    from gym_attrplan.report.play.server import check_page, serve

    check_page(options.host, options.port)
    is_agent = options.what.endswith(".zip") or Path(options.what).is_file()
    lobby = _agent_to_play(options) if is_agent else _training_to_play(options)
    serve(lobby, host=options.host, port=options.port, show=not options.no_show)


def _agent_to_play(options: argparse.Namespace) -> Any:
    from gym_attrplan.agent import AttributePlannerAgent
    from gym_attrplan.report.play.lobby import Lobby
    from gym_attrplan.report.play.setup import Setup

    agent, kwargs = _load_where_trained(options.what, options)
    others = {}
    if options.other is not None:
        others[options.other.name] = AttributePlannerAgent.load(options.other)
    return Lobby(Setup.of(agent, options.env, kwargs, others=others))


def _training_to_play(options: argparse.Namespace) -> Any:
    from gym_attrplan.report.play.lobby import Lobby
    from gym_attrplan.report.play.quick_training import QuickTraining
    from gym_attrplan.report.play.setup import make_drawn

    if options.env is not None or options.other is not None:
        raise InvalidOption(
            f"--env and --with belong to an agent's file; received the id {options.what!r}. Train "
            "and save an agent first: attrplan train."
        )
    kwargs = options.env_kwargs or {}
    make_drawn(options.what, kwargs).close()  # what cannot be made is said before the page opens
    training = QuickTraining(
        options.what, kwargs, total_timesteps=options.total_timesteps, seed=options.seed
    )
    training.start()
    return Lobby(training)


def _load_where_trained(file: str | Path, options: argparse.Namespace) -> Any:
    """An agent, and what to make its environment with; ``--env`` is by default where it trained."""
    from gym_attrplan.agent import AttributePlannerAgent

    agent = AttributePlannerAgent.load(file)
    if options.env is None:
        if agent.trained_in is None:
            raise InvalidOption(
                f"{file} does not say in which environment it was trained: name it with --env "
                "ENV_ID."
            )
        options.env = agent.trained_in["id"]
    return agent, _trained_kwargs(agent, options)


def _trained_kwargs(agent: Any, options: argparse.Namespace) -> dict[str, Any]:
    """What to make an agent's environment with: as given, or as in training; said if it matters."""
    trained = agent.trained_in or {"id": options.env, "kwargs": {}}
    same = options.env == trained["id"]
    if options.env_kwargs is None and same:
        if trained["kwargs"]:
            said = json.dumps(trained["kwargs"])
            print(f"with the arguments of training: {said}", file=sys.stderr)
        return dict(trained["kwargs"])
    given = dict(options.env_kwargs or {})
    if not same or given != trained["kwargs"]:
        now, then = f"{options.env} {json.dumps(given)}", json.dumps(trained["kwargs"])
        print(f"trained in {trained['id']} {then}, now in {now}", file=sys.stderr)
    return given


def _report(options: argparse.Namespace) -> None:
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.report.agent_page import write_agent_report

    if options.agent.is_dir():
        raise InvalidOption(
            f"attrplan report needs the file of an agent; received the folder {options.agent}. A "
            "page of benchmark results is written by python benchmarks/paper_page.py, in a "
            "checkout of the repository."
        )
    agent, kwargs = _load_where_trained(options.agent, options)
    draws = "rgb_array" in _make(options.env, kwargs).metadata.get("render_modes", [])
    page = write_agent_report(
        agent,
        options.out or options.agent.with_suffix(".html"),
        env=as_vec_env(options.env, env_kwargs=kwargs),
        picture_env=_make(options.env, {**kwargs, "render_mode": "rgb_array"}) if draws else None,
        name=options.agent.stem,
        n_tasks=options.n_tasks,
        goals=options.goal,
        seed=options.seed,
    )
    print(f"wrote {page}")


def _refine(options: argparse.Namespace) -> None:
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.agent.storage import check_target

    target = check_target(options.save or options.agent)
    agent, kwargs = _load_where_trained(options.agent, options)
    agent.set_env(as_vec_env(options.env, n_envs=agent.options.n_envs, env_kwargs=kwargs))
    tried = agent.refine(
        options.n_new,
        options.total_timesteps,
        n_tasks=options.n_tasks,
        ask=partial(_ask, folder=target.parent) if options.ask else None,
        progress_bar=not options.no_progress,
    )
    for one in tried:
        print(one)
    if not any(one.kept for one in tried):
        print("no attribute was added")
        return
    agent.save(target)
    print(f"saved {target}")


def _ask(missing: Any, *, folder: Path) -> str | None:
    """Show a finding, with a picture of its states, and return the name that is typed."""
    from gym_attrplan.report.album import save_picture
    from gym_attrplan.report.states import draw_states

    print(missing)
    ax = draw_states(missing)
    if ax is not None:
        file = folder / f"missing-{re.sub(r'[^a-z0-9]+', '-', missing.asked.lower())}.png"
        save_picture(ax, file, title=str(missing))
        print(f"states of both kinds: {file}")
    try:
        name = input(f"name for {missing.asked!r}, or nothing to leave it out: ").strip()
    except EOFError:
        return None
    return name or None


def _make(env_id: str, kwargs: dict[str, Any] | None) -> gym.Env[Any, Any]:
    draw_off_screen()
    return with_attributes(gym.make(env_id, **kwargs or {}))


def _check(options: argparse.Namespace) -> None:
    env = _make(options.env, options.env_kwargs)
    check_attribute_env(env, seed=options.seed)
    space = env.get_wrapper_attr("attribute_space")
    print(f"{options.env}: {len(space)} attributes, every promise kept.")


def _attributes(options: argparse.Namespace) -> None:
    env = _make(options.env, options.env_kwargs)
    _, info = env.reset(seed=options.seed)
    space: AttributeSpace = env.get_wrapper_attr("attribute_space")
    for name, value in space.decode(info["attributes"]).items():
        print(f"{name}: {value} of {space.values_of(name)}")
