"""The conversations of commits, by all that is known: records, calls, content, and what trailers and notes claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from scopes.code_links.amended_links import link_commits
from scopes.code_links.commit_facts import CommitFacts
from scopes.code_links.commit_record import CommitRecord
from scopes.code_links.edit_index import EditIndex, open_edit_index
from scopes.code_links.edit_places import EditPlaces
from scopes.code_links.foreign_notes import SessionClaim
from scopes.code_links.known_links import KnownLinks
from scopes.code_links.link import CodeLink, CommitId, LinkRole
from scopes.code_links.project_commits import ProjectCommit, read_project_commits
from scopes.code_links.project_git import (
    ProjectGit,
    ProjectGitFailed,
    find_project_repository,
    open_project_git,
)
from scopes.code_links.recorded_links import RecordedCommits
from scopes.code_links.shallow_clone import note_boundary, read_boundary, without_lines
from scopes.errors import Inaccessible
from scopes.ids import ConversationId
from scopes.result import Note
from scopes.store.projects import find_worktree
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]
_CLAIMS: Final = frozenset({"trailer", "note"})


@dataclass(frozen=True, slots=True)
class LinkedCommit:
    """A commit with its links, the surest first, and the sessions that are recorded but not in the store.

    is_boundary: it is the first one of a shallow clone, so that its lines are not known
    claims: sessions that notes name, and that are not in the store either
    """

    facts: CommitFacts
    links: tuple[CodeLink, ...]
    unknown: tuple[CommitRecord, ...] = ()
    added: ProjectCommit | None = None
    is_boundary: bool = False
    claims: tuple[SessionClaim, ...] = ()


class CommitLinker:
    """Finds the links of commits of one project; made by `open_linker`."""

    def __init__(self, git: ProjectGit, index: EditIndex, known: KnownLinks) -> None:
        self.git = git
        self.index = index
        self.known = known
        self._boundary = read_boundary(git.repository)
        self._linked: list[CommitId] = []

    @property
    def notes(self) -> tuple[Note, ...]:
        """What could not be read so far."""
        return (*self.index.notes, *self.known.notes, *note_boundary(self._linked, self._boundary))

    def link(self, commits: Iterable[CommitId]) -> Iterator[LinkedCommit]:
        """Yield commits with their links, in the given order; those that the project has not are left out.

        Raises:
            Inaccessible: git cannot read the project.
        """
        facts = self.known.read_facts(commits)
        added = self._read_added(list(facts))
        read = [added[name] for name in facts if name in added]
        links = link_commits(self.index, self.git, self.known, read)
        for commit in read:
            unknown = self.known.unknown_of(commit.id)
            self._linked.append(commit.id)
            is_boundary = commit.id in self._boundary
            claims = self.known.unknown_claims_of(commit.id)
            yield LinkedCommit(facts[commit.id], join_claims(links[commit.id]), unknown, commit, is_boundary, claims)

    def _read_added(self, commits: Sequence[CommitId]) -> Mapping[CommitId, ProjectCommit]:
        """Return the commits with the lines that they added."""
        if not commits:
            return {}
        try:
            found = read_project_commits(self.git, commits)
        except ProjectGitFailed as error:
            raise Inaccessible(f"git cannot read the commits of the project: {error}", hint="see: git fsck") from error
        return {name: without_lines(each) if name in self._boundary else each for name, each in found.items()}


@contextmanager
def open_linker(
    repository: Repository, index_directory: str, directory: str, on_progress: Progress = lambda _done, _all: None
) -> Iterator[CommitLinker]:
    """Open the project around a directory and the index of edits; `on_progress` receives the conversations it reads.

    Raises:
        NotFound: the directory is in no git repository.
        Inaccessible: git is not installed.
    """
    project = find_project_repository(directory)
    with open_project_git(project) as git, open_edit_index(index_directory, repository, on_progress) as index:
        index.is_foreign, index.top = EditPlaces(git).is_foreign, git.repository.top
        recorded = RecordedCommits(repository, find_worktree(directory))
        yield CommitLinker(git, index, KnownLinks(repository, git, recorded))


def best_links(links: Sequence[CodeLink], role: LinkRole | None = None) -> tuple[CodeLink, ...]:
    """Return the links that are more than candidates; only those of a role if it is given."""
    return tuple(link for link in links if link.level != "candidate" and role in {None, link.role})


def join_claims(links: Sequence[CodeLink]) -> tuple[CodeLink, ...]:
    """Add what is only claimed to the evidence of other links of the same conversation; the rest stay candidates."""
    claims = [link for link in links if link.evidence[0].kind in _CLAIMS]
    found = [link for link in links if link.evidence[0].kind not in _CLAIMS]
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
