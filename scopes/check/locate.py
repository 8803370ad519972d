"""Find the line of the transcript at which an event was recorded."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.check.findings import Finding, Verdict
from scopes.check.session_files import number_lines
from scopes.check.transcripts import Sources
from scopes.history.handles import Scope
from scopes.history.names import find_root_commit
from scopes.history.sources import walk_chunks, walk_spans
from scopes.ids import MessageId
from scopes.store.repository import Repository


def locate_events(
    repository: Repository, scope: Scope, verdicts: Iterable[Verdict], imported: Sources
) -> list[Verdict]:
    """Return the verdicts with path and line of each event whose message was imported; lines count from 1."""
    verdicts = list(verdicts)
    wanted = {event.message for verdict in verdicts for finding in verdict.findings for event in finding.events}
    places = _find_places(repository, scope, wanted, imported) if wanted else {}
    return [
        verdict._replace(findings=tuple(_located(finding, places) for finding in verdict.findings))
        for verdict in verdicts
    ]


def _located(finding: Finding, places: dict[MessageId, tuple[str, int]]) -> Finding:
    events = tuple(
        event._replace(path=places[event.message][0], line=places[event.message][1])
        if event.message in places
        else event
        for event in finding.events
    )
    return finding._replace(events=events)


def _find_places(
    repository: Repository, scope: Scope, wanted: set[MessageId], imported: Sources
) -> dict[MessageId, tuple[str, int]]:
    root = find_root_commit(repository, scope.conversation)
    places: dict[MessageId, tuple[str, int]] = {}
    for source, record in imported.of(root):
        starts: dict[str, int] = {}
        for offset, _, message in sorted(walk_spans(repository, source, wanted - places.keys())):
            starts.setdefault(message, offset)
        lines = number_lines(walk_chunks(repository, source), list(starts.values()))
        for message, line in zip(starts, lines, strict=False):
            places[MessageId(message)] = record.path, line
    return places
