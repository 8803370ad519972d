"""Add a thread to the database of llm, in one transaction; what is there stays as it is."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from scopes.errors import Inaccessible, NotFound, Refused
from scopes.secret_scan.clearance import Cleared

_TABLES = ("threads", "turns", "messages", "parts")
_BUSY_SECONDS = 10


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
