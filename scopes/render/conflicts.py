"""Show conflicts: list, show with both sides, resolve (S4-56), and how merges and replays name them."""

from __future__ import annotations

import json
from itertools import groupby, islice
from operator import attrgetter
from shlex import quote
from typing import TYPE_CHECKING, Any

from scopes.history.messages import display_time, shown_author
from scopes.merge.keys import NOUNS, can_have_value, decoded_key, display_key, group_of
from scopes.model.conflicts import ENDED
from scopes.model.message import MESSAGES, list_support
from scopes.render.phrases import (
    SHORT_ID_LENGTH,
    author,
    identifier,
    short_time,
    subject,
    write_field,
    write_hint,
    write_outcome,
)
from scopes.render.table import render_text
from scopes.render.view import Cell, Column, Span, View
from scopes.result import confidence, counted
from scopes.sanitize import clean, clean_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scopes.conversation.changes import BlameList, BlameRow
    from scopes.conversation.conflicts import ConflictList, ConflictResolved, ConflictView, FileChanges
    from scopes.conversation.merge import MergeConflicted
    from scopes.conversation.rebase import ReplayConflicted
    from scopes.ids import BranchName
    from scopes.merge.conflicts import ConflictRow
    from scopes.merge.files import FileComparison
    from scopes.model.conflicts import Conflict, EarlierResolution, Position, Resolution
    from scopes.render.view import Style

_HASH_LENGTH = len("sha256:") + 8
_BLAME_COLUMNS = (
    Column("ID"),
    Column("Author"),
    Column("Time"),
    Column("Key"),
    Column("Agent"),
    Column("Value"),
    Column("Subject"),
)


def claim_name(key: str, agent: str | None) -> str:
    """Return the key of a claim as `decisions/auth`, with the agent if claims of its group are kept per agent."""
    return display_key(key) + (f" ({agent})" if agent is not None else "")


def claim_text(key: str, value: Any) -> str:
    """Return the value of a claim as one line: messages and files as a phrase, other documents as JSON."""
    match group_of(key), value:
        case _, str(text):
            line = text
        case "messages", {"retracted": True}:
            line = "retracted"
        case "messages", {"amended": str(digest)}:
            line = f"amended, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation), "content": str(digest)}:
            line = f"{operation}, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation), "derived": str(digest)}:
            line = f"{operation}; only the patch is recorded, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation)}:
            line = operation if operation == "delete" else f"{operation}; the resulting content is not recorded"
        case _, {"both": list(several)}:
            line = " | ".join(dict.fromkeys(claim_text(key, each) for each in several))
        case _:
            line = json.dumps(value, ensure_ascii=False)
    return line


def render_blame_list(result: BlameList, view: View) -> None:
    """Write each claim and the message that set it; for a tool's result, the call and the agent that made it."""
    if not view.terminal:
        view.rows(_BLAME_COLUMNS, (_blame_row(row, view) for row in result.rows))
        return
    revision = result.revision
    place = revision.branch or revision.oid[:SHORT_ID_LENGTH]
    view.line("On ", Span(f"{revision.conversation}/{place}", "branch"), ":")
    for row in result.rows:
        view.sentence(Span(claim_name(row.key, row.agent), "heading"), ": ", _value_text(row))
        head = row.call_message or row.head
        who, when = author(head.author, head.author_kind), short_time(view, display_time(head))
        start = (identifier(view, head.id), " ", who, " ", when, ": ")
        view.cut(*start, *_what_was_done(row), indent=4)


def _value_text(row: BlameRow) -> str:
    """Return the value of a claim; of a file without recorded content only the operation."""
    match group_of(row.key), row.value:
        case "files", {"operation": str(operation), **rest} if "content" not in rest:
            return operation
    return claim_text(row.key, row.value)


def _what_was_done(row: BlameRow) -> tuple[str | Span, ...]:
    """Return the call that set a claim, else the subject of the message."""
    if row.call is None:
        return (subject(row.head),)
    from scopes.render.calls import call_line

    line: tuple[Span, ...] = call_line(row.call)
    return line


def _blame_row(row: BlameRow, view: View) -> tuple[Cell, ...]:
    head = row.call_message or row.head
    when = short_time(view, display_time(head))
    value, done = _value_text(row), _what_was_done(row)
    return head.id, shown_author(head), when, decoded_key(row.key), row.agent or "", value, done


MAX_LINES = 20
_SEVERITY = 15  # cells at the right of a conflict
_STYLE_OF_SEVERITY: Mapping[str, Style] = {"high": "bad", "medium": "warn", "low": "dim"}
_CHOICES = {
    "both": "kept both sides",
    "source": "took the source",
    "target": "took the target",
    "base": "took the base",
}
_STYLE_OF_STATUS: Mapping[str, Style] = {"escalated": "warn", "resolved": "good"}


def severity(conflict: Conflict) -> Span:
    """Return the severity of a conflict in its style."""
    return Span(conflict.severity, _STYLE_OF_SEVERITY.get(conflict.severity, ""))


def status(conflict: Conflict) -> Span:
    """Return the status of a conflict in its style."""
    return Span(conflict.status, _STYLE_OF_STATUS.get(conflict.status, ""))


def conflict_key(view: View, conflict: Conflict) -> str:
    """Return the decoded key of a conflict: `decisions/auth`."""
    if group_of(conflict.key) == MESSAGES and view.terminal:
        return conflict.key[: len(MESSAGES) + 1 + SHORT_ID_LENGTH]
    return display_key(conflict.key) if view.terminal else decoded_key(conflict.key)


def conflict_title(conflict: Conflict) -> str:
    """Return what a conflict is about, as people read it: `decision cookies`."""
    group = group_of(conflict.key)
    name = conflict.key[len(MESSAGES) + 1 :][:SHORT_ID_LENGTH] if group == MESSAGES else display_key(conflict.key)
    return f"{NOUNS.get(group, group)} {name.removeprefix(f'{group}/')}"


def conflict_agents(conflict: Conflict) -> str:
    """Return the agents of both sides, those of the target first."""
    positions = (*conflict.target, *conflict.source)
    return ", ".join(dict.fromkeys(position.agent for position in positions if position.agent is not None))


def _side_spans(key: str, positions: Sequence[Position]) -> Iterator[str | Span]:
    """Yield the positions of a side as one line, each with its agent."""
    if not positions:
        yield Span("nothing", "dim")
    for number, position in enumerate(positions):
        yield ("; " if number else "") + claim_text(key, position.value)
        if position.agent is not None:
            yield " — "
            yield Span(position.agent, "agent")


def earlier_resolution(view: View, key: str, earlier: EarlierResolution) -> Iterator[str | Span]:
    """Yield how a conflict was resolved before: value and side, actor, date, reason and conflict."""
    values = "; ".join(claim_text(key, value) for value in earlier.values) or "nothing"
    yield f"{values} ({earlier.choice})" if earlier.choice not in {None, "value"} else values
    yield ", by "
    yield Span(earlier.actor, "agent")
    if earlier.time is not None:
        yield ", "
        yield short_time(view, earlier.time)
    if earlier.reason:
        yield f", because {earlier.reason}"
    yield " (conflict "
    yield identifier(view, earlier.conflict)
    yield ")"


def earlier_line(view: View, key: str, earlier: EarlierResolution) -> str:
    """Return how a conflict was resolved before, as one line of plain text."""
    parts = earlier_resolution(view, key, earlier)
    return "resolved before: " + "".join(part if isinstance(part, str) else part.text for part in parts)


def write_resolution_branch(view: View, branch: BranchName) -> None:
    """Name the conflict-resolution branch after a stop."""
    view.sentence(Span("talk about it on ", "dim"), Span(branch, "active"), Span(", which is active now", "dim"))


def write_open_conflicts(
    view: View,
    conflicts: Sequence[Conflict],
    sides: tuple[str, str],
    *,
    before: int = 0,
) -> None:
    """List the open conflicts; `sides` are the names of target and source.

    `before` is the number of conflicts that `conflicts list` has before them.
    """
    unresolved = [(number, each) for number, each in enumerate(conflicts, before + 1) if each.status != "resolved"]
    for number, conflict in unresolved[:MAX_LINES]:
        _write_conflict(view, number, conflict, sides)
    write_more(view, len(unresolved))


def write_more(view: View, count: int) -> None:
    """Write how many lines of a list are left out."""
    if count > MAX_LINES:
        view.line(Span(f"    … and {count - MAX_LINES:,} more", "dim"))


def write_next_commands(view: View, result: MergeConflicted | ReplayConflicted, kind: str) -> None:
    """List the commands that resolve a conflict and continue, and that skip or abort a merge, rebase or cherry-pick."""
    names = _names_of_open(result)
    conversation, first = result.conversation, names[0][0] if names else "ID"
    named = f"{quote(conversation)} {quote(first)}"
    write_hint(view, f"decide with: scopes conflicts resolve {named} --take source --continue")
    for name, _ in islice((pair for pair in names if can_repeat(pair[1])), 1):
        command = f"scopes conflicts resolve {quote(conversation)} {quote(name)} --as-before --continue"
        write_hint(view, f"as before:   {command}")
    write_hint(view, f"look at it:  scopes conflicts show {named}")
    if kind != "merge":
        write_hint(view, f"skip it:     scopes {quote(kind)} {quote(_place(result))} --skip")
    write_hint(view, f"stop with:   scopes {quote(kind)} {quote(_place(result))} --abort")


def _names_of_open(result: MergeConflicted | ReplayConflicted) -> list[tuple[str, Conflict]]:
    """Return the open conflicts with their names in commands: ids, or numbers if others are in progress."""
    numbered = enumerate(result.conflicts, result.others.conflicts + 1)
    several = result.others.total > 0
    return [
        (str(number) if several else each.id[:SHORT_ID_LENGTH], each)
        for number, each in numbered
        if each.status != "resolved"
    ]


def _place(result: MergeConflicted | ReplayConflicted) -> str:
    """Return the conversation, with the conflict-resolution branch if others are in progress."""
    return f"{result.conversation}/{result.branch}" if result.others.total else result.conversation


def write_conflict_notes(view: View, what: str, result: MergeConflicted | ReplayConflicted, kind: str) -> None:
    """Write notes for a pipe: what stopped, each open conflict, and the next commands unless it is a dry run."""
    view.aside(what)
    unresolved = _names_of_open(result)
    for name, conflict in unresolved[:MAX_LINES]:
        view.aside(f"conflict {name}: {conflict.type} {decoded_key(conflict.key)}")
        for earlier in conflict.earlier:
            view.aside(f"conflict {name} {earlier_line(view, conflict.key, earlier)}")
    conversation = result.conversation
    if len(unresolved) > MAX_LINES:
        view.aside(f"{len(unresolved) - MAX_LINES:,} more: scopes conflicts list {quote(conversation)}")
    if not result.dry_run and unresolved and view.hints:
        first = unresolved[0][0]
        view.aside(
            f"resolve each: scopes conflicts resolve {quote(conversation)} {quote(first)} --take source --continue"
        )
        view.aside(f"or abort: scopes {quote(kind)} {quote(_place(result))} --abort")


def _write_conflict(view: View, number: int, conflict: Conflict, sides: tuple[str, str]) -> None:
    """Write what a conflict is about, the values of both sides, and a line for each earlier resolution."""
    start = (f"{number:>3}  ", Span(conflict_title(conflict), "heading"), Span(f"  {conflict.type}", "dim"))
    view.pair(start, (severity(conflict),), at=_SEVERITY)
    width = min(max(map(len, sides)), view.width // 3)
    for branch, positions in zip(sides, (conflict.target, conflict.source), strict=True):
        name = branch if len(branch) <= width else f"{branch[: width - 1]}…"
        view.hanging(*_side_spans(conflict.key, positions), start=(Span(f"{name:<{width}}", "branch"), "  "), indent=5)
    for earlier in conflict.earlier:
        parts = earlier_resolution(view, conflict.key, earlier)
        view.hanging(*parts, start=(Span("resolved before: ", "key"),), hang=2, indent=5)


def can_repeat(conflict: Conflict) -> bool:
    """Return True if an open conflict can be resolved as it was before."""
    return conflict.status != "resolved" and [each.choice is None for each in conflict.earlier] == [False]


def write_resolved(view: View, conflicts: Iterable[Conflict], *, listed: bool = True) -> None:
    """Write the number of automatically resolved conflicts, and each of them if they are to be `listed`."""
    resolved = [(each, each.resolution) for each in conflicts if each.resolution is not None]
    if not resolved:
        return
    if not view.terminal:
        for conflict, resolution in resolved[:MAX_LINES] if listed else ():
            how = f"{_CHOICES.get(resolution.choice, resolution.choice)} ({resolution.strategy})"
            view.aside(f"resolved automatically: {conflict.type} {decoded_key(conflict.key)}: {how}")
        if not listed or len(resolved) > MAX_LINES:
            view.aside(f"resolved automatically: {counted(len(resolved), 'conflict')} in all")
        return
    for conflict, resolution in resolved[:MAX_LINES] if listed else ():
        what = f"{_CHOICES.get(resolution.choice, resolution.choice)} ({resolution.strategy})"
        view.hanging(conflict_title(conflict), Span(f": {what}", "dim"), start=(Span("resolved ", "key"),), indent=2)
    if not listed:
        view.line(f"resolved: {counted(len(resolved), 'conflict')}", indent=2)
    else:
        write_more(view, len(resolved))


_MAX_PATCH_LINES = 60  # of one patch on a terminal
_STYLES: dict[str, Style] = {"compatible": "good", "overlap": "warn", "unknown": "dim"}
_PATCH_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "key"}


def write_files(view: View, files: Sequence[FileComparison]) -> None:
    """List the files that both sides changed: on a terminal as a block, elsewhere as notes."""
    if not files:
        return
    for number, file in enumerate(files[:MAX_LINES]):
        outcome = file.verdict
        if view.terminal:
            start = Span("        " if number else "files   ", "key")
            view.hanging(file.path, ": ", Span(outcome, _STYLES.get(file.outcome, "")), start=(start,), indent=2)
        else:
            view.aside(f"{file.path}: {outcome}")
    if view.terminal:
        write_more(view, len(files))
    elif len(files) > MAX_LINES:
        view.aside(f"{len(files) - MAX_LINES:,} more files that both sides changed")


def write_patch(view: View, title: str, patch: str) -> None:
    """Write a patch below a title; on a terminal at most 60 lines of it."""
    if not patch:
        return
    lines = clean(patch).removesuffix("\n").split("\n")
    most = _MAX_PATCH_LINES if view.terminal and len(lines) > _MAX_PATCH_LINES + 1 else len(lines)
    view.line()
    view.line(Span(title, "key"))
    for line in lines[:most]:
        view.cut("    ", Span(line.expandtabs(8), _PATCH_STYLES.get(line[:1], "")))
    if len(lines) > most:
        view.line(Span(f"    … {len(lines) - most:,} more lines", "dim"))


_HELD = "branch"  # nothing is in progress where the conflict is recorded
_PIPED_COLUMNS = (
    Column("Conversation"),
    Column("Number"),
    Column("ID"),
    Column("Type"),
    Column("Severity"),
    Column("About"),
    Column("Agents"),
    Column("Status"),
    Column("Since"),
    Column("Branch"),
    Column("Source"),
    Column("Target"),
)
_INDENT = 4
_MAX_LINES = 40


def render_conflict_list(result: ConflictList, view: View) -> None:
    """Write a table per branch and source with conflicts; in a pipe one row per conflict."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, (_piped_row(row, view) for row in result.conflicts))
        for row in result.conflicts:
            for earlier in row.conflict.earlier:
                view.aside(f"conflict {row.conflict.id[:8]} {earlier_line(view, row.conflict.key, earlier)}")
        return
    if not result.conflicts:
        view.line(f"There are no {'' if result.include_all else 'open '}conflicts.")
    for number, (_, rows) in enumerate(
        groupby(result.conflicts, key=attrgetter("conversation", "branch", "source", "target"))
    ):
        if number:
            view.line()
        _write_branch_conflicts(list(rows), view)
    if result.conflicts:
        row = result.conflicts[0]
        write_hint(view, f"show one: scopes conflicts show {quote(row.conversation)} {row.number}")


def render_conflict_view(result: ConflictView, view: View) -> None:
    """Write both sides of a conflict and how to resolve it."""
    _write_conflict_of_conflicts(result, view)


def render_conflict_resolved(result: ConflictResolved, view: View) -> None:
    """Write the new status of the conflict, and how many are still open or the outcome of what was continued."""
    conflict = result.conflict
    name = identifier(view, conflict.id)
    subject = (" (", conflict_key(view, conflict), ")")
    operation = result.operation if result.continued is None else None
    to = () if result.escalated_to is None else (" to ", Span(result.escalated_to, "agent"))
    write_outcome(view, name, "conflict ", name, *subject, " is ", status(conflict), *to, operation=operation)
    if result.escalated_to is not None and not view.terminal:
        view.aside(f"escalated to {result.escalated_to}")
    if result.continued is not None:
        render_text(result.continued, view)
        return
    if result.kind == _HELD and not result.remaining:
        return
    if result.remaining:
        line = f"{counted(result.remaining, 'conflict')} still open: scopes conflicts list {quote(result.conversation)}"
    else:
        where, place = "", str(result.conversation)
        if result.others.total:
            where, place = f" on {result.branch}", f"{place}/{result.branch}"
        command = f"scopes {quote(result.kind)} {quote(place)} --continue"
        line = f"no conflict is open now{where}; continue: {command}"
    if view.terminal:
        write_hint(view, line)
    elif view.hints and not result.notes:
        view.aside(line)


def _write_branch_conflicts(rows: list[ConflictRow], view: View) -> None:
    """Write the conflicts of one branch, each in two lines: what it is about, and the values of both sides."""
    first = rows[0]
    sides = f"{first.target} <- {first.source}" if first.source else first.branch
    view.cut(Span(first.conversation, "id"), "  ", Span(sides, "branch"))
    width = max(view.cells(conflict_title(row.conflict)) for row in rows)
    for row in rows:
        conflict = row.conflict
        sign = Span("✓", "good") if conflict.status in ENDED else Span("!", "warn")
        title = Span(f"{conflict_title(conflict):<{min(width, view.width // 2)}}", "heading")
        when = Span(f"{conflict.status} {short_time(view, row.changed_at).text}", "dim")
        start = (f"{row.number:>2} ", sign, " ", title, "  ", severity(conflict), "  ", when)
        view.cut(*start, "  ", " / ".join(filter(None, (_agents(conflict.target), _agents(conflict.source)))))
        half = (view.width - 10) // 2
        left, right = (_values(conflict.key, side) for side in (conflict.target, conflict.source))
        view.line(*_fitted(view, left, half), Span("  /  ", "dim"), *_fitted(view, right, half), indent=5)
        for earlier in conflict.earlier:
            view.cut(Span("resolved before: ", "key"), *earlier_resolution(view, conflict.key, earlier), indent=5)


def _agents(positions: Sequence[Position]) -> str:
    return ", ".join(dict.fromkeys(position.agent for position in positions if position.agent is not None))


def _values(key: str, positions: Sequence[Position]) -> str:
    return "; ".join(claim_text(key, position.value) for position in positions) or "nothing"


def _fitted(view: View, text: str, width: int) -> tuple[Span, ...]:
    """Return a text cut to a number of cells."""
    return (Span(view.drawn(lambda part: part.cut(text), width=width)[0]),)


def _cells(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    conflict = row.conflict
    return (
        str(row.number),
        identifier(view, conflict.id),
        conflict.type,
        severity(conflict),
        conflict_key(view, conflict),
        conflict_agents(conflict),
        status(conflict),
    )


def _piped_row(row: ConflictRow, view: View) -> tuple[Cell, ...]:
    return row.conversation, *_cells(row, view), short_time(view, row.opened_at), row.branch, row.source, row.target


def _write_conflict_of_conflicts(result: ConflictView, view: View) -> None:
    """Write a conflict: fields, base, both sides, resolution, later messages, next steps."""
    row, conflict = result.row, result.row.conflict
    _write_fields(result, view)
    if conflict.base:
        view.line()
        _write_side(view, "Before:", "", conflict.key, conflict.base, result.texts)
    _write_sides(result, view)
    if result.file is not None:
        _write_file_changes(result.file, view)
    if conflict.resolution is not None:
        _write_resolution(conflict, conflict.resolution, view)
    if conflict.earlier:
        view.line()
    for earlier in conflict.earlier:
        write_field(view, "Resolved before", *earlier_resolution(view, conflict.key, earlier))
    _write_talk(result, view)
    if view.terminal and view.hints:
        _write_next_steps(row, result.sides, view)


def _write_talk(result: ConflictView, view: View) -> None:
    """Write what was said since the conflict was opened; below the newest position of each author what backs it."""
    if result.talk:
        view.line()
        view.line(Span("Messages since:", "key"))
    arguments = {each.message: each.argument for each in result.positions}
    for head in result.talk:
        when, argument = short_time(view, display_time(head)), arguments.get(head.id)
        words = subject(head) if argument is None else clean_line(argument.position)
        view.cut("[", when, "] ", author(head.author, head.author_kind), ": ", words)
        for text in () if argument is None else list_support(argument):
            _write_text(view, f"- {text}", _INDENT, "dim")


def _write_fields(result: ConflictView, view: View) -> None:
    row, conflict = result.row, result.row.conflict
    write_field(view, "Conflict", identifier(view, conflict.id), f" (number {row.number})")
    write_field(view, "Type", conflict.type, ", ", severity(conflict))
    write_field(view, "About", conflict_key(view, conflict))
    reached = _reached_at(result)
    write_field(view, "Status", status(conflict), ", ", short_time(view, reached))
    if reached != row.opened_at:
        write_field(view, "Opened", short_time(view, row.opened_at))
    if result.escalated_to is not None:
        write_field(view, "Escalated to", Span(result.escalated_to, "agent"))
    write_field(view, "Branch", Span(f"{row.conversation}/{row.branch}", "branch"))


def _reached_at(result: ConflictView) -> str:
    """Return when a conflict got its status: when it was escalated, first argued about, resolved, or opened."""
    match result.row.conflict.status:
        case "escalated":
            return result.escalated_at or result.row.changed_at
        case "debate" if result.talk:
            return display_time(result.talk[0]) or result.row.changed_at
    return result.row.changed_at


def _write_sides(result: ConflictView, view: View) -> None:
    row, conflict = result.row, result.row.conflict
    patches = ("", "") if result.file is None else (result.file.target_patch, result.file.source_patch)
    view.line()
    _write_side(view, "Target: ", row.target, conflict.key, conflict.target, result.texts, patches[0])
    view.line()
    _write_side(view, "Source: ", row.source, conflict.key, conflict.source, result.texts, patches[1])


def _write_file_changes(changes: FileChanges, view: View) -> None:
    view.line()
    write_field(view, "File", changes.comparison.verdict)
    write_patch(view, "Last edit of the target:", changes.target_patch)
    write_patch(view, "Last edit of the source:", changes.source_patch)


def _write_side(  # noqa: PLR0917 - a heading and its content
    view: View,
    word: str,
    branch: str,
    key: str,
    positions: Sequence[Position],
    texts: Mapping[str, str],
    patch: str = "",
) -> None:
    """Write one side: for each position its value, agent and confidence, and the text of its message.

    `patch` is what the side changed in a file: the numbers of its lines stand for a content that is not recorded.
    """
    view.cut(Span(word, "key"), Span(branch, "branch"))
    if not positions:
        view.line(Span("nothing", "dim"), indent=_INDENT)
    for position in positions:
        value = _value_text_of_conflicts(key, position.value, patch)
        _write_text(view, value, _INDENT, "heading")
        view.cut(*_attribution(view, position), indent=_INDENT)
        text = texts.get(position.message or "", "")
        if text and text != value:
            _write_text(view, text, _INDENT + 2, "dim")


def _value_text_of_conflicts(key: str, value: Any, patch: str) -> str:
    """Return the value of a side; with a patch, an edit of a file as `edit, +3 -1`."""
    match value:
        case {"content": _} | {"derived": _} | {"operation": "delete"}:
            pass
        case {"operation": str(operation)} if patch:
            lines = patch.split("\n")[2 if patch.startswith("--- ") else 0 :]
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
            return f"{operation}, +{added} -{removed}"
    return claim_text(key, value)


def _attribution(view: View, position: Position) -> Iterator[str | Span]:
    yield "— "
    yield Span(position.agent, "agent") if position.agent is not None else "unknown author"
    if position.confidence is not None:
        yield f", {confidence(position.confidence)}"
    if position.message is not None:
        yield ", message "
        yield identifier(view, position.message)


def _write_text(view: View, text: str, indent: int, style: Style) -> None:
    """Write a text, on a terminal at most 40 rows of it."""
    if not view.paragraph(text, indent=indent, style=style, most=_MAX_LINES):
        view.line(Span(f"… {counted(text.count(chr(10)) + 1, 'line')} in all", "dim"), indent=indent)


def _write_resolution(conflict: Conflict, resolution: Resolution, view: View) -> None:
    """Write how the conflict was resolved (S4-57)."""
    view.line()
    what = claim_text(conflict.key, resolution.value) if resolution.choice == "value" else f"took {resolution.choice}"
    write_field(view, "Resolved", what, f"{_strategy(resolution)} by ", Span(resolution.actor, "agent"))
    if resolution.reason:
        write_field(view, "Reason", resolution.reason)
    if resolution.reused is not None:
        reused = resolution.reused
        because = f", because {reused.reason}" if reused.reason else ""
        name = identifier(view, reused.conflict)
        write_field(view, "As before", "resolved by ", Span(reused.actor, "agent"), because, " (conflict ", name, ")")
    for value in resolution.rejected:
        write_field(view, "Rejected", claim_text(conflict.key, value))


def _strategy(resolution: Resolution) -> str:
    """Return ` (automatic)`; nothing for what somebody resolved by hand: their name follows."""
    return "" if resolution.strategy == "manual" else f" ({resolution.strategy})"


def _write_next_steps(row: ConflictRow, sides: Sequence[str], view: View) -> None:
    if row.conflict.status in ENDED and row.kind == _HELD:
        return
    view.line()
    if row.conflict.status in ENDED:
        write_hint(view, f"continue: scopes {quote(row.kind)} {quote(row.conversation)} --continue")
        return
    finish = "" if row.kind == _HELD else " --continue"
    resolve = f"scopes conflicts resolve {quote(row.conversation)} {quote(row.conflict.id[:8])}"
    write_hint(view, f"take a side:    {resolve} --take source{finish}")
    if sides:
        write_hint(view, f"or another:     {', '.join(f'--take {side}' for side in sides[1:])}")
    if can_repeat(row.conflict):
        write_hint(view, f"as before:      {resolve} --as-before{finish}")
    if can_have_value(row.conflict.key):
        write_hint(view, f"edit a value:   {resolve} --edit")
    named = f"{quote(row.conversation)} {quote(row.conflict.id[:8])}"
    write_hint(view, f"argue:          scopes conflicts argue {named} TEXT")
    write_hint(view, f"let decide:     scopes conflicts escalate {named}")
    write_hint(view, f"discuss it:     scopes append {quote(row.conversation)}/{quote(row.branch)} TEXT")
