"""What the commit objects of a project say about themselves, read from `git cat-file --batch` in one process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scopes.clock import known_seconds
from scopes.code_links.commit_record import MAX_TEXT, commit_identity, is_commit_id
from scopes.code_links.link import CommitId
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.errors import NotFound
from scopes.lazy_patterns import compile_lazily

_AUTHOR = re.compile(rb"(.*) (-?\d{1,18}) [+-]\d{4}")
_TRAILER = compile_lazily(r"^[ \t]*Scopes-Turn:[ \t]*([a-z2-7]{26})[ \t]*$", re.MULTILINE | re.IGNORECASE)
_MAX_BODY = 100_000  # characters that are searched for trailers


class CommitFacts(NamedTuple):
    """A commit of a project.

    authored: RFC 3339; None if the time is none
    identity: see `commit_identity`
    turns: the message ids in trailers `Scopes-Turn`, anywhere in the text: a squash puts them into its middle
    """

    commit: CommitId
    subject: str
    author: str
    authored: str | None
    identity: str
    turns: tuple[str, ...]
    parents: tuple[CommitId, ...]


def resolve_commit(git: ProjectGit, text: str) -> CommitId:
    """Return the commit that a revision of the project names.

    Raises:
        NotFound: it names none.
    """
    found = find_commit(git, text)
    if found is None:
        raise NotFound(f"the project has no commit {text!a}", hint="see: git log")
    return found


def find_commit(git: ProjectGit, text: str) -> CommitId | None:
    """Return the commit that a revision of the project names, in all of git's forms; None if it names none.

    Raises:
        Inaccessible: it needs a reflog that cannot be read.
    """
    if "@{" in text:
        git.link_logs()
    options = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    if text.startswith(":/"):  # whatever follows is part of the pattern
        text = git.find(*options, text) or ""
    found = git.find(*options, f"{text}^{{commit}}") if text else None
    return CommitId(found) if found is not None and is_commit_id(found) else None


def read_commit_facts(
    git: ProjectGit, commits: Iterable[CommitId], *, seconds: float | None = None
) -> dict[CommitId, CommitFacts]:
    """Return what commits say about themselves; those that are missing or damaged are left out.

    Nothing is returned if git takes longer than `seconds`.
    """
    wanted = [commit for commit in dict.fromkeys(commits) if is_commit_id(commit)]
    if not wanted:
        return {}
    try:
        data = git.run(
            "cat-file", "--batch", stdin="".join(f"{commit}\n" for commit in wanted).encode(), seconds=seconds
        )
    except ProjectGitFailed:
        return {}
    facts = (_read_facts(CommitId(name), body) for name, body in _split_batch(data))
    return {each.commit: each for each in facts if each is not None}


def _split_batch(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield id and content of the commits in the output of `git cat-file --batch`."""
    position = 0
    while position < len(data):
        end = data.index(b"\n", position)
        words = data[position:end].decode("ascii", "replace").split(" ")
        position = end + 1
        if len(words) == 3 and words[2].isdecimal():
            size = int(words[2])
            if words[1] == "commit":
                yield words[0], data[position : position + size]
            position += size + 1


def _read_facts(commit: CommitId, data: bytes) -> CommitFacts | None:
    head, _, body = data.partition(b"\n\n")
    headers = [line.split(b" ", 1) for line in head.split(b"\n") if line[:1] != b" " and b" " in line]
    author = next((value for name, value in headers if name == b"author"), None)
    match = None if author is None else _AUTHOR.fullmatch(author)
    if author is None or match is None:
        return None
    subject = body.lstrip(b"\n").partition(b"\n")[0].strip()
    text = body.decode("utf-8", "replace")[:_MAX_BODY]
    parents = (value.decode("ascii", "replace") for name, value in headers if name == b"parent")
    return CommitFacts(
        commit,
        subject.decode("utf-8", "replace")[:MAX_TEXT],
        match[1].decode("utf-8", "replace").partition(" <")[0][:MAX_TEXT],
        known_seconds(int(match[2])),
        commit_identity(author, subject),
        tuple(dict.fromkeys(_TRAILER.findall(text))),
        tuple(CommitId(parent) for parent in parents if is_commit_id(parent)),
    )
