"""Conversations for people: the list of them, and one with its branches as a tree (S4-53, S4-54)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from scopes.clock import now_nanoseconds
from scopes.conversation.heads import NO_TEXT, MessageHead, time_told
from scopes.conversation.list import ConversationList, ConversationSummary
from scopes.conversation.show import INTERRUPTED, SYNTHETIC, BranchSummary, ConversationView
from scopes.loading import load
from scopes.model.message import Message
from scopes.render.relative_time import ago
from scopes.render.text.dispatch import render_text
from scopes.render.text.wording import UNKNOWN_TIME, author, counted, overtaken, say_field, say_hint, subject
from scopes.render.view import Column, Span, View

_SEEN = (
    Column("ID", "id"),
    Column("Participants", "agent", flexible=True),
    Column("Branches"),
    Column("Activity", "time"),
    Column("Title", flexible=True),
)
_PIPED = (
    Column("ID"),
    Column("Participants"),
    Column("Branches"),
    Column("Last activity"),
    Column("Title"),
    Column("UUID", hidden=True),
    Column("Messages", hidden=True),
    Column("Active branch", hidden=True),
    Column("Created at", hidden=True),
    Column("Source", hidden=True),
)
_WIDE = 100
_AROUND = 12  # the border of a box of five columns, and what is between them
_LEAST_TITLE = 12
_NO_FORK = {
    SYNTHETIC: "nobody spoke here, the program alone wrote",
    INTERRUPTED: "an answer that was interrupted, and nothing after it",
}
_BESIDE_NAME = len("├─ " + " (100 messages)" + " *ACTIVE*" + " · 100 in all" + " · merged")


@render_text.register(ConversationList)
def conversation_list(result: ConversationList, view: View) -> None:
    """Say a box of conversations, newest first; in a pipe a row each."""
    if not view.terminal:
        view.rows(_PIPED, map(_piped_row, result.conversations))
    elif result.conversations:
        _say_table([_seen_row(row) for row in result.conversations], view)
    else:
        view.line("There are no conversations yet.")
        say_hint(view, "begin one with: scopes conv new")


@render_text.register(ConversationSummary)
def conversation_summary(result: ConversationSummary, view: View) -> None:
    """Say one row of the list."""
    conversation_list(ConversationList(conversations=(result,)), view)


@render_text.register(ConversationView)
def conversation(result: ConversationView, view: View) -> None:
    """Say the look of the specification, the same in a pipe."""
    say_field(view, "Conversation", Span(result.id, "id"))
    if result.title is not None:
        say_field(view, "Title", result.title)
    people = [Span(name, "agent") for name in result.participants]
    say_field(view, "Participants", *_separated(people) or ("none yet",))
    say_field(view, "Active Branch", Span(result.active_branch, "active"))
    view.line()
    view.line(Span("Branches:", "key"))
    for branch in result.branches:
        view.line(Span("└─ " if branch is result.branches[-1] else "├─ ", "dim"), *_branch_words(branch, view))
    if result.recent:
        view.line()
        view.line(Span("Recent Activity:", "key"))
    for head, message in zip_longest(result.recent, result.recent_bodies):
        view.line(*_recent_line(head, message, view))


def _recent_line(head: MessageHead, message: Message | None, view: View) -> tuple[str | Span, ...]:
    """Say a message in one line, as a log does."""
    when = f"[{_ago(time_told(head))}]"
    who = author(head.author, head.author_kind)
    room = view.width - len(when) - len(who.text) - 3 if view.terminal else None
    spoken = room is None and head.subject != NO_TEXT
    said = (subject(head),) if spoken else load("scopes.render.text.brief:brief")(head, message, (), room)
    line = (Span(when, "time"), " ", who, ": ", *said)
    return load("scopes.render.text.fitting:fit")(line, view.width) if view.terminal else line


@render_text.register(BranchSummary)
def branch_summary(result: BranchSummary, view: View) -> None:
    """Say one branch as in the tree."""
    view.line(*_branch_words(result, view))


def _branch_words(branch: BranchSummary, view: View) -> Iterator[str | Span]:
    """Say its own messages and, where there is room, all that it reaches where that differs, and what it is for."""
    yield Span(branch.name, "active" if branch.active else "branch")
    yield f" ({counted(branch.messages, 'message')})"
    if branch.active:
        yield Span(" *ACTIVE*", "active")
    crowded = view.terminal and len(branch.name) > view.width - _BESIDE_NAME
    if branch.total != branch.messages and not crowded:
        yield Span(f" · {branch.total:,} in all", "dim")
    for count, what in ((branch.compactions, "compaction"), (branch.interrupts, "interrupt")):
        if count:
            yield Span(f" · {counted(count, what)}", "warn")
    if branch.newer is not None:
        yield Span(" · summary", "dim")
        yield from overtaken(branch.newer)
    if branch.sub_agent is not None:
        yield Span(" · ", "dim")
        yield load("scopes.render.text.origin:origin")(*branch.sub_agent)
    if branch.reason is not None:
        yield Span(f" · no fork: {_NO_FORK[branch.reason]}", "dim")
    if branch.status != "active":
        yield Span(f" · {branch.status}", "dim")
    if view.terminal and view.width >= _WIDE:
        known = (branch.purpose, branch.agent, branch.parent and f"from {branch.parent}")
        yield Span("".join(f" · {word}" for word in known if word), "dim")


def _say_table(rows: list[tuple[str | Span, ...]], view: View) -> None:
    """Say the rows in a box; the titles have what room the other columns leave, if that is enough to tell anything."""
    people = sorted(len(str(row[1])) for row in rows)
    others = sum(max(len(_SEEN[i].name), *(len(str(row[i])) for row in rows)) for i in (0, 2, 3))
    room = view.width - others - _AROUND
    whole = room - max(people[-1], len(_SEEN[1].name)) >= _LEAST_TITLE  # everybody beside a title
    titled = any(_text(row[-1]) for row in rows) and (whole or 2 * people[len(people) // 2] <= room)
    columns = (
        *_SEEN[:1],
        replace(_SEEN[1], flexible=not (titled and whole)),
        *_SEEN[2:4],
        replace(_SEEN[4], hidden=not titled),
    )
    view.rows(columns, rows, title="Active Conversations")


def _ago(time: str | None) -> str:
    return UNKNOWN_TIME if time is None else ago(time, now_nanoseconds())


def _text(cell: str | Span) -> str:
    return cell if isinstance(cell, str) else cell.text


def _seen_row(row: ConversationSummary) -> tuple[str | Span, ...]:
    title = row.title if row.title is not None else Span(row.opening or "", "dim")
    when = _ago(row.last_activity)
    return row.id, ",".join(row.participants), str(row.branches), when, title


def _piped_row(row: ConversationSummary) -> tuple[str, ...]:
    return (
        row.id,
        ",".join(row.participants),
        str(row.branches),
        row.last_activity or UNKNOWN_TIME,
        row.title or "",
        row.uuid or "",
        "" if row.messages is None else str(row.messages),
        row.active_branch or "",
        row.created_at or "",
        row.source or "",
    )


def _separated(names: list[Span]) -> list[str | Span]:
    """Put a comma and a blank between names."""
    return [part for name in names for part in (", ", name)][1:]
