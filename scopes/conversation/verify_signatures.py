"""`verify --signatures`: check the signature of every signed commit of the store; read-only."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from scopes.clock import format_seconds, now_nanoseconds, parse_window
from scopes.conversation.cat import MessageView
from scopes.conversation.log import Log, LogEntry
from scopes.conversation.show import ConversationView
from scopes.history.messages import NO_TEXT, header_of, read_stored_body, with_subject
from scopes.ids import Oid
from scopes.model import encoding
from scopes.model.operation import GOOD, UNCHECKED, UNKNOWN_KEY
from scopes.result import Note, Result
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository
from scopes.store.signing import check_signatures, read_signing_settings

_PEOPLE = "@humans.scopes"
_SSH_LIST = "gpg.ssh.allowedsignersfile"
_NANOSECONDS = 1_000_000_000  # a second


class SignedCommit(NamedTuple):
    """A signed commit, its subject, and git's verdict about the signature, as in `Signature`.

    author: the name in the author field of the commit, which proves nothing: anybody can write any name
    message: the id of the message in it; None if it has none, such as a list of what was purged
    """

    oid: Oid
    subject: str
    state: str
    signer: str | None
    key: str | None
    author: str = ""
    message: str | None = None


class UnsignedCommit(NamedTuple):
    """An unsigned commit of a kind that scopes signs if git signs: a merge, a decision of a person, a purge list."""

    oid: Oid
    subject: str
    what: str
    time: str
    author: str = ""
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureCheck(Result):
    """The number of commits that were read, and the signed ones, newest first in each ref.

    unsigned: commits without a signature, of the kinds that scopes signs
    required: whether unsigned commits are an error
    """

    path: str
    commits: int
    signatures: tuple[SignedCommit, ...]
    unsigned: tuple[UnsignedCommit, ...] = ()
    required: bool = False

    @property
    def all_good(self) -> bool:
        """True if every signature is good; also if there are none."""
        return all(each.state == GOOD for each in self.signatures)

    @property
    def exit_code(self) -> int:
        """1 if a signature is not good, or one is missing that is required; otherwise 0."""
        return 0 if self.all_good and not (self.required and self.unsigned) else 1


def verify_signatures(
    repository: Repository, directory: str, *, required: bool = False, since: str | None = None
) -> SignatureCheck:
    """Check the signatures of the messages of all branches, of what remotes had, and of the facts.

    directory: the current directory, for conditional settings of git
    required: a merge, a decision or resolution of a person, or a list of what was purged must be signed
    since: those before this time need not be, unless a commit below them has a later one: who writes a commit
        chooses its time

    Raises:
        Corrupt, NotFound: a commit cannot be read.
        Invalid: `since` is no time.
    """
    commits = {commit.oid: commit for commit in _walk(repository)}
    settings = read_signing_settings(directory)
    found = check_signatures(repository, commits, directory, settings)
    rows = tuple(
        SignedCommit(
            oid, _subject_of(repository, commits[oid]), *signature, commits[oid].author.name, commits[oid].message_id
        )
        for oid, signature in found.items()
    )
    start = None if since is None else parse_window(since, None, now_nanoseconds())[0]
    latest = {} if start is None else _find_latest(commits)
    unsigned = tuple(
        UnsignedCommit(
            oid,
            _subject_of(repository, commit),
            what,
            format_seconds(commit.time),
            commit.author.name,
            commit.message_id,
        )
        for oid, commit in commits.items()
        if oid not in found
        and (start is None or latest[oid] * _NANOSECONDS >= start)
        and (what := _describe_signable(repository, commit)) is not None
    )
    return SignatureCheck(
        path=repository.path,
        commits=len(commits),
        signatures=rows,
        unsigned=unsigned,
        required=required,
        notes=(
            *_notes({row.state for row in rows}, settings.get(_SSH_LIST)),
            *_note_unsigned(unsigned, required=required),
        ),
    )


def _find_latest(commits: Mapping[Oid, Commit]) -> dict[Oid, int]:
    """Return the time of each commit, or that of the latest commit below it, in seconds."""
    latest: dict[Oid, int] = {}
    for start in commits:
        waiting = [start]
        while waiting:
            oid = waiting[-1]
            below = [parent for parent in commits[oid].parents if parent in commits]
            unknown = [parent for parent in below if parent not in latest]
            if oid in latest or not unknown:
                latest[oid] = max([commits[oid].time, *(latest[parent] for parent in below)])
                waiting.pop()
            else:
                waiting += unknown
    return latest


def _subject_of(repository: Repository, commit: Commit) -> str:
    """Return the subject of a commit; of a decision without text, what was decided."""
    is_empty = commit.subject == NO_TEXT and commit.kind is not None
    return with_subject(repository, header_of(commit)).subject if is_empty else commit.subject


def _walk(repository: Repository) -> Iterator[Commit]:
    values = repository.list_refs()
    tips = [
        Oid(value)
        for ref, value in values.items()
        if ref != refs.OPERATIONS and not value.startswith(refs.SYMBOLIC) and repository.read(Oid(value))[0] == "commit"
    ]
    yield from walk_newest_first(repository, tips)


def _describe_signable(repository: Repository, commit: Commit) -> str | None:
    """Return the kind of a commit as text if scopes signs that kind; None for others."""
    if commit.kind == "merge":
        return "merge"
    if commit.oid == repository.find_ref(refs.PURGED):
        return "list of what was purged"
    if commit.kind == "decision" and commit.author.email.endswith(_PEOPLE):
        return "decision"
    if commit.kind == "notice" and commit.author.email.endswith(_PEOPLE):
        document = encoding.load(read_stored_body(repository, header_of(commit)) or b"null")
        return "resolution" if isinstance(document, dict) and "conflict" in document else None
    return None


def _note_unsigned(unsigned: tuple[UnsignedCommit, ...], *, required: bool) -> Iterator[Note]:
    if unsigned:
        counts = Counter(each.what for each in unsigned)
        named = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        hint = "let git sign: git config --global commit.gpgSign true"
        hint += "; leave out what is older: --since WHEN" if required else "; make it an error: --require-signatures"
        yield Note(f"not signed, although scopes signs such commits where git does: {named}", hint)


def _notes(states: set[str], trusted: str | None) -> Iterator[Note]:
    """Yield notes about what git lacks to check signatures; `trusted` is its file of trusted ssh keys."""
    if UNKNOWN_KEY in states and not (trusted and os.path.exists(os.path.expanduser(trusted))):
        reason = f": there is no file {trusted}" if trusted else ""
        hint = "name it: git config --global gpg.ssh.allowedSignersFile FILE; see: man ssh-keygen, ALLOWED SIGNERS"
        yield Note(f"git has no list of the ssh keys that you trust{reason}", hint)
    if UNCHECKED in states:
        yield Note("git could not check a signature", "is the program installed that made it? see: git verify-commit")


_AT_ONCE = 50  # messages; a git is started for them if one is signed


def with_message_signature(repository: Repository, view: MessageView, directory: str) -> MessageView:
    """Return a message with the signature of its commit, if it has one."""
    return replace(view, signature=check_signatures(repository, [view.head.oid], directory).get(view.head.oid))


def with_recent_signatures(repository: Repository, view: ConversationView, directory: str) -> ConversationView:
    """Return a conversation whose latest messages have the signatures of their commits."""
    oids = [head.oid for head in view.recent]
    found = check_signatures(repository, oids, directory)
    return replace(view, recent_signatures=tuple(map(found.get, oids)))


def with_signatures(repository: Repository, log: Log, directory: str) -> Log:
    """Return a log whose entries have the signatures of their commits; they are checked as the log is iterated."""
    return replace(log, items=_walk_of_shown_signatures(repository, iter(log.items), directory))


def _walk_of_shown_signatures(repository: Repository, items: Iterable[Result], directory: str) -> Iterator[Result]:
    settings = read_signing_settings(directory)
    rest = iter(items)
    while batch := list(islice(rest, _AT_ONCE)):
        oids = [item.head.oid for item in batch if isinstance(item, LogEntry)]
        found = check_signatures(repository, oids, directory, settings)
        for item in batch:
            yield replace(item, signature=found.get(item.head.oid)) if isinstance(item, LogEntry) else item
