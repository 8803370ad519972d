"""A repository of a remote that is full is closed, and the next one is opened beside it."""

from __future__ import annotations

import os
import stat

import pytest

from scopes.conversation.undo import undo
from scopes.errors import Corrupt, NotFound
from scopes.store.config import find_next, list_family
from scopes.sync import placement
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote, remove_remote, show_remotes
from scopes.sync.closed import CLOSED, check_mark, write_mark
from scopes.sync.family import list_members
from scopes.sync.fetch_manifests import fetch_manifests
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.placement import Placement
from scopes.sync.pull import pull
from scopes.sync.remote_conversations import list_remote
from scopes.sync.remotes import resolve_remote
from tests.support.history import history, say
from tests.support.recalled import recalled
from tests.support.remotes import (
    add,
    clone_to,
    connection,
    count_conversations,
    fetch_from,
    limited,
    machine,
    make_bare,
    numbered,
    push_to,
)
from tests.support.store import assert_sound, git, make_store, open_store

NEXT = {
    "/srv/talks.git": "/srv/talks-2.git",
    "/srv/talks-2.git/": "/srv/talks-3.git",
    "/srv/talks-99.git": "/srv/talks-100.git",
    "/srv/talks-100.git": None,
    "/srv/talks-2024": "/srv/talks-2024-2",
    "/srv/talks/.git": None,
    "git@host:talks": "git@host:talks-2",
    "git@host:.git": None,
    "https://host/team/talks.git": "https://host/team/talks-2.git",
    "ssh://git@host:22/~/talks": "ssh://git@host:22/~/talks-2",
}


@pytest.mark.parametrize("address", NEXT)
def test_the_address_of_the_next_repository_follows_from_that_of_the_one_before(address):
    found = find_next(address)
    assert (None if found is None else found.address) == NEXT[address]
    if found is not None:
        assert parse_address(found.address, "/").transport == parse_address(address, "/").transport


def test_repositories_of_a_remote_have_its_name_with_a_number_and_the_next_address():
    known = {"o": "/t.git", "o-2": "/t-2.git", "o-3": "/elsewhere.git", "o-4": "/t-4.git", "x-2": "/t-2.git"}
    assert list_family(known, "o") == ["o", "o-2"]
    assert list_family(known, "x-2") == ["x-2"]
    assert list_family({**known, "o-3": "/t-3.git"}, "o") == ["o", "o-2", "o-3", "o-4"]


@pytest.fixture
@recalled
def five(repository, bare):
    """A store with five conversations, which knows a remote."""
    for number in range(5):
        history(repository, f"main: m{number}")
    add(repository, bare)
    return repository


@pytest.fixture
def store(five):
    """The same, whose remote takes two conversations in each repository."""
    return limited(five, 2)


@pytest.fixture
@recalled
def spread(five):
    """The same after a push to three repositories."""
    push_to(limited(five, 2))
    return five


@pytest.fixture
def shared(spread):
    """The same, which has to be opened again with its limit."""
    return limited(spread, 2)


def test_a_push_over_the_limit_closes_the_repository_and_opens_the_next(store, bare):
    pushed = push_to(store)
    assert {row.status for row in pushed.conversations} == {"new"}
    assert [count_conversations(path) for path in (bare, numbered(bare, 2), numbered(bare, 3))] == [2, 2, 1]
    assert [row.name for row in show_remotes(store).remotes] == ["origin", "origin-2", "origin-3"]
    assert [CLOSED in git(path, "for-each-ref") for path in (bare, numbered(bare, 2), numbered(bare, 3))] == [1, 1, 0]
    assert "origin is full and closed; new conversations go to origin-2" in pushed.notes[0].text
    assert push_to(store).unchanged == 5


def test_a_conversation_stays_in_its_repository_after_that_is_closed(shared, bare):
    before = [git(numbered(bare, number), "for-each-ref") for number in (2, 3)]
    say(shared, "conv-001/main", "more")
    (row,) = push_to(shared).conversations
    assert (row.conversation, row.status, row.messages) == ("conv-001", "updated", 1)
    assert [git(numbered(bare, number), "for-each-ref") for number in (2, 3)] == before


@pytest.mark.slow
def test_a_fetch_follows_to_repositories_that_it_did_not_know_and_one_undo_takes_it_back(shared, bare, tmp_path):
    dave = machine(tmp_path / "dave", bare, "dave")
    fetched = fetch_from(dave)
    assert len(fetched.conversations) == len(list_roots(dave)) == 5
    undo(dave, None)
    assert list_roots(open_store(dave.path)) == {}


@pytest.mark.slow
def test_a_clone_has_the_conversations_of_all_repositories(shared, bare, tmp_path):
    assert len(clone_to(tmp_path / "copy", bare).fetched.conversations) == 5
    assert_sound(str(tmp_path / "copy"))


@pytest.mark.slow
def test_the_conversation_of_a_name_is_found_in_whatever_repository_it_is(shared, bare, tmp_path):
    dave = machine(tmp_path / "dave", bare, "dave")
    root = {name: root for root, name in list_roots(shared).items()}["conv-005"]
    with pytest.raises(NotFound, match="origin does not have abcdef0123"):
        fetch_from(dave, "abcdef0123")
    (row,) = fetch_from(dave, root[:12]).conversations
    assert (row.root, row.status) == (root, "new")
    say(shared, "conv-005/main", "more")
    push_to(shared)
    assert [each.status for each in fetch_from(open_store(dave.path), "conv-001").conversations] == ["updated"]


@pytest.mark.slow
def test_manifests_and_lists_are_those_of_all_repositories(shared, bare, tmp_path):
    dave, index = machine(tmp_path / "dave", bare, "dave"), str(tmp_path / "index")
    origin = resolve_remote(dave, "origin")
    assert fetch_manifests(dave, origin, Selection(), connection(), index).total == 5
    listed = list_remote(dave, list_members(dave, origin), index)
    assert sorted(row.remote for row in listed.conversations) == ["origin"] * 2 + ["origin-2"] * 2 + ["origin-3"]


@pytest.mark.slow
def test_a_pull_merges_what_differs_in_a_later_repository(shared, bare, tmp_path):
    dave = machine(tmp_path / "dave", bare, "dave")
    fetch_from(dave)
    names = list_roots(dave)
    root = {name: root for root, name in list_roots(shared).items()}["conv-005"]
    say(shared, "conv-005/main", "here")
    say(dave, f"{names[root]}/main", "there")
    push_to(shared)
    (merged,) = pull(dave, resolve_remote(dave, None), Selection(), connection()).branches
    assert (merged.conversation, merged.source, merged.state) == (names[root], "origin-3/main", "merged")


@pytest.mark.slow
def test_a_conversation_that_another_machine_has_pushed_is_not_pushed_to_the_next_repository(store, bare, tmp_path):
    dave = limited(clone_to(tmp_path / "dave", bare) and open_store(tmp_path / "dave"), 2, "dave")
    push_to(store)
    fetch_from(store)
    git(dave, "fetch", "-q", store.path, "refs/heads/*:refs/heads/*", "refs/scopes/meta/*:refs/scopes/meta/*")
    assert push_to(limited(open_store(dave.path), 2, "dave")).exit_code == 0
    assert [count_conversations(path) for path in (bare, numbered(bare, 2), numbered(bare, 3))] == [2, 2, 1]


def test_removing_a_remote_removes_all_its_repositories(shared):
    remove_remote(shared, "origin")
    assert show_remotes(shared).remotes == ()
    assert not shared.list_ref_names("refs/scopes/remotes/")


def test_a_mark_is_the_same_on_every_machine_and_another_one_is_not_acceptable(repository, tmp_path):
    other = make_store(tmp_path / "other")
    assert write_mark(repository, 2) == write_mark(other, 2)
    assert len(check_mark(parse_address("/srv/t.git"), write_mark(repository, 2))) == 3
    for address in ("/srv/t-2.git", "/srv/t-100.git", "/srv/t/.git"):
        with pytest.raises(Corrupt, match="does not name the one after it"):
            check_mark(parse_address(address), write_mark(repository, 2))


def test_a_forged_mark_leads_nowhere_and_what_is_there_is_taken(store, bare, tmp_path):
    push_to(store, "conv-001")
    forged = git(bare, "commit-tree", "-m", "go to another host", git(bare, "mktree").strip()).strip()
    git(bare, "update-ref", CLOSED, forged)
    dave = machine(tmp_path / "dave", bare, "dave")
    fetched = fetch_from(dave)
    assert [row.status for row in fetched.conversations] == ["new"]
    assert CLOSED in fetched.notes[0].text
    assert not dave.has(forged)
    with pytest.raises(Corrupt, match="does not name the one after it"):
        push_to(store)


@pytest.mark.slow
def test_two_machines_that_cross_the_limit_at_once_open_one_repository(store, bare, tmp_path, monkeypatch):
    dave = limited(machine(tmp_path / "dave", bare, "dave"), 2, "dave")
    history(dave, "main: d1", author="dave")
    push_to(store, "conv-001", "conv-002")
    original = placement.close

    def overtaken(*words):
        monkeypatch.setattr(placement, "close", original)
        push_to(dave)
        return original(*words)

    monkeypatch.setattr(placement, "close", overtaken)
    assert {row.status for row in push_to(store, "conv-003").conversations} == {"new"}
    assert [count_conversations(path) for path in (bare, numbered(bare, 2))] == [2, 2]
    assert not os.path.exists(numbered(bare, 3))
    fetch_from(dave)
    assert len(list_roots(open_store(dave.path))) == 4


@pytest.mark.parametrize("step", ["open_next", "close", "add_member"])
def test_a_push_that_dies_while_it_opens_the_next_repository_is_repeated(store, bare, step, monkeypatch):
    original = getattr(placement, step)

    def dies_after(*words):
        original(*words)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(placement, step, dies_after)
        with pytest.raises(KeyboardInterrupt):
            push_to(store)
    push_to(limited(open_store(store.path), 2))
    assert [count_conversations(path) for path in (bare, numbered(bare, 2), numbered(bare, 3))] == [2, 2, 1]


def test_a_fetch_says_which_repository_is_gone(store, bare):
    push_to(store, "conv-001", "conv-002", "conv-003")
    os.rename(numbered(bare, 2), f"{bare}.away")
    with pytest.raises(NotFound, match=r"-2\.git"):
        fetch_from(store)


def test_the_next_directory_has_the_rights_of_the_one_before(store, bare):
    git(bare, "config", "core.sharedRepository", "group")
    os.chmod(bare, 0o2775)
    push_to(store)
    found = os.stat(numbered(bare, 3))
    assert stat.S_IMODE(found.st_mode) == 0o2775
    assert found.st_gid == os.stat(bare).st_gid
    assert git(numbered(bare, 3), "config", "core.sharedRepository").strip() in {"1", "group"}
    assert git(numbered(bare, 3), "config", "receive.denyNonFastForwards").strip() == "false"


@pytest.mark.parametrize("there", ["a branch", "conversations"])
def test_a_repository_of_something_else_is_not_used(store, bare, there, tmp_path):
    other = make_bare(numbered(bare, 2))
    if there == "a branch":
        git(
            other,
            "update-ref",
            "refs/heads/main",
            git(other, "commit-tree", "-m", "x", git(other, "mktree").strip()).strip(),
        )
    else:
        erin = machine(tmp_path / "erin", other, "erin")
        history(erin, "main: e1", author="erin")
        push_to(erin)
    before = git(other, "for-each-ref")
    pushed = push_to(store)
    assert sorted(row.status for row in pushed.conversations) == ["new", "new", "refused", "refused", "refused"]
    assert pushed.exit_code == 1
    assert "rename it" in (pushed.notes[0].hint or "")
    assert git(other, "for-each-ref") == before
    assert CLOSED not in git(bare, "for-each-ref")


def test_a_repository_is_full_by_its_size_too(repository, bare):
    for number in range(2):
        history(repository, f"main: m{number}")
    add(repository, bare)
    store = limited(repository, 0, **{"scopes.remotemegabytes": "1"})
    push_to(store, "conv-001")
    with open(os.path.join(bare, "objects", "large"), "wb") as file:
        file.truncate(1_000_000)
    push_to(store)
    assert [count_conversations(path) for path in (bare, numbered(bare, 2))] == [1, 1]


def test_the_size_of_a_server_is_taken_to_be_its_share_of_the_store(store):
    size = sum(os.stat(os.path.join(each, name)).st_size for each, _, names in os.walk(store.path) for name in names)
    placing = Placement(store, list_members(store, resolve_remote(store, None)), connection())
    whole = placing._measure(parse_address("git@host:talks.git"), 9)
    assert 0 < whole < size
    assert placing._measure(parse_address("git@host:talks.git"), 1) == whole // 5
    assert placing._measure(parse_address("git@host:talks.git"), 0) == 0


def test_a_host_that_takes_only_branches_has_the_mark_as_a_branch(repository, bare, tmp_path):
    for number in range(2):
        history(repository, f"main: m{number}")
    address = parse_address(bare)._replace(as_branches=True)
    add_remote(repository, "origin", address, connection())
    push_to(limited(repository, 1))
    assert "refs/heads/scopes/v1/closed/next" in git(bare, "for-each-ref")
    assert resolve_remote(repository, "origin-2").address.as_branches
    dave = make_store(tmp_path / "dave")
    add_remote(dave, "origin", address, connection())
    assert len(fetch_from(open_store(dave)).conversations) == 2


def test_a_remote_that_has_the_name_of_the_next_repository_is_in_the_way(store, bare, tmp_path):
    add(store, make_bare(tmp_path / "other.git"), "origin-2")
    pushed = push_to(store)
    assert sorted(row.status for row in pushed.conversations) == ["new", "new", "refused", "refused", "refused"]
    assert "another remote is called origin-2" in (pushed.conversations[-1].reason or "")
    assert CLOSED not in git(bare, "for-each-ref")
    remove_remote(store, "origin-2")
    assert push_to(store).exit_code == 0


@pytest.mark.slow
def test_an_undo_of_a_pull_takes_back_what_came_from_all_repositories(shared, bare, tmp_path):
    dave = machine(tmp_path / "dave", bare, "dave")
    pull(dave, resolve_remote(dave, None), Selection(), connection())
    assert len(list_roots(dave)) == 5
    undo(dave, None)
    assert list_roots(open_store(dave.path)) == {}


def test_without_limits_nothing_is_closed(store, bare):
    push_to(limited(store, 0, **{"scopes.remotemegabytes": "0"}))
    assert count_conversations(bare) == 5


@pytest.mark.slow
def test_over_ssh_somebody_has_to_create_the_next_repository(repository, bare, ssh_program):
    for number in range(3):
        history(repository, f"main: m{number}")
    add(repository, ssh_program(bare))
    store = limited(repository, 2)
    pushed = push_to(store)
    assert [row.status for row in pushed.conversations] == ["new", "new", "refused"]
    assert f"create an empty repository {ssh_program(numbered(bare, 2))}" in (pushed.notes[0].hint or "")
    assert CLOSED not in git(bare, "for-each-ref")
    make_bare(numbered(bare, 2))
    assert [row.status for row in push_to(store).conversations] == ["new"]
    assert count_conversations(numbered(bare, 2)) == 1
