"""What remains of an entry when some of its messages do not count any more; few entries need it, and it loads much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scopes.conversation.heads import read_message, walk_heads_newest_first
from scopes.ids import MessageId
from scopes.memory.composing import actions_of, clip, decisions_of, sentences_of, topics_of
from scopes.memory.covered import Said
from scopes.memory.entry import Entry, Sources
from scopes.store.repository import Repository

NOTHING_LEFT = "(all that was said was amended or retracted)"


def without(repository: Repository, entry: Entry, gone: tuple[MessageId, ...]) -> Entry:
    """Leave out of an entry what only the messages that are gone have said."""
    said = list(_read(repository, entry.sources))
    lost, kept = [s for s in said if s.head.id in gone], [s for s in said if s.head.id not in gone]
    decisions = {*decisions_of(lost)} - {*decisions_of(kept)}
    actions = {item.text for item in actions_of(lost, entry.id)} - {item.text for item in actions_of(kept, entry.id)}
    sentences = {*map(clip, sentences_of(lost))} - {*map(clip, sentences_of(kept))}
    summary = "\n".join(line for line in entry.summary.splitlines() if line not in sentences)
    return replace(
        entry,
        summary=summary if summary.strip() else NOTHING_LEFT,
        topics=topics_of(kept),
        decisions=tuple(decision for decision in entry.decisions if decision not in decisions),
        action_items=tuple(item for item in entry.action_items if item.text not in actions),
        withdrawn=gone,
    )


def _read(repository: Repository, sources: Sources) -> Iterator[Said]:
    """Read the messages as they were when the entry was made, the newest first."""
    wanted = set(sources.messages)
    if sources.tip is None or not repository.has(sources.tip):
        return
    for head in walk_heads_newest_first(repository, [sources.tip]):
        if head.id in wanted:
            wanted.discard(head.id)
            yield Said(head, read_message(repository, head.oid))
        if not wanted:
            return
