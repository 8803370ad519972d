"""Bringing the index up to what the branches reach: read what is new, forget what no branch reaches any more.

What is compared are the tips of the branches, never a time. Afterwards the index holds what a new one would.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from typing import TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.ids import BranchName, ConversationId, Oid
from scopes.index.document import Describe
from scopes.index.writer import Writer
from scopes.store import refs as names
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit

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
_COUNT_CONVERSATIONS = "SELECT count(DISTINCT conversation) FROM branch"
_COUNT_UNREADABLE = """
    SELECT count(*) FROM commits WHERE message IS NULL AND EXISTS (SELECT 1 FROM edge WHERE child = number)"""
_FORGET = (
    "DELETE FROM edge WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = child)",
    "DELETE FROM commits WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = number)",
)


class StaleEntryUnreadable(Exception):
    """A message that has to leave the index cannot be read any more: only a new index can be right."""


def tips_by_conversation(refs: Mapping[str, str]) -> Tips:
    """Sort the branch refs of a store by conversation."""
    found: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in refs.items():
        place = names.split_branch_ref(ref)
        if place is not None:
            found.setdefault(place[0], {})[place[1]] = Oid(oid)
    return found


def digest_of(refs: Mapping[str, str]) -> str:
    """Return a short text that differs where any branch differs."""
    return hashlib.sha256("\n".join(f"{ref} {oid}" for ref, oid in refs.items()).encode()).hexdigest()


def sync_index(
    connection: sqlite3.Connection, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> int:
    """Bring the index to what these branches reach; returns how many commits were read.

    Raises:
        Forgotten: the index has to be made anew.
    """
    writer = Writer(connection, describe)
    tips = tips_by_conversation(refs)
    before = _known_tips(connection)
    read = 0
    lost = False
    for conversation in sorted({*before, *tips}):
        old, new = before.get(conversation, {}), tips.get(conversation, {})
        if old != new:
            commits = _new_commits(repository, new, writer)
            for commit in commits or ():
                writer.add(commit)
                read += 1
            lost |= _move(connection, writer, conversation, old, {} if commits is None else new)
    if lost:
        _forget_dead(connection, repository, writer)
    _note_standing(connection, refs, len(tips))
    return read


def _new_commits(repository: Repository, tips: Mapping[BranchName, Oid], known: Writer) -> list[Commit] | None:
    """Return what the index does not have yet, parents first; None where the history is damaged."""
    try:
        return list(walk_oldest_first(repository, tips.values(), known))
    except (Corrupt, NotFound):
        return None


def _known_tips(connection: sqlite3.Connection) -> Tips:
    found: dict[ConversationId, dict[BranchName, Oid]] = {}
    rows = connection.execute("SELECT conversation, name, oid FROM branch JOIN commits ON commits.number = tip")
    for conversation, name, oid in rows:
        found.setdefault(conversation, {})[name] = oid
    return found


def _move(
    connection: sqlite3.Connection,
    writer: Writer,
    conversation: ConversationId,
    old: Mapping[BranchName, Oid],
    new: Mapping[BranchName, Oid],
) -> bool:
    """Note where the branches of a conversation stand and what they reach; tell whether they lost anything."""
    number = writer.value_number("conversation", conversation)
    _place(connection, number, new)
    tops = [writer.number_of(oid) for oid in {*old.values()} - {*new.values()}]
    lost = any(connection.execute(_IS_TOP, (number, top)).fetchone()[0] for top in tops)
    if lost:
        connection.execute("DELETE FROM place WHERE conversation = ?", (number,))
        _place(connection, number, new)
    connection.execute("DELETE FROM branch WHERE conversation = ?", (conversation,))
    rows = [(conversation, name, writer.number_of(oid)) for name, oid in new.items()]
    connection.executemany("INSERT INTO branch VALUES (?, ?, ?)", rows)
    return lost


def _place(connection: sqlite3.Connection, conversation: int, tips: Mapping[BranchName, Oid]) -> None:
    for tip in dict.fromkeys(tips.values()):
        connection.execute(_PLACE_NEW, {"tip": tip, "conversation": conversation})


def _forget_dead(connection: sqlite3.Connection, repository: Repository, writer: Writer) -> None:
    for number, oid in connection.execute(_DEAD_MESSAGES).fetchall():
        try:
            writer.remove(number, read_commit(repository, oid))
        except (Corrupt, NotFound) as error:
            raise StaleEntryUnreadable from error
    for statement in _FORGET:
        connection.execute(statement)


def _note_standing(connection: sqlite3.Connection, refs: Mapping[str, str], conversations: int) -> None:
    """Keep what every answer says, so that none has to count."""
    covered = connection.execute(_COUNT_CONVERSATIONS).fetchone()[0]
    standing = {
        "refs": digest_of(refs) if covered == conversations else "",  # what was damaged may be whole the next time
        "conversations": covered,
        "damaged": conversations - covered,
        "branches": connection.execute("SELECT count(*) FROM branch").fetchone()[0],
        "messages": connection.execute("SELECT count(*) FROM message").fetchone()[0],
        "unreadable": connection.execute(_COUNT_UNREADABLE).fetchone()[0],
    }
    connection.executemany("INSERT OR REPLACE INTO standing VALUES (?, ?)", list(standing.items()))
