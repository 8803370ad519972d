"""Which edits count for a commit: those before it, and those of who amended it later, until then."""

from __future__ import annotations

import pytest

from scopes.code_links.edit_index import IndexedEdit
from scopes.code_links.edit_times import AFTER_SECONDS, EditTimes, recorded_seconds, times_of
from scopes.code_links.link import CodeLink, CommitId
from scopes.ids import ConversationId, MessageId, Oid

COMMITTED = 1_767_225_600.0  # 2026-01-01
LATER = "2026-01-01T01:00:00Z"
ONE, TWO = ConversationId("conv-001"), ConversationId("conv-002")


def edit(conversation, seconds_after):
    return IndexedEdit(
        1, conversation, 1, MessageId("m"), Oid("o"), "c1", "Edit", "/p/a.py", COMMITTED + seconds_after, frozenset({7})
    )


def link(conversation, recorded_at, level="certain"):
    return CodeLink(
        commit=CommitId("a" * 40), conversation=conversation, role="made", level=level, recorded_at=recorded_at
    )


class Source:
    """Edits of one line, as the index has them."""

    def __init__(self, *edits):
        self.edits = edits
        self.asked = []

    def find_edits(self, hashes, base_name, before):
        self.asked.append(before)
        found = [each for each in self.edits if each.time < before]
        return {value: found for value in hashes if found}


def counted(times, *edits):
    found = times.find_edits(Source(*edits), [7], "a.py")
    return [(each.conversation, each.time - COMMITTED) for each in found.get(7, [])]


def test_edits_count_until_a_moment_after_the_author_time():
    assert counted(EditTimes(COMMITTED), edit(ONE, -60), edit(ONE, 4), edit(ONE, 6)) == [(ONE, -60), (ONE, 4)]


def test_those_of_a_conversation_that_amended_the_commit_count_until_then():
    times = times_of(COMMITTED, [link(TWO, LATER)])
    edits = edit(ONE, 60), edit(TWO, 60), edit(TWO, 3604), edit(TWO, 3606)
    assert counted(times, *edits) == [(TWO, 60), (TWO, 3604)]


def test_a_line_with_none_of_the_edits_that_count_is_not_found():
    times = times_of(COMMITTED, [link(TWO, LATER)])
    assert times.find_edits(Source(edit(ONE, 60)), [7], "a.py") == {}


def test_the_index_is_asked_once_for_the_latest_of_all_times():
    source = Source()
    times_of(COMMITTED, [link(TWO, LATER)]).find_edits(source, [7], "a.py")
    assert source.asked == [COMMITTED + 3600 + AFTER_SECONDS]


def test_a_record_before_the_author_time_takes_nothing_away():
    """`git commit --date` may name a time that is still to come."""
    times = times_of(COMMITTED, [link(ONE, "2025-12-31T00:00:00Z")])
    assert times.of(ONE) == COMMITTED
    assert counted(times, edit(ONE, -60)) == [(ONE, -60)]


def test_of_several_records_of_a_conversation_the_last_one_counts():
    times = times_of(COMMITTED, [link(ONE, LATER), link(ONE, "2026-01-01T00:30:00Z"), link(ONE, None)])
    assert (times.of(ONE), times.of(TWO)) == (COMMITTED + 3600, COMMITTED)


@pytest.mark.parametrize("text", [None, "", "yesterday", "2026-13-01T00:00:00Z"])
def test_a_link_without_a_time_has_none(text):
    assert recorded_seconds(link(ONE, text)) is None


def test_an_edit_in_the_second_of_the_commit_is_before_it():
    """Commits have whole seconds."""
    times = EditTimes(COMMITTED)
    assert [times.is_before(edit(ONE, after)) for after in (-60, 0.9, 1.0, 4)] == [True, True, False, False]


def test_a_hook_tells_the_moment_of_a_commit_exactly():
    times = times_of(COMMITTED, [link(ONE, "2026-01-01T00:00:00.5Z"), link(TWO, "2026-01-01T00:00:02Z")])
    assert [times.is_before(edit(ONE, after)) for after in (0.4, 0.6)] == [True, False]
    assert [times.is_before(edit(TWO, after)) for after in (2.9, 3.0)] == [True, False]


def test_later_edits_count_only_if_there_is_no_earlier_one():
    times = EditTimes(COMMITTED)
    earlier, later = edit(ONE, -60), edit(TWO, 3)
    assert times.prefer_earlier([earlier, later]) == [earlier]
    assert times.prefer_earlier([later]) == [later]
