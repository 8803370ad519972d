"""Fit header, summary, files and turns into a budget, so that a context never has more tokens than requested (S1-5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scopes.context.collect import AMENDMENT, BEFORE_COMPACTION, NO_CONTENT, OTHER_WORK, RETRACTED, Collected
from scopes.context.decision_lines import DECISION_SHARE, DECISIONS_HEADING, FittedDecisions, fit_decisions
from scopes.context.files import FileSelection, retry_large, select_files
from scopes.context.lanes import FittedLaneTexts, heading_marks
from scopes.context.project_files import ReadableFolder
from scopes.context.relevance import score
from scopes.context.request import Request
from scopes.context.selection import TurnSelection, best_first, relax_cuts, select_newest, select_relevant
from scopes.context.truncate import Count, cut_to_fit
from scopes.context.turns import Turn
from scopes.fence import PLACEHOLDER, fence_lines
from scopes.result import plural
from scopes.sanitize import RECORDED, line_for_prompt
from scopes.tokens.count import Tokenizer

if TYPE_CHECKING:
    from scopes.merge.lanes import LaneMark

FENCE = "history"
_FILES = "## Files\n\n"
_TURNS = "## Conversation\n\n"
_SUMMARY = "## Summary of what came before\n\n"
_FILE_SHARE = {"history": 50, "relevance": 50, "files": 80}  # hundredths of what summary and header leave
_SUMMARY_SHARE = 20
_MAX_HEADER_SHARE = 25
NOT_CANDIDATE, NO_WORD_OF_TASK = "not among the candidates", "has no word of the task"
OVER_BUDGET, BELOW_RELEVANCE, NOT_CONSIDERED = "over_budget", "below_relevance", "not_candidate"
LEFT_OUT = (
    BEFORE_COMPACTION, BELOW_RELEVANCE, NOT_CONSIDERED, OVER_BUDGET, RETRACTED, AMENDMENT, OTHER_WORK, NO_CONTENT
)  # fmt: skip
_DROPPED_KEYS = {NOT_CANDIDATE: NOT_CONSIDERED, NO_WORD_OF_TASK: BELOW_RELEVANCE}
_LEFT_OUT_TEXTS = {  # what a warning names; the budget has a warning of its own
    BEFORE_COMPACTION: "messages before the last compaction (to have them: --all, or --task TEXT)",
    BELOW_RELEVANCE: "messages without a word of the task",
    NOT_CONSIDERED: "messages beyond --candidates",
    RETRACTED: "retracted",
    OTHER_WORK: "for another work item",
}
_NAMED_KEYS = frozenset({BEFORE_COMPACTION, RETRACTED, OTHER_WORK})


@dataclass(frozen=True, slots=True)
class Assembled:
    """The text of a context and what it was made from; `scores` and `relevance` are by position of the turn.

    `header` precedes the fence, `body` is inside of it; both are empty if nothing fits. `tokens` counts the fence too.
    left_out: how many messages are not in the context, by reason, each of LEFT_OUT.
    """

    header: str
    body: str
    files_text: str
    tokens: int
    turns: tuple[Turn, ...]
    selection: TurnSelection
    files: FileSelection
    summary: str | None
    relevance: Mapping[int, float]
    scores: Mapping[int, float]
    left_out: Mapping[str, int]
    warnings: tuple[str, ...]
    marks: FittedLaneTexts
    decisions: FittedDecisions

    def is_truncated(self, position: int) -> bool:
        """Return True if a kept turn was cut to fit, or one of its tool results was clipped."""
        return self.selection.truncated == position or self.turns[position].clipped_at(self.selection.limit)


def assemble(
    collected: Collected, title: str, request: Request, project: ReadableFolder, tokenizer: Tokenizer
) -> Assembled:
    """Select summary, decisions, files and turns, each within its share; what is not used up goes to the others.

    Every piece begins with `#` or `-` and ends in a blank line, so that the tokens of the pieces add up to the total.
    """
    turns = _newest_conversation(collected) if request.is_tight else list(collected.turns)
    relevance, scores = _score(turns, request.task)
    count = tokenizer.count
    header, room = _make_header(title, _count_turns(collected), request, count)
    summary = _fit_summary(collected.summary, _summary_room(turns, room, count), count)
    room -= 0 if summary is None else count(summary)
    decisions = _fit_decisions(collected, request, room, count)
    room -= decisions.tokens + (count(_TURNS) if decisions.text else 0)
    files, room = _select_files(collected, request, room, project, tokenizer)
    marks = heading_marks(_lanes_of(turns, collected), room, count)
    selection = _select_turns(turns, relevance, scores, request, room=room, count=count, mark_tokens=marks.tokens)
    room -= retry_large(files, room - selection.used)
    if not selection.dropped and not collected.unread:
        turns, selection = relax_cuts(turns, selection, room, count)
    sections = [header, summary or "", decisions.text]
    pieces = _pieces(sections, files, turns, selection, marks)
    has_text = any(pieces)
    left_out = _count_left_out(collected, turns, selection)
    return Assembled(
        header=pieces[0],
        body="".join(pieces[1:]),
        files_text="".join(file.text for file in files.embedded),
        tokens=sum(map(count, pieces)) + (_fence_tokens(request, count) if has_text else 0),
        turns=tuple(turns),
        selection=selection,
        files=files,
        summary=None if summary is None else summary.removeprefix(_SUMMARY).strip(),
        relevance=relevance,
        scores=scores,
        left_out=left_out,
        warnings=(
            *_warn(collected, turns, selection, files, request, left_out=left_out),
            *_warn_of_summary(collected.summary, summary, count),
            *filter(None, [decisions.warning]),
        ),
        marks=marks,
        decisions=decisions,
    )


def _newest_conversation(collected: Collected) -> list[Turn]:
    newest = collected.turns[-1].conversation if collected.turns else None
    return [turn for turn in collected.turns if turn.conversation == newest]


def _score(turns: list[Turn], task: str | None) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """Return relevance and ranking score by position; both are empty if there is no task."""
    if task is None:
        return {}, {}
    pairs = score([turn.content for turn in turns], task)
    return {p: pair[0] for p, pair in enumerate(pairs)}, {p: pair[1] for p, pair in enumerate(pairs)}


def _count_turns(collected: Collected) -> int:
    """Return how many messages could be turns: those in a context, and those that its warnings name as left out.

    Messages without content, merge notices of scopes, amendments and a compaction used as the summary do not count.
    """
    named = sum(each.key in _NAMED_KEYS for each in collected.excluded)
    return sum(turn.messages for turn in collected.turns) + collected.unread + named


def _make_header(title: str, turns: int, request: Request, count: Count) -> tuple[str, int]:
    """Return the header, with a placeholder for the number of turns, and the tokens left after header and fence.

    The header is empty if it would take too large a share. The fence is never left out.
    """
    escaped = line_for_prompt(title).replace("{", "(").replace("}", ")")
    header = f"# Context of {escaped}\n\n{RECORDED}. Showing {{}} of {turns} messages.\n\n"
    cost = max(count(header.format(shown)) for shown in (turns, 0))
    room = max(0, request.max_tokens - _fence_tokens(request, count))
    return ("", room) if cost * 100 > request.max_tokens * _MAX_HEADER_SHARE else (header, max(0, room - cost))


def _fence_tokens(request: Request, count: Count) -> int:
    """Return the tokens of the fence; of a mark that is drawn later they are known."""
    return sum(map(count, fence_lines(FENCE, request.mark or PLACEHOLDER)))


def _summary_room(turns: Sequence[Turn], room: int, count: Count) -> int:
    """Return the tokens that a summary may take: its share, or more if the turns do not need the rest."""
    share = room * _SUMMARY_SHARE // 100
    left = room - share
    for turn in reversed(turns):
        left -= count(turn.block)
        if left <= 0:
            return share
    return share + left


def _fit_summary(summary: str | None, room: int, count: Count) -> str | None:
    if not summary:
        return None
    piece = f"{_SUMMARY}{summary}\n\n"
    if count(piece) <= room:
        return piece
    cut = cut_to_fit(summary, room, lambda content: count(f"{_SUMMARY}{content}\n\n"))
    return None if cut is None else f"{_SUMMARY}{cut}\n\n"


def _fit_decisions(collected: Collected, request: Request, room: int, count: Count) -> FittedDecisions:
    """Return the decisions in effect within their share; of the newest conversation only if the budget is tight."""
    newest = collected.turns[-1].conversation if collected.turns else None
    decisions = [each for each in collected.decisions if not request.is_tight or each.conversation == newest]
    share = min(room, request.max_tokens * DECISION_SHARE // 100)
    return fit_decisions(decisions, DECISIONS_HEADING, share, count)


def _select_files(
    collected: Collected, request: Request, room: int, project: ReadableFolder, tokenizer: Tokenizer
) -> tuple[FileSelection, int]:
    """Select files within their share; return also the room left after them and the headings of files and turns."""
    if request.is_tight or not collected.files:
        return FileSelection(), room
    headings = tokenizer.count(_FILES) + tokenizer.count(_TURNS)
    hundredths = _FILE_SHARE[request.mode or "history"] if request.file_share is None else request.file_share
    share = max(0, room * hundredths // 100 - headings)
    files = select_files(collected.files, project, share, tokenizer)
    if not files.embedded and not files.large:
        return files, room
    return files, max(0, room - headings - files.used)


def _select_turns(
    turns: list[Turn],
    relevance: Mapping[int, float],
    scores: Mapping[int, float],
    request: Request,
    *,
    room: int,
    count: Count,
    mark_tokens: Mapping[int, int],
) -> TurnSelection:
    if request.task is None:
        return select_newest(turns, room, count, mark_tokens)
    best = best_first(scores)
    candidates = {position: scores[position] for position in best[: request.candidates]}
    selection = select_relevant(turns, candidates, room, count, mark_tokens)
    not_considered = best[request.candidates :] if request.candidates is not None else ()
    selection.dropped |= dict.fromkeys(not_considered, NOT_CANDIDATE)
    selection.dropped |= {position: NO_WORD_OF_TASK for position in selection.dropped if not relevance[position]}
    return selection


def _lanes_of(turns: Sequence[Turn], collected: Collected) -> dict[int, LaneMark]:
    return {lane: collected.lanes[lane] for turn in turns for lane in turn.lanes}


def _pieces(
    sections: Sequence[str],
    files: FileSelection,
    turns: Sequence[Turn],
    selection: TurnSelection,
    marks: FittedLaneTexts,
) -> list[str]:
    """Return the pieces of the context in order: header, summary and decisions, which may be empty; files and turns."""
    header, summary, decisions = sections
    pieces = [header.format(_count_messages(turns, selection.kept)), summary]
    pieces += [decisions] if decisions else []
    pieces += [_FILES, *(file.text for file in files.embedded)] if files.embedded else []
    pieces += [_TURNS] if (files.embedded or decisions) and selection.kept else []
    kept = ((turns[position], selection.kept[position]) for position in sorted(selection.kept))
    return pieces + list(marks.between(kept))


def _count_messages(turns: Sequence[Turn], positions: Iterable[int]) -> int:
    return sum(turns[position].messages for position in positions)


def _count_left_out(collected: Collected, turns: Sequence[Turn], selection: TurnSelection) -> dict[str, int]:
    """Count the messages that are not in the context by reason; every reason has a number, which may be 0."""
    counts = dict.fromkeys(LEFT_OUT, 0)
    counts[OVER_BUDGET] = collected.unread + _count_messages(collected.turns, range(len(collected.turns)))
    counts[OVER_BUDGET] -= _count_messages(turns, selection.kept)
    for position, reason in selection.dropped.items():
        key = _DROPPED_KEYS.get(reason, OVER_BUDGET)
        counts[OVER_BUDGET] -= turns[position].messages
        counts[key] += turns[position].messages
    for excluded in collected.excluded:
        if excluded.key is not None:
            counts[excluded.key] += 1
    return counts


def _warn(
    collected: Collected,
    turns: list[Turn],
    selection: TurnSelection,
    files: FileSelection,
    request: Request,
    *,
    left_out: Mapping[str, int],
) -> list[str]:
    kept_conversations = {turns[position].conversation for position in selection.kept}
    excluded_conversations = len({turn.conversation for turn in collected.turns} - kept_conversations)
    warnings = []
    if request.is_tight:
        room = "no room for files" if request.work_item is None else "room for the newest conversation only"
        warnings.append(f"a budget of less than {request.tight_below} tokens has {room}")
    if collected.turns and not selection.kept:
        which = "newest" if request.task is None else "shortest relevant"
        warnings.append(f"not even the {which} message fits into {request.max_tokens} tokens")
    if excluded_conversations and kept_conversations:
        # S1-12 prescribes this wording
        warnings.append(
            f"Session history limited: {excluded_conversations} older sessions excluded due to token budget"
        )
    elif left_out[OVER_BUDGET]:
        noun = plural(left_out[OVER_BUDGET], "message")
        which = f"older {noun}" if request.task is None else f"{noun} about the task"
        warnings.append(f"Session history limited: {left_out[OVER_BUDGET]} {which} excluded due to token budget")
    others = [f"{left_out[key]:,} {text}" for key, text in _LEFT_OUT_TEXTS.items() if left_out[key]]
    if others:
        warnings.append(f"left out: {', '.join(others)}")
    if selection.truncated is not None:
        warnings.append(f"message {turns[selection.truncated].number} is truncated to fit")
    clipped = sum(turns[position].clipped_at(selection.limit) for position in selection.kept)
    if clipped:
        warnings.append(f"tool calls or results are truncated in {clipped} {plural(clipped, 'message')}")
    return warnings + _warn_of_files(files)


def _warn_of_summary(whole: str | None, kept: str | None, count: Count) -> list[str]:
    """Return a warning if a summary was cut or left out."""
    if not whole or (kept is not None and whole in kept):
        return []
    tokens = count(whole)
    return [f"the summary is {'left out' if kept is None else 'cut'}: it has {tokens:,} tokens"]


def _warn_of_files(files: FileSelection) -> list[str]:
    if not files.skipped:
        return []
    reasons = Counter(file.reason.partition(":")[0] for file in files.skipped if " tokens did" not in file.reason)
    large = len(files.skipped) - reasons.total()
    groups = [f"{n} {reason}" for reason, n in sorted(reasons.items())] + ([f"{large} too large"] if large else [])
    return [f"files left out: {', '.join(groups)}"]
