"""Decide what a push of a conversation would send: its next manifest on a remote. Nothing is written here.

No branch of the remote is lost: one with messages that are not in the local branch is not changed, unless the caller
forces it; one that does not exist here is kept, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from scopes.clock import format_seconds
from scopes.errors import Corrupt, NotFound, Refused
from scopes.history.messages import is_root, message_id_of
from scopes.history.metadata import TITLE, decode_line, read_metadata_at
from scopes.history.names import MAIN, list_branch_tips
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.conversation import (
    CONFLICT_RESOLUTION,
    MAX_BRANCHES,
    MAX_TITLE,
    BranchEntry,
    Manifest,
    ManifestBranch,
    branch_id,
    encode_manifest,
)
from scopes.secret_scan.clearance import Cleared
from scopes.store import refs
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import EMPTY_TREE, Commit, Objects, find_blob, read_commit
from scopes.store.repository import Repository
from scopes.sync.clocks_ahead import find_own_ahead
from scopes.sync.grown_tips import find_grown
from scopes.sync.join import shared_tree
from scopes.sync.local_conversations import name_of_conversation, newest_time
from scopes.sync.manifest import StoredManifest, read_manifest, write_manifest
from scopes.sync.manifest_summary import has_lost_prompt, summarize
from scopes.sync.names import RemoteName, name_on_remote, read_root_document, tracking_ref
from scopes.sync.registers import State, branch_names, read_state
from scopes.sync.removed_names import choose_removed


class LeftOut(NamedTuple):
    """A branch of the remote that loses messages by a forced push.

    messages: how many; tip: the tip that the remote had; instead: the tip that it gets
    """

    branch: BranchName
    messages: int
    tip: Oid
    instead: Oid


class Outgoing(NamedTuple):
    """The planned push of one conversation to a remote.

    previous: the manifest that the remote had when it was last seen
    meta: the tree of the metadata; None if there is none
    new_messages: how many the remote does not have
    diverged: branches whose messages on the remote are not in the local branch
    behind: branches whose tips are ancestors of the remote's
    new: the commits that the remote does not have, children before parents
    deleted: branches that the remote had, and that somebody has deleted there
    ahead: registers that this machine has changed with a time in the future
    unsent: deleted branches with messages that the remote never had, and how many
    left_out: branches that lose messages on the remote by a forced push
    restored: branches that somebody has deleted there, and that a forced push sends again
    """

    conversation: ConversationId
    name: RemoteName
    previous: StoredManifest | None
    manifest: Manifest
    meta: Oid | None
    time: int
    new_messages: int
    diverged: tuple[BranchName, ...]
    behind: tuple[BranchName, ...] = ()
    new: Sequence[Commit] = ()
    deleted: tuple[BranchName, ...] = ()
    ahead: tuple[str, ...] = ()
    unsent: Mapping[BranchName, int] = MappingProxyType({})
    left_out: tuple[LeftOut, ...] = ()
    restored: tuple[BranchName, ...] = ()

    @property
    def is_new(self) -> bool:
        """Return True if the remote lacks something of it."""
        if self.previous is None:
            return True
        before = self.previous.manifest
        return (before.branches, before.prompt, self.previous.meta) != (
            self.manifest.branches,
            self.manifest.prompt,
            self.meta,
        )

    @property
    def previous_oid(self) -> Oid | None:
        """The manifest that the remote had."""
        return None if self.previous is None else self.previous.oid

    @property
    def encoded(self) -> bytes:
        """The next manifest as bytes, to be cleared by a gate."""
        return encode_manifest(self.manifest)

    def write(self, objects: Objects, cleared: Cleared) -> Oid:
        """Write the next manifest, which a gate has cleared together with all that it reaches, and return it.

        Raises:
            ValueError: another one was cleared.
        """
        if cleared.data != self.encoded:
            raise ValueError("this manifest was not cleared")
        return write_manifest(objects, self.manifest, self.meta, self.previous_oid, self.time)


def plan_push(
    repository: Repository,
    remote: str | None,
    conversation: ConversationId,
    objects: Objects,
    *,
    force: bool | Collection[BranchName] = False,
    restore: bool = True,
    local: Mapping[BranchName, Oid] | None = None,
    find_ref: Callable[[str], str | None] | None = None,
    all_removed: bool = False,
) -> Outgoing:
    """Return what a push would send; write the tree of the metadata, without local values, into `objects`.

    remote: None if the receiver has nothing, such as a bundle
    local: the tips of the branches here, if they are known
    force: also move branches of the remote that have other messages, all or some
    restore: also send forced branches again that somebody has deleted there
    find_ref: returns the value of a ref, if all refs were already read
    all_removed: also record the removal of tags and branches whose names may have a secret and that no remote has

    Raises:
        Refused: the conversation has too many branches.
        Corrupt, NotFound: it is damaged.
    """
    find_ref = find_ref or repository.find_ref
    metadata = find_ref(refs.meta_ref(conversation))
    entries = {} if metadata is None else read_metadata_at(repository, Oid(metadata)).branches
    root = _read_root(repository, conversation, entries)
    name = name_on_remote(repository, root)
    tracked = None if remote is None else find_ref(tracking_ref(remote, name.root))
    previous = None if tracked is None else read_manifest(repository, Oid(tracked))
    there = {} if previous is None else previous.manifest.branches
    meta, ahead = (
        (None, ())
        if metadata is None
        else _shared_metadata(repository, objects, name.root, Oid(metadata), all_removed=all_removed)
    )
    local = list_branch_tips(repository, conversation) if local is None else local
    forced = (local if force else ()) if isinstance(force, bool) else force
    missing = {} if previous is None else _find_deleted(repository, entries, local, previous)
    deleted = {name: tip for name, tip in missing.items() if not (restore and name in forced)}
    kept = {name: tip for name, tip in local.items() if name not in deleted}
    chosen = _choose_tips(repository, entries, kept, there, forced=forced)
    tips = chosen.tips
    names = {} if meta is None else branch_names(read_state(objects, meta))
    if len(tips) > MAX_BRANCHES:
        raise Refused(
            f"{conversation} has more than {MAX_BRANCHES} branches",
            hint="delete some: scopes branch -d CONV BRANCH",
        )
    new = _list_new(repository, [tip for _, tip in tips.values()], there)
    counts = _Counts(repository, there.values(), new)
    branches = {
        key: ManifestBranch(names.get(key, branch), tip, counts.count(tip))
        for key, (branch, tip) in sorted(tips.items())
    }
    time = newest_time(repository, (branch.tip for branch in branches.values()))
    title = None if meta is None else find_blob(objects, meta, TITLE)
    manifest = Manifest(
        title=None if title is None else decode_line(title)[:MAX_TITLE],
        project=name.project,
        created=read_root_document(repository, root).created[:64],
        newest=format_seconds(time),
        branches=branches,
    )
    if previous is not None and (there, previous.meta) == (branches, meta) and not has_lost_prompt(previous.manifest):
        manifest = manifest._replace(prompt=previous.manifest.prompt, messages=previous.manifest.messages)
    else:
        manifest = summarize(repository, manifest, {commit.oid: commit for commit in new})
    messages = sum(not is_root(commit) for commit in new)
    return Outgoing(
        conversation, name, previous, manifest, meta, time, messages, chosen.diverged, chosen.behind,
        new, tuple(deleted), ahead, _count_unsent(repository, local, there, deleted), chosen.left_out,
        tuple(name for name in missing if name not in deleted),
    )  # fmt: skip


def _shared_metadata(
    repository: Repository, objects: Objects, root: Oid, metadata: Oid, *, all_removed: bool
) -> tuple[Oid | None, tuple[str, ...]]:
    """Return the metadata tree to send, None if it is empty; and the registers with a time in the future."""
    ahead: tuple[str, ...] = ()

    def choose_local(state: State) -> frozenset[str]:
        nonlocal ahead
        ahead = find_own_ahead(repository, state)
        return frozenset() if all_removed else choose_removed(repository, objects, root, state)

    tree = shared_tree(objects, metadata, choose_local=choose_local)
    return None if tree == EMPTY_TREE else tree, ahead


def _find_deleted(
    repository: Repository,
    entries: Mapping[BranchName, BranchEntry],
    local: Mapping[BranchName, Oid],
    previous: StoredManifest,
) -> dict[BranchName, Oid]:
    """Return the local branches that only an earlier manifest of the remote has, with their last tips there.

    A push never drops a branch of the remote, so somebody has deleted such a branch there.
    """
    keys = {name: branch_id(name, entries.get(name)) for name in local}
    missing = {key for key in keys.values() if key not in previous.manifest.branches}
    found: dict[str, Oid] = {}
    stored = previous
    while missing - found.keys() and stored.previous is not None:
        try:
            stored = read_manifest(repository, stored.previous)
        except (Corrupt, NotFound):  # `verify` names it
            break
        there = stored.manifest.branches
        found |= {key: there[key].tip for key in missing - found.keys() if key in there}
    return {name: found[keys[name]] for name in keys if keys[name] in found}


def _count_unsent(
    repository: Repository,
    local: Mapping[BranchName, Oid],
    there: Mapping[str, ManifestBranch],
    deleted: Mapping[BranchName, Oid],
) -> dict[BranchName, int]:
    """Return how many messages deleted branches have here that the remote never had; others are left out."""
    found: dict[BranchName, int] = {}
    for name, before in deleted.items():
        known = [oid for oid in (before, *(branch.tip for branch in there.values())) if repository.has(oid)]
        number = 0 if local[name] == before else _count_between(repository, local[name], known)
        found |= {name: number} if number else {}
    return found


def _count_between(repository: Repository, tip: Oid, known: Iterable[Oid]) -> int:
    """Return how many messages a tip reaches and known commits do not."""
    hidden = {commit.oid for commit in walk_newest_first(repository, known)}
    return sum(not is_root(commit) for commit in walk_newest_first(repository, [tip], hidden=hidden))


def count_unseen(repository: Repository, left_out: LeftOut, seen: Iterable[Oid]) -> int:
    """Return how many messages that a push would remove from a branch are not reachable from the commits `seen`."""
    known = [oid for oid in (left_out.instead, *seen) if repository.has(oid)]
    return _count_between(repository, left_out.tip, known)


def _read_root(
    repository: Repository, conversation: ConversationId, entries: Mapping[BranchName, BranchEntry]
) -> Commit:
    """Return the root commit, from the entry of main, or as `find_root_commit` finds it."""
    main = entries.get(MAIN)
    if main is not None and main.fork is not None and repository.has(main.fork):
        commit = read_commit(repository, main.fork)
        if is_root(commit):
            return commit
    return read_commit(repository, name_of_conversation(repository, conversation).root)


class _Chosen(NamedTuple):
    """The chosen name and tip of every branch by id, the local branches that differ.

    left_out: branches that lose messages on the remote, because they are forced
    """

    tips: dict[str, tuple[BranchName, Oid]]
    diverged: tuple[BranchName, ...]
    behind: tuple[BranchName, ...]
    left_out: tuple[LeftOut, ...]


def _choose_tips(
    repository: Repository,
    entries: Mapping[BranchName, BranchEntry],
    local: Mapping[BranchName, Oid],
    there: Mapping[str, ManifestBranch],
    *,
    forced: Container[BranchName],
) -> _Chosen:
    chosen = {key: (branch.name, branch.tip) for key, branch in there.items()}
    diverged: list[BranchName] = []
    behind: list[BranchName] = []
    left_out: list[LeftOut] = []
    for name, tip in local.items():
        entry = entries.get(name)
        if entry is not None and entry.purpose == CONFLICT_RESOLUTION:
            continue
        key = branch_id(name, entry)
        before = None if key not in there else there[key].tip
        if before is None or is_ancestor(repository, before, tip):
            chosen[key] = (name, tip)
        elif name in forced:
            chosen[key] = (name, tip)
            if find_grown(repository, tip, before) != "ours":
                left_out.append(LeftOut(name, _count_between(repository, before, [tip]), before, tip))
        elif is_ancestor(repository, tip, before):
            behind += [name] if tip != before else []
        else:
            longer = find_grown(repository, tip, before)
            if longer == "ours":
                chosen[key] = (name, tip)
            elif longer is None:
                diverged.append(name)
    return _Chosen(chosen, tuple(diverged), tuple(behind), tuple(left_out))


class _Counts:
    """Counts the messages of branches; in a linear history each commit is read once.

    `commits` were already read.
    """

    def __init__(self, repository: Repository, known: Iterable[ManifestBranch], commits: Iterable[Commit]) -> None:
        self._repository = repository
        self._known: dict[Oid, int] = {branch.tip: branch.messages for branch in known}
        self._commits = {commit.oid: commit for commit in commits}

    def count(self, tip: Oid) -> int:
        """Return the number of messages that a tip reaches, each id once."""
        line: list[Oid] = []
        oid, below = tip, 0
        while True:
            if oid in self._known:
                below = self._known[oid]
                break
            commit = self._commits.get(oid) or read_commit(self._repository, oid)
            if is_root(commit) or not commit.parents:
                break
            if len(commit.parents) > 1:
                below = self._count_all(oid)
                break
            line.append(oid)
            oid = commit.parents[0]
        for number, each in enumerate(reversed(line), below + 1):
            self._known[each] = number
        self._known[oid] = below
        return below + len(line)

    def _count_all(self, tip: Oid) -> int:
        commits = walk_newest_first(self._repository, [tip], known=self._commits)
        return len({message_id_of(commit) for commit in commits if not is_root(commit)})


def _list_new(repository: Repository, tips: Iterable[Oid], there: Mapping[str, ManifestBranch]) -> list[Commit]:
    """Return the commits that tips reach and the branches of the remote do not, children before parents."""
    before = list(dict.fromkeys(branch.tip for branch in there.values()))
    wanted = [oid for oid in dict.fromkeys(tips) if oid not in before]
    hidden = {commit.oid for commit in walk_newest_first(repository, before)} if wanted and before else set()
    return list(walk_newest_first(repository, wanted, hidden=hidden))
