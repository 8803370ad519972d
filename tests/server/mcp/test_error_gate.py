"""Every error text that goes to a client has passed the gate, whoever raised it."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

import anyio
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import TypeAdapter, ValidationError

from scopes.errors import Corrupt
from scopes.server.mcp.error_gate import clear_error, clear_errors
from scopes.server.mcp.stdio import _refusal
from tests.support.mcp_client import Agent
from tests.support.planted import FORMS, KINDS, leaked_parts
from tests.support.store import make_store

TOKEN = KINDS[1][1]
QUOTED = f"cannot read 'deploy with {TOKEN}'"
ERRORS = [OSError(5, QUOTED), ValueError(QUOTED), KeyError(QUOTED), RuntimeError(QUOTED), ToolError(QUOTED),
          MCPError(INVALID_PARAMS, QUOTED, {"uri": TOKEN}), Corrupt(QUOTED, hint=QUOTED)]  # fmt: skip


@pytest.fixture
def agent(tmp_path):
    return Agent(make_store(tmp_path / "store").path)


@pytest.fixture(params=ERRORS, ids=lambda error: type(error).__name__)
def raised(request):
    """An error that quotes a secret."""

    def fail(*_arguments):
        raise request.param

    return fail


def through(error):
    """Return what comes out of the gate of errors when a request fails."""

    async def call_next(_context):
        raise error

    class Asked:
        method = "tools/call"

    async def run():
        return await clear_errors(Asked(), call_next)

    return anyio.run(run)


def ask(agent, method, *words):
    """Return what a client reads as the answer to a request, an error or not."""

    async def request(client):
        try:
            return str(await getattr(client, method)(*words))
        except MCPError as error:
            return f"{error.message} {error.data}"

    return agent.do(request)


def test_an_error_inside_of_a_tool_tells_no_secret(agent, raised, monkeypatch):
    monkeypatch.setattr("scopes.server.mcp.reading.list_conversations", raised)
    read = ask(agent, "call_tool", "conversation_list", {})
    assert "is_error=False" not in read
    assert leaked_parts(*KINDS[1], read) == []


def test_an_error_inside_of_a_resource_tells_no_secret(agent, raised, monkeypatch):
    monkeypatch.setattr("scopes.server.mcp.resources.list_conversations", raised)
    read = ask(agent, "read_resource", "scopes://conversations")
    assert "contents" not in read
    assert leaked_parts(*KINDS[1], read) == []


@pytest.mark.parametrize("method", ["read_resource", "get_prompt", "call_tool"])
def test_an_error_about_an_unknown_name_does_not_repeat_a_secret_in_it(agent, method):
    name = f"scopes://{TOKEN}" if method == "read_resource" else TOKEN
    read = ask(agent, method, name)
    assert leaked_parts(*KINDS[1], read) == []
    assert "[redacted:github-token]" in read


def test_an_error_about_arguments_does_not_repeat_a_secret_in_their_names(agent):
    refused = agent.refused("conversation_list", **{TOKEN: 1})
    assert "was not called" in refused
    assert TOKEN not in refused


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_any_error_of_a_request_leaves_as_one_of_the_protocol_without_a_secret(error):
    with pytest.raises(MCPError) as failed:
        through(error)
    shown = f"{failed.value.message} {failed.value.data}"
    assert leaked_parts(*KINDS[1], shown) == []
    assert "[redacted:github-token]" in shown


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.cases(2)
def test_an_error_in_any_form_of_a_text_is_cleared(form):
    for kind, secret in KINDS:
        with pytest.raises(MCPError) as failed:
            through(RuntimeError(FORMS[form](secret)))
        assert leaked_parts(kind, secret, failed.value.message) == [], (kind, form)


def test_a_malformed_request_is_refused_without_any_text_of_it():
    """The library answers this one itself, by its code alone."""
    with pytest.raises(ValidationError) as malformed:
        TypeAdapter(int).validate_python(TOKEN)
    with pytest.raises(ValidationError) as failed:
        through(malformed.value)
    assert failed.value is malformed.value


def test_an_error_without_a_text_says_that_the_server_failed():
    with pytest.raises(MCPError, match="the server failed"):
        through(RuntimeError())


def test_the_code_and_the_data_of_an_error_stay():
    with pytest.raises(MCPError) as failed:
        through(MCPError(INVALID_PARAMS, "no such thing", {"uri": "scopes://x", "number": 3}))
    assert (failed.value.code, failed.value.message) == (INVALID_PARAMS, "no such thing")
    assert failed.value.data == {"uri": "scopes://x", "number": 3}


def test_an_answer_that_is_no_error_passes_as_it_is():
    """Answers have a gate of their own, which knows the allow-list."""
    answer = {"isError": False, "content": [{"type": "text", "text": TOKEN}]}

    async def call_next(_context):
        return answer

    async def run():
        return await clear_errors(None, call_next)

    assert anyio.run(run) is answer


def test_a_line_that_cannot_be_read_is_refused_without_a_secret():
    assert TOKEN not in _refusal(1, INVALID_PARAMS, f"{QUOTED} " * 20).error.message
    assert TOKEN[:12] not in _refusal(1, INVALID_PARAMS, "x" * 284 + " " + TOKEN).error.message


def test_an_error_without_a_secret_stays_as_it_is():
    assert clear_error("there is no conversation conv-009") == "there is no conversation conv-009"
