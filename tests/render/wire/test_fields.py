"""Fields that several JSON objects share."""

from __future__ import annotations

import pytest

from scopes.clock import utc
from scopes.history.handles import PROMPT, TITLE, Heading
from scopes.render.wire.fields import heading_fields, staleness


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00+01:30", "2026-01-31T08:00:00.000Z"),
        ("2026-01-01T00:30:00.250+02:00", "2025-12-31T22:30:00.250Z"),
        ("not a time", "not a time"),
        ("not a timeZ", "not a timeZ"),
        ("", ""),
        (None, None),
    ],
)
def test_a_time_is_written_in_utc(time, shown):
    assert utc(time) == shown


@pytest.mark.parametrize(
    ("newer", "fields"),
    [(None, {}), (0, {"stale": False, "newer_messages": 0}), (3, {"stale": True, "newer_messages": 3})],
)
def test_a_summary_is_stale_if_there_are_newer_messages(newer, fields):
    assert staleness(newer) == fields


@pytest.mark.parametrize(
    ("heading", "fields"),
    [
        (None, {}),
        (Heading("Fix it", TITLE), {"title": "Fix it", "title_source": "title"}),
        (Heading("Fix…", PROMPT), {"title": "Fix…", "title_source": "prompt"}),
    ],
)
def test_a_conversation_is_called_by_its_title_or_first_prompt(heading, fields):
    assert heading_fields(heading) == fields
