"""Find the tests that the commands of a run delete, or move to where they are no tests.

A test file that the run made is none, nor one that it brings back, that it copied to another place for tests, or whose
subject (`cart.py` of `test_cart.py`) it deletes as well. Only paths in the workspace count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from scopes.check.calls import Call
from scopes.check.globs import matches_path
from scopes.check.run import Run
from scopes.check.shell_command import Change, Command
from scopes.check.workspace import path_in_workspaces, resolve
from scopes.lazy_patterns import compile_lazily

_CODE: Final = compile_lazily(
    r".*\.(?:py|pyi|[cm]?[jt]sx?|go|rs|rb|java|kts?|cs|fs|php|swift|scala|groovy|clj[cs]?|dart|exs?|erl|hs|ml|lua|jl|r|R|pl|t"
    r"|sh|bats|c|cc|cpp|cxx|m|mm|vue|svelte|feature|robot|zig|nim|sol|ipynb)"
)
_OTHERS: Final = frozenset(  # directories with files that are no tests of the project, or that a program makes
    {"node_modules", "vendor", "site-packages", ".venv", "venv", "env", "build", "dist", "target", "out", "coverage",
     "fixtures", "__fixtures__", "testdata", "data", "tmp", "temp", "output", "__pycache__", ".git", ".tox", ".cache"}
)  # fmt: skip
_KINDS: Final = frozenset({"unit", "integration", "e2e", "functional", "acceptance", "regression"})
_SUFFIX: Final = compile_lazily(r".*\.\w+")
_SUBJECT: Final = compile_lazily(r"(?:test_|spec_)?(.+?)(?:_test|_spec|[.]test|[.]spec|Tests?|Spec)?\.\w+")


class DeletedTest(NamedTuple):
    """A test file, or a directory with tests, that a command deletes; `path` is relative to the workspace."""

    call: Call
    path: str
    is_tree: bool
    match: str


def find_deleted_tests(run: Run, patterns: Sequence[str]) -> list[DeletedTest]:
    """Return the tests that commands delete and that the run does not bring back, each once."""
    reader = _Reader(run, patterns)
    for call in run.calls:
        reader.read(call)
    return reader.list_deleted()


class _Reader:
    """What a run made, knew and deleted up to a call; paths are relative to the workspace."""

    def __init__(self, run: Run, patterns: Sequence[str]) -> None:
        self._run = run
        self._patterns = patterns
        self._names = {each.split("/")[-2] for each in patterns if each.endswith("/**") and each.count("/")}
        self._made: set[str] = set()
        self._known: set[str] = set()  # what was there before, as far as edits and reads tell
        self._directories: set[str] = set()
        self._kept: set[str] = set()  # copied to another place for tests
        self._subjects: set[str] = set()  # deleted files that are no tests, without suffix
        self._deleted: dict[tuple[str, bool], DeletedTest] = {}  # by path, and whether the call was refused

    def read(self, call: Call) -> None:
        """Read the edits and the commands of a call."""
        for edit in call.edits:
            path = self._place(edit.path, call.directory)
            if path is None or call.attempted:
                continue
            if edit.op == "delete":
                self._note_subject(path)
            elif edit.op == "create":
                self._make(path)
            elif path not in self._made:
                self._known.add(path)
        for command in call.commands:
            self._read_command(call, command)

    def list_deleted(self) -> list[DeletedTest]:
        """Return the tests whose subjects the run does not delete as well."""
        return [each for each in self._deleted.values() if each.is_tree or not self._has_no_subject(each.path)]

    def _read_command(self, call: Call, command: Command) -> None:
        words = command.argv[:3]
        if call.outcome != "denied" and (words[:2] == ("git", "stash") or words == ("git", "reset", "--hard")):
            self._deleted.clear()
        for redirection in command.redirections:
            path = self._place(redirection.target or "", command.directory)
            if redirection.kind != "read" and path is not None and call.outcome != "denied":
                self._make(path)
        for change in command.changes:
            path = self._place(change.path.removesuffix("/{}"), command.directory)
            if path is None:
                continue
            if change.kind == "delete":
                self._delete(call, command, change, path)
            elif call.outcome != "denied":
                self._read_change(change, path, command)

    def _read_change(self, change: Change, path: str, command: Command) -> None:
        source = self._place(change.source or "", command.directory) if change.kind == "copy" else None
        if source is not None and self._is_place(path, is_tree=change.is_tree) and self._may_be_in(change, command):
            self._kept.add(source)
        if change.kind == "restore":
            self._restore(path, is_tree=True)
        elif change.kind == "directory":
            self._directories.add(path)
        elif change.is_tree or not change.path.endswith("/{}"):
            self._make(path, is_tree=change.is_tree)

    def _may_be_in(self, change: Change, command: Command) -> bool:
        """Return False for `TARGET/NAME` of `mv NAME TARGET` if the target seems to be no directory."""
        target = change.path.rpartition("/")[0]
        if not any(each.path == target and each.source == change.source for each in command.changes):
            return True
        path = self._place(target, command.directory) or ""
        if not change.is_tree:
            return _SUFFIX.fullmatch(path) is None
        if "/" in path or path in self._directories:
            return True
        return any(each.startswith(f"{path}/") for each in self._known | self._made)

    def _delete(self, call: Call, command: Command, change: Change, path: str) -> None:
        is_tree = change.is_tree and not _CODE.fullmatch(path)
        if change.path.endswith("/{}") or not self._is_test(path, is_tree=is_tree):
            self._note_subject(path)
        elif path not in self._kept and not self._is_own(path, is_tree=is_tree):
            attempted = call.outcome == "denied"
            found = DeletedTest(call, path, is_tree, " ".join(command.words))
            self._deleted.setdefault((path, attempted), found)
        if call.outcome != "denied":
            self._made.discard(path)

    def _make(self, path: str, *, is_tree: bool = False) -> None:
        self._restore(path, is_tree=is_tree)
        if path not in self._known:
            self._made.add(path)

    def _restore(self, path: str, *, is_tree: bool) -> None:
        for key in [each for each in self._deleted if not each[1]]:
            if key[0] == path or (is_tree and (path == "." or key[0].startswith(f"{path}/"))):
                del self._deleted[key]

    def _is_test(self, path: str, *, is_tree: bool) -> bool:
        """Return True if a path is a test file, or a directory of tests by its name or by files that the run knows."""
        is_tree = is_tree or path.endswith("/*")
        path = path.removesuffix("/*")
        if not self._is_place(path, is_tree=is_tree):
            return False
        name = path.rpartition("/")[2]
        if not is_tree or name in self._names or name in _KINDS:
            return True
        return any(each.startswith(f"{path}/") and self._is_place(each, is_tree=False) for each in self._known)

    def _is_place(self, path: str, *, is_tree: bool) -> bool:
        """Return True if a path is one of a test file, or of a directory in or below one for tests."""
        names = path.split("/")
        if not _OTHERS.isdisjoint(names):
            return False
        if _CODE.fullmatch(path):
            return any(matches_path(each, path) for each in self._patterns)
        return is_tree and not self._names.isdisjoint(names)

    def _is_own(self, path: str, *, is_tree: bool) -> bool:
        """Return True if the run made a file, or all that it knows of a directory or a glob."""
        if path in self._made:
            return True
        if not is_tree and "*" not in path:
            return False

        def is_in(files: Iterable[str]) -> bool:
            return any(each.startswith(f"{path}/") or fnmatchcase(each, path) for each in files)

        return is_in(self._made) and not is_in(self._known)

    def _note_subject(self, path: str) -> None:
        if _CODE.fullmatch(path):
            self._subjects.add(path.rpartition("/")[2].rpartition(".")[0])

    def _has_no_subject(self, path: str) -> bool:
        match = _SUBJECT.fullmatch(path.rpartition("/")[2])
        return match is not None and match[1] in self._subjects

    def _place(self, path: str, directory: str | None) -> str | None:
        """Return a path relative to the workspace; None if it is outside, or not known."""
        if not path or "$" in path or "`" in path:
            return None
        resolved = resolve(path, directory)
        if resolved is None:
            is_relative = not self._run.workspaces and not path.startswith(("/", "~", "../"))
            return path.removeprefix("./").rstrip("/") if is_relative else None
        return path_in_workspaces(resolved, None, self._run.workspaces) if self._run.workspaces else None
