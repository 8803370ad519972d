"""`push --delete`: delete conversations or branches from a remote, if they have not changed since they were last seen.

A conversation is one ref there, which is deleted. A branch is left out of the next manifest; its messages stay in the
manifests before that, as they do after a forced push. Nothing is deleted here or in other stores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.clock import format_seconds
from scopes.errors import Invalid, NotFound, Refused, TooNew
from scopes.history.messages import is_root
from scopes.history.metadata import read_metadata
from scopes.history.names import HEADS_FORM, MAIN, find_root_commit, resolve_conversation
from scopes.history.transaction import RefTransaction
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.conversation import branch_id
from scopes.result import OMIT_EMPTY, Column, Note, Result, plural
from scopes.secrets.gates import gate_of
from scopes.store.objects import read_commit
from scopes.store.refs import TRASH
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, shared_write
from scopes.sync.clearance import clear_for_push
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.deleted_there import name_branch, remember_deleted
from scopes.sync.family import list_members, list_there
from scopes.sync.format_check import PurgedHere
from scopes.sync.git_transport import RefUpdate
from scopes.sync.incoming import fetch_acceptable
from scopes.sync.local_conversations import name_of_conversation, newest_time
from scopes.sync.manifest import StoredManifest, read_manifest
from scopes.sync.manifest_summary import summarize
from scopes.sync.names import RemoteName, find_own_name, tracking_ref
from scopes.sync.outgoing import Outgoing
from scopes.sync.remote_selection import find_root_there, refspec_of
from scopes.sync.remotes import Remote
from scopes.sync.source_push import delete_sources

DeletedStatus: TypeAlias = Literal["deleted", "absent", "refused"]
_KEPT: Final = Note(
    "stores that have fetched it keep it, and the server still has the objects until it runs git gc",
    "to remove content for good, also from those who fetch: scopes purge, then: scopes push --purged",
)
_DIGITS: Final = 12
_SEE: Final = "see it first: scopes fetch"
_MOVED: Final = f"the remote has something newer: {_SEE}"


class DeletedName(NamedTuple):
    """Result of deleting one name; `absent` if the remote no longer had it.

    reason: why it was refused; or, if the ref was not a valid conversation, what it was
    """

    name: str
    root: Oid
    status: DeletedStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOnRemote(Result):
    """What was deleted from a remote, or with `dry_run` would be."""

    rows_in = "names"
    is_one_row = True
    columns = (
        Column("name"),
        Column("status", "State", "state"),
        Column("reason", form="below"),
        Column("root", on="template"),
    )

    remote: str
    address: str
    names: tuple[DeletedName, ...]
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)

    @property
    def sentence(self) -> str:
        """That nothing was deleted by a dry run."""
        return self.remark

    @property
    def remark(self) -> str:
        """The same for a pipe."""
        return f"nothing was deleted from {self.remote}: this was a dry run" if self.dry_run else ""

    @property
    def exit_code(self) -> int:
        """1 if something was refused."""
        return 1 if any(each.status == "refused" for each in self.names) else 0


class _Target(NamedTuple):
    """A conversation to delete, or some of its branches: its root, the branches, and its id if it is here.

    texts: the names as the user gave them, one for each branch
    """

    texts: tuple[str, ...]
    root: Oid
    branches: tuple[BranchName, ...]
    conversation: ConversationId | None


def delete_on_remote(
    repository: Repository, remote: Remote, names: Sequence[str], connection: Connection, *, dry_run: bool = False
) -> DeletedOnRemote:
    """Delete conversations, or branches as CONV/BRANCH, from a remote; nothing is deleted here.

    A conversation in the trash is found by its id, too. A later push sends a deleted conversation again only if it is
    named. It is deleted from every repository of the remote that has it. A dry run contacts the remote, too, and
    changes nothing.

    Raises:
        NotFound, Ambiguous: a name cannot be resolved.
        Invalid: a conversation is named twice, or together with one of its branches.
        Refused: a branch is main, or the only one.
        Inaccessible: the remote does not answer.
    """
    members = list_members(repository, remote)
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        there = list_there(repository, members, quarantine, connection)
    every = {name: oid for listed in there.values() for name, oid in listed.items()}
    targets = _join_branches(_resolve(repository, members[0].name, text, every) for text in dict.fromkeys(names))
    planned = [
        each
        for member, listed in there.items()
        for target in targets
        for each in _plan_all(
            repository, member, target, {n: oid for n, oid in listed.items() if n.root == target.root}, connection
        )
    ]
    left: tuple[Note, ...] = ()
    if dry_run:
        found = [each._replace(status="deleted") if each.status == "planned" else each for each in planned]
    else:
        found = [*planned, *_push(repository, members, planned, connection)]
        _remember(repository, members[0].name, targets, found)
        left = _delete_sources(repository, members, found, every, connection)
    rows = tuple(
        row for target in targets for row in _rows_of(target, [each for each in found if each.target == target])
    )
    notes = (*left, *((_KEPT,) if any(row.status == "deleted" for row in rows) else ()))
    first = members[0]
    return DeletedOnRemote(remote=first.name, address=first.address.text, names=rows, dry_run=dry_run, notes=notes)


class _Found(NamedTuple):
    """A name in one repository of the remote, and the result of deleting it there.

    status: `planned` if `update` is still to be pushed; reason: as in `DeletedName`
    """

    target: _Target
    remote: Remote
    status: DeletedStatus | Literal["planned"]
    update: RefUpdate | None = None
    reason: str | None = None


def _delete_sources(
    repository: Repository,
    members: Iterable[Remote],
    found: Sequence[_Found],
    there: Collection[RemoteName],
    connection: Connection,
) -> tuple[Note, ...]:
    """Delete the original files of conversations from each repository that does not have the conversation any more."""
    notes: dict[Note, None] = {}
    for member in members:
        here = [each for each in found if each.remote == member and not each.target.branches]
        kept = {each.target.root for each in here if each.status == "refused"}
        gone = dict.fromkeys(each.target for each in here if each.target.root not in kept)
        notes |= dict.fromkeys(delete_sources(repository, member, [*_names_of(repository, gone, there)], connection))
    return tuple(notes)


def _names_of(
    repository: Repository, targets: Iterable[_Target], there: Collection[RemoteName]
) -> Iterator[RemoteName]:
    """Yield the names of conversations on the remote; those that it no longer has only if they are here."""
    for target in targets:
        names = [name for name in there if name.root == target.root]
        if not names and target.conversation is not None:
            names = [name_of_conversation(repository, target.conversation)]
        yield from names


def _push(
    repository: Repository, members: Iterable[Remote], planned: Sequence[_Found], connection: Connection
) -> Iterator[_Found]:
    """Push the planned updates to each repository, and yield the results."""
    for member in members:
        of_ref = {each.update.ref: each for each in planned if each.remote == member and each.update is not None}
        if not of_ref:
            continue
        with quarantine_of(repository) as quarantine:  # which has the new manifests
            transport = connection.open(quarantine, member.address)
            for status in transport.push([each.update for each in of_ref.values() if each.update is not None]):
                each = of_ref[status.update.ref]
                reason = None if status.reason is None else _MOVED if status.moved else status.reason
                done = each.reason if reason is None else reason
                yield each._replace(status="deleted" if reason is None else "refused", reason=done)


def _rows_of(target: _Target, found: Sequence[_Found]) -> Iterator[DeletedName]:
    """Yield a row for each name of a target, all with the result for the target."""
    reason = next((each.reason for each in found if each.status == "refused"), None)
    status: DeletedStatus = "refused"
    if reason is None:
        deleted = [each.reason for each in found if each.status == "deleted"]
        status = "deleted" if deleted else "absent"
        reason = next((each for each in deleted if each is not None), None)
    yield from (DeletedName(text, target.root, status, reason) for text in target.texts)


def _join_branches(targets: Iterable[_Target]) -> list[_Target]:
    """Return one target for each conversation, with all branches of it that were named.

    Raises:
        Invalid: a conversation is named twice, or together with a branch of it.
    """
    found: dict[Oid, _Target] = {}
    for each in targets:
        known = found.get(each.root)
        if known is None:
            found[each.root] = each
            continue
        if not (known.branches and each.branches):
            named = f"{known.texts[0]} and {each.texts[0]} are one conversation, or one is a part of the other"
            raise Invalid(named, hint="name the conversation once, or branches of it")
        texts, branches = (*known.texts, *each.texts), (*known.branches, *each.branches)
        found[each.root] = known._replace(texts=texts, branches=branches)
    return list(found.values())


def _resolve(repository: Repository, remote: str, text: str, there: Mapping[RemoteName, Oid]) -> _Target:
    name, slash, branch = text.partition("/")
    branches = (BranchName(branch.removeprefix(HEADS_FORM)),) if slash else ()
    try:
        conversation = resolve_conversation(repository, name)
    except NotFound:
        root = _find_in_trash(repository, name)
        found = find_root_there(remote, there, name) if root is None else root
        return _Target((text,), found, branches, None)
    root = find_root_commit(repository, conversation)
    if root is None:
        raise NotFound(f"the history of {conversation} has no root", hint="see: scopes verify")
    return _Target((text,), root, branches, conversation)


def _find_in_trash(repository: Repository, name: str) -> Oid | None:
    """Return the root of a conversation that was deleted here."""
    for ref, oid in repository.list_refs(f"{TRASH}{name}/").items():
        if "/heads/" in ref:
            commit = read_commit(repository, Oid(oid))
            while not is_root(commit) and commit.parents:
                commit = read_commit(repository, commit.parents[0])
            return commit.oid
    return None


def _plan_all(
    repository: Repository, remote: Remote, target: _Target, there: Mapping[RemoteName, Oid], connection: Connection
) -> list[_Found]:
    """Return what to do with the refs of a repository of the remote whose names end with the root of a target.

    All of them are deleted with the conversation: the others are not valid conversations, but keep its objects alive.
    """
    own = find_own_name(repository, target.root)
    if own is None and target.branches and len(there) > 1:
        return [_Found(target, remote, "refused", reason=f"{len(there)} refs of the remote end in its root: {_SEE}")]
    planned = []
    for name, value in there.items():
        if own is None or name == own:
            update = _plan(repository, remote, target, name, value)
            reason = None
            if update is None:
                reason = None if target.branches else _find_fault(repository, remote, name, connection)
                if reason is None:
                    return [_Found(target, remote, "refused", reason=_MOVED)]
                update = RefUpdate(name.ref, value, None)
            planned.append(_Found(target, remote, "planned", update, reason))
        elif not target.branches:
            planned.append(_Found(target, remote, "planned", RefUpdate(name.ref, value, None)))
    return planned or [_Found(target, remote, "absent")]


def _find_fault(repository: Repository, remote: Remote, name: RemoteName, connection: Connection) -> str | None:
    """Return why a conversation of the remote fails a check, so that no fetch can show it; nothing is stored."""
    with (
        quarantine_of(repository, knows_remotes=False) as quarantine,
        fetch_acceptable(repository, remote, connection, quarantine, [refspec_of(name)]) as (_, incoming),
    ):
        error = incoming.refused.get(name.ref)
    if isinstance(error, PurgedHere):
        return "what was there had something that was purged here"
    return None if error is None or isinstance(error, TooNew) else f"what was there: {error.message}"


def _plan(repository: Repository, remote: Remote, target: _Target, name: RemoteName, value: Oid) -> RefUpdate | None:
    """Return the update of a ref of the remote; None if its current value was never seen here."""
    seen = repository.find_ref(tracking_ref(remote.name, target.root))
    if not target.branches:
        return RefUpdate(name.ref, value, None) if seen in {None, value} else None
    if seen != value:
        return None
    return RefUpdate(name.ref, value, _without_branches(repository, name, read_manifest(repository, value), target))


def _without_branches(repository: Repository, name: RemoteName, stored: StoredManifest, target: _Target) -> Oid:
    """Write the next manifest of a conversation, without some branches, and return it."""
    branches = dict(stored.manifest.branches)
    entries = {} if target.conversation is None else read_metadata(repository, target.conversation).branches
    keys: set[str] = set()
    for text, local in zip(target.texts, target.branches, strict=True):
        named = [key for key, branch in branches.items() if branch.name == local]
        own = branch_id(local, entries.get(local))
        key = own if own in branches else next(iter(named), None)
        if key is None:
            known = ", ".join(sorted(branch.name for branch in branches.values())[:5])
            raise NotFound(f"the remote has no branch {text}", hint=f"it has: {known}")
        keys.add(key)
        if branches[key].name == MAIN or len(branches) == len(keys):
            hint = f"delete the conversation there: scopes push --delete {quote(text.partition('/')[0])}"
            raise Refused(f"{text} is main or the only branch", hint=hint)
    branches = {key: branch for key, branch in branches.items() if key not in keys}
    time = newest_time(repository, (branch.tip for branch in branches.values()))
    manifest = summarize(repository, stored.manifest._replace(branches=branches, newest=format_seconds(time)))
    shown = target.conversation or ConversationId(target.root[:_DIGITS])
    outgoing = Outgoing(shown, name, stored, manifest, stored.meta, time, 0, ())
    with shared_write(repository):  # all of it is on the remote already
        cleared = clear_for_push(repository, repository, outgoing, gate_of(repository, "allow"))
        return outgoing.write(repository, cleared)


def _names_in_file(target: _Target) -> list[str]:
    return [name_branch(target.root, branch) for branch in target.branches] or [target.root]


def _remember(repository: Repository, remote: str, targets: Sequence[_Target], found: Sequence[_Found]) -> None:
    """Record what the remote has now, and which conversations a push sends again only if they are named."""
    refused = {each.target.root for each in found if each.status == "refused"}
    done = [target for target in targets if target.root not in refused]
    with exclusive_write(repository):
        remember_deleted(repository, remote, [name for target in done for name in _names_in_file(target)])
        tx = RefTransaction(repository)
        after: dict[str, tuple[str, Oid | None]] = {}  # once for each conversation, whatever refs it had there
        for each in found:
            ref = tracking_ref(each.remote.name, each.target.root)
            before, update = repository.find_ref(ref), each.update
            if before is None:
                continue
            if each.status == "absent":
                after[ref] = (before, None)
            elif each.status == "deleted" and update is not None and (before == update.old or each.reason is not None):
                after[ref] = (before, update.new)
        for ref, (old, new) in after.items():
            tx.move_ref(ref, old, new)
        if tx:
            number = sum(len(target.texts) for target in done)
            tx.commit("push", f"delete {number} {plural(number, 'name')} from {remote}")
