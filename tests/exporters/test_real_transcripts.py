"""Exports of transcripts written by real agents, if any are available."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from atif import Trajectory

from scopes.exporters.export import export
from scopes.history.names import conversation_ids
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from tests.exporters.building import document, exported
from tests.exporters.sections import definitions, foreign_html, is_balanced, sections

SHARED = Path(__file__).parents[2].parent / "shared" / "transcripts"
FOLDER = Path(
    os.environ.get("SCOPES_TEST_TRANSCRIPTS") or SHARED
)  # read at import time, because tests run in a clean environment
LARGEST_BYTES = 200_000
MOST_CONVERSATIONS = 3


def some(kind):
    """Return the three largest transcripts of a kind that are small enough."""
    files = [path for path in (FOLDER / kind).rglob("*.json*") if path.is_file() and path.suffix in {".json", ".jsonl"}]
    small = sorted((path.stat().st_size, path) for path in files if path.stat().st_size <= LARGEST_BYTES)
    return [path for _, path in small[-3:]]


REAL = [path for kind in ("claude-code", "codex", "openai-messages") for path in some(kind)]
pytestmark = pytest.mark.skipif(not REAL, reason="no transcripts of real agents here")


@pytest.fixture(params=REAL, ids=lambda path: path.name)
def transcript(request, repository):
    """Import a real transcript and return its path and conversations."""
    import_sources(repository, [Source(str(request.param), request.param.stat().st_size)], FORMATS)
    return request.param, conversation_ids(repository)[:MOST_CONVERSATIONS]


def test_a_real_transcript_is_exported_in_every_format(repository, transcript):
    path, conversations = transcript
    for conversation in conversations:
        assert b"".join(export(repository, conversation, format_name="original").pieces) == path.read_bytes()
        ids = [each["id"][:8] for each in document(repository, conversation, all_branches=True)["messages"]]
        text = exported(repository, conversation, "markdown", all_branches=True)
        assert sections(text) == ids
        assert (foreign_html(text), definitions(text), is_balanced(text)) == ([], {}, True)
        Trajectory.model_validate_json(exported(repository, conversation, "atif"), strict=True)
        assert all("role" in entry for entry in json.loads(exported(repository, conversation, "openai")))
