"""Redacted copies are marked where conversations are shown, with what they are copies of."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.new_rename_delete import delete, rename_conversation
from scopes.conversation.show import show
from scopes.history.handles import RedactedCopy, list_copies
from scopes.purge.redact import redact
from tests.cli.running import PRODUCT, scopes
from tests.render.rendering import piped
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.remotes import add, make_bare, push_to


@pytest.fixture
def copied(repository):
    """A conversation with a token, and a redacted copy of it; a third one is no copy."""
    made = history(repository, "main: a b")
    say(repository, made.conversation, f"the token is {KINDS[1][1]} as you know")
    redact(repository, "conv-001")
    history(repository, "main: other")
    return repository


def listed(store, *words):
    return scopes("--store", store.path, "list", *words, table=PRODUCT).stdout


def test_show_says_of_what_a_copy_is_one(copied):
    assert show(copied, "conv-002").redacted == RedactedCopy("conv-002", "conv-001")
    assert "Copy of:   conv-001, with its secrets masked" in piped(show(copied, "conv-002")).splitlines()
    assert {show(copied, name).redacted for name in ("conv-001", "conv-003")} == {None}


def test_a_list_says_which_conversations_are_copies(copied):
    rows = json.loads(listed(copied, "--json"))["conversations"]
    assert {row["id"]: row.get("copy_of") for row in rows} == {
        "conv-001": None, "conv-002": "conv-001", "conv-003": None,
    }  # fmt: skip
    assert "conv-002\tconv-001\n" in listed(copied, "--format", r"{id}\t{copy_of}")


def test_an_original_is_found_by_what_it_is_called_now(copied):
    rename_conversation(copied, "conv-001", "login")
    assert list_copies(copied) == [RedactedCopy("conv-002", "login")]
    delete(copied, "login")
    assert list_copies(copied) == [RedactedCopy("conv-002", None)]
    assert "a conversation that is gone" in piped(show(copied, "conv-002"))


def test_a_second_copy_names_the_first(copied):
    assert len(redact(copied, "conv-001").notes) == 2
    note = redact(copied, "conv-001").notes[-1]
    assert note.text == "conv-002, conv-004 are earlier copies of conv-001, without what came later"
    delete(copied, "conv-002")
    assert [row.copy for row in list_copies(copied)] == ["conv-004", "conv-005"]


def test_a_remote_that_has_the_original_is_named(repository, tmp_path):
    made = history(repository, "main: a")
    add(repository, make_bare(tmp_path / "bare.git"))
    push_to(repository, made.conversation)
    say(repository, made.conversation, f"the token is {KINDS[1][1]} as you know")
    note = redact(repository, made.conversation).notes[0]
    assert note.text == "the original is as it was, and origin has it"
    assert "scopes purge conv-001 --whole" in note.hint
    assert "scopes push origin --purged" in note.hint
