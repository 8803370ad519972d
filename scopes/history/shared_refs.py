"""The refs of the whole store that hold things of many conversations: what an operation changed in their trees.

Undo takes such an operation back path by path: what others changed in the same tree since does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final, NamedTuple

from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.conversations import read_uuid
from scopes.history.revisions import conversation_ids
from scopes.ids import ConversationId, Oid
from scopes.model import encoding
from scopes.model.operation import Operation, RefChange
from scopes.model.path_encoding import decode_component, encode_component
from scopes.store import refs
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import diff_blobs, find_entry, read_blob

SHARED: Final = frozenset({
    refs.AGENTS, refs.FACTS, refs.PROPOSED_FACTS, refs.MEMORY, refs.COMMITS, refs.SECRETS, refs.SOURCE_PATHS,
})  # fmt: skip
AGENT_FILES, INBOX_FILES, KEY_FILES, ALLOWED_FILES = "agents/", "inbox/", "keys/", "allowed/"
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


def find_tree(objects: Objects, commit: str | None, directory: str) -> Oid | None:
    """Return a directory in the tree of a commit; None if there is none."""
    tree = tree_of(objects, commit)
    entry = None if tree is None else find_entry(objects, tree, directory.rstrip("/"))
    return entry.oid if entry is not None and entry.is_tree else None


def walk_path_changes(objects: Objects, change: RefChange) -> Iterator[PathChange]:
    """Yield the files of a shared ref that an operation changed, without counters.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    for path, before, after in diff_blobs(objects, tree_of(objects, change.old), tree_of(objects, change.new)):
        if change.ref != refs.AGENTS or path not in COUNTERS:
            yield PathChange(path, before, after)


def walk_changes_below(objects: Objects, change: RefChange, directory: str) -> Iterator[PathChange]:
    """Yield the files below a directory of a shared ref that an operation changed, by path, which begins below it.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    before, after = (find_tree(objects, value, directory) for value in (change.old, change.new))
    if before != after:
        yield from (PathChange(*each) for each in sorted(diff_blobs(objects, before, after), key=itemgetter(0)))


class ConversationFilter:
    """Tells which operations changed a conversation, also by its facts, proposed facts and inbox entries.

    What changes agents belongs to no conversation, even if it delivers messages of one.
    """

    def __init__(self, repository: Repository, conversation: ConversationId) -> None:
        self._repository = repository
        self.conversation = conversation
        self._entries = EntryConversations(repository)
        self._uuid: str | None = None
        with suppress(NotFound):  # it was deleted
            self._uuid = read_uuid(repository, conversation)

    def matches(self, record: Operation) -> bool:
        """Return True if an operation changed the conversation.

        Raises:
            NotFound, Corrupt: an object is missing or damaged.
        """
        if any(refs.conversation_of(change.ref) == self.conversation for change in record.changes):
            return True
        return any(self._is_inside(change) for change in record.changes if change.ref in SHARED)

    def has_entry(self, entry: Mapping[str, Any]) -> bool:
        """Return True if an inbox entry is for a message of the conversation, whatever its id was then."""
        uuid = None if self._uuid is None else self._entries.find_uuid(entry)
        return entry.get("conversation") == self.conversation if uuid is None else uuid == self._uuid

    def _is_inside(self, change: RefChange) -> bool:
        if change.ref == refs.AGENTS:
            return any(map(self.has_entry, _inbox_entries(self._repository, change)))
        if change.ref not in _FACT_REFS or self._uuid is None:
            return False
        trees = (tree_of(self._repository, commit) for commit in (change.old, change.new))
        name = encode_component(self._uuid)  # another person's store may have any text there
        before, after = (None if tree is None else find_entry(self._repository, tree, name) for tree in trees)
        return before != after


def conversations_inside(repository: Repository, record: Operation) -> set[ConversationId]:
    """Return the conversations whose facts, proposed facts or inbox entries an operation changed; see above.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    found: set[ConversationId] = set()
    uuids: set[str] = set()
    entries = EntryConversations(repository)
    for change in record.changes:
        if change.ref == refs.AGENTS:
            found |= set(map(entries.find_id, _inbox_entries(repository, change)))
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
                with suppress(NotFound, Corrupt):
                    self._names[read_uuid(self._repository, name)] = name
        return self._names.get(uuid)


class EntryConversations:
    """Finds the conversations of inbox entries, which keep their uuids when they are renamed."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._names = NamesOfUuids(repository)
        self._by_id: dict[str, str | None] = {}

    def find_uuid(self, entry: Mapping[str, Any]) -> str | None:
        """Return the uuid of the conversation of an entry; None if it has none."""
        uuid = entry.get("uuid")
        return uuid if isinstance(uuid, str) else None

    def find_id(self, entry: Mapping[str, Any]) -> ConversationId:
        """Return the present id of the conversation of an entry.

        If the conversation was deleted, it is the id from then; or the uuid if another conversation has that id now.
        """
        stored, uuid = ConversationId(str(entry.get("conversation"))), self.find_uuid(entry)
        if uuid is None or self._uuid_of_id(stored) == uuid:
            return stored
        found = self._names.find(uuid)
        if found is None:
            return stored if self._uuid_of_id(stored) is None else ConversationId(uuid)
        return found

    def _uuid_of_id(self, name: ConversationId) -> str | None:
        if name not in self._by_id:
            self._by_id[name] = None
            with suppress(NotFound, Corrupt):
                self._by_id[name] = read_uuid(self._repository, name)
        return self._by_id[name]


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


def _inbox_entries(objects: Objects, change: RefChange) -> list[Mapping[str, Any]]:
    """Return the inbox entries that a change of the registry added or took out; none if it changed agents too."""
    changes = list(walk_path_changes(objects, change))
    if any(not each.path.startswith(INBOX_FILES) for each in changes):
        return []
    entries = (read_json(objects, each.after or each.before) for each in changes)
    return [entry for entry in entries if "conversation" in entry]
