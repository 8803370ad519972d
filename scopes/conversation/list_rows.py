"""Make the rows of `list`: from the tips of the branches, and their details from the whole history."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import repeat
from typing import Final, NamedTuple

from scopes.clock import creation_time, known_seconds, later_of, parse_time
from scopes.errors import Corrupt, NotFound
from scopes.history.conversations import ParticipantCache, participants_of
from scopes.history.messages import (
    author_kind_of,
    is_root,
    message_id_of,
    read_body,
    read_message_bytes_at,
    read_root,
)
from scopes.history.metadata import Metadata, read_metadata_at
from scopes.history.recorded_times import RecordedTimes
from scopes.history.revisions import MAIN, choose_active_branch
from scopes.history.titles import first_prompt, walk_main
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.index.conversation_table import ConversationRow
from scopes.model.codec import decode
from scopes.model.conversation import Root
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit, Identity
from scopes.store.repository import Objects, Repository, read_commit

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
    tips_of: dict[str, dict[BranchName, Oid]] = {}
    for ref, oid in values.items():  # without a call for each of very many refs, such as `split_branch_ref`
        if ref.startswith(refs.HEADS):
            name, slash, branch = ref[_HEADS_LENGTH:].partition("/")
            if slash:
                tips = tips_of.get(name)
                if tips is None:
                    tips_of[name] = {branch: oid}  # type: ignore[dict-item] # BranchName and Oid
                else:
                    tips[branch] = oid  # type: ignore[index, assignment]
    metas = map(values.get, map(refs.META.__add__, tips_of))
    actives = map(values.get, map(refs.ACTIVE.__add__, tips_of))
    fields = zip(tips_of, tips_of.values(), metas, actives, strict=True)
    return map(tuple.__new__, repeat(ConversationRefs), fields)


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
