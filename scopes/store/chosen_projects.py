"""A project as a person names it: a directory, a name, or the address of its repository; and what is of it.

Every command that takes a project finds conversations in the same way. A directory that exists here is of the project
if it is in it, or in another clone of the same repository. One of another machine is known by its path alone: the last
part of it must be the name of the project.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scopes.errors import Ambiguous
from scopes.store.projects import Project, find_project, is_below
from scopes.store.repository_urls import normalise_url, read_remote_urls


class ChosenProject(NamedTuple):
    """Which project a command is about.

    text: as the user named it; project: the one of the directory that was named
    names: in lower case, those that it may have elsewhere; urls: the normalised addresses of its repository
    """

    text: str
    project: Project | None = None
    names: frozenset[str] = frozenset()
    urls: frozenset[str] = frozenset()

    @property
    def here(self) -> ChosenProject:
        """The same project without what is found by a name alone, such as directories of other machines."""
        return self._replace(names=frozenset())

    def find(self, directories: Iterable[str | None]) -> set[str]:
        """Return those of some recorded directories that are of the project.

        Raises:
            Ambiguous: a name alone was given, and here are several repositories of that name.
        """
        every = {each for each in directories if each is not None}
        own = {each for each in every if self.project is not None and self.project.contains(each)}
        here = {each: find_project(each) for each in every - own if os.path.isabs(each)}
        near = {each: found for each, found in here.items() if found is not None and os.path.isdir(each)}
        far = {each: found for each, found in here.items() if found is not None and each not in near}
        found_here = self._find_here(near)
        found_far = {each for each, found in far.items() if found.name.casefold() in self.names}
        below = {each for each in far if any(is_below(each, top) for top in found_far)}
        return own | found_here | found_far | below | self._find_odd(every)

    def _find_here(self, near: Mapping[str, Project]) -> set[str]:
        """Return the directories that exist here: clones of the repository, or by name if that is all that is known."""
        if self.urls:
            return {each for each, found in near.items() if self.urls & read_remote_urls(found.git_directory)}
        if self.project is not None:
            return set()
        named = {each: found for each, found in near.items() if found.name.casefold() in self.names}
        self._refuse_several({found.directory: found for found in named.values()})
        return set(named)

    def _refuse_several(self, named: Mapping[str, Project]) -> None:
        """Raise Ambiguous if projects of one name are known to be different repositories."""
        urls = {top: read_remote_urls(found.git_directory) for top, found in sorted(named.items())}
        known = {top: found for top, found in urls.items() if found}
        tops = list(known)
        if any(known[tops[0]].isdisjoint(known[top]) for top in tops[1:]):
            candidates = ", ".join(f"{top} ({min(found)})" for top, found in known.items())
            text = f"{self.text} is the name of {len(known)} projects here"
            raise Ambiguous(text, hint=f"name the directory: --project {tops[0]}; there are: {candidates}")

    def _find_odd(self, every: Iterable[str]) -> set[str]:
        """Return the paths of other systems, such as those of Windows, that end with the name."""
        odd = (each for each in every if not os.path.isabs(each))
        return {each for each in odd if Project(each).name.casefold() in self.names}


def choose_directory(text: str, project: Project) -> ChosenProject:
    """Return the project of a directory; one that exists has a name and addresses by which it is found elsewhere."""
    if not os.path.isdir(project.directory):
        return ChosenProject(text, project)
    urls = read_remote_urls(project.git_directory)
    names = {project.name.casefold(), *(url.rpartition("/")[2].casefold() for url in urls)}
    return ChosenProject(text, project, frozenset(names), urls)


def choose_name(text: str) -> ChosenProject:
    """Return the project of a name, or of the address of a repository."""
    url = normalise_url(text)
    if url is None:
        return ChosenProject(text, names=frozenset({text.casefold()}))
    return ChosenProject(text, names=frozenset({url.rpartition("/")[2].casefold()}), urls=frozenset({url}))


def names_of(directories: Iterable[str | None]) -> list[str]:
    """Return the names of the projects of some recorded directories, sorted."""
    found = {each: find_project(each) for each in {*directories} if each is not None}
    return sorted({project.name for project in found.values() if project is not None})
