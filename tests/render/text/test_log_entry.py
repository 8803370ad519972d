"""Messages of an agent's session in a log, folded and with --full."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from scopes.conversation.log import Log
from scopes.history.sessions import ending_of
from scopes.model.message import FileTouch, Part
from scopes.render.view_options import ViewOptions
from tests.render.hostile import forbidden
from tests.render.rendering import document, piped, seen, seen_lines
from tests.render.session import SESSION
from tests.render.with_options import WithOptions
from tests.support.examples import examples

BY_ID = {entry.head.id.rstrip("7"): entry for entry in SESSION}


def shown(word, *, width=80, full=False, **changes):
    """The lines of one message of the session, optionally with changed fields."""
    entry = BY_ID[word]
    head = {name: changes.pop(name) for name in ("kind", "subject") if name in changes}
    message = replace(entry.message, **changes, **{k: v for k, v in head.items() if k == "kind"})
    entry = replace(entry, head=entry.head._replace(**head), message=message, ending=ending_of(message))
    return seen_lines(WithOptions(Log(items=[entry], conversation="c"), ViewOptions(full=full)), width)


@pytest.fixture(autouse=True)
def _now(at_one_moment):
    """Two hours after the session began."""


def test_a_call_is_a_line_with_how_it_ended():
    assert shown("calls")[-2:] == [
        "    → Bash cd /home/carol/projects/shop && python -m pytest… · exit 1 · 3 lines",
        "    → Read …ces/authentication/src/login_form_with_a_long_name.py · ok · 3 lines",
    ]


def test_unrecorded_reasoning_takes_no_line():
    assert not any("thinking" in line for line in shown("calls"))
    assert "    thinking: (not written down by its agent)" in shown("calls", full=True)


def test_a_message_that_only_calls_has_one_line_of_heading():
    assert shown("edit")[:2] == [
        "message edit7777 claude-code · answer · 2025-12-31T22:03:00Z (1h ago)",
        "    thinking, 60 characters: The cookie is set in two places. …",
    ]


def test_results_are_a_line_each():
    assert shown("results")[1:] == ["    ← exit 1: $ pytest · 3 lines", "    ← def login(user): · 3 lines"]


def test_a_compaction_is_a_rule_across_the_terminal():
    rule, summary = shown("again", width=100)
    assert rule.startswith("━━ compaction again777 (main) 2025-12-31T22:32:00Z")
    assert len(rule) == len(rule.rstrip("━")) + rule.count("━") - 2 == 100
    assert summary.endswith("… · 27 lines")


def test_an_interrupt_is_one_line():
    assert shown("stop") == ["message stop7777 user · ■ interrupted · 2025-12-31T22:31:00Z (1h ago)"]


def test_an_error_prints_what_went_wrong():
    lines = shown("found", kind="error")
    assert "▲ error" in lines[0]
    assert lines[-1] == "    Two places set it."


def test_injected_text_is_one_line_and_whole_with_full():
    assert len(shown("rules")) == 2
    assert shown("rules", full=True)[-3:] == [
        "    <environment_context>",
        "      <cwd>/home/carol</cwd>",
        "    </environment_context>",
    ]


@pytest.mark.parametrize("full", [True, False])
def test_a_sub_agent_prints_the_message_that_started_it(full):
    assert any("⮡ sub-agent of spawn777" in line for line in shown("find", full=full))


def test_many_calls_are_counted():
    calls = tuple(Part("tool_call", {"name": "Bash", "input": {"command": str(n)}}) for n in range(25))
    assert shown("spawn", parts=calls)[-2:] == ["    → Bash 19", "    … 5 more lines (scopes cat spawn777)"]


def test_a_long_text_does_not_hide_the_calls_after_it():
    text = Part("text", {"text": "\n".join(map(str, range(100)))})
    lines = shown("spawn", parts=(text, Part("tool_call", {"name": "Bash"})))
    assert lines[-2:] == ["    … 80 more lines (scopes cat spawn777)", "    → Bash"]


def test_full_wraps_long_lines():
    files = (FileTouch("/a" * 80, "edit"),)
    payload = {"topic": "x " * 80, "deep": {"a": 1}}
    lines = shown("found", full=True, files=files, payload=payload)
    assert all(len(line) <= 80 for line in lines)
    assert '    deep: {"a": 1}' in lines


def test_a_pipe_gets_the_same_rows_with_full():
    log = Log(items=SESSION, conversation="c")
    full = WithOptions(log, ViewOptions(full=True))
    assert piped(full) == piped(log)
    assert document(full) == document(log)


@given(st.integers(20, 250), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=examples(25), deadline=None)
def test_no_line_of_a_session_is_wider_than_the_terminal(width, graph, oneline, full):
    log = WithOptions(Log(items=SESSION, conversation="c"), ViewOptions(graph=graph, oneline=oneline, full=full))
    text = seen(log, width)
    assert forbidden(text) == []
    if width >= 40:
        assert max(map(cell_len, text.splitlines())) <= width


ENDINGS = [
    ({"status": "interrupted"}, "interrupted"),
    ({"status": "partial"}, "interrupted"),
    ({"stop_reason": "cancelled"}, "cancelled"),
    ({"status": "completed", "stop_reason": "end_turn"}, None),
]


@pytest.mark.parametrize(("fields", "expected"), ENDINGS)
@pytest.mark.parametrize("full", [False, True])
def test_an_answer_that_is_not_complete_says_so_in_its_heading(fields, expected, full):
    """S3-24."""
    heading = shown("calls", full=full, **fields)[0]
    assert [word for word in ("interrupted", "cancelled") if f" · {word}" in heading] == (
        [expected] if expected else []
    )


@pytest.mark.parametrize(("fields", "expected"), ENDINGS)
@pytest.mark.parametrize("is_terminal", [False, True])
def test_an_answer_that_is_not_complete_says_so_in_one_line(fields, expected, is_terminal):
    """S3-24: in a pipe in brackets."""
    message = replace(BY_ID["calls"].message, **fields)
    entry = replace(BY_ID["calls"], message=message if is_terminal else None, ending=ending_of(message))
    result = WithOptions(Log(items=[entry], conversation="c"), ViewOptions(oneline=True))
    line = seen(result, 120) if is_terminal else piped(result)
    mark = f"{expected}: " if is_terminal else f" [{expected}] "
    assert (mark in line) == (expected is not None)
    assert ("interrupted" in line, "cancelled" in line) == (expected == "interrupted", expected == "cancelled")


def test_a_message_about_an_interrupt_says_so_once():
    lines = shown("calls", kind="interrupt", status="interrupted")
    assert lines[0].count("interrupted") == 1


def test_a_prompt_with_recorded_history_before_it_says_where_that_is():
    lines = shown("ask", extra={"handover": {"blocks": ["history"]}})
    assert lines[-1] == "    recorded history came before this prompt (scopes cat ask77777 --original)"
