"""What a user sees of files that both sides of a merge changed: in the merge, in `conflicts show`, and as JSON."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict, show_conflict
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.new_rename_delete import new
from scopes.model.message import Author
from tests.render.rendering import document, piped, seen, seen_lines
from tests.support.decisions import decide
from tests.support.history import say
from tests.support.tool_calls import call_tool

FILE = "src/app.py"
TEXT = "".join(f"line {number}\n" for number in range(1, 21))
WIDTHS = [80, 200]
HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u202egnp.exe \x9b31m \r<<<<<<< target\n"


@pytest.fixture
def forked(repository):
    new(repository, directory="/work")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt", switch=False)
    return repository


def edit(repository, where, old, new_text, before=TEXT, path=FILE):
    arguments = {"file_path": path, "old_string": old, "new_string": new_text}
    return call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured={"originalFile": before})


def stopped(repository, main="main\n", alt="alt\n", path=FILE):
    """Let both sides edit line 9, and stop the merge there."""
    edit(repository, "main", "line 9\n", main, path=path)
    edit(repository, "alt", "line 9\n", alt, path=path)
    merge(repository, "conv-001", "alt", target="main", options=MergeOptions(strict=True))
    return show_conflict(repository, "conv-001", "1")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_conflict_about_a_file_shows_both_changes_and_the_lines_that_disagree(forked, width):
    lines = seen_lines(stopped(forked), width)
    text = "\n".join(line.strip() for line in lines)
    assert "-line 9\n+main\n" in text
    assert "-line 9\n+alt\n" in text
    assert "File: both edited" in text
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_long_lines_of_a_file_are_cut_at_the_width_of_the_terminal(forked, width):
    lines = seen_lines(stopped(forked, main="x" * 500 + "\n", alt="\t" * 90 + "y\n"), width)
    assert max(map(len, lines)) <= width
    assert any(line.strip().startswith("+xxx") and line.endswith("…") for line in lines)


def test_a_pipe_gets_long_lines_whole(forked):
    assert f"+{'x' * 500}\n" in piped(stopped(forked, main="x" * 500 + "\n"))


def test_a_long_change_is_cut_on_a_terminal_and_whole_in_a_pipe(forked):
    shown = stopped(forked, main="".join(f"new {number}\n" for number in range(200)))
    assert "more lines" in seen(shown)
    assert "+new 199" not in seen(shown)
    assert "+new 199" in piped(shown)


@pytest.mark.parametrize("width", WIDTHS)
def test_recorded_text_cannot_control_the_terminal(forked, width):
    text = seen(stopped(forked, main=HOSTILE), width)
    assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & set(text)
    assert "owned" in text


def test_a_hostile_path_cannot_control_the_terminal(forked):
    shown = stopped(forked, path="src/\x1b[31m\u202eapp.py")
    assert not {"\x1b", "\u202e"} & set(seen(shown) + piped(shown))


def test_json_has_the_recorded_text_as_it_is(forked):
    found = document(stopped(forked, main=HOSTILE))["file"]
    assert HOSTILE.partition("\r")[0] in found["target_patch"]
    assert (found["path"], found["outcome"]) == (FILE, "overlap")


def test_json_names_agents_and_messages_of_both_sides(forked):
    found = document(stopped(forked))["file"]
    assert (found["target"]["agents"], found["source"]["agents"]) == (["claude"], ["claude"])
    assert len(found["target"]["messages"]) == len(found["source"]["messages"]) == 1
    assert "unknown" not in found["target"]


@pytest.mark.parametrize("width", WIDTHS)
def test_an_edit_that_is_not_recorded_has_no_patch(forked, width):
    edit(forked, "main", "line 9\n", "main\n")
    call_tool(forked, "conv-001/alt", "NotebookEdit", {"notebook_path": FILE, "new_source": "x"})
    merge(forked, "conv-001", "alt", target="main", options=MergeOptions(strict=True))
    shown = show_conflict(forked, "conv-001", "1")
    sentence = "File: both edited, not compared"
    assert sentence in " ".join(seen(shown, width).split())
    assert shown.file.source_patch == ""
    assert "+main\n" in shown.file.target_patch
    assert document(shown)["file"]["source"]["unknown"] == "edit not recorded"


def test_a_resolution_by_hand_is_named_by_who_made_it(forked):
    for name in ("main", "alt"):
        decide(forked, f"conv-001/{name}", name)
    merge(forked, "conv-001", "alt", target="main")
    resolve_conflict(forked, "conv-001", "1", take="target", author=Author("carol"))
    assert "Resolved: took target by carol" in seen(show_conflict(forked, "conv-001", "1"), 80)
