"""What is done with a remote is done with all its repositories: a dry run, deleting, rename, another address, counts."""

from __future__ import annotations

import os
import shutil

import pytest

from scopes import clock
from scopes.conversation.list import list_conversations
from scopes.conversation.store import set_setting
from scopes.errors import Corrupt, NotFound, Refused
from scopes.purge.offers import list_offers
from scopes.store.config import DEFAULT_REMOTE, find_default, find_first, read_addresses
from scopes.store.operations import walk_operations
from scopes.store.projects import read_project
from scopes.store.refs import REMOTES, REMOTES_FILE
from scopes.sync.addresses import parse_address
from scopes.sync.bundles import import_bundle
from scopes.sync.change_remotes import remove_remote
from scopes.sync.closed import CLOSED
from scopes.sync.connection import quarantine_of
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.deleted_there import read_deleted
from scopes.sync.edit_remotes import rename_remote, set_remote_address, show_remote
from scopes.sync.fetch import fetch
from scopes.sync.fetch_manifests import fetch_manifests
from scopes.sync.incoming import Incoming, _Search
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.push import push
from scopes.sync.remotes import remote_option, resolve_remote
from tests.support.history import history, say, session_in
from tests.support.made_once import made_once
from tests.support.purge_offers import STRANGER, everything_of, offer_list
from tests.support.recalled import recalled
from tests.support.remotes import (
    add,
    connection,
    count_conversations,
    fetch_from,
    limited,
    machine,
    make_bare,
    numbered,
    push_to,
)
from tests.support.store import FAST, git, make_store, open_store, read_bytes, write_bytes

SKIPPED = 200  # more ids than the store has
NAMES = ["origin", "origin-2", "origin-3"]


def make(directory):
    """Make a store whose remote has five conversations, two in each repository; return the path of the first one."""
    repository = open_store(make_store(directory / "store"), FAST)
    for number in range(5):
        history(repository, f"main: m{number}")
    address = make_bare(directory / "bare.git")
    add(repository, address)
    push_to(limited(repository, 2))
    return address


@pytest.fixture
def store(bare, request, tmp_path_factory):
    """A copy of that store and of its repositories."""
    before, after = (os.path.dirname(path) for path in (made_once(request, tmp_path_factory, "family", make), bare))
    shutil.copytree(before, after, dirs_exist_ok=True)
    path = f"{after}/store"
    addresses = read_bytes(f"{path}/{REMOTES_FILE}")
    write_bytes(f"{path}/{REMOTES_FILE}", addresses.replace(before.encode(), after.encode()))
    for _ in range(SKIPPED):
        clock.new_id()
    return limited(open_store(path), 2)


@pytest.fixture
def repositories(store, bare):
    """The paths of the three repositories, of which the last one is open."""
    return [bare, numbered(bare, 2), numbered(bare, 3)]


def counts(repositories):
    return [count_conversations(path) for path in repositories]


def root_of(store, conversation):
    return next(root for root, name in list_roots(store).items() if name == conversation)


def delete_there(store, *names):
    return [row.status for row in delete_on_remote(store, resolve_remote(store, None), names, connection()).names]


def move(store, address, *, probe=True):
    return set_remote_address(store, "origin", parse_address(address), connection(), probe=probe)


def mirror(repositories, directory):
    """Copy repositories into another directory, and return the paths."""
    os.mkdir(directory)
    paths = [str(directory / os.path.basename(path)) for path in repositories]
    for path, copy in zip(repositories, paths, strict=True):
        git(path, "clone", "-q", "--mirror", path, copy)
    return paths


def mark(bare, ref, text="somewhere else"):
    """Write a commit to a ref of a repository."""
    forged = git(bare, "commit-tree", "-m", text, git(bare, "mktree").strip()).strip()
    git(bare, "update-ref", ref, forged)
    return forged


# names


def test_a_later_repository_belongs_to_a_remote_by_its_name_and_its_address():
    known = {"o": "/t.git", "o-2": "/t-2.git", "o-3": "/t-3.git", "p-2": "/t-2.git", "o-5": "/t-5.git"}
    assert [find_first(known, name) for name in known] == ["o", "o", "o", "p-2", "o-5"]
    assert find_first(known, "missing-2") == "missing-2"


def test_the_default_remote_is_never_a_later_repository(store, tmp_path):
    for name in NAMES:
        assert resolve_remote(store, name).name == name
    set_setting(store, str(tmp_path), DEFAULT_REMOTE, "origin-2", level="store")
    assert resolve_remote(open_store(store.path), None).name == "origin"
    assert find_default(store.path, "origin-3") == "origin"


@pytest.mark.parametrize("first", [b"", b',"first":"usb-2"'])
def test_a_remote_with_later_repositories_is_the_only_one(repository, first):
    write_bytes(f"{repository.path}/{REMOTES_FILE}", b'{"v":1,"remotes":{"usb":"/u.git","usb-2":"/u-2.git"}%s}' % first)
    assert find_default(repository.path, None) == "usb"
    add(repository, "/o.git", "other")
    assert find_default(repository.path, None) == (None if not first else "usb")


@pytest.mark.slow
def test_the_name_of_a_later_repository_stands_for_the_remote(store, bare, tmp_path):
    history(store, "main: new")
    pushed = push_to(store, remote="origin-2")
    assert (pushed.remote, pushed.unchanged, len(pushed.conversations)) == ("origin", 5, 1)
    assert list(read_addresses(store.path)) == NAMES
    dave = machine(tmp_path / "dave", bare, "dave")
    fetch_from(dave)
    assert fetch_from(open_store(dave.path), remote="origin-3").unchanged == 6
    assert remote_option(store, "origin-3") == ""


# push


def test_a_dry_run_of_a_full_remote_writes_nothing_and_asks_nobody(repository, bare, tmp_path):
    for number in range(3):
        history(repository, f"main: m{number}")
    add(repository, bare)
    store = limited(repository, 2)
    push_to(store, "conv-001", "conv-002")
    os.rename(bare, f"{bare}.away")
    before = sorted(store.list_refs("refs/").items()), sorted(os.listdir(store.path)), len(list(walk_operations(store)))
    preview = push_to(store, dry_run=True)
    assert [(row.conversation, row.status) for row in preview.conversations] == [("conv-003", "new")]
    assert (preview.unchanged, preview.notes) == (2, ())
    assert before == (
        sorted(store.list_refs("refs/").items()), sorted(os.listdir(store.path)), len(list(walk_operations(store))),
    )  # fmt: skip
    assert list(read_addresses(store.path)) == ["origin"]
    assert not os.path.exists(numbered(bare, 2))


def test_a_dry_run_compares_each_conversation_with_its_repository(store):
    say(store, "conv-001/main", "more")
    say(store, "conv-005/main", "more")
    history(store, "main: new")
    preview = push_to(store, dry_run=True)
    assert [row.status for row in preview.conversations] == ["updated", "updated", "new"]
    assert preview.conversations == push_to(store).conversations


def test_a_push_without_a_choice_is_about_all_repositories(store):
    say(store, "conv-001/main", "more")
    say(store, "conv-004/main", "more")
    history(store, "main: not shared")
    pushed = push(store, resolve_remote(store, None), Selection(), connection())
    assert [(row.conversation, row.status) for row in pushed.conversations] == [
        ("conv-001", "updated"),
        ("conv-004", "updated"),
    ]
    assert pushed.unchanged == 3


@pytest.mark.slow
def test_notes_of_a_push_name_the_repository_and_the_option_the_remote(store, bare, tmp_path):
    dave = machine(tmp_path / "dave", bare, "dave")
    fetch_from(dave)
    other = list_roots(dave)[root_of(store, "conv-003")]
    say(dave, f"{other}/main", "theirs")
    push_to(dave, other)
    say(store, "conv-003/main", "ours")
    add(store, make_bare(tmp_path / "usb.git"), "usb")
    set_setting(store, str(tmp_path), DEFAULT_REMOTE, "usb", level="store")
    (note,) = fetch_from(open_store(store.path), remote="origin").notes
    assert "merge conv-003 origin-2/main --target main" in note.hint
    note = push_to(open_store(store.path), remote="origin").notes[0]
    assert "1 branch of origin-2 has other messages" in note.text
    assert "scopes pull origin;" in note.hint


def test_a_store_is_not_used_as_the_next_repository(repository, bare):
    for number in range(2):
        history(repository, f"main: m{number}")
    add(repository, bare)
    make_store(numbered(bare, 2))
    pushed = push_to(limited(repository, 1))
    assert [row.status for row in pushed.conversations] == ["new", "refused"]
    assert "is a scopes store" in pushed.conversations[1].reason


# push --delete


def test_a_conversation_is_deleted_from_a_closed_repository_and_not_sent_to_the_next_one(store, repositories):
    assert delete_there(store, "conv-001") == ["deleted"]
    assert counts(repositories) == [1, 2, 1]
    pushed = push_to(store)
    assert (pushed.conversations, counts(repositories)) == ((), [1, 2, 1])
    assert "1 conversation was deleted from origin: conv-001" in pushed.notes[0].text


def test_what_was_deleted_is_sent_by_its_name_to_the_open_repository(store, repositories):
    delete_there(store, "conv-001")
    assert [row.status for row in push_to(store, "conv-001").conversations] == ["new"]
    assert counts(repositories) == [1, 2, 2]
    assert read_deleted(store.path, "origin") == set()
    assert push_to(store).unchanged == 5


def test_a_conversation_in_a_repository_that_is_not_known_here_is_deleted_by_its_root(store, repositories, tmp_path):
    dave = machine(tmp_path / "dave", repositories[0], "dave")
    assert delete_there(dave, root_of(store, "conv-005")[:12], root_of(store, "conv-002")[:12]) == ["deleted"] * 2
    assert counts(repositories) == [1, 2, 0]
    assert list(read_addresses(dave.path)) == NAMES


def test_a_conversation_that_several_repositories_have_is_deleted_from_all(store, repositories):
    git(repositories[2], "fetch", "-q", repositories[0], "refs/scopes/v1/c/*:refs/scopes/v1/c/*")
    assert counts(repositories) == [2, 2, 3]
    fetch_from(store)
    assert delete_there(store, "conv-001") == ["deleted"]
    assert counts(repositories) == [1, 2, 2]


def test_a_mistake_about_one_repository_deletes_nothing_from_the_others(store, repositories):
    with pytest.raises(Refused, match="conv-005/main is main"):
        delete_there(store, "conv-001", "conv-005/main")
    assert counts(repositories) == [2, 2, 1]


# remote rename, set-url, show, remove


@pytest.mark.slow
def test_a_rename_renames_all_repositories_and_what_is_known_about_them(store, repositories):
    for path in repositories:
        offer_list(store, path, everything_of(messages=["m-1"]))
    fetch_from(store)
    delete_there(store, "conv-002")
    before = sorted(store.list_refs(REMOTES).values())
    rename_remote(store, "origin", "team")
    assert list(read_addresses(store.path)) == ["team", "team-2", "team-3"]
    assert sorted(store.list_refs(REMOTES).values()) == before
    assert {ref.split("/")[3] for ref in store.list_refs(REMOTES)} == {"team", "team-2", "team-3"}
    assert sorted(offer.remote for offer in list_offers(store)) == ["team", "team-2", "team-3"]
    assert (len(read_deleted(store.path, "team")), read_deleted(store.path, "origin")) == (1, set())
    assert push_to(store).unchanged == 4


@pytest.mark.parametrize(("name", "new"), [("origin", "team"), ("origin-2", "usb")])
def test_a_rename_that_is_refused_for_one_repository_changes_none(store, name, new):
    add(store, "/elsewhere.git", "team-2")
    before = read_addresses(store.path)
    with pytest.raises(Refused):
        rename_remote(store, name, new)
    assert read_addresses(store.path) == before


def test_later_repositories_follow_to_an_address_that_nobody_asks(store, tmp_path):
    delete_there(store, "conv-001")
    move(store, "/srv/moved.git", probe=False)
    assert list(read_addresses(store.path).values()) == ["/srv/moved.git", "/srv/moved-2.git", "/srv/moved-3.git"]
    assert len(store.list_refs(REMOTES)) == 4
    assert len(read_deleted(store.path, "origin")) == 1


@pytest.mark.parametrize("address", ["/srv/moved-7.git", "/srv/.git", "/srv/moved-99.git"])
def test_an_address_that_does_not_lead_to_the_later_repositories_is_refused(store, address):
    before = read_addresses(store.path)
    with pytest.raises(Refused, match="cannot follow origin"):
        move(store, address, probe=False)
    assert read_addresses(store.path) == before


def test_later_repositories_are_asked_at_a_new_address(store, repositories, tmp_path):
    mirror(repositories, tmp_path / "moved")
    moved = move(store, str(tmp_path / "moved" / "bare.git"))
    assert moved.conversations == 5
    assert list(read_addresses(store.path).values())[2] == str(tmp_path / "moved" / "bare-3.git")
    assert push_to(store).unchanged == 5


@pytest.mark.slow
def test_what_is_not_at_a_new_address_is_forgotten_with_its_repositories(store, bare, tmp_path):
    delete_there(store, "conv-001")
    empty = make_bare(tmp_path / "empty.git")
    assert move(store, empty).conversations == 0
    assert (list(read_addresses(store.path)), store.list_refs(REMOTES)) == (["origin"], {})
    assert {row.status for row in push_to(store).conversations} == {"new"}
    assert [count_conversations(path) for path in (empty, numbered(empty, 2), numbered(empty, 3))] == [2, 2, 1]


def test_a_closed_repository_without_the_next_one_is_no_new_address(store, repositories, tmp_path):
    mirror(repositories[:1], tmp_path / "moved")
    before = read_addresses(store.path)
    with pytest.raises(NotFound, match=r"bare-2\.git"):
        move(store, str(tmp_path / "moved" / "bare.git"))
    assert read_addresses(store.path) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_remote_is_shown_with_what_all_its_repositories_have(store, name):
    history(store, "main: not shared")
    shown = show_remote(store, name)
    assert (shown.name, shown.conversations, shown.here, shown.not_shared) == ("origin", 5, 5, 1)


def test_a_removed_later_repository_is_removed_with_those_after_it_and_found_again(store):
    delete_there(store, "conv-001")
    remove_remote(store, "origin-2")
    assert list(read_addresses(store.path)) == ["origin"]
    assert {ref.split("/")[3] for ref in store.list_refs(REMOTES)} == {"origin"}
    assert len(read_deleted(store.path, "origin")) == 1
    assert (fetch_from(store).conversations, list(read_addresses(store.path))) == ((), NAMES)
    assert {ref.split("/")[3] for ref in store.list_refs(REMOTES)} == {*NAMES}
    remove_remote(store, "origin")
    assert (read_addresses(store.path), read_deleted(store.path, "origin")) == ({}, set())


# list, fetch


def test_a_list_counts_with_whichever_repository_has_a_conversation(store):
    say(store, "conv-005/main", "more")
    say(store, "conv-001/main", "more")
    rows = list_conversations(open_store(store.path), None).conversations
    assert {row.id: (row.ahead, row.behind) for row in rows} == {
        "conv-001": (1, 0), "conv-002": (0, 0), "conv-003": (0, 0), "conv-004": (0, 0), "conv-005": (1, 0),
    }  # fmt: skip


@pytest.fixture
@recalled
def shop(store, bare, tmp_path):
    """Another machine; the last repository has the only conversation of the project shop."""
    session_in(store, 6, "/alice/src/shop")
    push_to(store)
    return machine(tmp_path / "dave", bare, "dave")


@pytest.mark.slow
def test_a_project_is_fetched_from_the_repository_that_has_it(shop):
    chosen = Selection(project=read_project("shop", "/"))
    assert [row.status for row in fetch(shop, resolve_remote(shop, None), chosen, connection()).conversations] == [
        "new"
    ]
    assert list(read_addresses(shop.path)) == NAMES


@pytest.mark.slow
def test_a_project_that_no_repository_has_is_an_error_once_all_were_asked(shop, tmp_path):
    remote, chosen = resolve_remote(shop, None), Selection(project=read_project("site", "/"))
    with pytest.raises(NotFound, match="origin has no conversation of the project site") as caught:
        fetch(shop, remote, chosen, connection())
    assert "shop" in caught.value.hint
    with pytest.raises(NotFound, match="origin has no conversation of the project site"):
        fetch_manifests(shop, remote, chosen, connection(), str(tmp_path / "index"))


def test_the_list_of_a_project_is_that_of_the_repository_that_has_it(shop, bare, tmp_path):
    remote, chosen = resolve_remote(shop, None), Selection(project=read_project("shop", "/"))
    assert fetch_manifests(shop, remote, chosen, connection(), str(tmp_path / "index")).new == 1
    os.rename(numbered(bare, 2), f"{bare}.away")
    with pytest.raises(NotFound, match=r"-2\.git"):
        fetch_manifests(shop, remote, chosen, connection(), str(tmp_path / "index"))


# what is not acceptable


def test_a_forged_mark_and_a_bad_list_hide_nothing_that_is_good(repository, bare, tmp_path):
    made = history(repository, "main: a b")
    add(repository, bare)
    push_to(repository)
    offered = offer_list(repository, bare, everything_of(messages=[made.ids["b"]]))
    git(bare, "update-ref", "refs/scopes/v1/purged/bad/name", offered)
    forged = mark(bare, CLOSED)
    dave = machine(tmp_path / "dave", bare, "dave")
    fetched = fetch_from(dave)
    assert ([row.status for row in fetched.conversations], [each.machine for each in list_offers(dave)]) == (
        ["new"],
        [STRANGER],
    )
    assert any("2 refs of the remote are not conversations" in note.text for note in fetched.notes)
    assert (dave.has(forged), list(read_addresses(dave.path))) == (False, ["origin"])


def test_a_repository_with_nothing_but_a_forged_mark_and_a_bad_list_is_fetched_from(repository, bare):
    add(repository, bare)
    mark(bare, CLOSED)
    mark(bare, "refs/scopes/v1/purged/0123456789ab", "no list")
    fetched = fetch_from(repository)
    assert (fetched.conversations, fetched.operation) == ((), None)
    assert any("2 refs of the remote are not conversations" in note.text for note in fetched.notes)


def test_a_closed_repository_of_which_nothing_is_acceptable_leads_to_the_next_one(store, repositories, tmp_path):
    for ref in git(repositories[0], "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c/").split():
        mark(repositories[0], ref)
    dave = machine(tmp_path / "dave", repositories[0], "dave")
    fetched = fetch_from(dave)
    assert sorted(row.status for row in fetched.conversations) == ["new"] * 3 + ["unacceptable"] * 2
    assert fetched.exit_code == Corrupt.exit_code


def test_nothing_is_asked_for_once_all_that_came_was_not_acceptable(repository, bare):
    add(repository, bare)
    search = _Search(repository, resolve_remote(repository, None), connection())
    search._others.clear()
    with quarantine_of(repository) as quarantine:
        assert search.fetch(quarantine, []) == Incoming([], [], {})


def test_a_bundle_of_a_closed_repository_leads_nowhere(store, repositories, tmp_path):
    git(repositories[0], "bundle", "create", "-q", str(tmp_path / "closed.bundle"), "--all")
    dave = open_store(make_store(tmp_path / "dave"))
    assert len(import_bundle(dave, str(tmp_path / "closed.bundle"), Selection(), connection()).conversations) == 2
    with pytest.raises(NotFound, match="does not have abcdef0123"):
        import_bundle(dave, str(tmp_path / "closed.bundle"), Selection(("abcdef0123",)), connection())
    assert read_addresses(dave.path) == {}
