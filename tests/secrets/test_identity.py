"""The key of the ids: a file that may be missing, damaged, hostile or not writable, and never ends a command."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from scopes import clock
from scopes.secrets.allow import allow, disallow
from scopes.secrets.allowed import read_allowed
from scopes.secrets.damage import walk_allowed_defects
from scopes.secrets.gates import gate_of, policy_key, redacting
from scopes.secrets.identity import KEY_FILE, fingerprint, identify_with
from scopes.secrets.scan import scan
from scopes.store.refs import SECRETS
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.random_ids import hashed_counter
from tests.support.shared_files import write_file
from tests.support.store import make_store

TOKEN = KINDS[1][1]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    return make_store(tmp_path / "store")


@pytest.fixture
def key(repository):
    return Path(repository.path) / KEY_FILE


@pytest.fixture
def secret(repository, tmp_path):
    """The id of a secret that was found."""
    history(repository, "main: a")
    say(repository, "conv-001/main", TOKEN)
    return scan(repository, index_directory=str(tmp_path / "index")).secrets[0].id


def test_the_key_is_made_when_the_first_secret_gets_an_id(repository, key):
    identify = identify_with(repository)
    assert (fingerprint(repository), key.exists()) == ("", False)
    assert re.fullmatch("[0-9a-f]{32}", identify("jwt", "x"))
    assert key.stat().st_mode & 0o777 == 0o600
    assert list(key.parent.glob(f"{KEY_FILE}.*")) == []


def test_of_two_commands_that_make_the_key_both_use_the_first_one(repository, key, monkeypatch):
    other = os.urandom(32)
    link = os.link

    def be_second(source, target):
        key.write_bytes(other)
        link(source, target)

    monkeypatch.setattr(os, "link", be_second)
    first = identify_with(repository)("jwt", "x")
    assert key.read_bytes() == other
    assert identify_with(repository)("jwt", "x") == first


@pytest.mark.parametrize("kind", ["short", "long", "directory", "pipe", "dangling"])
def test_a_key_that_cannot_be_read_is_none(repository, key, kind):
    """Ids last for one command then, and nothing waits for a pipe."""
    {
        "short": lambda: key.write_bytes(b"x"),
        "long": lambda: key.write_bytes(b"x" * 33),
        "directory": key.mkdir,
        "pipe": lambda: os.mkfifo(key),
        "dangling": lambda: key.symlink_to("nowhere"),
    }[kind]()
    identify = identify_with(repository)
    assert identify("jwt", "x") == identify("jwt", "x")


def test_a_store_that_cannot_be_written_gets_no_key(repository, key, monkeypatch):
    def refuse(*_arguments):
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    assert len(identify_with(repository)("jwt", "x")) == 32
    assert not key.exists()


def test_the_same_history_has_another_policy_key_once_something_is_allowed(repository, secret, tmp_path):
    before = policy_key(repository, "redact")
    assert before != policy_key(repository, "refuse")
    allow(repository, secret, index_directory=str(tmp_path / "index"))
    assert policy_key(repository, "redact") != before
    disallow(repository, secret)
    assert policy_key(repository, "redact") == before


def test_messages_are_redacted_only_meanwhile_and_only_by_a_gate_that_redacts(repository):
    for mode in ("refuse", "allow"):
        with redacting(repository, gate_of(repository, mode)):
            assert repository.caller.clear_message is None
    with redacting(repository, gate_of(repository, "redact")):
        assert TOKEN.encode() not in repository.caller.clear_message(TOKEN.encode())
    assert repository.caller.clear_message is None


def test_a_damaged_entry_allows_nothing_and_verify_finds_it(repository, secret, tmp_path):
    allow(repository, secret, index_directory=str(tmp_path / "index"))
    assert list(walk_allowed_defects(repository)) == []
    write_file(repository, SECRETS, f"allowed/{secret}.json", b"{}")
    assert dict(read_allowed(repository)) == {}
    (finding,) = walk_allowed_defects(repository)
    assert finding.where == f"{SECRETS}:allowed/{secret}.json"
