"""What a conversation is called: its title, or else its first prompt, in every command that names one (D12)."""

from __future__ import annotations

import pytest

from scopes.conversation.files import files
from scopes.conversation.list import list_conversations
from scopes.conversation.new import new
from scopes.conversation.rename import rename_title
from scopes.conversation.show import show
from scopes.conversation.stats import stats
from scopes.history.titles import Heading, read_first_prompt, read_heading
from scopes.search.search import search
from tests.render.rendering import piped
from tests.support.history import history, say
from tests.support.store import remove_object


@pytest.fixture
def unnamed(repository):
    """A conversation without a title that begins with a greeting, and has a second branch."""
    history(repository, "main: hello b", "fix@b: c")
    return repository


def headings(repository, directory):
    """Return what each command calls the conversation."""
    view = show(repository, "conv-001")
    row = list_conversations(repository).conversations[0]
    return [
        read_heading(repository, "conv-001"),
        files(repository, "conv-001").heading,
        stats(repository, "conv-001").heading,
        search(repository, "hello", index_directory=directory).hits[0].heading,
        Heading(view.title or view.opening, "title" if view.title else "prompt"),
        Heading(row.heading, row.heading_source),
    ]


def test_without_a_title_every_command_takes_the_first_prompt(unnamed, tmp_path):
    """D12."""
    assert set(headings(unnamed, str(tmp_path / "index"))) == {Heading("hello", "prompt")}


def test_the_title_comes_before_the_first_prompt(unnamed, tmp_path):
    rename_title(unnamed, "conv-001", "Login")
    assert set(headings(unnamed, str(tmp_path / "index"))) == {Heading("Login", "title")}


@pytest.mark.parametrize(
    ("text", "shown"), [("x" * 71, "x" * 71), ("hello you " * 8, f"{('hello you ' * 8)[:72]}…"), ("a\nb", "a b")]
)
def test_a_title_cut_from_the_first_prompt_ends_in_an_ellipsis(repository, text, shown):
    say(repository, new(repository).id, text)
    assert read_heading(repository, "conv-001") == Heading(shown, "prompt")
    assert list_conversations(repository).conversations[0].heading == shown


def test_a_conversation_without_messages_has_neither(repository):
    new(repository)
    assert read_heading(repository, "conv-001") is None
    say(repository, "conv-001", "(no text)")
    assert read_heading(repository, "conv-001") is None


def test_a_damaged_history_has_no_first_prompt(repository):
    drawn = history(repository, "main: a b")
    remove_object(repository, drawn.oids["a"])
    assert read_heading(repository, "conv-001") is None
    assert read_first_prompt(repository, "conv-001") is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [("fix\n the  login " * 20, ("fix the login " * 20).strip()), ("x" * 501, f"{'x' * 500}…"), ("(no text)", None)],
)
def test_the_first_prompt_can_be_read_as_one_line(repository, text, shown):
    say(repository, new(repository).id, text)
    assert read_first_prompt(repository, "conv-001") == shown


def test_of_a_first_message_without_text_its_tool_call_is_read(repository):
    call = {"type": "tool_call", "call_id": "t", "name": "Bash", "input": {"command": "make test"}}
    say(repository, new(repository).id, "", author="claude", kind="answer", parts=[call])
    heading = read_heading(repository, "conv-001")
    assert read_first_prompt(repository, "conv-001") == (None if heading is None else heading.text)


@pytest.mark.parametrize(("text", "shown"), [("y" * 71, "y" * 71), ("y" * 71 + " more", "y" * 71 + "…")])
def test_the_list_marks_a_first_prompt_of_71_characters_only_if_it_was_cut(repository, text, shown):
    say(repository, new(repository).id, text)
    assert piped(list_conversations(repository)).endswith(f"\t{shown}\n")
