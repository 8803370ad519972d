"""Show what differs, with the marks of diff(1): branches, ranges, contexts of models, and a commit from its edits."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from shlex import quote
from typing import TYPE_CHECKING

from scopes.history.messages import NO_TEXT, MessageHeader, display_time, shown_author
from scopes.merge.keys import NOUNS, decoded_key, group_of
from scopes.model.message import FILES
from scopes.render.calls import summarize_message, summary_text
from scopes.render.conflicts import claim_name, claim_text
from scopes.render.phrases import SHORT_ID_LENGTH, author, identifier, short_time, subject
from scopes.render.view import Cell, Column, Span, View
from scopes.result import counted
from scopes.sanitize import mark_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scopes.conversation.commits import CommitAccount, FileAccount
    from scopes.conversation.diff import (
        ChangedClaim,
        ChangedMessage,
        Difference,
        DiffSide,
        NumberedMessage,
        RangeDifference,
        RangePair,
    )
    from scopes.render.view import Style

_PIPED_COLUMNS = (Column("Mark"), Column("What"), Column("Key"), Column("Author"), Column("Time"), Column("Text"))
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_WORDS = 2000
_MAX_MESSAGES = 12  # of each side on a terminal, if both have some
_MAX_NAMED, _MAX_FILES = 3, 10  # claims and files that only one side changed


def render_difference(result: Difference, view: View) -> None:
    """Write the messages of each side, then the claims; nothing if the sides are equal, as diff(1) does."""
    if result.stat:
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
    both = [claim for claim in result.claims if claim.changed_in is None]
    rows = (
        (f"only in {result.left.name}", counted(len(result.only_left), "message")),
        (f"only in {result.right.name}", counted(len(result.only_right), "message")),
        ("changed", counted(len(result.changed), "message")),
        ("claims that differ", counted(len(both), "claim")),
        ("claims of one side", counted(len(result.claims) - len(both), "claim")),
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
    _write_claims(view, [claim for claim in result.claims if claim.changed_in is None])
    _write_changes_of_one_side(view, result)
    if result.changed:
        _write_heading(view, f"Changed: {counted(len(result.changed), 'message')}")
        for message in result.changed:
            view.line(identifier(view, message.head.id), " ", author(message.head.author, message.head.author_kind))
            _write_both(view, message.left.text, message.right.text)
    left, right = result.left, result.right
    most = _MAX_MESSAGES if result.only_left and result.only_right else None
    _write_messages(view, (left, right), result, most)
    _write_messages(view, (right, left), result, most)


def _write_changes_of_one_side(view: View, result: Difference) -> None:
    """Write how many claims only one side changed, the first three with their values, and ten file names."""
    for side, name in (("left", result.left.name), ("right", result.right.name)):
        claims = [claim for claim in result.claims if claim.changed_in == side]
        numbers = Counter(group_of(claim.key) for claim in claims)
        if not numbers:
            continue
        counts = ", ".join(counted(number, NOUNS.get(group, "claim")) for group, number in numbers.items())
        _write_heading(view, f"Changed only in {name}: {counts}")
        for line in _claims_of_one_side([claim for claim in claims if group_of(claim.key) != FILES], side):
            view.cut(*line, indent=2)
        files = [decoded_key(claim.key).partition("/")[2] for claim in claims if group_of(claim.key) == FILES]
        for file in files[:_MAX_FILES]:
            view.line(file, indent=2)
        if len(files) > _MAX_FILES:
            view.line(f"and {len(files) - _MAX_FILES:,} more", indent=2)


def _claims_of_one_side(claims: Sequence[ChangedClaim], side: str) -> Iterator[tuple[str | Span, ...]]:
    """Yield the first claims that one side changed as `decisions/auth: jwt`, and how many there are more."""
    for claim in claims[:_MAX_NAMED]:
        there, value = (claim.in_left, _left_text) if side == "left" else (claim.in_right, _right_text)
        yield Span(_claim_name(claim), "heading"), f": {value(claim) if there else 'removed'}"
    if len(claims) > _MAX_NAMED:
        yield (f"and {len(claims) - _MAX_NAMED:,} more",)


def _write_claims(view: View, claims: Sequence[ChangedClaim]) -> None:
    """Write the claims that both sides have with different values, then those of one side, one line each.

    Claims whose texts are equal, such as files with unknown content, are one line in all.
    """
    equal = [claim for claim in claims if claim.in_left and claim.in_right and _left_text(claim) == _right_text(claim)]
    claims = [claim for claim in claims if claim not in equal]
    if equal:
        _write_heading(view, f"Changed on both sides (merge --dry-run compares the contents): {len(equal):,}")
    for claim in equal:
        view.cut(Span(_claim_name(claim), "heading"), indent=2)
    both = [claim for claim in claims if claim.in_left and claim.in_right]
    one = [claim for claim in claims if not (claim.in_left and claim.in_right)]
    if both:
        _write_heading(view, f"Claims that differ: {len(both):,}")
    for claim in both:
        view.line(Span(_claim_name(claim), "heading"))
        _write_both(view, _left_text(claim), _right_text(claim))
    if one:
        _write_heading(view, f"Claims of one side: {len(one):,}")
    for claim in one:
        mark: Span = Span("- ", "bad") if claim.in_left else Span("+ ", "good")
        value = _left_text(claim) if claim.in_left else _right_text(claim)
        line = (mark, Span(_claim_name(claim), "heading"), ": ", Span(value, mark.style))
        view.cut(*line)


def _claim_name(claim: ChangedClaim) -> str:
    """Return the name of a claim."""
    return claim_name(claim.key, claim.agent)


def _left_text(claim: ChangedClaim) -> str:
    return claim_text(claim.key, claim.left)


def _right_text(claim: ChangedClaim) -> str:
    return claim_text(claim.key, claim.right)


def _write_heading(view: View, text: str) -> None:
    view.line()
    view.line(Span(text, "key"))


def _write_messages(
    view: View,
    sides: tuple[DiffSide, DiffSide],
    result: Difference,
    most: int | None,
) -> None:
    """Write one line for each message.

    Of more than `most` lines the last are written, so that a long side does not hide the other one. `sides` are the
    side of the messages and the other one.
    """
    is_left = sides[0] is result.left
    mark = Span("- ", "bad") if is_left else Span("+ ", "good")
    shown = result.only_left if is_left else result.only_right
    if not shown:
        return
    _write_heading(view, f"Only in {sides[0].name}: {counted(len(shown), 'message')}")
    if most is not None and len(shown) > most + 1:
        names = [side.revision.branch or side.revision.oid[:12] for side in sides]
        command = f"scopes log {quote(sides[0].revision.conversation)} {quote(names[1])}..{quote(names[0])}"
        same = sides[0].revision.conversation == sides[1].revision.conversation
        earlier = f"… {len(shown) - most:,} earlier{f'; all: {command}' if same else ''}"
        view.line(mark, Span(earlier, "dim"))
        shown = shown[-most:]
    for head in shown:
        who = author(head.author, head.author_kind)
        message = result.bodies.get(head.oid)
        view.cut(mark, identifier(view, head.id), " ", who, ": ", *summarize_message(head, message))


def _write_both(view: View, left: str | None, right: str | None) -> None:
    """Write two texts below each other, with differing words highlighted if both are present."""
    one: tuple[Span, ...] = (Span(left or "", "bad"),)
    two: tuple[Span, ...] = (Span(right or "", "good"),)
    if left is not None and right is not None:
        one, two = compare_words(left, right)
    if left is not None:
        view.hanging(*one, start=(Span("- ", "bad"),), indent=2)
    if right is not None:
        view.hanging(*two, start=(Span("+ ", "good"),), indent=2)


def _rows(result: Difference, view: View) -> Iterator[tuple[Cell, ...]]:
    for mark, heads in (("-", result.only_left), ("+", result.only_right)):
        yield from (_message_row(mark, head, view, _subject(result, head)) for head in heads)
    for message in result.changed:
        yield from _changed_rows(message, view)
    for claim in result.claims:
        yield from _claim_rows(claim)


def _subject(result: Difference, head: MessageHeader) -> str:
    message = result.bodies.get(head.oid)
    return subject(head) if message is None or head.subject != NO_TEXT else summary_text(head, message)


def _message_row(mark: str, head: MessageHeader, view: View, text: str) -> tuple[Cell, ...]:
    return mark, "message", head.id, shown_author(head), short_time(view, display_time(head)), text


def _changed_rows(message: ChangedMessage, view: View) -> Iterable[tuple[Cell, ...]]:
    yield _message_row("-", message.head, view, message.left.text)
    yield _message_row("+", message.head, view, message.right.text)


def _claim_rows(claim: ChangedClaim) -> Iterator[tuple[Cell, ...]]:
    for mark, value, there in (("-", claim.left, claim.in_left), ("+", claim.right, claim.in_right)):
        if there:
            yield mark, "claim", decoded_key(claim.key), claim.agent or "", "", claim_text(claim.key, value)


def _spans(pieces: Iterator[tuple[list[str], str]], style: Style) -> Iterator[Span]:
    for words, tag in pieces:
        if words:
            yield Span("".join(words), "" if tag == "equal" else style)


_COLUMNS = (
    Column("Old number"), Column("Old commit"), Column("Mark"), Column("New number"), Column("New commit"),
    Column("Author"), Column("Text"),
)  # fmt: skip
_STYLES: dict[str, Style] = {"=": "dim", "!": "warn", "<": "bad", ">": "good", "-": "bad", "+": "good", "@": "dim"}
_INDENT = 4


def render_range_difference(result: RangeDifference, view: View) -> None:
    """Write one row per message; the changed lines of a message are indented below its row."""
    if view.terminal and not result.pairs:
        view.line("Neither range has a message of its own.")
    width = len(str(max(result.old.messages, result.new.messages)))
    for pair in result.pairs:
        if view.terminal:
            _write_line(view, pair, width)
        else:
            view.rows(_COLUMNS, [_cells(view, pair)])
        for line in pair.lines:
            view.body(line, indent=_INDENT, style=_STYLES.get(line[:1], ""))


def _write_line(view: View, pair: RangePair, width: int) -> None:
    shown = pair.new or pair.old
    if shown is None:
        return
    who = author(shown.head.author, shown.head.author_kind)
    mark = Span(pair.mark, _STYLES[pair.mark])
    places = *_place(view, pair.old, width), " ", mark, " ", *_place(view, pair.new, width)
    view.cut(*places, " ", who, ": ", mark_cut(shown.subject))


def _place(view: View, message: NumberedMessage | None, width: int) -> tuple[str | Span, ...]:
    if message is None:
        return f"{'-':>{width}}:  ", Span("-" * SHORT_ID_LENGTH, "dim")
    return f"{message.number:>{width}}:  ", identifier(view, message.head.oid)


def _cells(view: View, pair: RangePair) -> tuple[Cell, ...]:
    shown = pair.new or pair.old
    who, text = ("", "") if shown is None else (shown_author(shown.head), shown.subject)
    return *_place_cells(view, pair.old), pair.mark, *_place_cells(view, pair.new), who, text


def _place_cells(view: View, message: NumberedMessage | None) -> tuple[Cell, Cell]:
    return ("-", "-") if message is None else (str(message.number), identifier(view, message.head.oid))


_DIFF_COMMIT_COLUMNS = (Column("Path"), Column("Line"), Column("Text"))
_STAT_COLUMNS = (Column("Path"), Column("Added"), Column("Edited"), Column("Short"), Column("Others"))


def render_commit_account(result: CommitAccount, view: View) -> None:
    """Write the lines that no edit has; with `stat` a row for each file."""
    if not view.terminal:
        if view.options.stat:
            view.rows(_STAT_COLUMNS, [_counts(file) for file in result.files])
        else:
            rows = ((file.path, str(each.number), each.text) for file in result.files for each in file.others)
            view.rows(_DIFF_COMMIT_COLUMNS, list(rows))
        return
    names = ", ".join(result.conversations)
    view.line(Span(result.commit[:SHORT_ID_LENGTH], "id"), f" {result.subject}  ", Span(names, "branch"))
    for file in result.files:
        others = len(file.others)
        what = f"{file.edited} of {counted(file.added - file.short, 'line')} from edits"
        view.line(file.path, ": ", Span(what, "warn" if others else "good"), indent=2)
        for each in () if view.options.stat else file.others:
            view.line(Span(f"{each.number:>6} ", "dim"), Span(f"+{each.text}", "warn"), indent=2)


def _counts(file: FileAccount) -> tuple[str, ...]:
    return file.path, str(file.added), str(file.edited), str(file.short), str(len(file.others))
