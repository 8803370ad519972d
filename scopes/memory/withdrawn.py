"""What was amended or retracted after an entry was made of it is not told any more: entries as they hold today.

An entry stays as it was written; what it has of such a message, its decisions, its things to do and its sentences, is
left out whenever it is told, and how many messages that were is said. An amendment is news, for an entry of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scopes.conversation.lookup import branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.loading import load
from scopes.memory.entry import Entry
from scopes.memory.touched import read_touched
from scopes.model.keys import leaf
from scopes.store.repository import Repository


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
        yield load("scopes.memory.remains:without")(repository, entry, gone) if gone else entry
