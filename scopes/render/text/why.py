"""Render the answers of `why`: the commit of lines, how sure the turn is, what was asked for, and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import in_seconds
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import format_duration
from scopes.render.view import Cell, Column, Span, View
from scopes.result import plural

if TYPE_CHECKING:
    from scopes.code_links.line_match import WhyLevel
    from scopes.code_links.why_result import Why, WhyAnswer, WhyLines
    from scopes.render.color import Style

_COLUMNS = (
    Column("Lines"),
    Column("Commit"),
    Column("Level"),
    Column("Conversation"),
    Column("Turn"),
    Column("Message"),
    Column("Call"),
    Column("How"),
    Column("Prompt"),
    Column("Branch"),
)
_NAMES: dict[WhyLevel, tuple[str, Style]] = {
    "certain": ("certain", "good"),
    "likely": ("likely", "good"),
    "other-session": ("other-session", "good"),
    "near": ("near", "warn"),
    "commit-only": ("commit-only", "warn"),
    "unsure": ("unsure", "warn"),
    "none": ("none", "dim"),
}
_MEANINGS: dict[WhyLevel, str] = {
    "near": "an edit has the lines around it: it was changed afterwards",
    "none": "no conversation in the store has this line",
}
_HASH_LENGTH = 7
_MIN_SUBJECT = 20  # cells
_MAX_TEXT = 300  # cells of a prompt or a command on a terminal
_UNCOMMITTED = "not committed"
_CANDIDATE = "candidate"
_MAIN = "main"  # is not named


@render_text.register
def render_why(result: Why, view: View) -> None:
    """Write the answers for all lines; a whole file has one line for each prompt."""
    if not view.terminal:
        view.rows(_COLUMNS, [row for each in result.items for row in _rows(each)])
        return
    for number, each in enumerate(result.items):
        if number and not result.whole:
            view.line()
        _write_heading(each, view, numbered=len(result.items) > 1 or result.whole)
        _write_answers(each, view, brief=result.whole)


@render_text.register
def render_why_lines(result: WhyLines, view: View) -> None:
    """Write the answer for adjacent lines."""
    if not view.terminal:
        view.rows(_COLUMNS, _rows(result))
        return
    _write_heading(result, view, numbered=True)
    _write_answers(result, view, brief=False)


def _rows(lines: WhyLines) -> list[tuple[Cell, ...]]:
    """Return a row for each answer, or one without an answer; the level of a candidate is `candidate`."""
    start = (_numbers(lines), "-" if lines.commit is None else lines.commit.id)
    levels = [*(lines.level for _ in lines.answers), *(_CANDIDATE for _ in lines.candidates)]
    return [
        (
            *start,
            level,
            each.conversation,
            str(each.turn),
            each.message or "-",
            each.call_id or "-",
            each.how,
            each.prompt or "",
            each.branch or "-",
        )
        for level, each in zip(levels, (*lines.answers, *lines.candidates), strict=True)
    ] or [(*start, lines.level, "-", "-", "-", "-", "-", "", "-")]


def _numbers(lines: WhyLines) -> str:
    return str(lines.line) if lines.line == lines.last_line else f"{lines.line}-{lines.last_line}"


def _write_heading(lines: WhyLines, view: View, *, numbered: bool) -> None:
    """Write where the lines are from: `a9c4475 Extract status command   2026-02-06 alice`."""
    place = (Span(_numbers(lines), "key"), "  ") if numbered else ()
    if lines.commit is None:
        view.line(*place, Span(_UNCOMMITTED, "warn"))
        return
    commit = lines.commit
    end = "   ", Span(in_seconds(commit.time)[:10], "time"), " ", Span(commit.author, "human")
    start = *place, Span(commit.id[:_HASH_LENGTH], "id"), " "
    view.pair((*start, commit.subject), (" ", *end))


def _write_answers(lines: WhyLines, view: View, *, brief: bool) -> None:
    name, style = _NAMES.get(lines.level, (lines.level, ""))
    start: tuple[str | Span, ...] = (Span(name, style), "  ")
    if not lines.answers:
        view.hanging(_MEANINGS.get(lines.level, "the edits that have it are too old or too many"), start=start)
    for answer in lines.answers:
        text = _describe(answer, lines.also)
        if brief:
            view.cut(*start, *text)
        else:
            view.hanging(*text, start=start)
            _write_details(answer, view, indent=len(name) + 2, committed=lines.commit is not None)
        start = (" " * len(name), "  ")
    for answer in lines.candidates:
        view.hanging(*_describe(answer, ()), Span(f"  ({answer.how})", "dim"), start=(Span(_CANDIDATE, "dim"), "  "))


def _describe(answer: WhyAnswer, also: tuple[int, ...]) -> tuple[str | Span, ...]:
    """Return the turn and its prompt, with other turns that wrote the same lines."""
    turn = f"turn {answer.turn}" if answer.turn else "before the first prompt"
    if answer.message is None and not answer.turn:
        turn = "a turn that is not recorded yet"
    more = (Span(f", also {plural(len(also), 'turn')} {', '.join(map(str, also))}", "dim"),) if also else ()
    prompt = () if answer.prompt is None else ("  ", f'"{_one_line(answer.prompt)}"')
    branch = "" if answer.branch in {None, _MAIN} else f"/{answer.branch}"
    return Span(f"{answer.conversation}{branch}", "branch"), f" {turn}", *more, *prompt


def _write_details(answer: WhyAnswer, view: View, *, indent: int, committed: bool) -> None:
    """Write what an approval agreed to, the longer prompt before it, the command and the evidence."""
    if answer.agreed_to is not None:
        view.hanging(f'"{" ".join(answer.agreed_to.split())}"', start=(Span("agreed to: ", "dim"),), indent=indent)
    if answer.longer_prompt is not None:
        view.hanging(f'"{_one_line(answer.longer_prompt)}"', start=(Span("asked before: ", "dim"),), indent=indent)
    if answer.command is not None:
        view.hanging(_one_line(answer.command), start=(Span("command: ", "dim"),), indent=indent)
    view.hanging(_evidence(answer, committed=committed), start=(Span("evidence: ", "dim"),), indent=indent)


def _evidence(answer: WhyAnswer, *, committed: bool) -> str:
    if answer.seconds_before is None:
        made = ", in the conversation that made the commit" if answer.made else ""
        share = "" if answer.share is None else f"; {answer.share:.0%} of the commit is of this conversation"
        return f"{answer.how}{made or share}"
    call = "" if answer.call_id is None else f" {answer.call_id}"
    commit = "the commit that this conversation made" if answer.made else "the commit"
    when = f"before {commit}" if committed else "ago"
    return f"{answer.how}{call}, {format_duration(answer.seconds_before)} {when}"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 1].rstrip()}…"
