"""What remains of an entry when some of its messages do not count any more; few entries need it, and it loads much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from scopes.history.messages import read_message, walk_heads_newest_first
from scopes.history.revparse import list_branch_tips
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.loading import load
from scopes.memory.amended_sources import read_amended
from scopes.memory.entry import Entry, Sources
from scopes.memory.extract import actions_of, clip, decisions_of, sentences_of, topics_of
from scopes.memory.source_messages import SourceMessage
from scopes.model.path_encoding import leaf
from scopes.store.repository import Repository

NOTHING_LEFT = "(all that was said was amended or retracted)"


def drop_sources(repository: Repository, entry: Entry, gone: tuple[MessageId, ...]) -> Entry:
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


def _read(repository: Repository, sources: Sources) -> Iterator[SourceMessage]:
    """Read the messages as they were when the entry was made, the newest first."""
    wanted = set(sources.messages)
    if sources.tip is None or not repository.has(sources.tip):
        return
    for head in walk_heads_newest_first(repository, [sources.tip]):
        if head.id in wanted:
            wanted.discard(head.id)
            yield SourceMessage(head, read_message(repository, head.oid))
        if not wanted:
            return


def walk_current_entries(repository: Repository, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries in their order, without what was amended or retracted since on the branch that they tell of."""
    tips: dict[ConversationId, dict[BranchName, Oid]] = {}
    touched: dict[Oid, set[str]] = {}
    for entry in entries:
        if entry.conversation is None or entry.branch is None or not entry.sources.messages:
            yield entry
            continue
        if entry.conversation not in tips:
            tips[entry.conversation] = list_branch_tips(repository, entry.conversation)
        tip = tips[entry.conversation].get(entry.branch)
        if tip is not None and tip not in touched:
            touched[tip] = read_amended(repository, tip)
        places = touched[tip] if tip is not None else set()
        gone = tuple(m for m in entry.sources.messages if places and leaf("messages", m) in places)
        yield load("scopes.memory.current_entries:drop_sources")(repository, entry, gone) if gone else entry
