"""Filters and limit of `list`: time, agent, project, model, tag.

No store is opened here, because `list` also filters rows that it has read from the index alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import ge, le
from typing import NamedTuple

from scopes.clock import format_seconds
from scopes.errors import check_not_negative
from scopes.index.conversation_table import ConversationRow
from scopes.result import Note, few
from scopes.store.chosen_projects import ChosenProject
from scopes.store.projects import Project, find_project

_SECOND = 1_000_000_000
_TO_SECOND = len("2026-01-01T00:00:00")  # of a time that may have a fraction


class ListFilter(NamedTuple):
    """Conditions that must all be met; names are compared without regard to case.

    since: nanoseconds since 1970; the last activity is not earlier
    until: nanoseconds since 1970; the last activity is not later
    agent: a participant, or the agent whose format the conversation was imported from; if there is none of this name,
        the beginning of the name or of a word in it
    projects: the conversation began in one of them
    model: the model of the newest answer, as for `agent`: `claude`, `opus`
    limit: the number of rows, the newest first; None for all
    clear: returns a name as it is shown; nothing is found by what it hides
    """

    since: int | None = None
    agent: str | None = None
    projects: tuple[Project | ChosenProject, ...] = ()
    model: str | None = None
    tag: str | None = None
    limit: int | None = None
    until: int | None = None
    clear: Callable[[str], str] = str

    @property
    def conditional(self) -> bool:
        """Return True if there is a condition besides the number of rows."""
        return self._replace(limit=None, clear=str) != ALL

    @property
    def needs_details(self) -> bool:
        """Return True if a condition is about a detail of a row, which needs a walk over the history."""
        return bool(self.projects) or any(each is not None for each in (self.agent, self.model, self.tag))

    def select(self, rows: Iterable[ConversationRow]) -> list[ConversationRow]:
        """Return the rows that meet the conditions; the limit is not applied."""
        selected = list(rows)
        for end, is_meant in ((self.since, ge), (self.until, le)):
            if end is not None:
                second = format_seconds(end // _SECOND)[:_TO_SECOND]
                selected = [row for row in selected if is_meant((row.activity or "")[:_TO_SECOND], second)]
        if self.agent is not None:
            names = {name: self.clear(name) for name in {name for row in selected for name in row.participants}}
            shown = _matching(self.agent, names.values())
            agents = {name for name, each in names.items() if each in shown}
            sources = _matching(self.agent, (row.source for row in selected if row.source is not None))
            selected = [row for row in selected if row.source in sources or not agents.isdisjoint(row.participants)]
        if self.model is not None:
            models = _matching(self.model, (row.model for row in selected if row.model is not None))
            selected = [row for row in selected if row.model in models]
        if self.tag is not None:
            tag = self.tag.casefold()
            selected = [row for row in selected if tag in map(str.casefold, row.tags or ())]
        if self.projects:
            directories = self._directories(selected)
            selected = [row for row in selected if row.directory in directories]
        return selected

    def _directories(self, rows: Sequence[ConversationRow]) -> set[str]:
        """Return the recorded directories that belong to one of the projects."""
        directories = {row.directory for row in rows if row.directory is not None}
        found: set[str] = set()
        for project in self.projects:
            if isinstance(project, ChosenProject):
                found |= project.find(directories)
            else:
                found.update(filter(project.contains, directories))
        return found


ALL = ListFilter()


def check_limit(limit: int | None) -> int | None:
    """Return the limit of a list.

    Raises:
        Invalid: it is negative.
    """
    check_not_negative(limit, "number of conversations", "for example: -n 20, or --all")
    return limit


def none_found_note(rows: Iterable[ConversationRow], wanted: ListFilter) -> Note:
    """Return the note that no conversation matches; its hint names the agents, models and tags that there are."""
    known, hints = list(rows), []
    if wanted.agent is not None:
        hints.append(few("agents", (name for row in known for name in row.participants)))
    if wanted.model is not None:
        hints.append(few("models", (row.model for row in known if row.model is not None)))
    if wanted.tag is not None:
        hints.append(few("tags", (name for row in known for name in row.tags or ())))
    if any(isinstance(project, ChosenProject) for project in wanted.projects):
        hints.append(few("projects", project_names(known).values()))
    return Note("no conversation matches", "\n".join(hint for hint in hints if hint) or None)


def _matching(wanted: str, names: Iterable[str]) -> set[str]:
    """Return the names that equal a word, or else those in which a word begins with it; case does not matter."""
    word = wanted.casefold()
    found = {name: name.casefold() for name in names}
    equal = {name for name, folded in found.items() if folded == word}
    return equal or {
        name
        for name, folded in found.items()
        if folded.startswith(word) or any(f"{mark}{word}" in folded for mark in "-/_ ")
    }


def project_names(rows: Iterable[ConversationRow]) -> Mapping[str, str]:
    """Return the name of the project of each recorded directory that belongs to one."""
    return names_of_directories({row.directory for row in rows if row.directory is not None})


def names_of_directories(paths: Iterable[str]) -> Mapping[str, str]:
    """Return the name of the project of each directory that belongs to one.

    Names are not stored, because directories are moved and repositories are made.
    """
    found = {path: find_project(path) for path in paths}
    return {path: project.name for path, project in found.items() if project is not None}
