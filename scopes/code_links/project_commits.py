"""Read commits of a project with the lines that they added, from one stream of `git log -p -U0 -M`.

Merges are left out: their lines are those of the merged commits. A process for each commit takes seven times as long.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scopes.code_links.link import CommitId, RepositoryId
from scopes.code_links.project_git import ProjectGit

MAX_LINES: Final = 20_000  # added lines of one commit that are read; more are generated or imported files
_MARK: Final = "\0commit\0"  # no text file has a NUL
_FORMAT: Final = "--format=%x00commit%x00%H%x00%at%x00%ct%x00%an%x00%s"
_OPTIONS: Final = (
    "log",
    "-p",
    "-U0",
    "-M",
    "--no-merges",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-show-signature",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    _FORMAT,
)
# Refs with other things than the project's own commits: transcripts, notes, and what tools keep for themselves.
_OTHER_REFS: Final = (
    "refs/entire/*",
    "refs/heads/entire/*",
    "refs/remotes/*/entire/*",
    "refs/notes/*",
    "refs/stash",
    "refs/replace/*",
    "refs/scopes/*",
)


class AddedLine(NamedTuple):
    """A line that a commit added; `number` is its place in the new file, from 1."""

    path: str
    number: int
    text: str


@dataclass(slots=True)
class ProjectCommit:
    """A commit of the project; times are in seconds since 1970."""

    id: CommitId
    author: str
    author_time: float
    commit_time: float
    subject: str
    added: list[AddedLine] = field(default_factory=list)


def walk_project_commits(
    git: ProjectGit, revisions: Sequence[str], stdin: Iterable[str] = (), whole: Container[str] = ()
) -> Iterator[ProjectCommit]:
    """Yield commits with their added lines; `revisions` are words for `git log`, `stdin` further ones, one a line.

    Of a commit with more than MAX_LINES only the first ones are read, and all of the paths in `whole`.

    Raises:
        ProjectGitFailed: a revision does not exist, or objects are missing.
    """
    words = "".join(f"{word}\n" for word in stdin).encode()
    given = ("--stdin",) if words else ()
    yield from _parse(git.walk_lines(*_OPTIONS, *given, *revisions, stdin=words), whole)


def all_commits() -> tuple[str, ...]:
    """Return the words for `git log` that mean the commits of all refs of the project itself."""
    return (*(f"--exclude={name}" for name in _OTHER_REFS), "--all")


def read_project_commits(
    git: ProjectGit, commits: Iterable[str], whole: Container[str] = ()
) -> dict[CommitId, ProjectCommit]:
    """Return commits with their added lines by id, without merges; raises as `walk_project_commits` does."""
    return {each.id: each for each in walk_project_commits(git, ("--no-walk=unsorted",), commits, whole)}


def read_repository_id(git: ProjectGit) -> RepositoryId | None:
    """Return what the repository is recognized by on every machine: its oldest root commit.

    None without commits, and for a shallow clone, whose first commits are not here.
    """
    if os.path.exists(os.path.join(git.repository.shared, "shallow")):
        return None
    found = git.find("rev-list", "--max-parents=0", "--reverse", "HEAD")
    return RepositoryId(f"root:{found.split()[0]}") if found else None


def _parse(lines: Iterable[bytes], whole: Container[str]) -> Iterator[ProjectCommit]:
    """Yield the commits of the output of `git log -p -U0`."""
    reader = _Reader(whole)
    for line in lines:
        if not reader.read_changed(line):
            finished = reader.read_heading(line)
            if finished is not None:
                yield finished
    if reader.commit is not None:
        yield reader.commit


class _Reader:
    """Reads lines in order. How many lines a hunk has is counted, because they may look like headings."""

    def __init__(self, whole: Container[str]) -> None:
        self.commit: ProjectCommit | None = None
        self._whole = whole
        self._path: str | None = None
        self._number = self._added = self._removed = 0  # of the lines of the hunk that were not read yet

    def read_changed(self, line: bytes) -> bool:
        """Read a line of a hunk; return False for all other lines."""
        if self._removed and line[:1] == b"-":
            self._removed -= 1
            return True
        if not self._added or line[:1] != b"+":
            return False
        if self.commit is not None and self._path is not None and self._is_wanted(self.commit, self._path):
            text = line[1:].rstrip(b"\r\n").decode("utf-8", "replace")
            self.commit.added.append(AddedLine(self._path, self._number, text))
        self._number, self._added = self._number + 1, self._added - 1
        return True

    def _is_wanted(self, commit: ProjectCommit, path: str) -> bool:
        return len(commit.added) < MAX_LINES or path in self._whole

    def read_heading(self, line: bytes) -> ProjectCommit | None:
        """Read another line; return the commit that is finished, if another one begins."""
        finished = None
        if line.startswith(b"@@ "):
            self._number, self._added, self._removed = _read_hunk(line)
        elif line.startswith(b"+++ "):
            self._path = _read_path(line[4:])
        elif line.startswith(b"diff --git "):
            self._path = None
        elif line.startswith(_MARK.encode()):
            finished, self.commit, self._path = self.commit, _read_heading(line), None
        return finished


def _read_heading(data: bytes) -> ProjectCommit:
    text = data.decode("utf-8", "replace").rstrip("\n").removeprefix(_MARK)
    name, authored, committed, author, subject = text.split("\0", 4)
    return ProjectCommit(CommitId(name), author, read_seconds(authored), read_seconds(committed), subject)


def read_seconds(text: str) -> float:
    """Return a time that git printed; 0 if a commit has none, or an impossible one, for which git prints nothing."""
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _read_hunk(data: bytes) -> tuple[int, int, int]:
    """Return the place of the new lines of `@@ -a,b +c,d @@`, and the numbers of new and of old lines."""
    old, new = data.split(b" ", 3)[1:3]
    start, _, count = new[1:].partition(b",")
    before = old.partition(b",")[2]
    return int(start), int(count or 1), int(before or 1)


def _read_path(data: bytes) -> str | None:
    """Return the path of a `+++` header; None for a deleted file."""
    text = data.rstrip(b"\n").removesuffix(b"\t")
    return None if text == b"/dev/null" else unquote_path(text).removeprefix("b/")


def unquote_path(text: bytes) -> str:
    r"""Return a path that git printed: in quotes if it has `\"`, `\\` or control characters."""
    if text.startswith(b'"'):
        text = text[1:].removesuffix(b'"').decode("unicode_escape", "replace").encode("latin-1", "replace")
    return os.fsdecode(text)
