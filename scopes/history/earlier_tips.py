"""Find earlier states of a branch: the tip at a time, the tip before its last moves, and messages before a message."""

from __future__ import annotations

import re
from itertools import islice
from shlex import quote

from scopes.clock import format_seconds, now_nanoseconds, parse_date
from scopes.errors import Invalid, NotFound
from scopes.history.messages import header_of, is_root
from scopes.ids import BranchName, ConversationId, Oid
from scopes.result import plural
from scopes.store import refs
from scopes.store.reflog import find_value_at, walk_moves
from scopes.store.repository import Repository, read_commit

_POSITION = re.compile(r"[0-9]{1,9}")


def find_tip_at(
    repository: Repository, conversation: ConversationId, branch: BranchName | None, tip: Oid, text: str
) -> Oid:
    """Return where a branch was: `text` is a date, or a number of moves before its tip.

    Raises:
        Invalid: there is no branch, or the date cannot be read.
        NotFound: the reflog does not go back so far.
    """
    if branch is None:
        raise Invalid("a time needs a branch before it", hint="for example: conv-001/main@{2 hours ago}")
    ref, where = refs.branch_ref(conversation, branch), f"{conversation}/{branch}"
    if _POSITION.fullmatch(text):
        return _find_earlier_tip(repository, ref, where, tip, int(text))
    seconds = parse_date(text, now_nanoseconds()) // 1_000_000_000
    oid = find_value_at(repository, ref, seconds)
    if oid is None or not repository.has(oid):
        raise NotFound(
            f"no reflog entry for {where} at {format_seconds(seconds)}", hint=f"see: scopes log {quote(where)}"
        )
    return Oid(oid)


def _find_earlier_tip(repository: Repository, ref: str, where: str, tip: Oid, position: int) -> Oid:
    """Return the tip of a branch before its last `position` moves; each append is one move."""
    if position == 0:
        return tip
    move = next(islice(walk_moves(repository, ref), position - 1, None), None)
    if move is None or not repository.has(move.old):
        raise NotFound(
            f"the reflog of {where} does not go back {position} {plural(position, 'move')}",
            hint=f"see: scopes log {quote(where)}",
        )
    return move.old


def step_back(repository: Repository, conversation: ConversationId, oid: Oid, count: int) -> Oid:
    """Return the commit so many messages before another one.

    Raises:
        NotFound: there are not so many.
    """
    commit = read_commit(repository, oid)
    for _ in range(count):
        if is_root(commit) or not commit.parents:
            raise NotFound(
                f"there are not that many messages before {header_of(commit).id[:8]} in {conversation}",
                hint=f"see: scopes log {quote(conversation)}",
            )
        commit = read_commit(repository, commit.parents[0])
    return commit.oid
