"""Reconstruct what each side of a merge made of a file, from the steps of its history.

An edit of Claude Code is recorded with the whole file before it, one of Codex as a patch with line numbers. Between
them a shell command may have changed the file: then its text is unknown until the next message that has the whole file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.clock import parse_time
from scopes.ids import MessageId
from scopes.merge.file_steps import Step
from scopes.model.file_edits import FileEdit, Hunk, Replacement, apply_edit, hash_text, is_complete, revert_edit
from scopes.store.text_merge import MAX_TEXT

NOT_RECORDED = "content not recorded"
IS_BINARY = "content is binary"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSide:
    """What one side made of a file.

    Attributes:
        agents: The agents that edited it, in order; those of messages that the other side has too do not count.
        messages: The messages with the results of their edits, oldest first.
        text: The text at the tip; None if it is unknown, empty if the file was deleted.
        unknown: Why the text is unknown: "content not recorded: Bash sed -i".
        hunks: The hunks of each edit if every edit has them, for a comparison without texts.
        deleted: True if the last edit deleted the file.
        start: The text that the side began with, if it is not that of the merge base.
        formatter: The command that formatted the file since its whole text was recorded: the format may differ.
    """

    agents: tuple[str, ...] = ()
    messages: tuple[MessageId, ...] = ()
    text: str | None = None
    unknown: str | None = NOT_RECORDED
    hunks: tuple[tuple[Hunk, ...], ...] | None = None
    deleted: bool = False
    start: str | None = None
    formatter: str | None = None


def find_first_text(steps: Sequence[Step]) -> str | None:
    """Return the text of a file before the first step; None if it is unknown."""
    read: str | None = None
    for step in steps:
        if step.edit is None:
            if step.formats:
                continue
            break
        if step.shared:
            break  # it may have been recorded for the text of the other side
        if step.edit.op != "read":
            return read if step.edit.before is None else step.edit.before
        read = step.edit.after if read is None else read
    return read


def is_later(steps: Sequence[Step], others: Sequence[Step]) -> bool:
    """Return True if the first change of a file was made after the last one of the other side; False if unknown."""
    times, before = (
        [None if step.time is None else parse_time(step.time) for step in _own_changes(each)]
        for each in (steps, others)
    )
    first, last = (times or [None])[0], (before or [None])[-1]
    return first is not None and last is not None and first > last


def follow_steps(steps: Sequence[Step], text: str | None) -> FileSide:
    """Return what a side made of a file whose text at the merge base is known or None."""
    unknown: str | None = NOT_RECORDED
    deleted = False
    formatter: str | None = None
    first = find_first_text(steps)
    start = first if first != text else None
    for step in steps:
        edit = _read_shared(step, text) if step.shared else step.edit
        if edit is None and step.formats:
            formatter = step.cause
        elif edit is None:
            if text is None or deleted or step.content != hash_text(text):
                deleted, text = False, None
                unknown = f"{NOT_RECORDED}: {step.cause}" if step.cause else NOT_RECORDED
        elif edit.op == "read":
            if edit.after is not None and (text is None or deleted or not _shows(edit.after, text)):
                text, deleted, formatter = edit.after, False, None
        else:
            formatter = formatter if edit.before is None and edit.op != "create" else None
            unknown = NOT_RECORDED if text is not None else unknown
            after = apply_edit(edit, text)
            if after is None and (text is not None or unknown == NOT_RECORDED):
                unknown = f"{NOT_RECORDED}: {formatter or f'{step.cause} without the text before it'}"
            text, deleted = after, edit.op == "delete"
    if text is not None and len(text) > MAX_TEXT:
        text, unknown = None, "content too large to compare"
    elif is_binary(text):
        text, unknown = None, IS_BINARY
    edits = _own_changes(steps)
    return FileSide(
        agents=tuple(dict.fromkeys(step.agent for step in edits if step.agent)),
        messages=tuple(dict.fromkeys(step.message for step in edits)),
        text=text,
        unknown=None if text is not None else unknown,
        hunks=list_hunks(steps),
        deleted=deleted,
        start=start,
        formatter=formatter,
    )


def _own_changes(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.changes_file and not step.shared]


def _read_shared(step: Step, text: str | None) -> FileEdit | None:
    """Return the edit of a message that both sides have as an edit of a text; None if its result is unknown.

    It was recorded for the text of one side. On another text it fits if its old lines are at one place only.
    """
    edit = step.edit
    if edit is None or edit.op == "delete" or (text is not None and edit.before == text):
        return edit
    if text is None or edit.op != "edit" or edit.after is not None or not (edit.replacements or edit.hunks):
        shown = text is not None and edit.op == "read" and (edit.after is None or _shows(edit.after, text))
        return edit if shown else None
    parts = edit.replacements or tuple(map(_as_replacement, edit.hunks))
    known = text.replace("\r\n", "\n")
    if any(each.all or not each.old or known.count(each.old.replace("\r\n", "\n")) != 1 for each in parts):
        return None
    return edit._replace(before=None, replacements=parts, hunks=())


def _as_replacement(hunk: Hunk) -> Replacement:
    old, new = ("".join(f"{line[1:]}\n" for line in hunk.lines if line[:1] in marks) for marks in (" -", " +"))
    ends = any(line[:1] == "\\" for line in hunk.lines)
    return Replacement("" if ends or not hunk.lines else old, new)


def _shows(read: str, text: str) -> bool:
    """Return True if a text was read; tools may leave out carriage returns and the newline at the end."""
    return read == text or _plain(read) == _plain(text)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").removeprefix("\ufeff").removesuffix("\n")


def is_binary(text: str | None) -> bool:
    """Return True for a text that git does not merge."""
    return text is not None and "\0" in text


def list_hunks(steps: Sequence[Step]) -> tuple[tuple[Hunk, ...], ...] | None:
    """Return the hunks of each edit; None if a change of the file has none."""
    found: list[tuple[Hunk, ...]] = []
    read: str | None = None  # the last whole text, and the number of edits before it
    edits_before = 0
    for step in steps:
        if step.edit is not None and step.edit.op == "read" and step.edit.after is not None:
            if read is not None and edits_before == len(found) and not _shows(step.edit.after, read):
                return None  # changed between two reads
            read, edits_before = step.edit.after, len(found)
        if step.formats or not step.changes_file:
            continue
        if step.shared or step.edit is None or not step.edit.hunks:
            if step.shared or step.edit is None or step.edit.op != "rename" or step.edit.replacements:
                return None
        else:
            found.append(step.edit.hunks)
    return tuple(found) or None


def have_same_edits(steps: Sequence[Step], others: Sequence[Step]) -> bool:
    """Return True if two sides made the same edits, which lead from the same text to the same text."""
    edits, other_edits = (
        [edit for step in each if step.changes_file for edit in _without_rename(step.edit)] for each in (steps, others)
    )
    changes = all(any(step.changes_file for step in each) for each in (steps, others))
    return changes and edits == other_edits and all(edit is not None and is_complete(edit) for edit in edits)


def _without_rename(edit: FileEdit | None) -> list[FileEdit | None]:
    """Return what an edit made of the text, as a list: it is empty for a rename that keeps the text."""
    if edit is None or edit.op != "rename":
        return [edit]
    is_changed = edit.after is not None or edit.replacements or edit.hunks
    return [edit._replace(op="edit", path="", source=None)] if is_changed else []


def without_shared(steps: Sequence[Step], others: Sequence[Step]) -> tuple[list[Step], list[Step]] | None:
    """Return the own steps of two sides if their line numbers can be compared, else None.

    That is so if the shared steps are the first ones, or the last ones, of both sides, in the same order.
    """
    sides = (steps, others)
    shared = [[step.message for step in each if step.shared] for each in sides]
    if not any(shared):
        return list(steps), list(others)
    changes = [[step.shared for step in each if step.shared or step.changes_file] for each in sides]
    count = len(shared[0])
    are_first = all(all(each[:count]) for each in changes)
    are_last = all(all(each[len(each) - count :]) for each in changes)
    if shared[0] != shared[1] or not (are_first or are_last):
        return None
    return [step for step in steps if not step.shared], [step for step in others if not step.shared]


def is_result(steps: Sequence[Step], text: str) -> bool:
    """Return True if a text has all edits of some steps: they can be reverted, the last one first."""
    before: str | None = text
    for step in reversed(steps):
        if step.edit is None and not step.formats:
            return False
        if step.edit is not None and step.edit.op != "read" and before is not None:
            before = revert_edit(step.edit, before)
    return before not in {None, text}
