"""`secrets allow`: add a secret to the allow-list, or remove it; the list has its id, never its value."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.clock import now
from scopes.history.metadata import write_metadata
from scopes.history.names import match_prefix
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid, OperationId
from scopes.result import Note, Result, short_id
from scopes.secrets.allowed import AllowedSecret, encode_allowed, file_of, read_allowed
from scopes.secrets.list import known_secrets
from scopes.secrets.scan import FindElsewhere, FindOutside, Progress, scan
from scopes.store.refs import SECRETS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_HINT = "list them: scopes secrets list"
_SHOWN = 8  # characters of an id in a summary


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAllowed(Result):
    """An entry of the allow-list after a change, which is `allowed`, `removed` or `unchanged`."""

    change: str
    secret: AllowedSecret
    operation: OperationId | None = None

    @property
    def sentence(self) -> str:
        """What may leave now, or no longer."""
        words = {"allowed": "may leave", "removed": "may no longer leave", "unchanged": "may leave already"}
        secret = self.secret
        return f"secret {short_id(secret.id)} ({secret.rule}) {words.get(self.change, self.change)}"

    @property
    def answer(self) -> str:
        """The id of the secret."""
        return self.secret.id


def allow(
    repository: Repository,
    name: str,
    *,
    index_directory: str,
    reason: str | None = None,
    on_progress: Progress = lambda _done, _all: None,
    find_outside: FindOutside = lambda *_: (),
    find_elsewhere: FindElsewhere = lambda _repository: (),
) -> SecretAllowed:
    """Allow a secret in everything that leaves; if no scan has found it yet, all conversations are scanned now.

    find_outside: as for `scan`
    find_elsewhere: returns secrets that a scan does not list; called only if the scan has not found it

    Raises:
        NotFound, Ambiguous: there is no such secret, or several have this prefix.
    """
    known = known_secrets(repository, index_directory)
    if not any(each.startswith(name) for each in {**known, **read_allowed(repository)}):
        scan(repository, index_directory=index_directory, find_outside=find_outside, on_progress=on_progress)
        known = known_secrets(repository, index_directory)
        if not any(each.startswith(name) for each in known):
            known = {**known, **{row.id: row.rule for row in find_elsewhere(repository)}}
    with exclusive_write(repository):
        allowed = read_allowed(repository)
        found = match_prefix(name, {**known, **allowed}, "secret", _HINT)
        if found in allowed and reason in {None, allowed[found].reason}:
            notes = (Note(f"secret {found[:_SHOWN]} is allowed already"),)
            return SecretAllowed(secret=allowed[found], change="unchanged", notes=notes)
        rule = known[found] if found in known else allowed[found].rule
        entry = AllowedSecret(found, rule, repository.caller.actor, now(), reason)
        verb = "give another reason to allow" if found in allowed else "allow"
        operation = _store(repository, found, entry, f"{verb} secret {found[:_SHOWN]} ({rule})")
    return SecretAllowed(secret=entry, change="allowed", operation=operation)


def disallow(repository: Repository, name: str) -> SecretAllowed:
    """Take a secret off the allow-list.

    Raises:
        NotFound, Ambiguous: it is not on the list, or several have this prefix.
    """
    with exclusive_write(repository):
        allowed = read_allowed(repository)
        found = match_prefix(name, allowed, "allowed secret", _HINT)
        operation = _store(repository, found, None, f"no longer allow secret {found[:_SHOWN]}")
    return SecretAllowed(secret=allowed[found], change="removed", operation=operation)


def _store(repository: Repository, name: str, entry: AllowedSecret | None, summary: str) -> OperationId:
    value = repository.find_ref(SECRETS)
    previous = None if value is None else Oid(value)
    changes = {file_of(name): None if entry is None else encode_allowed(entry)}
    transaction = RefTransaction(repository)
    transaction.move_ref(SECRETS, previous, write_metadata(repository, previous, changes, summary))
    return transaction.commit("secrets", summary).id
