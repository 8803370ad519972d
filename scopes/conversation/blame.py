"""`blame`: which message said last what stands: a decision, a finding, a priority, or what a file was made into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scopes.conversation.list import read_root
from scopes.errors import Invalid, NotFound
from scopes.history.messages import MessageHead, head_of
from scopes.history.revparse import Revision, resolve_revision
from scopes.ids import Oid
from scopes.merge.attribution import blame_paths, blob_at, claim_value
from scopes.merge.conflict_keys import FILES, agent_of, shown_key, subject_of
from scopes.merge.divergence import state_of
from scopes.merge.plan import BOTH
from scopes.model import canonical
from scopes.model.path_encoding import encode_component, file_leaf
from scopes.result import Result
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import read_blob, walk_blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameRow:
    """One claim that stands, and the message that it comes from; a merge that decided it counts as its message."""

    key: str
    agent: str | None
    value: Any
    head: MessageHead


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameList(Result):
    """The claims of one subject, or below a group of subjects, sorted by key."""

    revision: Revision
    rows: tuple[BlameRow, ...]


def blame(repository: Repository, where: str, *, key: str | None = None, file: str | None = None) -> BlameList:
    """Tell which message set a key (`decisions/auth`, or all of `decisions`) or wrote a file last, through all merges.

    Raises:
        NotFound: nothing of that name stands there.
        Invalid: neither or both of key and file are given.
    """
    if (key is None) == (file is None):
        raise Invalid("name a key or a file", hint="for example: scopes conv blame conv-001 --key decisions/auth")
    place = resolve_revision(repository, where)
    state = state_of(repository, place.oid)
    known = {} if state is None else dict(walk_blobs(repository, state))
    wanted = _named(known, key) if key is not None else _written(repository, place, known, file or "")
    if not wanted:
        subject = key if key is not None else file
        raise NotFound(f"nothing is said about {subject!a} in {where}", hint=_nearby(known))
    return BlameList(revision=place, rows=tuple(_walk_rows(repository, place.oid, wanted)))


def _walk_rows(repository: Repository, tip: Oid, wanted: Mapping[str, Oid]) -> Iterator[BlameRow]:
    """Yield a row for every claim; where a merge has kept what both sides said, a row for each of them."""
    setters = blame_paths(repository, walk_newest_first(repository, [tip]), wanted)
    for path, blob in sorted(wanted.items()):
        claim: Any = canonical.load(read_blob(repository, blob))
        commit = read_commit(repository, setters[path]) if path in setters else None
        if commit is None:
            continue
        if len(commit.parents) > 1 and isinstance(claim, dict) and claim.keys() == {BOTH}:
            for parent in commit.parents:
                below = blob_at(repository, state_of(repository, parent), path)
                yield from _walk_rows(repository, parent, {} if below is None else {path: below})
        else:
            key = subject_of(path)
            yield BlameRow(key=key, agent=agent_of(path), value=claim_value(key, claim), head=head_of(commit))


def _named(known: Mapping[str, Oid], key: str) -> dict[str, Oid]:
    """Choose the claims of a subject, or of all subjects below it; the key as it is shown or as it is stored."""
    wanted = key.strip("/").removesuffix("=")
    spelled = "/".join(map(encode_component, wanted.split("/")))
    found: dict[str, Oid] = {}
    for path, blob in known.items():
        subject = subject_of(path)
        whole = path.removesuffix("=")
        for name in (subject, shown_key(subject), whole, shown_key(whole)):
            if name in (wanted, spelled) or name.startswith((f"{wanted}/", f"{spelled}/")):
                found[path] = blob
    return found


def _written(repository: Repository, place: Revision, known: Mapping[str, Oid], file: str) -> dict[str, Oid]:
    root = read_root(repository, read_commit(repository, place.oid), None)
    path = f"{FILES}/{file_leaf(file, root.cwd)}"
    return {path: known[path]} if path in known else {}


def _nearby(known: Mapping[str, Oid]) -> str:
    groups = sorted({path.partition("/")[0] for path in known} - {"participants", "conflicts", "messages"})
    return f"there are: {', '.join(groups)}" if groups else "nothing was decided, proposed or written there"
