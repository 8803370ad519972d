"""The texts of files, as far as the edits of a conversation show them: a replacement within a line changes that line.

Agents that record no hunks replace a text which may begin and end within a line. Its whole line is known if the
conversation wrote the file, or has replaced in it since.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scopes.code_links.moved_texts import names_after
from scopes.code_links.shell_commands import Move
from scopes.model.tools import FileEdit, Replacement, apply_edit

MAX_FILES: Final = 500  # of one conversation; the first known is forgotten first
MAX_TEXT: Final = 1 << 20  # characters of a file


class KnownTexts:
    """The texts of files after the edits that were taken so far."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def complete(self, edit: FileEdit) -> Iterator[Replacement]:
        """Yield the replacements of an edit, with the rest of their first and last lines if that is known."""
        text = self._texts.get(edit.path) if edit.before is None else edit.before
        for each in edit.replacements:
            position = -1 if text is None or each.block or not each.old else text.find(each.old)
            if text is None or position < 0:
                yield each
                continue
            if each.all:
                yield Replacement(text, text := text.replace(each.old, each.new))
                continue
            end = position + len(each.old)
            before = text[text.rfind("\n", 0, position) + 1 : position]
            after = text[end:].partition("\n")[0]
            yield Replacement(f"{before}{each.old}{after}", f"{before}{each.new}{after}")
            text = text[:position] + each.new + text[end:]

    def move(self, move: Move) -> None:
        """Give the files that a command moved their new names; the old ones stay: which of two it was is not sure."""
        for path, text in [*self._texts.items()]:
            for name in names_after(path, move):
                self._keep(name, text)

    def take(self, edit: FileEdit) -> None:
        """Take an edit that was made, in the order in which they were made; one with hunks needs no text."""
        if edit.source is not None:
            self._texts.pop(edit.source, None)
        known = self._texts.pop(edit.path, None)
        text = None if edit.hunks or edit.op == "delete" else apply_edit(edit, known)
        if text is None or len(text) > MAX_TEXT:
            return
        self._keep(edit.path, text)

    def _keep(self, path: str, text: str) -> None:
        self._texts.pop(path, None)
        self._texts[path] = text
        if len(self._texts) > MAX_FILES:
            del self._texts[next(iter(self._texts))]
