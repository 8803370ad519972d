"""`list`: list all conversations, most recently active first.

Summaries are cached in the index; a conversation is read again only if its refs have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

from scopes.clock import creation_time, known_seconds
from scopes.conversation.list_cached import BRIEF, COMPLETE, ConversationList, refs_digest, sorted_list
from scopes.errors import Corrupt, NotFound
from scopes.history.conversations import ParticipantCache, participants_of
from scopes.history.messages import NO_TEXT, count_messages, head_of, is_root, read_root
from scopes.history.metadata import Metadata, read_metadata_at, read_title
from scopes.history.revisions import MAIN, choose_active_branch
from scopes.ids import BranchName, ConversationId, Oid
from scopes.index.conversation_table import (
    CachedSummary,
    ConversationSummary,
    States,
    brief_summary,
    open_conversation_table,
)
from scopes.result import Note
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.raw_refs import RefFiles
from scopes.store.repository import Repository, read_commit, read_tip

_MAX_WALKED: Final = 5000  # commits, a tenth of a second
_REBUILT: Final = "it was rebuilt; nothing was lost"


class _Options(NamedTuple):
    openings: bool
    complete: bool
    on_progress: Callable[[int], None]


class _Summaries(NamedTuple):
    """The summaries, and a note for each conversation that could not be read."""

    rows: list[CachedSummary]
    damaged: dict[ConversationId, Note]


class _ConversationRefs(NamedTuple):
    """The refs of one conversation; `state` is a digest of those that the brief summary depends on."""

    conversation: ConversationId
    tips: Mapping[BranchName, Oid]
    meta: str | None
    active: str | None

    @property
    def state(self) -> str:
        values = repr((sorted(self.tips.items()), self.meta))
        return hashlib.sha256(values.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def list_conversations(
    repository: Repository,
    directory: str | None = None,
    *,
    openings: bool = False,
    complete: bool = False,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> ConversationList:
    """List every conversation.

    Args:
        repository: the store.
        directory: where the index is; None to do without it.
        openings: add the beginning of the first prompt of conversations without a title, the newest first, as far as
            that takes little time.
        complete: add the fields that need a walk over each history.
        on_progress: called with 1 for each conversation.
    """
    options = _Options(openings, complete, on_progress)
    prefixes = COMPLETE if complete else BRIEF
    files, values = repository.ref_files(*prefixes), repository.list_refs(*prefixes)
    damaged = _note_damaged_refs(files, prefixes)
    if directory is None:
        return _as_result(_summarize_all(repository, values, {}, options, damaged), options)
    with open_conversation_table(directory, repository.path) as table:
        summaries = _summarize_all(repository, values, table.rows, options, damaged)
        # the whole table may be reused only if no ref changed while it was read, and every conversation was readable
        consistent = files.list_refs(prefixes) == values and not summaries.damaged
        table.save(summaries.rows, _digests(files, repository.path, complete=complete) if consistent else None)
    notes = () if table.problem is None else (Note(f"the index of conversations {table.problem}", _REBUILT),)
    return _as_result(summaries, options, notes)


def _digests(files: RefFiles, store: str, *, complete: bool) -> States | None:
    try:
        return States(refs_digest(files, store, BRIEF), refs_digest(files, store, COMPLETE) if complete else None)
    except OSError:
        return None


def _as_result(summaries: _Summaries, options: _Options, notes: tuple[Note, ...] = ()) -> ConversationList:
    rows = _requested_fields(summaries.rows, options)
    result = sorted_list(rows, complete=options.complete, notes=(*notes, *summaries.damaged.values()))
    return replace(result, damaged=tuple(summaries.damaged))


def _requested_fields(rows: Iterable[CachedSummary], options: _Options) -> Iterator[ConversationSummary]:
    """Leave out fields that were not requested, so that the result does not depend on what the index contains."""
    for row in rows:
        opening = row.summary.opening if options.openings and row.summary.title is None else None
        summary = row.summary if options.complete else brief_summary(row.summary)
        yield summary._replace(opening=opening)


def _note_damaged_refs(files: RefFiles, prefixes: tuple[str, ...]) -> dict[ConversationId, Note]:
    """Return a note for each conversation with a ref whose file is damaged; its other branches are listed."""
    damaged: dict[ConversationId, list[str]] = {}
    for ref in files.list_damaged(prefixes):
        name = ref
        for prefix in (refs.HEADS, refs.META, refs.ACTIVE):
            name = name.removeprefix(prefix)
        damaged.setdefault(ConversationId(name.partition("/")[0]), []).append(ref.removeprefix(refs.HEADS))
    return {
        name: Note(f"left out, because the file of the ref is damaged: {', '.join(found)}", "see: scopes verify")
        for name, found in damaged.items()
    }


def _summarize_all(
    repository: Repository,
    values: Mapping[str, str],
    cached: Mapping[ConversationId, CachedSummary],
    options: _Options,
    damaged: dict[ConversationId, Note],
) -> _Summaries:
    """Summarize every conversation; use the cached summary if its refs are unchanged.

    A note for each conversation that cannot be read is added to `damaged`.
    """
    participants: ParticipantCache = {}
    rows: list[tuple[_ConversationRefs, CachedSummary]] = []
    for refs_of in _group_by_conversation(values):
        name = refs_of.conversation
        try:
            rows.append((refs_of, _summarize(repository, refs_of, cached.get(name), participants, options)))
        except (Corrupt, NotFound) as error:
            damaged[name] = Note(f"{name} is left out: {error.message}", "see: scopes verify")
        options.on_progress(1)
    return _Summaries(list(_add_openings(repository, rows)) if options.openings else [row for _, row in rows], damaged)


def _summarize(
    repository: Repository,
    refs_of: _ConversationRefs,
    cached: CachedSummary | None,
    participants: ParticipantCache,
    options: _Options,
) -> CachedSummary:
    state = refs_of.state
    row = cached
    if row is None or row.state != state:
        row = CachedSummary(_brief_summary(repository, refs_of, participants), state, complete=False)
    if options.complete:
        summary = row.summary if row.complete else _complete_summary(repository, row.summary, refs_of)
        active = choose_active_branch(refs_of.conversation, refs_of.tips, refs_of.active)
        row = CachedSummary(summary._replace(active_branch=active), state, complete=True)
    return row


def _group_by_conversation(values: Mapping[str, str]) -> Iterator[_ConversationRefs]:
    """Group refs by conversation; a conversation without a branch is left out."""
    tips_of: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in values.items():
        names = refs.split_branch_ref(ref)
        if names is not None:
            tips_of.setdefault(names[0], {})[names[1]] = Oid(oid)
    for conversation, tips in tips_of.items():
        meta, active = values.get(refs.meta_ref(conversation)), values.get(refs.active_ref(conversation))
        yield _ConversationRefs(conversation, tips, meta, active)


def _add_openings(
    repository: Repository, rows: Iterable[tuple[_ConversationRefs, CachedSummary]]
) -> Iterator[CachedSummary]:
    """Add the opening of conversations without a title, newest first, until _MAX_WALKED commits have been read."""
    remaining = _MAX_WALKED
    for refs_of, row in sorted(rows, key=lambda pair: pair[1].summary.last_activity or "", reverse=True):
        if row.summary.title is None and row.summary.opening is None:
            tip = refs_of.tips.get(MAIN) or next(iter(refs_of.tips.values()))
            commits: list[Commit] = []
            with suppress(Corrupt, NotFound):  # a damaged history has no opening
                commits += islice(walk_newest_first(repository, [tip]), remaining)
            remaining -= len(commits)
            yield row._replace(summary=row.summary._replace(opening=_opening(commits)))
        else:
            yield row


def _opening(newest_first: list[Commit]) -> str | None:
    """Return the subject of the first prompt, or else of the first agent message; None for an incomplete history."""
    if not newest_first or not is_root(newest_first[-1]):
        return None
    heads = [head for head in map(head_of, reversed(newest_first[:-1])) if head.subject != NO_TEXT]
    subjects = (head.subject for kind in ("human", "agent") for head in heads if head.author_kind == kind)
    return next(subjects, None)


def _brief_summary(
    repository: Repository, refs_of: _ConversationRefs, participants: ParticipantCache
) -> ConversationSummary:
    """Summarize a conversation from the tips of its branches and its title."""
    commits = [read_tip(repository, oid) for oid in set(refs_of.tips.values())]
    return ConversationSummary(
        id=refs_of.conversation,
        participants=participants_of(repository, commits, participants),
        branches=len(refs_of.tips),
        last_activity=known_seconds(max(commit.time for commit in commits)),
        title=None if refs_of.meta is None else read_title(repository, Oid(refs_of.meta)),
    )


def _complete_summary(
    repository: Repository, brief: ConversationSummary, refs_of: _ConversationRefs
) -> ConversationSummary:
    """Add the fields that need a walk over the history."""
    metadata = Metadata() if refs_of.meta is None else read_metadata_at(repository, Oid(refs_of.meta))
    tip = refs_of.tips[choose_active_branch(refs_of.conversation, refs_of.tips, refs_of.active)]
    main = metadata.branches.get(MAIN)
    root = read_root(repository, read_commit(repository, tip), None if main is None else main.fork)
    return brief._replace(
        uuid=root.uuid,
        title=metadata.title,
        created_at=creation_time(root.created),
        source=root.format,
        messages=count_messages(walk_newest_first(repository, refs_of.tips.values())),
    )
