"""Which project a command is about: a directory, a name or the address of a repository.

Clones with the same remote are the same project elsewhere. Of a repository only the addresses in its configuration are
read, as a small regular file: no git process is started, no included file is followed, and nothing of it is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scopes.errors import Ambiguous
from scopes.lazy_patterns import compile_lazily
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular
from scopes.store.projects import Project, find_project, is_below

_SECTION = compile_lazily(r'\s*\[\s*(?P<name>[A-Za-z0-9.-]+)(?:\s+"(?P<sub>(?:[^"\\]|\\.)*)")?\s*\]')
_URL = compile_lazily(r"\s*url\s*=\s*(?P<value>[^#;]*)", re.IGNORECASE)
_SCHEME = compile_lazily(r"(?:git\+)?(?:https?|ssh|git)://(?P<rest>.+)", re.IGNORECASE)
_SHORT_SSH = compile_lazily(r"(?P<host>[^/:\s]{2,}):(?P<path>[^\s]+)")
_AUTHORITY = compile_lazily(r"(?:[^@]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^:/]+)(?::[0-9]{1,5})?")


def normalise_url(text: str) -> str | None:
    """Return an address as `host/path`, without scheme, user, password, port and `.git`; None if it has no host.

    `git@example.org:team/shop.git`, `ssh://git@example.org/team/shop` and `https://example.org/team/shop.git/` are one.
    """
    found = _SCHEME.fullmatch(text.strip())
    if found is not None:
        authority, _, path = found["rest"].partition("/")
    else:
        short = _SHORT_SSH.fullmatch(text.strip())
        if short is None:
            return None
        authority, path = short["host"], short["path"]
    host = _AUTHORITY.fullmatch(authority)
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host['host'].lower()}/{path}" if host is not None and path else None


def is_url(text: str) -> bool:
    """Return True if a word is the address of a repository on another machine, and not a directory."""
    return normalise_url(text) is not None


def read_remote_urls(git_directory: str | None) -> frozenset[str]:
    """Return the normalised addresses of the remotes of a repository; none if they cannot be read."""
    if git_directory is None:
        return frozenset()
    try:
        text = read_regular(os.path.join(git_directory, "config"), MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return frozenset()
    found: set[str] = set()
    is_remote = False
    for line in text.splitlines():
        section = _SECTION.match(line)
        if section is not None:
            is_remote = section["name"].lower() == "remote" and section["sub"] is not None
        rest = line if section is None else line[section.end() :]
        value = _URL.match(rest) if is_remote else None
        url = None if value is None else normalise_url(value["value"].strip().strip('"'))
        if url is not None:
            found.add(url)
    return frozenset(found)


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
