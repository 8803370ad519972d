"""Rewrite the histories of conversations without purged content; messages keep their ids, commits get new ones.

A purged message keeps its place. Its changes of the state are reverted from there on: the earlier value comes back,
unless a later message has made the same claim again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from scopes.errors import Corrupt
from scopes.history.messages import MESSAGE_FILE, NO_TEXT, STATE_DIRECTORY, is_root
from scopes.history.sources import Parts, Purged
from scopes.ids import Oid
from scopes.importers.purged_texts import Quotes, parse_json, walk_named_texts
from scopes.model import canonical_json
from scopes.model.conversation import decode_root
from scopes.model.message import CONFLICTS, FILES, PARTICIPANTS, TYPED_KINDS, Message, claims_of, decode, purge_message
from scopes.purge.rewrite_conflicts import ConflictRewriter, without_resolution
from scopes.store.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    TREE,
    BlobChange,
    Commit,
    Objects,
    TreeEntry,
    diff_blobs,
    edit_commit,
    find_entry,
    format_tree,
    object_id,
    parse_tree,
    read_blob,
    read_commit,
    read_data,
    update_tree,
)

Claim = tuple[str, Oid]
"""A path of the state and the blob that a purged message has put there."""
_NO_CLAIMS: Final[frozenset[Claim]] = frozenset()
# Fields of documents with names, which others give to other things, too.
NAMES: Final = frozenset(
    {"actor", "agent", "author", "branch", "capabilities", "conversation", "dependencies", "directory", "entity_id",
     "from", "id", "key", "keys", "kind", "name", "native_id", "parent", "path", "purpose", "source", "subject", "tags",
     "target", "topic", "topics", "uuid"}
)  # fmt: skip


class HistoryRewriter:
    """Rewrites commits of conversations, given parents first.

    Attributes:
        commits: The new commit of every commit that changes; None if it is removed.
        messages: The ids of the messages that are purged now.
        parts: How many parts of messages are purged now.
        roots: The root commits of the conversations that are purged now.
        uuids: The uuids of these conversations.
        blobs: The blobs with purged messages.
        purged_commits: The commits with them.
        gone: The ids of the messages of purged conversations.
        quotes: The texts of what is purged.
        lost_quotes: Those of them that no kept message with the same id has, after `finish`.
        lost: The ids of the messages of which nothing is kept anywhere, after `finish`.
    """

    def __init__(self, objects: Objects, purged: Purged) -> None:
        self._objects = objects
        self._purged = purged
        self._removed: dict[Claim, Oid | None] = {}
        self._kept: dict[Oid, frozenset[Claim]] = {}
        self._states: dict[tuple[Oid, frozenset[Claim]], Oid] = {}
        self._blobs: dict[Oid, tuple[Oid, Message]] = {}
        self._conflicts = ConflictRewriter(objects, self._is_purged_whole)
        self.commits: dict[Oid, Oid | None] = {}
        self.messages: dict[str, Parts] = {}
        self.parts = 0
        self.roots: set[Oid] = set()
        self.uuids: set[str] = set()
        self.blobs: set[Oid] = set()
        self.purged_commits: set[str] = set()
        self.gone: set[str] = set()
        self.quotes = Quotes()
        self.lost_quotes = Quotes()
        self.lost: frozenset[str] = frozenset()
        self._dropped: dict[Oid, str] = {}  # blobs of messages of purged conversations, with the id
        self._left: dict[str, set[Oid]] = {}  # messages of others, with their trees

    def rewrite(self, commit: Commit, data: bytes) -> None:
        """Rewrite one commit, if it or a commit in its history is purged."""
        if self._is_gone(commit):
            self._drop(commit)
            return
        if commit.message_id is not None:
            self._left.setdefault(commit.message_id, set()).add(commit.tree)
        parents = tuple(self.commits.get(parent) or parent for parent in commit.parents)
        is_listed = commit.message_id is not None and self._purged.has_message(commit.message_id)
        if parents == commit.parents and not is_listed:
            return
        entries = parse_tree(read_data(self._objects, commit.tree, TREE))
        new = self._purge(commit, entries) if is_listed else None
        if parents == commit.parents and new is None:
            return
        self._replace_state(commit, entries)
        subject, kind = None, None
        if new is not None:
            subject, kind = new.text.strip() or NO_TEXT, new.kind
        tree = self._objects.write(TREE, format_tree(entries.values()))
        written = edit_commit(data, tree, parents, subject=subject, kind=kind)
        self.commits[commit.oid] = self._objects.write(COMMIT, written)

    def finish(self) -> None:
        """Find content of purged conversations that others keep, such as a redacted copy; call it at the end."""
        whole = {message for message, parts in self.messages.items() if parts is None}
        self.lost = frozenset(whole | {each for each in self.gone if not self.is_left(each)})
        for blob, message in self._dropped.items():
            found, kept = Quotes(), Quotes()
            _add_texts(found, read_blob(self._objects, blob), None)
            for data in self.read_kept(message) if self.is_left(message) else ():
                _add_texts(kept, data, None)
            found.drop(kept.texts)
            self.lost_quotes.add([*found.texts])

    def read_kept(self, message: str) -> Iterator[bytes]:
        """Yield the stored bytes of all kept copies of a message; call it after everything was rewritten."""
        for tree in self._left.get(message, ()):
            entry = find_entry(self._objects, tree, MESSAGE_FILE)
            if entry is not None and not entry.is_tree:
                yield read_blob(self._objects, entry.oid)

    def is_left(self, message: str) -> bool:
        """Return True if a copy of a message is kept with its content; call it after everything was rewritten."""
        return message in self._left and not self._is_purged_whole(message)

    def _is_gone(self, commit: Commit) -> bool:
        if is_root(commit) and self._purged.has_conversation(commit.oid):
            return True
        return any(parent in self.commits and self.commits[parent] is None for parent in commit.parents)

    def _drop(self, commit: Commit) -> None:
        """Record the message, blobs and texts of a commit of a purged conversation."""
        self.commits[commit.oid] = None
        entry = find_entry(self._objects, commit.tree, MESSAGE_FILE)
        if entry is None:
            return
        data = read_blob(self._objects, entry.oid)
        if is_root(commit):
            self.roots.add(commit.oid)
            self.uuids.add(decode_root(data).uuid)
        elif commit.message_id is not None:
            self.gone.add(commit.message_id)
            self._dropped[entry.oid] = commit.message_id
            _add_texts(self.quotes, data, None)

    def _purge(self, commit: Commit, entries: dict[str, TreeEntry]) -> Message | None:
        """Replace the message of a commit by its purged form; return that, None if it was purged before."""
        entry = entries.get(MESSAGE_FILE)
        if entry is None or entry.is_tree or commit.message_id is None:
            return None
        parts = self._purged.parts_of(commit.message_id)
        if entry.oid not in self._blobs:
            data = read_blob(self._objects, entry.oid)
            try:
                new = purge_message(data, parts)
            except Corrupt:
                return None
            if new == data:
                return None
            for quotes in (self.quotes, self.lost_quotes):
                _add_texts(quotes, data, parts)
            self._blobs[entry.oid] = self._objects.write(BLOB, new), decode(new)
            self.blobs.add(entry.oid)
            self.parts += 0 if parts is None else len(parts)
        self.purged_commits.add(commit.oid)
        blob, message = self._blobs[entry.oid]
        entries[MESSAGE_FILE] = TreeEntry(MESSAGE_FILE, blob, is_tree=False)
        self.messages[commit.message_id] = parts
        self._find_removed(commit, entries, message, only_files=parts is not None)
        return message

    def _find_removed(
        self, commit: Commit, entries: Mapping[str, TreeEntry], message: Message, *, only_files: bool
    ) -> None:
        """Record the claims that the message has added to the state, with the values that replace them."""
        state = entries.get(STATE_DIRECTORY)
        if state is None:
            return
        before = [self._state_of(parent) for parent in commit.parents]
        changed = [set(self._walk_new(each, state.oid)) for each in before or [None]]
        first = self.commits.get(commit.parents[0]) or commit.parents[0] if commit.parents else None
        old = None if first is None else self._state_of(first)
        claims = {} if only_files else dict(claims_of(message, lambda _path: None, None))
        for path, blob in set.intersection(*changed):
            top = path.partition("/")[0]
            if only_files and top == FILES:
                self._removed[path, blob] = self._without_hash(blob, message)
            elif not only_files and top == CONFLICTS:
                self._removed[path, blob] = self._objects.write(
                    BLOB, without_resolution(read_blob(self._objects, blob))
                )
            elif not only_files and path in claims:
                self._removed[path, blob] = self._objects.write(BLOB, claims[path])
            elif not only_files and top != PARTICIPANTS:
                found = None if old is None else find_entry(self._objects, old, path)
                self._removed[path, blob] = None if found is None or found.is_tree else found.oid

    def _without_hash(self, blob: Oid, message: Message) -> Oid:
        """Rewrite the claim of a file without the hash of its content."""
        match canonical_json.load(read_blob(self._objects, blob)):
            case {"operation": str(operation), **rest} if {"content", "derived"} & rest.keys():
                return self._objects.write(BLOB, canonical_json.dump({"operation": operation, "unknown": message.id}))
        return blob

    def _walk_new(self, before: Oid | None, after: Oid) -> Sequence[Claim]:
        return [(path, blob) for path, _, blob in diff_blobs(self._objects, before, after) if blob is not None]

    def _state_of(self, commit: Oid) -> Oid | None:
        entry = find_entry(self._objects, read_commit(self._objects, commit).tree, STATE_DIRECTORY)
        return None if entry is None else entry.oid

    def _replace_state(self, commit: Commit, entries: dict[str, TreeEntry]) -> None:
        """Restore the values that the state had before purged messages."""
        state = entries.get(STATE_DIRECTORY)
        if state is None:
            return
        kept = frozenset().union(*(self._kept.get(parent, _NO_CLAIMS) for parent in commit.parents))
        kept |= self._list_own_claims(commit, entries)
        if kept:
            self._kept[commit.oid] = kept
        if (state.oid, kept) not in self._states:
            changes: dict[str, BlobChange] = {}
            for (path, blob), before in self._removed.items():
                if (path, blob) not in kept:
                    found = find_entry(self._objects, state.oid, path)
                    if found is not None and found.oid == blob:
                        changes[path] = before
            new = update_tree(self._objects, state.oid, changes) if changes else state.oid
            self._states[state.oid, kept] = self._conflicts.rewrite_state(new)
        tree = self._states[state.oid, kept]
        if tree == EMPTY_TREE:
            del entries[STATE_DIRECTORY]
        else:
            entries[STATE_DIRECTORY] = TreeEntry(STATE_DIRECTORY, tree, is_tree=True)

    def _is_purged_whole(self, message: str) -> bool:
        return self._purged.has_message(message) and self._purged.parts_of(message) is None

    def _list_own_claims(self, commit: Commit, entries: Mapping[str, TreeEntry]) -> frozenset[Claim]:
        """Return the claims that a kept message makes again after a purged one has made them."""
        if commit.kind not in TYPED_KINDS:
            return _NO_CLAIMS
        try:
            message = decode(read_blob(self._objects, entries[MESSAGE_FILE].oid))
        except Corrupt:
            return _NO_CLAIMS
        claims = dict(claims_of(message, lambda _path: None, None))
        removed = [(path, blob) for path, blob in self._removed if path in claims]
        return frozenset((path, blob) for path, blob in removed if object_id(BLOB, claims[path]) == blob)


def walk_inner_texts(document: object) -> Iterator[tuple[str, str]]:
    """Yield the texts of a document with their names, and those of documents that are texts in it."""
    for name, text in walk_named_texts(document):
        yield name, text
        if text.startswith(("{", "[")):
            yield from walk_named_texts(parse_json(text))


def _add_texts(quotes: Quotes, data: bytes, parts: Parts) -> None:
    """Add the texts of a stored message, or of parts of it; one that cannot be read has none."""
    with suppress(Corrupt):
        message = decode(data)
        quotes.add_parts(message.parts, parts)
        if parts is None:
            quotes.add([text for name, text in walk_inner_texts(message.payload) if name not in NAMES])
            quotes.add(message.task)
