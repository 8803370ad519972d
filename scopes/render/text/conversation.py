"""Conversations for people: the list of them, and one with its branches as a tree (S4-53, S4-54)."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.clock import format_seconds, now_nanoseconds
from scopes.conversation.list import ConversationList, ConversationSummary
from scopes.conversation.show import BranchSummary, ConversationView
from scopes.loading import load
from scopes.render.relative_time import ago
from scopes.render.text.dispatch import render_text
from scopes.render.text.wording import author, counted, say_field, say_hint, subject
from scopes.render.view import Column, Span, View

_SEEN = (
    Column("ID", "id"),
    Column("Participants", "agent", flexible=True),
    Column("Branches"),
    Column("Activity", "time"),
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
_BESIDE_NAME = len("├─ " + " (100 messages)" + " *ACTIVE*" + " · 100 in all" + " · merged")


@render_text.register(ConversationList)
def conversation_list(result: ConversationList, view: View) -> None:
    """Say a box of conversations, newest first; in a pipe a row each."""
    if not view.terminal:
        view.rows(_PIPED, map(_piped_row, result.conversations))
    elif result.conversations:
        view.rows(_SEEN, map(_seen_row, result.conversations), title="Active Conversations")
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
    for head in result.recent:
        when = Span(f"[{ago(format_seconds(head.time), now_nanoseconds())}]", "time")
        line = (when, " ", author(head.author, head.author_kind), ": ", subject(head))
        view.line(*(load("scopes.render.text.fitting:fit")(line, view.width) if view.terminal else line))


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
    if branch.status != "active":
        yield Span(f" · {branch.status}", "dim")
    if view.terminal and view.width >= _WIDE:
        known = (branch.purpose, branch.agent, branch.parent and f"from {branch.parent}")
        yield Span("".join(f" · {word}" for word in known if word), "dim")


def _seen_row(row: ConversationSummary) -> tuple[str, ...]:
    return row.id, ",".join(row.participants), str(row.branches), ago(row.last_activity, now_nanoseconds())


def _piped_row(row: ConversationSummary) -> tuple[str, ...]:
    return (
        row.id,
        ",".join(row.participants),
        str(row.branches),
        row.last_activity,
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
