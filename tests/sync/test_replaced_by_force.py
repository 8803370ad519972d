"""What nobody can take from a remote gives way to a forced push, or to a deletion: foreign commits, purged text."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt
from scopes.history.names import find_root_commit
from scopes.purge.accept import accept_purges
from scopes.purge.on_remotes import list_copies
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.local_conversations import list_roots
from scopes.sync.remotes import resolve_remote
from tests.render.rendering import seen
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, connection, count_conversations, fetch_from, push_to
from tests.support.store import git, open_store

NAME, OTHER = "conv-001", "conv-002"
WORD = "Xylophone-Quarantine-4711"


def ref_of(bare, store, name=NAME):
    root = find_root_commit(store, name)
    return next(ref for ref in git(bare, "for-each-ref", "--format=%(refname)").split() if ref.endswith(root))


def move(bare, ref, what):
    """Move a ref of the remote as a foreign hand does; return its value."""
    if what == "a commit":
        tree = git(bare, "mktree").strip()
        value = git(bare, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree, "-m", "evil").strip()
    else:
        value = next(
            oid for name, oid in map(str.split, git(bare, "for-each-ref", "--format=%(refname) %(objectname)").splitlines())
            if name != ref
        )  # fmt: skip
    git(bare, "update-ref", ref, value)
    return value


def statuses(pushed):
    return {row.conversation: row.status for row in pushed.conversations}


@pytest.fixture
@recalled
def moved(ours, bare, request):
    """A remote on which a foreign hand has moved the ref of a conversation."""
    history(ours, "main: x", conversation=OTHER)
    push_to(ours)
    return move(bare, ref_of(bare, ours), request.param)


FOREIGN = pytest.mark.parametrize("moved", ["a commit", "another conversation"], indirect=True)


@FOREIGN
@pytest.mark.parametrize("has_news", [True, False])
def test_a_forced_push_replaces_a_foreign_commit_and_says_what_it_was(ours, bare, tmp_path, moved, has_news):
    if has_news:
        say(ours, NAME, "news")
        refused = push_to(ours, force=True)  # of no conversation by its name
        assert refused.conversations[0].reason.endswith(f"replace it with what is here: scopes push {NAME} --force")
    done = push_to(ours, NAME, force=True, drops_unmerged=True)
    assert (statuses(done), done.exit_code) == ({NAME: "updated"}, 0)
    assert any(moved[:12] in note.text and "not acceptable" in note.text for note in done.notes)
    assert push_to(ours).conversations == ()
    clone_to(tmp_path / "copy", bare)
    assert count_conversations(bare) == 2
    copy = open_store(tmp_path / "copy")
    assert ("news" in {text for name in (NAME, OTHER) for text in texts(copy, name)}) is has_news


@FOREIGN
@pytest.mark.slow
def test_a_deletion_removes_a_foreign_commit_and_says_what_it_was(ours, bare, moved):
    (row,) = delete_on_remote(ours, resolve_remote(ours, None), [NAME], connection()).names
    assert row.status == "deleted"
    assert "not acceptable" in row.reason
    assert count_conversations(bare) == 1
    assert statuses(push_to(ours, NAME)) == {NAME: "new"}


@pytest.mark.parametrize("moved", ["a commit"], indirect=True)
@pytest.mark.slow
def test_a_fetch_says_what_replaces_it(ours, bare, moved):
    assert "scopes push conv-001 --force" in fetch_from(ours).notes[-1].hint
    delete_on_remote(ours, resolve_remote(ours, None), [OTHER], connection())
    with pytest.raises(Corrupt) as caught:
        fetch_from(ours)
    assert "scopes push --delete conv-001" in caught.value.hint


@pytest.fixture
@recalled
def above(repository, bare, tmp_path):
    """Two conversations with a word that was purged, and what somebody has pushed above it meanwhile."""
    add(repository, bare)
    made = history(repository, f"main: a {WORD} b")
    history(repository, f"main: {WORD}", conversation=OTHER)
    push_to(repository)
    clone_to(tmp_path / "theirs", bare)
    theirs = open_store(tmp_path / "theirs")
    for name in (NAME, OTHER):
        say(theirs, name, f"theirs in {name}")
    push_to(theirs)
    places = Places(str(tmp_path / "index"))
    purge(repository, PurgeRequest(conversation=NAME, messages=(made.ids[WORD],)), places)
    purge(open_store(repository), PurgeRequest(conversations=(OTHER,)), places)
    return open_store(repository), theirs


def is_clean(bare):
    git(bare, "gc", "-q", "--prune=now")
    return find_word(WORD, bare) == []


@pytest.mark.slow
def test_a_forced_push_of_what_was_purged_replaces_what_was_pushed_above_it(above, bare, tmp_path):
    ours, theirs = above
    refused = push_to(ours, purged=True)
    assert refused.conversations[0].reason.endswith(f"remove there what is not here: scopes push {NAME} --force")
    assert refused.notes[-1].hint.endswith("scopes push --purged --force")
    done = push_to(open_store(ours), purged=True, force=True, drops_unmerged=True)
    assert (statuses(done), done.exit_code) == ({NAME: "updated"}, 0)
    assert f"1 purged conversation was deleted on the remote: {done.purged[0][:12]}" in [
        note.text for note in done.notes
    ]
    assert list_copies(ours.path) == ()
    assert is_clean(bare)
    theirs = open_store(theirs)
    fetch_from(theirs)
    accept_purges(theirs, Places(str(tmp_path / "their index")))
    push_to(open_store(theirs))  # nothing that they wrote is lost
    ours = open_store(ours)
    fetch_from(ours)
    assert texts(ours, NAME)[-1] == f"theirs in {NAME}"
    assert is_clean(bare)


@pytest.mark.slow
def test_what_others_have_added_is_removed_only_if_that_is_confirmed(above, bare):
    ours, _ = above
    before = git(bare, "for-each-ref")
    (row,) = push_to(ours, NAME, force=True).conversations
    assert (row.status, f"scopes push {NAME} --force --yes" in row.reason) == ("refused", True)
    for names in ((), (NAME,)):
        done = push_to(open_store(ours), *names, purged=not names, force=True)
        assert (done.exit_code, done.purged) == (1, ())
    assert git(bare, "for-each-ref", "refs/scopes/v1/c") == "".join(
        line for line in before.splitlines(keepends=True) if "refs/scopes/v1/c" in line
    )


def test_a_forced_push_of_its_name_does_the_same_for_one_conversation(above, bare):
    ours, _ = above
    assert statuses(push_to(ours, NAME, force=True, drops_unmerged=True)) == {NAME: "updated"}
    ours = open_store(ours)
    assert push_to(ours, NAME).conversations == ()
    assert statuses(push_to(ours, purged=True, force=True, drops_unmerged=True)) == {}
    assert is_clean(bare)


@pytest.mark.slow
def test_a_deletion_needs_no_fetch_that_cannot_succeed(above, bare):
    ours, _ = above
    (row,) = delete_on_remote(ours, resolve_remote(ours, None), [NAME], connection()).names
    assert (row.status, row.reason) == ("deleted", "what was there had something that was purged here")
    with pytest.raises(Corrupt, match="scopes push --purged --force"):
        fetch_from(open_store(ours))


@pytest.mark.parametrize("moved", ["a commit"], indirect=True)
def test_a_clone_counts_what_it_has_and_names_what_it_has_not(ours, bare, tmp_path, moved):
    root = find_root_commit(ours, NAME)
    done = clone_to(tmp_path / "copy", bare)
    assert done.exit_code == Corrupt.exit_code
    (note,) = [note for note in done.notes if root[:12] in note.text]
    assert f"{moved} is not the manifest of a conversation" in note.text
    assert list(list_roots(open_store(tmp_path / "copy")).values()) == [NAME]
    assert seen(done, 200).startswith("Cloned 1 of 2 conversations into ")
