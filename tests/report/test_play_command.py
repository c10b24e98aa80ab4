"""``attrplan play``, up to where the page would be served."""

from __future__ import annotations

import socket
import time

import play_worlds  # noqa: F401  registers the counter
import pytest

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.cli import main
from gym_attrplan.report.play import server
from gym_attrplan.report.play.session import Session

pytest.importorskip("nicegui", reason='needs NiceGUI: pip install "gym_attrplan[play]"')


@pytest.fixture
def served(monkeypatch):
    """What the command would serve: lobbies with the options of the server."""
    calls = []
    monkeypatch.setattr(server, "serve", lambda lobby, **options: calls.append((lobby, options)))
    return calls


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two agents of the same environment that have hardly trained."""
    folder = tmp_path_factory.mktemp("agents")
    for name in ("one.zip", "two.zip"):
        agent = AttributePlannerAgent("MultiInputPolicy", "PlayCounter-v0", n_envs=2, seed=0)
        agent.learn(256).save(folder / name)
    return folder


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_an_agent_is_played_where_it_was_trained(files, served):
    port = free_port()
    arguments = ["play", str(files / "one.zip"), "--no-show", "--port", str(port)]
    assert main([*arguments, "--with", str(files / "two.zip")]) == 0
    ((lobby, options),) = served
    assert options == {"host": "127.0.0.1", "port": port, "show": False}
    assert lobby.env_id == "PlayCounter-v0"
    assert lobby.training is None
    assert "two.zip" in lobby._source.rivals
    assert Session(lobby._source).error == ""


def test_an_id_is_trained_in_first(served):
    arguments = ["play", "PlayCounter-v0", "--total-timesteps", "64", "--port", str(free_port())]
    assert main(arguments) == 0
    ((lobby, options),) = served
    assert options["show"]
    while (training := lobby.training) is not None and not training.error:
        time.sleep(0.05)
    assert lobby.training is None


def test_a_port_in_use_is_said_plainly(capsys, files, served):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["play", str(files / "one.zip"), "--port", str(port)]) == 1
    assert f"{port} of 127.0.0.1 cannot be had" in capsys.readouterr().err
    assert served == []


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("NoSuchEnv-v0", "add --gym-packages"),
        ("missing.zip", "missing.zip"),
        ("text.zip", "text.zip"),
        ("CartPole-v1", "Give AttributeWrapper a space and a function"),
    ],
)
def test_what_cannot_be_played_is_said_plainly(
    capsys, tmp_path, monkeypatch, served, what, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.zip").write_text("no agent")
    assert main(["play", what, "--port", str(free_port())]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert served == []


def test_options_of_files_are_refused_beside_an_id(capsys, served):
    arguments = ["play", "PlayCounter-v0", "--with", "two.zip", "--port", str(free_port())]
    assert main(arguments) == 1
    assert "belong to an agent's file" in capsys.readouterr().err


def test_an_agent_of_another_environment_is_refused(capsys, files, served):
    arguments = ["play", str(files / "one.zip"), "--env", "AttrSwitches-v0"]
    assert main([*arguments, "--port", str(free_port())]) == 1
    assert "InvalidEnvironment" in capsys.readouterr().err


def test_without_nicegui_the_message_names_the_extra(capsys, monkeypatch, served):
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    assert main(["play", "PlayCounter-v0"]) == 1
    assert 'pip install "gym_attrplan[play]"' in capsys.readouterr().err


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_letting_others_in_warns(capsys, monkeypatch, host, warns):
    from nicegui import app, ui

    monkeypatch.setattr(app, "add_middleware", lambda *arguments, **options: None)
    monkeypatch.setattr(ui, "run", lambda *arguments, **options: None)
    server.serve(None, host=host, port=8080, show=False)
    assert ("everybody who reaches" in capsys.readouterr().err) == warns
