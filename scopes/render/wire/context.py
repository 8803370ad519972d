"""Format contexts, budgets and token counts as JSON, and a context as the message list of chat interfaces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scopes.context.turns import USER
from scopes.fence import fenced
from scopes.merge.lanes import lane_changes
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.json_line import SCHEMA_VERSION
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.sanitize import RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scopes.context.budget import Budget
    from scopes.context.decision_lines import ContextDecision
    from scopes.context.history_block import HistoryBlock
    from scopes.context.result import Context, ContextLane, ContextMessage


@to_wire.register
def format_budget(result: Budget) -> dict[str, object]:
    """Return a window and its parts."""
    return without_none(
        kind="budget",
        window=result.window,
        model=result.model,
        preset=result.preset,
        parts=dict(result.parts),
        content=dict(result.content_parts),
    )


@to_wire.register_with_options
def format_context(result: Context, options: ViewOptions = DEFAULT_OPTIONS) -> dict[str, object]:
    """Return a context; every field is present, because scripts rely on them: missing values are null."""
    return context_document(result, explain=options.explain)


def write_context(result: Context, layout: str) -> str:
    """Return a context in one of the layouts, as standard output gets it in a pipe and a file with --output."""
    if layout == "markdown":
        return result.formatted_history
    whole = {"scopes": SCHEMA_VERSION, **context_document(result)}
    document = chat_messages(result) if layout == "messages" else whole
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def context_document(result: Context, *, explain: bool = False) -> dict[str, object]:
    """Return a context, with `explain` also why each turn and file was kept or dropped."""
    document: dict[str, object] = {
        "kind": "context",
        "tokens_used": result.tokens_used,
        "max_tokens": result.max_tokens,
        "method": result.method,
        "messages": [_format_message(message) for message in result.messages],
        "files_embedded": [file._asdict() for file in result.files_embedded],
        "files_skipped": [file._asdict() for file in result.files_skipped],
        "summary": result.summary,
        "metadata": dict(result.metadata),
        "filtered_count": result.filtered_count,
        "average_relevance": result.average_relevance,
        "sessions_included": result.conversations_included,
        "sessions_excluded": result.conversations_excluded,
        "turns_included": result.turns_included,
        "turns_excluded": result.turns_excluded,
        "left_out": dict(result.left_out),
        "formatted_history": result.formatted_history,
        "warnings": list(result.warnings),
        "context_id": result.context_id,
    }
    if result.decisions:
        document["decisions"] = [_format_decision(decision) for decision in result.decisions]
    if explain:
        document["explained"] = [without_none(**each._asdict()) for each in result.explained]
    return document


def _format_decision(decision: ContextDecision) -> dict[str, object]:
    """Return a decision in effect; the key of its conversation is `session`."""
    values = decision._asdict()
    values["session"] = values.pop("conversation")
    return without_none(**values)


def _format_message(message: ContextMessage) -> dict[str, object]:
    """Return a turn; the key of its conversation is `session`, and `lane` is the innermost merged branch."""
    names = {"conversation": "session"}
    values = message._replace(lanes=())._asdict()
    del values["lanes"]
    return without_none(**{names.get(name, name): value for name, value in values.items()}, lane=message.lane)


@to_wire.register
def format_history_block(result: HistoryBlock) -> dict[str, object]:
    """Return a block of history and its range of messages."""
    return without_none(
        kind="history",
        conversation=result.conversation,
        branch=result.branch,
        messages=result.messages,
        total=result.total,
        left_out=result.left_out,
        truncated=result.truncated,
        tokens_used=result.tokens,
        method=result.method,
        first_oid=result.first,
        last_oid=result.last,
        text=result.text,
    )


def chat_messages(result: Context) -> list[dict[str, str]]:
    """Return the same content as messages: a label with summary, decisions in effect and files, then the turns.

    The contents of files and tool results are not instructions: the first message says so, and turns of tools do not
    have the role of the user.
    """
    parts = (result.summary, result.decisions_text.strip(), result.files_text.strip())
    first_part = "A summary, or files as they are now"
    if result.decisions_text:
        first_part = "Decisions in effect, a summary, or files as they are now"
    follows = f"{first_part}, and what was said before." if any(parts) else "What was said before."
    label = f"{RECORDED}. {follows}" if result.formatted_history.startswith("# Context of ") else ""
    body = "".join(f"{part}\n\n" for part in parts if part)
    first = "\n\n".join(filter(None, (label, fenced("history", body, result.mark).strip() if body else "")))
    opening = [{"role": "user", "content": first}] if first else []
    return opening + [
        {"role": "user" if message.role == USER else "assistant", "content": content}
        for message, content in zip(result.messages, _walk_contents(result.messages), strict=True)
    ]


def _walk_contents(messages: Sequence[ContextMessage]) -> Iterator[str]:
    """Yield the texts of turns, with the marks of merged branches before them, and after the last one."""
    before: tuple[ContextLane, ...] = ()
    for number, message in enumerate(messages, 1):
        left, entered = lane_changes(before, message.lanes)
        marks = [*(lane.end for lane in left), *(lane.begin for lane in entered)]
        last, _ = lane_changes(message.lanes, ()) if number == len(messages) else ([], [])
        yield "".join((*marks, message.text, *(f"\n\n{lane.end.strip()}" for lane in last if lane.end)))
        before = message.lanes
