"""Name the branches of an imported session. The names depend on the session alone, so every import gives the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.clock import format_seconds
from scopes.conversation.show import fork_name
from scopes.history.names import MAIN
from scopes.ids import MAX_NAME_BYTES, AgentName, BranchName, MessageId, Oid, free_name, is_name, slug
from scopes.importers.identity import source_key_of
from scopes.importers.session_commits import ImportedSession
from scopes.model.conversation import BranchEntry
from scopes.store.objects import Objects, read_commit

SHORT_ID = 8
_MAX_AGENT_LENGTH = 40
_MAX_LENGTH = MAX_NAME_BYTES - 10  # leaves room for the number that makes a name unique


@dataclass(frozen=True, slots=True)
class BranchTip:
    """A branch of an imported session.

    active: the source's last message is on it
    continues: for a later file of the same session, the commit that it follows
    recorded: for a session that was recorded live, where the branch of this name was, on which it was recorded
    """

    name: BranchName
    tip: Oid
    entry: BranchEntry
    active: bool = False
    continues: Oid | None = None
    recorded: Oid | None = None


def name_branches(objects: Objects, imported: ImportedSession, conversation: str) -> list[BranchTip]:
    """Return one branch per message without a successor: `main` for the active one, forks and sub-agents for others.

    A fork is named after the first message that it does not share with the active line, so that the name stays when
    the fork grows. The active line of a session in another session's conversation is named after the session, and what
    it shares are the messages that existed before. `conversation` is the native id of the conversation's own session.
    """
    line_name = _line_name(imported)
    continues = imported.start[1] if imported.start[0] and imported.session.native_id == conversation else None
    active = active_draft(imported)
    active_line = set(path_to(imported, active))
    tips = []
    leaves = imported.leaves()
    for key in leaves if active is None or active in leaves else [active, *leaves]:
        name = (line_name or MAIN) if key == active else _fork_name(imported, key, active_line)
        shared = active_line if key != active else set(imported.oids) - imported.new
        tip = BranchTip(name, imported.oids[key], _branch_entry(objects, imported, key, shared, name))
        if key == active:
            tip = replace(tip, active=imported.own, continues=continues)
        tips.append(tip)
    return _with_unique_names(tips)


def active_draft(imported: ImportedSession) -> str | None:
    """Return the key of the draft that a session is at; None if it has no message."""
    return imported.ending.active if imported.ending.active in imported.oids else imported.last


def path_to(imported: ImportedSession, key: str | None) -> list[str]:
    """Return the draft keys from a message back to the first one."""
    path = []
    while key is not None:
        path.append(key)
        key = imported.parents[key]
    return path


def _first_not_shared(imported: ImportedSession, key: str, shared: set[str]) -> str:
    own = [step for step in path_to(imported, key) if step not in shared]
    return own[-1] if own else key


def _fork_name(imported: ImportedSession, key: str, shared: set[str]) -> BranchName:
    side = imported.sides.get(key)
    draft = _first_not_shared(imported, key, shared)
    first: MessageId = imported.ids[draft]
    if side is not None:
        return _legal_name("subagent", slug(side), first)
    taken_back = imported.ending.active in imported.oids and imported.parents[draft] == imported.ending.active
    if taken_back or draft in imported.ending.dropped:
        return BranchName(f"abandoned/{first[:SHORT_ID]}")  # the agent took back all that follows
    return fork_name(first)


def _line_name(imported: ImportedSession) -> BranchName | None:
    """Name the active line of a session in another session's conversation; None if the conversation is its own."""
    if imported.own:
        return None
    if imported.written is not None:
        return imported.written.branch
    session, key = imported.session, source_key_of(imported.session)
    kind = session.details.get("line")
    if kind is not None and session.sub_file is not None:
        return _legal_name(kind, slug(session.sub_file)[-SHORT_ID:], key)
    if session.sub_file is not None or session.spawned_by is not None:
        agent = session.details.get("agent") or session.sub_file or session.native_id
        return _legal_name("subagent", slug(str(agent))[:_MAX_AGENT_LENGTH], key)
    return _legal_name("fork", slug(session.native_id)[-SHORT_ID:], key)


def _legal_name(kind: str, wanted: str, fallback: str) -> BranchName:
    """Return `kind/wanted` if git accepts it: even a slug may contain `..` or end in `.lock`."""
    name = f"{kind}/{wanted}"
    return BranchName(name if is_name(name) and len(name) <= _MAX_LENGTH else f"{kind}/{fallback[:SHORT_ID]}")


def _branch_entry(
    objects: Objects, imported: ImportedSession, key: str, shared: set[str], name: BranchName
) -> BranchEntry:
    """Return the branch's metadata; its fork point is the parent of its first own message, the root for `main`."""
    first = _first_not_shared(imported, key, shared) if name != MAIN else path_to(imported, key)[-1]
    commit = read_commit(objects, imported.oids[first])
    side = imported.sides.get(key)
    return BranchEntry(
        purpose=None,
        agent=AgentName(side) if side is not None else None,
        parent=None if name == MAIN else MAIN,
        fork=commit.parents[0],
        created=format_seconds(commit.time),
    )


def _with_unique_names(tips: list[BranchTip]) -> list[BranchTip]:
    """Append a number to names that an earlier branch of the session has."""
    taken: set[str] = set()
    result = []
    for tip in tips:
        name = BranchName(free_name(tip.name, taken))
        taken.add(name)
        result.append(replace(tip, name=name))
    return result
