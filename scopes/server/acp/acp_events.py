"""`acp --log`: what `acp.log` says about sessions and the recording (S3-18)."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from scopes.clock import now
from scopes.live.event_log import Event, Events, read_events, why_unwritable
from scopes.result import Column, Note, Result, short_id
from scopes.server.acp.event_filter import STARTS, STORE, EventFilter, store_of

ALL: Final = EventFilter()
FAILURES: Final = (  # an agent that gave no session, a way that it was asked for, a conversation that is not readable
    "start-failed", "refused", "fork-failed", "resume-failed", "load-failed", "continue-failed", "history-failed",
)  # fmt: skip
PROBLEMS: Final = (  # of sessions that began, and of their recording
    "fork-not-offered", "replay-differs",
    "recording-off", "recording-slow", "store-failed", "spool-failed", "spool-left", "spool-not-taken",
    "branch-left", "not-done", "message-shortened", "store-busy", "read-failed", "bug",
)  # fmt: skip

_FAILED, _SLOW, _OFF = "store-failed", "recording-slow", "recording-off"
_ON_DISK = "it goes on when the store can be written; what waits is on disk meanwhile: nothing is lost"
_IN_MEMORY = "what waits may be in memory only, and is lost with the process: mend that before the agent ends"
_KEPT, _NOT_KEPT = "spooled", "spool-failed"
_OVER = {"store-recovered", "caught-up", "spool-left", "end", "start", _OFF}


class AgentSessions(NamedTuple):
    """How the sessions of one agent began, how often history was put in, and what failed, by the name of the event.

    problems: what went wrong in sessions that began: of `failures` each was tried, and did not work.
    """

    agent: str
    sessions: int
    new: int
    resumed: int
    loaded: int
    forked: int
    injected: int
    failures: Mapping[str, int]
    problems: Mapping[str, int]

    @property
    def failed(self) -> str:
        """The failures in words."""
        return ", ".join(f"{count} {name}" for name, count in self.failures.items())

    @property
    def problem_counts(self) -> str:
        """The problems in words."""
        return ", ".join(f"{count} {name}" for name, count in self.problems.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpStats(Result):
    """The sessions of each agent, the agent with the most sessions first."""

    rows_in = "agents"
    columns = (
        Column("agent", form="agent"),
        *(Column(name, form="count") for name in AgentSessions._fields[1:7]),
        Column("failed", on="pipe"),
        Column("failed", form="below", on="terminal"),
        Column("problem_counts", "Problems", on="pipe"),
        Column("problem_counts", form="below", on="terminal"),
    )
    empty = "No agent has run behind scopes acp yet."

    agents: tuple[AgentSessions, ...]

    @property
    def next_step(self) -> str:
        """Where the failures are."""
        return "see: scopes acp --log" if any(row.failures or row.problems for row in self.agents) else ""


_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


class LoggedEvent(NamedTuple):
    """One line of the log; `details` are the fields that only this event has."""

    time: str
    event: str
    agent: str
    pid: int
    details: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The details as text."""
        return ", ".join(f"{name}: {_text_of(value)}" for name, value in self.details.items())

    @property
    def words(self) -> str:
        """The details as a person reads them: without what is not so, and commits short."""
        found = []
        for name, value in self.details.items():
            if value is not False and value != []:
                text = ", ".join(map(str, value)) if isinstance(value, list) else _text_of(value)
                found.append(f"{name.replace('_', ' ')}: {short_id(text) if _COMMIT.fullmatch(text) else text}")
        return ", ".join(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpLog(Result):
    """Events, newest first."""

    rows_in = "events"
    columns = (
        Column("time", form="time"),
        Column("agent", form="agent"),
        Column("event"),
        Column("text", "Details", on="pipe"),
        Column("words", "Details", "prose", on="terminal"),
        Column("pid", "PID", on="template"),
    )
    empty = "Nothing is logged."

    events: tuple[LoggedEvent, ...]


def acp_stats(directory: str, wanted: EventFilter = ALL) -> AcpStats:
    """Count the sessions of each agent in the log of a directory; one that only failed has a row too."""
    events = _read(directory, wanted)
    found: dict[str, Counter[str]] = {}
    for event in events.events:
        key = f"session {event.details.get('way')}" if event.name == "session" else event.name
        found.setdefault(event.agent, Counter())[key] += 1
    rows = [_sessions_of(agent, counts) for agent, counts in found.items()]
    used = [row for row in rows if row.sessions or row.failures or row.problems]
    agents = tuple(sorted(used, key=lambda row: (-row.sessions, row.agent)))
    notes = (*events.notes, *_waiting_notes(events.events), *_unwritable_notes(directory))
    return AcpStats(agents=agents, notes=notes)


def _read(directory: str, wanted: EventFilter) -> Events:
    events = read_events(directory)
    return events._replace(events=wanted.choose(_with_names(events.events)))


def _unwritable_notes(directory: str) -> Iterator[Note]:
    """Yield a warning if the log of a directory has not got what happens now."""
    reason = why_unwritable(directory)
    if reason is not None:
        yield Note(f"nothing more gets into the log: cannot write {directory}: {reason}", "see: scopes doctor")


def _waiting_notes(events: Sequence[Event]) -> Iterator[Note]:
    """Yield a warning for each recording that waits for its store now."""
    for found in _list_problems(events, now()):
        if not found.has_ended:
            yield Note(found.detail, found.cure)


def _sessions_of(agent: str, counts: Counter[str]) -> AgentSessions:
    ways = {way: counts[f"session {way}"] for way in ("new", "resume", "load", "fork")}
    return AgentSessions(
        agent=agent,
        sessions=sum(ways.values()),
        new=ways["new"],
        resumed=ways["resume"],
        loaded=ways["load"],
        forked=ways["fork"],
        injected=counts["injected"],
        failures=_known(counts, FAILURES),
        problems=_known(counts, PROBLEMS),
    )


def _known(counts: Counter[str], names: Iterable[str]) -> dict[str, int]:
    return {name: counts[name] for name in names if counts[name]}


def acp_log(directory: str, wanted: EventFilter = ALL, *, limit: int | None = None, agent: str | None = None) -> AcpLog:
    """Return the events of the log of a directory, newest first; of one agent, if it is given, in any case.

    An agent says its name after its start: the events before that have it too. What could not be started has the name
    that the same command had before, or else that of its program.
    """
    found = _read(directory, wanted)
    known_events = events = found.events
    if agent is not None:
        events = tuple(event for event in events if event.agent.casefold() == agent.casefold())
    newest = events[::-1] if limit is None else events[::-1][:limit]
    notes = (*found.notes, *_unwritable_notes(directory))
    if agent is not None and not events and found.events:
        known = ", ".join(sorted({event.agent for event in known_events}))
        notes = (*notes, Note(f"the log has no event of an agent {agent!a}", f"it has: {known}"))
    return AcpLog(events=tuple(map(_logged, newest)), notes=notes)


def _logged(event: Event) -> LoggedEvent:
    details = {name: value for name, value in event.details.items() if name != STORE}
    return LoggedEvent(event.time, event.name, event.agent, event.pid, details)


def _with_names(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return events with the names that agents say after their start, without the keys of their commands."""
    runs: list[int] = []  # the start of the process of each event
    names: dict[int, str] = {}
    by_command: dict[str, str] = {}
    latest: dict[int, int] = {}
    for place, event in enumerate(events):
        if event.name in STARTS:
            latest[event.pid] = place
        runs.append(latest.setdefault(event.pid, place))
        if event.name == "initialize":
            names[runs[-1]] = event.agent
            by_command[str(events[runs[-1]].details.get("command"))] = event.agent
    found = []
    for run, event in zip(runs, events, strict=True):
        details = {name: value for name, value in event.details.items() if name != "command"}
        name = names.get(run, event.agent)
        command = event.details.get("command")
        if event.name == "start-failed" and name == details.get("program") and isinstance(command, str):
            name = by_command.get(command, name)
        found.append(event._replace(agent=name, details=details))
    return tuple(found)


class RecordingProblem(NamedTuple):
    """A recording that waits for its store now, or that has ended with messages that are lost.

    is_on_disk: what waits is in the spool, as far as the log says; else it is only in the memory of the process.
    store: the one that it records into, as far as the log says: it is that of a project, or any other one.
    """

    time: str
    agent: str
    pid: int
    has_ended: bool
    error: str
    is_on_disk: bool = False
    store: str | None = None

    @property
    def detail(self) -> str:
        """What a user reads."""
        if self.has_ended:
            return f"the recording of {self.agent} ended at {self.time}: {self.error}"
        store = "its store" if self.store is None else f"its store {self.store}"
        return f"the recording of {self.agent} (process {self.pid}) waits for {store}: {self.error}"

    @property
    def cure(self) -> str:
        """What to do about it."""
        if self.has_ended:
            return "what followed is not recorded; see scopes acp --log"
        return _ON_DISK if self.is_on_disk else _IN_MEMORY


def recording_problems(directory: str, since: str) -> list[RecordingProblem]:
    """Return what the log of a directory says about recordings: those that ended since a time, and those that wait."""
    return _list_problems(read_events(directory).events, since)


def _list_problems(events: Sequence[Event], since: str) -> list[RecordingProblem]:
    waiting: dict[int, RecordingProblem] = {}
    ended = []
    kept: dict[int, bool] = {}
    stores: dict[int, str | None] = {}
    for event in events:
        error = str(event.details.get("error") or "")
        problem = RecordingProblem(event.time, event.agent, event.pid, has_ended=event.name == _OFF, error=error)
        if event.name in STARTS:
            stores[event.pid] = store_of(event)
        if event.name in {_KEPT, _NOT_KEPT}:
            kept[event.pid] = event.name == _KEPT
        if event.name in {_FAILED, _SLOW}:  # a store that is locked is only slow
            waiting[event.pid] = problem
        elif event.name == _NOT_KEPT:  # the store may be locked only: what it takes is in memory until then
            waiting.setdefault(event.pid, problem)
        elif event.name in _OVER:
            waiting.pop(event.pid, None)
            kept.pop(event.pid, None)
        if problem.has_ended and event.time >= since:
            ended.append(problem)
    alive = (each for each in waiting.values() if _is_alive(each.pid))
    return [
        *ended,
        *(each._replace(is_on_disk=kept.get(each.pid, False), store=stores.get(each.pid)) for each in alive),
    ]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def protocol_versions(directory: str) -> dict[str, int]:
    """Return the version of the protocol that each agent in the log of a directory spoke last."""
    found: dict[str, int] = {}
    for event in read_events(directory).events:
        version = event.details.get("protocol") if event.name == "initialize" else None
        if isinstance(version, int):
            found[event.agent] = version
    return found
