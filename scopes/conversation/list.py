"""`list`: all conversations, the most recently active first.

What was found out stays in the index, and is found out again only of conversations whose refs have moved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from scopes.clock import known_seconds
from scopes.conversation.list_cached import BRIEF, COMPLETE, ConversationList, creation_time, refs_digest, sorted_list
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import MESSAGE_FILE, NO_TEXT, STATE_DIRECTORY, count_messages, head_of, is_root
from scopes.history.metadata import Metadata, read_metadata_at, read_title
from scopes.history.revparse import MAIN, choose_active_branch
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.index.conversation_table import CachedSummary, ConversationSummary, States, open_conversation_table
from scopes.model.conversation import Root, decode_root
from scopes.model.path_encoding import decode_component
from scopes.result import Note
from scopes.store import refs as names
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit, Entry, Tip
from scopes.store.raw_refs import RefFiles
from scopes.store.repository import Repository, read_commit, read_tip, read_tree
from scopes.store.trees import find_blob, find_entry

Participants: TypeAlias = dict[Oid, frozenset[AgentName]]
"""Who is named in which tree: it is the same in very many commits."""

_PARTICIPANTS: Final = "participants"
_MOST_WALKED: Final = 5000  # commits, a tenth of a second
_AGAIN: Final = "it was made anew; nothing was lost"


class _Asked(NamedTuple):
    """What a list is to tell, and who is told of each conversation that was looked at."""

    openings: bool
    complete: bool
    advance: Callable[[int], None]


class _Found(NamedTuple):
    """What was found out, and what is to be said of conversations that could not be read."""

    kept: list[CachedSummary]
    damaged: dict[ConversationId, Note]


class _Refs(NamedTuple):
    """The refs of one conversation; `state` differs where one does that its summary is made from."""

    conversation: ConversationId
    tips: Mapping[BranchName, Oid]
    meta: str | None
    active: str | None

    @property
    def state(self) -> str:
        made_from = repr((sorted(self.tips.items()), self.meta))
        return hashlib.sha256(made_from.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def list_conversations(
    repository: Repository,
    directory: str | None = None,
    *,
    openings: bool = False,
    complete: bool = False,
    advance: Callable[[int], None] = lambda _count: None,
) -> ConversationList:
    """List every conversation, and tell `advance` of each; `complete` adds what costs a walk over each history.

    With `openings` those without a title say how they began, the latest first and as long as that takes no time.
    `directory` is where the index is kept, if it is.
    """
    asked = _Asked(openings, complete, advance)
    prefixes = COMPLETE if complete else BRIEF
    if directory is None:
        return _listed(_look(repository, repository.list_refs(*prefixes), {}, asked), asked)
    files, refs = repository.ref_files(*prefixes), repository.list_refs(*prefixes)
    with open_conversation_table(directory, repository.path) as table:
        found = _look(repository, refs, table.rows, asked)
        # nothing moves refs, nor did a moment ago, and all of them led to something
        certain = files.list_refs(prefixes) == refs and not found.damaged
        table.keep(found.kept, _states(files, repository.path, complete=complete) if certain else None)
    trouble = () if table.trouble is None else (Note(f"the index of conversations {table.trouble}", _AGAIN),)
    return _listed(found, asked, trouble)


def _states(files: RefFiles, store: str, *, complete: bool) -> States | None:
    try:
        return States(refs_digest(files, store, BRIEF), refs_digest(files, store, COMPLETE) if complete else None)
    except OSError:
        return None


def _listed(found: _Found, asked: _Asked, notes: tuple[Note, ...] = ()) -> ConversationList:
    listed = sorted_list(_shown(found.kept, asked), complete=asked.complete, notes=(*notes, *found.damaged.values()))
    return replace(listed, damaged=tuple(found.damaged))


def _shown(found: Iterable[CachedSummary], asked: _Asked) -> Iterator[ConversationSummary]:
    """Leave out what was not asked for, so that an answer does not depend on what the index happens to know."""
    for kept in found:
        opening = kept.summary.opening if asked.openings and kept.summary.title is None else None
        brief = kept.summary if asked.complete else ConversationSummary(*kept.summary[:5])
        yield brief._replace(opening=opening)


def _look(
    repository: Repository, refs: Mapping[str, str], known: Mapping[ConversationId, CachedSummary], asked: _Asked
) -> _Found:
    """Say of every conversation what is known, as long as its refs are the same, and find out the rest."""
    people: Participants = {}
    found: list[tuple[_Refs, CachedSummary]] = []
    damaged: dict[ConversationId, Note] = {}
    for at in _by_conversation(refs):
        try:
            found.append((at, _look_at(repository, at, known.get(at.conversation), people, asked)))
        except (Corrupt, NotFound) as error:
            damaged[at.conversation] = Note(f"{at.conversation} is left out: {error.message}", "see: scopes verify")
        asked.advance(1)
    return _Found(list(_opened(repository, found)) if asked.openings else [kept for _, kept in found], damaged)


def _look_at(
    repository: Repository, at: _Refs, known: CachedSummary | None, people: Participants, asked: _Asked
) -> CachedSummary:
    state = at.state
    kept = known
    if kept is None or kept.state != state:
        kept = CachedSummary(_summarize(repository, at, people), state, complete=False)
    if asked.complete:
        summary = kept.summary if kept.complete else _complete(repository, kept.summary, at)
        active = choose_active_branch(at.conversation, at.tips, at.active)
        kept = CachedSummary(summary._replace(active_branch=active), state, complete=True)
    return kept


def _by_conversation(refs: Mapping[str, str]) -> Iterator[_Refs]:
    """Sort the refs by conversation; what has no branch is none."""
    found: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in refs.items():
        place = names.split_branch_ref(ref)
        if place is not None:
            found.setdefault(place[0], {})[place[1]] = Oid(oid)
    for conversation, tips in found.items():
        meta, active = refs.get(names.meta_ref(conversation)), refs.get(names.active_ref(conversation))
        yield _Refs(conversation, tips, meta, active)


def _opened(repository: Repository, found: Iterable[tuple[_Refs, CachedSummary]]) -> Iterator[CachedSummary]:
    """Add how conversations without a title began, while the walks back to their beginnings are short in sum."""
    left = _MOST_WALKED
    for at, kept in sorted(found, key=lambda pair: pair[1].summary.last_activity or "", reverse=True):
        if kept.summary.title is None and kept.summary.opening is None:
            tip = at.tips.get(MAIN) or next(iter(at.tips.values()))
            line: list[Commit] = []
            with suppress(Corrupt, NotFound):  # damage further down: how it began is not known
                line += islice(walk_newest_first(repository, [tip]), left)
            left -= len(line)
            yield kept._replace(summary=kept.summary._replace(opening=_opening(line)))
        else:
            yield kept


def _opening(newest_first: list[Commit]) -> str | None:
    """Say how the first prompt begins, or else the first thing that an agent said; nothing of half a history."""
    if not newest_first or not is_root(newest_first[-1]):
        return None
    heads = [head for head in map(head_of, reversed(newest_first[:-1])) if head.subject != NO_TEXT]
    spoken = (head.subject for kind in ("human", "agent") for head in heads if head.author_kind == kind)
    return next(spoken, None)


def _summarize(repository: Repository, at: _Refs, known: Participants) -> ConversationSummary:
    """Describe a conversation from the tips of its branches and its title."""
    commits = [read_tip(repository, oid) for oid in set(at.tips.values())]
    return ConversationSummary(
        id=at.conversation,
        participants=participants_of(repository, commits, known),
        branches=len(at.tips),
        last_activity=known_seconds(max(commit.time for commit in commits)),
        title=None if at.meta is None else read_title(repository, Oid(at.meta)),
    )


def _complete(repository: Repository, brief: ConversationSummary, at: _Refs) -> ConversationSummary:
    """Add what costs a walk."""
    metadata = Metadata() if at.meta is None else read_metadata_at(repository, Oid(at.meta))
    tip = at.tips[choose_active_branch(at.conversation, at.tips, at.active)]
    main = metadata.branches.get(MAIN)
    root = read_root(repository, read_commit(repository, tip), None if main is None else main.fork)
    return brief._replace(
        uuid=root.uuid,
        title=metadata.title,
        created_at=creation_time(root.created),
        source=root.format,
        messages=count_messages(walk_newest_first(repository, at.tips.values())),
    )


def participants_of(
    repository: Repository, tips: Iterable[Commit | Tip], known: Participants | None = None
) -> tuple[AgentName, ...]:
    """Return everybody who spoke, or was named at the start, on one of the branches; sorted."""
    known = {} if known is None else known
    found: set[AgentName] = set()
    for tip in tips:
        state = find_entry(repository, tip.tree, STATE_DIRECTORY)
        if state is not None:
            if state.oid not in known:
                known[state.oid] = _read_participants(repository, state, known)
            found |= known[state.oid]
    return tuple(sorted(found))


def _read_participants(repository: Repository, state: Entry, known: Participants) -> frozenset[AgentName]:
    entry = find_entry(repository, state.oid, _PARTICIPANTS) if state.is_tree else None
    if entry is None or not entry.is_tree:
        return frozenset()
    if entry.oid not in known:
        found = read_tree(repository, entry.oid)
        known[entry.oid] = frozenset(AgentName(decode_component(name.removesuffix("="))) for name in found)
    return known[entry.oid]


def read_root(repository: Repository, tip: Commit, known: Oid | None) -> Root:
    """Read a conversation's root: where its metadata says it is, or else at the end of the walk.

    Raises:
        NotFound: the history has no root.
    """
    commit = read_commit(repository, known) if known is not None and repository.has(known) else tip
    if not is_root(commit):
        commit = next((c for c in walk_newest_first(repository, [tip.oid]) if is_root(c)), commit)
    data = find_blob(repository, commit.tree, MESSAGE_FILE) if is_root(commit) else None
    if data is None:
        raise NotFound(f"the history of {tip.oid} has no root", hint="see: scopes verify")
    return decode_root(data)
