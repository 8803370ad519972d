"""What a session is called: by its user, by the agent, or by a summary of its own messages."""

from __future__ import annotations

from typing import Any

from scopes.importers.claude_code.records import text_of
from scopes.importers.claude_code.tree import Tree

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}


class Titles:
    """The titles that a file gives; of each kind the last one counts."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._summaries: dict[str, str] = {}

    def note(self, value: dict[str, Any]) -> None:
        """Remember a record's title, if it is one."""
        kind = text_of(value, "type")
        leaf, summary = text_of(value, "leafUuid"), text_of(value, "summary")
        if kind == "summary" and leaf is not None and summary is not None:
            self._summaries.pop(leaf, None)
            self._summaries[leaf] = summary
        elif kind in _TITLES and (title := text_of(value, _TITLES[kind])):
            self._titles[kind] = title

    def best(self, tree: Tree) -> str | None:
        """Return the title that counts; a summary of messages that the file does not hold is another session's."""
        own = [summary for leaf, summary in self._summaries.items() if leaf in tree]
        candidates = [*(self._titles.get(kind) for kind in _TITLES), *reversed(own)]
        return next((title.strip() for title in candidates if title and title.strip()), None)
