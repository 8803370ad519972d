from __future__ import annotations

from dataclasses import replace

import pytest

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SAMPLES

LIST, VIEW = (SAMPLES["proposals"][name] for name in ("list", "pending"))


def test_a_list_on_a_terminal_shows_what_would_change():
    """It had the names of the fields alone."""
    (row, _) = LIST.rows
    (change, *_) = row.proposal.changes
    assert f"{change.field}: " in seen(LIST)
    assert piped(LIST).splitlines()[0].split("\t")[2] == ",".join(row.proposal.fields)


@pytest.mark.parametrize(("width", "is_shown"), [(80, False), (200, True)])
def test_the_confidence_gives_way_to_the_values_on_a_narrow_terminal(width, is_shown):
    assert ("Confidence" in seen(LIST, width)) is is_shown


@pytest.mark.parametrize("field", ["is_amended", "is_retracted"])
def test_a_withdrawn_proposal_says_why(field):
    proposal = replace(VIEW.proposal, state="withdrawn", **{field: True})
    lines = seen_lines(replace(VIEW, proposal=proposal))
    assert " withdrawn " in lines[0]
    assert f"Message: {field.removeprefix('is_')} since: scopes changes {VIEW.conversation}" in lines
