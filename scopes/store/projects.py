"""Projects: which git repository, or else which directory, a directory belongs to, and which store is used there.

All worktrees of a repository are one project; a directory outside git is a project of its own; the home directory is
none. Only small regular files of `.git` are read, with `os` alone: no git process is started and no path is trusted.
"""

from __future__ import annotations

import os
import time

from scopes.regular_file import MAX_CONFIG_BYTES, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


_MAX_BYTES = 4096  # of a file that holds one path
_STORE = "scopes"  # the store of a project, in its git directory
_SCHEMES = ("http", "https", "ssh", "git")


class Project:
    """A project: its repository, with all worktrees and clones; without one, its directory.

    Of one that is elsewhere somebody may name a path, a name or an address, and nothing else is known of it.

    text: as the user named it
    directory: the top directory, resolved; empty if only a name or an address was given
    git_directory: the one that all worktrees share; None outside git
    worktrees: the directories of all worktrees, resolved
    names: in lower case, those of a repository: its directory elsewhere has one of them
    urls: the normalised addresses of its remotes
    owns_store: whether what is asked about is in the store of the project
    """

    __slots__ = ("_names", "_urls", "directory", "git_directory", "owns_store", "text", "worktrees")

    def __init__(
        self,
        directory: str,
        git_directory: str | None = None,
        worktrees: Sequence[str] = (),
        *,
        names: Collection[str] | None = None,
        urls: Collection[str] | None = None,
    ) -> None:
        self.text = self.directory = directory
        self.git_directory = git_directory
        self.worktrees = tuple(worktrees) or (directory,)
        self.owns_store = False
        self._names = names
        self._urls = urls

    @property
    def name(self) -> str:
        """The short name: that of the top directory; of a worktree that is gone, that of the directory around it."""
        return name_of(_around_worktree(self.directory))

    @property
    def names(self) -> Collection[str]:
        """See above."""
        if self._names is None:
            of_repository = () if self.git_directory is None else (self.name, *map(name_of, self.urls))
            self._names = frozenset(name.casefold() for name in of_repository)
        return self._names

    @property
    def urls(self) -> Collection[str]:
        """See above."""
        if self._urls is None:
            self._urls = read_remote_urls(self.git_directory)
        return self._urls

    @property
    def store(self) -> str | None:
        """The path of the project's store, existing or not; None outside git."""
        return None if self.git_directory is None else os.path.join(self.git_directory, _STORE)

    def find(self, directories: Iterable[str | None], *, certain: bool = False) -> set[str | None]:
        """Return those of some recorded directories that are of the project. This is what `here` means everywhere.

        What is in a repository here is of the project if the repository is. Outside of one a project is a directory
        alone: there may be other projects below it. Of a directory that is gone, or is on another machine, only the
        path is known: it is of a repository if it is of a worktree or has a name of the repository, or is below a
        recorded one that has. None, an unknown directory, is of no project.

        The store of a project has what is of no other project that is here.

        certain: leave out what only has the name of the project, or is in its store by that name: another project may
            have it too; what was begun without a directory is certainly of the project if its store has it

        Raises:
            Ambiguous: a name alone was given, and here are several repositories of that name.
        """
        every = {*directories}
        projects = {each: find_project(each) or Project(os.path.realpath(each)) for each in every if each is not None}
        near = {each: one for each, one in projects.items() if one.git_directory is not None or _is_directory(each)}
        far = {each: one for each, one in projects.items() if each not in near}
        found: set[str | None] = {*self._find_here(near)}
        if self.owns_store and not certain:
            return found | (every - near.keys())
        far = {each: one for each, one in far.items() if os.path.isabs(each) or each[1:2] == ":"}  # else it is no path
        named = {each for each, one in far.items() if not certain and one.name.casefold() in self.names}
        is_gone = _is_possible(self.directory) and not os.path.isdir(self.directory)
        worktrees = self.worktrees if is_gone or self.git_directory is not None else ()
        tops = [*worktrees, *(far[each].directory for each in named)]
        below = {each for each, one in far.items() if any(is_below(one.directory, top) for top in tops)}
        unknown = {each for each in every if each is None and self.owns_store}
        return found | named | below | unknown

    def _find_here(self, near: Mapping[str, Project]) -> set[str]:
        """Return the directories that exist here: those of the repository and its clones, or of the name."""
        if self.directory or self.urls:
            return {each for each, one in near.items() if self._is_same(one)}
        named = {each: one for each, one in near.items() if one.name.casefold() in self.names}
        known = {one.directory: one.urls for _, one in sorted(named.items()) if one.urls}
        first = next(iter(known), "")
        if any(frozenset(known[first]).isdisjoint(urls) for urls in known.values()):
            from scopes.errors import Ambiguous

            candidates = ", ".join(f"{top} ({min(urls)})" for top, urls in known.items())
            text = f"{self.text} is the name of {len(known)} projects here"
            raise Ambiguous(text, hint=f"name the directory: --project {first}; there are: {candidates}")
        return set(named)

    def _is_same(self, other: Project) -> bool:
        """Return True for the same repository: by its remote address, else its root commit, else its directory."""
        if self.git_directory is None and self.directory:
            return other.git_directory is None and other.directory == self.directory
        if other.git_directory is None or other.git_directory == self.git_directory:
            return other.git_directory is not None
        if self.urls and other.urls:
            return not frozenset(self.urls).isdisjoint(other.urls)
        root = _find_root_commit(self.git_directory)
        return root is not None and root == _find_root_commit(other.git_directory)


_root_commits: dict[str, str | None] = {}  # by git directory


def _find_root_commit(git_directory: str | None) -> str | None:
    """Return the first commit of a repository; git is asked for it once."""
    if git_directory is not None and git_directory not in _root_commits:
        from scopes.store.git_program import find_root_commit

        _root_commits[git_directory] = find_root_commit(git_directory)
    return None if git_directory is None else _root_commits[git_directory]


def find_project(directory: str, home: str | None = None) -> Project | None:
    """Return the project of a directory, existing or not; None for the home directory and the root directory."""
    if not _is_possible(directory):
        return Project(directory)
    path = os.path.realpath(directory)
    excluded = {os.path.realpath(home or os.path.expanduser("~")), os.path.abspath(os.sep)}
    if path in excluded:
        return None
    existing = path
    while not os.path.isdir(existing):
        existing = os.path.dirname(existing)
    found = find_worktree(existing)
    if found is None or found.directory in excluded:
        return Project(path)
    return _project_of_repository(found.directory, found.shared)


def find_here(directory: str, store: str) -> Project:
    """Return the project of the current directory, to ask about a store; the home directory is one of its own here."""
    return _in_store(find_project(directory) or Project(os.path.realpath(directory)), store)


def read_project(text: str, directory: str, store: str = "") -> Project:
    """Return the project that somebody named: by a directory, the address of its repository, or a word as its name.

    directory: the current one; store: what is asked about is there

    Raises:
        Invalid: the text is empty, or the home directory.
    """
    from scopes.errors import Invalid

    if not text:
        raise Invalid("--project is empty", hint="name a directory of the project")
    url = normalise_url(text)
    if url is None and (os.sep in text or text in {".", ".."} or text.startswith("~")):
        project = find_project(os.path.join(directory, os.path.expanduser(text)))
        if project is None:
            raise Invalid(f"{text!a} is not a project", hint="name a directory below your home directory")
    else:
        project = Project("", names={name_of(url or text).casefold()}, urls=() if url is None else {url})
    project.text = text
    return _in_store(project, store)


def _in_store(project: Project, store: str) -> Project:
    project.owns_store = project.store is not None and os.path.realpath(project.store) == os.path.realpath(store)
    return project


def find_store_project(store: str, cwd: str) -> Project | None:
    """Return the project that a store belongs to, because it is in its git directory; None for any other store."""
    shared = os.path.dirname(os.path.realpath(store))
    here = find_worktree(cwd)
    if os.path.basename(store) != _STORE:
        return None
    if here is not None and here.shared == shared:
        return _project_of_repository(here.directory, here.shared)
    if os.path.basename(shared) == ".git":
        return _project_of_repository(os.path.dirname(shared), shared)
    return None


class Worktree:
    """A working tree of a git repository, its own git directory, and the one that it shares with other worktrees."""

    __slots__ = ("directory", "git_directory", "shared")

    def __init__(self, directory: str, git_directory: str, shared: str) -> None:
        self.directory = directory
        self.git_directory = git_directory
        self.shared = shared


def find_worktree(directory: str) -> Worktree | None:
    """Return the working tree of git around a directory, its paths resolved; None outside a repository."""
    if not _is_possible(directory):
        return None
    top = os.path.realpath(directory)
    while True:
        own = _own_directory(os.path.join(top, ".git"))
        if own is not None:
            common = _read_path(os.path.join(own, "commondir"))
            shared = own if common is None else os.path.join(own, common)
            return Worktree(top, os.path.realpath(own), os.path.realpath(shared))
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent


def _own_directory(dot_git: str) -> str | None:
    """Return the git directory of a working tree; that of a linked one, or of a submodule, is named in a file."""
    if os.path.isdir(dot_git):
        return dot_git
    line = _read_path(dot_git)
    if line is None or not line.startswith("gitdir:"):
        return None
    return os.path.join(os.path.dirname(dot_git), line.removeprefix("gitdir:").strip())


class ReflogEnd:
    """How far the reflog of HEAD of a worktree went at a moment, in seconds; the inode is 0 if there was no file."""

    __slots__ = ("at", "git_directory", "inode", "size")

    def __init__(self, git_directory: str) -> None:
        self.git_directory = git_directory
        self.at = time.time()
        try:
            status = os.lstat(os.path.join(git_directory, "logs", "HEAD"))
            self.inode, self.size = status.st_ino, status.st_size
        except OSError:
            self.inode, self.size = 0, 0


def find_reflog_end(directory: str) -> ReflogEnd | None:
    """Return how far the reflog goes now of the worktree around a directory; None outside a repository."""
    worktree = find_worktree(directory)
    return None if worktree is None else ReflogEnd(worktree.git_directory)


def _is_directory(directory: str) -> bool:
    return _is_possible(directory) and os.path.isdir(directory)


def _is_possible(directory: str) -> bool:
    """Return True if a directory could exist here: a transcript may record any text, or one of another system."""
    if not os.path.isabs(directory) or "\0" in directory:
        return False
    try:
        os.fsencode(directory)
    except UnicodeEncodeError:
        return False
    return True


def _around_worktree(directory: str) -> str:
    """Return the directory that a worktree was made in, judged by its path; another directory unchanged."""
    around, _, folder = os.path.dirname(directory).rpartition("/")
    if folder not in {"worktrees", ".worktrees"} or not around:
        return directory
    top, _, hidden = around.rpartition("/")
    return top if hidden in {".claude", ".git"} and top else around


def name_of(directory: str) -> str:
    """Return the last part of a path, with either kind of separator."""
    return directory.replace("\\", "/").rstrip("/").rpartition("/")[2] or directory


def is_below(path: str, top: str) -> bool:
    """Return True if an absolute path is a directory or below it."""
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def _project_of_repository(top: str, shared: str) -> Project:
    """Return the project of a repository; a linked worktree belongs to the main working tree."""
    main = os.path.dirname(shared) if os.path.basename(shared) == ".git" else None
    linked = _list_worktrees(shared)
    if main is None:  # a submodule, a separate git directory, or a bare repository with worktrees
        main = top if top not in linked else shared.removesuffix(".git").rstrip(os.sep)
    return Project(main, shared, list(dict.fromkeys((main, top, *linked))))


def _list_worktrees(shared: str) -> list[str]:
    """Return the directories of linked worktrees, as `.git/worktrees/*/gitdir` names them."""
    folder = os.path.join(shared, "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [_read_path(os.path.join(folder, name, "gitdir")) for name in names]
    return [os.path.realpath(os.path.dirname(os.path.join(folder, path))) for path in paths if path]


def _read_path(path: str) -> str | None:
    """Return the first line of a small regular file; None if it is anything else or cannot be read."""
    try:
        data = read_regular(path, _MAX_BYTES)
    except (OSError, ValueError):
        return None
    line = os.fsdecode(data.partition(b"\n")[0]).strip()
    return line if line and "\0" not in line else None


def choose_store(environ: Mapping[str, str], cwd: str, explicit: str | None = None) -> str:
    """Return the path of the store to use: `explicit`, SCOPES_STORE, the project's or the user's, in this order.

    The path need not exist. The project's store is `<git common dir>/scopes` of the enclosing repository, if
    `scopes init` created one there.
    """
    for path in (explicit, environ.get("SCOPES_STORE")):
        if path:
            return os.path.abspath(os.path.join(cwd, os.path.expanduser(path)))
    project = find_project_store(cwd)
    if project is not None and os.path.isdir(os.path.join(project, "objects")):
        return project
    return os.path.join(_user_directory(environ, "XDG_DATA_HOME", "~/.local/share"), "scopes", "store.git")


def sample_store(environ: Mapping[str, str]) -> str:
    """Return the path of the store of the sample, which may not exist."""
    return os.path.join(_user_directory(environ, "XDG_DATA_HOME", "~/.local/share"), "scopes", "sample.git")


def find_project_store(cwd: str) -> str | None:
    """Return the path of the store of the enclosing git repository, existing or not; None outside a repository."""
    found = find_worktree(cwd)
    return None if found is None else os.path.join(found.shared, _STORE)


def _user_directory(environ: Mapping[str, str], name: str, default: str) -> str:
    """Return a directory of the user, which may not exist; a relative one counts as unset (XDG base directories)."""
    path = environ.get(name, "")
    return path if os.path.isabs(path) else os.path.expanduser(default)


def cache_directory(environ: Mapping[str, str]) -> str:
    """Return the cache directory of scopes, which may not exist."""
    return os.path.join(_user_directory(environ, "XDG_CACHE_HOME", "~/.cache"), "scopes")


def index_directory(cache: str, store: str) -> str:
    """Return the directory of a store's index, in the cache directory of scopes."""
    import hashlib

    name = hashlib.sha256(os.path.realpath(store).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(cache, name)


def state_directory(environ: Mapping[str, str]) -> str:
    """Return the directory for logs and crash files, which may not exist."""
    return os.path.join(_user_directory(environ, "XDG_STATE_HOME", "~/.local/state"), "scopes")


def find_project_names(directories: Iterable[str | None]) -> Mapping[str, str]:
    """Return the name of the project of each directory that belongs to one.

    Names are not stored, because directories are moved and repositories are made.
    """
    found = {path: find_project(path) for path in {*directories} if path is not None}
    return {path: project.name for path, project in found.items() if project is not None}


def names_of(directories: Iterable[str | None]) -> list[str]:
    """Return the names of the projects of some recorded directories, sorted."""
    return sorted({*find_project_names(directories).values()})


def normalise_url(text: str) -> str | None:
    """Return an address as `host/path`, without scheme, user, password, port and `.git`; None if it has no host.

    `git@example.org:team/shop.git`, `ssh://git@example.org/team/shop` and `https://example.org/team/shop.git/` are one.
    """
    scheme, is_full, rest = text.strip().partition("://")
    if is_full:
        authority, _, path = rest.partition("/")
    else:
        authority, _, path = scheme.partition(":")
    scheme = scheme.lower().removeprefix("git+")
    is_host = scheme in _SCHEMES if is_full else len(authority) > 1 and not {"/", " "} & {*authority}
    host = authority.rpartition("@")[2].lower()
    host = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host}/{path}" if is_host and host and path else None


def read_remote_urls(git_directory: str | None) -> frozenset[str]:
    """Return the normalised addresses of the remotes of a repository; none if they cannot be read."""
    settings = () if git_directory is None else read_git_settings(git_directory)
    urls = (normalise_url(value) for section, key, value in settings if section.startswith("remote ") and key == "url")
    return frozenset(url for url in urls if url is not None)


def read_git_settings(git_directory: str) -> list[tuple[str, str, str]]:
    """Return section and key, in lower case, and value of the settings of a repository, without what it includes."""
    try:
        text = os.fsdecode(read_regular(os.path.join(git_directory, "config"), MAX_CONFIG_BYTES))
    except (OSError, ValueError):
        return []
    found: list[tuple[str, str, str]] = []
    section = ""
    for each in text.splitlines():
        line = each.strip()
        if line.startswith("["):
            section, _, line = line[1:].partition("]")
        key, _, value = line.partition("=")
        value = value.partition("#")[0].partition(";")[0].strip().strip('"')
        found.append((section.strip().lower(), key.strip().lower(), value))
    return found
