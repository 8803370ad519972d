"""The edits that tests can see: by tools and by shell commands, without those that git undid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scopes.check.calls import Call
from scopes.check.comments import changes_only_comments
from scopes.check.exit_status import read_status
from scopes.check.globs import matches_path
from scopes.check.rules.base import Parameter, Settings
from scopes.check.run import Run
from scopes.check.shell_command import Command
from scopes.check.workspace import path_in_workspaces, resolve
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import FILE_WRITES

PATHS = Parameter("paths", ["**"], "the files whose edits the tests can see, relative to the workspace")
_IGNORED = [
    "*.md", "*.mdx", "*.rst", "*.adoc", "*.txt", "!*requirements*.txt", "!CMakeLists.txt", "!**/test*/**", "!test*/**",
    "docs/**", "LICENSE*", "CHANGELOG*", "README*", ".gitignore", ".gitattributes", ".editorconfig", "*.example",
    "**/.claude/**", "**/.codex/**", "**/.gemini/**", "**/.cursor/**", ".github/**", ".gitlab-ci.yml", ".circleci/**",
    ".pre-commit-config.yaml", ".goreleaser*", ".golangci*", ".prettierrc*", "*.png", "*.jpg", "*.jpeg", "*.gif",
    "*.webp", "*.ico", "*.svg", "*.mp4", "*.pdf", "*.log", "*.out", ".git/**",
]  # fmt: skip
IGNORE = Parameter("ignore", _IGNORED, "files among them that no test looks at; `!` as in .gitignore")
_EDITORS = frozenset({"sed", "gsed", "perl", "tee", "cp", "mv", "patch", "install", "rm", "unlink"})
_PRINTERS = frozenset({"cat", "echo", "printf", "sed", "awk", "perl"})  # what they write into a file is an edit
# Control operators and compound commands.
_CONDITIONAL = compile_lazily(r"[&|(){}]|\b(?:if|case|for|while|until|select)\b")


class LastEdit(NamedTuple):
    """The last edit that tests can see: its call, which command of the call it is if it is one, and the path."""

    call: Call
    command: int | None
    path: str


def find_last_edit(
    run: Run, settings: Settings, before: Call | None = None, command: int | None = None
) -> LastEdit | None:
    """Return the last successful edit that tests can see, before a command of a call if one is given.

    Files outside the workspace are left out.
    """
    calls = [call for call in run.calls if before is None or call.number < before.number]
    in_line = _edits_of_commands(before, run, settings) if before is not None and command is not None else iter(())
    for position, edited in in_line:
        if before is not None and command is not None and position < command:
            return LastEdit(before, position, edited)
    undone = _undone_edits(calls)
    for call in reversed(calls):
        for edit in call.edits if call.outcome == "ok" else ():
            is_undone = (call.number, edit.path) in undone or changes_only_comments(edit)
            if edit.op in FILE_WRITES and not is_undone:
                path = _visible_path(edit.path, call.directory, run, settings)
                if path is not None:
                    return LastEdit(call, None, path)
        for position, edited in _edits_of_commands(call, run, settings):
            return LastEdit(call, position, edited)
    return None


def _visible_path(written: str, directory: str | None, run: Run, settings: Settings) -> str | None:
    """Return the path of a file that tests can see, relative to the workspace; None for other files."""
    path = path_in_workspaces(written, directory, run.workspaces)
    if path is None or _is_ignored(path, settings.parameters["ignore"]):
        return None
    return path if any(matches_path(pattern, path) for pattern in settings.parameters["paths"]) else None


def _is_ignored(path: str, patterns: Sequence[str]) -> bool:
    """Return True if the last pattern that matches a path ignores it; one that begins with `!` does not, as in git."""
    found = (each for each in reversed(patterns) if matches_path(each.removeprefix("!"), path))
    return not next(found, "!").startswith("!")


def _edits_of_commands(call: Call, run: Run, settings: Settings) -> Iterator[tuple[int, str]]:
    """Yield the files that the commands of a successful call edit, the last one first, with the command's position."""
    if call.outcome != "ok":
        return
    for position, command in reversed(tuple(enumerate(call.commands))):
        for written in _written(command, call, run):
            path = _visible_path(written, command.directory, run, settings)
            if path is not None:
                yield position, path


def _written(command: Command, call: Call, run: Run) -> Iterator[str]:
    """Yield the files that a command edits: what it changes itself, and a text that it prints into a file.

    `pytest | tee out` writes what a test printed. A file that `rm` deletes counts if the run has read or edited it.
    """
    program = command.program
    is_editor = program in _EDITORS or command.argv[:2] in {("git", "mv"), ("git", "rm")}
    if is_editor and (program != "tee" or _is_fed_by_text(command, call)):
        for change in command.changes:
            is_deleted = change.kind == "delete" and program not in {"git", "mv"}
            if "$" not in change.path and (not is_deleted or change.path in _touched(run, call.number)):
                yield change.path
    if program in _PRINTERS and _is_fed_by_text(command, call):
        yield from (each.target for each in command.redirections if each.kind != "read" and each.target)


def _is_fed_by_text(command: Command, call: Call) -> bool:
    """Return True unless a command reads the output of a program that prints no given text."""
    for _ in call.commands:
        if command.piped_from is None:
            return True
        source = next((each for each in call.commands if each.argv == command.piped_from), None)
        if source is None or source.program not in _PRINTERS:
            return False
        command = source
    return False


def _touched(run: Run, before: int) -> set[str]:
    """Return the absolute paths of the files that tools read or edited before a call."""
    found = (resolve(edit.path, call.directory) for call in run.calls if call.number < before for edit in call.edits)
    return {path for path in found if path is not None}


def _undone_edits(calls: Iterable[Call]) -> set[tuple[int, str]]:
    """Return the edits, as number of the call and path, that git undid before they were added or committed."""
    undone: set[tuple[int, str]] = set()
    pending: dict[str, list[tuple[int, str]]] = {}  # by absolute path
    for call in calls:
        if call.outcome != "ok":
            continue
        for command in call.commands:
            if command.argv[:2] in {("git", "add"), ("git", "commit")}:
                pending.clear()
            for path in _restored(command, call):
                undone.update(pending.pop(path, ()))
        for edit in call.edits:
            absolute = resolve(edit.path, call.directory)
            if edit.op == "edit" and absolute is not None:
                pending.setdefault(absolute, []).append((call.number, edit.path))
    return undone


def _restored(command: Command, call: Call) -> Iterator[str]:
    """Yield the absolute paths that `git checkout [HEAD] -- PATH` and `git restore PATH` certainly restored."""
    words = command.argv[2:]
    if command.argv[:2] == ("git", "checkout"):
        given = words[1:] if words[:1] == ("HEAD",) else words
        if given[:1] != ("--",) and len(words) > 1:  # the first word can be a branch
            return
        words = given[1:] if given[:1] == ("--",) else words
    elif command.argv[:2] != ("git", "restore"):
        return
    if any(word is None or word.startswith("-") for word in words) or not _has_run(command, call):
        return
    for word in words:
        path = None if word is None else resolve(word, command.directory)
        if path is not None:
            yield path


def _has_run(command: Command, call: Call) -> bool:
    """Return True if no condition decides whether a command of a successful call runs, or its exit code shows it."""
    line = call.shell or ""
    return _CONDITIONAL.search(line) is None or read_status(line, [command.text]).passed
