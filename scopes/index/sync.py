"""Update the search index: add commits that branches reach now, delete those that no branch reaches any more.

Branch tips are compared, never times. Afterwards the index has the same content as a rebuilt one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.index.writer import Describe, Writer
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.refs import split_branch_ref
from scopes.store.repository import Repository, read_commit

Tips: TypeAlias = Mapping[ConversationId, Mapping[BranchName, Oid]]

_PLACE_NEW = """
    WITH RECURSIVE reached (entry) AS (
        SELECT number FROM commits WHERE oid = :tip
        AND NOT EXISTS (SELECT 1 FROM place WHERE conversation = :conversation AND place.entry = number)
        UNION SELECT parent FROM edge JOIN reached ON edge.child = reached.entry
        WHERE NOT EXISTS (SELECT 1 FROM place WHERE conversation = :conversation AND place.entry = parent)
    ) INSERT INTO place SELECT :conversation, entry FROM reached"""
_PLACE_RANGE = "INSERT OR IGNORE INTO place SELECT ?, number FROM commits WHERE number BETWEEN ? AND ?"
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
    SELECT dead.message, dead.oid, (
        SELECT other.oid FROM commits AS other JOIN place ON place.entry = other.number
        WHERE other.message = dead.message ORDER BY other.number LIMIT 1
    ) AS living FROM commits AS dead
    WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = dead.number) AND living IS NOT NULL
    AND dead.number = (SELECT min(number) FROM commits WHERE commits.message = dead.message)"""
_COUNT_CONVERSATIONS = "SELECT count(DISTINCT conversation) FROM branch"
_COUNT_UNREADABLE = """
    SELECT count(*) FROM commits WHERE message IS NULL AND EXISTS (SELECT 1 FROM edge WHERE child = number)"""
_IS_ANY_UNREACHED = "SELECT 1 FROM commits WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = number) LIMIT 1"
_FIRST_PLACE = """
    SELECT (
        SELECT min(text) FROM commits JOIN place ON place.entry = commits.number
        JOIN value ON value.number = place.conversation WHERE commits.message = :message
    ), (SELECT oid FROM commits WHERE commits.message = :message ORDER BY number LIMIT 1)"""
_DELETE_UNREACHABLE = (
    "DELETE FROM edge WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = child)",
    "DELETE FROM commits WHERE NOT EXISTS (SELECT 1 FROM place WHERE entry = number)",
)


class StaleEntryUnreadable(Exception):
    """A message to delete from the index cannot be read any more; the index must be rebuilt."""


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
    connection: sqlite3.Connection,
    repository: Repository,
    refs: Mapping[str, str],
    describe: Describe,
    *,
    find_unreached: bool = False,
) -> int:
    """Update the index for these branches in the current transaction; return the number of commits read.

    find_unreached: commits were added that perhaps no branch reaches; delete these.

    Raises:
        StaleEntryUnreadable: the index must be rebuilt.
    """
    is_new = connection.execute("SELECT 1 FROM commits LIMIT 1").fetchone() is None
    writer = Writer(connection, describe, is_empty=is_new)
    tips = tips_by_conversation(refs)
    before = _known_tips(connection)
    read = 0
    lost = False
    describe.expect(lambda: _count_new(repository, tips, before, writer))
    for conversation in sorted({*before, *tips}):
        old, new = before.get(conversation, {}), tips.get(conversation, {})
        if old != new:
            commits = _new_commits(repository, new, writer)
            numbers = [writer.add(commit) for commit in commits or ()]
            writer.flush()
            read += len(numbers)
            if commits and not old and _are_whole(commits, new):
                _place_range(connection, writer.value_number("conversation", conversation), numbers)
            lost |= _move(connection, writer, conversation, old, {} if commits is None else new)
    if lost or (find_unreached and connection.execute(_IS_ANY_UNREACHED).fetchone() is not None):
        _delete_unreachable(connection, repository, writer)
    _save_status(connection, refs, len(tips))
    return read


def describe_first(
    connection: sqlite3.Connection,
    repository: Repository,
    refs: Mapping[str, str],
    describe: Describe,
    messages: Iterable[MessageId],
) -> None:
    """Describe messages of several commits by the first of these, in the order in which `sync_index` reads them.

    Raises:
        StaleEntryUnreadable: the index must be rebuilt.
    """
    writer = Writer(connection, describe)
    tips = tips_by_conversation(refs)
    orders: dict[ConversationId, list[Commit]] = {}
    for number in filter(None, map(writer.message_number, messages)):
        conversation, described = connection.execute(_FIRST_PLACE, {"message": number}).fetchone()
        if conversation not in orders:
            orders[conversation] = list(walk_oldest_first(repository, tips[conversation].values()))
        oids = {oid for (oid,) in connection.execute("SELECT oid FROM commits WHERE message = ?", (number,))}
        first = next(commit for commit in orders[conversation] if commit.oid in oids)
        if first.oid != described:
            try:
                writer.replace(number, read_commit(repository, described), first)
            except (Corrupt, NotFound) as error:
                raise StaleEntryUnreadable from error


def lacks_more_than(
    limit: int, connection: sqlite3.Connection, repository: Repository, refs: Mapping[str, str], describe: Describe
) -> bool:
    """Return True if branches reach more than `limit` commits that are not in the index."""
    writer = Writer(connection, describe)
    before = _known_tips(connection)
    lacking = 0
    for conversation, tips in tips_by_conversation(refs).items():
        if before.get(conversation) != tips:
            lacking += len(_new_commits(repository, tips, writer) or ())
        if lacking > limit:
            return True
    return False


def _new_commits(repository: Repository, tips: Mapping[BranchName, Oid], known: Writer) -> list[Commit] | None:
    """Return the commits that are not in the index, parents first; None if the history is damaged."""
    try:
        return list(walk_oldest_first(repository, tips.values(), known))
    except (Corrupt, NotFound):
        return None


def _count_new(repository: Repository, tips: Tips, before: Tips, known: Writer) -> int:
    """Count the messages that are not in the index; those of two conversations count twice, damaged ones not at all."""
    changed = (new for conversation, new in tips.items() if before.get(conversation) != new)
    return sum(
        len([commit for commit in _new_commits(repository, new, known) or () if commit.parents]) for new in changed
    )


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
    """Record the tips of a conversation and the commits that they reach; return True if commits were lost."""
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


def _are_whole(commits: Sequence[Commit], tips: Mapping[BranchName, Oid]) -> bool:
    """Return True if commits are all that the tips reach: no branch of another conversation has some of them."""
    known = {commit.oid for commit in commits}
    return known.issuperset(tips.values()) and all(known.issuperset(commit.parents) for commit in commits)


def _place_range(connection: sqlite3.Connection, conversation: int, numbers: Sequence[int]) -> None:
    """Record the commits of a conversation that reaches no other ones: much faster than to follow its edges."""
    connection.execute(_PLACE_RANGE, (conversation, numbers[0], numbers[-1]))


def _delete_unreachable(connection: sqlite3.Connection, repository: Repository, writer: Writer) -> None:
    for number, oid in connection.execute(_DEAD_MESSAGES).fetchall():
        try:
            writer.remove(number, read_commit(repository, oid))
        except (Corrupt, NotFound) as error:
            raise StaleEntryUnreadable from error
    for number, dead, living in connection.execute(_DESCRIBED_BY_DEAD).fetchall():
        _describe_again(repository, writer, number, dead, living)
    for statement in _DELETE_UNREACHABLE:
        connection.execute(statement)


def _describe_again(repository: Repository, writer: Writer, number: int, dead: Oid, living: Oid) -> None:
    """Describe a message by a commit that stays: one may be purged where the other is not, as in a restored store."""
    try:
        before, after = read_commit(repository, dead), read_commit(repository, living)
        if before.tree != after.tree:
            writer.replace(number, before, after)
    except (Corrupt, NotFound) as error:
        raise StaleEntryUnreadable from error


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
