"""The calls by which each agent's model writes a file, replaces a text in it and runs a command."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

Call = tuple[str, Mapping[str, Any] | str]
CONTEXT_LINES = 2


class Tools(NamedTuple):
    """Calls as JSON: the names of the tools, and those of their arguments.

    read: of an agent that refuses to change a file which it has not read in the session
    """

    write: tuple[str, str, str]
    edit: tuple[str, str, str, str]
    run: tuple[str, str]
    read: tuple[str, str] | None = None
    more: Mapping[str, Mapping[str, Any]] = {}

    def write_file(self, path: Path, text: str) -> list[Call]:
        name, place, content = self.write
        return [self._call(name, {place: str(path), content: text})]

    def edit_file(self, path: Path, before: str, old: str, new: str) -> list[Call]:
        assert before.count(old) == 1, old
        name, place, *texts = self.edit
        reading = [] if self.read is None else [self._call(self.read[0], {self.read[1]: str(path)})]
        return [*reading, self._call(name, {place: str(path), **dict(zip(texts, (old, new), strict=True))})]

    def run_command(self, command: str) -> list[Call]:
        name, words = self.run
        return [self._call(name, {words: command})]

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Call:
        return name, {**arguments, **self.more.get(name, {})}


class PatchTools:
    """Calls of Codex: patches as a text, and commands."""

    def write_file(self, path: Path, text: str) -> list[Call]:
        lines = [f"+{line}" for line in text.splitlines()]
        return [_patch(f"*** Add File: {path.name}", *lines)]

    def edit_file(self, path: Path, before: str, old: str, new: str) -> list[Call]:
        assert before.count(old) == 1, old
        after = before.replace(old, new)
        found = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=CONTEXT_LINES)
        hunks = ["@@" if line.startswith("@@") else line for line in list(found)[2:]]
        return [_patch(f"*** Update File: {path.name}", *hunks)]

    def run_command(self, command: str) -> list[Call]:
        return [("exec_command", {"cmd": command})]


def _patch(*lines: str) -> Call:
    return "apply_patch", "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


CODEX = PatchTools()
OPENCODE = Tools(
    write=("write", "filePath", "content"),
    edit=("edit", "filePath", "oldString", "newString"),
    run=("bash", "command"),
    read=("read", "filePath"),
)
GEMINI = Tools(
    write=("write_file", "file_path", "content"),
    edit=("replace", "file_path", "old_string", "new_string"),
    run=("run_shell_command", "command"),
    more={"replace": {"instruction": "change the file as it was asked for"}},
)
QWEN = Tools(
    write=("write_file", "file_path", "content"),
    edit=("edit", "file_path", "old_string", "new_string"),
    run=("run_shell_command", "command"),
    read=("read_file", "file_path"),
    more={"run_shell_command": {"is_background": False}},
)


class PiTools(Tools):
    """Calls of Pi, whose edits are lists."""

    def edit_file(self, path: Path, before: str, old: str, new: str) -> list[Call]:
        assert before.count(old) == 1, old
        return [("edit", {"path": str(path), "edits": [{"oldText": old, "newText": new}]})]


PI = PiTools(write=("write", "path", "content"), edit=("edit", "path", "", ""), run=("bash", "command"))
