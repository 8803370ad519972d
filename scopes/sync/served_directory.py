"""Serve a directory remote through a git directory of our own, with its objects and refs and only safe settings.

The git that serves a directory runs as this user. The configuration there can name programs in more places than options
of a command can turn off: hooks in files and, since git 2.54, in `hook.*.command`; filters of a working tree that
`receive.denyCurrentBranch = updateInstead` checks out; and what later versions add. So git serves a directory that is
made here: it links to the objects and refs of the remote, and has no hook, no working tree, and a configuration with
nothing but the known rules about what may be read and written, the format and the permissions of new files.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from scopes.errors import Inaccessible
from scopes.regular_file import read_regular
from scopes.store.objects import translated

_PREFIX: Final = "served-"
_LINKS: Final = ("objects", "refs", "packed-refs", "shallow", "reftable")
_LOGS: Final = "logs"  # git creates directories in it, which fails if it is a dangling link
_HEAD: Final = "ref: refs/heads/scopes-none\n"
_MAX_FILE: Final = 4096
_EXTENSIONS: Final = {  # names of settings and the values that are known; None: any
    "extensions.objectformat": {"sha1", "sha256"}, "extensions.refstorage": {"files", "reftable"},
    "extensions.compatobjectformat": {"sha1", "sha256"}, "extensions.partialclone": None,
    "extensions.preciousobjects": None, "extensions.noop": None, "extensions.noop-v1": None,
    "extensions.relativeworktrees": None, "extensions.worktreeconfig": None,
}  # fmt: skip
_RULES: Final = re.compile(
    r"core\.(repositoryformatversion|sharedrepository|logallrefupdates)"
    r"|receive\.(deny(deletes|nonfastforwards)|fsckobjects|fsck\.[\w-]+|unpacklimit|maxinputsize|shallowupdate|hiderefs)"
    r"|transfer\.(hiderefs|fsckobjects|unpacklimit)"
    r"|uploadpack\.(hiderefs|allow(tip|reachable|any)sha1inwant|allowfilter|keepalive)"
)


def find_git_directory(path: str) -> str | None:
    """Return the git directory for a path: a bare repository, a working tree or a linked one; None if it is neither."""
    for place in (os.path.join(path, ".git"), path):
        directory = _follow_file(place)
        if directory is not None:
            common = _read_line(os.path.join(directory, "commondir"))
            directory = directory if common is None else os.path.join(directory, common)
            if all(os.path.isdir(os.path.join(directory, name)) for name in ("objects", "refs")):
                return os.path.realpath(directory)
    return None


def _follow_file(path: str) -> str | None:
    """Return a directory with a HEAD, which may be named by a file `.git`."""
    if os.path.isfile(path):
        kind, _, target = (_read_line(path) or "").partition(": ")
        path = os.path.join(os.path.dirname(path), target) if kind == "gitdir" else ""
    return path if os.path.lexists(os.path.join(path, "HEAD")) else None


def _read_line(path: str) -> str | None:
    try:
        return read_regular(path, _MAX_FILE).decode("utf-8", "surrogateescape").rstrip("\n")
    except OSError:
        return None


def link_directory(directory: str, settings: Iterable[tuple[str, str]], inside: str) -> str:
    """Make the directory that git serves in place of a git directory, and return its path.

    settings: names and values of the configuration there, as git lists them; only those in the table above are used
    inside: the directory to create it in; removing that later removes links, never their targets

    Raises:
        Inaccessible: the disk failed, the configuration has an unknown extension, or a symbolic link leads out of the
            directory, so that git would write elsewhere.
    """
    kept = [(name, value) for name, value in settings if _is_kept(name, value)]
    link = next(_walk_links_outside(directory), None)
    if link is not None:
        what = f"{link} is a symbolic link out of the repository: git would write where it leads"
        raise Inaccessible(what, hint="share with the repository that it leads to, or put a directory in its place")
    with translated("prepare a directory for git", inside):
        served = tempfile.mkdtemp(prefix=_PREFIX, dir=inside)
        for name in _LINKS:
            os.symlink(os.path.join(directory, name), os.path.join(served, name))
        if os.path.isdir(os.path.join(directory, _LOGS)):
            os.symlink(os.path.join(directory, _LOGS), os.path.join(served, _LOGS))
        with open(os.path.join(served, "HEAD"), "x", encoding="ascii") as file:
            file.write(_HEAD)
        with open(os.path.join(served, "config"), "x", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(_format_setting(name, value) for name, value in (("core.bare", "true"), *kept))
    return served


def _is_kept(name: str, value: str) -> bool:
    """Return True if a setting is used: one of the table above, or a known extension.

    Raises:
        Inaccessible: the extension is not known; git, too, refuses repositories with unknown extensions.
    """
    if not name.startswith("extensions."):
        return _RULES.fullmatch(name) is not None
    values = _EXTENSIONS.get(name, set())
    if values is not None and value.lower() not in values:
        what = f"the remote's configuration has {name} = {value}, an unknown extension"
        raise Inaccessible(what, hint="share over ssh or https, or with another repository")
    return True


def _format_setting(name: str, value: str) -> str:
    """Return the lines of a configuration file for one setting, with a section of its own, which git accepts."""
    section, _, variable = name.rpartition(".")
    section, _, subsection = section.partition(".")
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\b", "\\b")):
        value = value.replace(sign, escaped)
    head = f'[{section} "{subsection}"]' if subsection else f"[{section}]"
    return f'{head}\n\t{variable} = "{value}"\n'


def _walk_links_outside(directory: str) -> Iterator[str]:
    """Yield symbolic links, in the places where git writes, that lead out of a git directory."""
    root = os.path.join(os.path.realpath(directory), "")
    waiting = [os.path.join(directory, name) for name in (*_LINKS, _LOGS)]
    while waiting:
        path = waiting.pop()
        if os.path.islink(path):
            if not os.path.realpath(path).startswith(root):
                yield path
        elif os.path.isdir(path):
            with suppress(OSError), os.scandir(path) as entries:  # git says why it cannot read it
                waiting += (each.path for each in entries if each.is_symlink() or each.is_dir(follow_symlinks=False))
