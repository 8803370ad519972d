"""Render differences with the marks of diff(1): - for the left side, + for the right side."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from scopes.history.messages import MessageHeader, display_time
from scopes.render.dispatch import render_text
from scopes.render.text.claims import claim_name, claim_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, author, counted, identifier, short_time, subject
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scopes.conversation.diff import ChangedClaim, ChangedMessage, Difference
    from scopes.render.color import Style

_PIPED_COLUMNS = (Column("Mark"), Column("What"), Column("Key"), Column("Author"), Column("Time"), Column("Text"))
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_WORDS = 2000


@render_text.register
def render_difference(result: Difference, view: View) -> None:
    """Write the messages of each side, then the claims; nothing if the sides are equal, as diff(1) does."""
    if view.options.stat:
        _write_counts(result, view)
    elif view.terminal:
        _write_sections(result, view)
    else:
        view.rows(_PIPED_COLUMNS, _rows(result, view))


def compare_words(left: str, right: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return both texts as spans, `bad` and `good` where words differ; long texts are not compared by word."""
    one, two = _WORDS.findall(left), _WORDS.findall(right)
    if len(one) > _MAX_WORDS or len(two) > _MAX_WORDS:
        return (Span(left, "bad"),), (Span(right, "good"),)
    steps = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    bad = tuple(_spans(((one[a:b], tag) for tag, a, b, _, _ in steps), "bad"))
    good = tuple(_spans(((two[c:d], tag) for tag, _, _, c, d in steps), "good"))
    return bad, good


def _write_counts(result: Difference, view: View) -> None:
    rows = (
        (f"only in {result.left.name}", counted(len(result.only_left), "message")),
        (f"only in {result.right.name}", counted(len(result.only_right), "message")),
        ("changed", counted(len(result.changed), "message")),
        ("claims that differ", counted(len(result.claims), "claim")),
    )
    if view.terminal:
        width = max(len(name) for name, _ in rows)
        for name, count in rows:
            view.line(Span(f"{name:<{width}}  ", "key"), count)
    else:
        numbers = (len(each) for each in (result.only_left, result.only_right, result.changed, result.claims))
        names = ("only_left", "only_right", "changed", "claims")
        view.rows((Column("Name"), Column("Value")), ((name, str(n)) for name, n in zip(names, numbers, strict=True)))


def _write_sections(result: Difference, view: View) -> None:
    if not result.exit_code:
        view.line(Span(result.left.name, "branch"), " and ", Span(result.right.name, "branch"), " do not differ.")
        return
    view.line(Span(f"--- {result.left.name}", "bad"))
    view.line(Span(f"+++ {result.right.name}", "good"))
    _write_messages(view, f"Only in {result.left.name}", "-", "bad", result.only_left)
    _write_messages(view, f"Only in {result.right.name}", "+", "good", result.only_right)
    if result.changed:
        _write_heading(view, f"Changed: {counted(len(result.changed), 'message')}")
        for message in result.changed:
            view.line(identifier(view, message.head.id), " ", author(message.head.author, message.head.author_kind))
            _write_both(view, message.left.text, message.right.text)
    if result.claims:
        _write_heading(view, f"Claims that differ: {len(result.claims):,}")
        for claim in result.claims:
            view.line(Span(claim_name(claim.key, claim.agent), "heading"))
            _write_both(
                view,
                claim_text(claim.key, claim.left) if claim.in_left else None,
                claim_text(claim.key, claim.right) if claim.in_right else None,
            )


def _write_heading(view: View, text: str) -> None:
    view.line()
    view.line(Span(text, "key"))


def _write_messages(view: View, title: str, mark: str, style: Style, heads: tuple[MessageHeader, ...]) -> None:
    if not heads:
        return
    _write_heading(view, f"{title}: {counted(len(heads), 'message')}")
    for head in heads:
        who = author(head.author, head.author_kind)
        line, room = subject(head), view.width - len(f"{mark} {head.id[:SHORT_ID_LENGTH]} {who.text}: ")
        if len(line) > room > 1:
            line = f"{line[: room - 1].rstrip()}…"
        view.line(Span(f"{mark} ", style), identifier(view, head.id), " ", who, ": ", line)


def _write_both(view: View, left: str | None, right: str | None) -> None:
    """Write two texts below each other, with differing words highlighted if both are present."""
    one: tuple[Span, ...] = (Span(left or "", "bad"),)
    two: tuple[Span, ...] = (Span(right or "", "good"),)
    if left is not None and right is not None:
        one, two = compare_words(left, right)
    if left is not None:
        view.line(Span("- ", "bad"), *one, indent=2)
    if right is not None:
        view.line(Span("+ ", "good"), *two, indent=2)


def _rows(result: Difference, view: View) -> Iterator[tuple[Cell, ...]]:
    for mark, heads in (("-", result.only_left), ("+", result.only_right)):
        yield from (_message_row(mark, head, view, head.subject) for head in heads)
    for message in result.changed:
        yield from _changed_rows(message, view)
    for claim in result.claims:
        yield from _claim_rows(claim)


def _message_row(mark: str, head: MessageHeader, view: View, text: str) -> tuple[Cell, ...]:
    return mark, "message", head.id, head.author, short_time(view, display_time(head)), text


def _changed_rows(message: ChangedMessage, view: View) -> Iterable[tuple[Cell, ...]]:
    yield _message_row("-", message.head, view, message.left.text)
    yield _message_row("+", message.head, view, message.right.text)


def _claim_rows(claim: ChangedClaim) -> Iterator[tuple[Cell, ...]]:
    for mark, value, there in (("-", claim.left, claim.in_left), ("+", claim.right, claim.in_right)):
        if there:
            yield mark, "claim", claim.key, claim.agent or "", "", claim_text(claim.key, value)


def _spans(pieces: Iterator[tuple[list[str], str]], style: Style) -> Iterator[Span]:
    for words, tag in pieces:
        if words:
            yield Span("".join(words), "" if tag == "equal" else style)
