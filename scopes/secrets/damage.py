"""Find entries of the allow-list that cannot be read, for `verify`: they have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.errors import Corrupt, ScopesError
from scopes.ids import Oid
from scopes.secrets.allowed import decode_allowed, file_of, name_of
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.refs import SECRETS
from scopes.store.repository import Repository
from scopes.store.verify import Finding


def walk_allowed_defects(repository: Repository) -> Iterator[Finding]:
    """Yield a finding for each file of the allow-list that cannot be read; files of unknown paths are left out."""
    value = repository.find_ref(SECRETS)
    if value is None:
        return
    try:
        for path, oid in walk_blobs(repository, read_commit(repository, Oid(value)).tree):
            try:
                if path == file_of(name_of(path)):
                    decode_allowed(name_of(path), read_blob(repository, oid))
            except Corrupt as error:
                cure = f"see what it was: git -C {repository.path} log -p {SECRETS} -- {path}"
                yield Finding("error", f"{SECRETS}:{path}", error.message, cure)
    except ScopesError as error:
        yield Finding("error", SECRETS, error.message, error.hint)
