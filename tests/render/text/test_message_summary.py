from __future__ import annotations

import pytest

from scopes.model.message import Part
from scopes.render.text.message_summary import summarize_message
from tests.render.results import body, head


def summary_line(*parts, kind="answer", author_kind="agent", room=None, subject="(no text)", results=()):
    """A message in one line."""
    of = head("word", "planner", subject, kind=kind, author_kind=author_kind)
    return "".join(span.text for span in summarize_message(of, body(of, *parts), results, room))


def text(value):
    """A part that is text."""
    return Part("text", {"text": value})


CALL = Part("tool_call", {"call_id": "c", "name": "Bash", "input": {"command": "make"}})
RESULT = Part("tool_result", {"call_id": "c", "output": "fine", "exit_code": 0})
THOUGHT = Part("reasoning", {"text": "Let me see.\nYes."})


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([THOUGHT, text("Done.\n\nAll  of it.")], "Done. All of it."),
        ([text("Look:"), CALL, CALL, Part("tool_call", {"name": "Read"})], "Look: → 2 Bash, Read"),
        ([THOUGHT, CALL], "→ Bash make · ok"),
        ([CALL, CALL], "→ Bash make · ok · 1 more"),
        ([RESULT], "← fine"),
        ([RESULT, RESULT], "← fine · 1 more"),
        ([THOUGHT], "thinking, 16 characters: Let me see. …"),
        ([Part("reasoning", {"opaque": "c2VjcmV0"})], "(no text)"),
        ([Part("image", {"media_type": "image/png"})], "[image image/png]"),
        ([text("")], "(no text)"),
    ],
)
def test_a_summary_is_the_text_or_else_the_parts_of_a_message(parts, expected):
    assert summary_line(*parts, results=(RESULT,)) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("compaction", "━━ compaction ━━ The story so far · 2 lines"),
        ("interrupt", "■ interrupted The story so far · 2 lines"),
        ("meta", "The story so far · 2 lines"),
    ],
)
def test_injected_messages_are_dimmed_and_folded(kind, expected):
    assert summary_line(text("The story\nso far"), kind=kind, author_kind="injected") == expected


def test_failed_calls_are_counted_after_the_text():
    wrong = Part("tool_result", {"call_id": "c", "is_error": True})
    assert summary_line(text("Look:"), CALL, results=(wrong,)) == "Look: → Bash, 1 failed"


def test_a_compaction_without_a_text_prints_what_it_holds():
    assert summary_line(Part("raw", {"json": [1]}), kind="compaction") == "━━ compaction ━━ [raw, 13 B of JSON]"


def test_called_tools_are_shown_however_long_the_text_is():
    assert summary_line(text("word " * 100), CALL, room=40) == "word word word word word word wo… → Bash"


def test_without_a_body_the_subject_is_used():
    of = head("word", "codex", "Summary", kind="compaction")
    assert "".join(span.text for span in summarize_message(of, None, (), 80)) == "━━ compaction ━━ Summary"
