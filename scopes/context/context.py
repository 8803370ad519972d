"""`context`: build the part of a conversation, or of all conversations for a work item, that fits into a budget."""

from __future__ import annotations

import os
import shlex
import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace

from scopes.context.assemble import FENCE, OVER_BUDGET, Assembled, assemble
from scopes.context.calibrate import calibrate
from scopes.context.cleared import clear_context
from scopes.context.collect import MERGE_NOTICE, Collected, ReadLimits, active_branch_notes, collect, resolve_revisions
from scopes.context.context_cache import ContextCache, key_of, stat_files
from scopes.context.project_files import OUTSIDE, ReadableFolder, ignore_files
from scopes.context.request import Request, check_request
from scopes.context.result import Context, ContextFile, ContextLane, ContextMessage, Explained, UnfencedContext
from scopes.context.selection import MIN_TURN_TOKENS, best_first
from scopes.context.truncate import Count
from scopes.context.turns import Turn
from scopes.fence import draw_mark, fenced
from scopes.history.handles import check_limits
from scopes.history.messages import NO_TEXT, display_time, read_root, subject_of
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN, Revision, list_branch_tips
from scopes.model.tools import summarize_calls
from scopes.result import Note
from scopes.sanitize import SUBJECT_LENGTH
from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import clear_notes, gate_of, policy_key, redacting
from scopes.store.objects import read_commit
from scopes.store.repository import Prunes, Repository
from scopes.tokens.count import Tokenizer, TokenizerChoice

_MIN_READ = 1000  # messages that are read at least, because they may have touched files
_ID_LENGTH = 24
_MAX_TRIED = 4096  # tokens; every turn can be cut to fewer


def context(repository: Repository, request: Request, choice: TokenizerChoice, cache_directory: str) -> Context:
    """Build a context, or take it from the cache; the history is never changed (S1-27).

    Raises:
        Invalid: a negative budget, an unknown mode, relevance without a task, a task without words, no candidates,
            an invalid mark, or one that occurs in the recorded text.
        SecretsFound: there are possible secrets, and they are refused.
        NotFound, Ambiguous: there is no such conversation, branch or message, or no message for the work item.
    """
    request, prunes = check_request(request), Prunes(repository.path)
    revisions = resolve_revisions(repository, request.where, request.work_item, request.at)
    cache = ContextCache(cache_directory, 0 if repository.is_past else request.cache_seconds)
    gate = gate_of(repository, request.secrets)
    key = _cache_key(request, revisions, choice, policy_key(repository, request.secrets))
    unfenced = cache.find(key)
    if unfenced is None:
        from scopes.context.count_cache import with_cache  # with SQLite, which a cached context does not need

        with with_cache(choice, cache_directory) as counter, redacting(repository, gate):
            unfenced, paths = _build(repository, request, revisions, counter, gate)
        # the title of an empty conversation can change without a new message
        if unfenced.context.metadata["messages"] and not repository.is_past:
            files = stat_files(os.path.join(request.project, path) for path in paths)
            cache.add(key, unfenced, files, prunes)
    result = clear_context(_with_fence(unfenced, request.mark), gate)
    result = _with_limits(repository, revisions[-1], result, request)
    notes = [Note(warning) for warning in result.warnings]
    if request.task is None and request.work_item is None and result.left_out[OVER_BUDGET]:
        notes.append(
            Note("the newest messages are kept, not the first prompts", "to keep what a task needs: --task TEXT")
        )
    if request.where is not None and request.at is None:
        notes += active_branch_notes(repository, revisions[-1], request.where, "context")
    if any(file.reason == OUTSIDE for file in result.files_skipped):
        notes += _project_notes(repository, revisions[-1], request.project)
    if cache.damaged:
        notes.insert(0, Note("the cached context was damaged and was built again"))
    return replace(result, notes=clear_notes(repository, (*result.notes, *notes), request.secrets))


def _project_notes(repository: Repository, revision: Revision, project: str) -> list[Note]:
    """Return a note if the conversation was recorded in a directory outside the project whose files may be read."""
    metadata = read_metadata(repository, revision.conversation)
    main = metadata.branches.get(MAIN)
    tip = read_commit(repository, revision.oid)
    directory = metadata.directory or read_root(repository, tip, None if main is None else main.fork).cwd
    top = os.path.join(os.path.realpath(project), "") if project else None
    if not directory or (top is not None and os.path.join(os.path.realpath(directory), "").startswith(top)):
        return []
    text = f"the project of {revision.conversation} is not the current directory: it is {directory}"
    if not os.path.isdir(directory):
        return [Note(f"{text}, which is not on this machine")]
    return [Note(text, f"to include its files, run the command there: cd {shlex.quote(directory)}")]


def find_smallest_budget(repository: Repository, request: Request, choice: TokenizerChoice) -> int | None:
    """Return the smallest budget above `max_tokens` with which a context has recorded text.

    None if a budget of `_MAX_TRIED` is too small, too. Raises as `context` does.
    """
    request = check_request(request)
    revisions = resolve_revisions(repository, request.where, request.work_item, request.at)
    tokenizer, _ = calibrate(repository, revisions[-1], choice)
    gate = gate_of(repository, request.secrets)
    with redacting(repository, gate):
        collected, project = _read(repository, request, revisions, gate)
    title = _title(revisions[-1], request.work_item)

    def has_text(budget: int) -> bool:
        return bool(assemble(collected, title, replace(request, max_tokens=budget), project, tokenizer).body)

    budgets = range(request.max_tokens + 1, _MAX_TRIED)
    found = bisect_left(budgets, True, key=has_text)
    return budgets[found] if found < len(budgets) else None


def _cache_key(request: Request, revisions: Sequence[Revision], choice: TokenizerChoice, policy: str) -> str:
    """Return the key of a context; different names of the same revision (`where`) have the same key."""
    return key_of(
        request=asdict(replace(request, where=None)),
        tips=[[revision.conversation, revision.branch, revision.oid] for revision in revisions],
        encoding=choice.tokenizer.name,
        secrets=policy,
        notes=[note.text for note in choice.notes],
        fields=[field.name for field in fields(Context)],  # an entry of another version is never found
    )


def _build(
    repository: Repository, request: Request, revisions: Sequence[Revision], choice: TokenizerChoice, gate: Gate
) -> tuple[UnfencedContext, list[str]]:
    """Build a context; return also the paths of all files that were considered."""
    last = revisions[-1]
    tokenizer, notes = calibrate(repository, last, choice)
    collected, project = _read(repository, request, revisions, gate)
    assembled = assemble(collected, _title(last, request.work_item), request, project, tokenizer)
    result = _describe(last, request, tokenizer, collected, assembled)
    result = replace(result, notes=(*notes, *result.notes))
    paths = [file.path for file in collected.files] + ignore_files(collected.files, project)
    return UnfencedContext(result, assembled.header, assembled.body), paths


def _read(
    repository: Repository, request: Request, revisions: Sequence[Revision], gate: Gate
) -> tuple[Collected, ReadableFolder]:
    """Read the messages that a context may have, and prepare to read the files of the project."""
    is_newest_only = request.task is None and not request.explain
    max_messages = max(_MIN_READ, request.max_tokens // MIN_TURN_TOKENS) if is_newest_only else sys.maxsize
    is_past = request.at is not None or _is_past(repository, revisions[-1])  # the project may have changed since
    whole = request.include_all or request.task is not None  # a compaction ends a prompt, not what may be relevant
    limits = ReadLimits(whole, request.work_item, max_messages, as_recorded=is_past)
    project = ReadableFolder(request.project, as_recorded=is_past, include_ignored=request.include_ignored, gate=gate)
    return collect(repository, revisions, limits), project


def _with_fence(unfenced: UnfencedContext, mark: str | None) -> Context:
    """Add the text of a context, with a new mark if none is given; nothing is put around nothing."""
    context, header, body = unfenced
    if not (header or body):
        return context
    mark = mark or draw_mark(body)
    return replace(context, formatted_history=header + fenced(FENCE, body, mark), mark=mark)


def _is_past(repository: Repository, revision: Revision) -> bool:
    """Return True if a revision is not the tip of a branch now."""
    return repository.is_past or revision.oid not in list_branch_tips(repository, revision.conversation).values()


def _title(last: Revision, work_item: str | None) -> str:
    if work_item is not None:
        return f"work item {' '.join(work_item.split())}"
    return f"{last.conversation}/{last.branch}" if last.branch else f"{last.conversation} at {last.oid[:8]}"


def _describe(
    revision: Revision, request: Request, tokenizer: Tokenizer, collected: Collected, assembled: Assembled
) -> Context:
    """Return the result without its text; its id is the same for the same request on the same history."""
    selection = assembled.selection
    included = sorted(selection.kept)
    turns_included = sum(assembled.turns[position].messages for position in included)
    conversations = {assembled.turns[position].conversation for position in included}
    identity = key_of(
        tip=revision.oid, options=request.options, limit=request.max_tokens, encoding=tokenizer.name,
        text=[assembled.header, assembled.body],
    )  # fmt: skip
    return Context(
        context_id=f"ctx-{identity[:_ID_LENGTH]}",
        conversation=revision.conversation,
        max_tokens=request.max_tokens,
        tokens_used=assembled.tokens,
        method=tokenizer.method,
        formatted_history="",
        mark=None,
        messages=tuple(_message(assembled, position, collected) for position in included),
        files_text=assembled.files_text,
        files_embedded=tuple(ContextFile(file.path, file.tokens, file.turn) for file in assembled.files.embedded),
        files_skipped=tuple(assembled.files.skipped),
        summary=assembled.summary,
        metadata=_metadata(revision, request, tokenizer, collected, assembled),
        filtered_count=collected.filtered,
        average_relevance=None if request.task is None else _average_relevance(assembled),
        conversations_included=len(conversations),
        conversations_excluded=len({turn.conversation for turn in collected.turns} - conversations),
        turns_included=turns_included,
        turns_excluded=sum(turn.messages for turn in collected.turns) + collected.unread - turns_included,
        left_out=assembled.left_out,
        warnings=(*collected.warnings, *assembled.warnings),
        explained=tuple(_explain(assembled, collected, tokenizer.count)) if request.explain else (),
        notes=tuple(collected.notes),
        decisions=assembled.decisions.decisions,
        decisions_text=assembled.decisions.text,
    )


def _metadata(
    revision: Revision, request: Request, tokenizer: Tokenizer, collected: Collected, assembled: Assembled
) -> Mapping[str, object]:
    limit, kept = request.max_tokens, assembled.selection.kept
    metadata: dict[str, object] = {
        "conversation": revision.conversation, "branch": revision.branch, "tip": revision.oid,
        "encoding": tokenizer.name, **request.options, "messages": collected.messages,
        "turns_truncated": sum(map(assembled.is_truncated, kept)),
        "total_tokens": sum(assembled.selection.tokens[position] for position in kept),
        "utilisation": round(assembled.tokens / limit, 4) if limit else None,
    }  # fmt: skip
    return {name: value for name, value in metadata.items() if value is not None}


def _average_relevance(assembled: Assembled) -> float:
    """Return the mean relevance of the kept turns, 0 if none was kept (S4-39)."""
    values = [assembled.relevance[position] for position in sorted(assembled.selection.kept)]
    return round(sum(values) / len(values), 4) if values else 0.0


def _message(assembled: Assembled, position: int, collected: Collected) -> ContextMessage:
    turn = assembled.turns[position]
    return ContextMessage(
        id=turn.head.id,
        oid=turn.head.oid,
        conversation=turn.conversation,
        number=turn.number,
        role=turn.role,
        author=turn.head.author,
        time=display_time(turn.head),
        text=assembled.selection.kept[position].removeprefix(turn.heading).strip(),
        tokens=assembled.selection.tokens[position],
        truncated=assembled.is_truncated(position),
        relevance=assembled.relevance.get(position),
        lanes=tuple(_lane(assembled, number, collected) for number in turn.lanes),
    )


def _lane(assembled: Assembled, number: int, collected: Collected) -> ContextLane:
    texts = assembled.marks.texts.get(number)
    return ContextLane(number, collected.lanes[number].branch, *(texts or ()))


def _lane_of(turn: Turn, collected: Collected) -> str | None:
    """Return the merged branch that a turn is from: the innermost of its lanes."""
    return collected.lanes[turn.lanes[-1]].branch if turn.lanes else None


def _explain(assembled: Assembled, collected: Collected, count: Count) -> list[Explained]:
    """Return a row for every message and file: what was kept, then the best of what was dropped (S4-40).

    Turns have the order in which they were selected: by score, otherwise newest first. All merge notices have one row.
    """
    selection, files, turns = assembled.selection, assembled.files, assembled.turns
    kept: list[Explained] = []
    dropped: list[Explained] = []
    for position in best_first(assembled.scores) if assembled.scores else reversed(range(len(turns))):
        lane = _lane_of(turns[position], collected)
        rows = [row._replace(lane=lane) for row in _explain_turn(assembled, position, count)]
        (kept if position in selection.kept else dropped).extend(rows)
    named = any(turn.named for turn in turns)
    decisions = _explain_decisions(assembled, named=named)
    kept[:0] = [row for row in decisions if row.kept]
    dropped[:0] = [row for row in decisions if not row.kept]
    notices: list[str] = []
    for conversation, number, head, reason, _ in reversed(collected.excluded):
        name = f"{conversation}:{number}" if named else str(number)
        if reason == MERGE_NOTICE:
            notices.append(name)
            continue
        dropped.append(Explained("message", name, None, None, kept=False, reason=reason, subject=head.subject))
    if notices:
        name = ", ".join(reversed(notices))
        dropped.append(Explained("messages", name, None, 0, kept=False, reason=MERGE_NOTICE))
    kept += [Explained("file", file.path, None, file.tokens, kept=True, reason="fits") for file in files.embedded]
    dropped += [Explained("file", file.path, None, None, kept=False, reason=file.reason) for file in files.skipped]
    return kept + dropped


def _explain_decisions(assembled: Assembled, *, named: bool) -> list[Explained]:
    """Return a row for every decision in effect; its name is the message that states it."""
    rows = []
    for each in assembled.decisions.decisions:
        name = f"{each.conversation}:{each.number}" if named else str(each.number)
        reason = "in effect" if each.kept else "in effect, but the share of decisions is used up"
        subject = " ".join(f"{each.topic}: {each.decision}".split())[:SUBJECT_LENGTH]
        rows.append(Explained("decision", name, None, None, kept=each.kept, reason=reason, subject=subject))
    return rows


def _explain_turn(assembled: Assembled, position: int, count: Count) -> list[Explained]:
    """Return the row of a turn and those of the messages with its tool results."""
    selection, turn = assembled.selection, assembled.turns[position]
    kept = position in selection.kept
    fits = "truncated" if position == selection.truncated else "fits"
    reason = fits if kept else selection.dropped.get(position, "")
    tokens, score = selection.tokens.get(position), assembled.scores.get(position)
    tokens = count(turn.block) if tokens is None else tokens
    prefix = f"{turn.conversation}:" if turn.named else ""
    score = None if score is None else round(score, 4)
    subject = subject_of(turn.head, turn.message)
    if subject == NO_TEXT:
        subject = summarize_calls(turn.message)[:SUBJECT_LENGTH] or subject
    rows = [Explained("turn", f"{prefix}{turn.number}", score, tokens, kept, reason, subject)]
    with_call = f"with its call, {turn.number}"
    for number, head in turn.results:
        rows.append(Explained("message", f"{prefix}{number}", None, None, kept, with_call, head.subject))
    return rows


def _with_limits(repository: Repository, revision: Revision, result: Context, request: Request) -> Context:
    """Add what is left of the conversation's limits (S1-24); they depend on the current time and are never cached."""
    warnings = list(result.warnings)
    metadata = dict(result.metadata)
    remaining, notes = check_limits(repository, revision.oid, request.limits, appended=False)
    if remaining is not None:
        metadata["remaining_turns"] = remaining
    warnings += [note.text if note.hint is None else f"{note.text}; {note.hint}" for note in notes]
    return replace(result, metadata=metadata, warnings=tuple(warnings))
