"""Read what happened to a store: the operation log, newest first, and the reflogs, which have every append."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import dropwhile
from typing import NamedTuple

from scopes.clock import format_time, wall_nanoseconds
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.ids import Oid, slug
from scopes.model.canonical_json import decode_component, encode_component
from scopes.model.operation import Operation
from scopes.regular_file import open_regular
from scopes.store import refs
from scopes.store.objects import Commit, Identity, read_commit
from scopes.store.repository import Repository, read_operation

MIN_PREFIX_LENGTH = 4
_TRAILER = "Scopes-Operation"
_LIST = "list them: scopes op -a"
NULL_OID = Oid("0" * 40)
_BLOCK_BYTES = 1 << 16
OPERATION_PREFIX_LENGTH = 16  # hexadecimal digits of an operation's commit in a line of an append
_ACTOR_DOMAIN = "@actors.scopes"
_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\t]*)> ([0-9]{1,18}) [+-][0-9]{4}(?:\t(.*))?")
_APPEND = re.compile(r"append: (?P<id>\S+) at (?P<time>\S+) after (?P<after>\S+)(?: of (?P<first>\S+))?")


def walk_operations(repository: Repository) -> Iterator[tuple[Oid, Operation]]:
    """Yield every operation with its commit, newest first."""
    for commit in walk_operation_commits(repository):
        yield commit.oid, read_operation(repository, commit)


def walk_operation_commits(repository: Repository) -> Iterator[Commit]:
    """Yield the commit of every operation, newest first; its subject begins with the kind and a colon."""
    value = repository.find_ref(refs.OPERATIONS)
    commit = None if value is None else read_commit(repository, Oid(value))
    while commit is not None:
        yield commit
        # the first parent is the previous operation; that of the first operation is an old value of a ref
        parent = read_commit(repository, commit.parents[0]) if commit.parents else None
        commit = parent if parent is not None and is_operation(parent) else None


def is_operation(commit: Commit) -> bool:
    """Return True if a commit says that it is an operation, and nothing else; a forged one may be none."""
    return commit.trailers.keys() == {_TRAILER}


def find_operation(log: Iterable[Operation], prefix: str) -> Operation:
    """Resolve an operation by its id or a unique prefix.

    Raises:
        NotFound, Ambiguous: none or several match, or the prefix is shorter than that of a message may be.
    """
    if len(prefix) < MIN_PREFIX_LENGTH:
        hint = f"the prefix of an operation id has at least {MIN_PREFIX_LENGTH} characters; {_LIST}"
        raise NotFound(f"there is no operation {prefix!a}", hint=hint)
    found = [record for record in log if record.id.startswith(prefix)]
    if len(found) > 1:
        raise Ambiguous(f"{prefix!a} matches {len(found)} operations", hint="type a few more letters")
    if not found:
        raise NotFound(f"there is no operation {prefix!a}", hint=_LIST)
    return found[0]


class RefMove(NamedTuple):
    """One line of a reflog; `time` is in whole seconds since 1970, `actor` is None if the line does not name one."""

    old: Oid
    new: Oid
    time: int
    reason: str
    actor: str | None = None


class AppendNote(NamedTuple):
    """The line of an append: its message, the first message of the command, its time, and the log's tip before it."""

    message: str
    first: str
    time: str
    after: str


@lru_cache(maxsize=16)
def identity_of(actor: str) -> Identity:
    """Return the actor as a name for reflogs that git accepts and `_actor_of` can decode."""
    return Identity(encode_component(actor), slug(actor) + _ACTOR_DOMAIN)


def _actor_of(who: str) -> str | None:
    name, _, email = who.partition(" <")
    if not email.endswith(_ACTOR_DOMAIN):
        return None
    try:
        return decode_component(name)
    except Invalid:
        return None


def append_line(repository: Repository, reason: str, first: str | None = None) -> str:
    """Return the message of the line of an append: `reason`, the time and the tip of the operation log."""
    wall = wall_nanoseconds()
    time = f"{format_time(wall)[:-1]}{wall // 1000 % 1000:03d}Z"
    tip = repository.raw_ref(refs.OPERATIONS) or NULL_OID
    return f"{reason} at {time} after {tip[:OPERATION_PREFIX_LENGTH]}" + (f" of {first}" if first else "")


def parse_append(move: RefMove) -> AppendNote | None:
    """Return what the line of an append says; None for the line of an operation or of another program."""
    match = _APPEND.fullmatch(move.reason)
    if match is None:
        return None
    return AppendNote(match["id"], match["first"] or match["id"], match["time"], match["after"])


def walk_moves(repository: Repository, ref: str) -> Iterator[RefMove]:
    """Yield the moves of a ref, newest first; none if its reflog is missing or unreadable.

    If the repository shows an earlier state, later moves are left out.
    """
    moves = _read_moves(repository, ref)
    if not repository.is_past:
        return moves
    value = repository.find_ref(ref)
    return dropwhile(lambda move: move.new != value, moves)


def _read_moves(repository: Repository, ref: str) -> Iterator[RefMove]:
    for line in _walk_lines_backwards(os.path.join(repository.path, "logs", ref)):
        match = _LINE.fullmatch(line)
        if match is not None:
            old, new, who, seconds, reason = match.groups(b"")
            actor = _actor_of(who.decode("utf-8", "replace"))
            text = reason.decode("utf-8", "replace")
            yield RefMove(Oid(old.decode()), Oid(new.decode()), int(seconds), text, actor)


def _walk_lines_backwards(path: str) -> Iterator[bytes]:
    """Yield the lines of a file, last first, block by block."""
    with contextlib.suppress(OSError), open_regular(path) as file:
        end, tail = os.fstat(file.fileno()).st_size, b""
        while end:
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            tail, *lines = (file.read(end - start) + tail).split(b"\n")
            yield from reversed(lines)
            end = start
        yield tail


def find_value_at(repository: Repository, ref: str, seconds: int) -> Oid | None:
    """Return the value of a ref at a time in seconds since 1970; None before the reflog and after a deletion."""
    value = next((move.new for move in walk_moves(repository, ref) if move.time <= seconds), NULL_OID)
    return None if value == NULL_OID else value


def list_logs(repository: Repository, *prefixes: str) -> list[tuple[float, str]]:
    """Return the refs with one of the prefixes that have a reflog, each with the time of its file; oldest first."""
    top = os.path.join(repository.path, "logs")
    found: dict[str, float] = {}
    for prefix in prefixes:
        for here, _, files in os.walk(os.path.join(top, prefix.rpartition("/")[0])):
            for ref in (os.path.relpath(os.path.join(here, name), top) for name in files if not name.endswith(".lock")):
                with contextlib.suppress(OSError):
                    found |= {ref: os.stat(os.path.join(top, ref)).st_mtime} if ref.startswith(prefix) else {}
    return sorted((time, ref) for ref, time in found.items())
