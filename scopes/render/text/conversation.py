"""Render conversations: show (with its branches as a tree, S4-54), new, rename, delete."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.conversation.show import INTERRUPTED, SYNTHETIC, BranchSummary, ConversationView
from scopes.history.messages import NO_TEXT, MessageHead, display_time
from scopes.render.dispatch import render_text
from scopes.render.relative_time import ago
from scopes.render.text.phrases import (
    UNKNOWN_TIME,
    author,
    counted,
    identifier,
    stale_mark,
    sub_agent_label,
    subject,
    summarize,
    write_field,
    write_outcome,
)
from scopes.render.view import Column, Span, View
from scopes.render.wrap import truncate_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.conversation.delete import BranchDeleted, ConversationDeleted
    from scopes.conversation.new import ConversationCreated
    from scopes.conversation.rename import Renamed
    from scopes.model.message import Message

_WIDE = 100
_NO_FORK = {
    SYNTHETIC: "no user or agent messages",
    INTERRUPTED: "an answer that was interrupted, and nothing after it",
}
_AFTER_NAME = len("├─ " + " (100 messages)" + " *ACTIVE*" + " · 100 in all" + " · merged")


@render_text.register
def render_conversation_view(result: ConversationView, view: View) -> None:
    """Write a conversation, its branches and recent activity; the same in a pipe."""
    write_field(view, "Conversation", Span(result.id, "id"))
    if result.title is not None:
        write_field(view, "Title", result.title)
    elif result.opening is not None:
        write_field(view, "Title", Span(result.opening, "dim"))
    if result.project is not None:
        write_field(view, "Project", result.project)
    people = [Span(name, "agent") for name in result.participants]
    write_field(view, "Participants", *_separated(people) or ("none yet",))
    write_field(view, "Active Branch", Span(result.active_branch, "active"))
    view.line()
    view.line(Span("Branches:", "key"))
    for branch in result.branches:
        view.line(Span("└─ " if branch is result.branches[-1] else "├─ ", "dim"), *_branch_spans(branch, view))
    if result.recent:
        view.line()
        view.line(Span("Recent Activity:", "key"))
    for head, message in zip_longest(result.recent, result.recent_bodies):
        view.line(*_recent_line(head, message, view))


@render_text.register
def render_branch_summary(result: BranchSummary, view: View) -> None:
    """Write one branch as a line of the tree."""
    view.line(*_branch_spans(result, view))


@render_text.register
def render_conversation_created(result: ConversationCreated, view: View) -> None:
    """Write the id of the new conversation."""
    name = Span(result.id, "id")
    title = () if result.title is None else (": ", result.title)
    write_outcome(view, name, "created ", name, *title, operation=result.operation)


@render_text.register
def render_renamed(result: Renamed, view: View) -> None:
    """Write the old and the new name."""
    new = result.new or ""
    if result.what == "title":
        title = f": {new}" if new else " has no title now"
        sentence: tuple[str | Span, ...] = (Span(result.conversation, "id"), title)
    elif result.what == "branch":
        old = Span(f"{result.conversation}/{result.old}", "branch")
        sentence = ("renamed ", old, " to ", Span(new, "branch"))
    else:
        sentence = ("renamed ", Span(result.old or "", "id"), " to ", Span(new, "id"))
    unchanged = () if result.operation is not None else (" (as before)",)
    name = result.conversation if result.what == "title" else new
    write_outcome(view, name, *sentence, *unchanged, operation=result.operation)


@render_text.register
def render_conversation_deleted(result: ConversationDeleted, view: View) -> None:
    """Write which conversation was deleted."""
    name = Span(result.conversation, "id")
    branches = counted(result.branches, "branch")
    if result.dry_run:
        if view.terminal:
            view.line("would delete ", name, f" with {branches}: ", ", ".join(result.branch_names))
        else:
            view.rows((Column("Branch"),), ((f"{result.conversation}/{branch}",) for branch in result.branch_names))
        return
    write_outcome(view, name, "deleted ", name, f" with {branches}", operation=result.operation)


@render_text.register
def render_branch_deleted(result: BranchDeleted, view: View) -> None:
    """Write which branch was deleted, and its last tip."""
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    tip = identifier(view, result.tip)
    write_outcome(view, result.branch, "deleted ", place, " (it was at ", tip, ")", operation=result.operation)


def _recent_line(head: MessageHead, message: Message | None, view: View) -> tuple[str | Span, ...]:
    """Return a message as one line, as in a log."""
    when = f"[{_ago(display_time(head))}]"
    who = author(head.author, head.author_kind)
    room = view.width - len(when) - len(who.text) - 3 if view.terminal else None
    spoken = room is None and head.subject != NO_TEXT
    summary = (subject(head),) if spoken else summarize(head, message, room)
    line = (Span(when, "time"), " ", who, ": ", *summary)
    return truncate_line(line, view.width) if view.terminal else line


def _branch_spans(branch: BranchSummary, view: View) -> Iterator[str | Span]:
    """Yield the name of a branch, its message counts, marks and, if there is room, its purpose."""
    yield Span(branch.name, "active" if branch.active else "branch")
    yield f" ({counted(branch.messages, 'message')})"
    if branch.active:
        yield Span(" *ACTIVE*", "active")
    crowded = view.terminal and len(branch.name) > view.width - _AFTER_NAME
    if branch.total != branch.messages and not crowded:
        yield Span(f" · {branch.total:,} in all", "dim")
    for count, what in ((branch.compactions, "compaction"), (branch.interrupts, "interrupt")):
        if count:
            yield Span(f" · {counted(count, what)}", "warn")
    if branch.newer is not None:
        yield Span(" · summary", "dim")
        yield from stale_mark(branch.newer)
    if branch.sub_agent is not None:
        yield Span(" · ", "dim")
        yield sub_agent_label(*branch.sub_agent)
    if branch.reason is not None:
        yield Span(f" · no fork: {_NO_FORK[branch.reason]}", "dim")
    if branch.status != "active":
        yield Span(f" · {branch.status}", "dim")
    if view.terminal and view.width >= _WIDE:
        known = (branch.purpose, branch.agent, branch.parent and f"from {branch.parent}")
        yield Span("".join(f" · {word}" for word in known if word), "dim")


def _ago(time: str | None) -> str:
    return UNKNOWN_TIME if time is None else ago(time, now_nanoseconds())


def _separated(names: list[Span]) -> list[str | Span]:
    """Return names separated by commas."""
    return [part for name in names for part in (", ", name)][1:]
