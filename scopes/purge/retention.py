"""`retention`: find conversations that are older than the settings allow, and purge them; never automatically.

scopes.retention.all.age          for every conversation
scopes.retention.<project>.age    for those of a project, by the name of its directory; takes precedence
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final, NamedTuple

from scopes.clock import format_seconds, known_seconds, now_nanoseconds, parse_date, parse_time
from scopes.errors import Invalid, NotFound
from scopes.history.handles import list_tips_by_time, read_heading
from scopes.history.messages import OWN_ADDRESS, RecordedTimes, header_of, is_root, read_body, walk_headers_newest_first
from scopes.history.names import conversation_ids, find_directory
from scopes.ids import ConversationId
from scopes.purge.purge import Places, Progress, PurgeDone, plan_purge, purge_chosen
from scopes.purge.selection import PurgeRequest
from scopes.result import Column, Note, Result, counted, plural
from scopes.store.config import RETENTION_SETTING
from scopes.store.objects import Commit, read_commit
from scopes.store.projects import find_project, name_of
from scopes.store.repository import Repository

ALL: Final = "all"
_NANOSECONDS: Final = 1_000_000_000
NOTHING_DUE: Final = Note("no conversation is older than the rules keep it")
SET_ONE: Final = "set one: scopes config set scopes.retention.all.age '2 years'"


class RetentionRule(NamedTuple):
    """How long conversations of a project are kept after their last message; `all` are those without a rule."""

    project: str
    age: str
    conversations: int
    due: int


class DueConversation(NamedTuple):
    """A conversation that is older than its rule keeps it."""

    conversation: ConversationId
    project: str | None
    newest: str
    age: str
    title: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionStatus(Result):
    """The rules, and the conversations that are due now, the oldest first.

    files_kept: files outside of the store that may have content of them; known once the purge was planned
    """

    rows_in = "due"
    is_one_row = True
    columns = (
        Column("conversation"),
        Column("project"),
        Column("newest", "Last message", "time"),
        Column("age", "Kept for"),
        Column("title"),
    )

    rules: tuple[RetentionRule, ...]
    due: tuple[DueConversation, ...]
    files_kept: tuple[str, ...] = ()

    @property
    def sentence(self) -> list[str]:
        """The rules."""
        rules = [
            f"{rule.project}: {rule.age}, {counted(rule.conversations, 'conversation')}, {rule.due:,} due"
            for rule in self.rules
        ]
        return ["Rules:", *rules] if rules else []


def read_retention(repository: Repository) -> RetentionStatus:
    """Return the rules and the conversations that are due, and change nothing.

    Raises:
        Invalid: an age is not valid.
    """
    rules = dict(_walk_rules(repository))
    cutoffs = {project: _cutoff(project, age) for project, age in rules.items()}
    times = RecordedTimes(repository)
    counts, due, without_time = dict.fromkeys(rules, 0), [], list[ConversationId]()
    for conversation in conversation_ids(repository) if rules else ():
        project = _project_of(repository, conversation)
        rule = project if project is not None and project in rules else ALL
        if rule not in rules:
            continue
        counts[rule] += 1
        newest = _find_newest(repository, conversation, times)
        if newest is None:
            without_time.append(conversation)
        elif newest < cutoffs[rule] and not _has_newer(repository, conversation, times, cutoffs[rule]):
            heading = read_heading(repository, conversation)
            title = None if heading is None else heading.text
            due.append(DueConversation(conversation, project, format_seconds(newest), rules[rule], title))
    due.sort(key=lambda row: (row.newest, row.conversation))
    applied = [row.project if row.project in rules else ALL for row in due]
    rows = tuple(
        RetentionRule(project, age, counts[project], applied.count(project)) for project, age in sorted(rules.items())
    )
    notes = _note_without_time(without_time) if rules else (Note("no rule is set: nothing ever expires", SET_ONE),)
    return RetentionStatus(rules=rows, due=tuple(due), notes=notes)


def _find_newest(repository: Repository, conversation: ConversationId, times: RecordedTimes) -> int | None:
    """Return when the last messages of the branches were written; None if that is not known of one of them.

    The commit of a message without a time has that of the message before it, which may be years older. A merge has the
    time of what it merged: it counts as written when it was made here, or else as old as that.
    """
    newest = []
    waiting = list_tips_by_time(repository, conversation)
    seen = set(waiting)
    while waiting:
        commit = read_commit(repository, waiting.pop())
        recorded = times.add_to(header_of(commit)).recorded
        if recorded is not None:
            newest.append(recorded)
        elif commit.author.email == OWN_ADDRESS and commit.parents:
            waiting += [parent for parent in commit.parents if parent not in seen]
            seen.update(commit.parents)
        elif known_seconds(commit.time) is None or not _has_time(repository, commit):
            return None
        else:
            newest.append(commit.time)
    return max(newest)


def _has_time(repository: Repository, commit: Commit) -> bool:
    """Return False for a message that was imported without a time."""
    if is_root(commit) or commit.message_id is None:
        return True
    time = read_body(repository, commit).time
    return time is not None and parse_time(time) is not None


def _has_newer(repository: Repository, conversation: ConversationId, times: RecordedTimes, cutoff: int) -> bool:
    """Return True if a message was written after a time; one that was copied on top of it by a rebase may be older."""
    heads = walk_headers_newest_first(repository, list_tips_by_time(repository, conversation))
    return any(max(head.time, times.add_to(head).recorded or 0) >= cutoff for head in heads)


def _note_without_time(found: Sequence[ConversationId]) -> tuple[Note, ...]:
    """Return a note about conversations of unknown age: their last messages were imported without times."""
    if not found:
        return ()
    count = len(found)
    verbs = "ends without a time and never expires" if count == 1 else "end without a time and never expire"
    return (
        Note(
            f"{count} {plural(count, 'conversation')} {verbs}",
            f"purge one by its name: scopes purge {quote(found[0])} --whole",
        ),
    )


def plan_retention(repository: Repository, status: RetentionStatus, places: Places) -> RetentionStatus:
    """Add notes about what else the purge removes, and who has it, to a status; raises as `plan_purge`."""
    if not status.due:
        return replace(status, notes=(*status.notes, NOTHING_DUE)) if status.rules else status
    plan = plan_purge(repository, _request_of(status), places)
    return replace(status, files_kept=plan.files_kept, notes=(*status.notes, *plan.notes))


def note_due(status: RetentionStatus) -> RetentionStatus:
    """Add the command that removes what is due to a status, if something is."""
    if not status.due:
        return status
    count = len(status.due)
    text = f"{count} {plural(count, 'conversation')} {'is' if count == 1 else 'are'} older than the rules keep"
    return replace(status, notes=(*status.notes, Note(text, "remove them for good: scopes retention run")))


def _request_of(status: RetentionStatus) -> PurgeRequest:
    return PurgeRequest(tuple(row.conversation for row in status.due))


def run_retention(repository: Repository, places: Places, *, on_progress: Progress = lambda _: None) -> PurgeDone:
    """Purge the conversations that are due now; raises as `purge`, and NotFound if there are none.

    A conversation that gets a message while this waits for the lock is no longer due, and is kept.
    """

    def make_request() -> PurgeRequest:
        status = read_retention(repository)
        if not status.due:
            raise NotFound(NOTHING_DUE.text, hint="see: scopes retention status")
        return _request_of(status)

    return purge_chosen(repository, make_request, places, on_progress=on_progress)


def _walk_rules(repository: Repository) -> Iterator[tuple[str, str]]:
    for setting in repository.config.walk():
        found = RETENTION_SETTING.fullmatch(setting.key)
        if found is not None and setting.value:
            yield found["name"], setting.value


def _cutoff(project: str, age: str) -> int:
    """Return the time, in seconds since 1970, before which conversations are due."""
    now = now_nanoseconds()
    moment = parse_date(f"{age} ago", now)
    if moment >= now:
        hint = f"for example: scopes config set scopes.retention.{quote(project)}.age '2 years'"
        raise Invalid(f"{age!a} is not an age", hint=hint)
    return moment // _NANOSECONDS


def _project_of(repository: Repository, conversation: ConversationId) -> str | None:
    directory = find_directory(repository, conversation)
    if directory is None:
        return None
    project = find_project(directory)
    return name_of(directory) if project is None else project.name
