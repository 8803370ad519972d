"""Telling what a context is made of, and of everything that is not in it why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scopes.context.assemble import Assembled, Count
from scopes.context.collect import Collected
from scopes.context.context_cache import key_of
from scopes.context.result import Context, ContextFile, ContextMessage, Explained
from scopes.history.messages import display_time
from scopes.history.revparse import Revision

_ID_LENGTH = 24


class ReportHeader(NamedTuple):
    """Where a context ends, what it may cost, how that was counted, and what was asked for."""

    place: Revision
    max_tokens: int
    method: str
    encoding: str
    options: Mapping[str, object]


def describe(about: ReportHeader, material: Collected, made: Assembled, count: Count | None) -> Context:
    """Tell everything of an assembled context; its id is the same wherever the same is asked of the same history.

    With a way to count it is explained as well.
    """
    place, limit = about.place, about.max_tokens
    included = sorted(made.selection.kept)
    sessions = {made.turns[position].session for position in included}
    relevance = [made.relevance[position] for position in included if position in made.relevance]
    identity = key_of(tip=place.oid, options=about.options, limit=limit, encoding=about.encoding, text=made.text)
    metadata: dict[str, object] = {
        "conversation": place.conversation, "branch": place.branch, "tip": place.oid, "encoding": about.encoding,
        **about.options, "messages": material.messages, "turns_truncated": sum(_is_cut(made, p) for p in included),
        "total_tokens": sum(made.selection.tokens[p] for p in included),
        "utilisation": round(made.tokens / limit, 4) if limit else None,
    }  # fmt: skip
    return Context(
        context_id=f"ctx-{identity[:_ID_LENGTH]}",
        conversation=place.conversation,
        max_tokens=limit,
        tokens_used=made.tokens,
        method=about.method,
        formatted_history=made.text,
        messages=tuple(_message(made, position) for position in included),
        files_text=made.files_text,
        files_embedded=tuple(ContextFile(file.path, file.tokens, file.turn) for file in made.files.embedded),
        files_skipped=tuple(made.files.skipped),
        summary=made.summary,
        metadata={name: value for name, value in metadata.items() if value is not None},
        filtered_count=material.filtered,
        average_relevance=_average(relevance) if about.options.get("task") is not None else None,
        sessions_included=len(sessions),
        sessions_excluded=len({turn.session for turn in material.turns} - sessions),
        turns_included=len(included),
        turns_excluded=len(material.turns) + material.unread - len(included),
        warnings=made.warnings,
        explained=tuple(_explain(made, material, count)) if count is not None else (),
        notes=tuple(material.notes),
    )


def _average(relevance: Sequence[float]) -> float:
    """Return the mean, and 0 where nothing was selected (S4-39)."""
    return round(sum(relevance) / len(relevance), 4) if relevance else 0.0


def _message(made: Assembled, position: int) -> ContextMessage:
    turn = made.turns[position]
    return ContextMessage(
        id=turn.head.id,
        oid=turn.head.oid,
        session=turn.session,
        number=turn.number,
        role=turn.role,
        author=turn.head.author,
        time=display_time(turn.head),
        text=made.selection.kept[position].removeprefix(turn.heading).strip(),
        tokens=made.selection.tokens[position],
        truncated=_is_cut(made, position),
        relevance=made.relevance.get(position),
    )


def _is_cut(made: Assembled, position: int) -> bool:
    """Tell whether not all of a turn is there."""
    return made.selection.truncated == position or made.turns[position].clipped_at(made.selection.limit)


def _explain(made: Assembled, material: Collected, count: Count) -> list[Explained]:
    """Say of every turn, newest first, of every other message and of every file what became of it and why (S4-40)."""
    chosen = made.selection
    rows = []
    for position in reversed(range(len(made.turns))):
        turn = made.turns[position]
        kept = position in chosen.kept
        reason = "truncated" if position == chosen.truncated else "fits" if kept else chosen.dropped.get(position, "")
        tokens, ranked = chosen.tokens.get(position), made.scores.get(position)
        tokens = count(turn.block) if tokens is None else tokens
        rows.append(
            Explained(
                "turn",
                f"{turn.session}:{turn.number}" if turn.named else str(turn.number),
                None if ranked is None else round(ranked, 4),
                tokens,
                kept,
                reason,
            )
        )
    named = any(turn.named for turn in made.turns)
    for session, number, reason in reversed(material.left_out):
        name = f"{session}:{number}" if named else str(number)
        rows.append(Explained("message", name, None, None, kept=False, reason=reason))
    rows += [Explained("file", file.path, None, file.tokens, kept=True, reason="fits") for file in made.files.embedded]
    rows += [Explained("file", file.path, None, None, kept=False, reason=file.reason) for file in made.files.skipped]
    return rows
