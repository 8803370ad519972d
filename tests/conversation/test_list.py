"""`list`: all conversations, most recently active first."""

from __future__ import annotations

from scopes.conversation.abandon import abandon
from scopes.conversation.append import append
from scopes.conversation.delete import delete
from scopes.conversation.list import list_conversations
from scopes.conversation.new import new
from scopes.conversation.switch import switch
from scopes.history.messages import plain_message
from scopes.model.message import Author
from tests.support.history import history, say
from tests.support.store import git, remove_object


def test_an_empty_store_has_no_conversations(repository):
    assert list_conversations(repository).conversations == ()


def test_a_row_has_id_participants_branches_and_last_activity(repository):
    """S4-53."""
    new(repository, participants=["reviewer"])
    say(repository, "conv-001", "a", author="dave")
    say(repository, "conv-001", "b", author="carol", time="2026-03-01T10:00:00Z")
    [row] = list_conversations(repository).conversations
    assert (row.id, row.participants, row.branches) == ("conv-001", ("carol", "dave", "reviewer"), 1)
    assert row.last_activity == "2026-03-01T10:00:00Z"


def test_conversations_are_sorted_by_last_activity_then_by_id(repository):
    for name, time in (("b", "2026-03-01T10:00:00Z"), ("old", "2026-02-01T10:00:00Z"), ("a", "2026-03-01T10:00:00Z")):
        new(repository, conversation_id=name)
        say(repository, name, "x", time=time)
    assert [row.id for row in list_conversations(repository).conversations] == ["a", "b", "old"]


def test_the_last_activity_is_that_of_the_most_recent_branch(repository):
    history(repository, "main: a", "fix: b")
    say(repository, "conv-001/fix", "c", time="2026-05-01T00:00:00Z")
    assert list_conversations(repository).conversations[0].last_activity == "2026-05-01T00:00:00Z"


def test_the_brief_list_reads_no_body_and_walks_no_history(repository):
    """Titles, roots and counts need a walk and are read only on request."""
    history(repository, "main: a b")
    [row] = list_conversations(repository).conversations
    assert (row.messages, row.title, row.uuid, row.created_at, row.active_branch) == (None, None, None, None, None)


def test_titles_are_read_without_walking_the_history(repository):
    new(repository, title="Login")
    new(repository, conversation_id="nameless")
    git(repository, "update-ref", "-d", "refs/scopes/meta/nameless")
    rows = {row.id: row for row in list_conversations(repository).conversations}
    assert {name: row.title for name, row in rows.items()} == {"conv-001": "Login", "nameless": None}
    assert all((row.uuid, row.messages) == (None, None) for row in rows.values())


def test_without_a_title_the_first_prompt_is_listed(repository):
    history(repository, "main: a b")
    say(repository, new(repository).id, "(no text)")
    people = new(repository).id
    for kind, text in (("injected", "<rules>"), ("agent", "hello"), ("human", "fix it"), ("human", "thanks")):
        append(repository, people, plain_message(Author("x", kind), text))
    say(repository, new(repository, title="Login").id, "c")
    new(repository)
    rows = list_conversations(repository, openings=True).conversations
    assert {row.id: row.opening for row in rows} == {
        "conv-001": "a", "conv-002": None, "conv-003": "fix it", "conv-004": None, "conv-005": None,
    }  # fmt: skip


def test_the_first_prompt_of_a_long_history_is_not_read(repository, monkeypatch):
    history(repository, "main: a b c")
    history(repository, "main: d e f")
    monkeypatch.setattr("scopes.conversation.list._MAX_WALKED", 5)
    rows = list_conversations(repository, openings=True).conversations
    assert sorted(str(row.opening) for row in rows) in (["None", "a"], ["None", "d"])


def test_the_complete_list_has_title_root_active_branch_and_message_count(repository):
    made = new(repository, title="Login")
    say(repository, "conv-001", "a")
    other = history(repository, "main: a b", "fix@a: c", "same@b:")
    switch(repository, "conv-002", "fix")
    second, first = list_conversations(repository, complete=True).conversations
    assert (first.title, first.uuid, first.messages, first.active_branch) == ("Login", made.uuid, 1, "main")
    assert first.created_at == "2026-01-01T00:00:00.000Z"
    assert (second.id, second.messages, second.branches) == (other.conversation, 3, 3)
    assert (second.active_branch, second.title, second.source) == ("fix", None, None)


def test_participants_of_all_branches_are_listed_once(repository):
    names = ["a b", "日本", "x/y", "100%", ".git", "Carol", "carol"]
    history(repository, "main: m", "fix: n", author="zoe")
    for number, name in enumerate(names):
        say(repository, f"conv-001/{('main', 'fix')[number % 2]}", "x", author=name)
    assert list_conversations(repository).conversations[0].participants == tuple(sorted([*names, "zoe"]))


def test_an_abandoned_branch_counts_and_a_deleted_conversation_does_not(repository):
    """S4-8: an abandoned branch is hidden from the list of branches, but its history is kept."""
    history(repository, "main: a", "fix: b")
    history(repository, "main: c")
    abandon(repository, "conv-001", "fix")
    delete(repository, "conv-002")
    [row] = list_conversations(repository, complete=True).conversations
    assert (row.id, row.branches, row.messages) == ("conv-001", 2, 2)


def test_a_conversation_created_with_git_has_its_root(repository):
    """D-43: without metadata the root is found by walking the history."""
    drawn = history(repository, "main: a b")
    git(repository, "update-ref", "refs/heads/mine/work", drawn.oids["b"])
    first, second = list_conversations(repository, complete=True).conversations
    assert {first.id, second.id} == {"conv-001", "mine"}
    assert first.uuid == second.uuid
    assert {first.active_branch, second.active_branch} == {"main", "work"}


def test_an_unreadable_conversation_is_left_out_and_reported(repository):
    """The other conversations are listed."""
    drawn = history(repository, "main: a")
    history(repository, "main: b")
    remove_object(repository, drawn.oids["a"])
    for complete in (False, True):
        listed = list_conversations(repository, complete=complete)
        assert [row.id for row in listed.conversations] == ["conv-002"]
        assert (listed.damaged, listed.exit_code) == (("conv-001",), 7)
        assert listed.notes[0].text.startswith("conv-001 is left out: object ")
        assert listed.notes[0].hint == "see: scopes verify"


def test_a_history_without_a_root_is_left_out_of_the_complete_list(repository):
    tree = git(repository, "mktree").strip()
    commit = git(repository, "commit-tree", tree, "-m", "by hand").strip()
    git(repository, "update-ref", "refs/heads/mine/work", commit)
    assert list_conversations(repository).conversations[0].participants == ()
    assert list_conversations(repository, complete=True).damaged == ("mine",)
