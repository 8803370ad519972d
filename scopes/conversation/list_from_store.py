"""Make the rows of `list`: from the tips of the branches, and their details from the whole history."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from scopes.clock import creation_time, known_seconds, later_of, parse_time
from scopes.conversation.list import ALL, ConversationList, ListFilter, list_digest, newest_first, sorted_list
from scopes.errors import Corrupt, NotFound
from scopes.history.handles import ParticipantCache, participants_of
from scopes.history.messages import (
    RecordedTimes,
    author_kind_of,
    is_root,
    message_id_of,
    read_body,
    read_message_bytes_at,
    read_root,
)
from scopes.history.metadata import (
    Metadata,
    read_directory_and_fork,
    read_manifest_branches,
    read_metadata,
    read_metadata_at,
)
from scopes.history.names import MAIN, choose_active_branch, find_root_commit
from scopes.history.titles import first_prompt, walk_main
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.index.conversation_table import CachedRow, CachedRows, ConversationRow, read_rows, save_rows
from scopes.index.database import without_purged
from scopes.model.conversation import Root, branch_id
from scopes.model.message import decode
from scopes.result import Note
from scopes.store import refs
from scopes.store.config import DEFAULT_REMOTE, find_default, list_family, read_addresses, read_gone, read_setting
from scopes.store.graph import list_merge_bases, list_new_commits, walk_newest_first
from scopes.store.objects import Commit, Identity, Objects, read_commit
from scopes.store.refs import REMOTES, RefFiles
from scopes.store.repository import Repository

_AGENT: Final = "agent"
_HEADS_LENGTH: Final = len(refs.HEADS)
_MODEL_FIELD: Final = b'"model"'
_MODEL_TRIED: Final = 5  # messages of agents that are searched for a model, from the newest on


class ConversationRefs(NamedTuple):
    """The refs of one conversation."""

    conversation: ConversationId
    tips: Mapping[BranchName, Oid]
    meta: str | None
    active: str | None

    @property
    def state(self) -> str:
        """A digest of the refs that a brief row depends on."""
        values = repr((sorted(self.tips.items()), self.meta))
        return hashlib.sha256(values.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def group_by_conversation(values: Mapping[str, str]) -> Iterator[ConversationRefs]:
    """Group refs by conversation; a conversation without a branch is left out."""
    tips_of: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in values.items():  # without a call for each of very many refs, such as `split_branch_ref`
        if ref.startswith(refs.HEADS):
            name, slash, branch = ref[_HEADS_LENGTH:].partition("/")
            if slash:
                tips_of.setdefault(ConversationId(name), {})[BranchName(branch)] = Oid(oid)
    for name, tips in tips_of.items():
        yield ConversationRefs(name, tips, values.get(refs.META + name), values.get(refs.ACTIVE + name))


class ConversationReader:
    """Reads one conversation for its row; metadata and the tips of its branches are read once."""

    def __init__(
        self, repository: Repository, refs_of: ConversationRefs, participants: ParticipantCache, times: RecordedTimes
    ) -> None:
        self._repository = repository
        self._refs = refs_of
        self._participants = participants
        self._times = times

    @cached_property
    def active_branch(self) -> BranchName:
        """The branch that messages go to if none is named."""
        return choose_active_branch(self._refs.conversation, self._refs.tips, self._refs.active)

    @cached_property
    def _metadata(self) -> Metadata:
        meta = self._refs.meta
        return Metadata() if meta is None else read_metadata_at(self._repository, Oid(meta))

    @cached_property
    def _commits(self) -> dict[Oid, Commit]:
        return {oid: read_commit(self._repository, oid) for oid in set(self._refs.tips.values())}

    @cached_property
    def _root(self) -> Root:
        main = self._metadata.branches.get(MAIN)
        tip = self._commits[self._refs.tips[self.active_branch]]
        return read_root(self._repository, tip, None if main is None else main.fork)

    def read(self) -> ConversationRow:
        """Return a row without details, from the tips, the metadata and the root.

        A conversation that was created after its messages was active when it was created.
        """
        commits = list(self._commits.values())
        is_only = len(self._refs.tips) == 1  # it is counted
        hidden = [name for name, entry in self._metadata.branches.items() if entry.is_hidden and not is_only]
        newest = max(commit.time for commit in commits)
        recorded = self._times.find_newest((commit.oid, commit.time, commit.author.email) for commit in commits) or 0
        moments = [self._read_moment(commit) for commit in commits if commit.time == newest]
        return ConversationRow(
            id=self._refs.conversation,
            participants=participants_of(self._repository, commits, self._participants),
            branches=sum(name not in hidden for name in self._refs.tips),
            last_activity=later_of(known_seconds(newest), self._root.created),
            moment=max(*moments, parse_time(self._root.created) or 0),
            recorded_at=known_seconds(recorded) if recorded > newest else None,
            title=self._metadata.title,
        )

    def _read_moment(self, commit: Commit) -> int:
        """Return the time of a message in nanoseconds; commits have whole seconds. 0 if it cannot be read."""
        with suppress(Corrupt, NotFound):
            return 0 if is_root(commit) else parse_time(read_body(self._repository, commit).time or "") or 0
        return 0

    def read_details(self, row: ConversationRow) -> ConversationRow:
        """Add the fields that need a walk over the history, which is read once."""
        repository, refs_of, metadata, root = self._repository, self._refs, self._metadata, self._root
        tips = list(dict.fromkeys(refs_of.tips.values()))
        known = {commit.oid: commit for commit in walk_newest_first(repository, tips, known=self._commits)}
        history = _History(known.values())
        main_line = walk_main(repository, refs_of.tips, known) if metadata.title is None else ()
        return row._replace(
            uuid=root.uuid,
            opening=first_prompt(repository, main_line),
            created_at=creation_time(root.created),
            source=root.format,
            messages=len(history.messages),
            directory=metadata.directory or root.cwd,
            agent=history.main_agent,
            model=_newest_model(repository, history.newest_of_agents),
            tags=tuple(sorted(metadata.tags)) or None,
        )


class _History:
    """What a walk over a history counts: message ids, messages by agent, and the newest messages of agents."""

    def __init__(self, newest_first_commits: Iterable[Commit]) -> None:
        self.messages: set[MessageId] = set()
        self.newest_of_agents: list[Commit] = []
        self._authors: Counter[Identity] = Counter()
        for commit in newest_first_commits:
            if is_root(commit):
                continue
            self.messages.add(message_id_of(commit))
            self._authors[commit.author] += 1
            if len(self.newest_of_agents) < _MODEL_TRIED and author_kind_of(commit.author.email) == _AGENT:
                self.newest_of_agents.append(commit)

    @property
    def main_agent(self) -> AgentName | None:
        """The agent with most messages, the first by name if there are several."""
        agents: Counter[AgentName] = Counter()
        for author, count in self._authors.items():
            if author_kind_of(author.email) == _AGENT:
                agents[AgentName(author.name)] += count
        return min(agents, key=lambda name: (-agents[name], name), default=None)


def _newest_model(objects: Objects, newest_first_messages: Iterable[Commit]) -> str | None:
    """Return the model of the first message that names one; None if none does or it cannot be read.

    Messages that do not contain the name of the field are not decoded.
    """
    with suppress(Corrupt, NotFound):
        for commit in newest_first_messages:
            data = read_message_bytes_at(objects, commit.tree)
            model = decode(data).model if _MODEL_FIELD in data else None
            if model is not None:
                return model
    return None


class RemoteCounts(NamedTuple):
    """How many messages only this store has, and how many only the remote."""

    ahead: int
    behind: int


_EVEN: Final = RemoteCounts(0, 0)


def count_by_conversation(
    repository: Repository, conversations: Iterable[ConversationRefs], values: Mapping[str, str]
) -> dict[ConversationId, RemoteCounts]:
    """Compare conversations with the default remote; those that it did not have, or had no more, are left out.

    `values` are the refs. A branch that the remote lacks is compared with all that it has. What is damaged is left out,
    too: `verify` reports it.
    """
    gone: Mapping[str, Container[str]] = {}
    family: Sequence[str] = ()
    with suppress(Corrupt):
        gone = read_gone(repository.path)
    with suppress(Corrupt):
        # not from the other levels: a list is cached by the files of the store
        setting = read_setting(repository.config.store_file, DEFAULT_REMOTE)
        remote, addresses = find_default(repository.path, setting), read_addresses(repository.path)
        family = list_family(addresses, remote) if remote in addresses else ()
    manifests: dict[Oid, Oid] = {}
    for name in reversed(family):  # the oldest that has a conversation counts
        prefix = f"{REMOTES}{name}/"
        found_there = {ref.removeprefix(prefix): Oid(oid) for ref, oid in values.items() if ref.startswith(prefix)}
        manifests |= {Oid(root): oid for root, oid in found_there.items() if root not in gone.get(name, ())}
    found: dict[ConversationId, RemoteCounts] = {}
    for refs_of in conversations if manifests else ():
        with suppress(Corrupt, NotFound):
            manifest = manifests.get(_find_root(repository, refs_of, manifests) or Oid(""))
            if manifest is not None:
                found[refs_of.conversation] = _count(repository, refs_of, manifest)
    return found


def _find_root(repository: Repository, refs_of: ConversationRefs, manifests: Mapping[Oid, Oid]) -> Oid | None:
    if refs_of.meta is not None:
        _, fork = read_directory_and_fork(repository, Oid(refs_of.meta))
        if fork in manifests:
            return fork
    return find_root_commit(repository, refs_of.conversation)


def _count(repository: Repository, refs_of: ConversationRefs, manifest: Oid) -> RemoteCounts:
    parents, tips = read_commit(repository, manifest).parents, set(refs_of.tips.values())
    if tips in (set(parents), set(parents[1:])):  # the first one may be the manifest before
        return _EVEN
    there = read_manifest_branches(repository, manifest)
    entries = read_metadata(repository, refs_of.conversation).branches
    ahead: set[Oid] = set()
    behind: set[Oid] = set()
    for name, tip in refs_of.tips.items():
        other = there.get(branch_id(name, entries.get(name)))
        if other is None or other.tip != tip:
            ahead |= _list_new(repository, tip, manifest)
        if other is not None and other.tip != tip:
            behind |= _list_new(repository, other.tip, tip)
    return RemoteCounts(len(ahead), len(behind))


def _list_new(repository: Repository, tip: Oid, other: Oid) -> set[Oid]:
    bases = list_merge_bases(repository, tip, other)
    return {each.oid for each in list_new_commits(repository, tip, other, bases) if not is_root(each)}


_PREFIXES = (refs.HEADS, refs.META, refs.PENDING, refs.REMOTES, refs.ACTIVE)


def list_conversations(
    repository: Repository,
    directory: str | None = None,
    *,
    details: bool = True,
    wanted: ListFilter = ALL,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> ConversationList:
    """List conversations.

    Args:
        repository: the store.
        directory: where the index is; None to do without it, as for an earlier state of the store.
        details: rows need the fields that a walk over each history finds; without, some may have them.
        wanted: which conversations to list.
        on_progress: called with 1 for each conversation that is read.
    """
    needs = "listed" if details else "none"
    if wanted.needs_details:
        needs = "all"
    if directory is None or repository.is_past:  # the index is of the current state
        files, values = repository.read_refs(*_PREFIXES)
        made = _Rows(repository, values, CachedRows({}, ""), _note_damaged_refs(files), on_progress)
        return made.finish(wanted, needs)
    with without_purged(directory, repository.path):
        cached = read_rows(directory, repository.path)
        files, values = repository.read_refs(*_PREFIXES)
        made = _Rows(repository, values, cached, _note_damaged_refs(files), on_progress)
        found = made.finish(wanted, needs)
        state = ""
        if files.list_refs(_PREFIXES) == values and not found.damaged:  # otherwise an operation is pending
            try:
                state = list_digest(files, repository.path)
            except (OSError, ValueError):
                state = ""
        if state != cached.state or made.rows != cached.rows:
            save_rows(directory, repository.path, made.rows.values(), state)
    return found


def _note_damaged_refs(files: RefFiles) -> dict[ConversationId, Note]:
    """Return a note for each conversation with a ref whose file is damaged; its other branches are listed."""
    damaged: dict[ConversationId, list[str]] = {}
    for ref in files.list_damaged(_PREFIXES):
        if ref.startswith(refs.REMOTES):
            continue
        name = ref
        for prefix in (refs.HEADS, refs.META, refs.ACTIVE):
            name = name.removeprefix(prefix)
        damaged.setdefault(ConversationId(name.partition("/")[0]), []).append(ref.removeprefix(refs.HEADS))
    return {
        name: Note(f"left out, because the file of the ref is damaged: {', '.join(found)}", "see: scopes verify")
        for name, found in damaged.items()
    }


class _Rows:
    """The rows of all conversations; a cached one is used if the refs of its conversation are unchanged.

    rows: by conversation; damaged: a note for each conversation that cannot be read
    """

    def __init__(
        self,
        repository: Repository,
        values: Mapping[str, str],
        cached: CachedRows,
        damaged: dict[ConversationId, Note],
        on_progress: Callable[[int], None],
    ) -> None:
        self._repository = repository
        self._values = values
        self._on_progress = on_progress
        self._participants: ParticipantCache = {}
        self._times = RecordedTimes(repository)
        self._refs = {refs_of.conversation: refs_of for refs_of in group_by_conversation(values)}
        self.rows: dict[ConversationId, CachedRow] = {}
        self.damaged = damaged
        for name, refs_of in self._refs.items():
            row, state = cached.rows.get(name), refs_of.state
            try:
                if row is None or row.state != state:
                    row = CachedRow(self._reader(refs_of).read(), state)
                    on_progress(1)
                self.rows[name] = row
            except (Corrupt, NotFound) as error:
                self._leave_out(name, error)

    def _reader(self, refs_of: ConversationRefs) -> ConversationReader:
        return ConversationReader(self._repository, refs_of, self._participants, self._times)

    def _leave_out(self, name: ConversationId, error: Corrupt | NotFound) -> None:
        self.damaged[name] = Note(f"{name} is left out: {error.message}", "see: scopes verify")
        self.rows.pop(name, None)

    def finish(self, wanted: ListFilter, needs: str) -> ConversationList:
        """Return the list; `needs` says which rows get their details: `all`, those that are `listed`, or `none`."""
        if needs == "listed":
            summaries = newest_first(row.summary for row in self.rows.values())
            self._add_details(row.id for row in wanted.select(summaries)[: wanted.limit])
        elif needs == "all":
            self._add_details(list(self.rows))
        self._add_counts()
        notes = tuple(self.damaged.values())
        found = sorted_list((row.summary for row in self.rows.values()), wanted=wanted, notes=notes)
        return replace(found, damaged=tuple(self.damaged))

    def _add_details(self, names: Iterable[ConversationId]) -> None:
        for name in names:
            summary, state = self.rows[name]
            if summary.messages is None:
                try:
                    self.rows[name] = CachedRow(self._reader(self._refs[name]).read_details(summary), state)
                except (Corrupt, NotFound) as error:
                    self._leave_out(name, error)

    def _add_counts(self) -> None:
        """Add what does not follow from the history: the active branch, and how the default remote differs."""
        detailed = [self._refs[name] for name, row in self.rows.items() if row.summary.messages is not None]
        counts = count_by_conversation(self._repository, detailed, self._values) if detailed else {}
        for refs_of in detailed:
            summary, state = self.rows[refs_of.conversation]
            ahead, behind = counts.get(summary.id, (None, None))
            active = self._reader(refs_of).active_branch
            self.rows[summary.id] = CachedRow(summary._replace(active_branch=active, ahead=ahead, behind=behind), state)
