"""Real sessions, counted by the importer and by an independent parser."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest

from scopes.importers.formats.base import choose_format
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.events import Draft, SessionRecord, Unparsed
from tests.importers.formats.claude_code.independent_parser import Raw
from tests.importers.formats.claude_code.logs import check, forks

SIZES = {  # messages, forks, messages without a parent
    "concat-json-line_115": (120, 1, 1),
    "empty-text-fork": (112, 1, 1),
    "microcompact": (108, 0, 1),
    "prefix-1of3": (22, 0, 1),
    "prefix-2of3": (30, 0, 1),
    "prefix-3of3": (50, 0, 1),
    "two-sessionIds": (114, 0, 1),
    "v2.0.76_compact_small": (29, 0, 1),
    "v2.1.138_attachments": (12, 0, 1),
    "v2.1.159_mode_away-summary": (20, 0, 1),
    "v2.1.32_188-fanouts_big": (488, 0, 1),
    "v2.1.7_3compactions_6interrupts": (468, 0, 1),
    "subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f": (2, 0, 1),
    "subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f/subagents/agent-a0ad4f44468bdf20d": (3, 0, 1),
}
TOKENS = {
    "input_uncached": "input_tokens", "cache_read": "cache_read_input_tokens", "cache_write": "cache_creation_input_tokens",
    "output": "output_tokens",
}  # fmt: skip


def read(source):
    events = list(ClaudeCode().walk_events(source))
    check(events, source.size)
    return events


def drafts(source):
    return [event for event in read(source) if isinstance(event, Draft)]


def is_line(found):
    return [draft.parent for draft in found] == [None, *(draft.key for draft in found[:-1])]


@pytest.mark.parametrize("name", SIZES)
def test_messages_forks_and_roots_agree_with_an_independent_count(real, name):
    found = drafts(real(name))
    raw = Raw(real(name).path)
    counted = len(found), forks(found), sum(draft.parent is None for draft in found)
    assert counted == (len(raw.messages()), raw.forks(), raw.beginnings()) == SIZES[name]


@pytest.mark.parametrize("name", SIZES)
def test_tokens_are_those_of_the_last_line_of_every_answer(real, name):
    total = Counter()
    for draft in drafts(real(name)):
        total.update({count: (draft.usage or {}).get(count, 0) for count in TOKENS})
    raw = Raw(real(name).path)
    assert total == {ours: raw.tokens(theirs) for ours, theirs in TOKENS.items()}


@pytest.mark.parametrize("name", SIZES)
def test_every_record_is_read_and_recognized_by_its_content(real, name):
    assert isinstance(choose_format([ClaudeCode()], real(name)), ClaudeCode)
    assert not [event for event in read(real(name)) if isinstance(event, Unparsed)]


def test_two_records_on_one_line_are_both_read(real):
    """242 records on 241 lines."""
    source = real("concat-json-line_115")
    events = read(source)
    raw = Raw(source.path)
    assert len(raw.records) == 242
    spoken = {name for event in events if isinstance(event, Draft) for name in event.native_ids}
    assert {record["uuid"] for record in raw.spoken} <= spoken
    states = [event.key for event in events if isinstance(event, SessionRecord)]
    assert states.count("repeated/assistant") == 1
    assert len(states) + len(raw.spoken) == 242


def test_a_session_with_three_compactions_is_one_line(real):
    found = drafts(real("v2.1.7_3compactions_6interrupts"))
    kinds = Counter(draft.kind for draft in found)
    assert (kinds["compaction"], kinds["interrupt"]) == (3, 6)
    assert [draft.kind for draft in found if draft.context_root] == ["compaction"] * 3
    assert is_line(found)


def test_the_first_of_two_sessions_owns_the_file(real):
    session = read(real("two-sessionIds"))[0]
    assert session.native_id.startswith("2a8af1a8")


def test_titles_are_those_of_the_session_itself(real):
    """The summaries at the start of a file belong to other sessions."""
    titled, summarized = real("v2.1.159_mode_away-summary"), real("v2.1.7_3compactions_6interrupts")
    titles = [record["aiTitle"] for record in Raw(titled.path).records if record["type"] == "ai-title"]
    assert read(titled)[-1].title == titles[-1]
    raw = Raw(summarized.path)
    assert not any(record["leafUuid"] in raw.by_uuid for record in raw.records if record["type"] == "summary")
    assert read(summarized)[-1].title is None


def test_a_file_that_was_read_has_the_hash_of_the_file_edited_next(real):
    """The record of an edit contains the file before the edit."""
    source = real("microcompact")
    before = {}
    for record in Raw(source.path).spoken:
        edit = record.get("toolUseResult")
        if isinstance(edit, dict) and edit.get("originalFile"):
            before.setdefault(edit["filePath"], "sha256:" + sha256(edit["originalFile"].encode()).hexdigest())
    seen, compared = {}, []
    for touch in [touch for draft in drafts(source) for touch in draft.files]:
        if touch.op == "read":
            seen[touch.path] = touch.content_hash
        elif (first := before.pop(touch.path, None)) and seen.get(touch.path):
            compared.append((first, seen[touch.path]))
    assert len(compared) == 5
    assert [edited for edited, _ in compared] == [read for _, read in compared]
