"""Requests that hold what no text can hold, or are none: each is answered, and the server goes on."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from scopes.server.mcp.stdio import refuse
from tests.server.mcp.conftest import TOKEN
from tests.support.mcp_client import start
from tests.support.store import make_store

CLIENT = {"name": "x", "version": "1"}
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
HALF = "a text that was cut in an emoji: \ud83d"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}
REQUESTS = {
    "text": ("tools/call", {"name": "conversation_record", "arguments": {"text": HALF}}),
    "query": ("tools/call", {"name": "conversation_search", "arguments": {"query": HALF}}),
    "argument": ("tools/call", {"name": "conversation_list", "arguments": {HALF: 1}}),
    "tool": ("tools/call", {"name": HALF, "arguments": {}}),
    "address": ("resources/read", {"uri": f"scopes://memory/{HALF}"}),
    "prompt": ("prompts/get", {"name": HALF}),
    "method": (HALF, {}),
}
NO_REQUESTS = (
    (b"{", None, PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":5,"method"', None, PARSE_ERROR),
    (b"\xff\xfe", None, PARSE_ERROR),
    (b"[" * 100_000, None, PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":' + b"[" * 300 + b"]" * 300 + b"}", 5, PARSE_ERROR),
    *(
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":' + b"[" * depth + b"]" * depth + b"}", 5, PARSE_ERROR)
        for depth in (980, 988, 1200, 100_000)
    ),
    (b'{"params":{"id":7,"x":' + b"[" * 1200 + b"]" * 1200 + b'},"method":"ping","id":"a\\"b"}', 'a"b', PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, PARSE_ERROR),
    (b"[]", None, INVALID_REQUEST),
    (b"null", None, INVALID_REQUEST),
    (b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]', None, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":5,"method":5}', 5, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":"five","method":"ping","params":[]}', "five", INVALID_REQUEST),
    (b'{"id":5,"method":"ping"}', 5, INVALID_REQUEST),
)
NOTHING = (
    b"",
    b"  \t",
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"\\ud800","requestId":1}}',
    b'{"jsonrpc":"2.0","id":5,"result":{"text":"\\ud800"}}',
    b'{"jsonrpc":"2.0","id":5,"result":7}',
    b'{"jsonrpc":"2.0","id":5}',
    b'{"jsonrpc":"2.0","id":5,"result":' + b"[" * 1200 + b"]" * 1200 + b"}",
    b'{"jsonrpc":"2.0","method":"notifications/x","params":{"id":5,"x":' + b"[" * 1200 + b"]" * 1200 + b"}}",
)


def request(number, method, params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def initialize(version="2025-11-25"):
    return request(0, "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT})


@pytest.fixture
def server(tmp_path):
    """A server on standard streams that has been initialized."""
    process = start(f"--store={make_store(tmp_path / 'store').path}", "mcp")
    tell(process, initialize())
    assert "result" in json.loads(process.stdout.readline())
    tell(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    yield process
    assert process.close() == 0


def tell(server, document):
    """Send a document, or a line as it is."""
    server.stdin.write((document if isinstance(document, bytes) else json.dumps(document).encode()) + b"\n")
    server.stdin.flush()


def answer_of(server, document):
    """Send something that is answered; a request after it shows that nothing else was said."""
    tell(server, document)
    answer = json.loads(server.stdout.readline())
    assert_goes_on(server)
    return answer


def assert_goes_on(server):
    tell(server, request(99, "ping", {}))
    assert json.loads(server.stdout.readline()) == {"jsonrpc": "2.0", "id": 99, "result": {}}


def test_half_of_a_surrogate_pair_is_refused_with_the_id_of_the_request(server):
    """Wherever it is in the request."""
    for place, (method, params) in REQUESTS.items():
        answer = answer_of(server, request(place, method, params))
        assert (answer["id"], answer["error"]["code"]) == (place, PARSE_ERROR)
        assert "half of a surrogate pair" in answer["error"]["message"]


def test_a_whole_pair_is_text(server):
    tell(server, request(7, "tools/call", {"name": "conversation_record", "arguments": {"text": "\U0001f600"}}))
    answer = json.loads(server.stdout.readline())
    assert answer["result"]["isError"] is False


def test_what_is_no_request_is_answered_with_its_id_if_that_can_be_read(server):
    """The specification of JSON-RPC: the id is null otherwise."""
    for line, message_id, code in NO_REQUESTS:
        answer = answer_of(server, line)
        assert (answer["id"], answer["error"]["code"]) == (message_id, code), line
        assert len(answer["error"]["message"]) <= 300


def test_what_asks_for_nothing_gets_no_answer(server):
    """An error with the id of an answer could be taken for the answer to another request."""
    for line in NOTHING:
        tell(server, line)
        assert_goes_on(server)


def test_many_unreadable_lines_are_all_answered(server):
    for number in range(1, 51):
        tell(server, request(number, *REQUESTS["text"]))
    answers = [json.loads(server.stdout.readline()) for _ in range(50)]
    assert [answer["id"] for answer in answers] == list(range(1, 51))
    assert_goes_on(server)


@pytest.mark.parametrize("name", ["", "x" * 10_000, "\ud800", "\x1b[31m"])
def test_an_error_never_fails_itself(name):
    """Whatever the document holds: the answer can be written as UTF-8."""
    for document in ({"id": name, "method": name, "\ud800": name}, {"jsonrpc": name, "id": 1, "method": [name]}):
        with pytest.raises(ValidationError) as caught:
            jsonrpc_message_adapter.validate_json(json.dumps(document), by_name=False)
        refusal = refuse(caught.value)
        assert refusal is not None
        assert refusal.model_dump_json(by_alias=True).encode()


def post(address, document, **headers):
    kinds = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    token = {"Authorization": f"Bearer {TOKEN}"}
    return httpx2.post(address, headers={**token, **kinds, **headers}, content=json.dumps(document), timeout=30)


def test_http_answers_half_of_a_surrogate_pair_with_an_error(address):
    """The version of the protocol in which a client opens a session."""
    opened = post(address, initialize())
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for method, params in REQUESTS.values():
        answer = post(address, request(7, method, params), **session)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, PARSE_ERROR)
    assert post(address, request(8, "ping", {}), **session).status_code == 200


def test_http_without_a_session_answers_half_of_a_surrogate_pair(address):
    """The version of the protocol in which a request says all: JSON of Python has such texts, and so has the store."""
    for place in ("text", "query", "argument"):
        method, params = REQUESTS[place]
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": params["name"]}
        answer = post(address, request(7, method, {**params, "_meta": META}), **headers).json()
        assert answer["id"] == 7
        assert ("result" in answer) != ("error" in answer)
