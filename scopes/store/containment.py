"""Refuse a store that reaches outside itself: by its configuration, its object database or a link.

A store may come from another person. Its configuration can include files of the reader, and its objects can be
borrowed from the reader's other repositories. Stores that scopes made do none of this. Git never reads a store's
configuration (see `git_program`), but libgit2 does: all of this is checked before libgit2 opens the store.
"""

from __future__ import annotations

import os
import re
import shlex
import stat

from scopes.errors import Inaccessible, Refused
from scopes.lazy_patterns import compile_lazily
from scopes.store.error_translation import translated
from scopes.store.libgit2 import pygit2

_MAX_CONFIG_BYTES = 1 << 20
# A section begins a line, or follows another one in the same line.
_INCLUDE = re.compile(
    rb"""(?:^|\]|\xef\xbb\xbf)\s*\[\s*(?P<section>include(?:if)?)\b\s*(?:"(?P<condition>(?:[^"\\\n]|\\.)*)")?""",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENT = re.compile(rb"^[ \t]*[#;].*", re.MULTILINE)
_EXTENSION = re.compile(rb"\[\s*extensions", re.IGNORECASE)
_LEFT_TO_LIBGIT2 = {"extensions.noop", "extensions.objectformat", "extensions.refstorage", "extensions.partialclone"}
_LINKS = ("objects", "refs", "logs", "packed-refs", "deliveries", "runs")
_FILES = {
    "commondir": "takes its configuration, objects and refs from another directory",
    "objects/info/alternates": "borrows objects from another repository",
    "info/grafts": "replaces the parents of commits",
}
_PROGRAM = compile_lazily(  # keys that make git run something, of git 2.55 and before
    r"""
    core\.(fsmonitor|hookspath|sshcommand|askpass|editor|pager|alternaterefscommand|gitproxy)
    | (credential|credential\..*)\.helper | gc\.recentobjectshook | uploadpack\.packobjectshook
    | filter\..*\.(clean|smudge|process) | diff\.external | diff\..*\.(command|textconv) | merge\..*\.driver
    | gpg\.program | gpg\..*\.(program|defaultkeycommand) | remote\..*\.(uploadpack|receivepack|vcs|promisor)
    | receive\.procreceiverefs | trailer\..*\.(command|cmd) | sequence\.editor | pager\..* | alias\..*
    | hook\..*\.command | interactive\.difffilter | imap\.tunnel | instaweb\.httpd | submodule\..*\.update
    | (mergetool|difftool|browser|man|guitool)\..*\.(cmd|path) | tar\..*\.command | sendemail\..*cmd
    | protocol\.(.*\.)?allow
    """,
    re.VERBOSE,
)


def check_self_contained(store: str) -> None:
    """Refuse a store whose files make libgit2 or git read or write outside it.

    Raises:
        Refused: the message names the key or the file, the hint says how to remove it.
        Inaccessible: the configuration cannot be read.
    """
    config = os.path.join(store, "config")
    content = _read_regular_file(config)
    _check_includes(config, content)
    if _EXTENSION.search(content):
        _check_extensions(config)
    for name in _LINKS:
        if os.path.islink(os.path.join(store, name)):
            raise Refused(
                f"{name} of the store {store} is a symbolic link", hint="copy the store with what it links to"
            )
    for name, effect in _FILES.items():
        path = os.path.join(store, name)
        if os.path.lexists(path) and not _is_empty(path):
            hint = f"if it is not needed, remove it: rm {shlex.quote(path)}; otherwise ask for a complete store"
            raise Refused(f"the store {effect}: {path}", hint=hint)


def _read_regular_file(path: str) -> bytes:
    """Read a file that is no link; a FIFO or a device is not opened for reading."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{path} is not a regular file", hint="replace it with a copy of what it stands for")
        if status.st_size > _MAX_CONFIG_BYTES:
            raise Refused(f"{path} is too large for a configuration: {status.st_size} bytes", hint="shorten it")
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return os.read(descriptor, status.st_size + 1)  # a buffer of the maximum would cost half a millisecond
        finally:
            os.close(descriptor)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Inaccessible(f"cannot read {path}: {reason}", hint="check who owns it") from error


def _is_empty(path: str) -> bool:
    status = os.lstat(path)
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def _check_includes(config: str, content: bytes) -> None:
    """Refuse the sections `include` and `includeIf`; in doubt, text in a value counts as a section too."""
    found = _INCLUDE.search(_COMMENT.sub(b"", content))
    if found is None:
        return
    condition = (found["condition"] or b"").decode("utf-8", "replace")
    section = f"includeIf.{condition}" if found["section"].lower() == b"includeif" else "include"
    raise Refused(
        f"the store's configuration includes another file: {section}.path in {config}",
        hint=f"remove it: git config --file {shlex.quote(config)} --remove-section {shlex.quote(section)}",
    )


def _check_extensions(config: str) -> None:
    """Refuse extensions that scopes does not know: one may name another file of settings, or forbid deleting objects.

    libgit2 itself refuses the known ones if their value is one that it does not support.
    """
    try:
        entries = _list_entries(config)
    except (pygit2.GitError, OSError, ValueError):
        return  # malformed: opening the store reports the line
    for key, value in entries:
        if key.startswith("extensions.") and key not in _LEFT_TO_LIBGIT2:
            raise Refused(
                f"the store uses an extension of git that scopes does not support: {key} = {value}",
                hint=f"remove it: git config --file {shlex.quote(config)} --unset-all {shlex.quote(key)}",
            )


def list_program_keys(store: str) -> list[str]:
    """Return the keys of the store's configuration that name a program, sorted. Scopes runs none; plain git does.

    Raises:
        Corrupt, Inaccessible: the configuration is malformed or cannot be read.
    """
    with translated("read the configuration of the store", store):
        entries = _list_entries(os.path.join(store, "config"))
    return sorted({key for key, _ in entries if _PROGRAM.fullmatch(key.lower())})


def _list_entries(config: str) -> list[tuple[str, str | None]]:
    return [(entry.name, entry.value) for entry in pygit2.Config(config)]
