"""Commits that a shell of a session made while the clock of its agent was not that of git, as in a container.

By time such a session had not begun, or was in another turn. A shell knows its session for sure, so a call of it that
names the commit decides, whatever its clock says: it gives the turn, and edits before it count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scopes.clock import format_time
from scopes.code_links.commit_calls import PRINTED_COMMIT, TOLERANCE, name_commit
from scopes.code_links.edit_index import EditIndex, IndexedCall
from scopes.code_links.edit_times import recorded_seconds
from scopes.code_links.link import CodeLink, Evidence, LinkedTurn
from scopes.code_links.project_commits import ProjectCommit
from scopes.code_links.recorded_evidence import SHELL

_SECOND = 1_000_000_000


def by_own_clocks(index: EditIndex, commit: ProjectCommit, recorded: Sequence[CodeLink]) -> list[CodeLink]:
    """Return the recorded links of a commit, those of sessions with another clock with the call that made it."""
    return [_by_own_clock(index, commit, link) for link in recorded]


def _by_own_clock(index: EditIndex, commit: ProjectCommit, link: CodeLink) -> CodeLink:
    seen = recorded_seconds(link)
    is_shell = any(each.kind == "recorded" and each.text.startswith(SHELL) for each in link.evidence)
    if seen is None or not is_shell or link.level != "certain":
        return link
    found = _find_call(index.calls_of(link.conversation), commit, seen)
    if found is None or found[0].call.began <= seen <= found[0].call.ended + TOLERANCE:
        return link
    call, how = found
    number = index.turn(call.turn).number
    evidence = Evidence("call", f"a call {how}, by another clock", call.call_id)
    return replace(
        link,
        message=call.message,
        turn=number,
        turns=(LinkedTurn(number, call.message),),
        evidence=(*link.evidence, evidence),
        recorded_at=format_time(int(max(seen, call.call.began) * _SECOND)),
    )


def _find_call(calls: Sequence[IndexedCall], commit: ProjectCommit, seen: float) -> tuple[IndexedCall, str] | None:
    """Return the call that names a commit, and how: one that ran when the commit was made, else the only one.

    None if there is none, if several merely name its subject, or if only calls that do not name it ran then.
    """
    named = [(call, how) for call in calls if (how := name_commit(call.call, commit.id, commit.subject)) is not None]
    at_once = [each for each in named if _runs_at(each[0], seen)]
    if at_once:
        return at_once[-1]
    if any(_runs_at(call, time) for call in calls for time in (seen, commit.author_time)):
        return None
    printed = [each for each in named if each[1] == PRINTED_COMMIT]
    return printed[-1] if printed else named[0] if len(named) == 1 else None


def _runs_at(call: IndexedCall, time: float) -> bool:
    return call.call.began - TOLERANCE <= time <= call.call.ended + TOLERANCE
