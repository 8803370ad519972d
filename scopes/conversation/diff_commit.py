"""`diff --commit`: which lines of a commit the edits of its conversations account for, and which they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scopes.clock import parse_time
from scopes.code_links.commit_lines import lines_by_path
from scopes.code_links.edit_index import EditIndex
from scopes.code_links.edit_times import times_of
from scopes.code_links.line_hash import hash_line, hash_short
from scopes.code_links.link import CommitId
from scopes.code_links.linked_commits import LinkedCommit, conversations_of
from scopes.code_links.project_commits import AddedLine
from scopes.conversation.linked_revision import RevisionRequest, note_likely, open_revision
from scopes.ids import ConversationId
from scopes.result import Result
from scopes.store.repository import Repository

_SECOND = 1_000_000_000


class OtherLine(NamedTuple):
    """A line of a commit that no edit accounts for; `number` is its place in the file."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAccount:
    """The lines that a commit added to a file.

    added: all of them
    edited: those that an edit of the conversations has
    short: those that are too short to tell where they are from; some edit of the file has those with a letter or digit
    others: the rest
    """

    path: str
    added: int
    edited: int
    short: int
    others: tuple[OtherLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAccount(Result):
    """A commit and the lines in it, by file."""

    commit: CommitId
    subject: str
    conversations: tuple[ConversationId, ...]
    files: tuple[FileAccount, ...]

    @property
    def exit_code(self) -> int:
        """0 if the edits account for every line, otherwise 1."""
        return int(any(file.others for file in self.files))


def diff_commit(
    repository: Repository,
    request: RevisionRequest,
) -> CommitAccount:
    """Compare the lines that a commit added with those that the edits of its conversations added.

    Raises:
        NotFound: there is no such commit or conversation, or no conversation is linked to the commit.
        Inaccessible: git is not installed, or cannot read the project.
    """
    with open_revision(repository, request) as found:
        linked, index = found.commit, found.linker.index
        names = conversations_of(found.links)
        files = tuple(
            _account(index, linked, path, lines, names) for path, lines in lines_by_path(linked.added).items()
        )
        return CommitAccount(
            commit=linked.facts.commit,
            subject=linked.facts.subject,
            conversations=names,
            files=files,
            notes=(*found.linker.notes, *note_likely(found.links)),
        )


def _account(
    index: EditIndex, linked: LinkedCommit, path: str, lines: list[AddedLine], names: tuple[ConversationId, ...]
) -> FileAccount:
    hashes = {line.number: hash_line(line.text) for line in lines}
    shorts = {line.number: hash_short(line.text) for line in lines}
    authored = parse_time(linked.facts.authored or "") or 0
    wanted = [value for value in (*hashes.values(), *shorts.values()) if value is not None]
    edits = times_of(authored / _SECOND, linked.links).find_edits(index, wanted, *_names_of(linked, path))
    known = {value for value, found in edits.items() if any(edit.conversation in names for edit in found)}
    known_shorts = {
        value for found in edits.values() for edit in found if edit.conversation in names for value in edit.shorts
    }
    others = tuple(
        OtherLine(line.number, line.text)
        for line in lines
        if hashes[line.number] not in {None, *known} or shorts[line.number] not in {None, *known_shorts}
    )
    listed = {each.number for each in others}
    short = sum(value is None for number, value in hashes.items() if number not in listed)
    return FileAccount(path=path, added=len(lines), edited=len(lines) - short - len(others), short=short, others=others)


def _names_of(linked: LinkedCommit, path: str) -> tuple[str, ...]:
    """Return the base names under which edits of a file of the commit may have been recorded."""
    return () if linked.added is None else (*linked.added.names_of(path), *linked.added.moved.get(path, ()))
