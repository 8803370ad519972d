"""The core objects store > conversation > branch > revision > message: `StoreHandle(repository).branch("conv-001")`.

Handles hold names and read when asked, so they never go stale and are cheap to make. A Revision is a plain value.
Verbs are functions of `scopes.conversation`, which resolve their arguments with these handles; `scopes.api` extends
the handles with the verbs as methods.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from scopes.clock import now_nanoseconds
from scopes.errors import NotFound, Refused
from scopes.history.messages import (
    STATE_DIRECTORY,
    MessageHeader,
    count_messages,
    header_of,
    message_id_of,
    read_body,
    walk_headers_newest_first,
    walk_headers_oldest_first,
)
from scopes.history.metadata import Metadata, read_metadata
from scopes.history.names import (
    MAIN,
    Revision,
    conversation_ids,
    could_be_id,
    find_root,
    list_branch_tips,
    read_active_branch,
    resolve_branch,
    resolve_branch_name,
    resolve_conversation,
    resolve_revision,
)
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.model.conversation import BranchEntry
from scopes.model.encoding import decode_component
from scopes.model.message import Message
from scopes.result import Note
from scopes.store import refs
from scopes.store.config import Config
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import TREE, Commit, Objects, find_in_tree, read_commit, read_data, read_tree
from scopes.store.refs import branch_ref
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class StoreHandle:
    """All conversations of a repository."""

    repository: Repository

    def conversations(self) -> Sequence[ConversationHandle]:
        """Return all conversations, sorted by id."""
        return [self._handle(conversation_id) for conversation_id in conversation_ids(self.repository)]

    def conversation(self, text: str) -> ConversationHandle:
        """Resolve a conversation by its id or a unique prefix; raises as `resolve_conversation` does."""
        return self._handle(resolve_conversation(self.repository, text))

    def _handle(self, conversation_id: ConversationId) -> ConversationHandle:
        return ConversationHandle(self.repository, conversation_id)

    def branch(self, conversation: str, branch: str | None = None) -> BranchHandle:
        """Resolve a conversation, or `CONV/BRANCH`, and a branch in it; raises as `resolve_branch` does."""
        conversation_id, name = resolve_branch(self.repository, conversation, branch)
        return BranchHandle(self._handle(conversation_id), name)

    def revision(self, text: str) -> Revision:
        """Resolve a revision such as `conv-001/main~2`, a message id or a tag; raises as `resolve_revision` does."""
        return resolve_revision(self.repository, text)


@dataclass(frozen=True, slots=True)
class ConversationHandle:
    """One conversation."""

    repository: Repository
    id: ConversationId

    @property
    def metadata(self) -> Metadata:
        """Title, tags and branch entries."""
        return read_metadata(self.repository, self.id)

    @property
    def tips(self) -> dict[BranchName, Oid]:
        """The tip of each branch, sorted by name."""
        return list_branch_tips(self.repository, self.id)

    @property
    def active_branch(self) -> BranchHandle:
        """The branch that messages go to if none is named."""
        return BranchHandle(self, read_active_branch(self.repository, self.id))

    def branches(self) -> Sequence[BranchHandle]:
        """Return all branches, sorted by name."""
        return [BranchHandle(self, name) for name in self.tips]

    def branch(self, text: str | None = None) -> BranchHandle:
        """Resolve a branch by name or unique prefix (default: the active one); raises as `resolve_branch_name` does."""
        return BranchHandle(self, resolve_branch_name(self.repository, self.id, text))

    def revision(self, text: str) -> Revision:
        """Resolve a revision of this conversation; raises as `resolve_revision` does."""
        return resolve_revision(self.repository, text, self.id)


@dataclass(frozen=True, slots=True)
class BranchHandle:
    """One branch of a conversation."""

    conversation: ConversationHandle
    name: BranchName

    def __str__(self) -> str:
        return f"{self.conversation.id}/{self.name}"

    @property
    def repository(self) -> Repository:
        """The repository of the conversation."""
        return self.conversation.repository

    @property
    def tip(self) -> Oid:
        """The newest commit.

        Raises:
            NotFound: the branch was deleted.
        """
        value = self.repository.find_ref(branch_ref(self.conversation.id, self.name))
        if value is None:
            raise NotFound(f"branch {self} no longer exists", hint="restore it: scopes undo")
        return Oid(value)

    @property
    def revision(self) -> Revision:
        """The revision at the tip."""
        return Revision(self.conversation.id, self.name, self.tip)

    def find(self, text: str) -> Revision:
        """Resolve a revision of the conversation; of a message that was copied, the id means the copy on this branch.

        Raises as `resolve_revision` does.
        """
        found = self.conversation.revision(text)
        head = header_of(read_commit(self.repository, found.oid))
        if could_be_id(text) and head.id.startswith(text) and not is_ancestor(self.repository, head.oid, self.tip):
            for commit in walk_newest_first(self.repository, [self.tip]):
                if message_id_of(commit) == head.id:
                    return found._replace(oid=commit.oid)
        return found

    @property
    def entry(self) -> BranchEntry:
        """The metadata entry; an empty one if there is none."""
        return self.conversation.metadata.branches.get(self.name, BranchEntry())

    @property
    def parent(self) -> BranchName | None:
        """The branch that this one was forked from; main if that is unknown or was deleted; None for main itself."""
        parent = self.entry.parent
        found = parent if parent is not None and parent in self.conversation.tips else MAIN
        return None if found == self.name else found

    def headers(self) -> Iterator[MessageHeader]:
        """Yield the headers of the messages, newest first; no body is read."""
        return walk_headers_newest_first(self.repository, [self.tip])

    def messages(self) -> Iterator[Message]:
        """Yield the messages, newest first."""
        return (read_body(self.repository, head) for head in self.headers())


ParticipantCache: TypeAlias = dict[Oid, frozenset[AgentName]]
"""The participants by tree; the same tree occurs in very many commits."""

_PARTICIPANTS: Final = "participants"
_NUMBERED = re.compile(rf"^(?:{refs.HEADS}|{refs.META}|{refs.TRASH})conv-([0-9]{{3,9}})(?:/.*)?$", re.MULTILINE)


def participants_of(
    objects: Objects, tips: Iterable[Commit], cache: ParticipantCache | None = None
) -> tuple[AgentName, ...]:
    """Return everybody who wrote a message, or was named at the start, on one of the branches; sorted."""
    cache = {} if cache is None else cache
    participants: set[AgentName] = set()
    for tip in tips:
        state = find_in_tree(read_data(objects, tip.tree, TREE), STATE_DIRECTORY)
        if state is not None and state.is_tree:
            participants |= read_participants(objects, state.oid, cache)
    return tuple(sorted(participants))


def read_participants(objects: Objects, state: Oid, cache: ParticipantCache) -> frozenset[AgentName]:
    """Return the participants in a tree of states, from the cache if they are there."""
    found = cache.get(state)
    if found is None:
        entry = find_in_tree(read_data(objects, state, TREE), _PARTICIPANTS)
        if entry is None or not entry.is_tree:
            found = frozenset()
        elif entry.oid in cache:
            found = cache[entry.oid]
        else:
            names = read_tree(objects, entry.oid)
            found = cache[entry.oid] = frozenset(AgentName(decode_component(name.removesuffix("="))) for name in names)
        cache[state] = found
    return found


class Scope(NamedTuple):
    """What a command covers: all branches of a conversation, or `branch` only."""

    conversation: ConversationId
    branch: BranchName | None
    tips: Mapping[BranchName, Oid]


def resolve_scope(repository: Repository, text: str) -> Scope:
    """Resolve a conversation, or one branch of it given as `CONV/BRANCH`.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch, or several.
    """
    name, slash, rest = text.partition("/")
    conversation = resolve_conversation(repository, name)
    tips = list_branch_tips(repository, conversation)
    if not slash:
        return Scope(conversation, None, tips)
    branch = resolve_branch_name(repository, conversation, rest)
    return Scope(conversation, branch, {branch: tips[branch]})


def walk_messages(repository: Repository, scope: Scope) -> Iterator[tuple[MessageHeader, Message]]:
    """Yield all messages of the branches of a scope with their bodies, each once, oldest first."""
    heads = walk_headers_oldest_first(repository, _sort_by_time(repository, scope.tips.values()))
    return ((head, read_body(repository, head)) for head in heads)


def list_tips_by_time(repository: Repository, conversation: ConversationId) -> list[Oid]:
    """Return the tips of all branches, each once, the oldest first; a walk begins with the last of them."""
    return _sort_by_time(repository, list_branch_tips(repository, conversation).values())


def _sort_by_time(repository: Repository, tips: Iterable[Oid]) -> list[Oid]:
    return sorted(set(tips), key=lambda oid: (read_commit(repository, oid).time, oid))


def next_conversation_id(repository: Repository) -> ConversationId:
    """Return `conv-` and the highest number ever used plus one; includes deleted conversations, ignores case."""
    found = repository.list_ref_names(refs.META, refs.TRASH)
    number = 1 + max(map(int, _NUMBERED.findall("\n".join(found).lower())), default=0)
    while repository.list_ref_names(f"{refs.HEADS}conv-{number:03d}/"):  # its metadata is lost
        number += 1
    return ConversationId(f"conv-{number:03d}")


def refuse_taken(repository: Repository, conversation: ConversationId) -> None:
    """Raise Refused if a conversation with this id exists; the id of a deleted one may be used again."""
    has_branches = bool(repository.list_refs(f"{refs.HEADS}{conversation}/"))
    if has_branches or repository.find_ref(refs.meta_ref(conversation)) is not None:
        raise Refused(f"conversation {conversation} already exists", hint="choose another name")


def read_uuid(repository: Repository, conversation: ConversationId) -> str:
    """Return the uuid of a conversation, which it keeps when it is renamed.

    Raises:
        NotFound: there is no such conversation, or its history has no root.
    """
    root = find_root(repository, conversation)
    if root is None:
        raise NotFound(f"there is no conversation {conversation!a}", hint="list them: scopes list")
    return root.uuid


class Limits(NamedTuple):
    """The settings `scopes.maxTurns` and `scopes.idleSeconds`; None: no limit."""

    max_turns: int | None = None
    idle_seconds: int | None = None


NO_LIMITS: Final = Limits()


def read_limits(config: Config) -> Limits:
    """Return the configured limits."""
    turns, seconds = config.find_integer("scopes.maxTurns", 0), config.find_integer("scopes.idleSeconds", 0)
    return Limits(turns or None, seconds or None)


def check_limits(
    repository: Repository, tip: Oid, limits: Limits, *, appended: bool
) -> tuple[int | None, tuple[Note, ...]]:
    """Return how many messages may still come after a tip, None without a limit, and notes on exceeded limits.

    appended: the tip was appended just now, so the branch was idle before it, and not since
    """
    notes, remaining = [], None
    if limits.max_turns is not None:
        count = count_messages(walk_newest_first(repository, [tip]))
        remaining = max(0, limits.max_turns - count)
        if not remaining:
            text = f"the history of the branch has {count} of {limits.max_turns} messages (scopes.maxTurns)"
            notes.append(Note(text, "continue in a new one: scopes new"))
    if limits.idle_seconds is not None:
        commit = read_commit(repository, tip)
        last = read_commit(repository, commit.parents[0]).time if appended and commit.parents else commit.time
        seconds = (commit.time if appended else now_nanoseconds() // 1_000_000_000) - last
        if seconds > limits.idle_seconds:
            verb, limit = "was" if appended else "has been", f"longer than scopes.idleSeconds ({limits.idle_seconds})"
            notes.append(Note(f"the branch {verb} idle for {seconds} seconds, {limit}"))
    return remaining, tuple(notes)
