"""Names of imported branches that conflict with branches of the user."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import delete_branch, rename_branch
from scopes.conversation.show import show
from scopes.conversation.verify import verify
from scopes.history.messages import plain_message
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo
from tests.support.store import make_store


@pytest.fixture(autouse=True)
def imported(repository, tmp_path):
    """Import a session of two messages."""
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))


def others(repository):
    """Return the names of all branches but main."""
    return sorted(set(list_branch_tips(repository, "conv-001")) - {"main"})


@pytest.mark.parametrize("name", ["fork", "Fork", "FORK/mine"])
def test_a_fork_is_renamed_if_its_name_conflicts_with_a_user_branch(repository, tmp_path, name):
    """The names are equal on file systems that fold case, or one is a directory of the other."""
    branch(repository, "conv-001", name=name)
    done = import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d<b e")))
    (found,) = set(others(repository)) - {name}
    assert (branch_words(repository), branch_words(repository, found), found[:5]) == ("a b d e", "a b c", "fork-")
    assert [note.text for note in done.notes if name in note.text and found in note.text] != []
    assert read_metadata(repository, "conv-001").branches[found].parent == "main"
    assert verify(repository).findings == ()


def test_a_renamed_fork_keeps_its_name_when_it_grows(repository, tmp_path):
    """Also when the conflicting branch is gone."""
    branch(repository, "conv-001", name="fork")
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c<b d<b e")))
    before = others(repository)
    longer = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c<b x<c y d<b e"))
    assert (import_demo(repository, longer).notes, others(repository)) == ((), before)
    rename_branch(repository, "conv-001", "fork", "mine")
    longer = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c<b x<c y z w d<b e"))
    import_demo(repository, longer)
    assert [branch_words(repository, name) for name in others(repository) if name.startswith("fork-")] == [
        "a b c x y z w"
    ]


def test_import_and_abandoned_branches_are_renamed_on_conflict_too(repository, tmp_path):
    """The user has a branch `import` or `abandoned`."""
    for name in ("import", "abandoned"):
        branch(repository, "conv-001", name=name)
    append(repository, "conv-001", plain_message("carol", "mine"), branch="main")
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c")))
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "x y z")))
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "p q")))
    found = set(others(repository)) - {"import", "abandoned"}
    assert {name.partition("-")[0] for name in found} <= {"import", "abandoned"}
    assert {branch_words(repository, name) for name in found} == {"a b c", "x y z", "p q"}
    assert branch_words(repository) == "a b mine"


def test_one_branch_follows_the_source_once_the_user_has_moved_main(repository, tmp_path):
    """Also when the source grows repeatedly; the branch has the messages that main has no copy of."""
    append(repository, "conv-001", plain_message("carol", "mine"))
    for all_words in ("a b c", "a b c d", "a b c d e"):
        done = import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", all_words)))
    (import_branch,) = others(repository)
    assert (branch_words(repository), branch_words(repository, import_branch), import_branch[:7]) == (
        "a b mine",
        "a b c d e",
        "import/",
    )
    assert f"are on {import_branch}" in done.notes[0].text
    view = show(repository, "conv-001")
    assert [(found.messages, found.total) for found in view.branches] == [(3, 3), (3, 5)]
    assert (view.messages, view.branches[1].parent, done.conversations[0].messages) == (6, "main", 6)


def test_an_import_branch_that_the_user_moved_is_left_alone_too(repository, tmp_path):
    append(repository, "conv-001", plain_message("carol", "mine"))
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c")))
    (first,) = others(repository)
    append(repository, "conv-001", plain_message("carol", "more"), branch=first)
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d")))
    assert {branch_words(repository, name) for name in others(repository)} == {"a b c more", "a b c d"}


def test_an_open_message_that_was_completed_is_counted_once(tmp_path):
    """An answer with more content has another id."""
    store = make_store(tmp_path / "other.git")
    path = tmp_path / "s.jsonl"
    for count in (2, 3):
        path.write_text("".join(claude_lines()[:count]))
        done = import_sources(store, find_sources(str(path)), FORMATS)
    assert (done.conversations[0].messages, show(store, "conv-001").messages) == (2, 2)


def claude_lines():
    """Write a prompt, and an answer in two records."""
    turns = [("user", "hello", None), ("assistant", "one", "a1"), ("assistant", "two", "a1")]
    return [
        json.dumps({
            "type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s",
            "timestamp": f"2026-02-01T10:00:0{number}.000Z", "isSidechain": False, "cwd": "/home/carol",
            "message": {"role": role, "id": identity, "content": [{"type": "text", "text": text}]},
        }) + "\n"
        for number, (role, text, identity) in enumerate(turns)
    ]  # fmt: skip


def test_a_renamed_branch_still_gets_the_new_messages_of_its_source(repository, tmp_path):
    """They were put on a branch import/..., with all messages of the renamed one again."""
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c<b d<b e")))
    (fork,) = others(repository)
    rename_branch(repository, "conv-001", fork, "mine")
    for grown, words in (("a b c<b d<b e x<c f<e", "a b c x"), ("a b c<b d<b e x<c f<e y<x g<f", "a b c x y")):
        done = import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", grown)))
        assert (done.notes, others(repository), branch_words(repository, "mine")) == ((), ["mine"], words)


def test_a_branch_at_the_same_message_is_not_taken_for_the_deleted_one(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c<b d<b e")))
    (fork,) = others(repository)
    branch(repository, "conv-001", name="mine", start=fork)
    delete_branch(repository, "conv-001", fork)
    done = import_demo(
        repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c<b d<b e x<c f<e"))
    )
    assert branch_words(repository, "mine") == "a b c"
    assert f"conv-001/{fork} was deleted here" in done.notes[0].text
