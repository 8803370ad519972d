"""What was amended or retracted after an entry was made of it is not told any more: entries as they hold today.

An entry stays as it was written; what it has of such a message, its decisions, its things to do and its sentences, is
left out whenever it is told, and how many messages that were is said. An amendment is news, for an entry of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from scopes.conversation.heads import read_message, walk_heads_newest_first
from scopes.conversation.lookup import branch_tips
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.memory.composing import actions_of, clip, decisions_of, sentences_of, topics_of
from scopes.memory.covered import Said
from scopes.memory.entry import Entry, Sources
from scopes.memory.standing import read_touched
from scopes.model.keys import leaf
from scopes.store.repository import Repository

NOTHING_LEFT = "(all that was said was amended or retracted)"


def walk_standing(repository: Repository, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries in their order, without what was amended or retracted since on the branch that they tell of."""
    tips: dict[ConversationId, dict[BranchName, Oid]] = {}
    touched: dict[Oid, set[str]] = {}
    for entry in entries:
        if entry.conversation is None or entry.branch is None or not entry.sources.messages:
            yield entry
            continue
        if entry.conversation not in tips:
            tips[entry.conversation] = branch_tips(repository, entry.conversation)
        tip = tips[entry.conversation].get(entry.branch)
        if tip is not None and tip not in touched:
            touched[tip] = read_touched(repository, tip)
        places = touched[tip] if tip is not None else set()
        gone = tuple(m for m in entry.sources.messages if places and leaf("messages", m) in places)
        yield _without(repository, entry, gone) if gone else entry


def _without(repository: Repository, entry: Entry, gone: tuple[MessageId, ...]) -> Entry:
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
