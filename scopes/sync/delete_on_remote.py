"""`push --delete`: remove conversations, or branches of them, from a remote, if it still has what was last seen.

A conversation is one ref there, which is deleted. A branch is left out of a new manifest; the manifests before it keep
its messages, as they keep what a forced push leaves out. Nothing is removed here, and nothing from those who have it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.clock import format_seconds
from scopes.errors import Invalid, NotFound, Refused, TooNew
from scopes.history.ambiguous_names import HEADS_FORM
from scopes.history.messages import is_root
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN, find_root_commit, resolve_conversation
from scopes.history.transaction import RefTransaction
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.conversation import branch_id
from scopes.result import Note, Result, plural
from scopes.secrets.gates import gate_of
from scopes.store.refs import TRASH
from scopes.store.repository import Repository, read_commit
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
from scopes.sync.names import RemoteName, find_own_name, tracking_ref
from scopes.sync.outgoing import Outgoing
from scopes.sync.remote_selection import find_root_there, refspec_of
from scopes.sync.remotes import Remote
from scopes.sync.source_push import delete_sources

DeletedStatus: TypeAlias = Literal["deleted", "absent", "refused"]
_KEPT: Final = Note(
    "who has fetched it keeps it, and who knows the ids can get it from the server until that cleans up",
    "to remove content for good, also from those who fetch: scopes purge, then: scopes push --purged",
)
_DIGITS: Final = 12
_SEE: Final = "see it first: scopes fetch"
_MOVED: Final = f"the remote has something newer: {_SEE}"


class DeletedName(NamedTuple):
    """What became of a name that was to be deleted; `absent` if the remote did not have it any more.

    reason: why it was refused; or, of something that was no conversation that scopes takes, what was there
    """

    name: str
    root: Oid
    status: DeletedStatus
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOnRemote(Result):
    """What was deleted from a remote, or with `dry_run` would be."""

    remote: str
    address: str
    names: tuple[DeletedName, ...]
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        """1 if something was refused."""
        return 1 if any(each.status == "refused" for each in self.names) else 0


class _Target(NamedTuple):
    """What a name means: the root, the branch if one was named, and the conversation if it is here."""

    text: str
    root: Oid
    branch: str | None
    conversation: ConversationId | None


def delete_on_remote(
    repository: Repository, remote: Remote, names: Sequence[str], connection: Connection, *, dry_run: bool = False
) -> DeletedOnRemote:
    """Delete conversations, or branches as CONV/BRANCH, from a remote; nothing is deleted here.

    What was deleted here before is found by its id, too. A later push sends it again only if it is named. It is deleted
    from the repository of the remote that has it; should several have it, from all of them. A dry run asks the remote,
    too, and changes nothing.

    Raises:
        NotFound, Ambiguous: a name cannot be resolved.
        Invalid: a conversation is named together with one of its branches.
        Refused: a branch is main, or the only one.
        Inaccessible: the remote does not answer.
    """
    members = list_members(repository, remote)
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        there = list_there(repository, members, quarantine, connection)
    every = {name: oid for listed in there.values() for name, oid in listed.items()}
    targets = [_resolve(repository, members[0].name, text, every) for text in dict.fromkeys(names)]
    if len({each.root for each in targets}) < len(targets):
        raise Invalid("a conversation is named twice", hint="name it once, or one branch of it at a time")
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
    rows = tuple(_row_of(target, [each for each in found if each.target == target]) for target in targets)
    notes = (*left, *((_KEPT,) if any(row.status == "deleted" for row in rows) else ()))
    first = members[0]
    return DeletedOnRemote(remote=first.name, address=first.address.text, names=rows, dry_run=dry_run, notes=notes)


class _Found(NamedTuple):
    """A name in one repository of the remote, and what became of it there.

    status: `planned` if `update` is still to be pushed; reason: why it was refused, or what was there
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
        here = [each for each in found if each.remote == member and each.target.branch is None]
        kept = {each.target.root for each in here if each.status == "refused"}
        gone = dict.fromkeys(each.target for each in here if each.target.root not in kept)
        notes |= dict.fromkeys(delete_sources(repository, member, [*_names_of(repository, gone, there)], connection))
    return tuple(notes)


def _names_of(
    repository: Repository, targets: Iterable[_Target], there: Collection[RemoteName]
) -> Iterator[RemoteName]:
    """Yield the names of conversations on the remote; of one that it does not have any more, if it is here."""
    for target in targets:
        names = [name for name in there if name.root == target.root]
        if not names and target.conversation is not None:
            names = [name_of_conversation(repository, target.conversation)]
        yield from names


def _push(
    repository: Repository, members: Iterable[Remote], planned: Sequence[_Found], connection: Connection
) -> Iterator[_Found]:
    """Push what was planned to each repository, and yield what became of it."""
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


def _row_of(target: _Target, found: Sequence[_Found]) -> DeletedName:
    reason = next((each.reason for each in found if each.status == "refused"), None)
    if reason is not None:
        return DeletedName(target.text, target.root, "refused", reason)
    deleted = [each.reason for each in found if each.status == "deleted"]
    shown = next((each for each in deleted if each is not None), None)
    return DeletedName(target.text, target.root, "deleted" if deleted else "absent", shown)


def _resolve(repository: Repository, remote: str, text: str, there: Mapping[RemoteName, Oid]) -> _Target:
    name, slash, branch = text.partition("/")
    branch = branch.removeprefix(HEADS_FORM)
    try:
        conversation = resolve_conversation(repository, name)
    except NotFound:
        root = _find_in_trash(repository, name)
        found = find_root_there(remote, there, name) if root is None else root
        return _Target(text, found, branch if slash else None, None)
    root = find_root_commit(repository, conversation)
    if root is None:
        raise NotFound(f"the history of {conversation} has no root", hint="see: scopes verify")
    return _Target(text, root, branch if slash else None, conversation)


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
    """Return what to do with the refs of a repository of the remote that end in the root of a target.

    All of them are deleted with the conversation: the others are no conversations, but keep what is in it.
    """
    own = find_own_name(repository, target.root)
    if own is None and target.branch is not None and len(there) > 1:
        return [_Found(target, remote, "refused", reason=f"{len(there)} refs of the remote end in its root: {_SEE}")]
    planned = []
    for name, value in there.items():
        if own is None or name == own:
            update = _plan(repository, remote, target, name, value)
            reason = None
            if update is None:
                reason = None if target.branch else _find_fault(repository, remote, name, connection)
                if reason is None:
                    return [_Found(target, remote, "refused", reason=_MOVED)]
                update = RefUpdate(name.ref, value, None)
            planned.append(_Found(target, remote, "planned", update, reason))
        elif target.branch is None:
            planned.append(_Found(target, remote, "planned", RefUpdate(name.ref, value, None)))
    return planned or [_Found(target, remote, "absent")]


def _find_fault(repository: Repository, remote: Remote, name: RemoteName, connection: Connection) -> str | None:
    """Return why a conversation of the remote is not acceptable, so that no fetch can show it; nothing is taken."""
    with (
        quarantine_of(repository) as quarantine,
        fetch_acceptable(repository, remote, connection, quarantine, [refspec_of(name)]) as (_, incoming),
    ):
        error = incoming.refused.get(name.ref)
    if isinstance(error, PurgedHere):
        return "what was there had something that was purged here"
    return None if error is None or isinstance(error, TooNew) else f"what was there: {error.message}"


def _plan(repository: Repository, remote: Remote, target: _Target, name: RemoteName, value: Oid) -> RefUpdate | None:
    """Return the change of a ref of the remote; None if its value was never seen here."""
    seen = repository.find_ref(tracking_ref(remote.name, target.root))
    if target.branch is None:
        return RefUpdate(name.ref, value, None) if seen in {None, value} else None
    if seen != value:
        return None
    return RefUpdate(name.ref, value, _without_branch(repository, name, read_manifest(repository, value), target))


def _without_branch(repository: Repository, name: RemoteName, stored: StoredManifest, target: _Target) -> Oid:
    """Write the next manifest of a conversation, without a branch, and return it."""
    branches = dict(stored.manifest.branches)
    entries = {} if target.conversation is None else read_metadata(repository, target.conversation).branches
    local = BranchName(target.branch or "")
    named = [key for key, branch in branches.items() if branch.name == local]
    own = branch_id(local, entries.get(local))
    key = own if own in branches else next(iter(named), None)
    if key is None:
        known = ", ".join(sorted(branch.name for branch in branches.values())[:5])
        raise NotFound(f"the remote has no branch {target.text}", hint=f"it has: {known}")
    if branches[key].name == MAIN or len(branches) == 1:
        conversation = target.text.partition("/")[0]
        hint = f"delete the conversation there: scopes push --delete {conversation}"
        raise Refused(f"{target.text} is main or the only branch", hint=hint)
    del branches[key]
    time = newest_time(repository, (branch.tip for branch in branches.values()))
    manifest = stored.manifest._replace(branches=branches, newest=format_seconds(time))
    shown = target.conversation or ConversationId(target.root[:_DIGITS])
    outgoing = Outgoing(shown, name, stored, manifest, stored.meta, time, 0, (), 0)
    with shared_write(repository):  # all of it is on the remote already
        cleared = clear_for_push(repository, repository, outgoing, gate_of(repository, "allow"))
        return outgoing.write(repository, cleared)


def _name_in_file(target: _Target) -> str:
    return target.root if target.branch is None else name_branch(target.root, BranchName(target.branch))


def _remember(repository: Repository, remote: str, targets: Sequence[_Target], found: Sequence[_Found]) -> None:
    """Record what the remote has now, and which conversations no push sends again by itself."""
    refused = {each.target.root for each in found if each.status == "refused"}
    done = [target for target in targets if target.root not in refused]
    with exclusive_write(repository):
        remember_deleted(repository, remote, map(_name_in_file, done))
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
            tx.commit("push", f"delete {len(done)} {plural(len(done), 'name')} from {remote}")
