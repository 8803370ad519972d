"""What a person reads of `why`: the commit, the level, the prompt, and the evidence in words."""

from __future__ import annotations

from scopes.code_links.why_result import Why
from tests.render.rendering import piped, seen_lines
from tests.render.results import SESSION_COMMIT, WEAK, YES, why_lines


def shown(*items, whole=False, width=80):
    return [line.rstrip() for line in seen_lines(Why(file="src/session.py", items=items, whole=whole), width)]


def rows(*items):
    return [line.split("\t") for line in piped(Why(file="src/session.py", items=items)).splitlines()]


def evidence(answer, **fields):
    """Return the evidence that is shown for an answer, as one line."""
    lines = shown(why_lines(1, "certain", answer, **fields), width=200)
    return next(line for line in lines if line.startswith("because ")).removeprefix("because").strip()


def test_an_answer_names_the_prompt_the_evidence_and_the_next_command():
    """U16: the evidence named a call that no command opens."""
    own = YES._replace(prompt="add a function", agreed_to=None, made=False)
    assert shown(why_lines(1, "certain", own), why_lines(5, "none")) == [
        "1  a9c4475 Extract the session check   6 Feb alice",
        "✓ certain  conv-001, turn 5",
        "❯ add a function",
        "because     line + 6/6 neighbours, Edit, 8m 0s before the commit",
        "read on     scopes cat callit22",
        "",
        "5  a9c4475 Extract the session check   6 Feb alice",
        "- none     no conversation in this store has this line",
    ]


def test_a_whole_file_has_a_line_for_each_answer_and_one_for_all_that_is_unknown():
    """U16: `why FILE` printed thirty times "none"."""
    lines = shown(why_lines(1, "certain", YES, last=4), why_lines(5, "none"), why_lines(9, "none", last=19), whole=True)
    assert lines[0].startswith("1-4   ✓ certain  conv-001 turn 5  ❯ yep, let's refactor.")
    assert lines[1:] == ["12 of 16 lines: no conversation in this store has them"]
    assert all(len(line) <= 80 for line in lines)


def test_a_very_long_prompt_is_cut():
    text = " ".join(shown(why_lines(1, "certain", YES._replace(prompt="word " * 500, agreed_to=None))))
    assert text.count("word") < 120


def test_the_evidence_of_an_uncommitted_line_counts_from_now():
    assert evidence(YES._replace(made=False), commit=None).endswith("8m 0s ago")


def test_the_evidence_without_an_edit_is_the_commit():
    answer = YES._replace(seconds_before=None, how="no edit has the line")
    assert evidence(answer) == "no edit has the line, in the conversation that made the commit"
    assert evidence(answer._replace(made=False, share=0.5)) == (
        "no edit has the line; 50% of the commit is of this conversation"
    )
    assert evidence(answer._replace(made=False, share=None)) == "no edit has the line"


def test_a_command_is_shown_before_the_evidence():
    answer = YES._replace(seconds_before=None, command="ruff format\nsrc", how="by a command in this turn")
    assert "command     ruff format src" in shown(why_lines(1, "commit-only", answer))


def test_a_pipe_has_a_row_for_each_answer_and_each_candidate():
    found = rows(why_lines(3, "certain", YES, last=7, candidates=(WEAK,)), why_lines(8, "none", commit=None))
    assert [row[:5] for row in found] == [
        ["3-7", SESSION_COMMIT.id, "certain", "conv-001", "5"],
        ["3-7", SESSION_COMMIT.id, "candidate", "conv-020", "1"],
        ["8", "-", "none", "-", "-"],
    ]
    assert [row[9] for row in found] == ["main", "-", "-"]


def test_what_is_unknown_is_a_dash_in_a_pipe():
    (row,) = rows(why_lines(1, "certain", YES._replace(message=None, call_id=None, prompt=None)))
    assert row[5:] == ["-", "-", "line + 6/6 neighbours, Edit", "", "main"]
