"""A directory is asked for its refs first, and then only for those that have changed."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Inaccessible, NotFound
from scopes.sync import changed_refs
from scopes.sync.git_transport import GitTransport
from scopes.sync.local_conversations import list_roots
from scopes.sync.remote_selection import EVERYTHING_SPEC
from tests.support.git_servers import serve_http
from tests.support.history import history, say, texts
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git

NAMES = ("conv-001", "conv-002", "conv-003")


@pytest.fixture
def sent(ours):
    """A store with three conversations, which the remote has."""
    history(ours, "main: x")
    history(ours, "main: y")
    push_to(ours)
    return ours


@pytest.fixture
def theirs(sent, bare, tmp_path):
    """Another store, which has fetched all of them."""
    store = machine(tmp_path / "theirs", bare)
    fetch_from(store)
    return store


@pytest.fixture
def asked(monkeypatch):
    """Record the refspecs of each fetch by git, and the refs that git knew then."""
    found = []
    fetch = GitTransport.fetch

    def recorded(self, refspecs):
        known = git(self._quarantine.path, "for-each-ref", "--format=%(refname)").split()
        found.append((list(refspecs), known))
        return fetch(self, refspecs)

    monkeypatch.setattr(GitTransport, "fetch", recorded)
    return found


def root_of(store, conversation):
    return next(root for root, name in list_roots(store).items() if name == conversation)


def test_only_what_has_changed_is_fetched_by_a_git_that_knows_nothing_else(sent, theirs, asked):
    say(sent, "conv-002/main", "news")
    push_to(sent)
    asked.clear()
    assert [(row.conversation, row.status) for row in fetch_from(theirs).conversations] == [("conv-002", "updated")]
    [([spec], known)] = asked
    root = root_of(theirs, "conv-002")
    assert spec.partition(":")[0].endswith(f"/{root}")
    assert known == [f"refs/in/origin/{root}"]
    assert texts(theirs, "conv-002/main") == texts(sent, "conv-002/main") == ["x", "news"]
    assert_sound(theirs)


def test_nothing_is_fetched_if_nothing_has_changed(theirs, asked):
    fetched = fetch_from(theirs)
    assert (fetched.conversations, fetched.unchanged, asked) == ((), 3, [])
    assert fetch_from(theirs, "conv-001").unchanged == 1
    assert asked == []


def test_a_new_conversation_is_fetched_alone(sent, theirs, asked):
    history(sent, "main: z")
    push_to(sent)
    asked.clear()
    assert [(row.conversation, row.status) for row in fetch_from(theirs).conversations] == [("conv-004", "new")]
    [([_], known)] = asked
    assert known == []


def test_a_first_fetch_asks_for_all_of_it_at_once(sent, bare, tmp_path, asked):
    store = machine(tmp_path / "another", bare)
    assert len(fetch_from(store).conversations) == 3
    assert [EVERYTHING_SPEC in specs for specs, _ in asked] == [True]


def test_many_changes_are_fetched_by_pattern(sent, theirs, asked, monkeypatch):
    monkeypatch.setattr(changed_refs, "FEW", 4)
    for number, name in enumerate(NAMES):
        say(sent, f"{name}/main", f"news {number}")
    history(sent, "main: p")
    history(sent, "main: q")
    push_to(sent)
    asked.clear()
    assert len(fetch_from(theirs).conversations) == 5
    [(specs, known)] = asked
    assert EVERYTHING_SPEC in specs
    assert len([ref for ref in known if ref.startswith("refs/in/")]) == 3


def test_a_ref_that_is_deleted_after_it_was_listed_keeps_the_others_coming(sent, theirs, bare, monkeypatch):
    for name in NAMES[:2]:
        say(sent, f"{name}/main", "news")
    push_to(sent)
    gone = root_of(sent, "conv-001")
    list_refs = GitTransport.list_refs

    def then_delete(self, *patterns):
        found = list_refs(self, *patterns)
        for ref in found:
            if ref.endswith(gone):
                git(bare, "update-ref", "-d", ref)
        return found

    monkeypatch.setattr(GitTransport, "list_refs", then_delete)
    assert [(row.conversation, row.status) for row in fetch_from(theirs).conversations] == [("conv-002", "updated")]


def test_a_named_conversation_that_is_not_there_any_more_is_an_error(sent, theirs, bare):
    [ref] = [
        each for each in git(bare, "for-each-ref", "--format=%(refname)").split() if root_of(sent, NAMES[0]) in each
    ]
    git(bare, "update-ref", "-d", ref)
    with pytest.raises(NotFound, match="conv-001"):
        fetch_from(theirs, "conv-001")


def test_two_refs_of_one_place_are_refused_as_in_a_first_fetch(theirs, bare):
    tip = git(bare, "for-each-ref", "--count=1", "--format=%(objectname)").strip()
    for ref in ("refs/scopes/v1/c/purged/x", "refs/scopes/v1/purged/x"):
        git(bare, "update-ref", ref, tip)
    before = theirs.list_refs()
    with pytest.raises(Inaccessible, match=r"Cannot fetch both .* to refs/new/purged/x"):
        fetch_from(theirs)
    assert theirs.list_refs() == before


def test_over_a_network_there_is_one_connection(repository, tmp_path, asked, monkeypatch):
    path = make_bare(tmp_path / "served" / "talks.git")
    history(repository, "main: a")
    add(repository, path)
    push_to(repository)
    with serve_http(tmp_path / "served") as server:
        theirs = machine(tmp_path / "theirs", f"{server.address}/{os.path.basename(path)}")
        fetch_from(theirs)
        say(repository, "conv-001/main", "news")
        push_to(repository)
        listed = []
        monkeypatch.setattr(GitTransport, "list_refs", lambda *words: listed.append(words))
        assert [row.status for row in fetch_from(theirs).conversations] == ["updated"]
    assert (listed, [EVERYTHING_SPEC in specs for specs, _ in asked]) == ([], [True, True])
