"""Read commits of a project with the lines that they added, from one stream of `git log -p -U0 -M`.

Merges are left out: their lines are those of the merged commits. A process for each commit takes seven times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scopes.code_links.link import CommitId, RepositoryId
from scopes.code_links.project_git import ProjectGit

MAX_LINES: Final = 20_000  # added lines of one commit that are read; more are generated or imported files
_MARK: Final = "\x01commit\x01"
_FORMAT: Final = f"--format={_MARK}%H%x01%at%x01%ct%x01%an%x01%s"
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


def walk_project_commits(git: ProjectGit, revisions: Sequence[str], stdin: Iterable[str] = ()) -> Iterator[ProjectCommit]:
    """Yield commits with their added lines; `revisions` are words for `git log`, `stdin` further ones, one a line.

    Raises:
        ProjectGitFailed: a revision does not exist, or objects are missing.
    """
    words = "".join(f"{word}\n" for word in stdin).encode()
    given = ("--stdin",) if words else ()
    yield from _parse(git.walk_lines(*_OPTIONS, *given, *revisions, stdin=words))


def all_commits() -> tuple[str, ...]:
    """Return the words for `git log` that mean the commits of all refs of the project itself."""
    return (*(f"--exclude={name}" for name in _OTHER_REFS), "--all")


def read_project_commit(git: ProjectGit, commit: str) -> ProjectCommit | None:
    """Return one commit with its added lines; None for a merge.

    Raises:
        ProjectGitFailed: it does not exist, or objects are missing.
    """
    return next(walk_project_commits(git, ("--no-walk", commit)), None)


def read_repository_id(git: ProjectGit) -> RepositoryId | None:
    """Return what the repository is recognized by on every machine: its oldest root commit; None without commits."""
    found = git.find("rev-list", "--max-parents=0", "--reverse", "HEAD")
    return RepositoryId(f"root:{found.split()[0]}") if found else None


def _parse(lines: Iterable[bytes]) -> Iterator[ProjectCommit]:
    """Yield the commits of the output of `git log -p -U0`.

    Between hunks only headers begin with `+++ `: how many lines a hunk has is counted, because its lines may look like
    headers.
    """
    commit: ProjectCommit | None = None
    path, number, added, removed = None, 0, 0, 0
    for data in lines:
        if removed and data[:1] == b"-":
            removed -= 1
            continue
        if added and data[:1] == b"+":
            if commit is not None and path is not None and len(commit.added) < MAX_LINES:
                text = data[1:].rstrip(b"\r\n").decode("utf-8", "replace")
                commit.added.append(AddedLine(path, number, text))
            number, added = number + 1, added - 1
            continue
        if data.startswith(b"@@ "):
            number, added, removed = _read_hunk(data)
        elif data.startswith(b"+++ "):
            path = _read_path(data[4:])
        elif data.startswith(b"diff --git "):
            path = None
        elif data.startswith(_MARK.encode()):
            if commit is not None:
                yield commit
            commit, path = _read_heading(data), None
    if commit is not None:
        yield commit


def _read_heading(data: bytes) -> ProjectCommit:
    text = data.decode("utf-8", "replace").rstrip("\n").removeprefix(_MARK)
    name, authored, committed, author, subject = text.split("\x01", 4)
    return ProjectCommit(CommitId(name), author, float(authored), float(committed), subject)


def _read_hunk(data: bytes) -> tuple[int, int, int]:
    """Return the place of the new lines of `@@ -a,b +c,d @@`, and the numbers of new and of old lines."""
    old, new = data.split(b" ", 3)[1:3]
    start, _, count = new[1:].partition(b",")
    before = old.partition(b",")[2]
    return int(start), int(count or 1), int(before or 1)


def _read_path(data: bytes) -> str | None:
    """Return the path of a `+++` header; None for a deleted file."""
    text = data.rstrip(b"\n").removesuffix(b"\t")
    if text == b"/dev/null":
        return None
    if text.startswith(b'"'):
        text = _unquote(text)
    return text.removeprefix(b"b/").decode("utf-8", "surrogateescape")


def _unquote(text: bytes) -> bytes:
    r"""Return a path that git put in quotes, with `\"`, `\\`, `\t`, `\n` and octal numbers."""
    plain = text.strip(b'"').decode("latin-1")
    return plain.encode("latin-1", "replace").decode("unicode_escape").encode("latin-1", "replace")
