"""Rewrite records about conversations: metadata, manifests, sources, memory, facts and lists.

Ids of rewritten commits are replaced by the new ones. Files about purged messages, and titles that quote them, are
removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any, Final

from scopes.errors import Corrupt
from scopes.history.sources import (
    DESCRIPTION_FILE,
    SET_FILE,
    SET_SUBJECT,
    Purged,
    file_of,
    read_source_record,
    source_key,
)
from scopes.history.transaction import AGENT_FILES, ALLOWED_FILES, INBOX_FILES
from scopes.ids import Oid
from scopes.importers.purged_texts import DISTINCT, Quotes, is_path, parse_json, walk_named_texts, walk_texts
from scopes.model import canonical_json
from scopes.model.conversation import MANIFEST_FILE
from scopes.model.message import PURGED_TEXT
from scopes.purge.lost_entries import uncover_lost
from scopes.purge.purged_metadata import (
    ENTRIES,
    TAGS,
    MetadataOf,
    advance_clock,
    advance_clocks,
    advance_tags,
    names_gone,
    without_gone,
)
from scopes.purge.purged_names import is_inbox_entry_of
from scopes.purge.rewrite_history import NAMES, HistoryRewriter, walk_inner_texts
from scopes.purge.rewrite_source import is_gone, purge_source
from scopes.store.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    TREE,
    Commit,
    Objects,
    TreeEntry,
    edit_commit,
    find_blob,
    find_entry,
    find_in_tree,
    format_tree,
    one_line,
    parse_tree,
    read_data,
)

_OID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_MESSAGE = re.compile(rb"(?<![a-z0-9])[a-z2-7]{26}(?![a-z0-9])")
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TITLES: Final = ("title", "meta/title")
# Files that name messages and stay: what they are about is more than one message.
_LISTS: Final = (
    "branches/", "tags/", "clocks/", "agents/", "inbox/", "allowed/", "messages/", "conversations/", "covered/",
    "meta/branches/", "meta/tags/", "meta/clocks/",
)  # fmt: skip
_REQUESTS: Final = ("merge-requests/", "meta/merge-requests/")  # which stay, without the texts that quote
_DESCRIBED: Final = (AGENT_FILES, INBOX_FILES, ALLOWED_FILES)  # which stay, too, without copies in what they say
_DISMISSED: Final = ("dismissed-decisions/", "meta/dismissed-decisions/")  # named by the message; with a reason
_REQUEST_FIELDS: Final = frozenset(
    {
        "id",
        "source",
        "target",
        "source_tip",
        "merge",
        "opened",
        "ended",
        "state",
        "requester",
        "requester_kind",
        "ended_by",
    }
)  # fmt: skip  - no texts of it
_TEXTS: Final = frozenset({"content", "decisions", "summary", "text", "topics"})  # of memory entries and facts
_STAYS: Final = frozenset({"next", "sequence", "directory", MANIFEST_FILE, SET_FILE, *_TITLES})


def _has(objects: Objects, tree: Oid, path: str) -> bool:
    return find_entry(objects, tree, path) is not None


def quotes_in_title(quotes: Quotes, title: str, *, is_own: bool) -> bool:
    """Return True if a title is removed because it quotes purged content.

    A short text in the title of another conversation may be there by chance, and is kept.

    is_own: whether the title is that of a conversation with a purged message
    """
    start = one_line(title).rstrip("…. ")
    if is_own and (
        start in quotes.texts or (len(start) >= DISTINCT and any(t.startswith(start) for t in quotes.texts))
    ):
        return True
    return quotes.are_in(title)


def is_copied_in(quotes: Quotes, data: bytes) -> bool:
    """Return True for a document of which a text has a line; names do not count. Other files count as one text."""
    if not quotes.are_in_bytes(data):
        return False
    document = parse_json(data)
    return document is None or any(_is_copy(quotes, name, text) for name, text in walk_inner_texts(document))


def _is_copy(quotes: Quotes, name: str, text: str) -> bool:
    return name not in NAMES and not is_path(text) and quotes.are_in(text)


def without_copies(quotes: Quotes, document: object, name: str = "") -> Any:
    """Return a document with [purged] in place of each text that makes `is_copied_in` True.

    name: of the field that the document is the value of
    """
    match document:
        case str(text):
            return PURGED_TEXT if _is_copy(quotes, name, text) else text
        case dict():
            return {key: without_copies(quotes, value, key) for key, value in document.items()}
        case list():
            return [without_copies(quotes, each, name) for each in document]
    return document


class RecordRewriter:
    """Rewrites commits that are not part of a history, given parents first, after all histories were rewritten.

    `commits` gets the new commit of every commit that changes; None if it is removed.
    """

    def __init__(self, objects: Objects, histories: HistoryRewriter, purged: Purged) -> None:
        self._objects = objects
        self._histories = histories
        self._purged = purged
        self._trees: dict[tuple[str, Oid, bool], Oid | None] = {}
        self._gone_paths: set[str] = set()  # of sources, in the list of where their files were
        self._requests: set[Oid] = set()  # merge requests that have lost a text
        self.changed: set[Oid] = set()  # blobs of others than purged conversations that go, or lose a text
        self.blanked: dict[Oid, int] = {}  # how many records go that are no messages, by the commit of the source
        self.commits = histories.commits
        self.own: frozenset[Oid] = frozenset()  # metadata and manifests of conversations with purged messages
        self.own_roots: frozenset[Oid] = frozenset()  # of these conversations
        self.metadata = MetadataOf(frozenset(), frozenset())
        self._is_own = False
        self.subject_without: Callable[[Commit], str | None] = lambda _: None  # without the names of those that go

    @property
    def _quotes(self) -> Quotes:
        return self._histories.lost_quotes

    def rewrite(self, commit: Commit, data: bytes) -> None:
        """Rewrite one commit, if its content or one of its parents changes."""
        if self._is_gone(commit):
            self.commits[commit.oid] = None
            return
        self._is_own = commit.oid in self.own
        parents = [new for parent in commit.parents if (new := self.commits.get(parent, parent)) is not None]
        is_quoted = commit.kind is None and self._quotes.are_in(commit.subject)  # that of a manifest is fixed
        subject = PURGED_TEXT if is_quoted else self.subject_without(commit)
        if find_blob(self._objects, commit.tree, DESCRIPTION_FILE) is not None:
            tree = purge_source(
                self._objects,
                commit.tree,
                self._purged,
                self._histories.quotes,
                gone=self._histories.messages,
                own_roots=self.own_roots,
                substitute=self.substitute,
                read_message=self._histories.read_kept,
                note_others=lambda count: self.blanked.update({commit.oid: count}),
            )
        else:
            tree = uncover_lost(self._objects, commit.tree, self._rewrite_tree("", commit.tree) or EMPTY_TREE)
            for path in _TITLES if tree not in {commit.tree, EMPTY_TREE} else ():
                if _has(self._objects, commit.tree, path) and not _has(self._objects, tree, path):
                    top, _, register = path.rpartition("/")  # or a join would bring it back
                    tree = advance_clock(self._objects, tree, register, top=f"{top}/" if top else "")
            if tree not in {commit.tree, EMPTY_TREE}:
                tree = advance_tags(self._objects, commit.tree, tree)
            for folder in _REQUESTS if self._requests else ():
                tree = advance_clocks(self._objects, tree, folder, self._requests)
        if tree == EMPTY_TREE != commit.tree:
            self._objects.write(TREE, b"")
        if (tree, tuple(parents), subject) != (commit.tree, commit.parents, None):
            written = edit_commit(data, tree, parents, subject=subject)
            self.commits[commit.oid] = self._objects.write(COMMIT, written)

    def substitute(self, data: bytes) -> bytes:
        """Return a file with the new ids of the commits that it names; ids of removed commits become zeros."""

        def new(match: re.Match[bytes]) -> bytes:
            oid = Oid(match[0].decode())
            return match[0] if oid not in self.commits else (self.commits[oid] or "0" * 40).encode()

        return _OID.sub(new, data)

    def _is_gone(self, commit: Commit) -> bool:
        left = [parent for parent in commit.parents if self.commits.get(parent, parent) is not None]
        if len(left) < len(commit.parents) and not (left and is_set(self._objects, commit)):
            return True
        if not self._histories.roots:
            return False
        if is_gone(self._objects, commit.tree, self._histories.roots):
            record = read_source_record(self._objects, commit.oid)
            key = source_key(record.format, record.native_id, record.part)
            self._gone_paths.add(file_of(key))
            return True
        return self.metadata.is_gone(self._objects, commit, self.commits)

    def _rewrite_tree(self, path: str, tree: Oid) -> Oid | None:
        """Return the tree without removed files; None if it is empty. A tree is rewritten once for each path."""
        key = path, tree, self._is_own
        if key in self._trees:
            return self._trees[key]
        entries = parse_tree(read_data(self._objects, tree, TREE))
        new: list[TreeEntry] = []
        for entry in entries.values():
            here = path + entry.name
            if (
                entry.is_tree and entry.name in self._histories.uuids
            ):  # the facts of a conversation, or what memory covers
                continue
            found = self._rewrite_tree(f"{here}/", entry.oid) if entry.is_tree else self._rewrite_file(here, entry.oid)
            if found is not None:
                new.append(entry._replace(oid=found))
        result: Oid | None = tree
        if not new and entries:
            result = None
        elif new != [*entries.values()]:
            result = self._objects.write(TREE, format_tree(new))
        self._trees[key] = result
        return result

    def _rewrite_file(self, path: str, blob: Oid) -> Oid | None:
        if path in self._gone_paths:
            return None
        data = read_data(self._objects, blob, BLOB)
        if self._goes(path, data):
            if path.startswith(TAGS):
                self.changed.add(blob)
            return None
        if path == MANIFEST_FILE:
            new = self.substitute(self._without_title(data))
        elif path.startswith(ENTRIES):
            new = self.substitute(without_gone(data, self.commits))
        elif path.startswith((*_REQUESTS, *_DESCRIBED)):
            new = self._rewrite_document(path, blob, data)
        elif path not in _STAYS and not path.startswith(_LISTS) and self._is_about(path, data):
            if not _names_one(data, self._histories.uuids):
                self.changed.add(blob)
            return None
        else:
            new = self.substitute(data)
        return blob if new == data else self._objects.write(BLOB, new)

    def _rewrite_document(self, path: str, blob: Oid, data: bytes) -> bytes:
        """Return a kept document without texts that quote purged content."""
        is_request = path.startswith(_REQUESTS)
        cleared = self._without_quotes(data) if is_request else self._without_copies(data)
        new = self.substitute(cleared)
        if cleared != data:
            self.changed.add(blob)
            if is_request:
                self._requests.add(self._objects.write(BLOB, new))
        return new

    def _goes(self, path: str, data: bytes) -> bool:
        """Return True for a removed file: an inbox entry about purged content, a title that quotes it, or its tag."""
        if is_inbox_entry_of(path, data, self._histories.uuids, self._histories.lost & self._histories.gone):
            return True
        if path in _TITLES:
            return quotes_in_title(self._quotes, data.decode("utf-8", "replace"), is_own=self._is_own)
        return path.startswith(TAGS) and names_gone(data, self.commits)

    def _without_title(self, data: bytes) -> bytes:
        """Return a manifest without a title or a prompt that quotes purged content.

        The prompt of a conversation with a purged message goes in any case: the next push writes the one that it has.
        """
        document: Any = canonical_json.load(data)
        if not isinstance(document, dict):
            return data
        gone = {
            name
            for name in ("title", "prompt")
            if isinstance(text := document.get(name), str)
            and ((self._is_own and name == "prompt") or quotes_in_title(self._quotes, text, is_own=self._is_own))
        }
        return (
            canonical_json.dump({name: value for name, value in document.items() if name not in gone}) if gone else data
        )

    def _without_quotes(self, data: bytes) -> bytes:
        """Return a merge request in which each text that quotes purged content is replaced by [purged]."""
        try:
            document = canonical_json.load(data)
        except Corrupt:
            return canonical_json.dump({}) if self._quotes.are_in_bytes(data) else data
        if not isinstance(document, dict):
            return data
        quoted = False
        for name, value in document.items():
            if name not in _REQUEST_FIELDS and any(map(self._quotes.are_in, walk_texts(value))):
                document[name], quoted = PURGED_TEXT, True
        return canonical_json.dump(document) if quoted else data

    def _without_copies(self, data: bytes) -> bytes:
        """Return a document, such as that of an agent, in which each text that is a copy is replaced by [purged]."""
        if not is_copied_in(self._quotes, data):
            return data
        try:
            document = canonical_json.load(data)
        except Corrupt:
            return canonical_json.dump({})
        cleared = without_copies(self._quotes, document)
        return json.dumps(cleared, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"

    def _is_about(self, path: str, data: bytes) -> bool:
        """Return True for a file about a purged message or conversation, or with its text."""
        uuids, lost = self._histories.uuids, self._histories.lost
        if _has_one(_MESSAGE, data, lost) or (path.startswith(_DISMISSED) and _has_one(_MESSAGE, path.encode(), lost)):
            return True
        return _names_one(data, uuids) or is_copied_in(self._quotes, data)


def _names_one(data: bytes, uuids: Collection[str]) -> bool:
    """Return True for a file of one of the conversations: a field is the uuid; no text that mentions it."""
    if not _has_one(_UUID, data, uuids):
        return False
    try:
        document = canonical_json.load(data)
    except Corrupt:
        return True
    return any(text in uuids and name not in _TEXTS for name, text in walk_named_texts(document))


def _has_one(pattern: re.Pattern[bytes], data: bytes, names: Collection[str]) -> bool:
    return bool(names) and any(match.decode() in names for match in pattern.findall(data))


def is_set(objects: Objects, commit: Commit) -> bool:
    """Return True for a set of sources."""
    return commit.subject == SET_SUBJECT and find_in_tree(read_data(objects, commit.tree, TREE), SET_FILE) is not None
