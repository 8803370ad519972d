"""The conversations of commits, by all that is known: records, calls, content, and what trailers and notes claim.

A trailer or a note is a claim: it may be copied, stale or forged. With other evidence for the same conversation it is
one reason more; alone it makes a candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from scopes.clock import parse_time
from scopes.code_links.commit_facts import CommitFacts, read_commit_facts
from scopes.code_links.commit_links import link_commit
from scopes.code_links.commit_record import CommitRecord
from scopes.code_links.edit_index import EditIndex, open_edit_index
from scopes.code_links.edit_places import EditPlaces
from scopes.code_links.link import CodeLink, CommitId, Evidence, LinkRole
from scopes.code_links.project_commits import ProjectCommit, walk_project_commits
from scopes.code_links.project_git import (
    ProjectGit,
    ProjectGitFailed,
    ProjectRepository,
    find_project_repository,
    open_project_git,
)
from scopes.code_links.recorded_links import RecordedCommits
from scopes.code_links.turns import list_turn_messages
from scopes.errors import Inaccessible, ScopesError
from scopes.history.revisions import find_copies
from scopes.ids import ConversationId
from scopes.result import Note
from scopes.store.projects import find_worktree
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]
_SECOND: Final = 1_000_000_000
_MAX_TURNS: Final = 20  # trailers of one commit that are looked up


@dataclass(frozen=True, slots=True)
class LinkedCommit:
    """A commit with its links, the surest first, and the sessions that are recorded but not in the store."""

    facts: CommitFacts
    links: tuple[CodeLink, ...]
    unknown: tuple[CommitRecord, ...] = ()
    added: ProjectCommit | None = None


class CommitLinker:
    """Finds the links of commits of one project; made by `open_linker`."""

    def __init__(self, repository: Repository, git: ProjectGit, index: EditIndex, recorded: RecordedCommits) -> None:
        self.git = git
        self.index = index
        self.recorded = recorded
        self._repository = repository

    @property
    def notes(self) -> tuple[Note, ...]:
        """What could not be read so far."""
        return (*self.index.notes, *self.recorded.notes)

    def link(self, commits: Iterable[CommitId]) -> Iterator[LinkedCommit]:
        """Yield commits with their links, in the given order; those that the project has not are left out.

        Raises:
            Inaccessible: git cannot read the project.
        """
        facts = read_commit_facts(self.git, commits)
        added = self._read_added(list(facts))
        for commit, each in facts.items():
            found = self.recorded.links_of_commit(commit, each.identity)
            claims = tuple(self._claims(each))
            commit_with_lines = added.get(commit) or _without_lines(each)
            links = link_commit(self.index, commit_with_lines, None, found.links)
            yield LinkedCommit(each, _with_claims(links, claims), found.unknown, commit_with_lines)

    def _read_added(self, commits: Sequence[CommitId]) -> Mapping[CommitId, ProjectCommit]:
        """Return the commits with the lines that they added; merges are not there."""
        if not commits:
            return {}
        try:
            found = walk_project_commits(self.git, ("--no-walk=unsorted",), commits)
            return {each.id: each for each in found}
        except ProjectGitFailed as error:
            raise Inaccessible(f"git cannot read the commits of the project: {error}", hint="see: git fsck") from error

    def _claims(self, facts: CommitFacts) -> Iterator[CodeLink]:
        """Yield the links that trailers of a commit claim."""
        for name in facts.turns[:_MAX_TURNS]:
            try:
                copies = find_copies(self._repository, name)
            except ScopesError:
                continue
            for revision in copies[:1]:
                turns = list_turn_messages(self._repository, [revision.oid])
                yield CodeLink(
                    commit=facts.commit,
                    conversation=revision.conversation,
                    message=turns[-1].head.id,
                    turn=turns[-1].number,
                    role="made",
                    level="candidate",
                    evidence=(Evidence("trailer", f"Scopes-Turn: {name}"),),
                )


@contextmanager
def open_linker(
    repository: Repository, index_directory: str, directory: str, on_progress: Progress = lambda _done, _all: None
) -> Iterator[CommitLinker]:
    """Open the project around a directory and the index of edits; `on_progress` is told the conversations it reads.

    Raises:
        NotFound: the directory is in no git repository.
        Inaccessible: git is not installed.
    """
    project = find_project_repository(directory)
    with open_project_git(project) as git, open_edit_index(index_directory, repository, on_progress) as index:
        index.is_foreign = EditPlaces(git).is_foreign
        yield CommitLinker(repository, git, index, RecordedCommits(repository, find_worktree(directory)))


@contextmanager
def open_project_of(directory: str) -> Iterator[tuple[ProjectRepository, ProjectGit]]:
    """Open the project around a directory; raises as `open_linker`."""
    project = find_project_repository(directory)
    with open_project_git(project) as git:
        yield project, git


def best_links(links: Sequence[CodeLink], role: LinkRole | None = None) -> tuple[CodeLink, ...]:
    """Return the links that are more than candidates; only those of a role if it is given."""
    return tuple(link for link in links if link.level != "candidate" and role in {None, link.role})


def _with_claims(links: Sequence[CodeLink], claims: Iterable[CodeLink]) -> tuple[CodeLink, ...]:
    """Add claims to the evidence of links of the same conversation; the rest become candidates."""
    found = list(links)
    for claim in claims:
        places = [place for place, link in enumerate(found) if link.conversation == claim.conversation]
        if places:
            link = found[places[0]]
            found[places[0]] = replace(link, evidence=(*link.evidence, *claim.evidence))
        else:
            found.append(claim)
    return tuple(found)


def conversations_of(links: Iterable[CodeLink]) -> tuple[ConversationId, ...]:
    """Return the conversations of links, each once, in their order."""
    return tuple(dict.fromkeys(link.conversation for link in links))


def _without_lines(facts: CommitFacts) -> ProjectCommit:
    """Return a merge, of which no lines are read: it has those of the merged commits."""
    nanoseconds = None if facts.authored is None else parse_time(facts.authored)
    time = 0.0 if nanoseconds is None else nanoseconds / _SECOND
    return ProjectCommit(facts.commit, facts.author, time, time, facts.subject)
