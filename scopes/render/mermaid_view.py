"""Render `show --format mermaid`: a conversation as a mermaid diagram (S4-54)."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.conversation.show import ConversationView, Drawing
from scopes.history.messages import header_of, is_root
from scopes.render.mermaid import DiagramBranch, DiagramCommit, mermaid
from scopes.render.text.calls import summary_text
from scopes.render.text.phrases import author
from scopes.result import Note, Result

_MAX_DRAWN_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram(Result):
    """The text of a diagram."""

    format: str = "mermaid"
    text: str

    @property
    def answer(self) -> str:
        """The text unchanged: it is safe already, and wrapping would break it."""
        return self.text


def as_mermaid(view: ConversationView, drawing: Drawing) -> Diagram:
    """Return the branches of a conversation as a gitGraph, with the tip of the active branch highlighted."""
    commits = []
    for commit in drawing.commits:
        head = header_of(commit)
        body = drawing.bodies.get(commit.oid)
        summary = head.subject if body is None else summary_text(head, body)
        label = summary if is_root(commit) else f"{author(head.author, head.author_kind).text}: {summary}"
        commits.append(DiagramCommit(commit.oid, commit.parents, label))
    branches = [DiagramBranch(branch.name, branch.tip, branch.parent, branch.active) for branch in view.branches]
    title = view.id if view.title is None else f"{view.id}: {view.title}"
    text = mermaid(commits, branches, title=title)
    large = Note("mermaid draws this only where maxTextSize is raised", hint="it is 50,000 characters by default")
    return Diagram(text=text, notes=(large,) if len(text) > _MAX_DRAWN_CHARACTERS else ())
