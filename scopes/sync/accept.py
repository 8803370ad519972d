"""Add checked conversations to the store: ref changes for branches, metadata and tracking refs, in one operation.

A branch that has messages which the remote lacks is not moved, and a local branch keeps its name. A conversation or
branch that was deleted here does not come back; a conversation whose creation was undone does, if the user names it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from scopes.errors import Refused
from scopes.history.metadata import TITLE, Clock, decode_line, read_metadata
from scopes.history.names import MAIN, list_branch_tips
from scopes.history.transaction import RefTransaction
from scopes.ids import BranchName, ConversationId, Oid, free_name
from scopes.model.canonical_json import decode_component
from scopes.model.conversation import ManifestBranch, branch_id
from scopes.result import HIDDEN, OMIT_EMPTY
from scopes.store import refs
from scopes.store.config import find_machine_id
from scopes.store.graph import is_ancestor
from scopes.store.objects import Objects
from scopes.store.refs import RefNameConflicts
from scopes.store.repository import Repository
from scopes.sync.deleted_there import read_deleted
from scopes.sync.format_check import ReceivedConversation
from scopes.sync.join import Replaced, receive_metadata
from scopes.sync.local_conversations import list_roots_in_trash
from scopes.sync.manifest import StoredManifest, read_manifest
from scopes.sync.names import tracking_ref
from scopes.sync.registers import is_misleading

Status: TypeAlias = Literal["new", "updated", "unchanged", "deleted", "refused", "unacceptable"]
BranchState: TypeAlias = Literal["created", "moved", "same", "ahead", "diverged", "grown", "deleted"]
_NUMBER = len("conv-")
_SHOWN_ROOT = 12
_MAX_TITLE = 300  # characters
_STATES: tuple[BranchState, ...] = ("created", "moved", "grown", "ahead", "diverged")
TAGS = "tags"
_SHOWN = (TITLE, f"{TAGS}/")


@dataclass(frozen=True, slots=True)
class FetchedBranch:
    """Result of fetching one branch; `local` is its name here, `messages` its number of messages on the remote.

    state: `grown` if the last message here came from an earlier import, and was replaced by that of the remote
    new: for a branch that was deleted here, the number of messages that the remote has got since it was last seen
    """

    name: BranchName
    local: BranchName | None
    state: BranchState
    messages: int
    new: int = field(default=0, metadata=OMIT_EMPTY)


class ReplacedValue(NamedTuple):
    """A title or a tag that was set on this machine, and that the fetch replaced; `after` is None if it was removed."""

    tag: str | None
    before: str
    after: str | None


class RenamedBranch(NamedTuple):
    """A branch that somebody else has renamed: its name here before and after the fetch.

    Only branches that this machine had named, and the active branch, are reported.

    own: whether this machine gave it the name before; active: whether it is the active branch
    """

    before: BranchName
    after: BranchName
    own: bool
    active: bool


@dataclass(frozen=True, slots=True)
class FetchedConversation:
    """Result of fetching one conversation; `replaced` are values that were set on this machine.

    title: after a fetch it may be the beginning of the first prompt
    status: `deleted` if it was deleted here before, `refused` if it could not be joined, `unacceptable` if it failed a
        check, given by `reason`
    deleted: branches that are here, and that somebody has deleted on the remote since it was last seen
    renamed: branches that this machine had named, or that are active, and that somebody else has renamed
    """

    root: Oid
    conversation: ConversationId | None
    status: Status
    title: str | None
    branches: tuple[FetchedBranch, ...] = ()
    metadata: bool = False
    reason: str | None = None
    replaced: tuple[ReplacedValue, ...] = ()
    deleted: tuple[BranchName, ...] = field(default=(), metadata=HIDDEN)
    renamed: tuple[RenamedBranch, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    def name(self) -> str:
        """The id here, or the beginning of the root of a conversation that is not here."""
        return self.conversation or self.root[:_SHOWN_ROOT]

    @property
    def what(self) -> str:
        """How many branches are in each state, but not those that are as they were."""
        found = [f"{len(self.deleted)} deleted there"] if self.deleted else []
        counts = Counter(branch.state for branch in self.branches)
        found += [f"{counts[state]} {state}" for state in _STATES if counts[state]]
        return ", ".join([*found, *(["metadata"] if self.metadata and self.status == "updated" else [])])

    @property
    def heading(self) -> str:
        """The title, which may be a prompt of any length, or its beginning."""
        return (self.title or "")[:_MAX_TITLE]

    @property
    def text(self) -> str:
        """Why it was not taken, otherwise the heading."""
        return self.reason or self.heading


class Acceptance:
    """Collects the ref changes for conversations of one remote, under the exclusive lock; their objects are stored.

    objects: writes new metadata
    roots: the conversations of this store
    again: the roots of those that come back although the remote had them before
    """

    def __init__(
        self,
        repository: Repository,
        objects: Objects,
        remote: str,
        roots: Mapping[Oid, ConversationId],
        first_id: str,
        *,
        again: Collection[Oid] = (),
    ) -> None:
        self.transaction = RefTransaction(repository)
        self._repository = repository
        self._objects = objects
        self._remote = remote
        self._roots = roots
        self._again = frozenset(again) - roots.keys()
        self._deleted = read_deleted(repository.path, remote)
        self._next_number = int(first_id[_NUMBER:])
        self.older: list[ConversationId] = []  # of which the remote has fewer messages than before
        self.ahead: dict[ConversationId, tuple[str, ...]] = {}  # registers whose clocks are in the future: not accepted

    def add(self, received: ReceivedConversation) -> FetchedConversation:
        """Add the changes for one conversation, and return a row that describes them."""
        newest = received.newest
        root, title = received.name.root, newest.manifest.title
        ref = tracking_ref(self._remote, root)
        before = self._repository.find_ref(ref)
        conversation, comes_again = self._roots.get(root), root in self._again
        if (
            not comes_again
            and before is not None
            and (before == newest.oid or is_ancestor(self._repository, newest.oid, Oid(before)))
        ):
            if before != newest.oid and conversation is not None:
                self.older.append(conversation)
            return FetchedConversation(root, conversation, "unchanged", title)
        known = None if before is None or comes_again else read_manifest(self._repository, Oid(before))
        is_known = known is not None or root in self._deleted or root in self._in_trash
        if conversation is None and is_known and not comes_again:
            self.transaction.move_ref(ref, before, newest.oid)
            return FetchedConversation(root, None, "deleted", title)
        status: Status = "new" if conversation is None else "updated"
        try:
            is_new = conversation is None
            done = _Joined(self, received, known, conversation or self._take_number(), is_new=is_new)
        except Refused as error:
            return FetchedConversation(root, conversation, "refused", title, reason=error.message)
        self.transaction.include(done.transaction)
        self.ahead |= {done.conversation: done.ahead} if done.ahead else {}
        self.transaction.move_ref(ref, before, newest.oid)
        if status == "updated" and not done.has_news:
            status = "unchanged"
        return FetchedConversation(
            root,
            done.conversation,
            status,
            title,
            done.branches,
            done.has_new_metadata,
            None,
            done.replaced,
            done.deleted,
            done.renamed,
        )

    @cached_property
    def _in_trash(self) -> frozenset[Oid]:
        """The roots of conversations that were deleted here."""
        return frozenset(list_roots_in_trash(self._repository))

    def _take_number(self) -> ConversationId:
        number = self._next_number
        self._next_number += 1
        return ConversationId(f"conv-{number:03d}")

    @property
    def repository(self) -> Repository:
        """The store."""
        return self._repository

    @property
    def objects(self) -> Objects:
        """Where new metadata is written."""
        return self._objects


class _Joined:
    """The changes of one conversation; `known` is the manifest that the remote had before."""

    def __init__(
        self,
        acceptance: Acceptance,
        received: ReceivedConversation,
        known: StoredManifest | None,
        conversation: ConversationId,
        *,
        is_new: bool,
    ) -> None:
        self._repository, self._objects = acceptance.repository, acceptance.objects
        self._known = known
        self.replaced: tuple[ReplacedValue, ...] = ()
        self.renamed: tuple[RenamedBranch, ...] = ()
        self.ahead: tuple[str, ...] = ()
        self.conversation = conversation
        self.transaction = RefTransaction(self._repository)
        self._tips = {} if is_new else list_branch_tips(self._repository, conversation)
        entries = {} if is_new else read_metadata(self._repository, conversation).branches
        self._names = {branch_id(name, entries.get(name)): name for name in self._tips}
        meta = refs.meta_ref(conversation)
        ours = None if is_new else self._repository.find_ref(meta)
        joined, names = self._join_metadata(received, None if ours is None else Oid(ours))
        self.branches = tuple(self._add_branches(received.newest.manifest.branches, names))
        gone = () if known is None else known.manifest.branches.keys() - received.newest.manifest.branches.keys()
        self.deleted = tuple(sorted(names.get(key, self._names[key]) for key in gone if key in self._names))
        self.has_new_metadata = joined != ours
        if joined != ours:
            self.transaction.move_ref(meta, ours, joined)
        self._activate()

    @property
    def has_news(self) -> bool:
        """Return True if the remote has something new, a branch differs from the remote's, or a branch was deleted."""
        return (
            self.has_new_metadata
            or bool(self.deleted)
            or any(each.new if each.state == "deleted" else each.state != "same" for each in self.branches)
        )

    def _join_metadata(
        self, received: ReceivedConversation, ours: Oid | None
    ) -> tuple[Oid | None, Mapping[str, BranchName]]:
        """Return the metadata commit after the fetch, and the names that branches have here then, by their ids."""
        newest = received.newest
        if newest.meta is None or (self._known is not None and newest.meta == self._known.meta):
            return ours, {}
        found = receive_metadata(self._objects, ours, newest.meta, newest.time, list(self._tips))
        self.ahead = found.ahead
        renamed = {key: found.names.get(key, name) for key, name in self._names.items()}
        renamed = {key: name for key, name in renamed.items() if name != self._names[key]}
        machine = find_machine_id(self._repository.config) if found.replaced or renamed else None
        own = [each for each in found.replaced if machine is not None and each.clock.machine == machine]
        self.replaced = tuple(_describe(each) for each in own if each.register.startswith(_SHOWN))
        self.renamed = tuple(self._describe_renames(renamed, found.clocks, machine))
        return found.commit, found.names

    def _describe_renames(
        self, renamed: Mapping[str, BranchName], clocks: Mapping[str, Clock], machine: str | None
    ) -> Iterable[RenamedBranch]:
        """Yield the branches with other names that this machine had named, and the active one."""
        active = self._repository.find_ref(refs.active_ref(self.conversation)) if renamed else None
        for key, after in renamed.items():
            before = self._names[key]
            is_own = machine is not None and key in clocks and clocks[key].machine == machine
            is_active = active == refs.SYMBOLIC + refs.branch_ref(self.conversation, before)
            if is_own or is_active:
                yield RenamedBranch(before, after, is_own, is_active)

    def _add_branches(
        self, branches: Mapping[str, ManifestBranch], names: Mapping[str, BranchName]
    ) -> Iterable[FetchedBranch]:
        """Move, rename and create branches; `names` has those that were renamed elsewhere, and new ones, by id."""
        before = {} if self._known is None else self._known.manifest.branches
        after = {key: names.get(key, local) for key, local in self._names.items()}
        tips = {after[key]: self._tips[local] for key, local in self._names.items()}
        taken = RefNameConflicts(tips)
        for key in sorted(branches):
            name, tip, count = branches[key]
            local = after.get(key)
            state: BranchState = "created"
            if local is not None:
                state = self._compare(tips[local], tip)
            elif key in before:
                state = "deleted"
            else:
                local = _free_branch_name(names.get(key, name), taken)
                taken.add(local)
            if local is not None and state in {"created", "moved", "grown"}:
                tips[local] = tip
            new = max(0, count - before[key].messages) if state == "deleted" else 0
            yield FetchedBranch(name, local, state, count, new)
        self._move_branches(tips, {self._names[key]: name for key, name in after.items()})

    def _move_branches(self, tips: Mapping[BranchName, Oid], names: Mapping[BranchName, BranchName]) -> None:
        """Give the branches these tips; `names` has the new name of each that is here."""
        for name in dict.fromkeys((*self._tips, *tips)):
            ref = refs.branch_ref(self.conversation, name)
            self.transaction.move_ref(ref, self._tips.get(name), tips.get(name))
        renamed = {old: new for old, new in names.items() if old != new}
        active = refs.active_ref(self.conversation)
        target = self._repository.find_ref(active) if renamed else None
        for old, new in renamed.items():
            if target == refs.SYMBOLIC + refs.branch_ref(self.conversation, old):
                self.transaction.move_ref(active, target, refs.SYMBOLIC + refs.branch_ref(self.conversation, new))

    def _compare(self, ours: Oid, theirs: Oid) -> BranchState:
        if ours == theirs:
            return "same"
        if is_ancestor(self._repository, ours, theirs):
            return "moved"
        if is_ancestor(self._repository, theirs, ours):
            return "ahead"
        from scopes.sync.grown_tips import find_grown

        longer = find_grown(self._repository, ours, theirs)
        return "diverged" if longer is None else "ahead" if longer == "ours" else "grown"

    def _activate(self) -> None:
        """Choose the active branch of a conversation that is new here."""
        created = [branch.local for branch in self.branches if branch.state == "created" and branch.local is not None]
        if not self._tips and created:
            active = MAIN if MAIN in created else created[0]
            target = refs.SYMBOLIC + refs.branch_ref(self.conversation, active)
            self.transaction.move_ref(refs.active_ref(self.conversation), None, target)


def _describe(replaced: Replaced) -> ReplacedValue:
    folder, _, name = replaced.register.partition("/")
    after = None if replaced.after is None else decode_line(replaced.after)
    return ReplacedValue(decode_component(name) if folder == TAGS else None, decode_line(replaced.before), after)


def _free_branch_name(name: BranchName, taken: RefNameConflicts) -> BranchName:
    """Return a name that conflicts with no branch of the conversation: the name itself if possible."""
    flat = name.replace("/", "-")
    if taken.find(name) is None and not is_misleading(name):
        return name
    used = {flat} if taken.find(flat) is not None or is_misleading(flat) else set()
    candidate = free_name(flat, used)
    while taken.find(candidate) is not None:
        used.add(candidate)
        candidate = free_name(flat, used)
    return BranchName(candidate)
