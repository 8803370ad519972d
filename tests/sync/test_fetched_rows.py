"""What a fetch shows of new conversations: numbers by age, and the title that a list shows."""

from __future__ import annotations

import json

from scopes.conversation.append import append
from scopes.conversation.list import list_conversations
from scopes.conversation.new_rename_delete import rename_title
from scopes.history.messages import plain_message, write_root_commit
from scopes.model.conversation import Root
from scopes.model.message import Author
from scopes.store.operations import walk_operations
from scopes.store.refs import REMOTES
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.remotes import resolve_remote
from tests.support.history import say
from tests.support.remotes import add, clone_to, connection, fetch_from, machine, push_to
from tests.support.store import git, open_store

DAYS = ["2026-03-09", "2024-01-31", "2026-01-02", "2025-12-31", "2026-03-08"]


def sessions_of(store, days):
    """Make a conversation for each day, with a prompt that names it."""
    for number, day in enumerate(days, 1):
        root = Root(f"{number:032d}", f"{day}T10:00:00Z", format="codex", native_id=f"s-{number}")
        commit = write_root_commit(store, root, {"carol": "human"})
        git(store, "update-ref", f"refs/heads/conv-{number:03d}/main", commit)
        append(store, f"conv-{number:03d}", plain_message(Author("carol", "human"), f"the work of {day}"))


def headings(fetched):
    """Return the titles of the rows of a fetch, by number."""
    return {row.conversation: row.title for row in fetched.conversations}


def test_the_oldest_gets_the_lowest_number(repository, bare, tmp_path):
    sessions_of(repository, DAYS)
    add(repository, bare)
    push_to(repository)
    fetched = fetch_from(machine(tmp_path / "other", bare))
    assert headings(fetched) == {f"conv-{n:03d}": f"the work of {day}" for n, day in enumerate(sorted(DAYS), 1)}


def test_a_clone_has_the_same_numbers_and_reads_no_prompts(repository, bare, tmp_path):
    sessions_of(repository, DAYS)
    add(repository, bare)
    push_to(repository)
    cloned = clone_to(tmp_path / "other", bare)
    assert set(headings(cloned.fetched).values()) == {None}
    rows = list_conversations(open_store(tmp_path / "other")).conversations
    assert sorted((row.id, row.opening) for row in rows) == [
        (f"conv-{n:03d}", f"the work of {day}") for n, day in enumerate(sorted(DAYS), 1)
    ]


def test_a_title_that_was_set_is_shown_instead_of_the_prompt(repository, bare, tmp_path):
    sessions_of(repository, DAYS[:2])
    add(repository, bare)
    push_to(repository)
    other = machine(tmp_path / "other", bare)
    fetch_from(other)
    rename_title(repository, "conv-001", "Login")
    say(repository, "conv-002/main", "more")
    push_to(repository)
    assert sorted(headings(fetch_from(other)).values()) == ["Login", "the work of 2024-01-31"]
    assert json.dumps(headings(fetch_from(other))) == "{}"


def test_what_was_deleted_and_sent_again_as_it_was_is_unchanged(ours, bare, tmp_path):
    say(ours, "conv-001", "more")
    push_to(ours)
    say(ours, "conv-001", "last")
    push_to(ours)
    fetch_from(other := machine(tmp_path / "other", bare))
    before = other.list_refs(REMOTES)
    delete_on_remote(ours, resolve_remote(ours, None), ["conv-001"], connection())
    push_to(ours, "conv-001")
    fetched = fetch_from(other)
    assert (fetched.conversations, fetched.unchanged) == ((), 1)
    assert other.list_refs(REMOTES) != before
    assert next(walk_operations(other))[1].summary == "fetch 0 conversations from origin"
    say(ours, "conv-001", "news")
    push_to(ours)
    assert [row.status for row in fetch_from(other).conversations] == ["updated"]
