"""Tool calls as a live recorder appends them: the call by the agent, then its result by the tool."""

from __future__ import annotations

from typing import Any

from scopes.clock import new_id, now
from scopes.conversation.append import MessageAppended, append
from scopes.model.message import Message
from scopes.model.validation import check_message
from scopes.store.repository import Repository

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit)."


def checked(document: dict[str, Any]) -> Message:
    """Return a message with a new id and the current time."""
    return check_message(document, message_id=new_id(), now=now())


def call_tool(
    repository: Repository,
    where: str,
    name: str,
    arguments: dict[str, Any] | str,
    *,
    agent: str = "claude",
    kinds: bool = True,
    **result: Any,
) -> MessageAppended:
    """Append a call and its result to `CONV/BRANCH`; return the result."""
    conversation, _, branch = where.partition("/")
    call_id = f"call-{new_id()}"
    given = {"input_text": arguments} if isinstance(arguments, str) else {"input": arguments}
    call = {"author": agent, "parts": [{"type": "tool_call", "call_id": call_id, "name": name, **given}]}
    answer = {
        "author": {"name": "tool", "kind": "tool"},
        "parts": [{"type": "tool_result", "call_id": call_id, "output": "done", **result}],
    }
    if kinds:
        call, answer = {**call, "kind": "answer"}, {**answer, "kind": "tool-results"}
    append(repository, conversation, checked(call), branch=branch)
    return append(repository, conversation, checked(answer), branch=branch)
