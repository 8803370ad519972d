"""`secrets scan` lists what a push refuses: planted in every place that a push sends, beside messages too."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from scopes.clock import new_uuid, now
from scopes.conversation.branch import branch
from scopes.conversation.merge import open_merge_request
from scopes.conversation.new_rename_delete import new, rename_title
from scopes.errors import Invalid, Refused
from scopes.history.messages import write_root_commit
from scopes.history.names import MAIN
from scopes.history.transaction import Transaction
from scopes.ids import ConversationId
from scopes.model.conversation import BranchEntry, Root
from scopes.model.message import Author
from scopes.secret_scan import scan as rules
from scopes.secrets import scan_cache
from scopes.secrets.allow import allow
from scopes.secrets.list import list_secrets
from scopes.secrets.scan import scan
from scopes.store.transactions import exclusive_write
from scopes.sync import clearance, cleared_tips
from scopes.sync.outgoing_secrets import find_outside_messages
from tests.support.examples import sample
from tests.support.history import history, say
from tests.support.planted import KINDS, leaked_parts
from tests.support.recalled import recalled
from tests.support.remotes import add, make_bare, push_to
from tests.support.store import files_of
from tests.sync import test_allow_elsewhere, test_push_secrets
from tests.sync.test_push_secrets import commit_with

TOKEN, KEY = KINDS[1][1], KINDS[10][1]
ID = re.compile(r"\(([0-9a-f]{8})\)")
CUT = f"{'the words of a prompt ' * 3}{TOKEN}"[:80]


def put_root(store, directory):
    """Make conv-002, whose root names a directory, as imports do."""
    root = write_root_commit(store, Root(uuid=new_uuid(), created=now(), cwd=directory), {})
    with exclusive_write(store):
        tx = Transaction(store, ConversationId("conv-002"))
        tx.create_branch(MAIN, root)
        tx.set_branch_entry(MAIN, BranchEntry(fork=root, created=now()))
        tx.commit("test", "a root")


def in_merge_request(store, secret=TOKEN):
    branch(store, "conv-001", name="idea", switch=False)
    say(store, "conv-001/idea", "better")
    open_merge_request(store, "conv-001", "idea", title=f"Merge {secret}", requester=Author("carol", "human"))


PLACES = {
    **{name: lambda store, put=put: put(store, "conv-001", TOKEN) for name, put in test_push_secrets.PLACES.items()},
    **test_allow_elsewhere.PLACES,
    "a merge request": in_merge_request,
    "a title that cuts it": lambda store: rename_title(store, "conv-001", CUT),
    "a message and a title that cuts it": lambda store: (
        say(store, "conv-001", f"use {TOKEN}"),
        rename_title(store, "conv-001", CUT),
    ),
}


@pytest.fixture
@recalled
def store(repository, bare):
    """A store that knows a remote, with a conversation."""
    add(repository, bare)
    history(repository, "main: a b")
    return repository


@pytest.fixture
def look(store, tmp_path):
    """Return the ids that a scan lists and that are not allowed; with one index."""

    def scan_here():
        found = scan(store, index_directory=str(tmp_path / "index"), find_outside=find_outside_messages)
        return {row.id for row in found.secrets if not row.allowed}

    return scan_here


def refused(store):
    """Return the beginnings of the ids that a push names."""
    return {name for row in push_to(store).conversations for name in ID.findall(row.reason or "")}


def shortened(ids):
    return {name[:8] for name in ids}


@pytest.mark.parametrize("place", PLACES)
def test_a_scan_lists_the_ids_that_a_push_names_and_no_others(store, look, place):
    PLACES[place](store)
    found = look()
    assert shortened(found) == refused(store) != set()


@pytest.mark.parametrize("place", PLACES)
def test_once_all_that_a_scan_lists_is_allowed_a_push_refuses_nothing(store, look, place):
    PLACES[place](store)
    for name in look():
        allow(store, name, index_directory=f"{store.path}-index", find_outside=find_outside_messages)
    assert [row.reason for row in push_to(store).conversations] == [None]
    assert look() == set()


@pytest.mark.parametrize("place", PLACES)
def test_a_scan_of_a_grown_conversation_finds_the_same_as_a_first_one(store, look, tmp_path, place):
    look()
    PLACES[place](store)
    look()
    say(store, "conv-001/main", "news")
    grown = scan(store, index_directory=str(tmp_path / "index"), find_outside=find_outside_messages)
    first = scan(store, index_directory=str(tmp_path / "other"), find_outside=find_outside_messages)
    assert {*grown.secrets} == {*first.secrets}
    assert len(grown.secrets) == len(first.secrets)
    assert grown.exit_code == 1


def test_the_directory_in_a_root_is_listed_as_it_is_refused(store, look):
    """An import keeps the directory of the session there."""
    put_root(store, f"/home/carol/{TOKEN}/shop")
    assert shortened(look()) == refused(store) != set()
    (row,) = scan(store, index_directory=f"{store.path}-index", find_outside=find_outside_messages).secrets
    assert (row.conversation, row.message, row.field) == ("conv-002", None, "the root")


@pytest.mark.slow
def test_kinds_in_all_places_are_listed_as_they_are_refused(store, look):
    """A branch, a tag and a name cannot have some characters, so a few kinds cannot be there."""
    planted = 0
    for _, secret in sample(KINDS, 4):
        for put in test_push_secrets.PLACES.values():
            with suppress(Invalid):
                put(store, new(store).id, secret)
                planted += 1
    assert planted > 20
    found = scan(store, index_directory=f"{store.path}-index", find_outside=find_outside_messages)
    rows = {row.conversation: row.reason for row in push_to(store).conversations}
    for conversation, reason in rows.items():
        ids = {row.id for row in found.secrets if row.conversation == conversation}
        assert shortened(ids) >= {*ID.findall(reason or "")}
        assert (reason is None) == (ids == set())


def test_a_place_outside_messages_says_where_it_is_and_never_what(store, tmp_path):
    message = commit_with(store, "conv-001", "nothing here", f"use {TOKEN}")
    in_merge_request(store, KEY)
    found = scan(store, index_directory=str(tmp_path), find_outside=find_outside_messages)
    assert {(row.rule, row.message, row.field) for row in found.secrets} == {
        ("github-token", message, "commit"),
        ("stripe-key", None, "a merge request"),
    }
    assert leaked_parts(*KINDS[1], repr(found)) == []


def test_the_list_counts_a_secret_outside_messages_once(store, tmp_path):
    in_merge_request(store, TOKEN)
    say(store, "conv-001/main", f"use {TOKEN}")
    (group,) = list_secrets(store, index_directory=str(tmp_path), find_outside=find_outside_messages).secrets
    assert (group.rule, group.conversations) == ("github-token", 1)


def test_messages_without_a_secret_are_read_once(store, tmp_path, monkeypatch):
    """Beside them the new state of the branch and its metadata are read."""
    read = []
    original = clearance.read_blob
    monkeypatch.setattr(clearance, "read_blob", lambda *words: read.append(original(*words)) or read[-1])
    say(store, "conv-001/main", f"use {TOKEN}")
    scan(store, index_directory=str(tmp_path), find_outside=find_outside_messages)
    messages = [data for data in read if b'"parts":' in data or b'"kind":"root"' in data]
    assert [TOKEN.encode() in data for data in messages] == [True, False]  # the last one is the root


def test_a_scan_writes_nothing_into_the_store(store, tmp_path):
    rename_title(store, "conv-001", "a title")
    before = files_of(store.path)
    scan(store, index_directory=str(tmp_path), find_outside=find_outside_messages)
    assert files_of(store.path) == before


def test_what_cannot_be_planned_is_a_note_and_the_rest_is_scanned(store, tmp_path):
    def find_outside(*_):
        raise Refused("conv-001 has more than 1000 branches", hint="delete some")

    say(store, "conv-001/main", f"use {TOKEN}")
    found = scan(store, index_directory=str(tmp_path), find_outside=find_outside)
    assert [row.rule for row in found.secrets] == ["github-token"]
    assert [note.text for note in found.notes] == [
        "not all of conv-001 can be searched: conv-001 has more than 1000 branches"
    ]


def test_with_new_rules_a_scan_and_a_push_search_all_again(store, bare, tmp_path, monkeypatch):
    """Both ask for the one number of the rules; without it they would keep what older rules have not found."""
    store.caller = store.caller._replace(index_directory=str(tmp_path / "index"))
    add(store, make_bare(tmp_path / "second.git"), "second")
    searched = []
    inspect = clearance.inspect_commits
    monkeypatch.setattr(clearance, "inspect_commits", lambda *words: searched.append(len(words[1])) or inspect(*words))
    for version, again in ((rules.RULES_VERSION, 0), (rules.RULES_VERSION + 1, 3)):
        scan(store, index_directory=store.caller.index_directory)
        push_to(store, remote="origin")
        for module in (scan_cache, cleared_tips):
            assert module.RULES_VERSION == rules.RULES_VERSION or again
            monkeypatch.setattr(module, "RULES_VERSION", version)
        searched.clear()
        assert scan(store, index_directory=store.caller.index_directory).messages == min(again, 2)
        push_to(store, remote="second", dry_run=True)
        assert searched == [again]


def test_a_kept_scan_of_other_places_is_made_again(store, tmp_path, monkeypatch):
    index = str(tmp_path / "index")
    assert [scan(store, index_directory=index).unchanged for _ in range(2)] == [0, 1]
    monkeypatch.setattr(scan_cache, "_VERSION", scan_cache._VERSION + 1)
    assert scan(store, index_directory=index).unchanged == 0
