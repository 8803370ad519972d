"""Fill the index of code lines from the conversations of a store, and ask it.

It is filled when `why` is first asked. Afterwards only conversations whose branches have changed are read again.
"""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Final, NamedTuple

from scopes.code_links.commit_calls import TOLERANCE, CommitCall
from scopes.code_links.conversation_edits import ConversationEdits, read_conversation_edits
from scopes.code_links.line_hash import hash_lines, hash_short, salt_of
from scopes.errors import Corrupt, NotFound
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.index.full_text import tips_by_conversation
from scopes.index.sqlite_files import Connection, DatabaseError, Layout, open_updated, read_property, remove
from scopes.result import Note
from scopes.store.graph import walk_oldest_first
from scopes.store.refs import HEADS
from scopes.store.repository import Repository

_EXTENT: Final = "SELECT count(*), coalesce(min(CASE WHEN first > 0 THEN first END), 0.0) FROM conversation"
_EDIT: Final = """
    SELECT edit.number, conversation.id, edit.turn, message, oid, call_id, tool, path, time, hashes, shorts
    FROM edit JOIN conversation ON conversation.number = edit.conversation"""
_EDITS_OF: Final = "SELECT number, base_name, hashes, shorts FROM edit WHERE conversation = ?"
_POSTINGS: Final = """
    SELECT edit_line.hash, edit.number FROM edit_line JOIN edit ON edit.number = edit_line.edit
    WHERE hash IN ({}) AND base_name = ? AND time < ?"""
_EDITS_AT: Final = "SELECT number FROM edit WHERE time >= ? AND time < ? ORDER BY time, number"
_TURN: Final = """
    SELECT turn.turn, prompt, agreed_to, long_prompt, began, ended, conversation.id
    FROM turn JOIN conversation ON conversation.number = turn.conversation WHERE turn.number = ?"""
_CALLS: Final = """
    SELECT conversation.id, commit_call.turn, message, oid, call_id, command, began, ended, printed
    FROM commit_call JOIN conversation ON conversation.number = commit_call.conversation
    WHERE ended >= ? AND began <= ? ORDER BY commit_call.began, conversation.id"""
_CALLS_OF: Final = """
    SELECT conversation.id, commit_call.turn, message, oid, call_id, command, began, ended, printed
    FROM commit_call JOIN conversation ON conversation.number = commit_call.conversation
    WHERE conversation.id = ? ORDER BY commit_call.began"""
_TURN_OF_CALL: Final = """
    SELECT turn FROM edit JOIN conversation ON conversation.number = edit.conversation
    WHERE conversation.id = ? AND call_id = ? LIMIT 1"""
_TURN_AT: Final = """
    SELECT turn.number FROM turn JOIN conversation ON conversation.number = turn.conversation
    WHERE conversation.id = ? AND turn = ? AND began <= ? ORDER BY began DESC LIMIT 1"""
_CALL_MESSAGES: Final = """
    SELECT oid FROM commit_call JOIN conversation ON conversation.number = commit_call.conversation
    WHERE conversation.id = ?"""
_ACTIVE: Final = """
    SELECT 1 FROM turn JOIN conversation ON conversation.number = turn.conversation
    WHERE conversation.id = ? AND turn.turn > 0 AND began <= ? AND ended >= ? LIMIT 1"""
_LAST_MESSAGE: Final = """
    SELECT conversation.last, max(min(turn.ended, ?))
    FROM turn JOIN conversation ON conversation.number = turn.conversation
    WHERE conversation.id = ? AND began <= ? AND ended > 0"""
FEW_LINES: Final = 6  # lines with a hash: an edit with fewer of them is found by its short lines, too
_BATCH: Final = 500  # parameters of one statement


class IndexedEdit(NamedTuple):
    """An edit of one file.

    turn: the number of a row (`EditIndex.turn`)
    hashes, shorts: those of its lines, and of its short lines; by these an edit is found only if it has few others
    """

    number: int
    conversation: ConversationId
    turn: int
    message: MessageId
    oid: Oid
    call_id: str
    tool: str
    path: str
    time: float
    hashes: frozenset[int]
    shorts: frozenset[int] = frozenset()


class IndexedTurn(NamedTuple):
    """A turn, with the commits in the store of its prompt, of the answer before it, and of the last long prompt."""

    number: int
    prompt: Oid | None
    agreed_to: Oid | None
    long_prompt: Oid | None
    began: float
    ended: float
    conversation: ConversationId


class IndexedCall(NamedTuple):
    """A call that ran `git commit`."""

    conversation: ConversationId
    turn: int
    message: MessageId
    oid: Oid
    call_id: str
    call: CommitCall


class EditIndex:
    """The index of code lines, up to date; it is usable until its block ends.

    `conversations` is their number, `begin` the time of the first message in seconds since 1970.
    """

    def __init__(self, connection: Connection, notes: tuple[Note, ...], conversations: int, begin: float) -> None:
        self.notes = notes
        self.conversations = conversations
        self.begin = begin
        self._connection = connection
        self.is_foreign: Callable[[str], bool] = lambda _path: False  # files that are in another repository
        self.top: str | None = None  # the working tree of the project, of which lines are asked for
        self._edits: dict[int, IndexedEdit] = {}
        self._turns: dict[int, IndexedTurn] = {}
        self._calls: dict[ConversationId, list[IndexedCall]] = {}

    def find_edits(self, hashes: Iterable[int], base_name: str, before: float) -> dict[int, list[IndexedEdit]]:
        """Return the edits that added lines to a file of this name before a time, by the hashes of the lines.

        A call that several conversations have, because one began as a copy of another, counts once: that of the
        conversation with the lower id.
        """
        salt = salt_of(base_name)
        wanted = sorted(value ^ salt for value in set(hashes))
        postings: dict[int, list[int]] = {}
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            statement = _POSTINGS.format(",".join("?" * len(batch)))
            for value, number in self._connection.execute(statement, (*batch, base_name, before)):
                postings.setdefault(value ^ salt, []).append(number)
        self._read_edits({number for numbers in postings.values() for number in numbers})
        found = ((value, [self._edits[number] for number in numbers]) for value, numbers in postings.items())
        return {value: _once(edit for edit in edits if not self.is_foreign(edit.path)) for value, edits in found}

    def list_edits(self, since: float, before: float) -> list[IndexedEdit]:
        """Return the edits of all files between two times, the first one first; each call once, as in `find_edits`."""
        numbers = [number for (number,) in self._connection.execute(_EDITS_AT, (since, before))]
        self._read_edits(set(numbers))
        return _once(edit for number in numbers if not self.is_foreign((edit := self._edits[number]).path))

    def knows_file(self, base_name: str) -> bool:
        """Return True if an edit of a file with this name is known."""
        return (
            self._connection.execute("SELECT 1 FROM edit WHERE base_name = ? LIMIT 1", (base_name,)).fetchone()
            is not None
        )

    def _read_edits(self, numbers: set[int]) -> None:
        missing = sorted(numbers - self._edits.keys())
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            statement = f"{_EDIT} WHERE edit.number IN ({','.join('?' * len(batch))})"
            for row in self._connection.execute(statement, batch):
                edit = IndexedEdit._make((*row[:-2], *(frozenset(array("q", blob)) for blob in row[-2:])))
                self._edits[edit.number] = edit

    def turn(self, number: int) -> IndexedTurn:
        """Return a turn by the number of its row."""
        if number not in self._turns:
            self._turns[number] = IndexedTurn(*self._connection.execute(_TURN, (number,)).fetchone())
        return self._turns[number]

    def find_commit_calls(self, author_time: float) -> list[IndexedCall]:
        """Return the calls that ran `git commit` at a time, the first one first."""
        rows = self._connection.execute(_CALLS, (author_time - TOLERANCE, author_time + TOLERANCE))
        return [IndexedCall._make((*row[:5], _read_call(*row[5:]))) for row in rows]

    def calls_of(self, conversation: ConversationId) -> list[IndexedCall]:
        """Return the calls of a conversation that ran `git commit`, the first one first."""
        if conversation not in self._calls:
            rows = self._connection.execute(_CALLS_OF, (conversation,))
            self._calls[conversation] = [IndexedCall._make((*row[:5], _read_call(*row[5:]))) for row in rows]
        return self._calls[conversation]

    def turn_of_prompt(self, prompt: Oid) -> int | None:
        """Return the number of the row of the turn that begins with a message of the store; None if there is none."""
        found = self._connection.execute("SELECT min(number) FROM turn WHERE prompt = ?", (prompt,)).fetchone()[0]
        return None if found is None else int(found)

    def turn_of_call(self, conversation: ConversationId, call_id: str | None) -> int | None:
        """Return the number of the row of the turn of an edit; None if there is no such edit."""
        found = self._connection.execute(_TURN_OF_CALL, (conversation, call_id)).fetchone()
        return None if found is None else int(found[0])

    def turn_at(self, conversation: ConversationId, turn: int, time: float) -> int | None:
        """Return the row of a turn by its number, of several branches the last that began before a time, else None."""
        found = self._connection.execute(_TURN_AT, (conversation, turn, time + TOLERANCE)).fetchone()
        return None if found is None else int(found[0])

    def commit_call_messages(self, conversation: ConversationId) -> set[Oid]:
        """Return the commits in the store of all messages of a conversation that ran `git commit`."""
        return {oid for (oid,) in self._connection.execute(_CALL_MESSAGES, (conversation,))}

    def is_active(self, conversation: ConversationId, time: float, slack: float) -> bool:
        """Return True if a turn of a conversation began before a time, and ended not longer than `slack` before it."""
        found = self._connection.execute(_ACTIVE, (conversation, time + TOLERANCE, time - slack)).fetchone()
        return found is not None

    def quiet_seconds(self, conversation: ConversationId, time: float, rest: float) -> float | None:
        """Return how long a conversation had no message at a time; 0 if it went on, after not more than `rest`.

        None if it had no message before.
        """
        last, before = self._connection.execute(_LAST_MESSAGE, (time, conversation, time + TOLERANCE)).fetchone()
        if before is None:
            return None
        quiet = time - float(before)
        has_ended = last is None or float(last) <= time
        return quiet if has_ended or quiet > rest else 0.0


def _read_call(command: str, began: float, ended: float, printed: str) -> CommitCall:
    pairs = json.loads(printed)
    return CommitCall(
        command, began, ended, tuple((start, subject) for start, subject in pairs or ()), pairs is not None
    )


@contextmanager
def open_edit_index(
    directory: str, repository: Repository, on_progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Iterator[EditIndex]:
    """Open the index of a store and bring it up to date.

    on_progress: receives how many conversations are read, and how many there are to read.

    A conversation with a damaged message is left out, with a note.
    """
    refs = repository.list_refs(HEADS)
    state = _state_of(refs)
    damaged: list[ConversationId] = []

    def is_current(connection: Connection) -> bool:
        return read_property(connection, "refs") == state

    def update(connection: Connection) -> None:
        damaged.clear()
        damaged.extend(_update(connection, repository, refs, on_progress))
        connection.execute("INSERT OR REPLACE INTO property VALUES ('refs', ?)", (state,))

    with open_code_lines(directory, repository.path, is_current, update) as (connection, notes):
        count, begin = connection.execute(_EXTENT).fetchone()
        yield EditIndex(connection, (*notes, *_note_damaged(damaged)), count, begin)


def _note_damaged(names: Sequence[ConversationId]) -> tuple[Note, ...]:
    more = f", and {len(names) - 1} others" if len(names) > 1 else ""
    return (
        (Note(f"{names[0]}{more} cannot be read completely and was left out", "see: scopes verify"),) if names else ()
    )


def _state_of(refs: Mapping[str, str]) -> str:
    return sha256("\n".join(f"{name} {value}" for name, value in refs.items()).encode()).hexdigest()


def _update(
    connection: Connection,
    repository: Repository,
    refs: Mapping[str, str],
    on_progress: Callable[[int, int], None],
) -> list[ConversationId]:
    """Read the conversations whose branches have changed, and forget those that are gone; return the damaged ones."""
    tips = tips_by_conversation(refs)
    states = {name: " ".join(sorted(set(branches.values()))) for name, branches in tips.items()}
    known = dict(connection.execute("SELECT id, tips FROM conversation"))
    for name, state in known.items():
        if states.get(name) != state:
            _delete(connection, name)
    changed = [name for name in sorted(tips) if known.get(name) != states[name]]
    damaged = []
    for done, name in enumerate(changed):
        on_progress(done, len(changed))
        try:
            found = _read(repository, tips[name])
        except (Corrupt, NotFound):
            damaged.append(name)
        else:
            _insert(connection, name, states[name], found)
    return damaged


def _read(repository: Repository, tips: Mapping[BranchName, Oid]) -> ConversationEdits:
    return read_conversation_edits(repository, walk_oldest_first(repository, tips.values()))


def _delete(connection: Connection, name: ConversationId) -> None:
    (number,) = connection.execute("SELECT number FROM conversation WHERE id = ?", (name,)).fetchone()
    for edit, base_name, hashes, shorts in connection.execute(_EDITS_OF, (number,)).fetchall():
        salt = salt_of(base_name)
        rows = [(value ^ salt, edit) for value in _posted(array("q", hashes), array("q", shorts))]
        connection.executemany("DELETE FROM edit_line WHERE hash = ? AND edit = ?", rows)
    for table in ("edit", "turn", "commit_call"):
        connection.execute(f"DELETE FROM {table} WHERE conversation = ?", (number,))  # noqa: S608 - names from here
    connection.execute("DELETE FROM conversation WHERE number = ?", (number,))


def _posted(hashes: Sequence[int], shorts: Sequence[int]) -> Iterable[int]:
    """Return the hashes by which an edit is found: of short lines too, if it has few others."""
    return hashes if len(hashes) >= FEW_LINES else dict.fromkeys((*hashes, *shorts))


def _insert(connection: Connection, name: ConversationId, tips: str, found: ConversationEdits) -> None:
    row = (name, tips, found.first, found.last)
    number = connection.execute("INSERT INTO conversation VALUES (NULL, ?, ?, ?, ?)", row).lastrowid
    turns = [
        connection.execute(
            "INSERT INTO turn VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
            (number, turn.number, turn.prompt, turn.agreed_to, turn.long_prompt, turn.began, turn.ended),
        ).lastrowid
        for turn in found.turns
    ]
    for edit in found.edits:
        hashes = sorted(hash_lines(edit.added.lines))
        shorts = sorted({value for line in edit.added.lines if (value := hash_short(line)) is not None})
        values = (number, turns[edit.turn], edit.message, edit.oid, edit.call_id, edit.tool, edit.added.path)
        inserted = connection.execute(
            "INSERT INTO edit VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, edit.added.base_name, edit.time, array("q", hashes).tobytes(), array("q", shorts).tobytes()),
        ).lastrowid
        salt = salt_of(edit.added.base_name)
        connection.executemany(
            "INSERT INTO edit_line VALUES (?, ?)", [(value ^ salt, inserted) for value in _posted(hashes, shorts)]
        )
    for each in found.commit_calls:
        call = each.call
        printed = json.dumps(call.printed if call.has_result else None)
        place = (number, turns[each.turn], each.message, each.oid, each.call_id)
        connection.execute(
            "INSERT INTO commit_call VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, call.began, call.ended, call.command, printed),
        )


def _once(edits: Iterable[IndexedEdit]) -> list[IndexedEdit]:
    """Return the edits by time, each call once, from the conversation that has the lowest id."""
    first: dict[tuple[str, frozenset[int]], IndexedEdit] = {}
    for edit in sorted(edits, key=_by_conversation):
        first.setdefault((edit.call_id, edit.hashes), edit)
    return sorted(first.values(), key=lambda edit: (edit.time, edit.number))


def _by_conversation(edit: IndexedEdit) -> tuple[float, int, Sequence[str]]:
    return edit.time, len(edit.conversation), edit.conversation


CODE_LINES: Final = Layout(
    "code-lines.sqlite",
    version=8,
    tables="""
        CREATE TABLE conversation (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tips TEXT NOT NULL, first REAL NOT NULL,
            last REAL NOT NULL
        ) STRICT;
        CREATE TABLE turn (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, prompt TEXT,
            agreed_to TEXT, long_prompt TEXT, began REAL NOT NULL, ended REAL NOT NULL
        ) STRICT;
        CREATE INDEX turn_conversation ON turn (conversation);
        CREATE INDEX turn_prompt ON turn (prompt);
        CREATE TABLE edit (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, message TEXT NOT NULL,
            oid TEXT NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, path TEXT NOT NULL, base_name TEXT NOT NULL,
            time REAL NOT NULL, hashes BLOB NOT NULL, shorts BLOB NOT NULL
        ) STRICT;
        CREATE INDEX edit_conversation ON edit (conversation);
        CREATE INDEX edit_time ON edit (time);
        CREATE TABLE edit_line (
            hash INTEGER NOT NULL, edit INTEGER NOT NULL, PRIMARY KEY (hash, edit)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE commit_call (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, message TEXT NOT NULL,
            oid TEXT NOT NULL, call_id TEXT NOT NULL, began REAL NOT NULL, ended REAL NOT NULL, command TEXT NOT NULL,
            printed TEXT NOT NULL
        ) STRICT;
        CREATE INDEX commit_call_conversation ON commit_call (conversation);
        CREATE INDEX commit_call_ended ON commit_call (ended)
    """,
)


@contextmanager
def open_code_lines(
    directory: str, store: str, is_current: Callable[[Connection], bool], update: Callable[[Connection], None]
) -> Iterator[tuple[Connection, tuple[Note, ...]]]:
    """Open the file of a store and bring it up to date; yield the connection and notes about the file.

    Raises:
        As `update` does; the file stays as it was.
        Corrupt: the file is damaged; it is removed, and the next call builds it again.
    """

    def count(connection: Connection) -> int:
        update(connection)
        return 0

    opened = open_updated(directory, CODE_LINES, store, is_current, count, what="the index of code lines")
    with contextlib.closing(opened.connection) as connection:
        try:
            yield connection, opened.notes
        except DatabaseError as error:
            remove(directory, CODE_LINES)
            raise Corrupt("the index of code lines was damaged, and is removed", hint="try again") from error
