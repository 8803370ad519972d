"""Read the command lines of the calls of a run in order: later ones use files, links and settings of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scopes.check.shell import parse_commands
from scopes.check.shell_command import Command
from scopes.check.shell_files import Files, Written
from scopes.check.workspace import is_workspace, resolve
from scopes.model.message import FILE_WRITES
from scopes.model.tools import FileEdit, apply_edit

if TYPE_CHECKING:
    from scopes.check.calls import Call


class CallReader:
    """Reads each call once, after all calls before it."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._next = 0
        self._files = Files()
        first = calls[0].directory if calls else None
        self._files.top = first if first is not None and is_workspace(first) else None
        self._commands: dict[int, tuple[Command, ...]] = {}
        self._own: set[tuple[int, str]] = set()  # calls and paths of files with texts of the run that they read

    def commands_of(self, call: Call) -> tuple[Command, ...]:
        """Return the commands of a shell call; empty for other calls."""
        while id(call) not in self._commands and self._next < len(self._calls):
            following = self._calls[self._next]
            self._next += 1
            self._commands[id(following)] = self._read(following)
        known = self._commands.get(id(call))
        return self._read(call) if known is None else known

    def reads_own(self, call: Call, path: str) -> bool:
        """Return True if a call that reads a file reads one that certainly has only texts of the run."""
        self.commands_of(call)
        return (id(call), path) in self._own

    def _read(self, call: Call) -> tuple[Command, ...]:
        files = self._files if call.outcome != "denied" else self._files.fork()
        files.line += 1
        for edit in call.edits if call.outcome != "denied" else ():
            if edit.op in FILE_WRITES:
                self._note_edit(edit, call)
            elif edit.op == "read" and files.is_own(resolve(edit.path, call.directory)):
                self._own.add((id(call), edit.path))
        if call.shell is None:
            return ()
        given = call.call.fields.get("input")
        is_background = isinstance(given, dict) and given.get("run_in_background") is True
        files.background += is_background
        commands = parse_commands(call.shell, call.directory, files)
        files.background -= is_background
        return commands

    def _note_edit(self, edit: FileEdit, call: Call) -> None:
        path = resolve(edit.path, call.directory)
        if path is None or edit.op == "delete":
            return
        before = self._files.find(path)
        if edit.op == "rename" and edit.source is not None:
            source = resolve(edit.source, call.directory)
            before = None if source is None else self._files.find(source)
        texts = before.texts if before is not None and before.is_known else ()
        results = dict.fromkeys(apply_edit(edit, text) for text in (texts or (None,)))
        after = tuple(text for text in results if text is not None)
        if len(after) == len(results) and call.outcome == "ok":
            is_made = apply_edit(edit, None) is not None or (before is not None and before.is_made)
            self._files.put(path, Written(after, is_made=is_made))
        else:
            self._files.write(path, after[0] if len(after) == len(results) == 1 else None)
