"""Render what a purge would remove, and what it has removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, write_hint
from scopes.render.view import Column, View

if TYPE_CHECKING:
    from scopes.purge.purge import PurgeDone, PurgePlanned

_MESSAGES = (
    Column("Conversation", "branch"), Column("Message", "id"), Column("Parts", align="right"),
    Column("Subject", flexible=True),
)  # fmt: skip
_COUNTS = Column("Messages"), Column("Conversations"), Column("Left")
_SHOWN = 8  # characters of an id on a terminal
_ALL = "all"


@render_text.register
def render_purge_planned(result: PurgePlanned, view: View) -> None:
    """Write a row for each message and conversation that would go; on a terminal also what it would mean."""
    rows = [
        (
            each.conversation, each.message[:_SHOWN] if view.terminal else each.message,
            _ALL if each.parts is None else str(each.parts), each.subject,
        )
        for each in result.messages
    ]  # fmt: skip
    rows += [(name, "", _ALL, "") for name in result.conversations]
    view.rows(_MESSAGES, rows, title="Would be removed for good")
    if view.terminal:
        view.line(
            f"{counted(result.commits, 'commit')} and {counted(result.operations, 'operation')} would be written again."
        )


@render_text.register
def render_purge_done(result: PurgeDone, view: View) -> None:
    """Write what has gone and what was searched, and what is left; what to do elsewhere is in the notes.

    In a pipe three numbers for scripts, with the sentence about them as a note.
    """
    whole = ((result.messages, "message"), (result.conversations, "conversation"), (result.records, "other record"))
    named = " and ".join(counted(count, noun) for count, noun in whole if count) or "nothing new"
    searched = f"{counted(result.objects, 'object')} and {counted(result.files, 'file')} were searched"
    if not view.terminal:
        counts = result.messages, result.conversations, len(result.left)
        view.rows(_COUNTS, [tuple(map(str, counts))])
        left = f"it is still in {counted(len(result.left), 'place')}" if result.left else "nothing is left"
        view.aside(f"purged {named} for good; {searched}: {left}")
    else:
        view.line(f"Purged {named} for good.")
        view.line(f"{searched}: {'it is still in' if result.left else 'nothing is left'}{':' if result.left else '.'}")
    for place in result.left:
        view.line(place)
    if view.terminal and result.left:
        write_hint(view, "delete these files; what the objects are of is below; then: scopes purge --continue")
