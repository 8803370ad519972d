"""`context`: of a conversation, or of all that was said for a work item, what fits into a number of tokens."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from scopes.context.assemble import Wanted, assemble
from scopes.context.calibrate import calibrate
from scopes.context.counts import KeptCounts, remembering
from scopes.context.describe import About, describe
from scopes.context.files import Project
from scopes.context.gather import Extent, find_sessions, gather
from scopes.context.kept import KeptContexts, key_of, sign
from scopes.context.relevance import words_of
from scopes.context.result import LAYOUTS, MODES, Context
from scopes.context.tokens import Chosen
from scopes.conversation.lookup import Place
from scopes.errors import Invalid
from scopes.result import Note
from scopes.store.repository import Repository

_FILES_FROM = 1000  # messages that are looked through for files, although not all of them fit
_FEWEST_TOKENS = 8  # no turn has so few, its heading included


def context(
    repository: Repository,
    where: str | None,
    chosen: Chosen,
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
) -> Context:
    """Build a context of at most `max_tokens`, or take it from the cache; the history itself is never changed (S1-27).

    Without a mode it is `relevance` where there is a task and `history` elsewhere. Files are read below `project` only.

    Raises:
        Invalid: a negative budget, an unknown mode, `relevance` without a task, a task without words.
        NotFound, Ambiguous: there is no such conversation, branch or message, or nothing for that work item.
    """
    wanted = _check(max_tokens, mode, task)
    places = find_sessions(repository, where, work_item, at)
    options: dict[str, object] = {
        "mode": wanted.mode, "task": wanted.task, "work_item": work_item, "all": every, "at": at,
    }  # fmt: skip
    tips = [[place.conversation, place.branch, place.oid] for place in places]
    by: dict[str, object] = {
        "max_tokens": max_tokens, "encoding": chosen.tokenizer.name, "project": project, "explain": explain,
        "notes": [note.text for note in chosen.notes],
    }  # fmt: skip
    key = key_of(tips=tips, options=options, by=by)
    kept = KeptContexts(cache)
    found = kept.find(key)
    if found is None:
        most = max(_FILES_FROM, max_tokens // _FEWEST_TOKENS) if wanted.task is None else sys.maxsize
        counts = KeptCounts(cache)
        tokenizer, told = calibrate(repository, places[-1], remembering(chosen, counts))
        material = gather(repository, places, Extent(every, work_item, most))
        reading = Project(project, as_recorded=at is not None)
        assembled = assemble(material, _title(places, work_item), wanted, reading, tokenizer)
        about = About(places[-1], wanted.max_tokens, tokenizer.method, tokenizer.name, options)
        found = describe(about, material, assembled, explain=explain)
        found = replace(found, notes=(*told, *found.notes))
        counts.save()
        if material.messages:  # a title may change without any message
            kept.keep(key, found, sign(os.path.join(project, file.path) for file in material.files))
    said = tuple(Note(warning) for warning in found.warnings)
    return replace(found, notes=(*found.notes, *said), explain=explain)


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


def _title(places: Sequence[Place], work_item: str | None) -> str:
    last = places[-1]
    where = f"{last.conversation}/{last.branch}" if last.branch else f"{last.conversation} at {last.oid[:8]}"
    return where if work_item is None else f"work item {' '.join(work_item.split())}"
