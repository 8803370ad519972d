"""Putting a context together from what was gathered, so that it never has more tokens than asked for (S1-5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from scopes.context.collect import Collected
from scopes.context.files import FileSelection, Project, retry_large, select_files
from scopes.context.relevance import score
from scopes.context.select import Selection, best_first, relax_cuts, select_newest, select_relevant
from scopes.context.truncate import cut_to_fit
from scopes.context.turns import Turn
from scopes.sanitize import MARK_OF_NOTHING, RECORDED, TRUNCATED, fence, fence_mark
from scopes.tokens.choose import Tokenizer, prepare_for_room

TIGHT_BELOW = 500
_FILES = "## Files\n\n"
_TURNS = "## Conversation\n\n"
_SUMMARY = "## Summary of what came before\n\n"
_FILE_SHARE = {"history": 50, "relevance": 50, "files": 80}  # hundredths; the rest is for history and metadata
_SUMMARY_SHARE = 20
_MOST_OF_HEADER = 25
_ENDS = ".,;:!?)]}>'\"`-_/*|"  # what a text that is cut may end with

Count = Callable[[str], int]


class Wanted(NamedTuple):
    """What a context is to be: at most so many tokens, in a mode, for a task; `files` is their share in hundredths."""

    max_tokens: int
    mode: str = "history"
    task: str | None = None
    files: int | None = None
    candidates: int | None = None
    tight_below: int = TIGHT_BELOW


@dataclass(frozen=True, slots=True)
class Assembled:
    """The text of a context with all that was chosen for it; `scores` and `relevance` are by position of the turn."""

    text: str
    files_text: str
    tokens: int
    turns: tuple[Turn, ...]
    selection: Selection
    files: FileSelection
    summary: str | None
    relevance: Mapping[int, float]
    scores: Mapping[int, float]
    warnings: tuple[str, ...]


def assemble(material: Collected, title: str, wanted: Wanted, project: Project, tokenizer: Tokenizer) -> Assembled:
    """Choose summary, files and turns, each from its own share, and hand what one does not need to the others.

    Every piece begins with a mark and ends in a blank line, so that their tokens add up to those of the whole.
    """
    tight = wanted.max_tokens < wanted.tight_below
    turns = _newest_session(material) if tight else material.turns
    relevance, scores = _scores(turns, wanted.task)
    count = tokenizer.count
    _announce(turns, scores, wanted, tokenizer)
    header, room = _reserve_frame(title, material.messages, wanted.max_tokens, count)
    summary = _fit_summary(material.summary, room * _SUMMARY_SHARE // 100, count)
    room -= 0 if summary is None else count(summary)
    files, room = _choose_files(material, wanted, tight=tight, room=room, project=project, tokenizer=tokenizer)
    selection = _select(turns, scores, wanted, room, count)
    room -= retry_large(files, room - selection.used)
    if not selection.dropped and not material.unread:
        turns, selection = relax_cuts(turns, selection, room, count)
    pieces = _pieces(header, summary, files, selection)
    fenced = any(pieces)
    return Assembled(
        text=_fenced(pieces) if fenced else "",
        files_text="".join(file.text for file in files.embedded),
        tokens=sum(map(count, pieces)) + (sum(map(count, fence(MARK_OF_NOTHING))) if fenced else 0),
        turns=tuple(turns),
        selection=selection,
        files=files,
        summary=None if summary is None else summary.removeprefix(_SUMMARY).strip(),
        relevance=relevance,
        scores=scores,
        warnings=tuple(_warn(material, turns, selection, files, wanted, tight=tight)),
    )


def _select(turns: list[Turn], scores: Mapping[int, float], wanted: Wanted, room: int, count: Count) -> Selection:
    if wanted.task is None:
        return select_newest(turns, room, count)
    best = best_first(scores)
    chosen = select_relevant(turns, {p: scores[p] for p in best[: wanted.candidates]}, room, count)
    chosen.dropped |= dict.fromkeys(best[wanted.candidates :] if wanted.candidates is not None else (), "no candidate")
    return chosen


def _pieces(header: str, summary: str | None, files: FileSelection, selection: Selection) -> list[str]:
    """Lay the context out, the header first, which is empty where there is no room for it."""
    pieces = [header.format(len(selection.kept)), summary or ""]
    pieces += [_FILES, *(file.text for file in files.embedded)] if files.embedded else []
    pieces += [_TURNS] if files.embedded and selection.kept else []
    return pieces + [selection.kept[position] for position in sorted(selection.kept)]


def _fenced(pieces: list[str]) -> str:
    """Put a fence around all but the header; whatever its digits, it has the tokens of one with no digits but zeros."""
    header, body = pieces[0], "".join(pieces[1:])
    begin, end = fence(fence_mark(body))
    return f"{header}{begin}{body}{end}"


def _newest_session(material: Collected) -> list[Turn]:
    newest = material.turns[-1].session if material.turns else None
    return [turn for turn in material.turns if turn.session == newest]


def _scores(turns: list[Turn], task: str | None) -> tuple[Mapping[int, float], Mapping[int, float]]:
    if task is None:
        return {}, {}
    scored = score([turn.content for turn in turns], task)
    return {p: pair[0] for p, pair in enumerate(scored)}, {p: pair[1] for p, pair in enumerate(scored)}


def _announce(turns: list[Turn], scores: Mapping[int, float], wanted: Wanted, tokenizer: Tokenizer) -> None:
    """Let the turns that will probably be counted be prepared for all at once."""
    order = reversed(range(len(turns))) if wanted.task is None else best_first(scores)
    prepare_for_room(tokenizer, (turns[position].block for position in order), wanted.max_tokens)
    tokenizer.prepare((_FILES, _TURNS, *fence(MARK_OF_NOTHING)))
    tokenizer.prepare((f"\n\n{TRUNCATED}\n\n", *(f"{end}\n{TRUNCATED}\n\n" for end in _ENDS)))


def _reserve_frame(title: str, messages: int, tokens: int, count: Count) -> tuple[str, int]:
    """Return the header, with a place for the number of turns shown, and what it and the fence leave.

    There is no header where it would cost much; what is recorded never stands without the fence.
    """
    words = title.replace("{", "(").replace("}", ")")
    header = f"# Context of {words}\n\n{RECORDED}. Showing {{}} of {messages} turns.\n\n"
    cost = max(count(header.format(shown)) for shown in (messages, 0))
    room = max(0, tokens - sum(map(count, fence(MARK_OF_NOTHING))))
    return ("", room) if cost * 100 > tokens * _MOST_OF_HEADER else (header, max(0, room - cost))


def _fit_summary(summary: str | None, room: int, count: Count) -> str | None:
    if not summary:
        return None
    whole = f"{_SUMMARY}{summary}\n\n"
    if count(whole) <= room:
        return whole
    cut = cut_to_fit(summary, room, lambda content: count(f"{_SUMMARY}{content}\n\n"))
    return None if cut is None else f"{_SUMMARY}{cut}\n\n"


def _choose_files(
    material: Collected, wanted: Wanted, *, tight: bool, room: int, project: Project, tokenizer: Tokenizer
) -> tuple[FileSelection, int]:
    """Choose files from their share; returns also what they leave, the headings of both parts paid."""
    if tight or not material.files:
        return FileSelection(), room
    headings = tokenizer.count(_FILES) + tokenizer.count(_TURNS)
    hundredths = _FILE_SHARE[wanted.mode] if wanted.files is None else wanted.files
    share = max(0, room * hundredths // 100 - headings)
    files = select_files(material.files, project, share, tokenizer)
    if not files.embedded and not files.large:
        return files, room
    return files, max(0, room - headings - files.used)


def _warn(
    material: Collected, turns: list[Turn], selection: Selection, files: FileSelection, wanted: Wanted, *, tight: bool
) -> list[str]:
    kept = {turns[position].session for position in selection.kept}
    excluded = len({turn.session for turn in material.turns} - kept)
    left_out = len(material.turns) + material.unread - len(selection.kept)
    warnings = []
    if tight:
        warnings.append(f"a budget of less than {wanted.tight_below} tokens has room for the newest session only")
    if material.turns and not selection.kept:
        warnings.append(f"not even the newest turn fits into {wanted.max_tokens} tokens")
    if excluded and kept:
        warnings.append(f"Session history limited: {excluded} older sessions excluded due to token budget")
    elif left_out:
        which = "older turns" if wanted.task is None else "turns"
        warnings.append(f"Session history limited: {left_out} {which} excluded due to token budget")
    if selection.truncated is not None:
        warnings.append(f"turn {turns[selection.truncated].number} is truncated to fit")
    cut = sum(turns[position].clipped_at(selection.limit) for position in selection.kept)
    if cut:
        warnings.append(f"of {cut} turns only the beginning of what tools gave is here")
    if files.skipped:
        reasons = Counter(file.reason.partition(":")[0] for file in files.skipped if " tokens did" not in file.reason)
        large = len(files.skipped) - reasons.total()
        told = [f"{n} {reason}" for reason, n in sorted(reasons.items())] + ([f"{large} too large"] if large else [])
        warnings.append(f"files left out: {', '.join(told)}")
    return warnings
