from __future__ import annotations

from tests.render.rendering import piped, seen_lines
from tests.render.results import CALL, SAMPLES

TAGS = SAMPLES["tag"]


def test_a_template_reads_a_tags_commit():
    assert piped(TAGS["list"], template="{tag} {oid}").splitlines()[0] == f"good {CALL.oid}"


def test_tag_prints_what_was_tagged_and_how_to_undo_it():
    assert seen_lines(TAGS["tagged"]) == ["tagged 7064c2e3 of conv-001 as good", "undo with: scopes undo"]
    assert seen_lines(TAGS["removed"]) == ["removed the tag good from conv-001", "undo with: scopes undo"]
    assert piped(TAGS["tagged"]) == piped(TAGS["removed"]) == "good\n"


def test_without_tags_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(TAGS["empty-list"]) == ["conv-001 has no tags."]
    assert piped(TAGS["empty-list"]) == ""
