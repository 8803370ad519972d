"""The shape of a message in every JSON object that holds one."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.history.messages import MessageHead, display_time
from scopes.ids import BranchName
from scopes.model.message import FileTouch, Message, payload_key
from scopes.render.wire.fields import known, utc


def message_object(
    head: MessageHead, message: Message | None, branches: Iterable[BranchName] = ()
) -> dict[str, object]:
    """Lay out a message under its own kind; without its body the subject and the commit's time stand in."""
    tips = known(branches=list(branches) or None)
    if message is None:
        return head_object(head) | tips
    shape = known(
        kind=message.kind,
        id=head.id,
        oid=head.oid,
        parents=list(head.parents),
        author=message.author.name,
        author_kind=message.author.kind,
        time=utc(message.time),
        to=list(message.to) or None,
        reply_to=message.reply_to,
        amends=message.amends,
        retracts=message.retracts,
        work_item=message.work_item,
        task=message.task,
        activity=message.activity,
        tool=message.tool,
        model=message.model,
        status=message.status,
        stop_reason=message.stop_reason,
        files=[_file_object(touch) for touch in message.files] or None,
        text=message.text,
        parts=[{"type": part.type, **part.fields} for part in message.parts],
        extra=message.extra or None,
    )
    if message.payload is not None:
        shape[payload_key(message.kind)] = message.payload
    return shape | tips


def head_object(head: MessageHead) -> dict[str, object]:
    """Lay out what a message's commit tells."""
    return known(
        kind=head.kind,
        id=head.id,
        oid=head.oid,
        parents=list(head.parents),
        author=head.author,
        author_kind=head.author_kind,
        time=display_time(head),
        to=list(head.to) or None,
        subject=head.subject,
    )


def _file_object(touch: FileTouch) -> dict[str, object]:
    return known(path=touch.path, op=touch.op, content_hash=touch.content_hash, **{"from": touch.source})
