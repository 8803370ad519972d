"""`secrets list` names where a secret is and what takes it out; after that a push leaves without it, in every byte."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest

from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.new_rename_delete import delete_branch, rename_branch, rename_title
from scopes.history.metadata import read_metadata
from scopes.history.transaction import Transaction
from scopes.model.conversation import BranchEntry
from scopes.purge.redact import redact
from scopes.secrets.list import explain, list_secrets
from scopes.store.transactions import exclusive_write
from scopes.sync.outgoing_secrets import find_outside_messages
from tests.support.history import history, say
from tests.support.planted import KINDS, leaked_parts
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, fetch_from, make_bare, push_to
from tests.support.store import git, open_store
from tests.sync.test_push_secrets import commit_with, everything_of
from tests.sync.test_scan_and_push import in_merge_request

TOKEN, KEY = KINDS[1][1], KINDS[10][1]


@pytest.fixture
@recalled
def store(repository, bare):
    """A store that knows a remote, with a conversation."""
    add(repository, bare)
    history(repository, "main: a b")
    return repository


def listed(store):
    """Return the secrets as `secrets list` has them."""
    return list_secrets(store, index_directory=f"{store.path}-index", find_outside=find_outside_messages).secrets


def cloned(tmp_path, bare):
    """Return another store with what the remote has."""
    clone_to(tmp_path / "other", bare)
    return open_store(tmp_path / "other")


def in_first_name(store):
    """Make a branch as an import does: its id on every machine is its name, which a rename keeps."""
    with exclusive_write(store):
        tx, tip = Transaction(store, "conv-001"), store.find_ref("refs/heads/conv-001/main")
        tx.create_branch(f"fix/{TOKEN}", tip)
        tx.set_branch_entry(f"fix/{TOKEN}", BranchEntry(id=f"name:fix/{TOKEN}"))
        tx.commit("test", "a branch")


PLANT = {
    "a tag": lambda store: tag(store, "conv-001", TOKEN, "main"),
    "a branch": lambda store: branch(store, "conv-001", name=f"fix/{TOKEN}", switch=False),
    "a branch and those that began on it": lambda store: (
        branch(store, "conv-001", name=f"fix/{TOKEN}"),
        branch(store, "conv-001", name="more", start=f"fix/{TOKEN}", switch=False),
    ),
    "a title": lambda store: rename_title(store, "conv-001", f"use {TOKEN}"),
    "an author": lambda store: say(store, "conv-001/main", "hello", author=TOKEN),
    "a recipient": lambda store: say(store, "conv-001/main", "hello", to=["carol", TOKEN]),
    "a message": lambda store: say(store, "conv-001/main", f"use {TOKEN}"),
    "the author of a commit alone": lambda store: commit_with(store, "conv-001", "x", "x", author=TOKEN),
    "a merge request": in_merge_request,
    "the first name of a branch": in_first_name,
    "a tag and a message": lambda store: (tag(store, "conv-001", TOKEN), say(store, "conv-001/main", TOKEN)),
}
EXPECTED = {
    "a tag": ("tag", ["scopes tag -d conv-001 TAG"]),
    "a branch": ("branch", ["scopes branch -m conv-001 OLD NEW"]),
    "a branch and those that began on it": ("branch", ["scopes branch -m conv-001 OLD NEW"]),
    "a title": ("title", ["scopes rename conv-001 --title TEXT"]),
    "a merge request": ("a merge request", ["scopes redact conv-001"]),
    "a tag and a message": ("tag", ["scopes redact conv-001"]),
    "the first name of a branch": ("branch", ["scopes redact conv-001"]),
}


def follow(store, command):
    """Do what a printed command does, with the name that a user finds by `tag` or `branch`; return what to push."""
    name = f"fix/{TOKEN}"
    run = {
        "scopes tag -d conv-001 TAG": lambda: delete_tag(store, "conv-001", TOKEN),
        "scopes branch -m conv-001 OLD NEW": lambda: rename_branch(store, "conv-001", name, "fix/login"),
        "scopes rename conv-001 --title TEXT": lambda: rename_title(store, "conv-001", "Login"),
        "scopes redact conv-001": lambda: redact(store, "conv-001"),
    }
    done = run[command]()
    return "conv-001" if done.conversation is None else done.conversation


def inflated_bytes(bare):
    """Return every file of a repository, and what every stream of zlib in it becomes."""
    for path in sorted(Path(bare).rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        yield str(path).encode() + b"\n" + data
        for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
            try:
                yield zlib.decompressobj().decompress(data[match.start() :])
            except zlib.error:
                continue


def assert_without_secret(bare):
    everything = [*inflated_bytes(bare)]
    assert any(b"parent" in each for each in everything)  # the commits are among it
    for each in everything:
        assert TOKEN.lower().encode() not in each.lower()


@pytest.mark.every_case("each place has a cure of its own")
@pytest.mark.parametrize("place", PLANT)
def test_after_the_printed_cure_a_push_leaves_without_the_secret(store, bare, place):
    PLANT[place](store)
    assert push_to(store, "conv-001").conversations[0].status == "refused"
    (found,) = listed(store)
    assert leaked_parts(*KINDS[1], repr(found)) == []
    assert (found.place, list(found.cure)) == EXPECTED.get(place, ("message", ["scopes redact conv-001"]))
    (command,) = found.cure
    (pushed,) = push_to(store, follow(store, command)).conversations
    assert (pushed.status, pushed.reason) == ("new", None)
    assert_without_secret(bare)


@pytest.mark.parametrize("place", [name for name in PLANT if EXPECTED.get(name, ("message", []))[0] != "message"])
def test_redact_helps_wherever_a_secret_is(store, bare, place):
    PLANT[place](store)
    copy = redact(store, "conv-001").conversation
    assert push_to(store, copy).conversations[0].status == "new"
    assert_without_secret(bare)
    assert {each.conversation for each in listed(store)} == {"conv-001"}


def test_explain_names_the_cures_of_all_conversations(store):
    tag(store, "conv-001", TOKEN)
    say(store, f"{history(store, 'main: a').conversation}/main", f"use {TOKEN}")
    (found,) = listed(store)
    explained = explain(store, found.id, index_directory=f"{store.path}-index")
    assert explained.cures == ("scopes tag -d conv-001 TAG", "scopes redact conv-002")


def test_a_removed_name_that_no_remote_has_is_not_listed_and_does_not_leave(store, bare):
    tag(store, "conv-001", TOKEN)
    branch(store, "conv-001", name=f"fix/{KEY}", switch=False)
    delete_tag(store, "conv-001", TOKEN)
    delete_branch(store, "conv-001", f"fix/{KEY}")
    assert listed(store) == ()
    assert push_to(store, "conv-001").conversations[0].status == "new"
    assert_without_secret(bare)
    assert KEY not in everything_of(bare)


def test_other_removed_names_leave_so_that_other_machines_remove_them(store, bare, tmp_path):
    tag(store, "conv-001", "v1")
    push_to(store, "conv-001")
    other = cloned(tmp_path, bare)
    delete_tag(store, "conv-001", "v1")
    push_to(store, "conv-001")
    fetch_from(other)
    assert read_metadata(other, "conv-001").tags == {}


def test_a_removed_name_that_any_remote_has_is_listed_and_refused(store, bare, tmp_path):
    """Other machines would keep the tag if its removal did not leave, so a person decides."""
    second = make_bare(tmp_path / "second.git")
    add(store, second, name="second")
    tag(store, "conv-001", TOKEN)
    push_to(store, "conv-001", allow_secrets=True)
    delete_tag(store, "conv-001", TOKEN)
    (found,) = listed(store)
    assert (found.place, found.cure) == ("a removed tag, which a remote has", ("scopes redact conv-001",))
    for remote in ("origin", "second"):
        (row,) = push_to(store, "conv-001", remote=remote).conversations
        assert "a removed tag, which a remote has" in row.reason
        assert TOKEN not in row.reason
    assert everything_of(second) == ""
    copy = redact(store, "conv-001").conversation
    assert push_to(store, copy, remote="second").conversations[0].status == "new"
    assert_without_secret(second)


def test_a_name_that_is_removed_again_after_it_came_back_is_removed_everywhere(store, bare, tmp_path):
    """What was left out is lawful to join: the newest change of a register counts on every machine."""
    tag(store, "conv-001", TOKEN)
    delete_tag(store, "conv-001", TOKEN)
    push_to(store, "conv-001")
    other = cloned(tmp_path, bare)
    tag(other, "conv-001", TOKEN)
    push_to(other, "conv-001", allow_secrets=True)
    fetch_from(store)
    assert TOKEN in read_metadata(store, "conv-001").tags
    delete_tag(store, "conv-001", TOKEN)
    push_to(store, "conv-001", allow_secrets=True)
    fetch_from(other)
    assert read_metadata(other, "conv-001").tags == {}


def test_a_secret_in_a_message_does_not_hide_that_it_is_elsewhere(store):
    say(store, "conv-001/main", f"use {TOKEN}")
    in_merge_request(store)
    tag(store, "conv-001", TOKEN)
    (found,) = listed(store)
    explained = explain(store, found.id, index_directory=f"{store.path}-index")
    assert {row.field for row in explained.places} == {"tags[0]", "parts[0].text", "a merge request"}


def test_no_field_of_a_place_has_the_name_with_a_secret(store):
    branch(store, "conv-001", name=f"fix/{TOKEN}", agent="carol")
    say(store, f"conv-001/fix/{TOKEN}", f"use {KEY}")
    assert leaked_parts(*KINDS[1], repr(listed(store))) == []


def test_the_names_of_a_copy_are_valid_and_different(store):
    for number, secret in enumerate((TOKEN, KINDS[1][1][:-6] + "A1b2C3")):
        branch(store, "conv-001", name=f"fix/{secret}", switch=False)
        tag(store, "conv-001", f"v{number}-{secret}")
    tag(store, "conv-001", "v0-redacted-github-token")
    metadata = read_metadata(store, redact(store, "conv-001").conversation)
    assert {each for each in metadata.branches if each != "main"} == {
        "fix/redacted-github-token", "fix/redacted-github-token-2",
    }  # fmt: skip
    assert "v0-redacted-github-token-2" in metadata.tags
    assert len(metadata.tags) == 3


def test_a_copy_keeps_the_times_of_its_commits(store):
    say(store, "conv-001/main", "hello", author=TOKEN)
    copy = redact(store, "conv-001").conversation
    times = [git(store, "log", "--format=%at %ct", f"{name}/main") for name in ("conv-001", copy)]
    assert times[0] == times[1]
    assert "[redacted:github-token:" in git(store, "log", "-1", "--format=%an %cn", f"{copy}/main")
