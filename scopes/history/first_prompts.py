"""Find the first prompts of conversations while their messages are written, parents before children.

A walk finds the same (`titles.first_prompt`), but it reads every message of a branch.
"""

from __future__ import annotations

from typing import NamedTuple

from scopes.history.titles import PROMPT, find_first_prompt, typed_text
from scopes.ids import Oid
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit


class _Line(NamedTuple):
    """The oldest messages of a line of messages that a first prompt is chosen from: each is preferred to the next."""

    root: Oid
    human: Oid | None = None
    prompt: Oid | None = None
    agent: Oid | None = None

    @property
    def first(self) -> Oid | None:
        return self.human or self.prompt or self.agent


class WrittenPrompts:
    """The first prompts of lines of messages, each known by its last message.

    Several lines may begin at a root. Only the first message after another one continues its line: those that branch
    off there have no known line, so that this takes little memory however many messages there are.
    """

    def __init__(self) -> None:
        self._lines: dict[Oid, _Line] = {}

    def add_root(self, root: Oid) -> None:
        """Add the root of a conversation."""
        self._lines[root] = _Line(root)

    def add(self, oid: Oid, parent: Oid, author_kind: str, kind: str, text: str) -> None:
        """Add a message that was written as this commit, with the text that its subject is made of."""
        line = self._lines.get(parent)
        if line is None:
            return
        if parent != line.root:
            del self._lines[parent]
        if line.human is None:
            line = _continued(line, oid, kind if author_kind == "injected" else author_kind, text)
        self._lines[oid] = line

    def find(self, repository: Repository, tip: Oid) -> tuple[Commit, ...] | None:
        """Return the commits from which `first_prompt` finds the same as from all of the line, newest first.

        None if the line of the tip is not known.

        Raises:
            NotFound, Corrupt: one of them cannot be read.
        """
        line = self._lines.get(tip)
        if line is None:
            return None
        root = read_commit(repository, line.root)
        if line.first is None:
            return (root,)
        found = read_commit(repository, line.first), root
        return found if find_first_prompt(repository, found) is found[0] else None


def _continued(line: _Line, oid: Oid, chosen_as: str, text: str) -> _Line:
    """Return the line with a message that has no human prompt before it."""
    if chosen_as == "human":
        return line._replace(human=oid) if typed_text(text) else line
    if chosen_as == PROMPT:
        return line._replace(prompt=oid) if line.prompt is None and typed_text(text) else line
    if chosen_as == "agent":
        return line._replace(agent=oid) if line.agent is None and typed_text(text) else line
    return line
