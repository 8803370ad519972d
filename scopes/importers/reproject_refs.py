"""The ref changes of a new reading of one conversation, and of what else names its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from scopes.clock import now_nanoseconds
from scopes.history.messages import MESSAGE_FILE, is_root, message_id_of
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.history.sources import TRACKING
from scopes.history.transaction import RefTransaction, Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, free_name
from scopes.importers.archive import walk_segments
from scopes.importers.branch_names import BranchTip
from scopes.importers.branch_updates import tracking_ref
from scopes.importers.reproject_history import HistoryRewriter, IdMap, map_commits, map_messages, write_map
from scopes.importers.targets import ImportTarget
from scopes.model.operation import RefChange
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import COMMIT, Commit, Identity, Objects, find_entry, format_commit, read_commit
from scopes.store.refs import COMMITS, FACTS, LOCAL, MEMORY, PROPOSED_FACTS, RefNameConflicts
from scopes.store.repository import Repository

MAPS: Final = f"{LOCAL}reprojected/"
_SHARED: Final = (MEMORY, FACTS, PROPOSED_FACTS, COMMITS)
_SECOND: Final = 1_000_000_000


class Counts(NamedTuple):
    """What a new reading changes, as in `ReprojectedConversation`."""

    messages: int
    changed: int
    new_ids: int
    added: int
    removed: int
    rewritten: int


class Reprojection:
    """Moves one conversation to a new reading of its sources; `ids` is the map, when it was built."""

    def __init__(
        self,
        repository: Repository,
        objects: Objects,
        conversation: ConversationId,
        target: ImportTarget,
        records: Mapping[str, RefChange],
    ) -> None:
        sessions = target.sessions
        self._repository = repository
        self._objects = objects
        self._conversation = conversation
        self._root = target.root
        self._sessions = sessions
        self._records = records
        self._tx = Transaction(repository, conversation)
        self._tips = list_branch_tips(repository, conversation)
        self._tracked = {
            session.key: {ref: Oid(oid) for ref, oid in repository.list_refs(f"{TRACKING}{session.key}/").items()}
            for session in sessions
        }
        self.ids = IdMap()
        self.counts = Counts(0, 0, 0, 0, 0, 0)
        self.map_ref: str | None = None

    @property
    def is_changed(self) -> bool:
        """True if a branch moves, or a message of a source is another one."""
        return bool(self._tx) or any(self.counts[1:])

    def build(self) -> RefTransaction:
        """Return the changes of refs, all objects of which are written."""
        for session in self._sessions:
            change = self._records.get(session.key)
            if change is not None and change.old is not None and change.new is not None:
                before, after = (list(walk_segments(self._objects, Oid(each))) for each in (change.old, change.new))
                self.ids.messages |= map_messages(before, after)
        old_tips = [tip for tips in self._tracked.values() for tip in tips.values()]
        new_tips = [tip.tip for session in self._sessions for tip in session.tips]
        old = map_commits(self._objects, old_tips, new_tips, self.ids)
        self._count(old, new_tips)
        self._rewrite_others(old)
        self._move_branches()
        self._update_metadata()
        self._write_map()
        return self._tx

    def _count(self, old: set[Oid], new_tips: Sequence[Oid]) -> None:
        before = {message_id_of(commit) for commit in map(self._read, old) if not is_root(commit)}
        every = walk_oldest_first(self._objects, new_tips)
        after = {message_id_of(commit) for commit in every if not is_root(commit)}
        images = {name: new for name in before if (new := self.ids.message(name)) in after}
        changed: set[MessageId] = set()
        for one, two in self.ids.commits.items():
            was, now = self._read(one), self._read(two)
            if images.get(message_id_of(was)) == message_id_of(now) and self._blob(was.tree) != self._blob(now.tree):
                changed.add(message_id_of(was))
        self.counts = Counts(
            messages=len(after),
            changed=len(changed),
            new_ids=sum(name != new for name, new in images.items()),
            added=len(after - {*images.values()}),
            removed=len(before) - len(images),
            rewritten=0,
        )

    def _read(self, oid: Oid) -> Commit:
        return read_commit(self._objects, oid)

    def _blob(self, tree: Oid) -> Oid | None:
        entry = find_entry(self._objects, tree, MESSAGE_FILE)
        return None if entry is None else entry.oid

    def _rewrite_others(self, old: set[Oid]) -> None:
        """Put the messages that are not of a source on top of the new reading."""
        rewriter = HistoryRewriter(self._objects, self.ids)
        rewritten = 0
        if not self.ids:
            return
        for commit in walk_oldest_first(self._objects, self._tips.values()):
            if commit.oid not in old and not is_root(commit):
                rewriter.rewrite(commit)
                rewritten += commit.oid in self.ids.commits
        self.counts = self.counts._replace(rewritten=rewritten)

    def _move_branches(self) -> None:
        """Move each branch to what its tip is now; a branch that a source ends with goes to the new end of that."""
        ends: dict[Oid, Oid] = {}
        wanted: dict[str, BranchTip] = {}
        for session in self._sessions:
            before = self._tracked[session.key]
            for tip in session.tips:
                ref = tracking_ref(session.key, tip.name)
                wanted[ref] = tip
                if ref in before:
                    ends.setdefault(before[ref], tip.tip)
                self._tx.move_ref(ref, before.get(ref), tip.tip)
        known = {ref for tips in self._tracked.values() for ref in tips}
        for ref in known - wanted.keys():
            value = next(tips[ref] for tips in self._tracked.values() if ref in tips)
            self._tx.move_ref(ref, value, None)
        for name, oid in self._tips.items():
            self._tx.move_branch(name, oid, ends.get(oid) or self.ids.commit(oid))
        for ref, tip in wanted.items():
            if ref not in known and tip.tip not in {*ends.values(), *map(self.ids.commit, self._tips.values())}:
                self._create_branch(tip)

    def _create_branch(self, tip: BranchTip) -> None:
        conflicts = RefNameConflicts(self._tips)
        flat = tip.name if conflicts.find(tip.name) is None else tip.name.replace("/", "-")
        name = BranchName(free_name(flat, self._tips))
        self._tx.create_branch(name, tip.tip)
        self._tx.set_branch_entry(name, tip.entry)
        self._tips = {**self._tips, name: tip.tip}

    def _update_metadata(self) -> None:
        metadata = read_metadata(self._repository, self._conversation)
        for tag, oid in metadata.tags.items():
            if self.ids.commit(oid) != oid:
                self._tx.set_tag(tag, self.ids.commit(oid))
        for name, entry in metadata.branches.items():
            if entry.fork is not None and self.ids.commit(entry.fork) != entry.fork:
                self._tx.set_branch_entry(name, replace(entry, fork=self.ids.commit(entry.fork)))
        self._tx.write_edits(self._objects, "reproject")

    def _write_map(self) -> None:
        if self.ids:
            self.map_ref = f"{MAPS}{self._root}"
            previous = self._repository.find_ref(self.map_ref)
            old = None if previous is None else Oid(previous)
            subject = "map of a new reading"
            self._tx.move_ref(
                self.map_ref, old, write_map(self._objects, self._root, self.ids, subject=subject, previous=old)
            )


def follow_shared_refs(repository: Repository, objects: Objects, maps: Sequence[IdMap]) -> RefTransaction:
    """Return the changes of memory, facts and recorded commits, which name the messages that have other ids now."""
    every = IdMap()
    for ids in maps:
        every.commits |= ids.commits
        every.messages |= ids.messages
    tx = RefTransaction(repository)
    for ref in _SHARED if every else ():
        value = repository.find_ref(ref)
        if value is None:
            continue
        old = read_commit(objects, Oid(value))
        tree = every.substitute_tree(objects, old.tree, anywhere=True)
        if tree != old.tree:
            data = format_commit(
                tree=tree,
                parents=(old.oid,),
                author=Identity("scopes", "scopes@systems.scopes"),
                time=now_nanoseconds() // _SECOND,
                subject="reproject",
            )
            tx.move_ref(ref, value, objects.write(COMMIT, data))
    return tx
