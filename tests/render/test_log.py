from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.conversation.log import Log, LogEntry
from scopes.merge.lanes import LaneMark
from scopes.model.message import Part
from scopes.render.calls import tell_review
from scopes.render.fields import format_rows
from scopes.render.table import render_text
from scopes.render.terminal import TerminalView
from scopes.render.view import DEFAULT_OPTIONS, View, ViewOptions
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import CALL, ENTRIES, LONG, PROMPT, SAMPLES, body, head
from tests.render.with_options import WithOptions

LOG = SAMPLES["log"]


def text(value):
    """A part that is text."""
    return Part("text", {"text": value})


def test_a_piped_log_is_a_row_each():
    rows = [row.split("\t") for row in piped(LOG["log"]).splitlines()]
    assert rows[3] == [CALL.id, "2025-12-31T22:31:00Z", "planner", "answer", "I will look at the form first."]
    assert len(rows) == 5


def test_a_piped_oneline_log_is_short_id_and_subject():
    assert piped(LOG["oneline"]).splitlines()[4] == "prompt22 Why does the login fail on Safari?"
    assert piped(LOG["oneline"], nul=True).count("\0") == 5


def test_a_template_reads_what_no_row_shows():
    shown = list(format_rows(LOG["log"], DEFAULT_OPTIONS, "{oid} {author_kind} {to} [{branches}]", "\n"))
    assert shown[3] == f"{CALL.oid} agent carol,reviewer []\n"
    assert shown[0] == f"{LONG.oid} agent  [main,fix]\n"


def test_a_cut_subject_ends_in_an_ellipsis_in_a_pipe():
    """Piped logs cut subjects at 72 characters without a mark, also within the name of a tag."""
    for subject, shown in (
        ("x" * 72, "x" * 72 + "…"),
        ("y" * 70, "y" * 70),
        ("y" * 71, "y" * 71 + "…"),
        ("z" * 55 + "</a> <command-mess", "z" * 55 + "</a>…"),
    ):
        log = Log(
            items=[LogEntry(head=head("word", "carol", subject[:72]), message=None, branches=())], conversation="c"
        )
        assert piped(log).splitlines()[0].split("\t")[4] == shown
        assert piped(WithOptions(log, ViewOptions(oneline=True))).splitlines()[0].endswith(f" {shown}")


def test_prompts_are_headings_and_calls_have_outcomes(at_one_moment):
    """U18: nothing distinguished what a person wrote from all else."""
    result = Part("tool_result", {"call_id": "c", "output": "...F\n3 failed, 38 passed in 2.1s\n", "exit_code": 1})
    call = Part("tool_call", {"call_id": "c", "name": "Bash", "input": {"command": "pytest -q tests/login"}})
    asked = LogEntry(head=head("ask", "ann", "x", kind="prompt", author_kind="human", minutes=1))
    asked = replace(asked, message=body(asked.head, text("Why are they logged out?")))
    ran = LogEntry(head=head("run", "claude", "x", kind="answer"), results=(result,))
    ran = replace(ran, message=body(ran.head, text("I run the tests."), call))
    answered = LogEntry(head=head("say", "claude", "x", kind="answer", minutes=1))
    answered = replace(answered, message=body(answered.head, text("The cookie lacks Secure.")))
    log = Log(items=[asked, ran, answered], conversation="conv-060", branch="main", title="Safari", oldest_first=True)
    assert seen_lines(log) == [
        "conv-060/main  Safari",
        "",
        "31 Dec 2025",
        "❯ Why are they logged out?                                        ask22222 23:59",
        "  I run the tests.",
        "  → bash pytest -q tests/login                        ✗ 3 failed, 38 passed",
        "  The cookie lacks Secure.                                        say22222 23:59",
        "",
        "1 prompt, 1 call, 1 failed · in full: scopes log conv-060/main -p",
    ]


@pytest.mark.parametrize("height", [12, 24, 60])
def test_a_log_without_limits_fits_a_screen_and_reads_downwards(height, at_one_moment):
    turns = []
    for number in range(40):
        of = head(f"ask{number}", "ann", f"prompt {number}", kind="prompt", author_kind="human", minutes=number)
        turns.append(LogEntry(head=of, message=body(of, text(f"prompt {number}"))))
    shown = on_screen(turns, height)
    assert len(shown) < height
    assert [line.split("  ")[0] for line in shown if line.startswith("❯")][-1] == "❯ prompt 0"
    assert "scopes log conv-001 -n" in shown[-1]


def test_of_a_turn_that_is_longer_than_the_screen_the_prompt_and_the_end_are_shown(at_one_moment):
    of = head("ask", "ann", "why", kind="prompt", author_kind="human")
    prompt = LogEntry(head=of, message=body(of, text("why")))
    answers = [LogEntry(head=head(f"a{n}", "claude", f"answer {n}"), message=None) for n in range(90)]
    shown = on_screen([*answers, prompt], 20)
    assert len(shown) < 20
    assert any(line.startswith("❯ why") for line in shown)
    assert any("messages left out" in line for line in shown)
    assert any("answer 0" in line for line in shown)


def on_screen(newest_first, height):
    """The lines of a log on a terminal of this height."""
    pieces: list[str] = []
    view = TerminalView(pieces.append, width=80, height=height, color=False, options=ViewOptions(screen=True))
    render_text(Log(items=newest_first, conversation="conv-001"), view)
    return "".join(pieces).splitlines()


def test_the_review_of_an_agent_is_put_into_words():
    """U18: `log` of a review of Codex printed raw JSON."""
    review = {"findings": [], "overall_correctness": "patch is correct", "overall_confidence_score": 0.9}
    assert tell_review(json.dumps(review)) == "review: no findings, patch is correct"
    found = {**review, "findings": [{"title": "Leak"}, {"title": "Race"}], "overall_correctness": "patch is incorrect"}
    assert tell_review(json.dumps(found)) == "review: 2 findings, patch is incorrect: Leak; Race"
    assert tell_review('{"overall_correctness": 1}') == tell_review("{") == tell_review("fine") == ""


def test_a_oneline_log_has_a_line_each_that_fits(at_one_moment):
    lines = seen_lines(LOG["oneline"])
    assert len(lines) == len(ENTRIES) + 1
    assert max(map(len, lines)) <= 80


def test_main_is_the_first_name_and_a_conflict_resolution_branch_the_last():
    names = ("a", "conflict-resolution/a-into-main", "main")
    entry = LogEntry(head=head("word", "carol", "x"), message=None, branches=names, tags=("v1",))
    assert "  (main, a, conflict-resolution/a-into-main, tag: v1)" in seen_lines(entry)


@pytest.mark.parametrize("width", [1, 10, 20, 80])
def test_no_width_is_too_narrow(width):
    assert "look" in seen(LOG["log"], width)
    assert seen_lines(LOG["graph"], width)


@pytest.mark.parametrize("oneline", [True, False])
def test_a_graph_streams(oneline):
    """The second message is drawn before the fourth is read."""
    read: list[str] = []

    def entries():
        for entry in ENTRIES:
            read.append(entry.head.id)
            yield entry

    def write(text):
        if "decide22" in text:
            raise BrokenPipeError

    view = View(write, options=ViewOptions(graph=True, oneline=oneline))
    with pytest.raises(BrokenPipeError):
        render_text(replace(LOG["log"], items=entries()), view)
    assert len(read) == 2


def test_an_empty_log_is_empty():
    nothing = replace(LOG["log"], items=())
    assert piped(nothing) == seen(nothing) == seen(WithOptions(nothing, ViewOptions(graph=True))) == ""


def test_a_log_streams():
    """The first row is written before the second message is read."""
    read: list[str] = []

    def entries():
        for entry in ENTRIES:
            read.append(entry.head.id)
            yield entry

    def write(_text):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        render_text(replace(LOG["log"], items=entries()), View(write))
    assert read == [LONG.id]


SILENT = LogEntry(
    head=head("silent", "codex", "(no text)", kind="answer"),
    message=body(
        head("silent", "codex", "(no text)", kind="answer"),
        Part("tool_call", {"name": "Bash", "input": {"command": "make test " * 20}}),
    ),
    branches=(),
)


def test_a_row_of_a_message_without_text_summarizes_its_parts():
    """Command line, output 2: a subject is as short as any other."""
    subject = piped(SILENT).rstrip().split("\t")[4]
    assert subject.startswith("→ Bash make test make")
    assert (len(subject), subject[-1]) == (72, "…")
    assert "→ Bash make test" in piped(LOG["oneline"].replaced(items=[SILENT]))
    assert piped(replace(SILENT, message=None)).split("\t")[4] == "(no text)\n"


def test_the_digest_of_a_merge_is_wrapped_between_words():
    """A terminal cut it within a word."""
    digest = "fix: 2 messages; changed src/login.py; tests failed (python -m pytest -q tests/test_login.py)"
    lane = LaneMark("fix", "main", LONG.id, PROMPT.id, 7, 2, ("planner", "a-very-long-name-of-an-agent"), (digest,))
    entries = (ENTRIES[0], replace(ENTRIES[2], lanes=(lane,)))
    lines = seen_lines(Log(items=iter(entries), conversation="conv-001"), 80)
    assert max(map(len, lines)) <= 80
    assert digest in " ".join(line.strip() for line in lines)
    assert "a-very-long-name-of-an-agent" in " ".join(line.strip() for line in lines)
