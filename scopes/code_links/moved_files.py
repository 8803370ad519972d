"""Files that were moved after an edit and before their first commit, or copied: git knows only the new name.

An edit is found by the name of its file, since equal lines are in many files. A new file of a commit is one that was
edited under another name if the edits of that name have at least half of its lines, as git itself detects a rename, and
were made not long before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from scopes.code_links.edit_index import EditIndex, IndexedEdit
from scopes.code_links.edit_times import SAME_SECOND
from scopes.code_links.edits import base_name_of
from scopes.code_links.line_hash import hash_line
from scopes.code_links.project_commits import ProjectCommit
from scopes.ids import ConversationId

MOVED_SECONDS: Final = 48 * 3600.0  # between the edit and the commit
MIN_LINES: Final = 2  # with a hash, that the edits have
MIN_SHARE: Final = 0.5  # of the lines of the new file that have a hash


class MovedFile(NamedTuple):
    """A new file of a commit, and the edits of a conversation that wrote its lines under another name, by time."""

    path: str
    conversation: ConversationId
    name: str
    lines: int
    share: float
    edits: Sequence[IndexedEdit]


def find_moved(index: EditIndex, commit: ProjectCommit, seconds: float = MOVED_SECONDS) -> list[MovedFile]:
    """Return the new files of a commit that were edited under other names, not longer than `seconds` before it."""
    wanted = {path: hashes for path, hashes in _lines_of(commit).items() if len(hashes) >= MIN_LINES}
    if not wanted:
        return []
    before = commit.author_time + SAME_SECOND
    recent = index.list_edits(before - seconds, before)
    return [found for path, hashes in wanted.items() for found in _find_sources(path, hashes, recent)]


def names_by_path(moved: Sequence[MovedFile]) -> dict[str, frozenset[str]]:
    """Return the other names of moved files by their paths."""
    paths = dict.fromkeys(each.path for each in moved)
    return {path: frozenset(each.name for each in moved if each.path == path) for path in paths}


def _lines_of(commit: ProjectCommit) -> Mapping[str, set[int]]:
    """Return the hashes of the lines of the files that no parent has."""
    found: dict[str, set[int]] = {}
    for line in commit.added if commit.created else ():
        value = hash_line(line.text) if line.path in commit.created else None
        if value is not None:
            found.setdefault(line.path, set()).add(value)
    return found


def _find_sources(path: str, hashes: set[int], recent: Sequence[IndexedEdit]) -> Iterator[MovedFile]:
    """Yield the names whose edits in one conversation have enough of the lines of a file."""
    by_name: dict[tuple[ConversationId, str], list[IndexedEdit]] = {}
    for edit in recent:
        name = base_name_of(edit.path)
        if name != base_name_of(path) and not hashes.isdisjoint(edit.hashes):
            by_name.setdefault((edit.conversation, name), []).append(edit)
    for (conversation, name), edits in by_name.items():
        lines = len(hashes & frozenset[int]().union(*(each.hashes for each in edits)))
        if lines >= max(MIN_LINES, MIN_SHARE * len(hashes)):
            yield MovedFile(path, conversation, name, lines, lines / len(hashes), edits)
