"""Where woven sessions come to stand: the branches that follow a source, and those that a user has taken elsewhere.

A branch follows its source while it stands where the source left it. Once the user has moved it (an append, a rewind, a
rename), it stays, and what is new appears beside it as a branch of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, count

from scopes.history.messages import read_message_bytes
from scopes.history.metadata import read_metadata
from scopes.history.revparse import MAIN
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid
from scopes.importers.branch_names import SHORT_ID, BranchTip
from scopes.importers.targets import TRACKING, ImportTarget
from scopes.model.conversation import BranchEntry
from scopes.model.operation import RefChange
from scopes.model.path_encoding import encode_component
from scopes.result import Note
from scopes.store import refs as names
from scopes.store.graph import is_ancestor, list_merge_bases
from scopes.store.refs import RefNameConflicts
from scopes.store.repository import Objects, Repository, read_commit

_BESIDE = ("import/", "import-")  # the beginnings of what a branch beside another is called


@dataclass(slots=True)
class BranchUpdates:
    """The ref changes of one conversation, collected from its sources."""

    transaction: Transaction
    root: Oid
    created: str
    fresh: bool
    title: str | None = None
    active: BranchName | None = None
    entries: dict[BranchName, BranchEntry] = field(default_factory=dict)
    taken: dict[BranchName, Oid] = field(default_factory=dict)
    names: RefNameConflicts = field(default_factory=lambda: RefNameConflicts(()))
    notes: list[Note] = field(default_factory=list)

    @property
    def conversation(self) -> ConversationId:
        """The conversation."""
        return self.transaction.conversation

    def stand(self, name: BranchName, tip: Oid) -> None:
        """Note where a branch of the conversation stands."""
        self.taken[name] = tip
        self.names.add(name)


def begin_updates(
    repository: Repository, home: ImportTarget, conversation: ConversationId, *, fresh: bool
) -> BranchUpdates:
    """Begin to collect; the branches that are there already stay where they are, unless something moves them."""
    landing = BranchUpdates(Transaction(repository, conversation), home.root, home.document.created, fresh=fresh)
    prefix = f"{names.HEADS}{conversation}/"
    for ref, oid in repository.list_refs(prefix).items():
        landing.stand(BranchName(ref[len(prefix) :]), Oid(oid))
    return landing


def tracking_ref(key: str, leaf: str) -> str:
    """Name the ref that tells where a source's branch stood at its last import."""
    return f"{TRACKING}{key}/{encode_component(leaf)}"


def update_branches(
    repository: Repository,
    landing: BranchUpdates,
    key: str,
    leaves: list[BranchTip],
    *,
    complete: bool = False,
    moved: bool = False,
) -> None:
    """Add the moves that bring a source's branches to where the source stands now.

    A `complete` source holds all that it held at its last import; one that is `moved` was in another conversation then.
    Call it under the exclusive lock, so that the refs stay what they are seen to be.
    """
    before = repository.list_refs(f"{TRACKING}{key}/")
    for leaf in leaves:
        ref = tracking_ref(key, leaf.name)
        tracked = before.get(ref)
        if tracked != leaf.tip:
            landing.transaction.move_ref(ref, tracked, leaf.tip)
        if tracked != leaf.tip or landing.fresh:
            followed = None if landing.fresh or moved else tracked
            _move_branch(repository, landing, leaf, followed)
            _lead_main_on(landing, leaf, followed)
        if leaf.active and landing.fresh:
            landing.active = leaf.name
    wanted = {tracking_ref(key, leaf.name) for leaf in leaves}
    for ref, tip in before.items():
        if ref not in wanted:
            landing.transaction.move_ref(ref, tip, None)
    for tip in () if complete or moved else dict.fromkeys(before.values()):
        if not _is_kept(repository, Oid(tip), leaves):
            _keep_vanished(landing, Oid(tip))


def _move_branch(repository: Repository, landing: BranchUpdates, leaf: BranchTip, tracked: str | None) -> None:
    taken = landing.taken
    name = _place_for(landing, leaf.name)
    current = taken.get(name)
    if current == leaf.tip:
        return
    if tracked is None and name == MAIN and current == landing.root:
        tracked = current  # nothing of this source has been there yet, and nobody has put anything there
    if current != tracked:
        beside = _find_follower(landing, tracked) or _place_for(landing, BranchName(f"import/{leaf.tip[:SHORT_ID]}"))
        if taken.get(beside) == leaf.tip:
            return
        where = f"{landing.conversation}/{name}"
        landing.notes.append(Note(f"{where} was moved here; what is new in its source is on {beside}"))
        if current is not None:
            bases = list_merge_bases(repository, Oid(current), leaf.tip)
            leaf = replace(leaf, entry=replace(leaf.entry, parent=name, fork=bases[0] if bases else landing.root))
        name, current = beside, taken.get(beside)
    elif current is None and name != leaf.name:
        other = landing.names.find(leaf.name)
        landing.notes.append(Note(f"{leaf.name} cannot stand beside {other} in {landing.conversation}; it is {name}"))
    landing.transaction.move_branch(name, current, leaf.tip)
    entry = leaf.entry if current is None else _corrected(repository, landing, name, leaf)
    if entry is not None:
        landing.entries[name] = entry
    landing.stand(name, leaf.tip)


def _find_follower(landing: BranchUpdates, tracked: str | None) -> BranchName | None:
    """Find the branch that has followed the source since the user moved the one that did so before."""
    followers = (name for name, tip in landing.taken.items() if name.startswith(_BESIDE) and tip == tracked)
    return next(followers, None)


def _lead_main_on(landing: BranchUpdates, leaf: BranchTip, tracked: str | None) -> None:
    """Let main go on with a page of its session, where it stands at what the page goes on from, or has followed it."""
    main = landing.taken.get(MAIN)
    if leaf.goes_on_from is not None and main is not None and main in {leaf.goes_on_from, tracked}:
        landing.transaction.move_branch(MAIN, main, leaf.tip)
        landing.stand(MAIN, leaf.tip)


def _place_for(landing: BranchUpdates, wanted: BranchName) -> BranchName:
    """Return the name that a branch goes by here: a `-` for every `/` where the names of others leave it no other."""
    flat = wanted.replace("/", "-")
    if wanted not in landing.taken and flat in landing.taken:
        return BranchName(flat)
    names_in_turn = chain((wanted, flat), (f"{flat}-{number}" for number in count(2)))
    free = (name for name in names_in_turn if name in landing.taken or landing.names.find(name) is None)
    return BranchName(next(free))


def _corrected(repository: Repository, landing: BranchUpdates, name: BranchName, leaf: BranchTip) -> BranchEntry | None:
    """Return a branch's entry where the message that it began from has been replaced, being open then."""
    entry = read_metadata(repository, landing.conversation).branches.get(name)
    if entry is None or entry.fork is None or entry.fork == leaf.entry.fork:
        return None
    stands = repository.has(entry.fork) and is_ancestor(repository, entry.fork, leaf.tip)
    return None if stands else replace(entry, fork=leaf.entry.fork)


def _is_kept(repository: Repository, tip: Oid, leaves: list[BranchTip]) -> bool:
    """Tell whether what a source held at its last import is in it still; its open messages may have changed."""
    base = tip
    while b'"open":true' in read_message_bytes(repository, base) and (parents := read_commit(repository, base).parents):
        base = parents[0]
    return any(is_ancestor(repository, base, leaf.tip) for leaf in leaves)


def _keep_vanished(landing: BranchUpdates, tip: Oid) -> None:
    """Keep what a source has lost since its last import: the tip it had then, as a branch of its own."""
    if tip in landing.taken.values():
        return
    wanted = (_place_for(landing, BranchName(f"abandoned/{number}")) for number in count(1))
    name = next(name for name in wanted if name not in landing.taken)
    landing.transaction.create_branch(name, tip)
    landing.entries[name] = BranchEntry(parent=MAIN, created=landing.created)
    landing.notes.append(Note(f"messages that are gone from a source of {landing.conversation} are kept on {name}"))
    landing.stand(name, tip)


def finish(repository: Repository, objects: Objects, landing: BranchUpdates) -> list[RefChange]:
    """Return all ref changes of a conversation, its metadata included; none where nothing moves."""
    tx = landing.transaction
    if landing.fresh:
        if MAIN not in landing.taken:
            tx.create_branch(MAIN, landing.root)
        landing.entries[MAIN] = BranchEntry(fork=landing.root, created=landing.created)
        tx.activate(landing.active or MAIN)
    for name, entry in landing.entries.items():
        tx.describe_branch(name, entry)
    if landing.title is not None and read_metadata(repository, landing.conversation).title is None:
        tx.set_title(landing.title)
    tx.write_edits(objects, f"import into {landing.conversation}")
    return tx.list_changes()
