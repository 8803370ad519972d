"""Reasons and places are read as a whole on a narrow terminal, and one secret is one row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.sync.bundles import BundleCreated, BundledConversation
from scopes.sync.change_remotes import RemoteChanged
from scopes.sync.pull import PulledBranch
from scopes.sync.pushed import Pushed, PushedConversation
from tests.render.remote_results import REMOTE_SAMPLES
from tests.render.rendering import piped, seen, seen_lines

REASON = "34 possible secrets would leave the store: message abcd1234, line 3: github-token (6073df6d); the title: jwt"


def refused(**options):
    """A push of which one conversation was refused."""
    rows = (PushedConversation("conv-001", "ab" * 20, "refused", 1, reason=REASON),)
    return Pushed(remote="origin", address="/srv/a.git", conversations=rows, unchanged=0, **options)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_reason_of_a_refused_push_is_whole_at_every_width(width):
    assert REASON in " ".join(seen_lines(refused(), width))
    assert all(len(line) <= width for line in seen_lines(refused(), width))


def test_in_a_pipe_a_row_has_its_reason():
    assert piped(refused()) == f"conv-001\trefused\t1\t0\t{REASON}\n"


def test_the_reason_of_a_refused_bundle_is_whole_and_the_title_stays_a_column():
    row = BundledConversation("conv-001", "ab" * 20, "refused", None, 1, 2, REASON)
    text = " ".join(seen_lines(BundleCreated(path="/a", conversations=(row,), size_bytes=None)))
    assert f"conv-001: {REASON}" in text


def test_the_reason_of_a_refused_merge_is_whole():
    branch = PulledBranch("conv-001", "main", "origin/main", "refused", reason=REASON)
    text = " ".join(seen_lines(replace(REMOTE_SAMPLES["pulled"], branches=(branch,))))
    assert f"conv-001/main: {REASON}" in text


def test_of_very_many_reasons_the_first_are_shown():
    rows = tuple(PushedConversation(f"conv-{n:03}", "ab" * 20, "refused", 1, reason=f"why {n}") for n in range(100))
    text = seen(Pushed(remote="origin", address="/a", conversations=rows, unchanged=0))
    assert text.count(": why ") == 20
    assert "80 more reasons" in text


def test_a_push_without_messages_says_what_was_sent():
    rows = [PushedConversation("conv-001", "ab" * 20, "updated", 1, behind=behind) for behind in ((), ("main",))]
    sent = Pushed(remote="origin", address="x", conversations=tuple(rows), unchanged=0)
    first, second = piped(sent).splitlines()
    assert first == "conv-001\tupdated\t1\t0\tmetadata or branches only"
    assert second == "conv-001\tupdated\t1\t0\tmetadata or branches only; behind: main"


def test_a_branch_that_stays_as_it_is_was_not_updated():
    row = PushedConversation("conv-001", "ab" * 20, "updated", 1, diverged=("main",))
    pushed = Pushed(remote="origin", address="/a", conversations=(row,), unchanged=0)
    assert piped(pushed) == "conv-001\tleft\t1\t0\tleft as they are: main\n"
    sent = replace(pushed, conversations=(row._replace(messages=2),))
    assert piped(sent) == "conv-001\tupdated\t1\t2\tleft as they are: main\n"


def test_a_fetch_in_a_pipe_shows_the_beginning_of_a_long_prompt():
    fetched = REMOTE_SAMPLES["fetched"]
    row = fetched.conversations[0]._replace(title="long " * 1000, reason=None)
    assert len(piped(replace(fetched, conversations=(row,)))) < 500


def test_a_dry_run_says_that_nothing_was_sent():
    assert "nothing was sent to origin" in seen(refused(dry_run=True))
    assert "nothing was sent" not in seen(refused())


@pytest.mark.parametrize(
    ("conversations", "default", "hint"),
    [
        (3, True, "get them: scopes fetch"),
        (3, False, "scopes fetch --remote usb"),
        (0, False, "push CONV --remote usb"),
    ],
)
def test_the_next_step_after_adding_a_remote_works_with_several(conversations, default, hint):
    added = RemoteChanged(name="usb", address="/a", change="added", conversations=conversations, default=default)
    assert seen_lines(added)[-1].endswith(hint)
