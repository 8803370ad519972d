"""Event streams and session files of one run, and the runs that they become."""

from __future__ import annotations

import itertools

from scopes.check.run_reader import read_run
from scopes.history.handles import resolve_scope
from scopes.history.names import conversation_ids
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.importers.reading import source_of


def import_paths(repository, *paths, **options):
    """Import files with all formats."""
    return import_sources(repository, [source_of(path) for path in paths], FORMATS, ImportOptions(**options))


def runs_of(repository):
    """Read all conversations as runs."""
    return [read_run(repository, resolve_scope(repository, each)) for each in conversation_ids(repository)]


def import_orders(paths):
    """Return the ways in which files are imported: all at once, and one after the other in every order."""
    return [[list(paths)], *([[path] for path in order] for order in itertools.permutations(paths))]


def calls_of(run):
    """Return tool, outcome and exit code of each call."""
    return [(call.name, call.outcome, call.exit_code) for call in run.calls]
