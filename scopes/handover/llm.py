"""Write threads of llm 0.32 to 0.36 as rows of its database: messages that are named by their content and parent.

llm checks the names. The thread has one turn, which ends at the newest message; llm adds its own after that. A thread
is added in one transaction; what is there stays as it is.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from scopes.errors import Inaccessible, NotFound, Refused
from scopes.handover.session import Call, NativeRecord, NativeSession, Turn, Writer, clean, uuid_of
from scopes.regular_file import MAX_CONFIG_BYTES, open_regular
from scopes.secret_scan.clearance import Cleared

NAME = "llm"
DATABASE = "logs.db"
_ROLES = {"user": "user", "assistant": "assistant", "results": "tool"}
_HASH_BYTES = 16
_DEFAULT_MODEL = "gpt-4o-mini"
_MODEL_FILE = "default_model.txt"
_FIRST = "00"  # of the id of the turn: those of llm begin with a time, and come later
_ID_DIGITS = 24
_TABLES = ("threads", "turns", "messages", "parts")
_BUSY_SECONDS = 10


class Llm(Writer):
    """llm, which keeps its threads in a database."""

    name = NAME
    window = 128_000
    keeps_files = False

    def configured_model(self, directory: str) -> str:
        """Return the default model."""
        with suppress(OSError, UnicodeDecodeError), open_regular(os.path.join(directory, _MODEL_FILE)) as file:
            return file.read(MAX_CONFIG_BYTES).decode().strip() or _DEFAULT_MODEL
        return _DEFAULT_MODEL

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the thread in the database."""
        return f"{os.path.join(top, DATABASE)}#{session.id}"

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the rows of the thread."""
        records: list[NativeRecord] = []
        tip: str | None = None
        for turn in session.turns:
            parts = list(_walk_parts(turn))
            role = _ROLES[turn.role]
            name = hash_message(role, parts, tip)
            columns = {"hash": name, "parent_hash": tip, "provider_metadata": None, "role": role}
            records.append(_row("messages", columns, turn))
            records += [_row("parts", _columns_of(part, name, position), turn) for position, part in enumerate(parts)]
            tip = name
        thread = {
            "datetime_utc": session.created, "forked_from": None, "id": session.id, "name": session.title or None,
            "tip_message_hash": tip,
        }  # fmt: skip
        turn_row = {
            "datetime_utc": session.created, "id": _FIRST + uuid_of(session.id, str(tip)).replace("-", "")[:_ID_DIGITS],
            "model": session.model, "parent_message_hash": None, "thread_id": session.id, "tip_message_hash": tip,
        }  # fmt: skip
        newest = session.turns[-1].message if session.turns else None
        return [NativeRecord(_line("threads", thread)), *records, NativeRecord(_line("turns", turn_row), newest)]


def hash_message(role: str, parts: Sequence[dict[str, Any]], parent: str | None) -> str:
    """Return the name of a message: the hash of it and of the name of the one before."""
    value = {"message": {"parts": list(parts), "role": role}, "parent": parent}
    text = clean(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
    return f"b2:{blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()}"


def _walk_parts(turn: Turn) -> Iterator[dict[str, Any]]:
    for part in turn.parts:
        if isinstance(part, Call):
            yield {"type": "tool_call", "name": part.name, "arguments": dict(part.input), "tool_call_id": part.id}
        else:
            yield {"type": "text", "text": part}
    for result in turn.results:
        found = {"type": "tool_result", "name": result.name, "output": result.text, "tool_call_id": result.id}
        yield {**found, "exception": "error"} if result.is_error else found


def _columns_of(part: dict[str, Any], name: str, position: int) -> dict[str, Any]:
    """Return the columns of a part; a text has a column of its own, anything else is in the payload."""
    payload = {field: value for field, value in part.items() if field != "type"}
    text = payload.pop("text", None)
    return {
        "message_hash": name, "payload": clean(json.dumps(payload, ensure_ascii=False)) if payload else None,
        "position": position, "text": text, "tool_name": part.get("name"), "type": part["type"],
    }  # fmt: skip


def _row(table: str, columns: dict[str, Any], turn: Turn) -> NativeRecord:
    return NativeRecord(_line(table, columns), turn.message)


def _line(table: str, columns: dict[str, Any]) -> dict[str, Any]:
    return {"table": table, "row": columns}


def find_tip(path: str, thread: str) -> str | None:
    """Return the name of the newest message of a thread; None if there is no such thread.

    Raises:
        NotFound, Refused, Inaccessible: the database is not there, is of an old llm, or cannot be read.
    """
    with _opened(path, "ro") as database:
        found = database.execute("select tip_message_hash from threads where id = ?", (thread,)).fetchone()
    return None if found is None else str(found[0])


def add_thread(path: str, content: Cleared) -> None:
    """Add the rows of a thread; raises as `find_tip` does."""
    rows = [json.loads(line) for line in content.data.splitlines()]
    with _opened(path, "rw") as database:
        database.execute("begin immediate")
        added: set[str] = set()
        for each in rows:
            table, row = each["table"], each["row"]
            if table not in _TABLES or (table == "parts" and row["message_hash"] not in added):
                continue  # the parts of a message that is there are there, too
            columns = ", ".join(f'"{name}"' for name in row)
            places = ", ".join("?" * len(row))
            cursor = database.execute(f"insert or ignore into {table} ({columns}) values ({places})", [*row.values()])  # noqa: S608 - the names are our own
            if table == "messages" and cursor.rowcount:
                added.add(row["hash"])
        database.execute("commit")


@contextmanager
def _opened(path: str, mode: str) -> Iterator[sqlite3.Connection]:
    """Open the database; a transaction that is not committed is taken back when it is closed."""
    if not os.path.isfile(path):
        raise NotFound(f"llm has no database {path} yet", hint="make it: llm logs on; llm 'hello'")
    try:
        address = f"{Path(os.path.abspath(path)).as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        with closing(connection) as database:
            known = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
            if not known.issuperset(_TABLES):
                raise Refused(f"{path} is of an llm before 0.32", hint="update llm, and use it once")
            yield database
    except sqlite3.Error as error:
        raise Inaccessible(f"cannot use {path}: {error}", hint="nothing was changed") from error
