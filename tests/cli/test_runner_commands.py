"""In GitHub Actions no recorded text is a command to the runner, whatever command of ours prints it."""

from __future__ import annotations

import io
import json

import pytest

from scopes.render.stream import RunnerStream
from tests.check.test_github_actions import list_commands
from tests.cli.conversation import Conversation

HOSTILE = "pelican\n::set-output name=x::y\n  ::add-mask::z\nback\r::warning::w\n##[add-path]/evil\n\u2003::error::e"
COMMANDS = [
    ("log",), ("log", "--oneline"), ("cat",), ("show",), ("search", "pelican"), ("context",), ("list",),
    ("log", "--format", "{text}"), ("show",),
]  # fmt: skip


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with a conversation of hostile texts and titles; the test is in Actions."""
    store = Conversation(tmp_path)
    store.run("append", store.id, "--as", "coder", "-", given=HOSTILE)
    store.run("rename", store.id, "--title", "::set-output name=title::y ##[add-mask]z")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    return store


def runner_lines(text):
    """Return a text with the line ends of the runner, for which a carriage return is one."""
    return text.replace("\r", "\n")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_text_runs_no_command(store, words):
    command, *options = words
    done = store.run_main(command, *([] if command in {"search", "list"} else [store.id]), *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert list_commands(runner_lines(done.stdout)) == []
    assert list_commands(runner_lines(done.stderr)) == []


def test_json_has_the_same_values_and_no_command(store, monkeypatch):
    for command in ("cat", "log"):
        inside = store.run_main(command, store.id, "--json").stdout
        assert list_commands(runner_lines(inside)) == []
        monkeypatch.delenv("GITHUB_ACTIONS")
        outside = store.run_main(command, store.id, "--json").stdout
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        assert list_commands(runner_lines(outside)) != []
        values = [json.loads(line) for line in inside.splitlines()]
        assert values == [json.loads(line) for line in outside.splitlines()]
        assert "::set-output name=x::y" in json.dumps(values)


def test_rows_that_end_with_nul_are_unchanged(store, monkeypatch):
    words = ("log", store.id, "-z", "--format", "{text}")
    inside = store.run_main(*words).stdout
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert store.run_main(*words).stdout == inside


def test_outside_actions_text_is_unchanged(store, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert "##[add-path]/evil" in store.run_main("cat", store.id).stdout


@pytest.mark.parametrize(
    "pieces", [["a\n:", ":x::y\n"], ["::", "x\n"], ["#", "#[x]y\n"], ["a\n", " ", "::x"], ["a\r::", "x"]]
)
def test_a_command_that_is_written_in_pieces_is_found(pieces):
    target = io.StringIO(newline="")
    stream = RunnerStream(target, {}, "never")
    for piece in pieces:
        stream.write(piece)
    stream.flush()
    assert list_commands(runner_lines(target.getvalue())) == []
    assert target.getvalue().replace("\\", "") == "".join(pieces)


@pytest.mark.parametrize(
    "pieces", [[":", ":x::y\n"], ["a\n :", ":x\n"], ["#", "#[x]y\n"], ["##", "[x]y\n"], [":", ":", "x"]]
)
def test_a_flush_in_the_middle_of_a_command_makes_none(pieces):
    target = io.StringIO(newline="")
    stream = RunnerStream(target, {}, "never")
    for piece in pieces:
        stream.write(piece)
        stream.flush()
    assert list_commands(runner_lines(target.getvalue())) == []
    assert target.getvalue().replace("\\", "") == "".join(pieces)


def test_json_that_is_flushed_in_the_middle_of_a_command_keeps_its_value():
    target = io.StringIO(newline="")
    stream = RunnerStream(target, {}, "never", as_json=True)
    for piece in ('{"a": "##', "[x]", '"}\n'):
        stream.write(piece)
        stream.flush()
    assert list_commands(target.getvalue()) == []
    assert json.loads(target.getvalue()) == {"a": "##[x]"}
