"""Name the branches of an imported session, and move them; a branch that the user has moved is never touched.

Names depend on the session alone, so every import gives the same. A branch follows its source as long as it is where
the last import left it (the tracking ref). Once the user has moved it (append, rewind), it stays, and the new messages
of the source go to a branch `import/...`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, count

from scopes.clock import format_seconds, seconds_of
from scopes.conversation.show import fork_name
from scopes.history.messages import is_root, message_id_of, read_message_bytes
from scopes.history.metadata import CLOCKS, TITLE, read_metadata
from scopes.history.names import MAIN
from scopes.history.sessions import IMPORT_PREFIXES
from scopes.history.sources import TRACKING
from scopes.history.transaction import Transaction
from scopes.ids import MAX_NAME_BYTES, AgentName, BranchName, ConversationId, MessageId, Oid, free_name, is_name, slug
from scopes.importers.identity import SHORT_ID, source_key_of
from scopes.importers.results import GroupedNote
from scopes.importers.session_commits import ImportedSession
from scopes.importers.targets import BranchTip, CommittedSession, ImportTarget
from scopes.model.canonical_json import encode_component
from scopes.model.conversation import BranchEntry
from scopes.store import refs
from scopes.store.graph import is_ancestor, list_merge_bases, walk_newest_first
from scopes.store.objects import Objects, find_entry, read_commit
from scopes.store.refs import RefNameConflicts
from scopes.store.repository import Repository

_MAX_AGENT_LENGTH = 40
_MAX_LENGTH = MAX_NAME_BYTES - 10  # leaves room for the number that makes a name unique


def name_branches(objects: Objects, imported: ImportedSession, conversation: str) -> list[BranchTip]:
    """Return one branch per message without a successor: `main` for the active one, forks and sub-agents for others.

    A fork is named after the first message that it does not share with the active line, so that the name stays when
    the fork grows. The active line of a session in another session's conversation is named after the session, and what
    it shares are the messages that existed before. `conversation` is the native id of the conversation's own session.
    """
    line_name = _line_name(imported)
    continues = imported.start[1] if imported.start[0] and imported.session.native_id == conversation else None
    active = active_draft(imported)
    active_line = set(path_to(imported, active))
    tips = []
    leaves = imported.leaves()
    for key in leaves if active is None or active in leaves else [active, *leaves]:
        name = (line_name or MAIN) if key == active else _fork_name(imported, key, active_line)
        shared = active_line if key != active else set(imported.oids) - imported.new
        tip = BranchTip(name, imported.oids[key], _branch_entry(objects, imported, key, shared, name))
        if key == active:
            tip = replace(tip, active=imported.own, continues=continues)
        tips.append(tip)
    return _with_unique_names(tips)


def active_draft(imported: ImportedSession) -> str | None:
    """Return the key of the draft that a session is at; None if it has no message."""
    return imported.ending.active if imported.ending.active in imported.oids else imported.last


def path_to(imported: ImportedSession, key: str | None) -> list[str]:
    """Return the draft keys from a message back to the first one."""
    path = []
    while key is not None:
        path.append(key)
        key = imported.parents[key]
    return path


def _first_not_shared(imported: ImportedSession, key: str, shared: set[str]) -> str:
    own = [step for step in path_to(imported, key) if step not in shared]
    return own[-1] if own else key


def _fork_name(imported: ImportedSession, key: str, shared: set[str]) -> BranchName:
    side = imported.sides.get(key)
    draft = _first_not_shared(imported, key, shared)
    first: MessageId = imported.ids[draft]
    if side is not None:
        return _legal_name("subagent", slug(side), first)
    taken_back = imported.ending.active in imported.oids and imported.parents[draft] == imported.ending.active
    if taken_back or draft in imported.ending.dropped:
        return BranchName(f"abandoned/{first[:SHORT_ID]}")  # the agent took back all that follows
    return fork_name(first)


def _line_name(imported: ImportedSession) -> BranchName | None:
    """Name the active line of a session in another session's conversation; None if the conversation is its own."""
    if imported.own:
        return None
    if imported.written is not None:
        return imported.written.branch
    session, key = imported.session, source_key_of(imported.session)
    kind = session.details.get("line")
    if kind is not None and session.sub_file is not None:
        return _legal_name(kind, slug(session.sub_file)[-SHORT_ID:], key)
    if session.sub_file is not None or session.spawned_by is not None:
        agent = session.details.get("agent") or session.sub_file or session.native_id
        return _legal_name("subagent", slug(str(agent))[:_MAX_AGENT_LENGTH], key)
    return _legal_name("fork", slug(session.native_id)[-SHORT_ID:], key)


def _legal_name(kind: str, wanted: str, fallback: str) -> BranchName:
    """Return `kind/wanted` if git accepts it: even a slug may contain `..` or end in `.lock`."""
    name = f"{kind}/{wanted}"
    return BranchName(name if is_name(name) and len(name) <= _MAX_LENGTH else f"{kind}/{fallback[:SHORT_ID]}")


def _branch_entry(
    objects: Objects, imported: ImportedSession, key: str, shared: set[str], name: BranchName
) -> BranchEntry:
    """Return the branch's metadata; its fork point is the parent of its first own message, the root for `main`."""
    first = _first_not_shared(imported, key, shared) if name != MAIN else path_to(imported, key)[-1]
    commit = read_commit(objects, imported.oids[first])
    side = imported.sides.get(key)
    return BranchEntry(
        purpose=None,
        agent=AgentName(side) if side is not None else None,
        parent=None if name == MAIN else MAIN,
        fork=commit.parents[0],
        created=format_seconds(commit.time),
    )


def _with_unique_names(tips: list[BranchTip]) -> list[BranchTip]:
    """Append a number to names that an earlier branch of the session has."""
    taken: set[str] = set()
    result = []
    for tip in tips:
        name = BranchName(free_name(tip.name, taken))
        taken.add(name)
        result.append(replace(tip, name=name))
    return result


@dataclass(slots=True)
class BranchUpdates:
    """The ref changes of one conversation, collected session by session.

    new: the conversation does not exist yet
    directory: where it was started, if its sources do not tell
    has_given_title: the title is one that the user gave, and not that of the source
    renamed: the title that the session has now with which the conversation began
    tips: its branches, with the changes so far
    moved: commits that branches were moved to
    entries: changed metadata entries of branches
    """

    transaction: Transaction
    root: Oid
    created: str
    new: bool
    title: str | None = None
    directory: str | None = None
    has_given_title: bool = False
    renamed: str | None = None
    active: BranchName | None = None
    entries: dict[BranchName, BranchEntry] = field(default_factory=dict)
    tips: dict[BranchName, Oid] = field(default_factory=dict)
    moved: list[Oid] = field(default_factory=list)
    names: RefNameConflicts = field(default_factory=lambda: RefNameConflicts(()))
    notes: list[GroupedNote] = field(default_factory=list)

    @property
    def conversation(self) -> ConversationId:
        """Return the id of the conversation."""
        return self.transaction.conversation

    def add_branch(self, name: BranchName, tip: Oid) -> None:
        """Record where a branch is."""
        self.tips[name] = tip
        self.names.add(name)

    def move_branch(self, name: BranchName, old: Oid | None, new: Oid) -> None:
        """Add the change of a branch ref."""
        self.transaction.move_branch(name, old, new)
        self.moved.append(new)
        self.add_branch(name, new)


def begin_updates(
    repository: Repository, target: ImportTarget, conversation: ConversationId, *, new: bool
) -> BranchUpdates:
    """Return updates without a change, with the branches that the conversation has."""
    updates = BranchUpdates(Transaction(repository, conversation), target.root, target.document.created, new=new)
    prefix = f"{refs.HEADS}{conversation}/"
    for ref, oid in ({} if new else repository.list_refs(prefix)).items():
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
            updates.transaction.move_ref(ref, tracked, tip.tip)
        if tracked != tip.tip or updates.new:
            _follow(repository, updates, tip, session, None if updates.new or session.moved else tracked)
        if tip.active and updates.new:
            updates.active = tip.name
    wanted = {tracking_ref(session.key, tip.name) for tip in session.tips}
    for ref, old in before.items():
        if ref not in wanted:
            updates.transaction.move_ref(ref, old, None)
    for lost in () if session.complete or session.moved else map(Oid, dict.fromkeys(before.values())):
        if not (_is_kept(repository, lost, session.tips) or _is_repeated(repository, updates, lost, session)):
            _keep_abandoned(updates, lost, session)


def complete_branches(updates: BranchUpdates) -> None:
    """Give a new conversation a main branch if it has none; nothing changes its branches after that."""
    if updates.new and MAIN not in updates.tips:
        updates.transaction.create_branch(MAIN, updates.root)


def finish(repository: Repository, objects: Objects, updates: BranchUpdates) -> Transaction:
    """Return the transaction of a conversation with its metadata and active branch; it is not committed.

    Subject and time of the metadata commit depend on the sources alone, so that it is the same on every machine.
    """
    transaction = updates.transaction
    if updates.new:
        updates.entries[MAIN] = BranchEntry(fork=updates.root, created=updates.created)
        transaction.activate(updates.active or MAIN)
    for name, entry in updates.entries.items():
        transaction.set_branch_entry(name, entry)
    title = _new_title(repository, updates)
    if title is not None:
        transaction.set_title(title)
    if updates.directory is not None and (
        updates.new or read_metadata(repository, updates.conversation).directory is None
    ):
        transaction.set_directory(updates.directory)
    newest = max((read_commit(repository, tip).time for tip in updates.moved), default=seconds_of(updates.created))
    given = {TITLE} if updates.has_given_title else set()
    transaction.write_edits(objects, "import", time=newest, original=transaction.edited_paths - given)
    return transaction


def _new_title(repository: Repository, updates: BranchUpdates) -> str | None:
    """Return the title to set: one that the agent has changed is taken, unless the user gave the conversation one."""
    current = None if updates.new else read_metadata(repository, updates.conversation).title
    if current is None:
        return updates.title
    if updates.renamed in (None, current) or has_given_title(repository, updates.conversation):
        return None
    return updates.renamed


def _move_branch(repository: Repository, updates: BranchUpdates, tip: BranchTip, tracked: str | None) -> None:
    """Move the branch of a tip, or an `import/` branch if the user has moved it away from `tracked`."""
    name = _find_renamed(repository, updates, tip, tracked) or _local_name(updates, tip.name)
    current = updates.tips.get(name)
    if current == tip.tip:
        return
    if tracked is None and name == MAIN and current == updates.root:
        tracked = current  # main is still empty: the import may take it
    if current != tracked:
        other = _find_follower(updates, tracked) or _local_name(updates, BranchName(f"import/{tip.tip[:SHORT_ID]}"))
        if updates.tips.get(other) == tip.tip:
            return
        if tracked is None:
            text = f"branch {name} exists in {updates.conversation}; the one of that name in a source is {other}"
            several = "{} branches of sources were renamed, because their names were taken"
        else:
            how = "moved" if current is not None else "deleted"
            text = f"{updates.conversation}/{name} was {how} here; new messages of its source are on {other}"
            several = "{} branches were moved or deleted here; new messages of their sources are on other branches"
        updates.notes.append(GroupedNote(text, several))
        if current is not None:
            bases = list_merge_bases(repository, Oid(current), tip.tip)
            tip = replace(tip, entry=replace(tip.entry, parent=name, fork=bases[0] if bases else updates.root))
        name, current = other, updates.tips.get(other)
    elif current is None and name != tip.name:
        conflict = updates.names.find(tip.name)
        text = f"{tip.name} conflicts with branch {conflict} in {updates.conversation}; it is {name}"
        updates.notes.append(GroupedNote(text, "{} branches of sources were renamed, because their names were taken"))
    entry = tip.entry if current is None else _corrected_entry(repository, updates, name, tip)
    updates.move_branch(name, current, tip.tip)
    if entry is not None:
        updates.entries[name] = entry


def _find_renamed(
    repository: Repository, updates: BranchUpdates, tip: BranchTip, tracked: str | None
) -> BranchName | None:
    """Return the branch that the one of a tip was renamed to: it is where the last import left that, from its fork."""
    if tracked is None or tip.name == MAIN or _local_name(updates, tip.name) in updates.tips:
        return None
    entries = read_metadata(repository, updates.conversation).branches
    found = (name for name, oid in updates.tips.items() if oid == tracked and not name.startswith(IMPORT_PREFIXES))
    return next((each for each in found if each in entries and entries[each].fork == tip.entry.fork), None)


def _find_follower(updates: BranchUpdates, tracked: str | None) -> BranchName | None:
    """Return the `import/` branch that follows the source since the user moved the original branch."""
    followers = (name for name, tip in updates.tips.items() if name.startswith(IMPORT_PREFIXES) and tip == tracked)
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
    free = (name for name in candidates if name in updates.tips or updates.names.find(name) is None)
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


def _follow(
    repository: Repository, updates: BranchUpdates, tip: BranchTip, session: CommittedSession, tracked: str | None
) -> None:
    """Move the branch of a tip from where the last import left it, or where `scopes acp` has recorded it until."""
    followed = tracked or _replaced_main(updates, tip, session)
    if tip.recorded is not None:
        current = updates.tips.get(tip.name)
        if current is not None and is_ancestor(repository, tip.tip, current):
            return  # the record has everything that the transcript has
        followed = tip.recorded
    _move_branch(repository, updates, tip, followed)
    _advance_main(updates, tip, followed)


def _replaced_main(updates: BranchUpdates, tip: BranchTip, session: CommittedSession) -> Oid | None:
    """Return where main is if the event stream of the session left it there, and `tip` is the main branch."""
    main = updates.tips.get(MAIN)
    return main if tip.name == MAIN and main in session.replaces else None


def _is_repeated(repository: Repository, updates: BranchUpdates, tip: Oid, session: CommittedSession) -> bool:
    """Return True if main has all messages of the line of a contained stream, perhaps in other commits."""
    if not session.contained:
        return False
    main = [] if MAIN not in updates.tips else [updates.tips[MAIN]]
    known = {message_id_of(commit) for commit in walk_newest_first(repository, main) if not is_root(commit)}
    return all(is_root(commit) or message_id_of(commit) in known for commit in walk_newest_first(repository, [tip]))


def _keep_abandoned(updates: BranchUpdates, tip: Oid, session: CommittedSession) -> None:
    """Create a branch `abandoned/N` for messages that the source has lost since its previous import."""
    if tip in updates.tips.values():
        return
    candidates = (_local_name(updates, BranchName(f"abandoned/{number}")) for number in count(1))
    name = next(name for name in candidates if name not in updates.tips)
    updates.move_branch(name, None, tip)
    updates.entries[name] = BranchEntry(parent=MAIN, created=updates.created)
    if session.contained:
        text = f"the session file replaces the event stream of {updates.conversation}, which is kept on {name}"
        updates.notes.append(GroupedNote(text, "{} event streams are kept on branches: session files replace them"))
    else:
        text = f"messages removed from a source of {updates.conversation} are kept on {name}"
        updates.notes.append(GroupedNote(text, "messages removed from sources are kept on {} branches"))


def has_given_title(repository: Repository, conversation: ConversationId) -> bool:
    """Return True if somebody gave the conversation its title, or removed it; False if that is from a source."""
    value = repository.find_ref(refs.meta_ref(conversation))
    tree = None if value is None else read_commit(repository, Oid(value)).tree
    return tree is not None and find_entry(repository, tree, f"{CLOCKS}/{TITLE}") is not None
