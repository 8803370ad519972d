"""Embed the project files that a history touched: current content, each file once and whole, in a code block.

A file that cannot be embedded is reported with the reason (S1-7 to S1-10): outside the project, possibly secret by its
name, missing, binary, too large.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from scopes.context.project_files import ReadableFolder, SkippedFile, TouchedFile, read_text, resolve
from scopes.regular_file import read_regular
from scopes.sanitize import file_for_prompt, line_for_prompt
from scopes.store.git_program import ask_git, git_environment, scratch_repository
from scopes.store.projects import find_worktree
from scopes.tokens.count import Tokenizer

_MAX_FILES = 500
_BACKTICKS = re.compile("`+")


class EmbeddedFile(NamedTuple):
    """A file that is part of a context; `text` is its heading and code block."""

    path: str
    tokens: int
    turn: int
    text: str


@dataclass(slots=True)
class FileSelection:
    """The embedded and skipped files; `large` ones did not fit and may be retried with more room."""

    embedded: list[EmbeddedFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    large: list[EmbeddedFile] = field(default_factory=list)

    @property
    def used(self) -> int:
        """Return the tokens of all embedded files."""
        return sum(file.tokens for file in self.embedded)


def select_files(
    touched: Iterable[TouchedFile], project: ReadableFolder, room: int, tokenizer: Tokenizer
) -> FileSelection:
    """Embed the files that fit, last touched first; after one that does not fit, smaller ones are still tried."""
    selection = FileSelection()
    blocks: list[tuple[TouchedFile, str]] = []
    files = list(_deduplicate(touched, project))
    places = list(filter(None, (resolve(file.path, project) for file in files[:_MAX_FILES])))
    has_rules = places and not project.include_ignored
    ignored = list_ignored(os.path.realpath(project.directory), places) if has_rules else frozenset()
    for position, file in enumerate(files):
        is_old = position >= _MAX_FILES
        text = SkippedFile(file.path, "touched too long ago") if is_old else read_text(file, project, ignored)
        if isinstance(text, SkippedFile):
            selection.skipped.append(text)
        else:
            blocks.append((file, _block(file, text)))
    left = room
    for file, block in blocks:
        embedded = EmbeddedFile(file.path, tokenizer.count(block), file.turn, block)
        if embedded.tokens <= left:
            selection.embedded.append(embedded)
            left -= embedded.tokens
        else:
            selection.large.append(embedded)
    return selection


def retry_large(selection: FileSelection, room: int) -> int:
    """Embed the large files that fit into the room that turns left over; return the tokens that they use."""
    left = room
    for file in selection.large:
        if file.tokens <= left:
            selection.embedded.append(file)
            left -= file.tokens
        else:
            selection.skipped.append(SkippedFile(file.path, f"{file.tokens} tokens did not fit into {left}"))
    selection.large = []
    return room - left


def _deduplicate(touched: Iterable[TouchedFile], project: ReadableFolder) -> Iterator[TouchedFile]:
    """Yield the first entry of each file; different spellings of a path are the same file (S1-8)."""
    seen: set[str] = set()
    for file in touched:
        name = resolve(file.path, project) or os.path.normpath(file.path)
        if name not in seen:
            seen.add(name)
            yield file


def _block(file: TouchedFile, text: str) -> str:
    """Return heading and code block; the block is fenced with more backticks than any run in the text."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    body = file_for_prompt(text if text.endswith("\n") or not text else f"{text}\n")
    name = line_for_prompt(file.path)
    when = f"last touched in message {file.turn}" if file.content is None else f"as recorded up to message {file.turn}"
    return f"### File {name} ({when})\n\n{fence}\n{body}{fence}\n\n"


def list_ignored(directory: str, paths: Iterable[str]) -> frozenset[str] | None:
    """Return those of some files of a project that git ignores; None if that cannot be found out.

    The rules are those of the project's `.gitignore` files and `.git/info/exclude`. Its git configuration and its index
    are not read, and none of its programs runs: a tracked file that a pattern matches counts as ignored.
    """
    worktree = find_worktree(directory) if os.path.lexists(os.path.join(directory, ".git")) else None
    if worktree is None:
        return frozenset()
    with scratch_repository() as scratch:
        os.mkdir(os.path.join(scratch, "info"))
        try:
            with open(os.path.join(scratch, "info", "exclude"), "xb") as file, suppress(FileNotFoundError):
                file.write(read_regular(os.path.join(worktree.shared, "info", "exclude"), 128 << 10))
        except OSError:
            return None
        words = ("check-ignore", "--no-index", "-z", "--stdin")
        environment = git_environment(scratch) | {"GIT_WORK_TREE": directory}
        names = b"\0".join(map(os.fsencode, paths))
        found = ask_git(words, directory, environment, names, seconds=5, codes=(0, 1))
    return None if found is None else frozenset(map(os.fsdecode, found.split(b"\0")))
