"""Recognize the messages that `checkout` has written into a session of an agent: they are in the conversation already.

Agents keep the ids of our messages. Where messages have none, as those of Codex, the bytes before are as they were.
What follows the last of our messages in a session follows the tip that was handed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scopes.history.messages import message_id_of
from scopes.history.sources import Handover
from scopes.ids import BranchName, MessageId, Oid
from scopes.importers.formats.events import ByteRange, Draft
from scopes.importers.identity import content_bytes
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Objects


class WrittenRecords(NamedTuple):
    """Records of a session as it was stored last, and the message that they are.

    span: where they begin. content: None if it was purged. results: the calls whose results they are.
    spans: the messages of all of them: an agent may have one answer where the conversation has several in a row.
    """

    span: ByteRange
    native_ids: tuple[str, ...]
    message: MessageId
    content: bytes | None = None
    results: tuple[object, ...] = ()
    spans: tuple[tuple[ByteRange, MessageId], ...] = ()


class WrittenMessages(NamedTuple):
    """The messages that a session has from the conversation.

    branch: the branch of what the agent adds.
    commits: the commits of the messages up to the tip that was handed over.
    by_span: the messages and their content by where they begin; empty if the session has others there now.
    by_native_id: the messages by the ids that the agent has for them.
    answered: the calls whose results are in the messages.
    spans: the message of each record, as far as the session has the same bytes.
    """

    branch: BranchName
    commits: Mapping[MessageId, Oid]
    by_span: Mapping[ByteRange, tuple[MessageId, bytes | None]]
    by_native_id: Mapping[str, MessageId]
    answered: frozenset[object]
    spans: Mapping[ByteRange, MessageId]

    def find(self, draft: Draft) -> tuple[MessageId, Oid] | None:
        """Return the message and commit that a draft is; None if the agent has added it, or something to it."""
        named = (self.by_native_id[name] for name in draft.native_ids if name in self.by_native_id)
        identity = next(named, None)
        known = self.by_span.get(draft.spans[0]) if draft.spans else None
        if identity is None and known is not None and known[1] in {None, content_bytes(draft)}:
            identity = self.spans.get(draft.spans[-1], known[0])
        return None if identity is None else (identity, self.commits[identity])

    def is_repeated(self, draft: Draft, messages: Mapping[str, MessageId]) -> bool:
        """Return True if a message has only results that our messages have: Gemini CLI writes them once more.

        `messages` are those of the calls so far: a model may give a call of its own the id of an old one.
        """
        calls = [part.fields.get("call_id") for part in draft.parts if part.type == "tool_result"]
        is_old = all(call in self.answered and messages.get(str(call)) in self.commits for call in calls)
        return bool(calls) and len(calls) == len(draft.parts) and is_old


def read_written_messages(
    objects: Objects,
    tips: Iterable[Oid],
    handover: Handover,
    written: Iterable[WrittenRecords],
    *,
    has_same_bytes: bool,
) -> WrittenMessages | None:
    """Return the messages that a session has from the conversation; None if the tip is no longer in the store.

    tips: commits to look for the tip from, the likely ones first: an open message may have several commits.
    written: the records of the session as it was stored last; `has_same_bytes` tells whether it still begins with them.
    """
    found = (commit for tip in tips for commit in walk_newest_first(objects, [tip]))
    tip = next((commit.oid for commit in found if message_id_of(commit) == handover.tip), None)
    if tip is None:
        return None
    commits: dict[MessageId, Oid] = {}
    for commit in walk_newest_first(objects, [tip]):
        commits.setdefault(message_id_of(commit), commit.oid)
    known = [each for each in written if each.message in commits]
    return WrittenMessages(
        handover.branch,
        commits,
        {each.span: (each.message, each.content) for each in known} if has_same_bytes else {},
        {name: each.message for each in known for name in each.native_ids},
        frozenset(call for each in known for call in each.results),
        dict(pair for each in known for pair in each.spans) if has_same_bytes else {},
    )
