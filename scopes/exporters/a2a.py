"""Export format `a2a`: branches as tasks of A2A 1.0 (agent2agent), one a line, with their messages as history.

The context is the conversation, a task is a branch, and a message keeps its id. A2A has no field for who wrote a
message, to whom and of what kind it is: that is in the metadata, below the URI of an extension. There is no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scopes.clock import format_time, parse_time
from scopes.conversation.show import BranchRow
from scopes.exporters.current_messages import walk_with_heads
from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import BranchSlice, ExportSelection
from scopes.model.conversation import ABANDONED, MERGED
from scopes.model.encoding import without_none
from scopes.model.message import Message, Part, payload_key
from scopes.store.repository import Repository

EXTENSION: Final = "urn:scopes:message:1"
_AGENTS: Final = frozenset({"agent", "tool"})  # every other kind of author is the user, who is the other side
_STATES: Final = {ABANDONED: "TASK_STATE_CANCELED", MERGED: "TASK_STATE_COMPLETED"}
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_URL: Final = ("https://", "http://", "file:")


def write_a2a(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield one task a line; the history of a branch holds the messages that no earlier task has."""
    for branch_slice in selection.slices:
        task = _task_id(selection, branch_slice.branch, branch_slice)
        yield utf8(json_text({"id": task, "contextId": selection.view.uuid})[:-1] + ',"history":[')
        separator, last = "", None
        for head, message in walk_with_heads(repository, selection, branch_slice):
            last = message
            commit = None if head is None else head.oid
            yield utf8(separator + json_text(_message(message, selection, branch_slice, commit)))
            separator = ","
        end = {"status": _status(branch_slice.branch, last), "metadata": _task_metadata(selection, branch_slice)}
        yield utf8(f"],{json_text(end)[1:]}\n")


def _task_id(selection: ExportSelection, branch: BranchRow | None, branch_slice: BranchSlice) -> str:
    return f"{selection.view.uuid}/{branch_slice.tip if branch is None else branch.name}"


def _status(branch: BranchRow | None, last: Message | None) -> dict[str, Any]:
    """Return the state of a branch: whose turn it is, if it has not ended."""
    state = _STATES.get("" if branch is None else branch.status)
    if state is None and last is None:
        state = "TASK_STATE_SUBMITTED"
    is_answered = last is not None and last.author.kind == "agent"
    state = state or ("TASK_STATE_INPUT_REQUIRED" if is_answered else "TASK_STATE_WORKING")
    time = None if last is None or last.time is None else _timestamp(last.time)
    return without_none(state=state, timestamp=time)


def _task_metadata(selection: ExportSelection, branch_slice: BranchSlice) -> dict[str, Any]:
    view, branch = selection.view, branch_slice.branch
    facts = without_none(
        conversation=view.id,
        title=view.title,
        branch=None if branch is None else branch.name,
        purpose=None if branch is None else branch.purpose,
        agent=None if branch is None else branch.agent,
    )
    return {EXTENSION: facts}


def _message(
    message: Message, selection: ExportSelection, branch_slice: BranchSlice, commit: str | None
) -> dict[str, Any]:
    branch = branch_slice.branch
    parts = [written for part in message.parts if (written := _part(part)) is not None]
    if message.payload is not None:
        parts.append(_data({payload_key(message.kind): message.payload}, "document"))
    parent = None if branch is None or branch.parent is None else f"{selection.view.uuid}/{branch.parent}"
    return {
        "messageId": message.id,
        "contextId": selection.view.uuid,
        "taskId": _task_id(selection, branch, branch_slice),
        "role": "ROLE_AGENT" if message.author.kind in _AGENTS else "ROLE_USER",
        "parts": parts or [{"text": ""}],  # the specification wants one
        "metadata": {EXTENSION: _facts(message, commit)},
        "extensions": [EXTENSION],
        **({} if parent is None else {"referenceTaskIds": [parent]}),
    }


def _facts(message: Message, commit: str | None) -> dict[str, Any]:
    """Return what A2A has no field for."""
    return without_none(
        author={"name": message.author.name, "kind": message.author.kind},
        kind=message.kind,
        time=message.time,
        to=list(message.to) or None,
        reply_to=message.reply_to,
        work_item=message.work_item,
        task=message.task,
        activity=message.activity,
        model=message.model,
        status=message.status,
        commit=commit,
    )


def _part(part: Part) -> dict[str, Any] | None:
    """Return a part; what is neither text nor a file is data with its type in the metadata."""
    match part.type:
        case "text":
            return {"text": part.text, "mediaType": "text/markdown"} if part.text else None
        case "reasoning":
            return _typed({"text": part.text}, "reasoning") if part.text else None
        case "image" | "file":
            return _file(part)
    return _data(part.fields, part.type)


def _file(part: Part) -> dict[str, Any]:
    """Return a file: its bytes, its address, or else its fields as data."""
    path, data, media = (part.fields.get(name) for name in ("path", "data", "media_type"))
    facts = without_none(
        mediaType=media if isinstance(media, str) else None,
        filename=re.split(r"[/\\]", path)[-1] if isinstance(path, str) else None,
    )
    if isinstance(data, str) and data and _BASE64.fullmatch(data) is not None:
        return {"raw": data, **facts}
    if isinstance(path, str) and path.startswith(_URL):
        return {"url": path, **facts}
    return _data(part.fields, part.type)


def _data(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    return _typed({"data": dict(fields)}, name)


def _typed(part: dict[str, Any], name: str) -> dict[str, Any]:
    return {**part, "metadata": {EXTENSION: {"type": name}}}


def _timestamp(time: str) -> str | None:
    """Return a time as A2A has it, in UTC with milliseconds; None if it is none."""
    nanoseconds = parse_time(time)
    return None if nanoseconds is None else format_time(nanoseconds)
