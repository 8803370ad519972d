"""`scopes secrets`: scan, list, allow and explain on the command line; no output has a secret."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.errors import Corrupt
from scopes.secrets.allowed import decode_allowed, encode_allowed, read_allowed
from scopes.secrets.identity import identify_with
from tests.cli.conversation import Conversation
from tests.support.planted import KINDS
from tests.support.random_ids import hashed_counter
from tests.support.store import open_store

TOKEN, KEY = KINDS[1][1], KINDS[10][1]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    store = Conversation(tmp_path)
    store.append("main", f"deploy with {TOKEN}")
    store.append("main", f"again {TOKEN}")
    return store


@pytest.fixture
def secret(store):
    """The id of the secret in the conversation."""
    return store.run("secrets", "list", "--json", code=1)["secrets"][0]["id"]


def test_a_scan_ends_with_1_as_long_as_something_is_not_allowed(store, secret):
    assert store.run_main("secrets", "list").returncode == 1
    store.run("secrets", "allow", secret[:8])
    assert store.run("secrets", "list", store.id, "--json")["secrets"] == []
    (row,) = store.run("secrets", "list", store.id, "-a", "--json")["secrets"]
    assert (row["places"], row["allowed_by"]) == (2, "user")
    assert store.run("export", store.id).count(TOKEN) == 2


def test_no_output_and_no_object_of_the_store_tells_the_secret(store, secret, tmp_path):
    commands = (
        ["secrets", "list"], ["secrets", "list"], ["secrets", "list", "--json"], ["secrets", "list", "--rules", secret],
        ["secrets", "allow", secret, "--reason", "revoked"], ["secrets", "list", "--rules"],
        ["operations", "-a"],
    )  # fmt: skip
    for words in commands:
        done = store.run_main(*words)
        assert TOKEN[4:12] not in done.stdout + done.stderr
        assert "github-token" in done.stdout + done.stderr or words[0] == "operations" or words[1] == "allow"
    shown = open_store(store.store).find_ref("refs/scopes/secrets")
    assert shown is not None


def test_the_list_has_a_row_for_each_secret_and_scans_what_has_changed(store, secret):
    (row,) = store.run("secrets", "list", "--json", code=1)["secrets"]
    assert (row["id"], row["rule"], row["places"], row["conversation"]) == (secret, "github-token", 2, store.id)
    store.append("main", KEY)
    assert [each["rule"] for each in store.run("secrets", "list", "--json", code=1)["secrets"]] == [
        "github-token",
        "stripe-key",
    ]
    store.run("secrets", "allow", secret)
    assert [each["rule"] for each in store.run("secrets", "list", "--json", code=1)["secrets"]] == ["stripe-key"]


def test_the_id_in_a_refusal_can_be_allowed_before_any_scan(store):
    refusal = store.run_refused("export", store.id, "--format", "json", code=1)
    prefix = refusal["message"].rpartition("(")[2].rstrip(")")
    assert store.run("secrets", "allow", prefix, "--reason", "a sample", "--json")["change"] == "allowed"
    assert store.run("context", store.id, "--for-prompt").count(TOKEN) == 2


def test_undo_redo_and_remove_change_what_may_leave(store, secret):
    store.run("secrets", "allow", secret)
    assert store.run_main("export", store.id).returncode == 0
    store.run("undo")
    assert store.run_main("export", store.id).returncode == 1
    store.run("redo")
    assert store.run_main("export", store.id).returncode == 0
    store.run("secrets", "allow", secret, "--remove")
    assert store.run_main("export", store.id).returncode == 1


def test_a_context_from_the_cache_follows_the_allow_list(store, secret):
    words = ["context", store.id, "--max-tokens", "3000"]
    assert TOKEN not in store.run(*words, "--secrets", "redact")
    store.run("secrets", "allow", secret)
    assert TOKEN in store.run(*words, "--secrets", "redact")
    assert TOKEN in store.run(*words)


def test_allowing_twice_changes_nothing_and_another_reason_does(store, secret):
    assert store.run("secrets", "allow", secret, "--reason", "a", "--json")["change"] == "allowed"
    assert store.run("secrets", "allow", secret, "--json")["change"] == "unchanged"
    assert store.run("secrets", "allow", secret, "--reason", "b", "--json")["secret"]["reason"] == "b"
    assert "give another reason to allow secret" in store.run("operations", "-a", "-n", "1")


def test_what_is_not_there_or_ambiguous_is_refused(store, secret):
    assert store.run_refused("secrets", "allow", "f" * 32, code=4)["kind"] == "not-found"
    assert store.run_refused("secrets", "allow", secret, "--remove", code=4)["kind"] == "not-found"
    assert store.run_refused("secrets", "list", "conv-9", code=4)["kind"] == "not-found"
    assert store.run_refused("secrets", "allow", secret, "--remove", "--reason", "x", code=2)["kind"] == "invalid"
    assert "github-token" in store.run_refused("secrets", "list", "--rules", "github-tokn", code=4)["hint"]


def test_a_rule_and_a_secret_are_explained(store, secret):
    (rule,) = store.run("secrets", "list", "--rules", "github-token", "--json")["rules"]
    assert (rule["secrets"], "CRC-32" in rule["checks"]) == (1, True)
    assert len(store.run("secrets", "list", "--rules", "--json")["rules"]) >= 40
    explained = store.run("secrets", "list", "--rules", secret[:6], "--json")
    assert [place["line"] for place in explained["places"]] == [1, 1]


def test_an_allowed_secret_that_is_nowhere_any_more_stays_listed(store, secret):
    store.run("secrets", "allow", secret)
    store.run("delete", store.id, "--yes")
    (row,) = store.run("secrets", "list", "-a", "--json")["secrets"]
    assert (row["places"], row["allowed_by"]) == (0, "user")


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"rule": 1, "actor": "a", "time": "t"}'])
def test_a_damaged_entry_allows_nothing(data):
    with pytest.raises(Corrupt):
        decode_allowed("x", data)


def test_an_entry_is_read_as_it_was_written(store, secret):
    store.run("secrets", "allow", secret, "--reason", "a \U0001f511 key")
    (entry,) = read_allowed(open_store(store.store)).values()
    assert decode_allowed(entry.id, encode_allowed(entry)) == entry
    assert entry.reason == "a \U0001f511 key"


def test_every_command_knows_a_secret_outside_messages(store):
    """A push names it, so each of them has to find it, with one kept scan."""
    store.run("switch", "-c", store.id, "idea")
    store.append("idea", "better")
    store.run("mr", "open", store.id, "--source", "idea", "--title", f"use {KEY}")
    rows = store.run("secrets", "list", "--json", code=1)["secrets"]
    (row,) = [each for each in rows if each["rule"] == "stripe-key"]
    assert row["place"] == "a merge request"
    places = store.run("secrets", "list", "--rules", row["id"], "--json")["places"]
    assert [each["field"] for each in places] == ["a merge request"]
    assert store.run("secrets", "allow", row["id"][:8], "--json")["change"] == "allowed"
    rows = store.run("secrets", "list", "-a", "--json", code=1)["secrets"]
    assert {each["rule"]: each.get("allowed_by") for each in rows} == {"stripe-key": "user", "github-token": None}


@pytest.mark.parametrize("verb", [("allow",), ("list", "--rules")])
def test_without_a_scan_before_a_secret_outside_messages_is_found(store, verb):
    """Each command scans by itself what no scan has found, and finds what a scan lists."""
    store.run("switch", "-c", store.id, "idea")
    store.append("idea", "better")
    store.run("mr", "open", store.id, "--source", "idea", "--title", f"use {KEY}")
    name = identify_with(open_store(store.store))("stripe-key", KEY)
    store.run("secrets", *verb, name)
    assert store.run_main("secrets", *verb, "0" * 12).returncode == 4
