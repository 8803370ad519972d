"""Find the command that wrote a file which no edit wrote: a formatter, `sed`, `git mv`, a generator.

The messages before the call that made the commit are read, the last one first, up to the commit before it.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from scopes.code_links.shell_commands import may_write
from scopes.code_links.turns import begins_turn
from scopes.history.messages import MessageHeader, header_of, read_body
from scopes.ids import MessageId, Oid
from scopes.model.tools import command_of, directories_of_command
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

MAX_MESSAGES: Final = 400  # that are read for one answer


class FoundCommand(NamedTuple):
    """A command that may have written a file; `prompt` is the commit in the store of the prompt before it."""

    message: MessageId
    call_id: str | None
    command: str
    prompt: Oid | None


def find_command(repository: Repository, call: Oid, path: str, ends: Container[Oid]) -> FoundCommand | None:
    """Return the last command before a call that may have written a file of the project; None if there is none.

    call: the message with the call that made the commit
    ends: the messages with calls that made other commits, at which the search ends
    """
    found: FoundCommand | None = None
    oid: Oid | None = call
    for _ in range(MAX_MESSAGES):
        if oid is None or (found is None and oid in ends and oid != call):
            break
        head = header_of(read_commit(repository, oid))
        if found is not None and begins_turn(head):
            return found._replace(prompt=oid)
        if found is None and head.author_kind == "agent":
            found = _find_in(repository, head, path)
        oid = head.parents[0] if head.parents else None
    return found


def _find_in(repository: Repository, head: MessageHeader, path: str) -> FoundCommand | None:
    """Return the last command of a message that may have written a file."""
    calls = [part for part in read_body(repository, head).parts if part.type == "tool_call"]
    for part in reversed(calls):
        command = command_of(part)
        directory = next(iter(directories_of_command(part)), "")
        if command is not None and may_write(command, path, directory):
            call_id = part.fields.get("call_id")
            return FoundCommand(head.id, call_id if isinstance(call_id, str) else None, command, None)
    return None
