"""The refs of the whole store that hold things of many conversations: what an operation changed in their trees.

Undo takes such an operation back path by path: what others changed in the same tree since does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.conversations import read_uuid
from scopes.history.revisions import conversation_ids
from scopes.ids import ConversationId, Oid
from scopes.model import encoding
from scopes.model.operation import Operation, RefChange
from scopes.model.path_encoding import decode_component
from scopes.store import refs
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import diff_blobs, find_entry, read_blob

SHARED: Final = frozenset({refs.AGENTS, refs.FACTS, refs.PROPOSED_FACTS, refs.MEMORY})
AGENT_FILES, INBOX_FILES, KEY_FILES = "agents/", "inbox/", "keys/"
COUNTERS: Final = frozenset({"next", "sequence"})
"""Files of refs/scopes/agents with the number that comes next: no number is given twice, so undo leaves them."""
_FACT_REFS = (refs.FACTS, refs.PROPOSED_FACTS)


class PathChange(NamedTuple):
    """What an operation did to one file; None if there is no file."""

    path: str
    before: Oid | None
    after: Oid | None


def tree_of(objects: Objects, commit: str | None) -> Oid | None:
    """Return the tree of a commit; None if there is no commit."""
    return None if commit is None else read_commit(objects, Oid(commit)).tree


def walk_path_changes(objects: Objects, change: RefChange) -> Iterator[PathChange]:
    """Yield the files of a shared ref that an operation changed, without counters.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    for path, before, after in diff_blobs(objects, tree_of(objects, change.old), tree_of(objects, change.new)):
        if change.ref != refs.AGENTS or path not in COUNTERS:
            yield PathChange(path, before, after)


class ConversationFilter:
    """Tells which operations changed a conversation, also by its facts, proposed facts and inbox entries.

    What changes agents belongs to no conversation, even if it delivers messages of one.
    """

    def __init__(self, repository: Repository, conversation: ConversationId) -> None:
        self._repository = repository
        self.conversation = conversation
        self._uuid: str | None = None
        with suppress(NotFound, StopIteration):  # it was deleted
            self._uuid = read_uuid(repository, conversation)

    def matches(self, record: Operation) -> bool:
        """Return True if an operation changed the conversation.

        Raises:
            NotFound, Corrupt: an object is missing or damaged.
        """
        if any(refs.conversation_of(change.ref) == self.conversation for change in record.changes):
            return True
        return any(self._is_inside(change) for change in record.changes if change.ref in SHARED)

    def _is_inside(self, change: RefChange) -> bool:
        if change.ref == refs.AGENTS:
            return self.conversation in _conversations_of_inboxes(self._repository, change)
        if change.ref not in _FACT_REFS or self._uuid is None:
            return False
        trees = (tree_of(self._repository, commit) for commit in (change.old, change.new))
        before, after = (None if tree is None else find_entry(self._repository, tree, self._uuid) for tree in trees)
        return before != after


def conversations_inside(repository: Repository, record: Operation) -> set[ConversationId]:
    """Return the conversations whose facts, proposed facts or inbox entries an operation changed; see above.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    found: set[ConversationId] = set()
    uuids: set[str] = set()
    for change in record.changes:
        if change.ref == refs.AGENTS:
            found |= _conversations_of_inboxes(repository, change)
        elif change.ref in _FACT_REFS:
            uuids |= {each.path.partition("/")[0] for each in walk_path_changes(repository, change)}
    return found | {name for name in map(NamesOfUuids(repository).find, uuids - {KEY_FILES[:-1]}) if name is not None}


class NamesOfUuids:
    """Finds the present id of a conversation by its uuid."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._names: dict[str, ConversationId] | None = None

    def find(self, uuid: str) -> ConversationId | None:
        """Return the id of a conversation; None if there is none of this uuid."""
        if self._names is None:
            self._names = {}
            for name in conversation_ids(self._repository):
                with suppress(NotFound, Corrupt, StopIteration):
                    self._names[read_uuid(self._repository, name)] = name
        return self._names.get(uuid)


def read_json(objects: Objects, blob: Oid | None) -> Mapping[str, Any]:
    """Return the JSON object of a blob; empty if there is none, or it is damaged."""
    if blob is None:
        return {}
    with suppress(Corrupt):
        document = encoding.load(read_blob(objects, blob))
        return document if isinstance(document, dict) else {}
    return {}


def decode_leaf(name: str) -> str:
    """Return the name that a file is called after, for a message; the file name itself if it is none."""
    with suppress(Invalid):
        return decode_component(name.removesuffix("="))
    return name


def _conversations_of_inboxes(objects: Objects, change: RefChange) -> set[ConversationId]:
    changes = list(walk_path_changes(objects, change))
    if any(not each.path.startswith(INBOX_FILES) for each in changes):
        return set()
    entries = (read_json(objects, each.after or each.before) for each in changes)
    return {ConversationId(str(entry["conversation"])) for entry in entries if "conversation" in entry}
