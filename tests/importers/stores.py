"""Stores that tests import into, with the demo format."""

from __future__ import annotations

import subprocess

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.importers.demo_format import DemoFormat


def import_demo(
    repository, *sources, on_progress=lambda _: None, skipped=(), notes=(), index_directory=None, **options
):
    """Import with the demo format."""
    extra = {"on_progress": on_progress, "skipped": skipped, "notes": notes, "index_directory": index_directory}
    return import_sources(repository, sources, (DemoFormat(),), ImportOptions(**options), **extra)


def branch_words(repository, branch="main", conversation="conv-001"):
    """Return the texts of a branch, oldest first, joined to one line, without the prefix `say`."""
    tip = list_branch_tips(repository, conversation)[branch]
    heads = walk_headers_oldest_first(repository, [tip])
    return " ".join(read_message(repository, head.oid).text.removeprefix("say ") for head in heads)


def skipped_paths(done):
    """Return the paths that an import skipped."""
    return [found.path for found in done.skipped]


def count_objects(repository):
    """Count the objects of a store."""
    command = ["git", "--git-dir", repository.path, "cat-file", "--batch-all-objects", "--batch-check"]
    return len(subprocess.run(command, capture_output=True, check=True).stdout.splitlines())
