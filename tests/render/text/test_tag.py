from __future__ import annotations

from tests.render.rendering import piped, seen_lines
from tests.render.results import PROMPT, SAMPLES

TAGS = SAMPLES["tag"]


def test_tags_are_listed_with_their_messages(at_one_moment):
    rows = seen_lines(TAGS["list"], 120)[4:-1]
    assert rows[0].split()[1:6] == ["good", "callit22", "planner", "1h", "ago"]
    assert piped(TAGS["list"]).splitlines()[1].split("\t")[:3] == ["v1", PROMPT.id, "carol"]


def test_tag_prints_what_was_tagged_and_how_to_undo_it():
    assert seen_lines(TAGS["tagged"]) == ["tagged 7064c2e3 of conv-001 as good", "undo with: scopes undo"]
    assert seen_lines(TAGS["removed"]) == ["removed the tag good from conv-001", "undo with: scopes undo"]
    assert piped(TAGS["tagged"]) == piped(TAGS["removed"]) == "good\n"


def test_without_tags_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(TAGS["empty-list"]) == ["conv-001 has no tags."]
    assert piped(TAGS["empty-list"]) == ""
