"""Render the answers of `why`: the commit of lines, how sure the turn is, what was asked for, and the evidence."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.render.phrases import SHORT_ID_LENGTH, day_of, format_duration
from scopes.render.view import Cell, Column, Parts, Span, View
from scopes.result import counted, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.code_links.line_match import WhyLevel
    from scopes.code_links.why_result import Why, WhyAnswer, WhyLines
    from scopes.render.view import Style

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
_SIGNS: dict[str, tuple[str, Style]] = {
    "certain": ("✓", "good"),
    "likely": ("?", "good"),
    "other-session": ("✓", "good"),
    "near": ("?", "warn"),
    "commit-only": ("?", "warn"),
    "unsure": ("?", "warn"),
    "none": ("-", "dim"),
}
_MEANINGS: dict[WhyLevel, str] = {
    "near": "an edit has the lines around it: it was changed afterwards",
    "none": "no conversation in this store has this line",
}
_HASH_LENGTH = 7
_MAX_TEXT = 300  # characters of a command on a terminal
_PROMPT_ROWS = 6
_KEY = 12  # cells of the names of what is known of an answer
_CANDIDATE = "candidate"
_MAIN = "main"  # is not named


def render_why(result: Why, view: View) -> None:
    """Write the answers for all lines; a whole file has one line for each prompt."""
    if not view.terminal:
        view.rows(_COLUMNS, [row for each in result.items for row in _rows(each)])
    elif result.whole:
        _write_file(result, view)
    else:
        for number, each in enumerate(result.items):
            if number:
                view.line()
            _write_lines(each, view)


def render_why_lines(result: WhyLines, view: View) -> None:
    """Write the answer for adjacent lines."""
    if view.terminal:
        _write_lines(result, view)
    else:
        view.rows(_COLUMNS, _rows(result))


def _write_file(result: Why, view: View) -> None:
    """Write a line for each answer, and how many lines have none."""
    width = max((len(_numbers(each)) for each in result.items), default=0)
    for each in result.items:
        for answer, level, also in _walk(each):
            prompt = (Span(f"  ❯ {answer.prompt}", "human"),) if answer.prompt else ()
            where: Parts = (Span(answer.conversation, "id"), f" {_turn(answer)}", *_also(also))
            view.cut(f"{_numbers(each):<{width}}  ", *_level(level), "  ", *where, *prompt)
    lines = sum(each.last_line - each.line + 1 for each in result.items)
    unknown = sum(each.last_line - each.line + 1 for each in result.items if not each.answers)
    if unknown:
        view.line(Span(f"{unknown:,} of {counted(lines, 'line')}: no conversation in this store has them", "dim"))


def _write_lines(lines: WhyLines, view: View) -> None:
    """Write the commit of adjacent lines, who asked for them, and why that is known."""
    number = Span(_numbers(lines), "heading")
    if lines.commit is None:
        view.line(number, "  ", Span("not committed", "warn"))
    else:
        commit = lines.commit
        when = Span(f"{day_of(commit.time, now_nanoseconds())} ", "time")
        start = (number, "  ", Span(commit.id[:_HASH_LENGTH], "id"), " ")
        view.pair((*start, commit.subject), ("  ", when, commit.author))
    if not lines.answers:
        meaning = _MEANINGS.get(lines.level, "the edits that have it are too old or too many")
        view.hanging(meaning, start=(*_level(lines.level), "  "))
    for answer, level, also in _walk(lines):
        branch = "" if answer.branch in {None, _MAIN} else f"/{answer.branch}"
        where: Parts = (Span(answer.conversation, "id"), Span(branch, "branch"), f", {_turn(answer)}", *_also(also))
        view.line(*_level(level), "  ", *where)
        if answer.prompt is not None:
            view.paragraph(answer.prompt, start=(Span("❯ ", "human"),), style="human", most=_PROMPT_ROWS)
        for name, text in _details(answer, committed=lines.commit is not None):
            view.hanging(text, start=(Span(f"{name:<{_KEY}}", "key"),))
        if answer.message is not None and view.hints:
            view.line(Span(f"{'read on':<{_KEY}}", "key"), f"scopes cat {quote(answer.message[:SHORT_ID_LENGTH])}")


def _walk(lines: WhyLines) -> Iterator[tuple[WhyAnswer, str, tuple[int, ...]]]:
    """Yield each answer and candidate, how sure it is, and the other turns that wrote the lines."""
    for answer in lines.answers:
        yield answer, lines.level, lines.also
    for answer in lines.candidates:
        yield answer, _CANDIDATE, ()


def _level(level: str) -> tuple[Span, ...]:
    """Return how sure an answer is, with its sign: `✓ certain`."""
    sign, style = _SIGNS.get(level, ("?", "dim"))
    return Span(f"{sign} {level}", style), Span(" " * max(len("certain") - len(level), 0))


def _turn(answer: WhyAnswer) -> str:
    if answer.turn:
        return f"turn {answer.turn}"
    return "a turn that is not recorded yet" if answer.message is None else "before the first prompt"


def _also(turns: tuple[int, ...]) -> tuple[Span, ...]:
    return (Span(f", also {plural(len(turns), 'turn')} {', '.join(map(str, turns))}", "dim"),) if turns else ()


def _details(answer: WhyAnswer, *, committed: bool) -> Iterator[tuple[str, str]]:
    """Yield what an approval agreed to, the longer prompt before it, the command and the evidence."""
    if answer.agreed_to is not None:
        yield "agreed to", " ".join(answer.agreed_to.split())
    if answer.longer_prompt is not None:
        yield "asked", _one_line(answer.longer_prompt)
    if answer.command is not None:
        yield "command", _one_line(answer.command)
    yield "because", _evidence(answer, committed=committed)


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


def _evidence(answer: WhyAnswer, *, committed: bool) -> str:
    if answer.seconds_before is None:
        made = ", in the conversation that made the commit" if answer.made else ""
        share = "" if answer.share is None else f"; {answer.share:.0%} of the commit is of this conversation"
        return f"{answer.how}{made or share}"
    commit = "the commit that this conversation made" if answer.made else "the commit"
    when = f"before {commit}" if committed else "ago"
    return f"{answer.how}, {format_duration(answer.seconds_before)} {when}"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 1].rstrip()}…"
