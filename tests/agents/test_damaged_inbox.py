"""Damaged entries of an inbox, which may come from another person's store, and a sequence number that went back."""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.agents.delivery import deliver_to_programs, deliver_unread
from scopes.agents.inbox import read_inbox
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.conversation.new_rename_delete import new
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.metadata import write_metadata
from scopes.store.config import Setting
from scopes.store.objects import find_blob, read_commit
from scopes.store.refs import AGENTS
from scopes.store.repository import open_repository
from tests.support.random_ids import hashed_counter
from tests.support.store import git

INBOX = "inbox/000001"
NOTE = "damaged files of the inbox of ann were left out: 000000000001.json"


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """An agent with two unread messages."""
    new(repository)
    register(repository, "ann")
    for text in ("one", "two"):
        sent(repository, text)
    return repository


def sent(repository, text):
    send(StoreHandle(repository).branch("conv-001"), plain_message("carol", text), ("ann",))


def texts(repository, **options):
    return [each.message.text for each in read_inbox(repository, "ann", **options).messages]


def forge(repository, path, data):
    """Write a file of the registry without the checks of scopes."""
    commit = repository.find_ref(AGENTS)
    git(repository, "update-ref", AGENTS, write_metadata(repository, commit, {path: data}, "forged"))


def with_field(repository, name, value):
    """Replace a field of the first entry."""
    tree = read_commit(repository, repository.find_ref(AGENTS)).tree
    document = json.loads(find_blob(repository, tree, f"{INBOX}/000000000001.json"))
    forge(repository, f"{INBOX}/000000000001.json", json.dumps({**document, name: value}).encode())


DAMAGES = [
    ("conversation", "a\0b"), ("conversation", "\ud800"), ("conversation", "../x"), ("conversation", ""),
    ("branch", "\ud800"), ("branch", "a\0b"), ("branch", ""), ("from", "\ud800"), ("from", " "), ("sent", "\ud800"),
    ("sent", "now\x1b"), ("message", "\ud800"), ("message", ""), ("oid", "HEAD"), ("sequence", 2), ("sequence", -1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), DAMAGES)
def test_a_damaged_entry_is_left_out_with_a_note_and_the_next_one_is_delivered(team, tmp_path, name, value):
    with_field(team, name, value)
    assert [note.text for note in read_inbox(team, "ann").notes] == [NOTE]
    setting = Setting("scopes.agent.ann.delivery", f"cat >> {tmp_path}/log", "flag")
    opened = open_repository(team.path, {setting.key: setting})
    done = deliver_unread(opened, "ann")
    assert [json.loads(line)["text"] for line in (tmp_path / "log").read_text().splitlines()] == ["two"]
    assert (len(done.messages), [note.text for note in done.notes]) == (1, [NOTE])
    assert deliver_to_programs(opened, ["ann"]) == ()


def test_a_directory_in_an_inbox_is_left_out(team):
    forge(team, f"{INBOX}/000000000003.json/x", b"{}")
    assert texts(team, acknowledge=True) == ["one", "two"]


@pytest.mark.parametrize("uuid", ["\ud800", "a\0b", 7, None])
def test_an_entry_with_a_damaged_uuid_is_read_as_one_without_a_uuid(team, uuid):
    with_field(team, "uuid", uuid)
    assert [each.entry.conversation for each in read_inbox(team, "ann").messages] == ["conv-001"] * 2


@pytest.mark.parametrize("counter", [b"1\n", b"", b"x", b"999999999999", b"9999999999999"])
def test_a_counter_that_was_changed_overwrites_no_unread_message(team, counter):
    forge(team, "sequence", counter)
    for text in ("three", "four", "five"):
        sent(team, text)
    assert texts(team) == ["one", "two", "three", "four", "five"]
