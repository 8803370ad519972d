"""How much of a commit the edits of each conversation wrote: the share of its lines that they added before it.

A line that many conversations have counts less. Of several edits of a line the last one before the commit counts fully,
older ones half, so that a conversation that merely wrote the line once does not win over the one that wrote it last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

from scopes.code_links.edit_index import EditIndex, IndexedEdit
from scopes.code_links.edit_times import EditTimes
from scopes.code_links.line_hash import hash_line
from scopes.code_links.project_commits import ProjectCommit
from scopes.ids import ConversationId

OLDER_EDIT: Final = 0.5


@dataclass(slots=True)
class ContentShare:
    """The share of a commit's lines that a conversation wrote, from 0 to 1, and its last edit with some of them."""

    share: float
    lines: int
    last: IndexedEdit
    calls: set[str] = field(default_factory=set)


def match_content(
    index: EditIndex, commit: ProjectCommit, times: EditTimes | None = None
) -> dict[ConversationId, ContentShare]:
    """Return the shares of all conversations that wrote lines of a commit, the largest first.

    Only edits of files with the same name count, and of the name from which git says that the commit renamed the file.
    Lines too short to have a hash do not count.
    """
    if times is None:
        times = EditTimes(commit.author_time)
    total = 0.0
    found: dict[ConversationId, ContentShare] = {}
    for names, hashes in _lines_by_names(commit).items():
        edits = times.find_edits(index, hashes, *names)
        for value in hashes:
            by_conversation = _last_by_conversation(times.prefer_earlier(edits.get(value, ())))
            weight = 1 / (1 + log(max(1, len(by_conversation))))
            total += weight
            _add(found, by_conversation, weight, times)
    for each in found.values():
        each.share /= total
    return dict(sorted(found.items(), key=lambda item: (-item[1].share, len(item[0]), item[0])))


def _lines_by_names(commit: ProjectCommit) -> Mapping[tuple[str, ...], set[int]]:
    """Return the hashes of the lines by the names under which edits of their file may have been recorded."""
    found: dict[tuple[str, ...], set[int]] = {}
    for line in commit.added:
        value = hash_line(line.text)
        if value is not None:
            found.setdefault(commit.names_of(line.path), set()).add(value)
    return found


def _last_by_conversation(edits: Sequence[IndexedEdit]) -> dict[ConversationId, IndexedEdit]:
    """Return the last edit of each conversation; `edits` are sorted by time."""
    return {edit.conversation: edit for edit in edits}


def _add(
    found: dict[ConversationId, ContentShare],
    edits: Mapping[ConversationId, IndexedEdit],
    weight: float,
    times: EditTimes,
) -> None:
    """Count a line for the conversations that have it."""
    last = max((edit.time for edit in edits.values()), default=0.0)
    for conversation, edit in edits.items():
        part = weight if edit.time == last else weight * OLDER_EDIT
        known = found.get(conversation)
        if known is None:
            found[conversation] = ContentShare(part, 1, edit, {edit.call_id})
            continue
        known.share += part
        known.lines += 1
        known.calls.add(edit.call_id)
        known.last = max(known.last, edit, key=lambda each: (times.is_before(each), each.time))
