"""The MCP server as hosts use it: in a process on standard streams, and on HTTP with a token."""

from __future__ import annotations

import json
import signal

import pytest

pytest.importorskip("mcp")

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from scopes.conversation.log import log
from scopes.conversation.verify import verify
from tests.cli.running import PRODUCT, scopes
from tests.server.mcp.conftest import TOKEN
from tests.support.mcp_client import Agent, process, start, use
from tests.support.store import make_store, open_store


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store").path


def texts(store):
    return [each.message.text for each in log(open_store(store), "conv-001", oldest_first=True).items]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_host_starts_the_server_and_uses_it(store, mode):
    """Both protocol versions that the official client knows."""

    async def task(client):
        await client.call_tool("conversation_record", {"text": "hello"})
        return (await client.list_tools()).tools

    tools = use(process(f"--store={store}", "mcp", "--as", "reviewer"), task, mode=mode)
    assert "conversation_record" in {tool.name for tool in tools}
    assert texts(store) == ["hello"]


def test_resources_and_prompts(store):
    agent = Agent(store)
    agent.get("conversation_record", text="why does the login fail?", title="Login")
    agent.get("memory_add", text="the login sets a cookie")
    entry = agent.get("memory_search", query="cookie")["hits"][0]["entry"]["id"]

    async def read(client):
        uris = ("conversations", "conversations/conv-001/main", f"memory/{entry}", "files/src/app.py")
        found = [(await client.read_resource(f"scopes://{uri}")).contents[0].text for uri in uris]
        prompt = await client.get_prompt("resume", {"continuation_id": "conv-001/main"})
        return found, prompt.messages[0].content.text

    (listed, branch, memory, files), prompt = agent.do(read)
    assert json.loads(listed)["conversations"][0]["title"] == "Login"
    assert "why does the login fail?" in branch
    assert json.loads(memory)["summary"] == "the login sets a cookie"
    assert json.loads(files)["messages_found"] == []
    assert "conv-001/main" in prompt


def test_a_resource_that_does_not_exist_is_an_error_with_its_cure(store):
    async def read(client):
        with pytest.raises(Exception, match="there is no conversation 'conv-009'"):
            await client.read_resource("scopes://conversations/conv-009/main")
        return True

    assert Agent(store).do(read)


def test_calls_at_once_are_all_recorded(store):
    Agent(store).get("conversation_record", text="start")

    async def task(client):
        async def record(number):
            arguments = {"conversation": "conv-001", "text": f"message {number}"}
            results.append(await client.call_tool("conversation_record", arguments))

        results = []
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(record, number)
        return results

    results = Agent(store).do(task)
    assert not [result.content for result in results if result.is_error]
    assert sorted(texts(store)[1:]) == [f"message {number}" for number in range(8)]


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(store):
    """A host that ends at any message: every answer that arrived is in the store."""
    server = start(f"--store={store}", "mcp")
    initialize = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    ask(server, 0, "initialize", initialize)
    tell(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    acknowledged = []
    for number in range(1, 6):
        where = {} if number == 1 else {"conversation": "conv-001"}
        arguments = {"text": f"message {number}", **where}
        ask(server, number, "tools/call", {"name": "conversation_record", "arguments": arguments})
        acknowledged.append(f"message {number}")
    tell(server, request(6, "tools/call", {"name": "conversation_record", "arguments": {"text": "lost or not"}}))
    server.kill()
    assert server.close() == -signal.SIGKILL
    assert texts(store)[:5] == acknowledged
    assert verify(open_store(store)).exit_code == 0


def request(number, method, params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def tell(server, document):
    server.stdin.write(json.dumps(document).encode() + b"\n")
    server.stdin.flush()


def ask(server, number, method, params):
    tell(server, request(number, method, params))
    while True:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == number:
            assert "error" not in answer, answer
            return answer["result"]


def test_a_line_that_is_no_request_does_not_end_the_server(store):
    server = start(f"--store={store}", "mcp")
    for line in (b"{", b"[]", b'{"jsonrpc":"2.0","id":1,"method":"nope"}', b"\xff\xfe", b"null", b""):
        server.stdin.write(line + b"\n")
    client = {"name": "x", "version": "1"}
    ask(server, 7, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
    assert server.close() == 0


def test_http_serves_who_has_the_token(http_server):
    async def connect():
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(http_server.address, http_client=http)) as client,
        ):
            return await client.call_tool("conversation_record", {"text": "hello"})

    assert not anyio.run(connect).is_error
    assert texts(http_server.store) == ["hello"]


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}])
def test_http_refuses_everybody_else(address, header):
    for url in (address, address.replace("/mcp", "/"), address.replace("/mcp", "/other")):
        assert httpx2.post(url, headers=header, json={}).status_code == 401


def test_http_refuses_other_hosts_and_origins(address):
    """A page in a browser that names the loopback interface by another name (DNS rebinding)."""
    token = {"Authorization": f"Bearer {TOKEN}"}
    for foreign in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        assert httpx2.post(address, headers=token | foreign, json={}).status_code in {403, 421}


def test_a_short_token_is_refused(store):
    result = scopes("--store", store, "mcp", "--http", "0", table=PRODUCT, env={"SCOPES_MCP_TOKEN": "short"})
    assert (result.returncode, "SCOPES_MCP_TOKEN has fewer than 16 characters" in result.stderr) == (2, True)
