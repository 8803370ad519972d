"""Which branches a woven session has, and what they are called; a function of the session alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.clock import format_seconds
from scopes.history.revparse import MAIN
from scopes.ids import MAX_NAME_BYTES, AgentName, BranchName, MessageId, Oid, is_name, slug
from scopes.importers.commits import ImportedSession
from scopes.importers.identity import source_key_of
from scopes.model.conversation import BranchEntry
from scopes.store.repository import Objects, read_commit

SHORT_ID = 8
_LONGEST_AGENT = 40
_LONGEST = MAX_NAME_BYTES - 10  # a number may come behind it


@dataclass(frozen=True, slots=True)
class BranchTip:
    """A branch that a source wants: its tip, what is known of it, and whether the source stands there now."""

    name: BranchName
    tip: Oid
    entry: BranchEntry
    active: bool = False
    goes_on_from: Oid | None = None


def name_branches(objects: Objects, thread: ImportedSession, conversation: str) -> list[BranchTip]:
    """Name every leaf of a session: the one the source stands at is `main`, the others are forks and sub-agents.

    A fork is called after the first message that it does not share with the active line, so that its name stays when it
    grows. The line of a session in another's conversation is called after the session, it is `active` in none, and what
    it shares is what was there before. One that goes on from the session that `conversation` is called after, and is
    that session itself, says from where.
    """
    elsewhere = _line_name(thread)
    goes_on_from = thread.start[1] if thread.start[0] and thread.session.native_id == conversation else None
    active = thread.ending.active if thread.ending.active in thread.oids else thread.last
    shown = set(_path(thread, active))
    leaves = []
    for key in thread.leaves():
        name = (elsewhere or MAIN) if key == active else _fork_name(thread, key, shown)
        shared = shown if key != active else set(thread.oids) - thread.fresh
        leaf = BranchTip(name, thread.oids[key], _entry(objects, thread, key, shared, name))
        if key == active:
            leaf = replace(leaf, active=thread.own, goes_on_from=goes_on_from)
        leaves.append(leaf)
    return _unique(leaves)


def _path(thread: ImportedSession, key: str | None) -> list[str]:
    """Return the keys from a message back to its beginning."""
    path = []
    while key is not None:
        path.append(key)
        key = thread.parents[key]
    return path


def _first_own(thread: ImportedSession, key: str, shared: set[str]) -> str:
    own = [step for step in _path(thread, key) if step not in shared]
    return own[-1] if own else key


def _fork_name(thread: ImportedSession, key: str, shared: set[str]) -> BranchName:
    side = thread.sides.get(key)
    first: MessageId = thread.ids[_first_own(thread, key, shared)]
    if side is not None:
        return _legal_name("subagent", slug(side), first)
    return BranchName(f"fork/{first[:SHORT_ID]}")


def _line_name(thread: ImportedSession) -> BranchName | None:
    """Name the line that a session stands at, where it is not its conversation's own."""
    if thread.own:
        return None
    session, key = thread.session, source_key_of(thread.session)
    line = session.details.get("line")
    if line is not None and session.part is not None:
        return _legal_name(line, slug(session.part)[-SHORT_ID:], key)
    if session.part is not None or session.spawned_by is not None:
        agent = session.details.get("agent") or session.part or session.native_id
        return _legal_name("subagent", slug(str(agent))[:_LONGEST_AGENT], key)
    return _legal_name("fork", slug(session.native_id)[-SHORT_ID:], key)


def _legal_name(kind: str, wanted: str, otherwise: str) -> BranchName:
    """Call a branch as its source would, where git takes that: even a slug may hold `..` or end in `.lock`."""
    name = f"{kind}/{wanted}"
    return BranchName(name if is_name(name) and len(name) <= _LONGEST else f"{kind}/{otherwise[:SHORT_ID]}")


def _entry(objects: Objects, thread: ImportedSession, key: str, shared: set[str], name: BranchName) -> BranchEntry:
    """Say where a branch began; the main one began at the root."""
    first = _first_own(thread, key, shared) if name != MAIN else _path(thread, key)[-1]
    commit = read_commit(objects, thread.oids[first])
    side = thread.sides.get(key)
    return BranchEntry(
        purpose=None,
        agent=AgentName(side) if side is not None else None,
        parent=None if name == MAIN else MAIN,
        fork=commit.parents[0],
        created=format_seconds(commit.time),
    )


def _unique(leaves: list[BranchTip]) -> list[BranchTip]:
    """Tell leaves apart that would have one name, in file order."""
    taken: set[str] = set()
    result = []
    for leaf in leaves:
        count, name = 1, leaf.name
        while name in taken:
            count += 1
            name = BranchName(f"{leaf.name}-{count}")
        taken.add(name)
        result.append(replace(leaf, name=name))
    return result
