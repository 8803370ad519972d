"""`verify`, `repair`, `doctor` and `verify --signatures`: is the store, and the installation, as it should be?

`verify` reads packs, objects, refs, files of dead processes, metadata, and every message; `repair` mends what can be
mended without loss. `doctor` looks at the programs, the disk and the lock. What git says about signatures is asked for
once for many commits; a log and a conversation are shown with them.
"""

from __future__ import annotations

import errno
import os
import platform
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from scopes import __version__
from scopes.clock import format_seconds
from scopes.conversation.log import Log, LogEntry
from scopes.conversation.show import ConversationView, MessageView
from scopes.errors import Busy, Corrupt, Inaccessible, NotFound, ScopesError
from scopes.history.messages import MESSAGE_FILE, NO_TEXT, header_of, is_root, read_stored_body, with_subject
from scopes.history.metadata import read_clocks, read_metadata_at
from scopes.ids import Oid
from scopes.model import canonical_json
from scopes.model.conversation import decode_root
from scopes.model.message import decode
from scopes.model.operation import GOOD, UNCHECKED, UNKNOWN_KEY
from scopes.result import Column, Note, Result, counted, shown
from scopes.store import refs
from scopes.store.git_program import check_signatures, find_git, read_signing_settings
from scopes.store.graph import walk_newest_first
from scopes.store.locks import LOCK_FILE, StoreLock
from scopes.store.maintenance import DEFAULT_PACK_THRESHOLD, estimate_loose_objects
from scopes.store.objects import REPAIR, Commit, find_blob, pygit2, read_commit, try_write
from scopes.store.refs import OPERATIONS
from scopes.store.repository import FORMAT_VERSION, Repository
from scopes.store.verify import (
    Finding,
    Quarantine,
    Repair,
    walk_file_defects,
    walk_leftover_defects,
    walk_object_defects,
    walk_pack_defects,
    walk_ref_defects,
    walk_repairs,
)

MoreChecks: TypeAlias = Sequence[Callable[[Repository], Iterable[Finding]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Result):
    """The number of conversations, branches and messages that were read, and the defects found."""

    rows_in = "findings"
    columns = (
        Column("severity", form="state"),
        Column("where"),
        Column("problem", form="prose"),
        Column("cure", on="pipe"),
    )

    path: str
    conversations: int
    branches: int
    messages: int
    findings: tuple[Finding, ...]

    @property
    def sentence(self) -> str:
        """The verdict, and how much was read."""
        errors = sum(found.severity == "error" for found in self.findings)
        verdict = "sound" if self.sound else f"damaged ({counted(errors, 'error')})"
        counts = counted(self.conversations, "conversation"), counted(self.branches, "branch")
        return f"{verdict}: {', '.join(counts)}, {counted(self.messages, 'message')} in {self.path}"

    @property
    def next_step(self) -> list[str]:
        """What to do about each defect."""
        return [f"{found.where}: {found.cure}" for found in self.findings if found.cure]

    @property
    @shown
    def sound(self) -> bool:
        """True if nothing worse than a warning was found."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """7 if data is damaged, as for any other command that reads damaged data; otherwise 0."""
        return 0 if self.sound else 7


def verify(repository: Repository, more_checks: MoreChecks = ()) -> Verification:
    """Check packs, objects, messages, refs and leftover files of the whole store.

    more_checks: what reads the refs of which this package knows nothing, such as agents and facts

    The store is read without a lock. A check that finds something is repeated under the exclusive lock, because another
    process may have moved refs in the meantime. If the lock file cannot be written, a note says so.

    Raises:
        Busy: something was found, and another process holds the lock.
    """
    first = _check_store(repository, more_checks)
    if not first.findings:
        return first
    try:
        with repository.lock.exclusive():
            return _check_store(repository, more_checks)
    except Inaccessible as error:
        note = Note(f"{error.message}: a defect may be the work of another process", "run it again: scopes verify")
        return replace(first, notes=(note,))


def _check_store(repository: Repository, more_checks: MoreChecks) -> Verification:
    """Check the whole store.

    If a pack index is damaged, nothing else is read: libgit2 trusts its offsets, and the process might crash.
    """
    repository.recent.clear()  # a copy in memory would hide that an object is damaged on disk
    findings = list(walk_pack_defects(repository))
    branches: dict[str, Oid] = {}
    seen: set[Oid] = set()
    if not any(finding.where.endswith(".idx") and finding.severity == "error" for finding in findings):
        values: dict[str, str] = {}
        try:
            values = repository.list_refs()
        except ScopesError as error:
            findings.append(Finding("error", "refs", error.message, error.hint))
        tips = {ref: Oid(value) for ref, value in values.items() if not value.startswith(refs.SYMBOLIC)}
        branches = {ref: tip for ref, tip in tips.items() if ref.startswith(refs.HEADS)}
        findings += walk_file_defects(repository)
        findings += walk_object_defects(repository)
        findings += [defect.finding() for defect in walk_ref_defects(repository, values)]
        findings += walk_leftover_defects(repository)
        findings += _metadata_defects(repository, tips)
        for ref, tip in branches.items():
            findings += _message_defects(repository, ref.removeprefix(refs.HEADS), tip, seen)
        for check in more_checks:
            findings += check(repository)
    return Verification(
        path=repository.path,
        conversations=len({ref.split("/")[2] for ref in branches}),
        branches=len(branches),
        messages=len(seen),
        findings=tuple(dict.fromkeys(findings)),
    )


def _metadata_defects(repository: Repository, tips: Mapping[str, Oid]) -> Iterator[Finding]:
    """Decode the metadata of every conversation as it is now: branch entries, merge requests, tags and clocks."""
    for ref, commit in tips.items():
        if not ref.startswith(refs.META):
            continue
        where = f"{ref.removeprefix(refs.META)}: metadata"
        cure = "find the operation that wrote it, to undo it: scopes op -a"
        try:
            read_metadata_at(repository, commit)
        except ScopesError as error:
            yield Finding("error", where, error.message, cure)
        with suppress(NotFound):  # reported with the objects
            try:
                read_clocks(repository, read_commit(repository, commit).tree)
            except Corrupt as error:
                yield Finding("error", where, error.message, error.hint)


def _message_defects(repository: Repository, branch: str, tip: Oid, seen: set[Oid]) -> Iterator[Finding]:
    """Decode every message of a branch that is not in `seen`, and add it; the walk asks for none twice."""
    ended_at_root = tip in seen
    try:
        for commit in walk_newest_first(repository, [tip], hidden=seen):
            if is_root(commit):
                ended_at_root = True
            else:
                seen.add(commit.oid)
            yield from _defects_of(repository, branch, commit)
            ended_at_root = ended_at_root or any(parent in seen for parent in commit.parents)
    except ScopesError as error:
        yield Finding("error", branch, f"its history breaks off: {error.message}", error.hint)
        return
    if not ended_at_root:
        yield Finding("error", branch, "its history does not begin with the root of a conversation")


def _defects_of(repository: Repository, branch: str, commit: Commit) -> Iterator[Finding]:
    where = f"{branch}: message {header_of(commit).id}"
    try:
        data = find_blob(repository, commit.tree, MESSAGE_FILE)
        if data is None:
            raise NotFound("the commit holds no message")
        if is_root(commit):
            decode_root(data)
            return
        message = decode(data)
        if message.id != header_of(commit).id:
            yield Finding("error", where, "commit and message disagree about its id")
    except ScopesError as error:
        yield Finding("error", where, error.message, error.hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired(Result):
    """The repairs, and the defects that remain; `quarantine` is the directory with the replaced files, if any."""

    kind = "repair"
    rows_in = "repairs"
    is_one_row = True
    columns = (Column("where"), Column("action", form="prose"))
    empty = "Nothing to repair."

    path: str
    dry_run: bool
    repairs: tuple[Repair, ...]
    remaining: tuple[Finding, ...]
    quarantine: str | None

    @property
    def sentence(self) -> list[str]:
        """What was done, and what remains."""
        verb = "would be repaired" if self.dry_run else "repaired"
        lines = [f"{counted(len(self.repairs), 'defect')} {verb}"] if self.repairs else []
        moved = [f"Replaced files are in {self.quarantine}"] if self.quarantine else []
        return [*lines, *self.remark, *moved]

    @property
    def remark(self) -> list[str]:
        """What remains."""
        return [
            f"{found.severity}: {found.where}: {found.problem}; {found.cure or 'no cure is known'}"
            for found in self.remaining
        ]

    @property
    def exit_code(self) -> int:
        """7 if data is still damaged, as for `verify`; otherwise 0."""
        return 7 if any(finding.severity == "error" for finding in self.remaining) else 0


def repair(
    repository: Repository, more_checks: MoreChecks = (), *, dry_run: bool = False, before: tuple[Repair, ...] = ()
) -> Repaired:
    """Repair the store under the exclusive lock, and check it again; with `dry_run` only list what would be repaired.

    more_checks: as for `verify`
    before: what `repair_unopened` has repaired

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    quarantine = Quarantine(repository.path)
    with repository.lock.exclusive():
        repairs = before + tuple(dict.fromkeys(walk_repairs(repository, quarantine, dry_run=dry_run)))
        remaining = () if dry_run else _check_store(repository, more_checks).findings
    return Repaired(
        path=repository.path,
        dry_run=dry_run,
        repairs=repairs,
        remaining=remaining,
        quarantine=quarantine.path if os.path.isdir(quarantine.path) else None,
    )


_TRIED_BYTES: Final = 16 << 10
_LOCK_SECONDS: Final = 1
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check; `state` is `ok`, `warning` or `failed`, `cure` the suggested remedy."""

    name: str
    state: str
    detail: str
    cure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Result):
    """The outcomes of all checks, in a fixed order."""

    kind = "doctor"
    rows_in = "checks"
    columns = (
        Column("name"),
        Column("state", form="state"),
        Column("detail", form="prose"),
        Column("cure", form="below"),
    )

    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> int:
        """1 if a check failed, otherwise 0."""
        return 1 if any(check.state == "failed" for check in self.checks) else 0


def doctor(open_store: Repository | ScopesError, more: Iterable[Check] = ()) -> Diagnosis:
    """Check the installation and the store; `open_store` is the opened store or its error (S0-23).

    more: checks of what is above the store, which follow.
    """
    program = find_git()
    checks = [
        Check("scopes", "ok", f"{__version__}, Python {platform.python_version()} on {sys.platform}"),
        Check("libraries", "ok", f"pygit2 on libgit2 {pygit2.LIBGIT2_VERSION}"),
        _warn_unless(program, "git", program or "not installed", "install git: gc and the store's packing need it"),
    ]
    if isinstance(open_store, ScopesError):
        state = "warning" if open_store.kind == "not-found" else "failed"
        checks.append(Check("store", state, open_store.message, open_store.hint))
    else:
        checks += _store_checks(open_store)
    return Diagnosis(checks=(*checks, *more))


def _warn_unless(is_good: object, name: str, detail: str, cure: str | None = None) -> Check:
    return Check(name, "ok", detail) if is_good else Check(name, "warning", detail, cure)


def _store_checks(repository: Repository) -> Iterator[Check]:
    yield Check("store", "ok", repository.path)
    version = repository.format_version
    if version > FORMAT_VERSION:
        yield Check("format", "failed", f"{version}, newer than {FORMAT_VERSION}", "update scopes; reading still works")
    elif version < 1:
        cure = f"git config scopes.formatVersion {FORMAT_VERSION}"
        yield Check("format", "failed", "the store's configuration names none", cure)
    else:
        yield Check("format", "ok", str(version))
    try:
        repository.raw_ref(OPERATIONS)
    except Corrupt as error:
        yield Check("operation log", "failed", error.message, REPAIR)
    yield _check_writing(repository)
    kind = "full" if repository.durable else "fast: a power cut may lose messages"
    yield _warn_unless(repository.durable, "durability", kind)
    loose = estimate_loose_objects(repository)
    yield _warn_unless(loose <= 2 * DEFAULT_PACK_THRESHOLD, "loose objects", f"about {loose}", "scopes gc")
    mode = stat.S_IMODE(os.stat(repository.path).st_mode)
    yield _warn_unless(not mode & 0o077, "privacy", f"mode {mode:04o}", f"chmod 700 {repository.path}")
    disk = os.statvfs(repository.path)
    free_bytes = disk.f_bavail * disk.f_frsize
    yield _warn_unless(free_bytes >= 100 << 20, "free space", f"{free_bytes >> 20} MiB", "free some space")


def _check_writing(repository: Repository) -> Check:
    """Write what a message may need, where git writes objects, and take it away again; then lock as an append does."""
    try:
        try_write(os.path.join(repository.path, "objects"), _TRIED_BYTES)
    except OSError as error:
        if error.errno in _FULL:
            cure = f"free some space on the disk of {repository.path}"
            return Check("writing", "failed", f"impossible: {os.strerror(error.errno).lower()}", cure)
        return Check("writing", "warning", "reading only", "check the permissions and the mount of the disk")
    if not os.path.exists(os.path.join(repository.path, LOCK_FILE)):
        return Check("writing", "ok", "possible")  # nobody has locked it, and doctor creates nothing
    try:
        with StoreLock(repository.path, timeout_seconds=_LOCK_SECONDS).shared():
            return Check("writing", "ok", "possible")
    except Busy as error:
        return Check("writing", "warning", error.message, error.hint)
    except (Corrupt, Inaccessible) as error:
        return Check("writing", "warning", f"reading only: {error.message}", error.hint)


_PEOPLE = "@humans.scopes"
_SSH_LIST = "gpg.ssh.allowedsignersfile"


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
    rows_in = "rows"
    is_one_row = True
    columns = (
        Column("oid", "OID", on="pipe"),
        Column("name", "Commit", "id", on="terminal"),
        Column("state", form="state"),
        Column("signer"),
        Column("key", on="pipe"),
        Column("subject"),
        Column("author"),
        Column("message", on="pipe"),
    )

    signatures: tuple[SignedCommit, ...]
    unsigned: tuple[UnsignedCommit, ...] = ()
    required: bool = False

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each signature, and for each that is missing although it is required."""
        missing = [{**each._asdict(), "state": "not signed"} for each in self.unsigned if self.required]
        rows = [*(each._asdict() for each in self.signatures), *missing]
        return [{**row, "name": row["message"] or row["oid"]} for row in rows]

    @property
    def sentence(self) -> list[str]:
        """The verdict, and how much was read."""
        good = sum(row.state == GOOD for row in self.signatures)
        verdict = "all good" if self.exit_code == 0 else "those that are there are good"
        verdict = "none" if not self.signatures else verdict if self.all_good else f"{good} good"
        lacking = counted(len(self.unsigned), "signature")
        missing = [f"{lacking} missing: they are required"] if self.required and self.unsigned else []
        total = f"{counted(len(self.signatures), 'signature')} in {counted(self.commits, 'commit')} of {self.path}"
        return [*missing, f"{verdict}: {total}"]

    @property
    def all_good(self) -> bool:
        """True if every signature is good; also if there are none."""
        return all(each.state == GOOD for each in self.signatures)

    @property
    def exit_code(self) -> int:
        """1 if a signature is not good, or one is missing that is required; otherwise 0."""
        return 0 if self.all_good and not (self.required and self.unsigned) else 1


def verify_signatures(repository: Repository, directory: str, *, required: bool = False) -> SignatureCheck:
    """Check the signatures of the messages of all branches, of what remotes had, and of the facts.

    directory: the current directory, for conditional settings of git
    required: a merge, a decision or resolution of a person, or a list of what was purged must be signed

    Raises:
        Corrupt, NotFound: a commit cannot be read.
    """
    tips = [
        Oid(value)
        for ref, value in repository.list_refs().items()
        if ref != OPERATIONS and not value.startswith(refs.SYMBOLIC) and repository.read(Oid(value))[0] == "commit"
    ]
    commits = {commit.oid: commit for commit in walk_newest_first(repository, tips)}
    settings = read_signing_settings(directory)
    found = check_signatures(repository, commits, directory, settings)
    signed = tuple(
        SignedCommit(oid, _subject_of(repository, commit), *found[oid], *_author_of(commit))
        for oid, commit in commits.items()
        if oid in found
    )
    unsigned = tuple(
        UnsignedCommit(oid, _subject_of(repository, commit), what, format_seconds(commit.time), *_author_of(commit))
        for oid, commit in commits.items()
        if oid not in found and (what := _describe_signable(repository, commit)) is not None
    )
    return SignatureCheck(
        path=repository.path,
        commits=len(commits),
        signatures=signed,
        unsigned=unsigned,
        required=required,
        notes=tuple(_walk_signature_notes(signed, unsigned, settings.get(_SSH_LIST), required=required)),
    )


def _author_of(commit: Commit) -> tuple[str, str | None]:
    return commit.author.name, commit.message_id


def _subject_of(repository: Repository, commit: Commit) -> str:
    """Return the subject of a commit; of a decision without text, what was decided."""
    is_empty = commit.subject == NO_TEXT and commit.kind is not None
    return with_subject(repository, header_of(commit)).subject if is_empty else commit.subject


def _describe_signable(repository: Repository, commit: Commit) -> str | None:
    """Return the kind of a commit as text if scopes signs that kind; None for others."""
    if commit.kind == "merge":
        return "merge"
    if commit.oid == repository.find_ref(refs.PURGED):
        return "list of what was purged"
    if commit.kind == "decision" and commit.author.email.endswith(_PEOPLE):
        return "decision"
    if commit.kind == "notice" and commit.author.email.endswith(_PEOPLE):
        document = canonical_json.load(read_stored_body(repository, header_of(commit)) or b"null")
        return "resolution" if isinstance(document, dict) and "conflict" in document else None
    return None


def _walk_signature_notes(
    signed: Iterable[SignedCommit], unsigned: Sequence[UnsignedCommit], trusted: str | None, *, required: bool
) -> Iterator[Note]:
    """Yield notes about missing signatures, and about what git lacks to check the others.

    `trusted` is git's file of trusted ssh keys.
    """
    states = {row.state for row in signed}
    if UNKNOWN_KEY in states and not (trusted and os.path.exists(os.path.expanduser(trusted))):
        reason = f": there is no file {trusted}" if trusted else ""
        hint = "name it: git config --global gpg.ssh.allowedSignersFile FILE; see: man ssh-keygen, ALLOWED SIGNERS"
        yield Note(f"git has no list of the ssh keys that you trust{reason}", hint)
    if UNCHECKED in states:
        yield Note("git could not check a signature", "is the program installed that made it? see: git verify-commit")
    if unsigned:
        counts = Counter(each.what for each in unsigned)
        named = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        hint = "let git sign: git config --global commit.gpgSign true"
        hint += "" if required else "; make it an error: --signatures=all"
        yield Note(f"not signed, although scopes signs such commits where git does: {named}", hint)


_AT_ONCE = 50  # messages; a git is started for them if one is signed


_Shown = TypeVar("_Shown", Log, ConversationView, MessageView)


def with_signatures(repository: Repository, shown: _Shown, directory: str) -> _Shown:
    """Return a log, a conversation or a message with the signatures of its commits; a log checks as it is iterated."""
    if isinstance(shown, Log):
        return replace(shown, items=_add_signatures(repository, iter(shown.items), directory))
    if isinstance(shown, MessageView):
        oid = shown.head.oid
        return replace(shown, signature=check_signatures(repository, [oid], directory).get(oid))
    return replace(shown, recent=tuple(_add_signatures(repository, shown.recent, directory)))


def _add_signatures(repository: Repository, items: Iterable[Any], directory: str) -> Iterator[LogEntry]:
    settings = read_signing_settings(directory)
    rest = iter(items)
    while batch := list(islice(rest, _AT_ONCE)):
        found = check_signatures(repository, [item.head.oid for item in batch], directory, settings)
        for item in batch:
            yield replace(item, signature=found.get(item.head.oid))
