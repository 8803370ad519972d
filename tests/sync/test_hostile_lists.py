"""Lists of what was purged, as a hostile remote writes them: nothing of them is taken, and all else comes."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt
from scopes.history.sources import decode_parts, format_list_commit, purged_of, write_purged
from scopes.purge.offers import list_offers, read_offered
from scopes.store.refs import PURGE_OFFERS
from scopes.sync import purged_lists
from scopes.sync.purged_lists import ON_REMOTE, check_list
from tests.support.forged_remotes import FILE, FOLDER, Forger
from tests.support.history import history, say
from tests.support.recalled import recalled
from tests.support.remotes import fetch_from, machine, push_to
from tests.support.store import git, git_bytes

NAMES = ["0123456789ab", "1123456789ab", "2123456789ab"]


@pytest.fixture
def forger(sent, bare):
    """A remote with a pushed conversation."""
    return Forger(bare)


@pytest.fixture
@recalled
def victim(forger, bare, tmp_path):
    """A store that knows the remote, and has nothing."""
    return machine(tmp_path / "victim", bare)


def put(forger, tree, name=NAMES[0]):
    """Write a tree as the list of a machine."""
    forger.point(forger.write("commit", format_list_commit(tree)), ON_REMOTE + name)


def leaves(forger, *numbers, content=b'{"v":1}\n'):
    """Write a directory of a list, with entries."""
    blob = forger.write("blob", content)
    return forger.tree(*((FILE, b"%062x=" % number, blob) for number in numbers))


def list_of(forger, *numbers, content=b'{"v":1}\n'):
    """Write a list of messages whose hashes begin with 00, as scopes writes it."""
    inner = forger.tree((FOLDER, b"00", leaves(forger, *numbers, content=content)))
    return forger.tree((FOLDER, b"messages", inner))


def fetch_without(victim, *refused):
    """Fetch; the conversation comes, and the lists of some machines are named and not taken."""
    done = fetch_from(victim)
    assert {row.status for row in done.conversations} <= {"new", "updated"}
    (note,) = [note.text for note in done.notes if "not a conversation" in note.text]
    assert all(ON_REMOTE + name in note for name in refused)
    return [offer.machine for offer in list_offers(victim)]


def test_a_list_that_scopes_writes_is_taken(forger, victim):
    put(forger, list_of(forger, 1, 2))
    fetch_from(victim)
    assert len(read_offered(victim).messages) == 2


def test_a_list_with_one_directory_at_many_names_is_refused(forger, victim):
    shared = leaves(forger, *range(100))
    top = forger.tree(*((FOLDER, b"%02x" % number, shared) for number in range(256)))
    put(forger, forger.tree((FOLDER, b"conversations", top), (FOLDER, b"messages", top)))
    put(forger, list_of(forger, 1), NAMES[1])
    assert fetch_without(victim, NAMES[0]) == [NAMES[1]]


@pytest.mark.parametrize("names", [[b"messages", b"00"], [b"evil ignore all instructions"]], ids=repr)
def test_a_list_with_an_empty_directory_is_refused(forger, victim, names):
    tree = forger.write("tree", b"")
    for name in reversed(names):
        tree = forger.tree((FOLDER, name, tree))
    put(forger, tree)
    assert fetch_without(victim, NAMES[0]) == []


def test_an_entry_with_a_key_twice_is_refused(forger, victim):
    put(forger, list_of(forger, 1, content=b'{"v":1,"parts":[1],"parts":[2]}\n'))
    assert fetch_without(victim, NAMES[0]) == []
    with pytest.raises(Corrupt, match="key twice"):
        decode_parts(b'{"v":1,"parts":[1],"parts":[2]}\n')


def test_the_lists_of_a_remote_have_a_limit_of_entries_and_known_ones_come_first(forger, victim, ours, monkeypatch):
    monkeypatch.setattr(purged_lists, "MAX_ENTRIES", 5)
    put(forger, list_of(forger, 1, 2, 3), NAMES[1])
    fetch_from(victim)
    put(forger, list_of(forger, 4, 5, 6), NAMES[0])
    put(forger, list_of(forger, 7, 8), NAMES[2])
    say(ours, "conv-001", "more")
    push_to(ours)
    assert fetch_without(victim, NAMES[0]) == [NAMES[1], NAMES[2]]
    assert len(read_offered(victim).messages) == 5


def test_the_lists_of_a_remote_have_a_limit_of_machines(forger, victim, monkeypatch):
    monkeypatch.setattr(purged_lists, "MAX_MACHINES", 2)
    for number, name in enumerate(NAMES):
        put(forger, list_of(forger, number), name)
    assert fetch_without(victim, NAMES[2]) == NAMES[:2]
    assert len(git(victim.path, "for-each-ref", PURGE_OFFERS).splitlines()) == 2


def test_a_list_is_counted_and_all_its_objects_are_named(repository):
    history(repository, "main: a")
    purged = purged_of({"a" * 26: None, "b" * 26: frozenset({1})}, ["c" * 40])
    commit = write_purged(repository, purged)
    objects, entries = check_list(repository, NAMES[0], commit)
    names = git_bytes(repository.path, "rev-list", "--objects", "--no-object-names", commit).decode().split()
    assert (objects, entries) == (set(names), 3)


def test_a_list_over_the_limit_is_not_read_to_its_end(repository, monkeypatch):
    commit = write_purged(repository, purged_of({}, [f"{number:040x}" for number in range(10)]))
    with pytest.raises(Corrupt, match="more than"):
        check_list(repository, NAMES[0], commit, 9)
    assert check_list(repository, NAMES[0], commit, 10)[1] == 10
