"""Read what concerns a whole conversation: its participants, all its messages; choose ids for new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from scopes.errors import NotFound, Refused
from scopes.history.messages import STATE_DIRECTORY, MessageHeader, read_body, read_root, walk_headers_oldest_first
from scopes.history.metadata import read_metadata
from scopes.history.revisions import MAIN, list_branch_tips, resolve_branch_name, resolve_conversation
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.model.message import Message
from scopes.model.path_encoding import decode_component
from scopes.store import refs
from scopes.store.objects import TREE, Commit, find_in_tree
from scopes.store.repository import Objects, Repository, read_commit, read_data, read_tree

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
    main = read_metadata(repository, conversation).branches.get(MAIN)
    tip = next(iter(list_branch_tips(repository, conversation).values()), None)
    if tip is None:
        raise NotFound(f"there is no conversation {conversation!a}", hint="list them: scopes list")
    return read_root(repository, read_commit(repository, tip), None if main is None else main.fork).uuid
