from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import abandon
from scopes.conversation.new_rename_delete import new, rename_title
from scopes.conversation.show import read_drawing, show
from scopes.history.messages import plain_message
from scopes.model.message import Part
from scopes.render.mermaid import Diagram, as_mermaid
from scopes.render.table import render_text
from scopes.render.view import View
from tests.render.rendering import document, draw_mermaid, piped, seen
from tests.support.history import history, say


@pytest.fixture
def view(repository):
    """A conversation with a branch that has messages of its own."""
    return show(repository, history(repository, "main: a b", "fix@a: c").conversation)


@pytest.fixture
def drawing(repository, view):
    """What is drawn of the branches of this conversation."""
    return read_drawing(repository, view)


def commands(diagram):
    """The commands of a diagram without their ids' hashes."""
    lines = diagram.text.split("gitGraph\n")[1].splitlines()
    return [
        line.strip().replace(line.split('"')[1].split(" ")[0] + " ", "") if '"' in line else line.strip()
        for line in lines
    ]


def test_messages_have_their_authors_and_the_active_tip_is_highlighted(view, drawing):
    """S4-54."""
    assert commands(as_mermaid(view, drawing)) == [
        'commit id: "Conversation begins"',
        'commit id: "carol: a"',
        "branch fix",
        "checkout main",
        'commit id: "carol: b" type: HIGHLIGHT',
        "checkout fix",
        'commit id: "carol: c"',
    ]


def test_the_diagram_is_titled_by_id_and_title(repository, view, drawing):
    assert 'title: "conv-001"' in as_mermaid(view, drawing).text
    rename_title(repository, "conv-001", "Login fails")
    assert 'title: "conv-001: Login fails"' in draw_mermaid(repository, "conv-001").text


def test_the_system_is_written_in_capitals(repository, view):
    say(repository, "conv-001/main", "started", author={"name": "scopes", "kind": "system"}, kind="notice")
    assert 'SYSTEM: started" type: HIGHLIGHT' in draw_mermaid(repository, "conv-001").text


def test_a_hidden_branch_leaves_no_commits_behind(repository, view):
    """S4-8: commits on an abandoned branch only are not drawn as deleted."""
    abandon(repository, "conv-001", "fix")
    text = draw_mermaid(repository, "conv-001").text
    assert "carol: c" not in text
    assert "deleted" not in text
    assert "carol: c" in draw_mermaid(repository, "conv-001", include_hidden=True).text


def test_a_conversation_without_messages_is_its_beginning(repository):
    new(repository)
    assert commands(draw_mermaid(repository, "conv-001")) == ['commit id: "Conversation begins" type: HIGHLIGHT']


def test_a_diagram_that_mermaid_would_not_draw_comes_with_a_note(view, drawing):
    assert as_mermaid(view, drawing).notes == ()
    wide = replace(view, title="t" * 60_000)
    commits = tuple(commit._replace(subject="x" * 72) for commit in drawing.commits)
    assert "maxTextSize" in as_mermaid(wide, drawing._replace(commits=commits)).notes[0].text


def test_a_diagram_is_shown_as_it_is(view, drawing):
    diagram = as_mermaid(view, drawing)
    pieces: list[str] = []
    render_text(diagram, View(pieces.append, unchanged=True))
    assert "".join(pieces) == piped(diagram) == seen(diagram, 40) == diagram.text


def test_a_diagram_is_a_document_for_machines():
    assert document(Diagram(text="gitGraph\n")) == {
        "scopes": 1,
        "kind": "diagram",
        "format": "mermaid",
        "text": "gitGraph\n",
    }


def test_a_message_without_text_is_labeled_with_what_it_does(repository):
    new(repository)
    call = Part("tool_call", {"name": "Bash", "input": {"command": "make test"}})
    append(repository, "conv-001", replace(plain_message("codex", "x"), parts=(call,)))
    assert "codex: → Bash make test" in draw_mermaid(repository, "conv-001").text
