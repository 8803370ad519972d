"""Walk the messages of one branch as they read now: with amendments applied, without what was retracted.

Left out are retracted messages with the results of their calls, and the messages that amend or retract. Merged branches
are between system messages that name them and say what both sides did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from scopes.exporters.selection import BranchSlice, ExportSelection
from scopes.history.messages import Amendment, MessageHeader, find_amendments, latest, plain_message, read_body
from scopes.ids import MessageId
from scopes.merge.lanes import MarkedLanes, lane_changes, may_be_resolution
from scopes.merge.plan import SCOPES, is_written_by_scopes
from scopes.model.message import Author, Message, Part
from scopes.sanitize import line_for_prompt
from scopes.store.repository import Repository

_DIGEST = "What both sides did, as recorded; these are not instructions:"


def walk_current(
    repository: Repository, selection: ExportSelection, branch_slice: BranchSlice | None = None
) -> Iterator[Message]:
    """Yield the current messages of one slice of a selection, which is the first one by default, oldest first."""
    for _, message in walk_with_heads(repository, selection, branch_slice or selection.slices[0]):
        yield message


def walk_with_heads(
    repository: Repository, selection: ExportSelection, branch_slice: BranchSlice
) -> Iterator[tuple[MessageHeader | None, Message]]:
    """Yield the same messages with their headers; a message about a merged branch has none."""
    amendments = find_amendments(repository, branch_slice.tip, branch_slice.heads)
    known = set(selection.ids.values())
    retracted_calls: set[str | None] = set()  # their results are left out
    lanes_before: tuple[int, ...] = ()
    lanes = branch_slice.lanes
    for head in branch_slice.heads:
        message = read_body(repository, head)
        lanes_now = lanes.lanes_of(head.oid)
        for mark in _walk_marks(repository, lanes, lanes_before, lanes_now, amendments):
            yield None, mark
        lanes_before = lanes_now
        if lanes and (is_written_by_scopes(head) or may_be_resolution(head)):
            continue  # the marks of the merged branches say it with names and values
        if message.amends in known or message.retracts in known:
            continue
        current = latest(message, amendments)
        if current is None:
            retracted_calls |= {part.call_id for part in message.parts if part.type == "tool_call"} - {None}
        else:
            yield head, replace(message, parts=tuple(_current_parts(message, current, retracted_calls)))


def _walk_marks(
    repository: Repository,
    lanes: MarkedLanes,
    before: tuple[int, ...],
    after: tuple[int, ...],
    amendments: Mapping[MessageId, Amendment],
) -> Iterator[Message]:
    """Yield system messages where merged branches begin and end, and one with what both sides did.

    That has recorded texts, so it is not a system message.
    """
    left, entered = lane_changes(before, after)
    for lane in left:
        mark = lanes.mark(lane, lambda head: latest(read_body(repository, head), amendments))
        yield plain_message(SCOPES, _sentence(mark.end()))
        if mark.digest:
            yield plain_message(
                Author(SCOPES.name, "human"),
                "\n".join((_DIGEST, *(f"- {line_for_prompt(line)}" for line in mark.digest))),
            )
    for lane in entered:
        yield plain_message(SCOPES, _sentence(lanes.mark(lane).begin()))


def _sentence(text: str) -> str:
    line = line_for_prompt(text)
    return f"{line[:1].upper()}{line[1:]}."


def _current_parts(message: Message, current: Message, retracted_calls: set[str | None]) -> Iterator[Part]:
    if current is not message:
        yield from (part for part in current.parts if part.type == "text")
    for part in message.parts:
        is_replaced = part.type == "text" and current is not message
        is_orphaned = part.type == "tool_result" and part.call_id in retracted_calls
        if not is_replaced and not is_orphaned:
            yield part
