"""Read and build JSON-RPC messages, and change one member of a message without touching the others.

Nothing is validated beyond what routing needs: an editor and an agent may use methods and fields that we do not know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from scopes import fast_json

AUTHENTICATION_REQUIRED: Final = -32000
INTERNAL_ERROR: Final = -32603
OPENING_METHODS: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_MAX_LEVELS: Final = 800  # what has fewer can be decoded and encoded wherever it is handled
_BLANKS = " \t\r\n"
_DECODER = json.JSONDecoder()


class NotJson(ValueError):
    """A line is not a JSON object or array that a peer could have sent as a message."""


def read_line(line: bytes) -> Any:
    """Return the JSON object or array of a line; None if it is too deep to be handled.

    Raises:
        NotJson: the line is something else, such as a log message.
    """
    document = _decode_line(line)
    return None if line.count(b"[") + line.count(b"{") > _MAX_LEVELS and _is_deep(document) else document


def _is_deep(document: Any) -> bool:
    """Return True if a document has more than _MAX_LEVELS levels."""
    level = [] if document is None else [document]
    for _ in range(_MAX_LEVELS):
        groups = (each.values() if isinstance(each, dict) else each for each in level)
        level = [item for group in groups for item in group if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


def _decode_line(line: bytes) -> Any:
    """Return the JSON object or array of a line; None if it is too deep for the decoder. Raises as `read_line`."""
    if fast_json.library is not None:
        try:
            return _check(fast_json.library.decode(line))
        except (ValueError, RecursionError):
            pass  # it refuses more than json: NaN, lone surrogates
    try:
        return _check(json.loads(line.decode("utf-8", "surrogateescape")))
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson from error
    except RecursionError:
        return None


def _check(document: Any) -> Any:
    if isinstance(document, dict) and ("method" in document or "id" in document or "jsonrpc" in document):
        return document
    if isinstance(document, list) and document and all(isinstance(each, dict) for each in document):
        return document
    raise NotJson


def messages_of(document: Any) -> list[dict[str, Any]]:
    """Return the messages of a line: one, those of a batch, or none."""
    if isinstance(document, dict):
        return [document]
    return document if isinstance(document, list) else []


def method_of(message: Mapping[str, Any]) -> str:
    """Return the method of a request or notification; empty for a response."""
    method = message.get("method")
    return method if isinstance(method, str) else ""


def is_request(message: Mapping[str, Any]) -> bool:
    """Return True if a message must be answered."""
    return "id" in message and bool(method_of(message))


def is_response(message: Mapping[str, Any]) -> bool:
    """Return True if a message answers a request."""
    return "id" in message and not method_of(message)


def key_of(message_id: Any) -> str:
    """Return an id as a key: the number 1 and the text "1" are two ids."""
    return json.dumps(message_id)


def params_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a message; empty if they are not an object."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def result_of(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the result of a successful response, which may be null; None for an error."""
    if "error" in message:
        return None
    result = message.get("result")
    return result if isinstance(result, dict) else {}


def error_code(message: Mapping[str, Any]) -> int | None:
    """Return the code of the error in a response."""
    error = message.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else None


def error_message(message: Mapping[str, Any]) -> str:
    """Return the text of the error in a response; empty if there is none."""
    error = message.get("error")
    text = error.get("message") if isinstance(error, dict) else None
    return text if isinstance(text, str) else ""


def session_of(message: Mapping[str, Any]) -> str | None:
    """Return the session that a request or notification is about."""
    session = params_of(message).get("sessionId")
    return session if isinstance(session, str) else None


def encode_line(document: Mapping[str, Any]) -> bytes:
    """Return a message of our own as one line; text is ASCII, so that a lone surrogate can be written."""
    return json.dumps({"jsonrpc": "2.0", **document}, separators=(",", ":")).encode("ascii") + b"\n"


def result_line(message_id: Any, result: Mapping[str, Any]) -> bytes:
    """Return a successful response as a line."""
    return encode_line({"id": message_id, "result": result})


def error_line(message_id: Any, code: int, text: str) -> bytes:
    """Return an error response as a line."""
    return encode_line({"id": message_id, "error": {"code": code, "message": text}})


def split_members(text: str) -> dict[str, str]:
    """Return the members of a JSON object, each value as it is written.

    Raises:
        ValueError: the text is not a JSON object, or too deep to be read.
    """
    try:
        return _split_members(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _split_members(text: str) -> dict[str, str]:
    members: dict[str, str] = {}
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        if text[at] != '"':
            raise ValueError("a member has no name")
        name, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)  # the colon
        _, end = _DECODER.raw_decode(text, start)
        members[name] = text[start:end]
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return members


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANKS:
        at += 1
    return at


def join_members(members: Mapping[str, str]) -> str:
    """Return the JSON object with these members."""
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items()) + "}"


def change_params(line: bytes, changes: Mapping[str, str]) -> bytes:
    """Return the line with members of its parameters replaced; all others keep their text.

    Raises:
        ValueError: the line has no parameters.
    """
    members = split_members(line.decode("utf-8", "surrogateescape"))
    members["params"] = join_members({**split_members(members["params"]), **changes})
    return join_members(members).encode("utf-8", "surrogateescape") + b"\n"


def put_first(line: bytes, blocks: list[dict[str, Any]]) -> bytes:
    """Return a prompt with content blocks put before its own, which keep their text.

    Raises:
        ValueError: the line is not a prompt.
    """
    params = split_members(split_members(line.decode("utf-8", "surrogateescape"))["params"])
    own = params["prompt"].strip()[1:-1].strip()
    added = [json.dumps(block, separators=(",", ":")) for block in blocks]
    return change_params(line, {"prompt": f"[{','.join([*added, own] if own else added)}]"})
