"""Requests with wrong names and arguments: an error of the request in plain words, and a quiet server."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("mcp")

from scopes.server.mcp.unread_request import scan_request
from tests.support.mcp_client import start
from tests.support.store import make_store

CLIENT = {"name": "x", "version": "1"}
INVALID_PARAMS = -32602


@pytest.fixture
def ask(tmp_path):
    """Return a function that sends one request to a new server; its standard error must stay empty."""
    words = (f"--store={make_store(tmp_path / 'store').path}", "mcp")
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}

    def run(*requests):
        lines = [("initialize", opening), *requests]
        given = [
            {"jsonrpc": "2.0", "id": n, "method": name, "params": params} for n, (name, params) in enumerate(lines)
        ]
        given.insert(1, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        answers = {}
        with open(tmp_path / "errors", "wb") as errors:
            server = start(*words, stderr=errors)
        for document in given:
            server.stdin.write(json.dumps(document).encode() + b"\n")
            server.stdin.flush()
            if "id" in document:
                answers[document["id"]] = json.loads(server.stdout.readline())
        assert (server.close(), (tmp_path / "errors").read_bytes()) == (0, b"")
        return [answers[number] for number in range(1, len(lines))]

    return run


def test_wrong_arguments_of_a_prompt_are_named(ask):
    answers = ask(
        ("prompts/get", {"name": "resume", "arguments": {"x": "1"}}),
        ("prompts/get", {"name": "resume", "arguments": {"continuation_id": "conv-001", "more": "1"}}),
        ("prompts/get", {"name": "resume"}),
        ("prompts/get", {"name": "no\nne"}),
    )
    assert [(answer["error"]["code"], answer["error"]["message"]) for answer in answers] == [
        (INVALID_PARAMS, "resume: there is no argument 'x'; the argument 'continuation_id' is missing"),
        (INVALID_PARAMS, "resume: there is no argument 'more'"),
        (INVALID_PARAMS, "resume: the argument 'continuation_id' is missing"),
        (INVALID_PARAMS, "there is no prompt 'no\\nne'"),
    ]


def test_a_prompt_with_its_arguments_is_returned(ask):
    (answer,) = ask(("prompts/get", {"name": "resume", "arguments": {"continuation_id": "conv-001"}}))
    assert "conv-001" in answer["result"]["messages"][0]["content"]["text"]


@pytest.mark.parametrize(
    "address", ["scopes://memory/entry-9", "scopes://conversations/conv-9/main", "scopes://nothing/at/all"]
)
def test_an_address_that_names_nothing_is_an_error_of_the_request(ask, address):
    (answer,) = ask(("resources/read", {"uri": address}))
    assert (answer["error"]["code"], answer["error"]["data"]["uri"]) == (INVALID_PARAMS, address)


def test_wrong_arguments_of_a_tool_are_named_without_links(ask):
    answers = ask(
        ("tools/call", {"name": "conversation_show", "arguments": {"conversation": "conv-1", "max_tokens": "x"}}),
        ("tools/call", {"name": "conversation_show", "arguments": {"x" * 2000: 1}}),
    )
    first, second = (answer["result"]["content"][0]["text"] for answer in answers)
    assert first.startswith("conversation_show was not called\nmax_tokens: Input should be a valid integer")
    assert second.startswith("conversation_show was not called\nconversation: ")
    assert len(second) < 400
    assert "http" not in first + second
    assert all(answer["result"]["isError"] for answer in answers)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": 5, "method": "ping", "params": [[{"id": 6}]]}', {"id": 5, "method": "ping"}),
        (' {"a":{"id":1},"b":["id",":",2],"id":"}","c":":\\"{"}', {"id": "}"}),
        ('{"id":{"id":7},"method":[]}', {"id": None, "method": None}),
        ('{"\\u0069d":-3,"method":"x"', {"id": -3, "method": "x"}),
        ("{}", {}),
        ('[{"id":5,"method":"x"}]', None),
        ("", None),
    ],
)
def test_only_members_of_the_request_itself_are_found(line, expected):
    assert scan_request(line) == expected
