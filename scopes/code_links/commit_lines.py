"""Which edits wrote the lines of a commit: for each line the answer that `why` gives for it.

`log --commit`, `show --commits` and the export of Agent Trace name turns and lines by this, so that they agree with
`why`. All lines of a file are looked up at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scopes.code_links.edit_index import EditIndex, IndexedEdit
from scopes.code_links.line_hash import hash_line, hash_short
from scopes.code_links.line_match import ANSWERED, LineMatch, context_of, follows_others, hash_neighbours, match_line
from scopes.code_links.link import CodeLink
from scopes.code_links.project_commits import AddedLine, ProjectCommit
from scopes.ids import ConversationId


class MatchedLine(NamedTuple):
    """A line that a commit added, and what was found for it."""

    line: AddedLine
    match: LineMatch

    @property
    def edit(self) -> IndexedEdit | None:
        """The edit that wrote it; None if `why` has no answer."""
        return self.match.matches[0].edit if self.match.level in ANSWERED and self.match.matches else None


def match_commit(
    index: EditIndex, commit: ProjectCommit, links: Sequence[CodeLink]
) -> Iterator[tuple[str, list[MatchedLine]]]:
    """Yield the files of a commit with the lines that it added and what was found for each, in order.

    links: those of the commit
    """
    context = context_of(commit, links, index.top)
    for path, lines in lines_by_path(commit).items():
        added = {line.number: line.text for line in lines}
        values = (value for text in added.values() for value in (hash_line(text), hash_short(text)))
        edits = _FileEdits(index, {value for value in values if value is not None})
        yield (
            path,
            [
                MatchedLine(line, match_line(edits, path, hash_neighbours(added, line.number), context))
                for line in lines
            ],
        )


def lines_by_path(commit: ProjectCommit | None) -> Mapping[str, list[AddedLine]]:
    """Return the lines that a commit added, by file; of a merge those that no merged commit has."""
    found: dict[str, list[AddedLine]] = {}
    for line in () if commit is None else commit.added:
        found.setdefault(line.path, []).append(line)
    return found


def lines_of(matched: Iterable[MatchedLine], conversation: ConversationId) -> Iterator[AddedLine]:
    """Yield the lines of a file that a conversation wrote; short ones without an answer belong to those above them."""
    last = 0
    for each in matched:
        is_own = each.edit is not None and each.edit.conversation == conversation
        if is_own or (last and last == each.line.number - 1 and follows_others(each.line.text, each.match)):
            last = each.line.number
            yield each.line


class _FileEdits:
    """The edits that have the lines of one file, asked for once; answers as `EditIndex.find_edits`."""

    def __init__(self, index: EditIndex, hashes: set[int]) -> None:
        self._index = index
        self._hashes = hashes
        self._found: dict[tuple[str, float], dict[int, list[IndexedEdit]]] = {}

    def find_edits(self, hashes: Iterable[int], base_name: str, before: float) -> dict[int, list[IndexedEdit]]:
        key = base_name, before
        if key not in self._found:
            self._found[key] = self._index.find_edits(self._hashes, base_name, before)
        found = self._found[key]
        return {value: found[value] for value in hashes if value in found}
