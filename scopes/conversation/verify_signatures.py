"""`verify --signatures`: check the signature of every signed commit of the store; read-only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scopes.ids import Oid
from scopes.model.signature import GOOD, UNCHECKED, UNKNOWN_KEY
from scopes.result import Note, Result
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository
from scopes.store.signatures import check_signatures
from scopes.store.signing_settings import read_signing_settings

_SSH_LIST = "gpg.ssh.allowedsignersfile"


class SignedCommit(NamedTuple):
    """A signed commit, its subject, and what git says about the signature, as in `Signature`."""

    oid: Oid
    subject: str
    state: str
    signer: str | None
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureCheck(Result):
    """The number of commits that were read, and the signed ones, newest first in each ref."""

    path: str
    commits: int
    signatures: tuple[SignedCommit, ...]

    @property
    def all_good(self) -> bool:
        """True if every signature is good; also if there are none."""
        return all(each.state == GOOD for each in self.signatures)

    @property
    def exit_code(self) -> int:
        """1 if a signature is not good, otherwise 0."""
        return 0 if self.all_good else 1


def verify_signatures(repository: Repository, directory: str) -> SignatureCheck:
    """Check the signatures of the messages of all branches, of what remotes had, and of the facts.

    directory: where the command runs, for settings of git with a condition

    Raises:
        Corrupt, NotFound: a commit cannot be read.
    """
    subjects = dict(_walk(repository))
    settings = read_signing_settings(directory)
    found = check_signatures(repository, subjects, directory, settings)
    rows = tuple(SignedCommit(oid, subjects[oid], *signature) for oid, signature in found.items())
    return SignatureCheck(
        path=repository.path,
        commits=len(subjects),
        signatures=rows,
        notes=tuple(_notes({row.state for row in rows}, has_list=_SSH_LIST in settings.values)),
    )


def _walk(repository: Repository) -> Iterator[tuple[Oid, str]]:
    values = repository.list_refs()
    tips = [
        Oid(value)
        for ref, value in values.items()
        if ref != refs.OPERATIONS and not value.startswith(refs.SYMBOLIC) and repository.read(Oid(value))[0] == "commit"
    ]
    for commit in walk_newest_first(repository, tips):
        yield commit.oid, commit.subject


def _notes(states: set[str], *, has_list: bool) -> Iterator[Note]:
    if UNKNOWN_KEY in states and not has_list:
        hint = "name it: git config --global gpg.ssh.allowedSignersFile FILE; see: man ssh-keygen, ALLOWED SIGNERS"
        yield Note("git has no list of the ssh keys that you trust", hint)
    if UNCHECKED in states:
        yield Note("git could not check a signature", "is the program installed that made it? see: git verify-commit")
