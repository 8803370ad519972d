"""Bundles: conversations in a file that is carried from one store to another joins as what comes from a remote."""

from __future__ import annotations

import os
import subprocess

import pytest

from scopes.conversation.append import amend
from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.list import list_conversations
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete, rename_title
from scopes.conversation.undo import undo
from scopes.errors import Ambiguous, Corrupt, Inaccessible, Invalid, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle
from scopes.sync.git_process import Limits
from scopes.sync.local_conversations import Selection, list_roots, make_selection
from scopes.sync.remotes import resolve_remote
from tests.support.every_byte import find_word
from tests.support.forged_remotes import FOLDER, Forger
from tests.support.history import history, say, texts
from tests.support.planted import KINDS, leaked_parts
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, add, clone_to, connection, fetch_from, make_bare, push_to
from tests.support.store import assert_sound, files_of, git, git_bytes, make_store, open_store, refs, state_of

NAMES = ("ann", "ben", "cid")


def write(repository, path, *names, **options):
    """Write a bundle, by default of all conversations."""
    return create_bundle(repository, str(path), Selection(names) if names else EVERYTHING, connection(), **options)


def take(repository, path, *names):
    """Import a bundle, by default all of it."""
    return import_bundle(repository, str(path), Selection(names), connection())


def carry(source, target, directory):
    """Take everything of one store to another one."""
    path = directory / "carried.bundle"
    write(source, path, force=True)
    return take(target, path)


@pytest.fixture
@recalled
def store(repository):
    """A store with two conversations, one with a title and a branch."""
    history(repository, "main: a b", "fix@a: c")
    rename_title(repository, "conv-001", "Login")
    history(repository, "main: x y")
    return repository


@pytest.fixture
@recalled
def bundle(store, tmp_path):
    """The path of a bundle with all of them."""
    write(store, tmp_path / "talks.bundle")
    return tmp_path / "talks.bundle"


@pytest.fixture
def other(tmp_path):
    """Another store, which is empty."""
    return open_store(make_store(tmp_path / "other"), actor="dave")


def test_a_bundle_has_everything_that_a_push_would_send(store, bundle, other):
    fetched = take(other, bundle)
    assert [(row.conversation, row.status) for row in fetched.conversations] == [
        ("conv-001", "new"),
        ("conv-002", "new"),
    ]
    for root, name in list_roots(store).items():
        assert list_branch_tips(store, name) == list_branch_tips(other, list_roots(other)[root])
    assert {read_metadata(other, name).title for name in list_roots(other).values()} == {"Login", None}
    assert_sound(other)


def test_the_rows_say_what_is_in_it(store, tmp_path):
    made = write(store, tmp_path / "b")
    assert [(row.status, row.title, row.branches, row.messages) for row in made.conversations] == [
        ("included", "Login", 2, 3), ("included", "x", 1, 2),
    ]  # fmt: skip
    assert made.size_bytes == os.path.getsize(tmp_path / "b")
    assert made.exit_code == 0


def test_git_itself_reads_it(bundle):
    done = subprocess.run(["git", "bundle", "list-heads", bundle], capture_output=True, text=True, check=True)
    assert all(" refs/scopes/v1/c/" in line for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == 2


def test_what_stays_at_home_is_not_in_it(store, bundle, tmp_path):
    bare = make_bare(tmp_path / "bare.git")
    git(bare, "fetch", "-q", str(bundle), "refs/*:refs/*")
    there = set(git(bare, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
    here = {oid for ref, oid in refs(store).items() if ref.startswith(("refs/scopes/operations", "refs/scopes/active"))}
    assert here
    assert not here & there


def test_only_the_chosen_conversations_are_in_it(store, tmp_path, other):
    write(store, tmp_path / "one.bundle", "conv-002")
    assert [row.conversation for row in take(other, tmp_path / "one.bundle").conversations] == ["conv-001"]
    assert texts(other, "conv-001/main") == ["x", "y"]


@pytest.mark.parametrize(
    ("chosen", "text"),
    [({"year": "1999"}, "has no conversation of 1999"), ({"since": "2999-01-01"}, "no such conversation")],
)
def test_conditions_that_nothing_meets_write_nothing(store, tmp_path, chosen, text):
    given = {"everything": False, "project": None, "since": None, "year": None, **chosen}
    with pytest.raises(NotFound, match=text):
        create_bundle(store, str(tmp_path / "b"), make_selection((), **given), connection())
    assert not (tmp_path / "b").exists()


def test_only_the_chosen_conversations_are_imported(store, bundle, other):
    root = next(root for root, name in list_roots(store).items() if name == "conv-002")
    assert [row.root for row in take(other, bundle, root[:10]).conversations] == [root]
    with pytest.raises(NotFound):
        take(other, bundle, "0123456789")


def test_a_second_import_finds_nothing_new(bundle, other):
    take(other, bundle)
    before = state_of(other)
    again = take(other, bundle)
    assert (again.conversations, again.unchanged, again.operation) == ((), 2, None)
    assert state_of(other) == before


def test_one_undo_takes_back_an_import(bundle, other):
    before = refs(other)
    take(other, bundle)
    undo(other)
    assert refs(other) == before


def test_the_other_side_of_a_branch_is_merged_by_its_name(store, bundle, other, tmp_path):
    take(other, bundle)
    say(store, "conv-001/main", "from carol")
    say(other, "conv-001/main", "from dave", author="dave")
    fetched = carry(store, other, tmp_path)
    assert fetched.notes[0].hint == "merge it: scopes merge conv-001 bundle/main --target main"
    assert texts(other, "conv-001/bundle/main")[-1] == "from carol"
    merge(other, "conv-001", "bundle/main", target="main")
    assert carry(other, store, tmp_path).conversations[0].branches[-1].state == "moved"
    assert {"from carol", "from dave"} <= set(texts(store, "conv-001/main"))


def test_several_branches_that_differ_are_merged_one_by_one(store, bundle, other, tmp_path):
    take(other, bundle)
    for name in ("main", "fix"):
        say(store, f"conv-001/{name}", "here")
        say(other, f"conv-001/{name}", "there")
    assert "scopes merge CONV bundle/BRANCH" in carry(store, other, tmp_path).notes[0].hint


def test_a_conversation_that_was_deleted_does_not_come_back(bundle, other, tmp_path, store):
    take(other, bundle)
    delete(other, "conv-001")
    say(store, "conv-001/main", "news")
    assert {row.status for row in carry(store, other, tmp_path).conversations} == {"deleted"}


def state(repository):
    """Return tips and titles of all conversations by their roots."""
    found = list_roots(repository).items()
    return {root: (list_branch_tips(repository, name), read_metadata(repository, name).title) for root, name in found}


@pytest.mark.slow
def test_three_stores_that_only_exchange_bundles_have_the_same(tmp_path):
    stores = {name: open_store(make_store(tmp_path / name), actor=name) for name in NAMES}
    history(stores["ann"], "main: a b")
    for name in ("ben", "cid"):
        carry(stores["ann"], stores[name], tmp_path)
    say(stores["ann"], "conv-001/main", "from ann", author="ann")
    branch(stores["ben"], "conv-001", name="idea")
    say(stores["ben"], "conv-001/idea", "from ben", author="ben")
    rename_title(stores["cid"], "conv-001", "From cid")
    tag(stores["cid"], "conv-001", "v1", "main")
    history(stores["cid"], "main: of cid alone")
    for source, target in ("ab", "bc", "cb", "ca", "ba", "ac"):
        carry(
            *(next(store for name, store in stores.items() if name[0] == each) for each in (source, target)), tmp_path
        )
    first, second, third = map(state, stores.values())
    assert first == second == third
    assert len(first) == 2
    for store in stores.values():
        assert_sound(store)


def test_a_bundle_and_a_remote_join(store, bundle, other, tmp_path):
    bare = make_bare(tmp_path / "bare.git")
    for each in (store, other):
        add(each, bare)
    push_to(store)
    take(other, bundle)
    assert fetch_from(other).conversations == ()
    say(other, "conv-001/main", "news")
    assert push_to(other).exit_code == 0
    fetch_from(store)
    assert texts(store, "conv-001/main")[-1] == "news"


def test_a_bundle_can_be_a_remote_that_is_only_read(store, bundle, other, tmp_path):
    add(other, str(bundle), "usb")
    assert len(fetch_from(other).conversations) == 2
    say(store, "conv-001/main", "news")
    write(store, bundle, force=True)
    assert [row.status for row in fetch_from(other).conversations] == ["updated"]
    say(other, "conv-001/main", "more")
    with pytest.raises(Inaccessible, match="is a bundle, which is only read"):
        push_to(other)
    clone_to(tmp_path / "clone", str(bundle))
    assert len(list_roots(open_store(tmp_path / "clone"))) == 2


def test_adding_a_bundle_as_a_remote_notes_that_it_takes_nothing(bundle, other):
    from scopes.sync.addresses import parse_address
    from scopes.sync.change_remotes import add_remote

    added = add_remote(other, "usb", parse_address(str(bundle)), connection())
    assert added.conversations == 2
    assert "only read" in added.notes[0].text


def test_no_remote_has_the_name_of_bundles(other, bundle):
    with pytest.raises(Refused, match="reserved for imported bundles"):
        add(other, str(bundle), "bundle")


@pytest.mark.parametrize("place", ["message", "title"])
def test_what_may_have_a_secret_is_left_out(store, tmp_path, other, place):
    kind, secret = KINDS[1]
    if place == "message":
        say(store, "conv-001/main", f"use {secret}")
    else:
        rename_title(store, "conv-001", secret)
    made = write(store, tmp_path / "b")
    assert [row.status for row in made.conversations] == ["refused", "included"]
    assert made.exit_code == 1
    assert leaked_parts(kind, secret, repr(made)) == []
    assert [row.status for row in take(other, tmp_path / "b").conversations] == ["new"]
    objects = git_bytes(other.path, "cat-file", "--batch-all-objects", "--batch")
    assert leaked_parts(kind, secret, objects.decode("utf-8", "replace")) == []


def test_secrets_pass_if_they_are_allowed(store, tmp_path):
    say(store, "conv-001/main", f"use {KINDS[1][1]}")
    assert write(store, tmp_path / "b", allow_secrets=True).exit_code == 0


def test_the_removal_of_a_tag_that_an_earlier_bundle_had_comes_with_the_next_one(store, other, tmp_path):
    """No remote has had the tag, so without the permission its name would stay here, and the tag elsewhere."""
    for number in (1, 2):
        if number == 1:
            tag(store, "conv-001", KINDS[1][1])
        else:
            delete_tag(store, "conv-001", KINDS[1][1])
        write(store, tmp_path / f"{number}.bundle", allow_secrets=True)
        take(other, tmp_path / f"{number}.bundle")
        assert (KINDS[1][1] in read_metadata(other, "conv-001").tags) == (number == 1)
    write(store, tmp_path / "3.bundle")
    take(alone := open_store(make_store(tmp_path / "alone.git")), tmp_path / "3.bundle")
    assert find_word(KINDS[1][1], alone.path) == []


def test_no_file_is_written_if_everything_is_refused(store, tmp_path):
    say(store, "conv-001/main", f"use {KINDS[1][1]}")
    made = write(store, tmp_path / "b", "conv-001")
    assert (made.size_bytes, made.exit_code) == (None, 1)
    assert not (tmp_path / "b").exists()


def test_an_existing_file_is_replaced_only_if_that_is_forced(store, tmp_path):
    (tmp_path / "b").write_text("mine")
    with pytest.raises(Refused, match="already exists"):
        write(store, tmp_path / "b")
    assert (tmp_path / "b").read_text() == "mine"
    assert write(store, tmp_path / "b", force=True).size_bytes


def test_a_bundle_that_cannot_be_finished_leaves_no_file(store, tmp_path):
    with pytest.raises(Inaccessible, match="cannot be made"):
        create_bundle(store, str(tmp_path / "b"), EVERYTHING, connection(limits=Limits(file_bytes=512)))
    assert not [name for name in os.listdir(tmp_path) if name.startswith(("b", ".scopes"))]
    assert not [name for name in files_of(store.path) if name.startswith("scopes-incoming")]


def test_a_directory_or_a_device_is_no_place_for_a_bundle(store, tmp_path):
    with pytest.raises(Invalid, match="not a regular file"):
        write(store, tmp_path)
    with pytest.raises(NotFound, match="directory"):
        write(store, tmp_path / "missing" / "b")


@pytest.mark.parametrize("content", [b"", b"# v2 git bundl", b"hello", b"PK\3\4"])
def test_what_is_no_bundle_is_refused(other, tmp_path, content):
    (tmp_path / "b").write_bytes(content)
    for act in (take, lambda store, path: verify_bundle(store, str(path), connection())):
        with pytest.raises(Corrupt, match="is not a bundle"):
            act(other, tmp_path / "b")


def test_a_missing_file_is_named(other, tmp_path):
    with pytest.raises(NotFound, match="there is no file"):
        take(other, tmp_path / "b")


def test_a_bundle_that_is_cut_or_damaged_is_refused(bundle, other, tmp_path):
    data = bundle.read_bytes()
    before = state_of(other)
    for number, wrong in enumerate((data[:-100], data[:-40] + bytes(20) + data[-20:])):
        (tmp_path / f"b{number}").write_bytes(wrong)
        with pytest.raises(Corrupt, match="cannot be read"):
            take(other, tmp_path / f"b{number}")
    assert state_of(other) == before


CUTS = {"first ref": 40, "refs": 150, "no pack": -1, "last byte": None}


@pytest.mark.parametrize("where", CUTS)
def test_a_bundle_that_is_cut_is_refused_by_whoever_has_all_of_it_too(store, bundle, other, tmp_path, where):
    data, path = bundle.read_bytes(), tmp_path / "cut.bundle"
    end = {"no pack": data.index(b"PACK"), "last byte": len(data) - 1}.get(where, CUTS[where])
    path.write_bytes(data[:end])
    add(store, str(path), "usb")
    before = state_of(store)
    for read in (
        lambda: take(store, path),
        lambda: fetch_from(store, remote="usb"),
        lambda: verify_bundle(other, str(path), connection()),
        lambda: clone_to(tmp_path / "clone.git", str(path)),
    ):
        with pytest.raises(Corrupt, match="it is cut or damaged"):
            read()
    assert state_of(store) == before
    assert not (tmp_path / "clone.git").exists()


def forge(store, tmp_path, spoil):
    """Write a bundle with two conversations, of which one is spoiled."""
    bare = make_bare(tmp_path / "bare.git")
    add(store, bare)
    push_to(store, "conv-001")
    forger = Forger(bare)
    spoil(forger)
    push_to(store, "conv-002")
    subprocess.run(["git", f"--git-dir={bare}", "push", "-q", str(tmp_path / "bad.bundle"), "--all"], check=True)
    return tmp_path / "bad.bundle", forger.root


SPOILED = {
    "git": lambda f: f.publish(f.child(f.message_tree((FOLDER, b".git", f.meta)))),
    "scopes": lambda f: f.publish(meta=f.meta_tree(b"evil")),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
@pytest.mark.slow
def test_a_bad_conversation_is_named_and_the_others_are_taken(store, other, tmp_path, spoil):
    path, root = forge(store, tmp_path, spoil)
    seen = verify_bundle(other, str(path), connection())
    assert {row.root: row.status for row in seen.conversations}[root] == "unacceptable"
    assert (seen.exit_code, list_roots(other)) == (7, {})
    fetched = take(other, path)
    assert (fetched.exit_code, sorted(row.status for row in fetched.conversations)) == (7, ["new", "unacceptable"])
    assert git(other.path, "cat-file", "--batch-all-objects", "--batch-check").count(root) == 0


def test_verify_lists_what_is_in_a_bundle_and_takes_nothing(store, bundle, other):
    before = state_of(other)
    seen = verify_bundle(other, str(bundle), connection())
    assert sorted((row.status, row.title or "", row.branches, row.messages) for row in seen.conversations) == [
        ("new", "", 1, 2), ("new", "Login", 2, 3),
    ]  # fmt: skip
    assert state_of(other) == before
    assert {row.status for row in verify_bundle(store, str(bundle), connection()).conversations} == {"known"}


def test_bundles_count_messages_as_a_list_does(store, bundle, tmp_path):
    listed = {row.id: row.messages for row in list_conversations(store).conversations}
    assert {row.conversation: row.messages for row in write(store, tmp_path / "b").conversations} == listed
    seen = verify_bundle(store, str(bundle), connection())
    assert {row.conversation: row.messages for row in seen.conversations} == listed
    assert {row.title for row in seen.conversations} == {"Login", "x"}


def test_verify_reads_all_of_the_file_where_the_store_has_everything(store, bundle, tmp_path):
    data = bundle.read_bytes()
    for number, wrong in enumerate((data[:-100], data[: len(data) // 2], data[:-40] + bytes(20) + data[-20:])):
        path = tmp_path / f"cut{number}"
        path.write_bytes(wrong)
        with pytest.raises(Corrupt, match="cannot be read"):
            verify_bundle(store, str(path), connection())
    assert verify_bundle(store, str(bundle), connection()).exit_code == 0


def test_verify_refuses_a_bundle_that_only_its_writer_could_read(store, tmp_path):
    bare, path = make_bare(tmp_path / "bare.git"), tmp_path / "part.bundle"
    add(store, bare)
    push_to(store, "conv-001")
    first = git(bare, "rev-list", "--max-parents=0", "--all").split()[0]
    subprocess.run(["git", f"--git-dir={bare}", "bundle", "create", "-q", str(path), "--all", f"^{first}"], check=True)
    with pytest.raises(Corrupt, match="cannot be read"):
        verify_bundle(store, str(path), connection())


def test_a_bundle_of_code_has_no_conversation(other, tmp_path):
    path = make_bare(tmp_path / "code.git")
    tree = git(path, "hash-object", "-w", "-t", "tree", "--stdin", stdin=b"").strip()
    config = ("-c", "user.name=x", "-c", "user.email=x@y")
    commit = subprocess.run(
        ["git", f"--git-dir={path}", *config, "commit-tree", tree, "-m", "x"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    git(path, "update-ref", "refs/heads/main", commit)
    git(path, "bundle", "create", "-q", str(tmp_path / "code.bundle"), "--all")
    assert verify_bundle(other, str(tmp_path / "code.bundle"), connection()).conversations == ()
    assert take(other, tmp_path / "code.bundle").conversations == ()


def test_amendments_are_carried_too(store, other, tmp_path):
    from scopes.history.messages import header_of
    from scopes.store.objects import read_commit

    tip = read_commit(store, list_branch_tips(store, "conv-001")["main"])
    amend(store, "conv-001", header_of(tip).id, "better", author=Author("carol", "human"))
    carry(store, other, tmp_path)
    assert state(other) == state(store)


def test_a_bundle_needs_no_remote(other, bundle):
    with pytest.raises((NotFound, Ambiguous)):
        resolve_remote(other, None)
    take(other, bundle)
