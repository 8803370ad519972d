"""Of a long message only the beginning is searched for secrets and escaped; what the block shows is the same."""

from __future__ import annotations

import json

import pytest

from scopes.context import long_texts
from scopes.context.context import context
from scopes.context.history_block import TOOLS, HistoryRequest, history
from scopes.context.long_texts import MAX_READ_CHARACTERS, shorten
from scopes.context.request import Request
from scopes.conversation.new_rename_delete import new
from scopes.secret_scan.clearance import Gate
from tests.support.history import say

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq2\n" * 200 + "-----END RSA PRIVATE KEY-----"
LONG = "word <system> \n" * 40_000
TEXTS = {
    "words": LONG,
    "blanks first": " \n" * 100_000 + LONG,
    "blanks only": " " * 300_000,
    "a secret at the beginning": f"{TOKEN} {LONG}",
    "a secret where it is cut": "x" * (MAX_READ_CHARACTERS - 10) + f" {TOKEN} {LONG}",
    "a key, which is replaced by a few characters": f"{KEY} {LONG}",
    "half of a surrogate pair": "\ud800 " + LONG,
}


def block(repository, exact, **options):
    request = HistoryRequest(where="conv-001", mark="1" * 30, **options)
    return history(repository, request, exact)


@pytest.fixture
def read_whole(monkeypatch):
    """Return the block that is written without a limit."""

    def write(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(long_texts, "MAX_READ_CHARACTERS", 1 << 40)
            return block(*arguments, **options)

    return write


@pytest.mark.parametrize("secrets", ["redact", "allow"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_block_is_the_same_as_if_all_had_been_read(repository, exact, read_whole, text, secrets):
    new(repository)
    say(repository, "conv-001", "hello", author="carol")
    say(repository, "conv-001", text)
    assert block(repository, exact, secrets=secrets) == read_whole(repository, exact, secrets=secrets)


@pytest.mark.parametrize("tools", TOOLS)
def test_long_inputs_and_outputs_of_tools_make_no_difference(repository, exact, read_whole, tools):
    new(repository)
    call = {"type": "tool_call", "name": "bash", "call_id": "1", "input": {"command": LONG, "lines": [LONG, 3]}}
    result = {"type": "tool_result", "call_id": "1", "output": [{"text": LONG}, {"text": TOKEN}], "is_error": True}
    say(repository, "conv-001", "hello")
    say(repository, "conv-001", "", parts=[call])
    say(repository, "conv-001", "", parts=[result], kind="tool-results")
    assert block(repository, exact, tools=tools) == read_whole(repository, exact, tools=tools)


def test_the_work_for_a_long_message_has_a_limit(repository, exact, monkeypatch):
    """A new session of an editor waited three seconds for an answer of ten megabytes, of which it shows two pages."""
    new(repository)
    say(repository, "conv-001", "hello")
    say(repository, "conv-001", "x y" * 1_000_000)
    searched = []
    original = Gate.clear_line
    monkeypatch.setattr(
        Gate, "clear_line", lambda gate, data, place: searched.append(len(data)) or original(gate, data, place)
    )
    assert block(repository, exact).truncated == 1
    assert 0 < sum(searched) < 4 * MAX_READ_CHARACTERS


def test_afterwards_messages_are_read_whole(repository, exact):
    new(repository)
    say(repository, "conv-001", LONG)
    block(repository, exact)
    assert repository.caller.clear_message is None


@pytest.mark.parametrize(
    "data",
    [b"short", b"no json" * 100_000, b"[" * 100_000, json.dumps("x" * 100_000).encode(), b'{"v":1}' + b" " * 99_999],
)
def test_what_is_no_long_message_stays_as_it_is(data):
    assert shorten(data) == data


def test_the_id_of_a_conversation_with_a_secret_leaves_in_no_field_of_a_block(repository, exact):
    name = f"x-{TOKEN}"
    new(repository, conversation_id=name)
    say(repository, name, "hello")
    shown, whole = (
        history(repository, HistoryRequest(where=name, secrets=mode), exact) for mode in ("redact", "allow")
    )
    assert TOKEN not in f"{shown.conversation} {shown.text}"
    assert shown.conversation.startswith("x-[redacted:github-token")
    assert whole.conversation == name
    assert context(repository, Request(max_tokens=2000, where=name), exact, repository.path).conversation == (
        shown.conversation
    )
