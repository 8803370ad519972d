from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.result import Note
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


def test_a_proposal_that_was_rolled_back_is_called_so():
    """It was `now applied, rolled back`."""
    assert " is now rolled back" in seen(SAMPLES["proposals"]["rolled-back"])


def test_a_list_without_open_proposals_does_not_say_that_there_are_none():
    empty = SAMPLES["proposals"]["empty-list"]
    assert seen_lines(empty)[0] == "no proposals"
    assert seen_lines(replace(empty, notes=(Note("1 closed proposal not listed"),)))[0] == "no open proposals"
