"""What a person reads of `why`: the commit, the level, the prompt, and the evidence in words."""

from __future__ import annotations

import pytest

from scopes.code_links.line_match import ANSWERED, WHY_LEVELS
from scopes.code_links.why_result import Why
from scopes.render.text.why import _NAMES
from tests.render.rendering import piped, seen_lines
from tests.render.results import SESSION_COMMIT, WEAK, YES, why_lines


def shown(*items, whole=False, width=80):
    return [line.rstrip() for line in seen_lines(Why(file="src/session.py", items=items, whole=whole), width)]


def rows(*items):
    return [line.split("\t") for line in piped(Why(file="src/session.py", items=items)).splitlines()]


def evidence(answer, **fields):
    """Return the evidence that is shown for an answer, as one line."""
    lines = shown(why_lines(1, "certain", answer, **fields), width=200)
    return next(line for line in lines if "evidence: " in line).partition("evidence: ")[2]


def test_every_level_has_a_name():
    assert set(_NAMES) == set(WHY_LEVELS)
    assert {_NAMES[level][1] for level in ANSWERED} == {"good"}


def test_several_answers_begin_with_their_lines_and_have_an_empty_line_between():
    lines = shown(why_lines(1, "certain", YES, last=4), why_lines(5, "none"))
    assert lines[0].startswith("1-4  a9c4475")
    assert "" in lines
    assert lines[lines.index("") + 1].startswith("5  a9c4475")


def test_an_uncommitted_line_says_so_instead_of_a_commit():
    assert shown(why_lines(1, "likely", YES, commit=None))[0] == "not committed"


def test_the_turn_and_its_prompt_follow_the_level():
    lines = shown(why_lines(1, "certain", YES._replace(prompt="go on")))
    assert lines[1] == 'certain  conv-001 turn 5  "go on"'


def test_a_turn_before_the_first_prompt_has_no_number():
    lines = shown(why_lines(1, "certain", YES._replace(turn=0, prompt=None)))
    assert lines[1] == "certain  conv-001 before the first prompt"


@pytest.mark.parametrize(("also", "text"), [((2,), ", also turn 2"), ((2, 3), ", also turns 2, 3")])
def test_other_turns_that_wrote_the_line_are_named(also, text):
    assert text in shown(why_lines(1, "certain", YES, also=also))[1]


def test_what_a_prompt_agreed_to_is_shown_below_it_if_it_agreed_to_something():
    own = YES._replace(prompt="add a function", agreed_to=None)
    assert any("agreed to:" in line for line in shown(why_lines(1, "certain", YES)))
    assert not any("agreed to:" in line for line in shown(why_lines(1, "certain", own)))


def test_prompts_of_several_lines_are_one_and_very_long_ones_are_cut():
    (_, line, *_) = shown(why_lines(1, "certain", YES._replace(prompt="one\n\n  two")), width=200)
    assert '"one two"' in line
    text = " ".join(shown(why_lines(1, "certain", YES._replace(prompt="word " * 500))))
    assert text.count("word") < 80
    assert "…" in text


def test_the_evidence_names_the_call_and_the_time_before_the_commit():
    assert evidence(YES) == (
        "line + 6/6 neighbours, Edit toolu_01A2b3C4d5E6f7, 8m 0s before the commit that this conversation made"
    )
    assert evidence(YES._replace(made=False)).endswith("8m 0s before the commit")


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
    lines = [line.strip() for line in shown(why_lines(1, "commit-only", answer))]
    assert "command: ruff format src" in lines


def test_a_whole_file_has_two_lines_for_each_answer():
    lines = shown(why_lines(1, "certain", YES, last=4), why_lines(5, "none"), whole=True)
    assert [line.split()[0] for line in lines if line] == ["1-4", "certain", "5", "none"]
    assert all(len(line) <= 80 for line in lines)


def test_an_unsure_answer_without_candidates_says_why():
    assert shown(why_lines(1, "unsure"))[1] == "unsure  the edits that have it are too old or too many"


def test_candidates_follow_with_their_evidence():
    lines = shown(why_lines(1, "certain", YES, candidates=(WEAK._replace(prompt="go on"),)), width=120)
    assert lines[-1] == 'candidate  conv-020 turn 1  "go on"  (2/5 neighbours, Edit)'


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
