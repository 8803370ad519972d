"""Messages that a push holds back do not leave with the original file of their session either."""

from __future__ import annotations

import os
import time

import pytest

from scopes.sync.bundles import create_bundle
from tests.support.every_byte import find_word
from tests.support.original_files import PROMPT, exported, files_there, import_session
from tests.support.remotes import EVERYTHING, add, connection, fetch_from, machine, push_to
from tests.support.store import git

LAST = "quartzmarlin"


def import_growing(store, path, words, **options):
    """Import a session that has changed just now, with records of this minute."""
    import_session(store, path, words, **options)
    os.utime(path, (time.time(), time.time()))


@pytest.fixture
def alice(repository, bare, tmp_path):
    """A store with a session that still grows."""
    add(repository, bare)
    import_growing(repository, tmp_path / "session.jsonl", f"a b {LAST}")
    return repository


@pytest.fixture
def bob(bare, tmp_path):
    return machine(tmp_path / "bob", bare, "bob")


def send(store, *names, **options):
    return push_to(store, *names, with_sources=True, **options)


def notes_of(result):
    return [(note.text, note.hint) for note in result.notes if "original file" in note.text]


NOTE = "1 original file was not sent: messages in it are held back (s1)"


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_file_with_a_message_that_is_held_back_stays_here_with_a_note(alice, bare, dry_run):
    pushed = send(alice, dry_run=dry_run)
    assert [row.held_back for row in pushed.conversations] == [1]
    assert pushed.sources == ()
    now = "push all of it now: scopes push conv-001 --with-sources --include-open"
    assert (notes_of(pushed), pushed.exit_code) == ([(NOTE, now)], 0)
    assert files_there(bare) == []
    assert find_word(LAST, bare) == find_word(PROMPT, bare) == []


def test_the_user_can_send_all_of_it_at_once(alice, bare):
    pushed = send(alice, include_open=True)
    assert [row.status for row in pushed.sources] == ["new"]
    assert notes_of(pushed) == []
    assert find_word(LAST, bare) != []


def test_the_file_follows_once_the_session_was_still(alice, bob, tmp_path):
    send(alice)
    os.utime(tmp_path / "session.jsonl", (1_700_000_000, 1_700_000_000))
    assert [row.status for row in send(alice).sources] == ["new"]
    fetch_from(bob)
    assert exported(bob) == exported(alice)


def test_of_a_file_that_grows_again_the_remote_keeps_what_it_has(alice, bob, bare, tmp_path):
    send(alice, include_open=True)
    before = files_there(bare), git(bare, "for-each-ref", "refs/scopes/v1/s")
    import_growing(alice, tmp_path / "session.jsonl", f"a b {LAST} c secondmarlin")
    pushed = send(alice)
    assert (pushed.sources, len(notes_of(pushed))) == ((), 1)
    assert (files_there(bare), git(bare, "for-each-ref", "refs/scopes/v1/s")) == before
    assert find_word("secondmarlin", bare) == []
    assert find_word("say c", bare) != []  # which only is not the last one any more


def test_a_message_that_the_remote_has_already_keeps_no_file_here(alice, bob):
    push_to(alice, include_open=True)
    pushed = send(alice)
    assert ([row.status for row in pushed.sources], notes_of(pushed)) == (["new"], [])
    fetch_from(bob)
    assert exported(bob) == exported(alice)


def test_files_of_other_sessions_leave(alice, bare, tmp_path):
    import_session(alice, tmp_path / "other.jsonl", "x y", session="s2")
    os.utime(tmp_path / "other.jsonl", (1_700_000_000, 1_700_000_000))
    pushed = send(alice)
    assert [(row.conversation, row.status) for row in pushed.sources] == [("conv-002", "new")]
    assert [text for text, _ in notes_of(pushed)] == [NOTE]
    assert find_word(LAST, bare) == []


@pytest.mark.parametrize(("include_open", "files"), [(False, 0), (True, 1)])
def test_a_bundle_has_no_file_with_a_message_that_it_holds_back(alice, tmp_path, include_open, files):
    path = str(tmp_path / "a.bundle")
    done = create_bundle(alice, path, EVERYTHING, connection(), with_sources=True, include_open=include_open)
    assert len(done.sources) == files
    kept = [(NOTE, "have all of it in the bundle: --include-open")]
    assert notes_of(done) == ([] if files else kept)
    assert git(alice, "bundle", "list-heads", path).count("refs/scopes/v1/s/") == files
