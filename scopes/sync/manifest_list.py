"""The list of the conversations of a remote, as their manifests describe them: a file beside the index of a store.

Their messages are not here. Everything in the file came from the remote and was checked when it was written. It may be
deleted at any time: `fetch --manifests` makes a new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from scopes.clock import random_bytes
from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.model import canonical_json
from scopes.regular_file import read_regular
from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import without_store
from scopes.store.objects import translated
from scopes.sync.manifest import StoredManifest
from scopes.sync.names import RemoteName
from scopes.sync.remotes import Remote

_VERSION: Final = 2
_MAX_BYTES: Final = 1 << 30
_TITLES_AT_ONCE: Final = 200


class ListedConversation(NamedTuple):
    """A conversation as its manifest on a remote describes it.

    name: its place there; manifest: the commit; title: the whole, without secrets
    time: of the newest message, in seconds since 1970
    messages: those of all branches, each once; of a manifest without that number, those of the longest branch
    prompt: the beginning of the first prompt, without secrets; None if there is a title, or if the manifest has none
    """

    name: RemoteName
    manifest: Oid
    title: str | None
    time: int
    branches: int
    messages: int
    prompt: str | None = None


class ManifestList(NamedTuple):
    """The conversations of a remote, by their roots; `seen` is when it was asked, in seconds since 1970.

    older: manifests of other conversations that the store had at that time: they are not newer than this list
    """

    seen: int
    conversations: Mapping[Oid, ListedConversation]
    older: Mapping[Oid, Oid] = MappingProxyType({})


def describe_all(manifests: Sequence[tuple[RemoteName, StoredManifest]]) -> list[ListedConversation]:
    """Return the entries of a list for these manifests; secrets in titles and prompts are replaced.

    Many are searched at once: one after the other takes ten times as long.
    """
    found: list[ListedConversation] = []
    for start in range(0, len(manifests), _TITLES_AT_ONCE):
        part = manifests[start : start + _TITLES_AT_ONCE]
        texts = [(stored.manifest.title, stored.manifest.prompt) for _, stored in part]
        if _may_hold_secret("\n".join([text for pair in texts for text in pair if text is not None])):
            texts = [(_without_secrets(title), _without_secrets(prompt)) for title, prompt in texts]
        found += [_describe(name, stored, *pair) for (name, stored), pair in zip(part, texts, strict=True)]
    return found


def _describe(name: RemoteName, stored: StoredManifest, title: str | None, prompt: str | None) -> ListedConversation:
    branches, messages = stored.manifest.branches.values(), stored.manifest.messages
    if messages is None:
        messages = max(branch.messages for branch in branches)
    return ListedConversation(name, stored.oid, title, stored.time, len(branches), messages, prompt)


def _may_hold_secret(titles: str) -> bool:
    """Return False if no title has what looks like a secret, or like the beginning of a secret that was cut."""
    data = titles.encode("utf-8", "surrogatepass")
    return prefilter.may_hold_secret(data) or prefilter.may_hold_beginning(data)


def _without_secrets(title: str | None) -> str | None:
    """Return a title with its secrets replaced; do this before it is cut, since a part would not look like a secret."""
    if title is None:
        return None
    data = title.encode("utf-8", "surrogatepass")
    return without_store().clear(data, "a title").data.decode("utf-8", "surrogatepass")


def read_manifest_list(directory: str, remote: Remote) -> ManifestList | None:
    """Return the list of a remote; None if there is none, or if it is damaged or belongs to another address."""
    with suppress(OSError, ScopesError, ValueError, TypeError, AttributeError):
        document: Any = canonical_json.load(read_regular(_path(directory, remote), _MAX_BYTES))
        match document:
            case {"v": 2, "address": str(address), "seen": int(seen), "conversations": list(rows)} if (
                address == remote.address.text
            ):
                listed = [ListedConversation(RemoteName(*name), *rest) for name, *rest in rows]
                older = {Oid(root): Oid(value) for root, value in document.get("older", {}).items()}
                return ManifestList(seen, {each.name.root: each for each in listed}, older)
    return None


def write_manifest_list(directory: str, remote: Remote, listed: ManifestList) -> None:
    """Replace the list of a remote as a whole; a reader sees the old one or the new one.

    Raises:
        Inaccessible: it cannot be written.
    """
    path = _path(directory, remote)
    unfinished = f"{path}.{random_bytes(4).hex()}"
    document: dict[str, Any] = {
        "v": _VERSION,
        "address": remote.address.text,
        "seen": listed.seen,
        "conversations": [[list(each[0]), *each[1:]] for each in listed.conversations.values()],
        "older": dict(listed.older),
    }
    with translated("write the list of conversations of a remote", directory):
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(json.dumps(document, ensure_ascii=True).encode("ascii"))
            os.rename(unfinished, path)
        finally:
            with suppress(OSError):
                os.unlink(unfinished)


def _path(directory: str, remote: Remote) -> str:
    return os.path.join(directory, f"remote-{remote.name}.json")
