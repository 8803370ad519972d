"""The rows of messages in the change log: the messages, their authors as participants, and what else they change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

from scopes.clock import format_seconds, now_nanoseconds
from scopes.conversation import participants
from scopes.conversation.change import Change, FieldChange, cause_of
from scopes.conversation.message_effects import MessageEffects, States
from scopes.conversation.recording_order import Position, RecordingOrder
from scopes.history.messages import MessageHeader, header_of, is_root, read_message_at, subject_of
from scopes.history.recorded_times import RecordedTimes
from scopes.ids import MessageId, Oid
from scopes.model.claims import PARTICIPANT_KINDS
from scopes.model.message import Message
from scopes.store.objects import Commit
from scopes.store.repository import Repository

_MESSAGES = "messages"


class Recorded(NamedTuple):
    """What messages changed beside being messages, and the commits of those that each participant wrote.

    stated: what was stated last about conflicts and positions, by field, as of each commit
    """

    effects: dict[MessageId, list[FieldChange]]
    written: dict[str, list[Oid]]
    stated: dict[Oid, States]


def walk_message_changes(
    repository: Repository,
    commits: Iterable[Commit],
    order: RecordingOrder,
    recorded: Recorded,
    tips: Collection[Oid],
) -> Iterator[tuple[Position, Change]]:
    """Yield the changes of each message once, with its place in the order of recording; commits come parents first.

    What is at the same place is ordered by depth and by id, so that the order does not depend on the branches.
    `recorded` gets what messages changed beside being messages, and who wrote them. The last rows are proposals of the
    tips, the time of which was over before anybody had decided: the system is their cause.
    """
    times = RecordedTimes(repository)  # for the names in the titles of merges
    depths: dict[Oid, int] = {}
    found: list[tuple[Position, int, MessageId, str, MessageHeader, Message]] = []
    for commit in commits:
        depths[commit.oid] = depth = 1 + max((depths[parent] for parent in commit.parents), default=0)
        if is_root(commit):
            order.place_root(commit.oid)
            continue
        head, message = times.add_to(header_of(commit)), read_message_at(repository, commit.tree)
        position, time = order.place(commit, head, message.time or format_seconds(head.time))
        found.append((position, depth, head.id, time, head, message))
    found.sort(key=itemgetter(0, 1, 2))
    seen: set[MessageId] = set()
    effects = MessageEffects(repository, recorded.stated)
    for position, _, message_id, time, head, message in found:
        if head.author_kind in PARTICIPANT_KINDS:
            recorded.written.setdefault(head.author, []).append(head.oid)
        if message_id in seen:
            effects.skip(head)
            continue
        seen.add(message_id)
        cause = cause_of(head.author_kind, head.author)
        for change in _changes_of_message(head, message):
            shown = change.to_row(time, cause, head.id)
            yield position, replace(shown, tools=_tools_of(message)) if change.field_path == _MESSAGES else shown
        for effect in effects.walk(head, message):
            recorded.effects.setdefault(head.id, []).append(effect)
            yield position, effect.to_row(time, cause, head.id)
    for name, time, effect in effects.walk_lapsed(tips, now_nanoseconds()):
        yield order.place_time(time), effect.to_row(time, cause_of("system", ""), name)


def _changes_of_message(head: MessageHeader, message: Message) -> Iterator[FieldChange]:
    """Yield what one message is, and that its author takes part, which was so before for most messages."""
    if head.author_kind in PARTICIPANT_KINDS:
        yield participants.added(head.author)
    yield FieldChange(_MESSAGES, None, _message_object(head, message), "APPEND")
    target = message.retracts or message.amends
    if target is not None:
        after = None if message.retracts else {"amended_by": head.id}
        yield FieldChange(f"{_MESSAGES}[{target}]", {"id": target}, after)


def _tools_of(message: Message) -> tuple[str, ...]:
    calls = (part.fields.get("name") or "unknown tool" for part in message.parts if part.type == "tool_call")
    return tuple(dict.fromkeys(map(str, calls)))


def _message_object(head: MessageHeader, message: Message) -> dict[str, Any]:
    subject = subject_of(head, message)
    return {"id": head.id, "kind": head.kind, "from": head.author, "to": list(head.to), "subject": subject}
