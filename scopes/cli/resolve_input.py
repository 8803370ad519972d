"""A decision about a conflict from the command line: a side, a value, or what somebody writes in their editor."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

import typer

from scopes.cli.arguments import author_of
from scopes.cli.editor import edit_text
from scopes.cli.invocation import Invocation
from scopes.conversation.conflicts import ConflictView, show_conflict
from scopes.conversation.resolve_conflict import resolve_conflict
from scopes.errors import Invalid, Refused
from scopes.merge.conflict_keys import shown_key
from scopes.model.conflict import Position

Take: TypeAlias = Annotated[
    str | None, typer.Option("--take", metavar="SIDE", help="What holds: source, target, base or both")
]
Value: TypeAlias = Annotated[
    str | None, typer.Option("--value", metavar="VALUE", help="What holds instead: a text, or JSON for a field's value")
]
Edit: TypeAlias = Annotated[bool, typer.Option("--edit", "-e", help="Write what holds in your editor")]
Reason: TypeAlias = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why")]


def decide(
    call: Invocation,
    conversation: str,
    conflict: str,
    *,
    take: str | None,
    value: str | None,
    edit: bool,
    reason: str,
    author: str | None,
    author_kind: str | None,
    intervening: bool = False,
) -> int:
    """Resolve a conflict as the options say, and show what came of it.

    Raises:
        Invalid: not exactly one of the three ways is given.
        Refused: nothing was written in the editor.
    """
    if [take is not None, value is not None, edit].count(True) != 1:
        raise Invalid("how is it to be resolved?", hint="give one of --take SIDE, --value VALUE and --edit")
    repository = call.repository()
    who = author_of(call, author, author_kind)
    if edit:
        value = _written(call, show_conflict(repository, conversation, conflict))
    done = resolve_conflict(
        repository,
        conversation,
        conflict,
        take=take,
        value=value,
        reason=reason,
        author=who.name,
        author_kind=who.kind,
        intervening=intervening,
    )
    return call.show(done)


def _written(call: Invocation, view: ConflictView) -> str:
    conflict = view.row.conflict
    if conflict.status == "resolved":
        raise Refused(f"conflict {conflict.id} is resolved already", hint="take that back with: scopes undo")
    text = edit_text(call, _explained(view), name=f"conflict-{conflict.id}.md")
    if not text:
        raise Refused("nothing was written, and the conflict is as it was")
    return text


def _explained(view: ConflictView) -> str:
    """Say what the conflict is about, for the lower part of the file."""
    row = view.row
    sides = (
        ("Before", row.conflict.base),
        (f"Target: {row.target}", row.conflict.target),
        (f"Source: {row.source}", row.conflict.source),
    )
    said = [_position(name, position) for name, positions in sides for position in positions]
    return "\n".join([f"What holds for {shown_key(row.conflict.key)}?", *said])


def _position(name: str, position: Position) -> str:
    who = f" ({position.agent})" if position.agent is not None else ""
    return f"\n{name}{who}\n{_as_text(position.value)}"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
