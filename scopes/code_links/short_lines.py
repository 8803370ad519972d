"""Which conversation wrote a commit of short lines, such as settings: several of them in sequence tell what one cannot.

Only commits with few lines that have a hash are looked at, if nothing else links them. An edit counts if it was made
not long before the commit; the conversation must have half of the lines, and some of them in a row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from scopes.code_links.edit_index import FEW_LINES, EditIndex, IndexedEdit
from scopes.code_links.edit_times import EditTimes
from scopes.code_links.line_hash import hash_line, hash_short
from scopes.code_links.project_commits import ProjectCommit
from scopes.ids import ConversationId

FEW_LINES_SECONDS: Final = 6 * 3600.0  # between the last edit and the commit
MIN_LINES: Final = 4  # that a conversation has
MIN_SEQUENCE: Final = 3  # of them in a row
MIN_SHARE: Final = 0.5

FileLine: TypeAlias = tuple[str, int]
"""A line of a file: its path, and the hash of the line, be it short or not."""


@dataclass(slots=True)
class Writer:
    """The lines of a commit that the edits of a conversation have, and the last of these edits."""

    last: IndexedEdit
    lines: set[FileLine] = field(default_factory=set)


class ShortShare(NamedTuple):
    """What a conversation has of a commit: how many lines, how many in a row, their share, and the last edit."""

    lines: int
    sequence: int
    share: float
    last: IndexedEdit


def lines_of(commit: ProjectCommit) -> dict[tuple[str, int], FileLine]:
    """Return the lines that a commit added by path and number, but for those without a letter or digit."""
    hashes = ((line, hash_line(line.text) or hash_short(line.text)) for line in commit.added)
    return {(line.path, line.number): (line.path, value) for line, value in hashes if value is not None}


def find_writers(index: EditIndex, commit: ProjectCommit, times: EditTimes) -> dict[ConversationId, Writer]:
    """Return the conversations whose edits have some of the lines of a commit, short ones too."""
    found: dict[ConversationId, Writer] = {}
    lines = set(lines_of(commit).values())
    for path in dict.fromkeys(path for path, _ in lines):
        wanted = {value for name, value in lines if name == path}
        by_line = times.find_edits(index, wanted, *commit.names_of(path))
        for edit in {each.number: each for edits in by_line.values() for each in times.prefer_earlier(edits)}.values():
            writer = found.setdefault(edit.conversation, Writer(edit))
            writer.lines.update((path, value) for value in wanted & (edit.hashes | edit.shorts))
            writer.last = max(writer.last, edit, key=lambda each: (times.is_before(each), each.time, each.number))
    return found


def find_short_writer(
    index: EditIndex, commit: ProjectCommit, times: EditTimes
) -> tuple[ConversationId, ShortShare] | None:
    """Return the one conversation that has most of a commit of short lines; None if there is none, or several."""
    if sum(hash_line(line.text) is not None for line in commit.added) >= FEW_LINES:
        return None
    places = lines_of(commit)
    lines = set(places.values())
    found = [
        (name, ShortShare(len(each.lines), _longest(places, each.lines), len(each.lines) / len(lines), each.last))
        for name, each in find_writers(index, commit, times).items()
        if times.of(name) - each.last.time <= FEW_LINES_SECONDS
    ]
    enough = [each for each in found if _is_enough(each[1])]
    return enough[0] if len(enough) == 1 else None


def _is_enough(share: ShortShare) -> bool:
    return share.lines >= MIN_LINES and share.sequence >= MIN_SEQUENCE and share.share >= MIN_SHARE


def _longest(places: Mapping[tuple[str, int], FileLine], own: Collection[FileLine]) -> int:
    """Return how many lines of one file a conversation has in a row."""
    count: dict[tuple[str, int], int] = {}
    for (path, number), line in places.items():  # in order
        if line in own:
            count[path, number] = count.get((path, number - 1), 0) + 1
    return max(count.values(), default=0)
