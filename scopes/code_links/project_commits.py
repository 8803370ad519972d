"""Read commits of a project with the lines that they added, from one stream of `git log -p -U0 -M --cc`.

The lines of a merge are those that none of the merged commits has: somebody resolved a conflict with them. A process
for each commit takes seven times as long.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scopes.code_links.edits import base_name_of
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
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-show-signature",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    _FORMAT,
)
_SUBMODULE: Final = re.compile(rb"Subproject commit [0-9a-f]{40,64}\n?")  # what the diff of a merge says of one
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
    """A commit of the project; times are in seconds since 1970.

    renamed: the paths that files had before the commit, by those that it gave them, as far as git detects that
    created: the paths of files that no parent has
    moved: for such a file the base names under which recent edits wrote its lines (`moved_files`)
    joined_time: the author time of the newest commit that git joined into this one, as by a fixup; 0 if none is known
    """

    id: CommitId
    author: str
    author_time: float
    commit_time: float
    subject: str
    added: list[AddedLine] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    moved: dict[str, frozenset[str]] = field(default_factory=dict)
    joined_time: float = 0.0

    def names_of(self, path: str) -> tuple[str, ...]:
        """Return the base names of a file: that which it has in the commit, and that which it had before."""
        return tuple(dict.fromkeys(map(base_name_of, (path, self.renamed.get(path, path)))))


def walk_project_commits(
    git: ProjectGit,
    revisions: Sequence[str],
    stdin: Iterable[str] = (),
    whole: Container[str] = (),
    *,
    merges: bool = False,
) -> Iterator[ProjectCommit]:
    """Yield commits with their added lines; `revisions` are words for `git log`, `stdin` further ones, one a line.

    merges: whether merges are read, too, with the lines that only they have

    Of a commit with more than MAX_LINES only the first ones are read, and all of the paths in `whole`.

    Raises:
        ProjectGitFailed: a revision does not exist, or objects are missing.
    """
    words = "".join(f"{word}\n" for word in stdin).encode()
    given = ("--cc" if merges else "--no-merges", *(("--stdin",) if words else ()))
    yield from _parse(git.walk_lines(*_OPTIONS, *given, *revisions, stdin=words), whole)


def all_commits() -> tuple[str, ...]:
    """Return the words for `git log` that mean the commits of all refs of the project itself."""
    return (*(f"--exclude={name}" for name in _OTHER_REFS), "--all")


def read_project_commits(
    git: ProjectGit, commits: Iterable[str], whole: Container[str] = ()
) -> dict[CommitId, ProjectCommit]:
    """Return commits with their added lines by id, merges too; raises as `walk_project_commits` does."""
    found = walk_project_commits(git, ("--no-walk=unsorted",), commits, whole, merges=True)
    return {each.id: each for each in found}


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
    """Reads lines in order. How many lines a hunk has is counted, because they may look like headings.

    In the hunks of a merge each line begins with a column for each parent, in those of other commits with one.
    """

    def __init__(self, whole: Container[str]) -> None:
        self.commit: ProjectCommit | None = None
        self._whole = whole
        self._path: str | None = None
        self._old_path: str | None = None  # of a file that was renamed
        self._is_new = self._is_submodule = False
        self._number = self._added = 0  # of the lines of the hunk that were not read yet
        self._removed: list[int] = []  # how many lines of each parent the hunk still has

    def read_changed(self, line: bytes) -> bool:
        """Read a line of a hunk; return False for all other lines."""
        if not self._added and not any(self._removed):
            return False
        marks = line[: len(self._removed)]
        if line.startswith(b"\\"):  # no newline at the end of the file
            return False
        is_removed = b"-" in marks
        for parent in range(len(marks)):
            self._removed[parent] -= (marks[parent] == ord("-")) if is_removed else (marks[parent] != ord("+"))
        if not is_removed:
            if not marks.strip(b"+"):
                self._take(line[len(marks) :])
            self._number, self._added = self._number + 1, self._added - 1
        return True

    def _take(self, line: bytes) -> None:
        """Take a line that no parent has."""
        if self.commit is None or self._path is None or (len(self._removed) > 1 and _SUBMODULE.fullmatch(line)):
            return
        if len(self.commit.added) < MAX_LINES or self._path in self._whole:
            text = line.rstrip(b"\r\n").decode("utf-8", "replace")
            self.commit.added.append(AddedLine(self._path, self._number, text))

    def read_heading(self, line: bytes) -> ProjectCommit | None:
        """Read another line; return the commit that is finished, if another one begins."""
        finished = None
        if line.startswith(b"@@"):
            self._number, self._added, self._removed = _read_hunk(line)
        elif line.startswith(b"diff --"):
            self._path = self._old_path = None
            self._is_new = self._is_submodule = False
        elif line.startswith(_MARK.encode()):
            finished, self.commit, self._path = self.commit, _read_heading(line), None
        elif self.commit is not None:
            self._read_name(self.commit, line)
        return finished

    def _read_name(self, commit: ProjectCommit, line: bytes) -> None:
        """Read one of the lines between the heading of a file and its hunks."""
        if line.startswith((b"index ", b"new file mode ", b"new mode ")):
            self._is_submodule = self._is_submodule or line.rstrip().endswith(b" 160000")
        elif line.startswith(b"rename from "):
            self._old_path = unquote_path(line.removeprefix(b"rename from ").rstrip(b"\n"))
        elif line.startswith(b"--- "):
            self._is_new = _read_path(line[4:]) is None
        elif line.startswith(b"+++ "):
            self._path = None if self._is_submodule else _read_path(line[4:])
            if self._path is not None and self._old_path is not None:
                commit.renamed[self._path] = self._old_path
            if self._path is not None and self._is_new:
                commit.created.add(self._path)


def _read_heading(data: bytes) -> ProjectCommit:
    text = data.decode("utf-8", "replace").rstrip("\n").removeprefix(_MARK)
    name, authored, committed, author, subject = text.split("\0", 4)
    return ProjectCommit(CommitId(name), author, read_seconds(authored), read_seconds(committed), subject)


def read_seconds(text: str) -> float:
    """Return a time that git printed; 0 if a commit has none, or an impossible one, for which git prints nothing."""
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _read_hunk(data: bytes) -> tuple[int, int, list[int]]:
    """Return the place of the new lines of `@@ -a,b +c,d @@`, their number, and the number of lines of each parent."""
    parents = len(data) - len(data.lstrip(b"@")) - 1
    *old, new = data.split(b" ", parents + 2)[1 : parents + 2]
    start, _, count = new[1:].partition(b",")
    return int(start), int(count or 1), [int(each.partition(b",")[2] or 1) for each in old]


def _read_path(data: bytes) -> str | None:
    """Return the path of a `+++` header; None for a deleted file."""
    text = data.rstrip(b"\n").removesuffix(b"\t")
    return None if text == b"/dev/null" else unquote_path(text).removeprefix("b/")


def unquote_path(text: bytes) -> str:
    r"""Return a path that git printed: in quotes if it has `\"`, `\\` or control characters."""
    if text.startswith(b'"'):
        text = text[1:].removesuffix(b'"').decode("unicode_escape", "replace").encode("latin-1", "replace")
    return os.fsdecode(text)
