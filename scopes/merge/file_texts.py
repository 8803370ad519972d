"""Reconstruct what each side of a merge made of a file, from the edits in its messages and their source records.

An edit of Claude Code is recorded with the whole file before it, one of Codex as a patch with line numbers. Between
them a shell command may have changed the file: then its text is unknown until the next message that has the whole file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scopes.clock import parse_time
from scopes.ids import MessageId
from scopes.merge.side_calls import SideCall
from scopes.model.agent_tools import RESULT_RECORDS
from scopes.model.file_edits import FileEdit, Hunk, apply_edit, command_of, edits_of_call, revert_edit
from scopes.model.shell_commands import FORMATTERS, find_writer
from scopes.store.text_merge import MAX_TEXT

_MAX_EDITS = 200  # of one file on one side
NOT_RECORDED = "content not recorded"
ReadRecords = Callable[[set[str]], Mapping[str, list[bytes]]]
"""Returns the source records of messages, by message id."""


class Step(NamedTuple):
    """One step of the history of a file: an edit by a tool, or a command that wrote the file, such as `Bash sed -i`.

    `formats` is true for a command that changes only the format of the file, such as `Bash gofmt -w`.
    """

    message: MessageId
    agent: str
    tool: str
    edit: FileEdit | None = None
    formats: bool = False
    time: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSide:
    """What one side made of a file.

    Attributes:
        agents: The agents that edited it, in order.
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


def list_steps(
    calls: Iterable[SideCall], key_of: Callable[[str], str], wanted: Mapping[str, str], read_records: ReadRecords
) -> dict[str, list[Step]]:
    """Return the steps of files by key, oldest first; `wanted` maps the keys of files to their names.

    The source records are read only of messages whose stored results lack the text before an edit.
    """
    listed = [call for call in calls if not call.failed]
    touching = {
        call.message
        for call in listed
        for edit in _edits(call)
        if any(key_of(path) in wanted for path in (edit.path, edit.source) if path is not None)
    }
    imported = {str(call.message) for call in listed if call.message in touching and call.structured}
    records = read_records(imported) if imported else {}
    steps: dict[str, list[Step]] = {key: [] for key in wanted}
    for call in listed:
        command = None if call.call is None else command_of(call.call)
        if command is not None:
            for key, name in wanted.items():
                writer = find_writer(command, name)
                if writer is not None:
                    tool = f"{call.name} {writer}"
                    steps[key].append(
                        Step(call.message, call.agent, tool, formats=writer in FORMATTERS, time=call.time)
                    )
        structured = _structured_of(call, records.get(call.message, ()))
        for edit in edits_of_call(call.call, {**call.structured, **structured}) if call.message in touching else ():
            key = key_of(edit.path)
            for each in {key, *([key_of(edit.source)] if edit.source is not None else [])} & wanted.keys():
                deleted = each != key  # the old path of a rename
                step = FileEdit(edit.source or edit.path, "delete") if deleted else edit
                steps[each].append(Step(call.message, call.agent, call.name, step, time=call.time))
    return {key: _limited(found) for key, found in steps.items()}


def find_first_text(steps: Sequence[Step]) -> str | None:
    """Return the text of a file before the first step; None if it is unknown."""
    read: str | None = None
    for step in steps:
        if step.edit is None:
            if step.formats:
                continue
            break
        if step.edit.op != "read":
            return read if step.edit.before is None else step.edit.before
        read = step.edit.after if read is None else read
    return read


def is_later(steps: Sequence[Step], others: Sequence[Step]) -> bool:
    """Return True if the first change of a file was made after the last one of the other side; False if unknown."""
    times, before = (
        [
            None if step.time is None else parse_time(step.time)
            for step in each
            if step.edit is None or step.edit.op != "read"
        ]
        for each in (steps, others)
    )
    first, last = (times or [None])[0], (before or [None])[-1]
    return first is not None and last is not None and first > last


def follow_steps(steps: Sequence[Step], text: str | None) -> FileSide:
    """Return what a side made of a file whose text at the merge base is known or None."""
    unknown: str | None = NOT_RECORDED
    hunks: list[tuple[Hunk, ...]] | None = []
    deleted = False
    formatter: str | None = None
    first = find_first_text(steps)
    start = first if first != text else None
    for step in steps:
        edit = step.edit
        if edit is None and step.formats:
            formatter = step.tool
        elif edit is None:
            text, unknown, hunks = None, f"{NOT_RECORDED}: {step.tool}", None
        elif edit.op == "read":
            text = edit.after if text is None else text
        else:
            formatter = formatter if edit.before is None and edit.op != "create" else None
            unknown = NOT_RECORDED if text is not None else unknown
            after = apply_edit(edit, text)
            if after is None and (text is not None or unknown == NOT_RECORDED):
                unknown = f"{NOT_RECORDED}: {formatter or f'{step.tool} without the text before it'}"
            text, deleted = after, edit.op == "delete"
            hunks = None if hunks is None or not edit.hunks or edit.op == "rename" else [*hunks, edit.hunks]
    if text is not None and len(text) > MAX_TEXT:
        text, unknown = None, "content too large to compare"
    elif text is not None and "\0" in text:
        text, unknown = None, "content is binary"
    edits = [step for step in steps if step.edit is None or step.edit.op != "read"]
    return FileSide(
        agents=tuple(dict.fromkeys(step.agent for step in edits)),
        messages=tuple(dict.fromkeys(step.message for step in edits)),
        text=text,
        unknown=None if text is not None else unknown,
        hunks=tuple(hunks) if hunks else None,
        deleted=deleted,
        start=start,
        formatter=formatter,
    )


def is_result(steps: Sequence[Step], text: str) -> bool:
    """Return True if a text has all edits of some steps: they can be reverted, the last one first."""
    before: str | None = text
    for step in reversed(steps):
        if step.edit is None and not step.formats:
            return False
        if step.edit is not None and step.edit.op != "read" and before is not None:
            before = revert_edit(step.edit, before)
    return before not in {None, text}


def _edits(call: SideCall) -> list[FileEdit]:
    return edits_of_call(call.call, call.structured)


def _limited(steps: list[Step]) -> list[Step]:
    """Return the first step and the last ones: they decide about the texts at the merge base and at the tip.

    A step between them makes the text unknown, until one of the last ones records the whole text.
    """
    if len(steps) <= _MAX_EDITS:
        return steps
    cut = Step(steps[1].message, steps[1].agent, f"more than {_MAX_EDITS} edits", time=steps[1].time)
    return [steps[0], cut, *steps[2 - _MAX_EDITS :]]


def _structured_of(call: SideCall, records: Iterable[bytes]) -> dict[str, Any]:
    """Return the structured result of a call in the records of its message; empty if they have none."""
    call_id = call.result.fields.get("call_id")
    name = json.dumps(call_id).encode() if isinstance(call_id, str) else b""
    for line in (line for data in records for line in data.splitlines() if name and name in line):
        record = _parse(line)
        for field in RESULT_RECORDS:
            found = record.get(field)
            if isinstance(found, dict):
                return found
    return {}


def _parse(line: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
