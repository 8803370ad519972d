"""Find the stored facts, proposals, cycles, decisions and contexts that cannot be read, for `verify`."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.errors import ScopesError, TooNew
from scopes.facts.cycle_record import decode_cycle
from scopes.facts.fact import decode_decision
from scopes.facts.store import decode_context, decode_fact_at, decode_proposed_at
from scopes.ids import Oid
from scopes.model.canonical_json import split_leaf
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.refs import FACTS, PROPOSED_FACTS
from scopes.store.repository import Repository
from scopes.store.verify import Finding


def walk_fact_defects(repository: Repository) -> Iterator[Finding]:
    """Yield a finding for each file of the two refs that cannot be read; those of unknown places are left out."""
    for ref in (FACTS, PROPOSED_FACTS):
        value = repository.find_ref(ref)
        if value is None:
            continue
        try:
            for path, oid in walk_blobs(repository, read_commit(repository, Oid(value)).tree):
                yield from _defects_of(repository, ref, path, oid)
        except ScopesError as error:
            yield Finding("error", ref, error.message, error.hint)


def _defects_of(repository: Repository, ref: str, path: str, oid: Oid) -> Iterator[Finding]:
    cure = f"see what it was: git -C {repository.path} log -p {ref} -- {path}"
    try:
        _check(ref, path, read_blob(repository, oid))
    except TooNew as error:
        yield Finding("warning", f"{ref}:{path}", error.message, error.hint)
    except ScopesError as error:
        yield Finding("error", f"{ref}:{path}", error.message, cure)


def _check(ref: str, path: str, data: bytes) -> None:
    """Decode a file by its place.

    Raises:
        Corrupt, Invalid: it cannot be decoded.
    """
    if ref == PROPOSED_FACTS:
        decode_proposed_at(path, data)
        return
    match path.split("/"):
        case ["keys", name]:
            split_leaf(name)
        case [_, "facts", *_]:
            decode_fact_at(path, data)
        case [_, "cycles", _]:
            decode_cycle(data)
        case [_, "decisions", _]:
            decode_decision(data)
        case [_, "context.json"]:
            decode_context(data)
