"""Show one thing: a conversation with its branches (S4-54), or a message with its parts; and what append wrote."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.clock import in_seconds, now_nanoseconds
from scopes.conversation.show import BranchRow, ConversationView, OpenMerge, branch_reason
from scopes.history.messages import NO_TEXT, display_time
from scopes.render.calls import format_files, summarize_message, write_document, write_part
from scopes.render.phrases import (
    SHORT_ID_LENGTH,
    UNKNOWN_TIME,
    WIDE,
    ago,
    author,
    begins_at,
    change_mark,
    confidence_mark,
    day_and_minute,
    day_of,
    ending_mark,
    full_time,
    identifier,
    minute_of,
    stale_mark,
    sub_agent_label,
    subject,
    write_field,
    write_hint,
    write_outcome,
)
from scopes.render.view import Span, View
from scopes.result import counted
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.conversation.append import MessageAmended, MessageAppended
    from scopes.conversation.log import LogEntry
    from scopes.conversation.show import MessageView
    from scopes.history.messages import MessageHeader
    from scopes.model.message import Message

_KEY_WIDTH = len("Directory: ")
_TITLE = 50  # characters of a title beside other facts
_COUNTS_WIDTH = len("├─ " + " (100 messages)" + "merged")
_MIN_NAME = 20
_AFTER_NAME = len("├─ " + " (100 messages)" + " *ACTIVE*" + " · 100 in all" + " · merged")


def render_conversation_view(result: ConversationView, view: View) -> None:
    """Write a conversation, its branches and its recent activity, as the specification shows them.

    The details are in one line on a terminal, unless they were asked for, and in a list in a pipe.
    """
    is_brief = view.terminal and not view.options.details
    write_field(view, "Conversation", Span(result.id, "id"))
    if not is_brief:
        _write_title(result, view)
    people = [Span(name, "agent") for name in result.participants]
    write_field(view, "Participants", *_separated(people) or ("none yet",))
    write_field(view, "Active Branch", Span(result.active_branch, "active"))
    view.line()
    single = f"Branch (1 of {result.branch_count}):"
    view.line(Span("Branches:" if result.branch is None else single, "heading"))
    for branch in result.branches:
        view.cut(Span("└─ " if branch is result.branches[-1] else "├─ ", "dim"), *_branch_spans(branch, view))
    if result.recent:
        view.line()
        view.line(Span("Recent Activity:", "heading"))
    from scopes.render.phrases import signature_spans

    for entry in result.recent:
        view.cut(*_recent_line(entry, view))
        if entry.signature is not None:
            view.cut(Span("  Signed: ", "key"), *signature_spans(entry.signature))
    view.line()
    if is_brief:
        view.cut(Span(_summary(result), "dim"))
    else:
        view.line(Span("Details:", "heading"))
        for name, *value in _details(result):
            view.cut(Span(f"{name}:".ljust(_KEY_WIDTH), "key"), *value)
    _write_progress(result, view)


def _write_title(result: ConversationView, view: View) -> None:
    if result.title is not None:
        view.cut(Span("Title: ", "key"), result.title)
    elif result.opening is not None:
        view.cut(Span("Title: ", "key"), Span(result.opening, "dim"))
    if result.project is not None:
        write_field(view, "Project", result.project)


def _summary(result: ConversationView) -> str:
    """Return `Login fails on Safari · shop · 15 Jan 10:03 to 10:51 · 15 messages`."""
    title = clean_line(result.title or result.opening or "")
    if len(title) > _TITLE:
        title = f"{title[: _TITLE - 1]}…"
    period = ""
    if result.started is not None:
        first, now = day_and_minute(result.started, now_nanoseconds()), now_nanoseconds()
        last = result.last_activity or result.started
        same_day = day_of(last, now) == day_of(result.started, now)
        until = minute_of(last) if same_day else day_and_minute(last, now)
        period = first if last == result.started else f"{first} to {until}"
    parts = (title, result.project, period, counted(result.messages, "message"))
    return " · ".join(part for part in parts if part)


def _write_progress(result: ConversationView, view: View) -> None:
    """Write what is in progress and, on a terminal, the commands that end it."""
    if result.in_progress:
        view.line()
    for each in result.in_progress:
        view.cut(Span(_progress_text(each), "warn"))
    if view.terminal:
        for command in _merge_commands(result):
            write_hint(view, f"  scopes {command}")


def _progress_text(merge: OpenMerge) -> str:
    """Return `merge of fix into main in progress, 1 open conflict`."""
    preposition = "onto" if merge.kind == "rebase" else "into"
    conflicts = counted(merge.open_conflicts, "open conflict") if merge.open_conflicts else "no open conflicts"
    return f"{merge.kind} of {merge.source} {preposition} {merge.target} in progress, {conflicts}"


def _merge_commands(result: ConversationView) -> Iterator[str]:
    """Yield the next commands for what is in progress; with several, for the first."""
    for each in result.in_progress[:1]:
        name = quote(result.id)
        where = name if len(result.in_progress) == 1 else f"{name}/{quote(each.branch)}"
        if each.conflict is not None:
            conflict = quote(each.conflict[:SHORT_ID_LENGTH])
            yield f"conflicts show {name} {conflict}"
            yield f"conflicts resolve {name} {conflict} --take source"
        yield f"{quote(each.kind)} {where} --continue"
        yield f"{quote(each.kind)} {where} --abort"


def _details(result: ConversationView) -> Iterator[tuple[str | Span, ...]]:
    """Yield the names and values of the details that are known."""
    if result.directory is not None:
        yield "Directory", result.directory
    if result.models:
        yield ("Model" if len(result.models) == 1 else "Models"), ", ".join(result.models)
    if result.started is not None:
        yield "Time", Span(_period(result.started, result.last_activity), "time")
    branches = (
        f"{result.branch}, 1 of {counted(result.branch_count, 'branch')}"
        if result.branch is not None
        else counted(result.branch_count, "branch")
    )
    yield "Messages", f"{counted(result.messages, 'message')} on {branches}"
    if result.tokens is not None:
        yield "Tokens", f"{result.tokens:,} in the last context, as the agent recorded it"
    yield "UUID", Span(result.uuid, "id")
    if result.redacted is not None:
        original = result.redacted.original
        yield "Copy of", Span(original or "a conversation that is gone", "id"), ", with its secrets masked"
    if result.native_id is not None:
        yield "Session", Span(result.native_id, "id"), f" ({result.source})" if result.source is not None else ""
    if result.continues is not None:
        conversation, message = result.continues
        yield "Continues", Span(conversation or "a conversation of another store", "id"), f", up to message {message}"


def _recent_line(entry: LogEntry, view: View) -> tuple[str | Span, ...]:
    """Return a message as one line, as in a log."""
    head = entry.head
    spoken = not view.terminal and head.subject != NO_TEXT
    summary = (subject(head),) if spoken else summarize_message(head, entry.message)
    who, mark = author(head.author, head.author_kind), ending_mark(head, entry.ending)
    return (Span(f"[{_ago(display_time(head))}]", "time"), " ", who, *mark, ": ", *summary)


def _branch_spans(branch: BranchRow, view: View) -> Iterator[str | Span]:
    """Yield the name of a branch, its message counts, marks and, if there is room, its purpose."""
    yield Span(_shown_name(branch, view), "active" if branch.active else "branch")
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
    yield from _remote_marks(branch)
    if branch.sub_agent is not None:
        yield Span(" · ", "dim")
        yield sub_agent_label(*branch.sub_agent)
    if branch.reason is not None:
        brief = view.terminal and view.width < WIDE
        yield Span(f" · {branch_reason(branch.reason, branch.session, brief=brief)}", "dim")
    if branch.status != "active":
        yield Span(f" · {branch.status}", "dim")
    if view.terminal and view.width >= WIDE:
        known = (branch.purpose, branch.agent, branch.parent and f"from {branch.parent}")
        yield Span("".join(f" · {word}" for word in known if word), "dim")


def _remote_marks(branch: BranchRow) -> Iterator[Span]:
    """Yield how a branch differs from that of each remote, if it does."""
    for state in branch.remotes:
        counts = ((state.ahead, "ahead of"), (state.behind, "behind"))
        words = [f"{number:,} {word}" for number, word in counts if number]
        if words:
            yield Span(f" · {' and '.join(words)} {state.name}", "warn" if state.behind else "dim")


def _shown_name(branch: BranchRow, view: View) -> str:
    """Return the name of a branch, on a terminal shortened so that its counts have room."""
    room = max(view.width - _COUNTS_WIDTH, _MIN_NAME)
    if not view.terminal or view.cells(branch.name) <= room:
        return branch.name
    from rich.cells import set_cell_size

    return f"{set_cell_size(clean_line(branch.name), room - 1)}…"


def _period(first: str, last: str | None) -> str:
    return f"{in_seconds(first)} to {in_seconds(last or UNKNOWN_TIME)}"


def _ago(time: str | None) -> str:
    return UNKNOWN_TIME if time is None else ago(time, now_nanoseconds())


def _separated(names: list[Span]) -> list[str | Span]:
    """Return names separated by commas."""
    return [part for name in names for part in (", ", name)][1:]


def render_message_appended(result: MessageAppended, view: View) -> None:
    """Write the id of the new message, and the branch that was created with it."""
    name = identifier(view, result.id)
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    created: tuple[str | Span, ...] = ()
    if result.parent is not None:
        active = "; it is active now" if result.active else ""
        created = (", created ", *begins_at(view, result.start, result.parent), active)
    verb = "already recorded " if result.earlier else "recorded "
    write_outcome(view, name, verb, name, " on ", place, *created, appended=not view.options.lines)


def render_message_amended(result: MessageAmended, view: View) -> None:
    """Write the id of the new message and the one it amends or retracts."""
    name = identifier(view, result.id)
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    verb = "retracted " if result.retracted else "amended "
    write_outcome(view, name, verb, identifier(view, result.target), " on ", place, " by ", name, appended=True)


def render_message_view(result: MessageView, view: View) -> None:
    """Write the metadata of a message and then its parts; with `--raw` only the stored line, byte for byte."""
    if view.options.raw:
        view.exact(result.stored.decode())
        return
    message, head = result.message, result.head
    place = result.conversation if result.branch is None else f"{result.conversation}/{result.branch}"
    write_field(view, "Message", Span(head.id, "id"))
    write_field(view, "Commit", Span(head.oid, "id"))
    write_field(view, "Place", Span(place, "branch"))
    who = Span(message.author.name, "human" if message.author.kind == "human" else "agent")
    write_field(view, "Author", who, f" ({message.author.kind})")
    write_field(view, "Time", full_time(view, _time_of(head, message)))
    write_field(
        view,
        "Kind",
        message.kind,
        *confidence_mark(message),
        *stale_mark(result.newer),
        *change_mark(retracted=result.retracted, amended=result.amended),
    )
    if view.options.signatures:
        from scopes.render.phrases import signature_spans

        signed = ("no",) if result.signature is None else signature_spans(result.signature)
        write_field(view, "Signed", *signed)
    for name, value in _details_of_message(message):
        write_field(view, name, value)
    for part in message.parts:
        if part.type != "text":
            view.line()
            write_part(view, part)
        elif part.text:
            view.line()
            show = view.markdown if message.author.kind == "agent" else view.body
            show(part.text)
    if message.payload is not None:
        view.line()
        write_document(view, message.payload)


def _time_of(head: MessageHeader, message: Message) -> str | None:
    return message.time if message.time is not None and head.recorded is None else display_time(head)


def _details_of_message(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the optional fields that are set."""
    details = {
        "To": ", ".join(message.to),
        "Reply to": message.reply_to,
        "Amends": message.amends,
        "Retracts": message.retracts,
        "Work item": message.work_item,
        "Task": message.task,
        "Activity": message.activity,
        "Tool": message.tool,
        "Model": message.model,
        "Status": message.status,
        "Stop reason": message.stop_reason,
        "Files": format_files(message.files),
    }
    for name, value in details.items():
        if value:
            yield name, value
