"""The names of refs: of a conversation on a remote, and of its tracking refs here.

refs/scopes/v1/c/<project>/<yyyymm>/<root commit>   on a remote: the manifest of a conversation
refs/scopes/v1/s/<project>/<yyyymm>/<root commit>   on a remote: its original files, if they were pushed
refs/scopes/remotes/<remote>/<root commit>          here: the last manifest that the remote had
refs/scopes/remote-sources/<remote>/<root commit>   here: the last original files that the remote had

A name on a remote depends only on the root commit, so a conversation has the same one on every machine.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, NamedTuple

from scopes.clock import format_seconds
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.messages import MESSAGE_FILE, is_root
from scopes.ids import Oid, is_name
from scopes.lazy_patterns import compile_lazily
from scopes.model.conversation import Root, decode_root
from scopes.purge.on_remotes import CONVERSATIONS, SOURCES_THERE
from scopes.store.objects import Commit, Objects, find_blob, read_commit
from scopes.store.refs import REMOTE_SOURCES, REMOTES

ON_REMOTE: Final = CONVERSATIONS
_NO_PROJECT: Final = "none"
_PROJECT_DIGITS: Final = 12
_ON_REMOTE = compile_lazily(r"refs/scopes/v1/c/([0-9a-f]{12})/([0-9]{6})/([0-9a-f]{40})")
_REMOTE = compile_lazily(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class RemoteName(NamedTuple):
    """The parts of the name of a conversation on a remote."""

    project: str
    month: str
    root: Oid

    @property
    def ref(self) -> str:
        """The ref on the remote."""
        return f"{ON_REMOTE}{self.project}/{self.month}/{self.root}"

    @property
    def sources_ref(self) -> str:
        """The ref on the remote with the original files."""
        return SOURCES_THERE + self.ref.removeprefix(ON_REMOTE)


def is_remote_ref(ref: str) -> bool:
    """Return True if a ref is the name of a conversation on a remote."""
    return _ON_REMOTE.fullmatch(ref) is not None


def parse_remote_ref(ref: str) -> RemoteName:
    """Split the name of a ref of a remote.

    Raises:
        Corrupt: it is not the name of a conversation.
    """
    found = _ON_REMOTE.fullmatch(ref)
    if found is None:
        raise Corrupt(f"the remote has a ref that is not a conversation: {ref[:200]!a}", hint="see who wrote it there")
    return RemoteName(found[1], found[2], Oid(found[3]))


def tracking_ref(remote: str, root: Oid) -> str:
    """Return the ref with the last manifest of a conversation that a remote had."""
    return f"{REMOTES}{remote}/{root}"


def sources_tracking_ref(remote: str, root: Oid) -> str:
    """Return the ref with the last original files of a conversation that a remote had."""
    return f"{REMOTE_SOURCES}{remote}/{root}"


def parse_remote_name(text: str) -> str:
    """Check the name of a remote.

    Raises:
        Invalid: it is not valid.
    """
    if not _REMOTE.fullmatch(text) or not is_name(text):
        hint = "letters, digits, '.', '_' and '-', for example: origin"
        raise Invalid(f"{text[:100]!a} is not a valid name of a remote", hint=hint)
    return text


def name_on_remote(objects: Objects, root: Commit) -> RemoteName:
    """Return the name of a conversation on every remote.

    Raises:
        Corrupt, NotFound: the commit is not the root of a conversation, or it is damaged.
    """
    return RemoteName(project_of(read_root_document(objects, root)), month_of(root), root.oid)


def find_own_name(objects: Objects, root: Oid) -> RemoteName | None:
    """Return the name that a conversation has on every remote, by its root; None if the root is not here.

    A remote may have other refs that end with this root. They are not valid, and only the root commit shows which is.
    """
    try:
        return name_on_remote(objects, read_commit(objects, root))
    except (Corrupt, NotFound):
        return None


def read_root_document(objects: Objects, root: Commit) -> Root:
    """Read the document of a root commit; raises as `name_on_remote` does."""
    data = find_blob(objects, root.tree, MESSAGE_FILE) if is_root(root) else None
    if data is None:
        raise Corrupt(f"commit {root.oid} is not the root of a conversation", hint="see: scopes verify")
    return decode_root(data)


def project_of(root: Root) -> str:
    """Return the project of a conversation on a remote, from its root and not from the place of the store."""
    return project_digest(root.cwd)


def project_digest(directory: str | None) -> str:
    """Return the project for the directory in a root: a hash of it, or a fixed value if the root has none."""
    text = directory or _NO_PROJECT
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_PROJECT_DIGITS]


def month_of(root: Commit) -> str:
    """Return year and month of a root commit, `197001` if its time is not known."""
    time = format_seconds(root.time)
    return time[:4] + time[5:7]
