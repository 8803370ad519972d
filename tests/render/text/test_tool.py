from __future__ import annotations

import pytest

from scopes.model.message import Part
from scopes.model.tools import main_argument
from scopes.render.text.tool import call_line, calls_line
from tests.support.tool_calls import REFUSED

PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n@@\n*** Delete File: c.py\n*** End Patch"


def call(name, given=None, call_id="c1", **fields):
    """A call of a tool."""
    return Part("tool_call", {"name": name, "call_id": call_id, "input": given} | fields)


def result(call_id="c1", **fields):
    """A tool result."""
    return Part("tool_result", {"call_id": call_id, "output": "fine"} | fields)


def plain_text(line):
    """The text of a line."""
    return "".join(span.text for span in line)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"description": "Run it", "command": "make test", "timeout": 10}, "make test"),
        ({"cmd": "git status", "workdir": "/src", "yield_time_ms": 1000}, "git status"),
        ({"command": ["bash", "-lc", "ls -l"]}, "ls -l"),
        ({"command": ["git", "add", "."]}, "git add ."),
        ({"command": "cd /src\nmake"}, "cd /src …"),
        ({"file_path": "/src/a.py", "old_string": "x"}, "/src/a.py"),
        ({"pattern": "def main", "path": "/src", "glob": "*.py"}, "def main in /src"),
        ({"url": "https://example.org", "prompt": "Read it"}, "https://example.org"),
        ({"description": "find files", "prompt": "Find all", "subagent_type": "explorer"}, "explorer: find files"),
        ({"session_id": 7, "chars": "", "yield_time_ms": 1000}, "session_id: 7, yield_time_ms: 1000"),
        ({"allowedPrompts": [], "plan": "# The plan\n\n1. Look"}, "# The plan …"),
        ({"subject": "Fix it", "description": "Fix the bug"}, "Fix it"),
        (
            {"plan": [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]},
            "1 of 2 steps done, now: b",
        ),
        ({"todos": [{"content": "a", "status": "completed"}]}, "1 of 1 step done"),
        ({"questions": [{"question": "Which key?", "options": []}]}, "Which key?"),
        ({"questions": [{"question": "Which key?"}, {"question": "Where?"}, "x"]}, "Which key? · 1 more"),
        ({"questions": []}, ""),
        ({}, ""),
        ("just text\nof lines", "just text …"),
        ([1, 2], "[1, 2]"),
    ],
)
def test_a_call_shows_its_most_informative_argument(given, expected):
    assert main_argument(call("Any", given))[0] == expected


def test_a_patch_shows_the_files_it_touches():
    assert main_argument(Part("tool_call", {"input_text": PATCH}))[0] == "add a.py, edit b.py, delete c.py"


def test_the_outcome_of_a_call_comes_from_the_result_with_its_id():
    answers = (result("c2", is_error=True), result("c1", exit_code=0))
    assert plain_text(call_line(call("Bash", {"command": "ls"}), answers)) == "→ Bash ls · ok"
    assert plain_text(call_line(call("Bash", {"command": "ls"}, "c2"), answers)) == "→ Bash ls · error"


@pytest.mark.parametrize("answers", [(), (result("c2"),), (result(None),)])
def test_a_call_without_a_result_has_no_outcome(answers):
    assert plain_text(call_line(call("Bash", {"command": "ls"}), answers)) == "→ Bash ls"
    assert plain_text(call_line(call("Bash", {"command": "ls"}, None), answers)) == "→ Bash ls"


def test_the_argument_is_shortened_so_that_the_outcome_can_be_seen():
    line = plain_text(call_line(call("Bash", {"command": "x" * 200}), (result(exit_code=2),), 40))
    assert line == f"→ Bash {'x' * 23}… · exit 2"
    assert len(line) <= 40


def test_a_path_is_truncated_at_its_start():
    line = plain_text(call_line(call("Edit", {"file_path": "/home/carol/projects/login/src/form.py"}), (), 30))
    assert line == "→ Edit …ects/login/src/form.py"


def test_several_calls_are_the_first_and_how_many_more():
    calls = [call("Bash", {"command": "a" * 80}), call("Bash", {}, "c2"), call("Read", {}, "c3")]
    line = plain_text(calls_line(calls, (result(exit_code=0), result("c3", is_error=True)), 60))
    assert line.endswith("… · ok · 2 more, 1 failed")
    assert len(line) <= 60
    assert plain_text(calls_line(calls[1:2], (), None)) == "→ Bash"


@pytest.mark.parametrize("room", [1, 10, 40, 200])
def test_no_control_character_widens_a_line(room):
    line = plain_text(call_line(call("Bash", {"command": "\x1b[2J\n\x00" * 100}), (), room))
    assert "\x1b" not in line
    assert len(line) <= max(room, 20)


def test_a_refused_call_is_shown_as_refused_and_not_as_failed():
    refused = result(is_error=True, output=REFUSED)
    assert plain_text(call_line(call("Bash", {"command": "make test"}), [refused])) == "→ Bash make test · refused"
    line = plain_text(calls_line([call("Read", call_id="c0"), call("Bash")], (refused,), None))
    assert line == "→ Read · 1 more, 1 refused"
