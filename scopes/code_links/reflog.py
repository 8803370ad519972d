"""What git recorded about HEAD of a project while an agent worked: the tail of `logs/HEAD`, read as a file.

Git writes a line whenever HEAD of a worktree moves, also for commits that run no hooks. Reading it takes some
microseconds, so it is done at the end of every turn; git never runs in the user's repository for this. The file is
foreign: a line that is not in git's form is left out, and no more than the last `TAIL_BYTES` are read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from scopes.clock import known_seconds
from scopes.regular_file import read_regular
from scopes.store.projects import ReflogEnd, Worktree, find_worktree

TAIL_BYTES: Final = 256 << 10
MAX_MOVES: Final = 200  # that are kept with one message, the last ones
_FIRST_BLOCK = 1024
_MAX_ACTION = 200  # characters
_MAX_HEAD_BYTES = 4096
_BRANCHES = "refs/heads/"
_LINE: Final = re.compile(
    rb"([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) [^\t]*> (\d{1,12}) [+-]\d{4}(?:\t(.*))?"
)
_OBJECT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")


class Move(NamedTuple):
    """One line of a reflog: HEAD moved from one commit to another, at a time in seconds since 1970.

    `old` is all zeros for the first commit of a repository.
    """

    old: str
    new: str
    action: str
    at: int


class Tail(NamedTuple):
    """The end of a reflog: its moves, oldest first, whether older lines were left out, and its file."""

    moves: tuple[Move, ...]
    is_cut: bool
    inode: int
    size: int


class OpenTurn(NamedTuple):
    """Where HEAD of a worktree was when a turn began, and where its reflog ended then."""

    worktree: Worktree
    started: int
    before: str | None
    inode: int = 0
    size: int = 0
    stop: ReflogEnd | None = None

    def stopped(self) -> OpenTurn:
        """Return the turn with where the reflog ends now: what comes later is none of its moves."""
        return self._replace(stop=ReflogEnd(self.worktree.git_directory))

    def end(self) -> dict[str, Any] | None:
        """Return what `describe_turn` does, with the moves since the turn began; None if nothing is known of HEAD."""
        tail = read_tail(self.worktree, self.size, stop=self.stop)
        if tail is None:
            return _describe(self.worktree, (), self.before)
        if self.inode and (tail.inode != self.inode or tail.size < self.size):  # rewritten, as by `git reflog expire`
            tail = _since(read_tail(self.worktree, stop=self.stop) or tail, self.started)
        after = self.before if self.stop is not None and not tail.moves else None
        return _describe(self.worktree, tail.moves, self.before, after=after, is_cut=tail.is_cut)


def begin_turn(directory: str, started: int) -> OpenTurn | None:
    """Note where the reflog ends when a turn begins in a directory; None outside a git repository.

    `started` is the time in seconds, for the case that git rewrites the file meanwhile.
    """
    worktree = find_worktree(directory)
    if worktree is None:
        return None
    tail = read_tail(worktree, block=_FIRST_BLOCK)
    before = tail.moves[-1].new if tail is not None and tail.moves else read_head(worktree)[1]
    return OpenTurn(worktree, started, before, *((0, 0) if tail is None else (tail.inode, tail.size)))


def describe_turn(
    directory: str, started: int, ended: int | None = None, stop: ReflogEnd | None = None
) -> dict[str, Any] | None:
    """Return where HEAD was in a turn between two moments, for a message: `extra["git"]`.

    The keys are root (the top directory of the worktree), branch (not if HEAD is detached), before, after, and moves:
    a list of old, new, action and at; is_cut is there if older moves were left out. None outside a git repository, and
    if nothing is known of its HEAD. The moments are seconds; git records no fractions, so both seconds count whole.
    `stop` is where the reflog ended when the turn did: what was added later is not read.
    """
    worktree = find_worktree(directory)
    tail = None if worktree is None else read_tail(worktree, stop=stop)
    if worktree is None:
        return None
    if tail is None:
        return _describe(worktree, ())
    moves, is_cut, _, _ = _since(tail, started)
    count = len(moves)
    while ended is not None and count and moves[count - 1].at > ended:
        count -= 1
    later = moves[count:]
    after = later[0].old if later else tail.moves[-1].new if tail.moves and stop is not None else None
    return _describe(worktree, moves[:count], after=after, is_cut=is_cut)


def read_tail(
    worktree: Worktree, start: int = 0, *, block: int = TAIL_BYTES, stop: ReflogEnd | None = None
) -> Tail | None:
    """Return the moves in the last `block` bytes of the reflog, or those from a position on; None if there is none.

    A position behind the end, such as one in a file that was replaced, gives no moves. Nothing behind `stop` is read,
    unless it is of another worktree, or of a file that was replaced since.
    """
    path = os.path.join(worktree.git_directory, "logs", "HEAD")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        end = _end_of(worktree, status, stop)
        first = max(0, end - block)
        begin = max(start, first)
        data = os.pread(descriptor, max(0, end - begin), begin)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    is_cut = begin > start
    if is_cut:
        data = data.partition(b"\n")[2]  # it begins within a line
    return Tail(tuple(_parse(data)), is_cut, status.st_ino, status.st_size)


def _end_of(worktree: Worktree, status: os.stat_result, stop: ReflogEnd | None) -> int:
    """Return the position up to which a reflog is read."""
    if stop is None or stop.git_directory != worktree.git_directory or stop.inode not in {0, status.st_ino}:
        return status.st_size
    return min(stop.size, status.st_size)


def read_head(worktree: Worktree) -> tuple[str | None, str | None]:
    """Return the branch and the commit of HEAD, as far as single files tell; None for what is not known."""
    text = _read_line(os.path.join(worktree.git_directory, "HEAD"))
    if text is None or not text.startswith("ref: "):
        return None, text if text is not None and _OBJECT.fullmatch(text) else None
    ref = text.removeprefix("ref: ").strip()
    if not ref.startswith(_BRANCHES) or ".." in ref:
        return None, None
    value = _read_line(os.path.join(worktree.shared, ref))
    return ref.removeprefix(_BRANCHES), value if value is not None and _OBJECT.fullmatch(value) else None


def _since(tail: Tail, started: int) -> Tail:
    """Return the last moves of a tail that are not older than a moment."""
    count = 0
    while count < len(tail.moves) and tail.moves[-count - 1].at >= started:
        count += 1
    return tail._replace(moves=tail.moves[len(tail.moves) - count :], is_cut=tail.is_cut and count == len(tail.moves))


def _describe(
    worktree: Worktree,
    moves: tuple[Move, ...],
    before: str | None = None,
    after: str | None = None,
    *,
    is_cut: bool = False,
) -> dict[str, Any] | None:
    branch, head = read_head(worktree)
    last = after or (moves[-1].new if moves else head or before)
    if last is None:
        return None
    kept = moves[-MAX_MOVES:]
    document: dict[str, Any] = {
        "root": os.fsencode(worktree.directory).decode("utf-8", "replace"),
        "before": before or (moves[0].old if moves else last),
        "after": last,
        "moves": [{"old": m.old, "new": m.new, "action": m.action, "at": known_seconds(m.at)} for m in kept],
    }
    if branch is not None:
        document["branch"] = branch
    if is_cut or len(kept) < len(moves):
        document["is_cut"] = True
    return document


def _parse(data: bytes) -> Iterator[Move]:
    for line in data.split(b"\n")[:-1]:  # the last one is empty, or not written to its end
        match = _LINE.fullmatch(line)
        if match is not None:
            old, new, at, action = match.groups(b"")
            text = action.decode("utf-8", "replace")[:_MAX_ACTION]
            yield Move(old.decode(), new.decode(), text, int(at))


def _read_line(path: str) -> str | None:
    """Return the first line of a small regular file as text; None if it is anything else."""
    try:
        data = read_regular(path, _MAX_HEAD_BYTES)
    except (OSError, ValueError):
        return None
    return data.partition(b"\n")[0].decode("utf-8", "replace").strip() or None
