"""Render `show --format mermaid`: a conversation as a mermaid diagram (S4-54)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scopes.conversation.show import ConversationView
from scopes.history.messages import head_of, is_root
from scopes.ids import Oid
from scopes.model.message import Message
from scopes.render.dispatch import render_text, to_wire
from scopes.render.mermaid import DiagramBranch, DiagramCommit, mermaid
from scopes.render.text.phrases import author, summary_text
from scopes.render.view import View
from scopes.result import Note, Result

_MAX_DRAWN_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram(Result):
    """The text of a diagram."""

    text: str


def as_mermaid(view: ConversationView, bodies: Mapping[Oid, Message] | None = None) -> Diagram:
    """Return the branches of a conversation as a gitGraph, with the tip of the active branch highlighted.

    `bodies` are messages whose commit subject has no text, by commit: they are labeled with what they do.
    """
    parents = {commit.oid: commit.parents for commit in view.history}
    shown = _reachable(parents, (branch.tip for branch in view.branches))
    bodies = bodies or {}
    commits = []
    for commit in view.history:
        if commit.oid in shown:
            head = head_of(commit)
            body = bodies.get(commit.oid)
            summary = head.subject if body is None else summary_text(head, body)
            label = summary if is_root(commit) else f"{author(head.author, head.author_kind).text}: {summary}"
            commits.append(DiagramCommit(commit.oid, commit.parents, label))
    branches = [DiagramBranch(branch.name, branch.tip, branch.parent, branch.active) for branch in view.branches]
    title = view.id if view.title is None else f"{view.id}: {view.title}"
    text = mermaid(commits, branches, title=title)
    large = Note("mermaid draws this only where maxTextSize is raised", hint="it is 50,000 characters by default")
    return Diagram(text=text, notes=(large,) if len(text) > _MAX_DRAWN_CHARACTERS else ())


@render_text.register(Diagram)
def render_diagram(result: Diagram, view: View) -> None:
    """Write the text unchanged: it is safe already, and wrapping would break it."""
    view.exact(result.text)


@to_wire.register(Diagram)
def format_diagram(result: Diagram) -> dict[str, object]:
    """Return the text in an object."""
    return {"kind": "diagram", "format": "mermaid", "text": result.text}


def _reachable(parents: Mapping[Oid, tuple[Oid, ...]], tips: Iterable[Oid]) -> frozenset[Oid]:
    seen: set[Oid] = set()
    stack = list(tips)
    while stack:
        oid = stack.pop()
        if oid not in seen:
            seen.add(oid)
            stack.extend(parents.get(oid, ()))
    return frozenset(seen)
