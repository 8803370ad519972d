"""Leave out the sessions of other projects, by the working directory that each session has recorded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from scopes.importers.work_queue import QueuedSource
from scopes.result import Note
from scopes.store.projects import Project


@dataclass(slots=True)
class ProjectFilter:
    """Selects the sessions of some projects, None for all; `left_out` are the names of the other sessions."""

    projects: Sequence[Project] | None
    left_out: set[tuple[str, str]] = field(default_factory=set)
    _found: bool = False

    def select(self, queue: list[QueuedSource]) -> list[QueuedSource]:
        """Return the sources to import.

        A file that the user named is always among them. A session is imported with all its files, such as those of its
        sub-agents, if one of them is. A session without a recorded directory belongs to no project.
        """
        if self.projects is None:
            return queue
        directories = {directory for queued in queue if (directory := _directory_of(queued)) is not None}
        ours = {path for project in self.projects for path in project.find(directories)}
        selected = {queued.session_name for queued in queue if queued.source.named or _directory_of(queued) in ours}
        self._found = self._found or bool(selected)
        self.left_out |= {queued.session_name for queued in queue} - selected
        return [queued for queued in queue if queued.session_name in selected]

    def notes(self) -> tuple[Note, ...]:
        """Return a note with the number of sessions that were left out, if any were; none is of a missing directory."""
        count = len(self.left_out)
        if not count:
            return ()
        missing = [each.text for each in self.projects or () if not self._found and not os.path.isdir(each.directory)]
        if missing:
            return (Note(f"no session is of {missing[0]}, which is no directory", hint="to import all: --project all"),)
        sessions = "1 session of another project was" if count == 1 else f"{count} sessions of other projects were"
        return (Note(f"{sessions} left out", hint="import all of them with: --project all"),)


def _directory_of(queued: QueuedSource) -> str | None:
    return queued.session.cwd or queued.session.local_directory
