"""Calls of a shell whose input has another form never pass clean."""

from __future__ import annotations

import json

import pytest

from scopes.check.calls import command_line_of, has_unread_command
from scopes.model.message import Part
from tests.check.sessions import run_check, write_session

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

BAD = "rm -rf /home/other/victim"


def findings_of(capsys, path):
    code, output = run_check(capsys, path, "--json")
    return code, [each["rule"] for each in json.loads(output.splitlines()[0])["findings"]]


@pytest.mark.parametrize(
    "given",
    [
        {"command": BAD},
        {"Command": BAD},
        {"cmd": BAD},
        {"script": BAD},
        {" command ": BAD},
        {"commandLine": BAD},
        {"command": "ls", "cmd": BAD},
        {"command": BAD, "cmd": "ls"},
        json.dumps({"command": BAD}),
    ],
)
def test_a_command_with_a_plain_meaning_is_judged(tmp_path, capsys, given):
    path = write_session(tmp_path / "s.jsonl", ("Bash", given, 0))
    assert findings_of(capsys, path) == (1, ["shell/recursive-delete"])


@pytest.mark.parametrize(
    "name", ["Bash ", " Bash", "BASH", "bash", "Bash\n", "mcp__x__bash ", "Shell", "run_shell_command"]
)
def test_the_name_of_a_shell_may_be_written_in_other_ways(tmp_path, capsys, name):
    path = write_session(tmp_path / "s.jsonl", (name, {"command": BAD}, 0))
    assert findings_of(capsys, path) == (1, ["shell/recursive-delete"])


@pytest.mark.parametrize("given", [{"command": {"x": BAD}}, {"command": [[BAD]]}, [BAD], BAD, {"cmd": 7}, "{"])
def test_a_command_that_is_no_text_is_opaque(tmp_path, capsys, given):
    """What cannot be read is a note, as every opaque command is; the presets make it a warning."""
    path = write_session(tmp_path / "s.jsonl", ("Bash", given, 0))
    assert findings_of(capsys, path) == (0, ["shell/opaque"])
    assert has_unread_command(Part("tool_call", {"name": "Bash", "input": given}))


@pytest.mark.parametrize("given", [{}, None, {"timeout": 5}, {"command": ""}])
def test_a_call_without_a_command_is_not_opaque(given):
    assert not has_unread_command(Part("tool_call", {"name": "Bash", "input": given}))


def test_the_argument_of_another_tool_is_no_command():
    call = Part("tool_call", {"name": "Task", "input": {"command": BAD, "script": BAD}})
    assert command_line_of(call) is None
    assert not has_unread_command(call)


@pytest.mark.parametrize(("chars", "line"), [(f"{BAD}\n", BAD), ("", None), ("\n", None)])
def test_a_text_that_is_typed_into_a_running_program_is_a_command(chars, line):
    """Codex starts `bash` in one call and types into it in the next ones."""
    given = {"session_id": 1, "chars": chars, "yield_time_ms": 1000}
    call = Part("tool_call", {"call_id": "c", "name": "write_stdin", "input_text": json.dumps(given)})
    assert command_line_of(call) == line
