"""Write the messages that scopes itself adds to a history: the merge, and the notice that begins a resolution.

Their ids, times and bytes depend on the tips alone, so that the same merge is the same commit on every machine. Who
merged, and when, is in the operation log. Where the user's git signs, the commit has a signature, too: then its message
has the same id on every machine, and the commit has not.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from scopes.clock import format_seconds
from scopes.history.messages import MessageHeader, write_commit_over, write_message_blob
from scopes.ids import ID_LENGTH, MessageId, Oid
from scopes.model import encoding
from scopes.model.conflicts import Conflict, resolution_document
from scopes.model.message import Author, Message, text_parts
from scopes.store.repository import Objects, read_commit

SCOPES = Author("scopes", "system")
NOTICE = "Conflict detected, creating resolution branch"
_OWN_TEXT = re.compile(r"Merge [0-9]+ messages?")


def merge_text(count: int) -> str:
    """Return the text of a merge of `count` messages; names of branches differ between machines (S4-19)."""
    return f"Merge {count} message{'' if count == 1 else 's'}"


def is_written_by_scopes(head: MessageHeader) -> bool:
    """Return True if a message is a merge with a text of scopes, or the notice that begins a resolution."""
    if (head.author, head.author_kind) != (SCOPES.name, SCOPES.kind):
        return False
    return head.kind == "system" or (head.kind == "merge" and _OWN_TEXT.fullmatch(head.subject) is not None)


def derived_id(*values: Any) -> MessageId:
    """Return a message id that is a hash of JSON values."""
    return MessageId(b32encode(sha256(encoding.dump(list(values))).digest()).decode("ascii").lower()[:ID_LENGTH])


def write_merge_commit(  # noqa: PLR0917 - the parts of a merge commit
    objects: Objects,
    parents: Sequence[Oid],
    state: Oid | None,
    merged: Iterable[MessageId],
    conflicts: Iterable[Conflict],
    text: str,
    sign: Callable[[bytes], bytes],
) -> tuple[MessageId, Oid]:
    """Write a merge commit that lists the merged messages and the resolved conflicts; `sign` may add a signature."""
    resolved = [
        {"id": conflict.id, "type": conflict.type, "key": conflict.key, **resolution_document(conflict.resolution)}
        for conflict in conflicts
        if conflict.resolution is not None
    ]
    message_id = derived_id("merge", list(parents), sorted(encoding.dump(each).decode() for each in resolved), text)
    document: dict[str, Any] = {"messages": list(merged)}
    if resolved:
        document["resolved"] = resolved
    times = [read_commit(objects, parent).time for parent in parents]
    commit = _write(objects, parents, state, message_id, "merge", text, {"merge": document}, max(times), sign)
    return message_id, commit


def write_notice(objects: Objects, target: Oid, source: Oid, state: Oid | None) -> Oid:
    """Write the notice that begins a resolution, on top of the target (S4-17)."""
    time = max(read_commit(objects, tip).time for tip in (target, source))
    return _write(objects, (target,), state, derived_id("conflict", target, source), "system", NOTICE, {}, time)


def _write(  # noqa: PLR0917 - the parts of a commit
    objects: Objects,
    parents: Sequence[Oid],
    state: Oid | None,
    message_id: MessageId,
    kind: str,
    text: str,
    extra: Mapping[str, Any],
    time_seconds: int,
    sign: Callable[[bytes], bytes] = bytes,
) -> Oid:
    message = Message(
        id=message_id, author=SCOPES, parts=text_parts(text), kind=kind, time=format_seconds(time_seconds), extra=extra
    )
    blob = write_message_blob(objects, message)
    return write_commit_over(objects, parents, message, blob, state, time=time_seconds, sign=sign)
