"""Commits whose session is known: repositories of a project that records its sessions with Entire.

`Entire-Checkpoint` trailers of commits name checkpoints, which name sessions. A trailer is a claim: it counts only if
the transcript of that checkpoint is stored in the repository, and the checkpoint is not more than ten minutes older than
the commit, because a stale id sticks to later commits.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

STALE_SECONDS = 600
_BRANCH = "entire/checkpoints/v1"
SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOG = "--format=%H%x01%at%x01%(trailers:key=Entire-Checkpoint,valueonly,separator=%x2C)"


class Checkpoint(NamedTuple):
    """A checkpoint of a session: its id, when it was made, and whether its transcript is stored."""

    session: str
    created: float
    is_stored: bool


def read_truth(git_directory: str, sessions: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the sessions of the commits for which they are known, by commit; only those among `sessions` count."""
    known = frozenset(sessions)
    checkpoints = _read_checkpoints(git_directory)
    truth: dict[str, frozenset[str]] = {}
    for line in _git(git_directory, "log", "--all", "--no-merges", _LOG).decode("utf-8", "replace").splitlines():
        commit, authored, trailer = line.split("\x01")
        named = [each for name in re.split(r"[,\s]+", trailer) for each in checkpoints.get(name, ())]
        fresh = [each for each in named if each.is_stored and float(authored) - each.created <= STALE_SECONDS]
        found = frozenset(each.session for each in fresh if each.session in known)
        if found:
            truth[commit] = found
    return truth


def _read_checkpoints(git_directory: str) -> dict[str, list[Checkpoint]]:
    """Return the checkpoints of the branch and of the refs below refs/entire, by their ids."""
    refs = (
        _git(git_directory, "for-each-ref", "--format=%(refname)", f"refs/heads/{_BRANCH}", "refs/entire")
        .decode()
        .split()
    )
    found: dict[str, list[Checkpoint]] = {}
    for ref in refs:
        names = _git(git_directory, "ls-tree", "-r", "--name-only", ref).decode().splitlines()
        transcripts = [f"{ref}:{name}" for name in names if name.endswith("/full.jsonl")]
        stored = {name for name, data in _read(git_directory, transcripts, whole=False) if data is not None}
        metadata = [f"{ref}:{name}" for name in names if name.endswith("metadata.json")]
        for name, data in _read(git_directory, metadata):
            document = json.loads(data or b"{}")
            session = SESSION.search(document.get("session_id", ""))
            if session is not None:
                created = datetime.fromisoformat(document["created_at"]).timestamp()
                transcript = name.removesuffix("metadata.json") + "full.jsonl"
                checkpoint = Checkpoint(session[0], created, transcript in stored)
                found.setdefault(document["checkpoint_id"], []).append(checkpoint)
    return found


def _read(git_directory: str, names: list[str], *, whole: bool = True) -> Iterator[tuple[str, bytes | None]]:
    """Yield names and contents of blobs, None for one that a partial copy lacks; without `whole` empty contents."""
    option = "--batch" if whole else "--batch-check"
    data = _git(git_directory, "cat-file", option, stdin="".join(f"{name}\n" for name in names).encode())
    position = 0
    for name in names:
        end = data.index(b"\n", position)
        heading, position = data[position:end], end + 1
        if heading.endswith(b"missing"):
            yield name, None
        elif not whole:
            yield name, b""
        else:
            size = int(heading.split()[2])
            yield name, data[position : position + size]
            position += size + 1


def _git(git_directory: str, *words: str, stdin: bytes = b"") -> bytes:
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    return subprocess.run(
        ["git", "-C", git_directory, *words], input=stdin, env=environment, capture_output=True, check=True
    ).stdout
