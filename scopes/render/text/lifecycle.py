"""The beginning, the renaming and the end of conversations and branches, for people."""

from __future__ import annotations

from scopes.conversation.delete import BranchDeleted, ConversationDeleted
from scopes.conversation.new import ConversationCreated
from scopes.conversation.rename import Renamed
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import counted, identifier, say_outcome
from scopes.render.view import Span, View


@render_text.register(ConversationCreated)
def created(result: ConversationCreated, view: View) -> None:
    """Say the new conversation's id."""
    name = Span(result.id, "id")
    title = () if result.title is None else (": ", result.title)
    say_outcome(view, name, "created ", name, *title, operation=result.operation)


@render_text.register(Renamed)
def renamed(result: Renamed, view: View) -> None:
    """Say the new name."""
    new = result.new or ""
    if result.what == "title":
        words = f": {new}" if new else " has no title now"
        sentence: tuple[str | Span, ...] = (Span(result.conversation, "id"), words)
    elif result.what == "branch":
        old = Span(f"{result.conversation}/{result.old}", "branch")
        sentence = ("renamed ", old, " to ", Span(new, "branch"))
    else:
        sentence = ("renamed ", Span(result.old or "", "id"), " to ", Span(new, "id"))
    unchanged = () if result.operation is not None else (" (as before)",)
    name = result.conversation if result.what == "title" else new
    say_outcome(view, name, *sentence, *unchanged, operation=result.operation)


@render_text.register(ConversationDeleted)
def conversation_deleted(result: ConversationDeleted, view: View) -> None:
    """Say which conversation is gone."""
    name = Span(result.conversation, "id")
    branches = counted(result.branches, "branch")
    say_outcome(view, name, "deleted ", name, f" with {branches}", operation=result.operation)


@render_text.register(BranchDeleted)
def branch_deleted(result: BranchDeleted, view: View) -> None:
    """Say which branch is gone, and where it stood."""
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    tip = identifier(view, result.tip)
    say_outcome(view, result.branch, "deleted ", place, " (it was at ", tip, ")", operation=result.operation)
