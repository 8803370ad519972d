"""`show --commits`: the commits of the project that a conversation made or wrote lines of."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final

from scopes.code_links.commit_record import CommitRecord, is_commit_id
from scopes.code_links.link import CodeLink, CommitId
from scopes.code_links.linked_commits import CommitLinker, LinkedCommit, best_links, open_linker
from scopes.code_links.linked_turns import TurnFinder, with_own_turn
from scopes.code_links.project_commits import all_commits
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.code_links.recorded_links import RecordedCommits
from scopes.errors import NotFound
from scopes.history.messages import header_of, is_root
from scopes.history.revisions import list_branch_tips, resolve_conversation
from scopes.ids import ConversationId
from scopes.result import Note, Result, plural
from scopes.store.graph import walk_newest_first
from scopes.store.projects import find_repository
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]
MAX_COMMITS: Final = 5_000  # of the project, the newest since the conversation began
_BEFORE_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """A commit of the project and what links it to the conversation, the surest link first.

    authored: when it was first made, RFC 3339; None if that is not known
    is_gone: it was recorded in the project around the current directory, and no branch or tag of that has it
    replaced_by: the commit as which git made it again, by amending or rebasing it, if it is gone since
    """

    commit: CommitId
    subject: str
    authored: str | None
    links: tuple[CodeLink, ...]
    is_gone: bool = False
    replaced_by: CommitId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCommits(Result):
    """The commits of a conversation, oldest first."""

    conversation: ConversationId
    commits: tuple[CommitRow, ...]


def show_commits(
    repository: Repository,
    conversation: str,
    *,
    directory: str,
    index_directory: str,
    on_progress: Progress = lambda _done, _all: None,
) -> ConversationCommits:
    """Return the commits that a conversation made or wrote lines of, with the evidence; candidates are left out.

    Outside of a git repository these are the commits that were recorded when they were made.

    Raises:
        NotFound, Ambiguous: the conversation cannot be resolved.
        Inaccessible: git is not installed, or cannot read the project.
    """
    name = resolve_conversation(repository, conversation)
    try:
        with open_linker(repository, index_directory, directory, on_progress) as linker:
            return _search(repository, name, linker)
    except NotFound:
        recorded = RecordedCommits(repository)
        rows = tuple(_recorded_rows(recorded, name, recorded.commits_of(name).values()))
        note = Note(
            f"{directory} is not in a git repository: only recorded commits are shown", "see also: scopes -C DIR"
        )
        return ConversationCommits(conversation=name, commits=rows, notes=(note, *recorded.notes))


def _search(repository: Repository, name: ConversationId, linker: CommitLinker) -> ConversationCommits:
    recorded = linker.known.recorded.commits_of(name)
    commits, is_cut = _list_commits(linker.git, _first_time(repository, name))
    turns = TurnFinder(repository, linker.index)
    found = {
        each.facts.commit: row
        for each in linker.link(dict.fromkeys((*recorded, *commits)))
        if (row := _row(each, turns.links_of(each, name))) is not None
    }
    missing = [record for commit, record in recorded.items() if commit not in found]
    of_others = _find_elsewhere(linker.git, missing, {recorded[each].root for each in found if each in recorded})
    missing = [record for record in missing if record not in of_others]
    gone = _find_unreachable(linker.git, [commit for commit in recorded if commit in found])
    rows = [replace(row, is_gone=row.commit in gone) for row in found.values()]
    rows += _recorded_rows(linker.known.recorded, name, missing)
    rows = _mark_replaced(linker.known.recorded, rows)
    notes: tuple[Note, ...] = (Note(f"only the newest {MAX_COMMITS:,} commits were searched"),) if is_cut else ()
    notes += _note_elsewhere(name, of_others)
    places = {commit: place for place, commit in enumerate(reversed(commits))}  # parents have lower ones
    ordered = tuple(sorted(rows, key=lambda row: (row.authored or "", places.get(row.commit, 0), row.commit)))
    return ConversationCommits(conversation=name, commits=ordered, notes=(*linker.notes, *notes))


def _list_commits(git: ProjectGit, since: int) -> tuple[list[CommitId], bool]:
    """Return the commits of the project since a time, and whether there are more."""
    words = ("rev-list", "--date-order", f"--max-count={MAX_COMMITS + 1}", f"--since={since}", *all_commits())
    with suppress(ProjectGitFailed):
        found = [CommitId(line) for line in git.run(*words).decode("ascii", "replace").split() if is_commit_id(line)]
        return found[:MAX_COMMITS], len(found) > MAX_COMMITS
    return [], False


def _find_unreachable(git: ProjectGit, commits: Sequence[CommitId]) -> set[CommitId]:
    """Return those of some commits of the project that no branch or tag has; they are there until git deletes them."""
    if not commits:
        return set()
    given = "".join(f"{commit}\n" for commit in commits).encode()
    with suppress(ProjectGitFailed):
        lines = git.run("rev-list", "--stdin", "--not", *all_commits(), stdin=given).decode("ascii", "replace")
        return set(commits) & {CommitId(line) for line in lines.split()}
    return set()


def _find_elsewhere(git: ProjectGit, records: Iterable[CommitRecord], roots: Collection[str]) -> list[CommitRecord]:
    """Return the records of commits that were made in other repositories and never were in this one.

    A working tree that is no longer there was one of this project if other commits of it are here: `roots`.
    """
    places = {root: _find_shared(root) for root in {record.root for record in records if record.root}}
    return [
        record
        for record in records
        if record.root
        and places[record.root] != git.repository.shared
        and (places[record.root] is not None or record.root not in roots)
    ]


def _find_shared(directory: str) -> str | None:
    """Return the git directory of the repository around a directory, None if there is none."""
    with suppress(OSError, ValueError):
        found = find_repository(directory) if os.path.isdir(directory) else None
        return None if found is None else found[1]
    return None


def _note_elsewhere(name: ConversationId, records: Sequence[CommitRecord]) -> tuple[Note, ...]:
    if not records:
        return ()
    text = f"{len(records):,} {plural(len(records), 'commit')} of other repositories left out"
    return (Note(text, f"show them: scopes -C {quote(records[-1].root)} show {quote(name)} --commits"),)


def _mark_replaced(recorded: RecordedCommits, rows: Sequence[CommitRow]) -> list[CommitRow]:
    """Return rows in which those of commits that are gone name the commit as which git made them again."""
    replaced = recorded.replacements_of(row.commit for row in rows)
    return [replace(row, replaced_by=replaced.get(row.commit) if row.is_gone else None) for row in rows]


def _first_time(repository: Repository, name: ConversationId) -> int:
    """Return when a conversation began, in seconds, with an hour to spare."""
    commits = walk_newest_first(repository, list_branch_tips(repository, name).values())
    times = (header_of(commit).time for commit in commits if not is_root(commit))
    return max(0, min((time for time in times if time), default=0) - _BEFORE_SECONDS)


def _row(linked: LinkedCommit, links: tuple[CodeLink, ...]) -> CommitRow | None:
    facts = linked.facts
    return (
        CommitRow(commit=facts.commit, subject=facts.subject, authored=facts.authored, links=links) if links else None
    )


def _recorded_rows(
    recorded: RecordedCommits, name: ConversationId, records: Iterable[CommitRecord]
) -> Iterator[CommitRow]:
    """Yield recorded commits that the project does not have: those of another project, or rewritten since."""
    for record in records:
        links = recorded.links_of_commit(record.commit).links
        own = tuple(with_own_turn(link) for link in best_links(links) if link.conversation == name)
        if own:
            yield CommitRow(commit=record.commit, subject=record.subject, authored=record.at, links=own, is_gone=True)
