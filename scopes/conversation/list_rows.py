"""Make the rows of `list`: a brief one from the tips of the branches, a complete one from the whole history."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from scopes.clock import creation_time, known_seconds, parse_time
from scopes.errors import Corrupt, NotFound
from scopes.history.conversations import ParticipantCache, participants_of
from scopes.history.messages import head_of, is_root, read_message, read_root
from scopes.history.metadata import Metadata, read_metadata_at, read_title
from scopes.history.revisions import MAIN, choose_active_branch
from scopes.history.titles import first_prompt, walk_main
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.index.conversation_table import ConversationSummary
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit, read_tip

_ABANDONED: Final = "abandoned"
_AGENT: Final = "agent"
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
    for ref, oid in values.items():
        names = refs.split_branch_ref(ref)
        if names is not None:
            tips_of.setdefault(names[0], {})[names[1]] = Oid(oid)
    for conversation, tips in tips_of.items():
        meta, active = values.get(refs.meta_ref(conversation)), values.get(refs.active_ref(conversation))
        yield ConversationRefs(conversation, tips, meta, active)


def summarize(repository: Repository, refs_of: ConversationRefs, participants: ParticipantCache) -> ConversationSummary:
    """Summarize a conversation from the tips of its branches and its metadata."""
    commits = [read_tip(repository, oid) for oid in set(refs_of.tips.values())]
    meta = None if refs_of.meta is None else Oid(refs_of.meta)
    return ConversationSummary(
        id=refs_of.conversation,
        participants=participants_of(repository, commits, participants),
        branches=_count_branches(repository, refs_of.tips, meta),
        last_activity=known_seconds(max(commit.time for commit in commits)),
        title=None if meta is None else read_title(repository, meta),
    )


def complete_summary(
    repository: Repository, brief: ConversationSummary, refs_of: ConversationRefs
) -> ConversationSummary:
    """Add the fields that need a walk over the history."""
    metadata = Metadata() if refs_of.meta is None else read_metadata_at(repository, Oid(refs_of.meta))
    tip = refs_of.tips[choose_active_branch(refs_of.conversation, refs_of.tips, refs_of.active)]
    main = metadata.branches.get(MAIN)
    root = read_root(repository, read_commit(repository, tip), None if main is None else main.fork)
    history = _History()
    opening = brief.opening
    if metadata.title is None and len(set(refs_of.tips.values())) == 1:
        opening = first_prompt(history.counting(walk_newest_first(repository, refs_of.tips.values())))
    else:
        history.count(walk_newest_first(repository, refs_of.tips.values()))
        opening = None if metadata.title is not None else first_prompt(walk_main(repository, refs_of.tips))
    return brief._replace(
        uuid=root.uuid,
        title=metadata.title,
        opening=opening,
        created_at=creation_time(root.created),
        source=root.format,
        messages=len(history.messages),
        directory=metadata.directory or root.cwd,
        agent=history.main_agent,
        model=_newest_model(repository, history.newest_of_agents),
        tags=tuple(sorted(metadata.tags)) or None,
    )


def read_moment(repository: Repository, tips: Iterable[Oid]) -> int | None:
    """Return the time of the newest message in nanoseconds; commits have whole seconds."""
    commits = [read_commit(repository, oid) for oid in set(tips)]
    newest = max(commit.time for commit in commits)
    times = [
        read_root(repository, commit, None).created if is_root(commit) else read_message(repository, commit.oid).time
        for commit in commits
        if commit.time == newest
    ]
    return max((parse_time(time) or 0 for time in times if time is not None), default=None)


def _count_branches(repository: Repository, tips: Mapping[BranchName, Oid], meta: Oid | None) -> int:
    """Count the branches that are not abandoned (S4-8)."""
    if meta is None or len(tips) == 1:
        return len(tips)
    entries = read_metadata_at(repository, meta).branches
    return sum(entries[name].status != _ABANDONED if name in entries else True for name in tips)


class _History:
    """What a walk over a history counts: message ids, messages by agent, and the newest messages of agents."""

    def __init__(self) -> None:
        self.messages: set[MessageId] = set()
        self.newest_of_agents: list[Oid] = []
        self._agents: Counter[AgentName] = Counter()

    @property
    def main_agent(self) -> AgentName | None:
        """The agent with most messages, the first by name if there are several."""
        return min(self._agents, key=lambda name: (-self._agents[name], name), default=None)

    def counting(self, newest_first_commits: Iterable[Commit]) -> Iterator[Commit]:
        """Yield commits after they were counted."""
        for commit in newest_first_commits:
            if not is_root(commit):
                head = head_of(commit)
                self.messages.add(head.id)
                if head.author_kind == _AGENT:
                    self._agents[head.author] += 1
                    if len(self.newest_of_agents) < _MODEL_TRIED:
                        self.newest_of_agents.append(commit.oid)
            yield commit

    def count(self, newest_first_commits: Iterable[Commit]) -> None:
        """Count commits."""
        for _ in self.counting(newest_first_commits):
            pass


def _newest_model(repository: Repository, newest_first_messages: Iterable[Oid]) -> str | None:
    """Return the model of the first message that names one; None if none does or it cannot be read."""
    with suppress(Corrupt, NotFound):
        for oid in newest_first_messages:
            model = read_message(repository, oid).model
            if model is not None:
                return model
    return None
