"""Find the stored records of commits that cannot be read, for `verify`."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.code_links.commit_record import decode_record
from scopes.errors import Corrupt, ScopesError
from scopes.ids import Oid
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.refs import COMMITS
from scopes.store.repository import Repository
from scopes.store.verify import Finding


def walk_commit_record_defects(repository: Repository) -> Iterator[Finding]:
    """Yield a finding for each record that cannot be read, or is not where its commit is looked for."""
    value = repository.find_ref(COMMITS)
    if value is None:
        return
    try:
        for path, oid in walk_blobs(repository, read_commit(repository, Oid(value)).tree):
            parts = path.split("/")
            if parts[0] == "commits" and len(parts) == 4:
                yield from _defects_of(repository, path, oid, parts[2])
    except ScopesError as error:
        yield Finding("error", COMMITS, error.message, error.hint)


def _defects_of(repository: Repository, path: str, oid: Oid, commit: str) -> Iterator[Finding]:
    try:
        if decode_record(read_blob(repository, oid)).commit != commit:
            raise Corrupt("the record is of another commit than its path")
    except ScopesError as error:
        cure = f"see what it was: git -C {repository.path} log -p {COMMITS} -- {path}"
        yield Finding("error", f"{COMMITS}:{path}", error.message, cure)
