"""Record the commits of the last turn of a session that was just imported, by where HEAD of its project was meanwhile.

What an agent itself wrote is imported unchanged, so that every machine gets the same commits from one transcript. So
the moves of HEAD are not part of its messages: the commits among them are recorded next to those that hooks record.
"""

from __future__ import annotations

from typing import Any

from scopes.clock import parse_time
from scopes.code_links.commit_store import CommitRecords
from scopes.code_links.link import CommitId
from scopes.code_links.record_commits import has_commits, record_turn
from scopes.code_links.recorded_links import resolve_session
from scopes.code_links.reflog import describe_turn
from scopes.code_links.turns import TurnMessage, list_turn_messages
from scopes.history.handles import read_uuid
from scopes.history.messages import read_body
from scopes.history.sources import source_key
from scopes.ids import OperationId
from scopes.store.objects import read_commit
from scopes.store.projects import ReflogEnd
from scopes.store.repository import Repository

_SECOND = 1_000_000_000
_CLOCK_SECONDS = 2  # between the clock of the agent and that of git, which has whole seconds


def record_last_turn(
    repository: Repository, tool: str, session: str, directory: str, stop: ReflogEnd | None = None
) -> OperationId | None:
    """Record the commits that were made in a directory since the last prompt of a session; None if there is none.

    A turn without a tool call makes none. If the last turn began after `stop`, those of the turn that ended there
    come first.

    tool: the format of the session
    session: the agent's own id of it
    stop: where the reflog ended when the agent reported the end of the turn

    Raises:
        Busy, Inaccessible: nothing was recorded.
        NotFound, Corrupt: a message is damaged or missing.
    """
    found = resolve_session(repository, source_key(tool, session, None))
    if found is None:
        return None
    conversation = read_uuid(repository, found[0])
    messages = list_turn_messages(repository, found[1])
    last = _last_turn(messages)
    earlier = [] if stop is None else _turn_before(repository, messages, last, stop)
    operation = _record(repository, conversation, earlier, directory, stop)
    return _record(repository, conversation, last, directory, stop) or operation


def _record(
    repository: Repository, conversation: str, turn: list[TurnMessage], directory: str, stop: ReflogEnd | None
) -> OperationId | None:
    if not turn:
        return None
    ended = max(message.head.time for message in turn) + _CLOCK_SECONDS  # a commit since may be one by a person
    is_of_turn = stop is not None and _began(repository, turn) <= stop.at and ended - 2 * _CLOCK_SECONDS <= stop.at
    git = describe_turn(directory, turn[0].head.time, ended, stop if is_of_turn else None)
    if git is None or not has_commits(git) or not any(_has_call(repository, each) for each in turn):
        return None
    git["moves"] = _without_other_turns(repository, conversation, turn, git["moves"])
    return record_turn(repository, conversation, turn[-1].head.id, git)


def _without_other_turns(
    repository: Repository, conversation: str, turn: list[TurnMessage], moves: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Leave out what another turn has made: the last commit of one may be of the second in which the next one began."""
    records, own = CommitRecords(repository), {message.head.id for message in turn}
    return [
        move
        for move in moves
        if not any(
            record.conversation == conversation and record.message not in own
            for record in records.find(CommitId(move["new"]))
        )
    ]


def _turn_before(
    repository: Repository, messages: list[TurnMessage], last: list[TurnMessage], stop: ReflogEnd
) -> list[TurnMessage]:
    """Return the turn that ended at `stop` if the last one began since, as with two prompts in quick succession."""
    rest = messages
    while last and _began(repository, last) > stop.at:
        begin = last[0].begin
        rest = [each for each in rest if each.begin != begin]
        last = _last_turn(rest)
    return last if rest is not messages else []


def _began(repository: Repository, turn: list[TurnMessage]) -> float:
    """Return when the prompt of a turn was given, in seconds since 1970; commits have whole seconds only."""
    head = turn[0].head
    time = read_body(repository, read_commit(repository, head.oid)).time
    found = None if time is None else parse_time(time)
    return float(head.time) if found is None else found / _SECOND


def _has_call(repository: Repository, message: TurnMessage) -> bool:
    body = read_body(repository, read_commit(repository, message.head.oid))
    return any(part.type in {"tool_call", "tool_result"} for part in body.parts)


def find_last_turn(repository: Repository, tool: str, session: str) -> list[TurnMessage]:
    """Return the messages of the last turn of a session, its prompt first; none if the store has no such session.

    Raises:
        NotFound, Corrupt: a message is damaged or missing.
    """
    found = resolve_session(repository, source_key(tool, session, None))
    return [] if found is None else _last_turn(list_turn_messages(repository, found[1]))


def _last_turn(messages: list[TurnMessage]) -> list[TurnMessage]:
    """Return the messages of the turn that began last; none before the first prompt."""
    begins = [each for each in messages if each.begin == each.head.oid]
    if not begins:
        return []
    begin = max(reversed(begins), key=lambda each: each.head.time)  # of one second the last one: parents come first
    return [each for each in messages if each.begin == begin.head.oid]
