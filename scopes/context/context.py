"""`context`: of a conversation, or of all that was said for a work item, what fits into a number of tokens."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from scopes.clock import now_nanoseconds
from scopes.context.assemble import Wanted, assemble
from scopes.context.calibrate import calibrate
from scopes.context.collect import ReadLimits, collect, find_sessions
from scopes.context.context_cache import ContextCache, key_of, stat_files
from scopes.context.files import Project
from scopes.context.limits import Limits
from scopes.context.relevance import words_of
from scopes.context.report import ReportHeader, describe
from scopes.context.result import LAYOUTS, MODES, Context
from scopes.errors import Invalid
from scopes.history.messages import count_messages
from scopes.history.revparse import Revision, list_branch_tips
from scopes.result import Note
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository, read_tip
from scopes.tokens.choose import TokenizerChoice
from scopes.tokens.count_cache import FileCountCache, with_cache

_FILES_FROM = 1000  # messages that are looked through for files, although not all of them fit
_NO_LIMITS = Limits()
_FEWEST_TOKENS = 8  # no turn has so few, its heading included


def context(
    repository: Repository,
    where: str | None,
    chosen: TokenizerChoice,
    *,
    max_tokens: int,
    cache: str,
    project: str,
    mode: str | None = None,
    task: str | None = None,
    work_item: str | None = None,
    every: bool = False,
    at: str | None = None,
    explain: bool = False,
    limits: Limits = _NO_LIMITS,
) -> Context:
    """Build a context of at most `max_tokens`, or take it from the cache; the history itself is never changed (S1-27).

    Without a mode it is `relevance` where there is a task and `history` elsewhere. Files are read below `project` only.

    Raises:
        Invalid: a negative budget, an unknown mode, `relevance` without a task, a task without words.
        NotFound, Ambiguous: there is no such conversation, branch or message, or nothing for that work item.
    """
    wanted = _check(max_tokens, mode, task)._replace(
        files=limits.files, candidates=limits.candidates, tight_below=limits.tight_below
    )
    places = find_sessions(repository, where, work_item, at)
    options: dict[str, object] = {
        "mode": wanted.mode, "task": wanted.task, "work_item": work_item, "all": every, "at": at,
    }  # fmt: skip
    tips = [[place.conversation, place.branch, place.oid] for place in places]
    by: dict[str, object] = {
        "max_tokens": max_tokens, "encoding": chosen.tokenizer.name, "project": project, "explain": explain,
        "notes": [note.text for note in chosen.notes], "limits": limits,
    }  # fmt: skip
    key = key_of(tips=tips, options=options, by=by)
    kept = ContextCache(cache, limits.kept_seconds)
    found = kept.find(key)
    if found is None:
        asked = _Asked(places, wanted, ReadLimits(every, work_item), options, project, explain)
        with FileCountCache(cache) as counts:
            found, files = _build(repository, asked, with_cache(chosen, counts))
            counts.save()
        if found.metadata["messages"]:  # a title may change without any message
            kept.keep(key, found, stat_files(os.path.join(project, path) for path in files))
    found = _with_limits(repository, places[-1], found, limits)
    said = tuple(Note(warning) for warning in found.warnings)
    if kept.damaged:
        said = (Note("the kept context was damaged: it was made anew"), *said)
    return replace(found, notes=(*found.notes, *said))


def _with_limits(repository: Repository, place: Revision, found: Context, limits: Limits) -> Context:
    """Tell how much of a conversation's limits is left (S1-24); this is of now, and therefore never kept."""
    warnings = list(found.warnings)
    metadata = dict(found.metadata)
    if limits.max_turns is not None:
        turns = count_messages(walk_newest_first(repository, [place.oid]))
        metadata["remaining_turns"] = max(0, limits.max_turns - turns)
        if turns >= limits.max_turns:
            warnings.append(f"the conversation has {turns} of {limits.max_turns} turns: go on in a new one")
    if limits.idle_seconds is not None:
        idle = now_nanoseconds() // 1_000_000_000 - read_tip(repository, place.oid).time
        if idle > limits.idle_seconds:
            warnings.append(f"the conversation has been idle for {idle} seconds, longer than {limits.idle_seconds}")
    return replace(found, metadata=metadata, warnings=tuple(warnings))


def check_layout(layout: str) -> str:
    """Accept the name of a layout.

    Raises:
        Invalid: there is none of that name.
    """
    if layout not in LAYOUTS:
        raise Invalid(f"{layout!a} is no format of a context", hint="formats: " + ", ".join(LAYOUTS))
    return layout


def _check(max_tokens: int, mode: str | None, task: str | None) -> Wanted:
    if max_tokens < 0:
        raise Invalid(f"a budget of {max_tokens} tokens is negative", hint="for example: --max-tokens 8000")
    chosen = mode or ("history" if task is None else "relevance")
    if chosen not in MODES:
        raise Invalid(f"{chosen!a} is no mode", hint="modes: " + ", ".join(MODES))
    if chosen == "relevance" and task is None:
        raise Invalid("relevance is that for a task", hint="say which: --task 'login fails on Safari'")
    if task is not None:
        words_of(task)
    return Wanted(max_tokens, chosen, None if chosen == "history" else task)


class _Asked(NamedTuple):
    """What a context is asked for, checked and resolved."""

    places: Sequence[Revision]
    wanted: Wanted
    extent: ReadLimits
    options: Mapping[str, object]
    project: str
    explain: bool


def _build(repository: Repository, asked: _Asked, chosen: TokenizerChoice) -> tuple[Context, list[str]]:
    """Put a context together; returns also the paths of all files that it could have had."""
    places, wanted, last = asked.places, asked.wanted, asked.places[-1]
    partly = wanted.task is None and not asked.explain
    most = max(_FILES_FROM, wanted.max_tokens // _FEWEST_TOKENS) if partly else sys.maxsize
    tokenizer, told = calibrate(repository, last, chosen)
    earlier = asked.options["at"] is not None or _is_past(repository, last)  # than now, of which the project is
    material = collect(repository, places, asked.extent._replace(most=most, as_recorded=earlier))
    title = _title(places, asked.extent.work_item)
    assembled = assemble(material, title, wanted, Project(asked.project, as_recorded=earlier), tokenizer)
    about = ReportHeader(last, wanted.max_tokens, tokenizer.method, tokenizer.name, asked.options)
    found = describe(about, material, assembled, tokenizer.count if asked.explain else None)
    return replace(found, notes=(*told, *found.notes)), [file.path for file in material.files]


def _is_past(repository: Repository, place: Revision) -> bool:
    """Tell whether a branch has gone on since, so that the project of today may be another one."""
    return place.oid not in list_branch_tips(repository, place.conversation).values()


def _title(places: Sequence[Revision], work_item: str | None) -> str:
    last = places[-1]
    where = f"{last.conversation}/{last.branch}" if last.branch else f"{last.conversation} at {last.oid[:8]}"
    return where if work_item is None else f"work item {' '.join(work_item.split())}"
