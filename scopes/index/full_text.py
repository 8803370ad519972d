"""The search index: its tables, how texts become words, and how it follows the branches of a store.

message    one row for each message id, however many commits have it; author, author_kind, kind and model are
           `value`s; time is null if unknown
touched    the tools that a message calls, the files that it names and the outcomes of its tools, as `value`s
commits    every commit that a branch reaches, with its message; the root of a conversation has none
edge       a commit and one of its parents
place      the commits that a conversation reaches, conversations as `value`s
branch     the tips that were indexed
full_text  the words of a message by kind of part; its rowid is the number of the message

Change the version of LAYOUT whenever the tables, `tokenize` or the documents of messages change.

`hashsize` is the memory for words that are not in the file yet: larger runs need fewer merges.

The texts are not stored (`content=''`): they are in the store. `detail=full` needs four times the space of `none` and a
tenth of the time of a build; phrases, columns and ranking by BM25 need it in a table without contents.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sqlite3
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.index.sqlite_files import (
    READ_ERRORS,
    Connection,
    Layout,
    Opened,
    State,
    UnusableIndex,
    open_updated,
    read_property,
    without_purged,
)
from scopes.result import Note
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit, read_commit
from scopes.store.refs import HEADS, split_branch_ref
from scopes.store.repository import Repository, again_after_prunes

COLUMNS: Final = ("text", "reasoning", "tool_input", "tool_result")

_TABLES: Final = """
CREATE TABLE value (
    number INTEGER PRIMARY KEY, field TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (field, text)
) STRICT;
CREATE TABLE message (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, author INTEGER NOT NULL, author_kind INTEGER NOT NULL,
    kind INTEGER NOT NULL, model INTEGER, time INTEGER
) STRICT;
CREATE INDEX message_time ON message (time);
CREATE TABLE touched (
    value INTEGER NOT NULL, message INTEGER NOT NULL, PRIMARY KEY (value, message)
) STRICT, WITHOUT ROWID;
CREATE TABLE commits (number INTEGER PRIMARY KEY, oid TEXT NOT NULL UNIQUE, message INTEGER) STRICT;
CREATE INDEX commits_message ON commits (message);
CREATE TABLE edge (child INTEGER NOT NULL, parent INTEGER NOT NULL, PRIMARY KEY (child, parent)) STRICT, WITHOUT ROWID;
CREATE INDEX edge_parent ON edge (parent);
CREATE TABLE place (
    conversation INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (conversation, entry)
) STRICT, WITHOUT ROWID;
CREATE INDEX place_entry ON place (entry);
CREATE TABLE branch (
    conversation TEXT NOT NULL, name TEXT NOT NULL, tip INTEGER NOT NULL, PRIMARY KEY (conversation, name)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE full_text USING fts5(
    text, reasoning, tool_input, tool_result, content='', detail=full, tokenize='ascii'
);
INSERT INTO full_text (full_text, rank) VALUES ('hashsize', 16777216)"""
LAYOUT: Final = Layout("index.sqlite", version=5, tables=_TABLES)


SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
    "\u2190-\u23ff\u2500-\u2bff\U0001f000-\U0001faff"  # arrows, technical signs, shapes, emoji
)
FIRST_SINGLE = SINGLE[0]
_RANGES = tuple(zip(SINGLE[::3], SINGLE[2::3], strict=True))
_RUN = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_ASCII_WORD = re.compile(r"[0-9a-z]+")


@cache
def _word() -> re.Pattern[str]:
    """Compile the pattern for non-ASCII texts at its first use: it takes 8 ms."""
    return re.compile(rf"[{SINGLE}]|[^\W_{SINGLE}]+")


def fold(text: str) -> str:
    """Return a text in the form in which words are compared: lower case, compatibility forms replaced."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def tokenize(text: str) -> list[str]:
    """Return the words of a text, in order, folded."""
    return (_ASCII_WORD if text.isascii() else _word()).findall(fold(text))


def is_single(word: str) -> bool:
    """Return True if a word is one character of a script without spaces, or a symbol."""
    return len(word) == 1 and any(first <= word <= last for first, last in _RANGES)


def searchable(text: str) -> str:
    """Prepare a text for SQLite's `ascii` tokenizer, which folds and splits ASCII by itself.

    Only runs of other characters are folded, each with the ASCII character before it, as an accent may follow that.
    """
    return text if text.isascii() else _RUN.sub(lambda run: _searchable_run(run[0]), text)


@lru_cache(maxsize=1000)
def _searchable_run(run: str) -> str:
    """Fold a run, and put spaces between its words: the tokenizer takes all other characters than ASCII for letters."""
    words = [c if c.isascii() else f" {c} " if is_single(c) else c if c.isalnum() else " " for c in fold(run)]
    return "".join(words)


_INSERT_COMMIT = "INSERT INTO commits (number, oid, message) VALUES (?, ?, ?)"
_INSERT_EDGE = "INSERT INTO edge VALUES (?, ?)"
_INSERT_MESSAGE = """
    INSERT INTO message (number, id, author, author_kind, kind, model, time) VALUES (?, ?, ?, ?, ?, ?, ?)"""
_INSERT_TOUCHED = "INSERT INTO touched VALUES (?, ?)"
_INSERT_TEXT = "INSERT INTO full_text (rowid, text, reasoning, tool_input, tool_result) VALUES (?, ?, ?, ?, ?)"
_LAST_NUMBERS = "SELECT (SELECT max(number) FROM commits), (SELECT max(number) FROM message)"
_DELETE_TEXT = """
    INSERT INTO full_text (full_text, rowid, text, reasoning, tool_input, tool_result)
    VALUES ('delete', ?, ?, ?, ?, ?)"""
_MAX_REMEMBERED = 10_000


class IndexDocument(NamedTuple):
    """One message; `texts` are in the order of COLUMNS, `time` is in seconds since 1970, None if unknown.

    `touched` are pairs of a field and a value, such as `("tool", "Bash")`; fields: tool, file, is, exit.
    """

    id: MessageId
    author: str
    author_kind: str
    kind: str
    model: str | None
    time: int | None
    touched: tuple[tuple[str, str], ...]
    texts: tuple[str, str, str, str]


class Describe(Protocol):
    """Makes the documents of commits."""

    def __call__(self, commit: Commit, /) -> IndexDocument | None:
        """Return the document of a commit, None if it is not a message; raise NotFound or Corrupt."""

    def expect(self, count: Callable[[], int], /) -> None:
        """Take a function that counts the messages that are still to be added, for a progress bar."""


Tips: TypeAlias = Mapping[ConversationId, Mapping[BranchName, Oid]]

_PLACE_NEW = """
    WITH RECURSIVE reached (entry) AS (
        SELECT number FROM commits WHERE oid = :tip
        AND NOT EXISTS (SELECT 1 FROM place WHERE conversation = :conversation AND place.entry = number)
        UNION SELECT parent FROM edge JOIN reached ON edge.child = reached.entry
        WHERE NOT EXISTS (SELECT 1 FROM place WHERE conversation = :conversation AND place.entry = parent)
    ) INSERT INTO place SELECT :conversation, entry FROM reached"""
_IS_TOP = """
    SELECT NOT EXISTS (
        SELECT 1 FROM edge JOIN place ON place.entry = edge.child AND place.conversation = ? WHERE edge.parent = ?
    )"""
_DEAD_MESSAGES = """
    SELECT message.number, (SELECT oid FROM commits WHERE commits.message = message.number) FROM message
    WHERE NOT EXISTS (
        SELECT 1 FROM commits JOIN place ON place.entry = commits.number WHERE commits.message = message.number
    )"""
_DESCRIBED_BY_DEAD = """
    SELECT dead.oid, (
        SELECT other.oid FROM commits AS other JOIN place ON place.entry = other.number
        WHERE other.message = dead.message ORDER BY other.number LIMIT 1
    ) AS living FROM commits AS dead
    WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = dead.number) AND living IS NOT NULL
    AND dead.number = (SELECT min(number) FROM commits WHERE commits.message = dead.message)"""
_COUNT_CONVERSATIONS = "SELECT count(DISTINCT conversation) FROM branch"
_COUNT_UNREADABLE = """
    SELECT count(*) FROM commits WHERE message IS NULL AND EXISTS (SELECT 1 FROM edge WHERE child = number)"""
_DELETE_UNREACHABLE = (
    "DELETE FROM edge WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = child)",
    "DELETE FROM commits WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = number)",
)


class Writer:
    """Writes through one connection, in the current transaction; no other may add meanwhile."""

    def __init__(self, connection: sqlite3.Connection, repository: Repository, describe: Describe) -> None:
        self._connection = connection
        self._repository = repository
        self._describe = describe
        self._values: dict[tuple[str, str], int] = {}
        self._recent: dict[Oid, int] = {}  # numbers of the commits added last, which most commits follow
        found = connection.execute(_LAST_NUMBERS).fetchone()
        self._last_commit: int = found[0] or 0
        self._last_message: int = found[1] or 0

    def __contains__(self, oid: object) -> bool:
        """Return True if a commit is in the index."""
        return oid in self._recent or self._find("SELECT number FROM commits WHERE oid = ?", oid) is not None

    def number_of(self, oid: Oid) -> int:
        """Return the number of a commit that is in the index."""
        number = self._recent.get(oid) or self._find("SELECT number FROM commits WHERE oid = ?", oid)
        if number is None:
            raise NotFound(f"commit {oid} is not in the index")
        return number

    def value_number(self, field: str, text: str) -> int:
        """Return the number of a value of a field; add it if it is new. Values except conversation ids are folded."""
        number = self._values.get((field, text))
        if number is None:
            key = (field, text if field == "conversation" else fold(text).encode("utf-8", "replace").decode())
            self._connection.execute("INSERT OR IGNORE INTO value (field, text) VALUES (?, ?)", key)
            found = self._connection.execute("SELECT number FROM value WHERE field = ? AND text = ?", key).fetchone()
            if len(self._values) >= _MAX_REMEMBERED:
                self._values.clear()
            number = self._values[field, text] = int(found[0])
        return number

    def add(self, commit: Commit) -> None:
        """Add a commit whose parents are in the index, and its message if it is new and readable."""
        try:
            document = self._describe(commit)
        except (Corrupt, NotFound):
            document = None
        message = None if document is None else self._add_message(document)
        self._last_commit = number = self._last_commit + 1
        self._connection.execute(_INSERT_COMMIT, (number, commit.oid, message))
        edges = [(number, self.number_of(parent)) for parent in dict.fromkeys(commit.parents)]
        self._connection.executemany(_INSERT_EDGE, edges)
        if len(self._recent) >= _MAX_REMEMBERED:
            self._recent.clear()
        self._recent[commit.oid] = number

    def _add_message(self, document: IndexDocument) -> int:
        known = self._find("SELECT number FROM message WHERE id = ?", document.id)
        if known is not None:
            return known
        self._last_message = number = self._last_message + 1
        self._connection.execute(_INSERT_MESSAGE, (number, document.id, *self._fields(document)))
        self._connection.executemany(_INSERT_TOUCHED, [(value, number) for value in self._touched(document)])
        self._connection.execute(_INSERT_TEXT, (number, *map(searchable, document.texts)))
        return number

    def _find(self, statement: str, key: object) -> int | None:
        found = self._connection.execute(statement, (key,)).fetchone()
        return None if found is None else int(found[0])

    def _fields(self, document: IndexDocument) -> tuple[int | None, ...]:
        """Return the row of a message without its number and id."""
        return (
            self.value_number("author", document.author),
            self.value_number("author_kind", document.author_kind),
            self.value_number("kind", document.kind),
            None if document.model is None else self.value_number("model", document.model),
            document.time,
        )

    def list_new(self, tips: Mapping[BranchName, Oid]) -> list[Commit] | None:
        """Return the commits that are not in the index, parents first; None if the history is damaged."""
        try:
            return list(walk_oldest_first(self._repository, tips.values(), self))
        except (Corrupt, NotFound):
            return None

    def count_new(self, tips: Mapping[BranchName, Oid]) -> int:
        """Count the messages of a conversation that are not in the index; none if the history is damaged."""
        return len([commit for commit in self.list_new(tips) or () if commit.parents])

    def move(self, conversation: ConversationId, old: Mapping[BranchName, Oid], new: Mapping[BranchName, Oid]) -> bool:
        """Record the tips of a conversation and the commits that they reach; return True if commits were lost."""
        number = self.value_number("conversation", conversation)
        places = [{"tip": tip, "conversation": number} for tip in dict.fromkeys(new.values())]
        self._connection.executemany(_PLACE_NEW, places)
        tops = [self.number_of(oid) for oid in {*old.values()} - {*new.values()}]
        lost = any(self._connection.execute(_IS_TOP, (number, top)).fetchone()[0] for top in tops)
        if lost:
            self._connection.execute("DELETE FROM place WHERE conversation = ?", (number,))
            self._connection.executemany(_PLACE_NEW, places)
        self._connection.execute("DELETE FROM branch WHERE conversation = ?", (conversation,))
        rows = [(conversation, name, self.number_of(oid)) for name, oid in new.items()]
        self._connection.executemany("INSERT INTO branch VALUES (?, ?, ?)", rows)
        return lost

    def delete_unreachable(self) -> None:
        """Delete the commits that no branch reaches any more, and their messages.

        Raises:
            UnusableIndex: a message was described by a commit that goes, and by one that stays it is another: one may
                be purged where the other is not, as in a restored store.
        """
        try:
            for number, oid in self._connection.execute(_DEAD_MESSAGES).fetchall():
                self._remove(number, oid)
            for dead, living in self._connection.execute(_DESCRIBED_BY_DEAD).fetchall():
                if self._document(dead) != self._document(living):
                    raise UnusableIndex(None)
        except (Corrupt, NotFound) as error:
            raise UnusableIndex(None) from error
        for statement in _DELETE_UNREACHABLE:
            self._connection.execute(statement)

    def _remove(self, number: int, oid: Oid) -> None:
        """Delete a message. Its document is made again: a full-text table without contents needs the old texts."""
        document = self._document(oid)
        if document is None:
            raise NotFound(f"commit {oid} has no message")
        self._connection.execute(_DELETE_TEXT, (number, *map(searchable, document.texts)))
        touched = [(value, number) for value in self._touched(document)]
        self._connection.executemany("DELETE FROM touched WHERE value = ? AND message = ?", touched)
        self._connection.execute("DELETE FROM message WHERE number = ?", (number,))

    def _document(self, oid: Oid) -> IndexDocument | None:
        return self._describe(read_commit(self._repository, oid))

    def _touched(self, document: IndexDocument) -> set[int]:
        return {self.value_number(field, text) for field, text in document.touched}


def tips_by_conversation(refs: Mapping[str, str]) -> Tips:
    """Group the branch refs of a store by conversation."""
    tips: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in refs.items():
        parts = split_branch_ref(ref)
        if parts is not None:
            tips.setdefault(parts[0], {})[parts[1]] = Oid(oid)
    return tips


def digest_of(refs: Mapping[str, str]) -> str:
    """Return a digest that changes whenever a branch changes."""
    return hashlib.sha256("\n".join(f"{ref} {oid}" for ref, oid in refs.items()).encode()).hexdigest()


def sync_index(
    connection: sqlite3.Connection, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> int:
    """Update the index for these branches in the current transaction; return the number of commits read.

    Raises:
        UnusableIndex: the index must be rebuilt.
    """
    writer = Writer(connection, repository, describe)
    tips = tips_by_conversation(refs)
    before = _known_tips(connection)
    changed = [each for each in sorted({*before, *tips}) if before.get(each, {}) != tips.get(each, {})]
    describe.expect(lambda: sum(map(writer.count_new, (tips.get(each, {}) for each in changed))))
    read = 0
    lost = False
    for conversation in changed:
        new = tips.get(conversation, {})
        commits = writer.list_new(new)
        for commit in commits or ():
            writer.add(commit)
            read += 1
        lost |= writer.move(conversation, before.get(conversation, {}), {} if commits is None else new)
    if lost:
        writer.delete_unreachable()
    _save_status(connection, refs, len(tips))
    return read


def _known_tips(connection: sqlite3.Connection) -> Tips:
    found: dict[ConversationId, dict[BranchName, Oid]] = {}
    rows = connection.execute("SELECT conversation, name, oid FROM branch JOIN commits ON commits.number = tip")
    for conversation, name, oid in rows:
        found.setdefault(conversation, {})[name] = oid
    return found


def _save_status(connection: sqlite3.Connection, refs: Mapping[str, str], conversations: int) -> None:
    """Save the counts of IndexStatus, so that no query has to count."""
    covered = connection.execute(_COUNT_CONVERSATIONS).fetchone()[0]
    status = {
        "refs": digest_of(refs) if covered == conversations else "",  # a damaged history may be repaired the next time
        "conversations": covered,
        "damaged": conversations - covered,
        "branches": connection.execute("SELECT count(*) FROM branch").fetchone()[0],
        "messages": connection.execute("SELECT count(*) FROM message").fetchone()[0],
        "unreadable": connection.execute(_COUNT_UNREADABLE).fetchone()[0],
    }
    connection.executemany("INSERT OR REPLACE INTO property VALUES (?, ?)", list(status.items()))


_PAGE = 100


class IndexStatus(NamedTuple):
    """What the index covers, and how it was updated; `read` is the number of commits that were read for it.

    `damaged` conversations and `unreadable` messages are not in it.
    """

    state: State
    read: int
    conversations: int
    branches: int
    messages: int
    damaged: int
    unreadable: int


class IndexDamaged(Exception):
    """The index has impossible content; earlier results from it are not reliable either."""


class Index:
    """An up-to-date index of all messages that branches reach."""

    def __init__(self, connection: Connection, status: IndexStatus, notes: tuple[Note, ...]) -> None:
        self.status = status
        self.notes = notes
        self._connection = connection
        self._failure: BaseException | None = None

    def add_function(self, name: str, count: int, function: Callable[..., int]) -> None:
        """Make a function of `count` arguments that queries can call; `walk` raises what it raises."""

        def call(*arguments: object) -> int:
            value = None
            try:
                value = function(*arguments)
            finally:
                self._failure = sys.exc_info()[1] if value is None else None  # SQLite tells only that there was one
            return value

        self._connection.create_function(name, count, call)

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return its rows.

        Raises:
            IndexDamaged: the query fails.
        """
        return list(self.walk(statement, parameters))

    def walk(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows lazily; raise as `rows` does."""
        try:
            cursor = self._connection.execute(statement, parameters)
            while rows := cursor.fetchmany(_PAGE):
                yield from rows
        except READ_ERRORS as error:
            if self._failure is not None:
                raise self._failure from None
            raise IndexDamaged(str(error)) from error


@contextmanager
def open_index(directory: str, repository: Repository, describe: Describe, *, rebuild: bool = False) -> Iterator[Index]:
    """Open the index in a directory and update it; with `rebuild`, delete a damaged one first.

    Raises:
        Busy: each time that it was opened, objects were deleted meanwhile.
    """
    opened = again_after_prunes(
        repository.path, lambda: _open_unpurged(directory, repository, describe, rebuild=rebuild)
    )
    with contextlib.closing(opened.connection) as connection:
        try:
            properties: dict[str, Any] = dict(connection.execute("SELECT key, value FROM property"))
            counts = {name: int(properties[name]) for name in IndexStatus._fields[2:]}
        except (*READ_ERRORS, KeyError, ValueError, TypeError) as error:
            raise IndexDamaged(str(error)) from error
        yield Index(connection, IndexStatus(opened.state, opened.read, **counts), opened.notes)


def _open_unpurged(directory: str, repository: Repository, describe: Describe, *, rebuild: bool) -> Opened:
    """Open the index for the branches of now.

    Raises:
        Busy: a purge has deleted objects meanwhile, and with them the file, or will do so.
    """
    repository.forget_pruned()

    def is_current(connection: Connection) -> bool:
        return read_property(connection, "refs") == digest_of(refs)

    def update(connection: Connection) -> int:
        return sync_index(connection, repository, refs, describe)

    with without_purged(directory, repository.path) as prunes:
        refs = repository.list_refs(HEADS)
        opened = open_updated(
            directory, LAYOUT, repository.path, is_current, update, what="the search index", is_damaged=rebuild
        )
    if prunes.have_run():
        opened.connection.close()
        prunes.require_none()
    return opened
