"""Compute the ref updates of an import; a branch that the user has moved is never touched.

A branch follows its source as long as it is where the last import left it (the tracking ref). Once the user has moved
it (append, rewind, rename), it stays, and the new messages of the source go to a branch `import/...`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain, count

from scopes.history.messages import read_message_bytes
from scopes.history.metadata import branch_change, read_metadata, title_change, write_metadata
from scopes.history.revparse import MAIN
from scopes.ids import BranchName, ConversationId, Oid
from scopes.importers.branch_names import SHORT_ID, BranchTip
from scopes.importers.targets import TRACKING, CommittedSession, ImportTarget
from scopes.model.conversation import BranchEntry
from scopes.model.operation import RefChange
from scopes.model.path_encoding import encode_component
from scopes.result import Note
from scopes.store import refs
from scopes.store.graph import is_ancestor, list_merge_bases
from scopes.store.refs import RefNameConflicts
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import Change

_IMPORT_PREFIXES = ("import/", "import-")  # of branches that follow a source in place of one that the user moved


@dataclass(slots=True)
class BranchUpdates:
    """The ref changes of one conversation, collected session by session.

    new: the conversation does not exist yet
    tips: its branches, with the changes so far
    metadata: changes of its metadata document
    """

    conversation: ConversationId
    root: Oid
    created: str
    new: bool
    title: str | None = None
    active: BranchName | None = None
    changes: list[RefChange] = field(default_factory=list)
    metadata: dict[str, Change] = field(default_factory=dict)
    tips: dict[BranchName, Oid] = field(default_factory=dict)
    names: RefNameConflicts = field(default_factory=lambda: RefNameConflicts(()))
    notes: list[Note] = field(default_factory=list)

    def add_branch(self, name: BranchName, tip: Oid) -> None:
        """Record where a branch is."""
        self.tips[name] = tip
        self.names.add(name)

    def move_branch(self, name: BranchName, old: Oid | None, new: Oid) -> None:
        """Add the change of a branch ref."""
        self.changes.append(RefChange(refs.branch_ref(self.conversation, name), old, new))
        self.add_branch(name, new)


def begin_updates(
    repository: Repository, target: ImportTarget, conversation: ConversationId, *, new: bool
) -> BranchUpdates:
    """Return updates without a change, with the branches that the conversation has."""
    updates = BranchUpdates(conversation, target.root, target.document.created, new=new)
    prefix = f"{refs.HEADS}{conversation}/"
    for ref, oid in repository.list_refs(prefix).items():
        updates.add_branch(BranchName(ref[len(prefix) :]), Oid(oid))
    return updates


def tracking_ref(key: str, branch: str) -> str:
    """Return the ref that records where a branch of a source was at its last import."""
    return f"{TRACKING}{key}/{encode_component(branch)}"


def update_branches(repository: Repository, updates: BranchUpdates, session: CommittedSession) -> None:
    """Add the ref changes that move a session's branches to its tips. Needs the exclusive lock."""
    before = repository.list_refs(f"{TRACKING}{session.key}/")
    for tip in session.tips:
        ref = tracking_ref(session.key, tip.name)
        tracked = before.get(ref)
        if tracked != tip.tip:
            updates.changes.append(RefChange(ref, tracked, tip.tip))
        if tracked != tip.tip or updates.new:
            followed = None if updates.new or session.moved else tracked
            _move_branch(repository, updates, tip, followed)
            _advance_main(updates, tip, followed)
        if tip.active and updates.new:
            updates.active = tip.name
    wanted = {tracking_ref(session.key, tip.name) for tip in session.tips}
    updates.changes += [RefChange(ref, tip, None) for ref, tip in before.items() if ref not in wanted]
    for lost in () if session.complete or session.moved else dict.fromkeys(before.values()):
        if not _is_kept(repository, Oid(lost), session.tips):
            _keep_abandoned(updates, Oid(lost))


def finish(repository: Repository, objects: Objects, updates: BranchUpdates) -> list[RefChange]:
    """Return all ref changes of a conversation, with its metadata and active branch; one change per ref."""
    before = read_metadata(repository, updates.conversation)
    metadata: dict[str, Change] = dict(updates.metadata)
    if updates.new:
        if MAIN not in updates.tips:
            updates.changes.append(RefChange(refs.branch_ref(updates.conversation, MAIN), None, updates.root))
        metadata |= branch_change(MAIN, BranchEntry(fork=updates.root, created=updates.created))
        target = refs.SYMBOLIC + refs.branch_ref(updates.conversation, updates.active or MAIN)
        updates.changes.append(RefChange(refs.active_ref(updates.conversation), None, target))
    if updates.title is not None and before.title is None:
        metadata |= title_change(updates.title)
    if metadata:
        commit = write_metadata(objects, before.commit, metadata, f"import into {updates.conversation}")
        updates.changes.append(RefChange(refs.meta_ref(updates.conversation), before.commit, commit))
    return _merge_by_ref(updates.changes)


def _move_branch(repository: Repository, updates: BranchUpdates, tip: BranchTip, tracked: str | None) -> None:
    """Move the branch of a tip, or an `import/` branch if the user has moved it away from `tracked`."""
    name = _local_name(updates, tip.name)
    current = updates.tips.get(name)
    if current == tip.tip:
        return
    if tracked is None and name == MAIN and current == updates.root:
        tracked = current  # main is still empty: the import may take it
    if current != tracked:
        other = _find_follower(updates, tracked) or _local_name(updates, BranchName(f"import/{tip.tip[:SHORT_ID]}"))
        if updates.tips.get(other) == tip.tip:
            return
        where = f"{updates.conversation}/{name}"
        updates.notes.append(Note(f"{where} was moved here; new messages of its source are on {other}"))
        if current is not None:
            bases = list_merge_bases(repository, Oid(current), tip.tip)
            tip = replace(tip, entry=replace(tip.entry, parent=name, fork=bases[0] if bases else updates.root))
        name, current = other, updates.tips.get(other)
    elif current is None and name != tip.name:
        conflict = updates.names.find_in_the_way(tip.name)
        text = f"{tip.name} conflicts with branch {conflict} in {updates.conversation}; it is {name}"
        updates.notes.append(Note(text))
    entry = tip.entry if current is None else _corrected_entry(repository, updates, name, tip)
    updates.move_branch(name, current, tip.tip)
    if entry is not None:
        updates.metadata |= branch_change(name, entry)


def _find_follower(updates: BranchUpdates, tracked: str | None) -> BranchName | None:
    """Return the `import/` branch that follows the source since the user moved the original branch."""
    followers = (name for name, tip in updates.tips.items() if name.startswith(_IMPORT_PREFIXES) and tip == tracked)
    return next(followers, None)


def _advance_main(updates: BranchUpdates, tip: BranchTip, tracked: str | None) -> None:
    """Move main to a later file of its session, if main is where that file begins or has followed it."""
    main = updates.tips.get(MAIN)
    if tip.continues is not None and main is not None and main in {tip.continues, tracked}:
        updates.move_branch(MAIN, main, tip.tip)


def _local_name(updates: BranchUpdates, wanted: BranchName) -> BranchName:
    """Return the name of a branch in this conversation, with `-` for `/` where it conflicts with another ref name."""
    flat = wanted.replace("/", "-")
    if wanted not in updates.tips and flat in updates.tips:
        return BranchName(flat)
    candidates = chain((wanted, flat), (f"{flat}-{number}" for number in count(2)))
    free = (name for name in candidates if name in updates.tips or updates.names.find_in_the_way(name) is None)
    return BranchName(next(free))


def _corrected_entry(
    repository: Repository, updates: BranchUpdates, name: BranchName, tip: BranchTip
) -> BranchEntry | None:
    """Return the branch's entry with a new fork point if the old one, an open message, was replaced; else None."""
    entry = read_metadata(repository, updates.conversation).branches.get(name)
    if entry is None or entry.fork is None or entry.fork == tip.entry.fork:
        return None
    valid = repository.has(entry.fork) and is_ancestor(repository, entry.fork, tip.tip)
    return None if valid else replace(entry, fork=tip.entry.fork)


def _is_kept(repository: Repository, tip: Oid, tips: list[BranchTip]) -> bool:
    """Return True if the closed messages below a tip of the previous import are still in the source."""
    base = tip
    while b'"open":true' in read_message_bytes(repository, base) and (parents := read_commit(repository, base).parents):
        base = parents[0]
    return any(is_ancestor(repository, base, new.tip) for new in tips)


def _keep_abandoned(updates: BranchUpdates, tip: Oid) -> None:
    """Create a branch `abandoned/N` for messages that the source has lost since its previous import."""
    if tip in updates.tips.values():
        return
    candidates = (_local_name(updates, BranchName(f"abandoned/{number}")) for number in count(1))
    name = next(name for name in candidates if name not in updates.tips)
    updates.move_branch(name, None, tip)
    updates.metadata |= branch_change(name, BranchEntry(parent=MAIN, created=updates.created))
    updates.notes.append(Note(f"messages removed from a source of {updates.conversation} are kept on {name}"))


def _merge_by_ref(changes: Iterable[RefChange]) -> list[RefChange]:
    """Merge successive changes of one ref."""
    merged: dict[str, RefChange] = {}
    for change in changes:
        merged[change.ref] = merged.get(change.ref, change)._replace(new=change.new)
    return list(merged.values())
