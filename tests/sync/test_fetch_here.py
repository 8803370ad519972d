"""A store that was cloned with --manifests stays one: a fetch or pull without a choice gets no other messages."""

from __future__ import annotations

import shutil

import pytest

from scopes.conversation.undo import undo
from scopes.sync.addresses import parse_address
from scopes.sync.clone import clone_manifests
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.fetch_here import SETTING, fetch_chosen, fetch_here
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.manifest_list import read_manifest_list
from scopes.sync.pull import merge_fetched
from scopes.sync.remotes import resolve_remote
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, connection, fetch_from, limited, make_bare, push_to
from tests.support.store import assert_sound, open_store

UNDECIDED = Selection()


@pytest.fixture
def index(tmp_path):
    """Where the lists of remotes are."""
    return str(tmp_path / "index")


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path, index):
    """A store that was cloned with --manifests from a remote with three conversations."""
    history(ours, "main: x y z")
    history(ours, "main: p")
    push_to(ours)
    clone_manifests(
        str(tmp_path / "clone"), parse_address(bare), EVERYTHING, connection(),
        open_store=lambda: open_store(tmp_path / "clone"), name="origin", directory=index,
    )  # fmt: skip
    return open_store(tmp_path / "clone")


def get(store, index, selection=UNDECIDED):
    """Fetch as the command does."""
    return fetch_chosen(store, resolve_remote(store, None), selection, connection(), index)


def root_of(store, name):
    return next(root for root, each in list_roots(store).items() if each == name)


def test_a_fetch_gets_the_list_and_no_message(theirs, ours, index):
    history(ours, "main: late")
    push_to(ours)
    done = get(theirs, index)
    assert (done.conversations, done.operation, list_roots(theirs)) == ((), None, {})
    assert len(read_manifest_list(index, resolve_remote(theirs, None)).conversations) == 4


def test_it_says_how_many_are_listed_only_and_how_to_get_one_or_all(theirs, ours, index):
    note = get(theirs, index).notes[-1]
    first = min(list_roots(ours))[:12]
    assert note.text == "only manifests were fetched of 3 conversations of origin"
    assert note.hint == (
        f"list them: scopes fetch origin --list; get one: scopes fetch {first}; all: scopes fetch --project all"
    )


def test_it_says_what_has_changed_in_the_list(theirs, ours, index):
    assert get(theirs, index).listed == (0, 0, 0)
    history(ours, "main: late")
    say(ours, "conv-002", "news")
    delete_on_remote(ours, resolve_remote(ours, None), ["conv-003"], connection())
    push_to(ours, "conv-002", "conv-004")
    assert get(theirs, index).listed == (1, 1, 1)
    assert get(theirs, index).listed == (0, 0, 0)


def test_what_is_here_is_no_change_of_the_list(theirs, ours, index):
    fetch_from(theirs, root_of(ours, "conv-002"))
    say(ours, "conv-002", "news")
    push_to(ours)
    assert get(theirs, index).listed == (0, 0, 0)


def test_what_is_here_is_fetched(theirs, ours, index):
    fetch_from(theirs, root_of(ours, "conv-002"))
    say(ours, "conv-002", "news")
    say(ours, "conv-001", "elsewhere")
    push_to(ours)
    done = get(theirs, index)
    assert [(row.conversation, row.status) for row in done.conversations] == [("conv-001", "updated")]
    assert texts(theirs, "conv-001") == ["x", "y", "z", "news"]
    assert "of 2 conversations" in done.notes[-1].text
    assert_sound(theirs)


@pytest.mark.slow
def test_a_pull_merges_what_is_here(theirs, ours, index):
    fetch_from(theirs, root_of(ours, "conv-002"))
    say(ours, "conv-002", "news")
    push_to(ours)
    say(theirs, "conv-001", "mine")
    done = merge_fetched(theirs, resolve_remote(theirs, None), UNDECIDED, get(theirs, index))
    assert [each.state for each in done.branches] == ["merged"]
    assert len(list_roots(theirs)) == 1
    undo(theirs)
    assert texts(theirs, "conv-001") == ["x", "y", "z", "mine"]


def test_all_of_it_comes_with_all(theirs, index):
    assert len(get(theirs, index, EVERYTHING).conversations) == 3
    assert get(theirs, index).notes == ()


def test_the_setting_that_the_clone_made_decides(theirs, index):
    assert theirs.config.find(SETTING) == "true"
    assert len(get(limited(theirs, 5000, **{SETTING.lower(): "false"}), index).conversations) == 3


@pytest.mark.slow
def test_what_was_deleted_there_does_not_stop_the_fetch(theirs, ours, index):
    fetch_from(theirs, root_of(ours, "conv-002"), root_of(ours, "conv-003"))
    delete_on_remote(ours, resolve_remote(ours, None), ["conv-003"], connection())
    say(ours, "conv-002", "news")
    push_to(ours)
    done = get(theirs, index)
    assert [row.status for row in done.conversations] == ["updated"]
    assert "of 1 conversation of origin" in done.notes[-1].text


def test_the_repositories_after_a_full_one_are_asked_too(theirs, ours, index):
    store = limited(ours, 3)
    history(store, "main: fourth")
    push_to(store)
    done = fetch_here(theirs, resolve_remote(theirs, None), connection(), index)
    assert "of 4 conversations" in done.notes[-1].text
    assert list_roots(theirs) == {}


@pytest.mark.parametrize("is_here", [False, True], ids=["nothing here", "one here"])
def test_a_remote_that_was_emptied_is_named(theirs, bare, index, is_here):
    if is_here:
        fetch_from(theirs, next(iter(read_manifest_list(index, resolve_remote(theirs, None)).conversations)))
        get(theirs, index)
    shutil.rmtree(bare)
    make_bare(bare)
    notes = [note.text for note in get(theirs, index).notes]
    assert [("no longer has any conversation that it had" in note) for note in notes] == ([True] if is_here else [])
