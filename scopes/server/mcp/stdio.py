"""Answer each request with what its sender can use, also on the standard streams what cannot be read.

The library drops a line that it cannot parse, and a request in it would wait for ever. JSON of other programs may hold
half of a surrogate pair, which is not text: a program that cuts a text in the middle of an emoji writes it. The library
also takes wrong arguments of a prompt for a bug, and names pages about its own parts where it refuses those of a tool.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from scopes.sanitize import clip, for_prompt
from scopes.server.mcp.error_gate import clear_error
from scopes.server.mcp.unread_request import scan_request

if TYPE_CHECKING:
    from anyio.abc import ObjectSendStream

_MAX_TEXT: Final = 300  # characters of an error
_SURROGATE: Final = "the message has half of a surrogate pair (\\ud800 to \\udfff), which is not text"


class AnsweringServer(MCPServer[Any]):
    """A server that leaves no request without an answer."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        """Call a tool; arguments that it does not have are refused by name."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name} was not called\n{_describe(error.__cause__)}") from error.__cause__
            raise

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> Any:
        """Return a prompt.

        Raises:
            MCPError: there is no such prompt, or it has other arguments.
        """
        prompt = next((each for each in await self.list_prompts() if each.name == name), None)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, _clean(f"there is no prompt {name!r}"))
        known = {each.name: bool(each.required) for each in prompt.arguments or ()}
        given = dict.fromkeys(arguments or ())
        wrong = [f"there is no argument {each!r}" for each in given if each not in known]
        wrong += [f"the argument {each!r} is missing" for each in known if known[each] and each not in given]
        if wrong:
            raise MCPError(INVALID_PARAMS, _clean(f"{name}: {'; '.join(wrong)}"))
        return await super().get_prompt(name, arguments, context)

    async def run_stdio_async(self) -> None:
        """Serve the client on the standard streams until it closes them."""
        async with stdio_server() as (read, write):
            sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception](0)

            async def pass_on() -> None:
                async with sender:
                    async for item in read:
                        await _pass_on(item, sender, write)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pass_on)
                server = self._lowlevel_server
                await server.run(receiver, write, server.create_initialization_options())


async def _pass_on(item: SessionMessage | Exception, messages: ObjectSendStream[Any], answers: Any) -> None:
    """Hand a message to the server, or answer what is none."""
    refusal = refuse(item) if isinstance(item, ValidationError) else None
    if refusal is None:
        await messages.send(item)
    else:
        await answers.send(SessionMessage(refusal))


def refuse(error: ValidationError) -> JSONRPCError | None:
    """Return the answer to a line that could not be read, with the id of the request wherever that can be read.

    None if there is nothing to answer: a blank line, a notification, or the answer to a request of ours.
    """
    problem = error.errors(include_url=False)[0]
    if problem["type"] != "json_invalid":
        documents = [each["input"] for each in error.errors(include_url=False) if each["type"] == "missing"]
        return _refuse_document(
            documents[0] if documents else [], INVALID_REQUEST, "this is not a request of JSON-RPC 2.0"
        )
    line = str(problem["input"])
    try:
        document = json.loads(line)
    except RecursionError:
        return _refuse_document(scan_request(line), PARSE_ERROR, problem["msg"])
    except ValueError:
        return None if not line.strip() else _refusal(None, PARSE_ERROR, problem["msg"])
    return _refuse_document(document, PARSE_ERROR, _SURROGATE if not _is_text(document) else problem["msg"])


def _refuse_document(document: Any, code: int, reason: str) -> JSONRPCError | None:
    """Return an answer to a request; to what is not an object too, but to nothing that needs none."""
    if not isinstance(document, dict):
        return _refusal(None, code, reason)
    return _refusal(document["id"], code, reason) if "method" in document and "id" in document else None


def _refusal(message_id: Any, code: int, reason: str) -> JSONRPCError:
    is_usable = type(message_id) is int or (isinstance(message_id, str) and _is_text(message_id))
    return JSONRPCError(
        jsonrpc="2.0",
        id=message_id if is_usable else None,
        error=ErrorData(code=code, message=clear_error(reason)[:_MAX_TEXT]),
    )


def _is_text(document: Any) -> bool:
    """Return True if all texts of a document can be written as UTF-8, or if it is too deep to tell."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:
        return True
    return True


def _describe(error: ValidationError) -> str:
    """Return what is wrong with arguments, a line for each."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return _clean("\n".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problems))


def _clean(text: str) -> str:
    return clear_error(for_prompt(clip(clear_error(text), _MAX_TEXT)))
