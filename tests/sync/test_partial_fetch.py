"""One bad conversation does not stop a fetch: the others are taken, it is named with its reason, nothing of it is taken."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import rename_title
from scopes.errors import Corrupt, Inaccessible
from scopes.store.git_program import QUARANTINE_PREFIX
from scopes.sync import incoming
from scopes.sync.git_transport import GitTransport
from scopes.sync.local_conversations import list_roots
from tests.support.forged_remotes import FOLDER, LINK, Forger
from tests.support.git_servers import serve_http
from tests.support.history import history, say
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, fetch_from, machine, push_to
from tests.support.store import assert_sound, files_of, git, open_store, refs

# How the first conversation is made bad; what git itself refuses, and what only scopes does.
BAD = {
    "git": lambda f: f.publish(f.child(f.message_tree((FOLDER, b".git", f.meta)))),
    "scopes": lambda f: f.publish(meta=f.meta_tree(b"evil")),
    "a link": lambda f: f.publish(f.child(f.message_tree((LINK, b"link", f.write("blob", b"/etc/passwd"))))),
    "too large": lambda f: f.publish(f.child(f.message_tree(message=bytes((64 << 20) + 1)))),
    "a newer version": lambda f: f.publish(manifest={**f.manifest, "v": 2}),
}
GOOD = 4


@pytest.fixture
@recalled
def changed(sent, bare):
    """The ref of a conversation on a remote, to which others were pushed."""
    (ref,) = git(bare, "for-each-ref", "--format=%(refname)").split()
    for number in range(GOOD):
        history(sent, f"main: good-{number}")
    push_to(sent)
    return ref


@pytest.fixture
def forger(changed, bare):
    """A remote with a conversation to be changed, and others."""
    return Forger(bare, changed)


@pytest.fixture
@recalled
def victim(forger, bare, tmp_path):
    """A store that has nothing yet."""
    return machine(tmp_path / "victim", bare)


def statuses(fetched):
    """Return the states of what was fetched, sorted."""
    return sorted(row.status for row in fetched.conversations)


def new_objects(forger, before):
    """Return the objects of the remote that were not there before."""
    return set(list_objects(forger.bare)) - set(before)


def list_objects(store):
    """Return the names of all objects of a repository."""
    return git(store, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()


@pytest.mark.parametrize("kind", BAD)
def test_the_others_are_taken_and_nothing_of_the_bad_one(forger, victim, kind):
    before = list_objects(forger.bare)
    BAD[kind](forger)
    fetched = fetch_from(victim)
    assert statuses(fetched) == ["new"] * GOOD + ["unacceptable"]
    bad = next(row for row in fetched.conversations if row.status == "unacceptable")
    assert (bad.root, bad.conversation) == (forger.root, None)
    assert bad.reason
    assert not new_objects(forger, before) & set(list_objects(victim.path))
    assert forger.root not in list_objects(victim.path)
    assert_sound(victim)


def test_the_exit_code_says_that_something_is_damaged(forger, victim):
    BAD["scopes"](forger)
    assert fetch_from(victim).exit_code == Corrupt.exit_code


def test_a_known_conversation_that_became_bad_stays_as_it_is(forger, victim, ours):
    fetch_from(victim)
    names = {name: root for root, name in list_roots(victim).items()}
    before = refs(victim)
    BAD["git"](forger)
    say(ours, "conv-002/main", "news")
    push_to(ours, "conv-002")
    fetched = fetch_from(victim)
    assert statuses(fetched) == ["unacceptable", "updated"]
    bad = next(row for row in fetched.conversations if row.status == "unacceptable")
    assert names[bad.conversation] == forger.root
    assert {ref for ref, oid in refs(victim).items() if before.get(ref) != oid and bad.conversation in ref} == set()


@pytest.mark.slow
def test_one_undo_takes_back_what_was_taken(forger, victim):
    from scopes.conversation.undo import undo

    before = refs(victim)
    BAD["git"](forger)
    fetch_from(victim)
    undo(victim)
    assert refs(victim) == before


@pytest.mark.slow
def test_several_bad_ones_are_found_by_halves(forger, victim, bare):
    BAD["git"](forger)
    other = next(ref for ref in git(bare, "for-each-ref", "--format=%(refname)").split() if ref != forger.ref)
    git(bare, "update-ref", other, forger.find(f"{forger.ref}^2"))
    assert statuses(fetch_from(victim)) == ["new"] * (GOOD - 1) + ["unacceptable"] * 2


def test_a_bad_one_alone_is_an_error(forger, victim):
    BAD["git"](forger)
    with pytest.raises(Corrupt, match="not allowed"):
        fetch_from(victim, forger.root)


@pytest.mark.slow
def test_a_bad_one_that_was_left_out_is_taken_once_it_is_good(forger, victim):
    BAD["scopes"](forger)
    fetch_from(victim)
    forger.point(forger.manifest_oid)
    again = fetch_from(victim)
    assert (statuses(again), again.unchanged) == (["new"], GOOD)


@pytest.mark.parametrize("name", ["refs/scopes/v1/c/x", "refs/scopes/v1/c/0123456789ab/202601/main"])
def test_a_ref_that_is_no_conversation_is_noted_and_left_out(forger, victim, name):
    hidden = forger.write("blob", b"hidden")
    forger.point(forger.commit(forger.message_tree((LINK, b"x", hidden)), [], b"x\n"), name)
    fetched = fetch_from(victim)
    assert (statuses(fetched), fetched.exit_code) == (["new"] * (GOOD + 1), 0)
    assert "is not a conversation" in fetched.notes[0].text
    assert hidden not in list_objects(victim.path)


@pytest.mark.slow
def test_a_clone_has_the_good_ones(forger, tmp_path, bare):
    BAD["git"](forger)
    cloned = clone_to(tmp_path / "clone", bare)
    assert (statuses(cloned.fetched), cloned.exit_code) == (["new"] * GOOD + ["unacceptable"], 7)
    assert len(list_roots(open_store(tmp_path / "clone"))) == GOOD


@pytest.mark.slow
def test_a_push_goes_on_without_a_conversation_that_became_bad(forger, ours):
    BAD["scopes"](forger)
    for name in ("conv-001", "conv-002"):
        rename_title(ours, name, "Changed")
    rows = {row.conversation: row for row in push_to(ours).conversations}
    assert (rows["conv-001"].status, rows["conv-002"].status) == ("refused", "updated")
    assert "not acceptable" in rows["conv-001"].reason


def test_a_lost_connection_is_no_bad_conversation(forger, victim, monkeypatch):
    monkeypatch.setenv("GIT_SSH", "/bin/false")
    add(victim, "host.invalid:talks.git", "web")
    calls = []
    fetch = GitTransport.fetch
    monkeypatch.setattr(GitTransport, "fetch", lambda *words: calls.append(words) or fetch(*words))
    with pytest.raises(Inaccessible):
        fetch_from(victim, remote="web")
    assert len(calls) == 1


@pytest.mark.slow
def test_the_search_for_bad_ones_ends(forger, victim, monkeypatch):
    monkeypatch.setattr(incoming, "MAX_FETCHES", 2)
    BAD["git"](forger)
    fetched = fetch_from(victim)
    assert statuses(fetched) in (["new"] * 2 + ["unacceptable"] * 3, ["new"] * 3 + ["unacceptable"] * 2)


@pytest.mark.slow
def test_a_remote_that_sends_something_else_each_time_is_given_up(forger, victim, ours, monkeypatch):
    made = []

    def publish(transport, specs):
        made.append(forger.publish(manifest=f"bad {len(made)}".encode(), ref=refs_there[len(made)]))
        return fetch(transport, specs)

    fetch, refs_there = GitTransport.fetch, git(forger.bare, "for-each-ref", "--format=%(refname)").split()
    monkeypatch.setattr(GitTransport, "fetch", publish)
    with pytest.raises(Corrupt, match="something else each time"):
        fetch_from(victim)
    assert not [name for name in files_of(victim.path) if name.startswith(QUARANTINE_PREFIX)]


@pytest.mark.slow
def test_the_others_are_taken_over_http_too(forger, victim, bare):
    BAD["git"](forger)
    with serve_http(bare.rpartition("/")[0]) as server:
        add(victim, f"{server.address}/bare.git", "web")
        assert statuses(fetch_from(victim, remote="web")) == ["new"] * GOOD + ["unacceptable"]
