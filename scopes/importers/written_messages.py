"""Recognize the messages that `checkout` has written into a session of an agent: they are in the conversation already.

Agents that append leave the bytes before as they are, and those that write a session anew keep the ids of its messages.
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
from scopes.store.repository import Objects


class WrittenDraft(NamedTuple):
    """A draft of a session as it was stored last, and the message that it is."""

    draft: Draft
    message: MessageId


class WrittenMessages(NamedTuple):
    """The messages that a session has from the conversation.

    branch: the branch of what the agent adds.
    commits: the commits of the messages up to the tip that was handed over.
    by_span: the messages and their content by where they begin; empty if the session has others there now.
    by_native_id: the messages by the ids that the agent has for them.
    """

    branch: BranchName
    commits: Mapping[MessageId, Oid]
    by_span: Mapping[ByteRange, tuple[MessageId, bytes]]
    by_native_id: Mapping[str, MessageId]

    def find(self, draft: Draft) -> tuple[MessageId, Oid] | None:
        """Return the message and commit that a draft is; None if the agent has added it, or something to it."""
        known = self.by_span.get(draft.spans[0]) if draft.spans else None
        if known is not None:
            identity: MessageId | None = known[0] if content_bytes(draft) == known[1] else None
        elif self.by_span:
            identity = None
        else:
            named = (self.by_native_id[name] for name in draft.native_ids if name in self.by_native_id)
            identity = next(named, None)
        return None if identity is None else (identity, self.commits[identity])


def read_written_messages(
    objects: Objects, tips: Iterable[Oid], handover: Handover, drafts: Iterable[WrittenDraft], *, has_same_bytes: bool
) -> WrittenMessages | None:
    """Return the messages that a session has from the conversation; None if the tip is no longer in the store.

    tips: commits to look for the tip from.
    drafts: those of the session as it was stored last; `has_same_bytes` tells whether it still begins with them.
    """
    tip = next((c.oid for c in walk_newest_first(objects, tips) if message_id_of(c) == handover.tip), None)
    if tip is None:
        return None
    commits: dict[MessageId, Oid] = {}
    for commit in walk_newest_first(objects, [tip]):
        commits.setdefault(message_id_of(commit), commit.oid)
    known = [each for each in drafts if each.message in commits]
    by_span = {each.draft.spans[0]: (each.message, content_bytes(each.draft)) for each in known if each.draft.spans}
    return WrittenMessages(
        handover.branch,
        commits,
        by_span if has_same_bytes else {},
        {name: each.message for each in known for name in each.draft.native_ids},
    )
