"""The addresses of the remotes of a git repository, in one form for all: they say what is the same elsewhere.

Only `config` of the git directory is read, as a small regular file: no git process is started, no included file is
followed, and nothing of it is run or shown.
"""

from __future__ import annotations

import os
import re

from scopes.lazy_patterns import compile_lazily
from scopes.regular_file import read_regular

_MAX_BYTES = 1 << 20
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
        text = read_regular(os.path.join(git_directory, "config"), _MAX_BYTES).decode("utf-8", "replace")
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
