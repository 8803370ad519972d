"""Histories that were written again: commits with other parents or trees, the map of their ids, and redacted copies.

A signature does not stay: it would be that of another commit. A map is kept on this machine alone, as `map.json` of a
commit below `refs/scopes/local/`; that of a redacted copy (`refs/scopes/local/redacted/<root of the copy>`) names the
root of the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.messages import TO_TRAILER
from scopes.history.names import conversation_ids, find_root_commit
from scopes.ids import ConversationId, MessageId, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding
from scopes.store.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    TREE,
    Identity,
    Objects,
    TreeEntry,
    find_blob,
    format_commit,
    format_tree,
    one_line,
    read_blob,
    read_commit,
    read_tree,
    update_tree,
)
from scopes.store.refs import REDACTED
from scopes.store.repository import Repository

_REPLACED = (b"tree ", b"parent ")
_PERSON = compile_lazily(rb"^(author|committer) .*>(?= [0-9]+ [+-][0-9]{4}$)", re.MULTILINE)
_RECIPIENTS = f"{TO_TRAILER}: ".encode()
_SIGNATURES = (b"gpgsig", b"mergetag")


def edit_commit(
    data: bytes, tree: Oid, parents: Iterable[Oid], *, subject: str | None = None, kind: str | None = None
) -> bytes:
    """Return the bytes of a commit with another tree and parents, and another subject and kind if they are given."""
    head, gap, body = data.partition(b"\n\n")
    above = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    if subject is not None:
        body = one_line(subject).encode() + body[len(body.partition(b"\n")[0]) :]
    if kind is not None:
        lines = body.split(b"\n")
        body = b"\n".join(b"Scopes-Kind: " + kind.encode() if _is_kind(line) else line for line in lines)
    return b"\n".join([*above, *_walk_kept(head.split(b"\n"))]) + gap + body


def edit_people(data: bytes, other: bytes) -> bytes:
    """Return the bytes of a commit with the author, the committer and the recipients of another one; times stay."""
    head, gap, body = data.partition(b"\n\n")
    people = {match[1]: match[0] for match in _PERSON.finditer(other)}
    head = _PERSON.sub(lambda match: people[match[1]], head)
    recipients = next((line for line in other.split(b"\n") if line.startswith(_RECIPIENTS)), b"")
    lines = (recipients if line.startswith(_RECIPIENTS) else line for line in body.split(b"\n"))
    return head + gap + b"\n".join(lines)


def _is_kind(line: bytes) -> bool:
    return line.startswith(b"Scopes-Kind: ")


def _walk_kept(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the header lines that stay; a line that begins with a blank belongs to the one before."""
    is_kept = True
    for line in lines:
        if not line.startswith(b" "):
            is_kept = not line.startswith((*_REPLACED, *_SIGNATURES))
        if is_kept:
            yield line


MAP_FILE: Final = "map.json"
_ANYWHERE: Final = re.compile(
    rb"(?P<before>)(?<![0-9a-z])(?:(?P<commit>[0-9a-f]{40})|(?P<message>[a-z2-7]{26}))(?P<after>)(?![0-9a-z])"
)
_QUOTED: Final = re.compile(rb'(?P<before>")(?:(?P<commit>[0-9a-f]{40})|(?P<message>[a-z2-7]{26}))(?P<after>")')
_SUFFIX: Final = "="


@dataclass(slots=True)
class IdMap:
    """New ids of commits and of messages; those that are not in it stay."""

    commits: dict[Oid, Oid] = field(default_factory=dict)
    messages: dict[MessageId, MessageId] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(old != new for old, new in self.commits.items()) or bool(self.messages)

    def commit(self, oid: Oid) -> Oid:
        """Return the new id of a commit."""
        return self.commits.get(oid, oid)

    def message(self, name: MessageId) -> MessageId:
        """Return the new id of a message."""
        return self.messages.get(name, name)

    def substitute(self, data: bytes, *, anywhere: bool = False) -> bytes:
        """Return a file with the new ids in place of the old ones: in JSON where an id is a whole text, or anywhere."""

        def new(match: re.Match[bytes]) -> bytes:
            commit, message = match["commit"], match["message"]
            found = self.commit(Oid(commit.decode())) if commit else self.message(MessageId(message.decode()))
            return match["before"] + found.encode() + match["after"]

        return (_ANYWHERE if anywhere else _QUOTED).sub(new, data)

    def substitute_tree(self, objects: Objects, tree: Oid, *, anywhere: bool = False) -> Oid:
        """Write a tree again with the new ids in its files and in the names of its entries."""
        entries = []
        for name, entry in read_tree(objects, tree).items():
            plain, end = name.removesuffix(_SUFFIX), name[len(name.removesuffix(_SUFFIX)) :]
            known = self.message(MessageId(plain)) if MessageId(plain) in self.messages else plain
            if entry.is_tree:
                oid = self.substitute_tree(objects, entry.oid, anywhere=anywhere)
            else:
                oid = self.substitute_blob(objects, entry.oid, anywhere=anywhere)
            entries.append(TreeEntry(f"{known}{end}", oid, is_tree=entry.is_tree))
        return objects.write(TREE, format_tree(entries)) if entries else EMPTY_TREE

    def substitute_blob(self, objects: Objects, blob: Oid, *, anywhere: bool = False) -> Oid:
        """Write a file again with the new ids."""
        data = read_blob(objects, blob)
        new = self.substitute(data, anywhere=anywhere)
        return blob if new == data else objects.write(BLOB, new)


def write_map(objects: Objects, root: Oid, ids: IdMap, *, subject: str, previous: Oid | None = None) -> Oid:
    """Write which commits and messages of the conversation with this root became which; return the commit."""
    commits: dict[str, Any] = {str(old): str(new) for old, new in ids.commits.items()}
    messages: dict[str, Any] = {str(old): str(new) for old, new in ids.messages.items()}
    data = encoding.dump({"v": 1, "root": root, "commits": commits, "messages": messages})
    tree = update_tree(objects, None, {MAP_FILE: data})
    author = Identity("scopes", "scopes@systems.scopes")
    parents = () if previous is None else (previous,)
    return objects.write(COMMIT, format_commit(tree=tree, parents=parents, author=author, time=0, subject=subject))


def read_map(objects: Objects, tree: Oid) -> Mapping[str, Any]:
    """Return the document of a map; empty if the tree has none."""
    found = encoding.load(find_blob(objects, tree, MAP_FILE) or b"{}")
    return found if isinstance(found, dict) else {}


class RedactedCopy(NamedTuple):
    """A redacted copy; `original` is None if that is not in the store any more."""

    copy: ConversationId
    original: ConversationId | None


def find_original(repository: Repository, conversation: ConversationId) -> RedactedCopy | None:
    """Return of what a conversation is a redacted copy; None if it is none that was made here."""
    return next((each for each in list_copies(repository) if each.copy == conversation), None)


def list_copies(repository: Repository) -> list[RedactedCopy]:
    """Return the redacted copies that were made here, in the order of their ids."""
    maps = {Oid(ref.removeprefix(REDACTED)): Oid(oid) for ref, oid in repository.list_refs(REDACTED).items()}
    if not maps:
        return []
    roots = {root: name for name, root in _walk_roots(repository)}
    originals = {root: _read_original(repository, found) for root, found in maps.items() if root in roots}
    rows = (RedactedCopy(roots[copy], None if root is None else roots.get(root)) for copy, root in originals.items())
    return sorted(rows)


def _walk_roots(repository: Repository) -> Iterator[tuple[ConversationId, Oid]]:
    for name in conversation_ids(repository):
        with suppress(Corrupt, NotFound):
            root = find_root_commit(repository, name)
            if root is not None:
                yield name, root


def _read_original(repository: Repository, commit: Oid) -> Oid | None:
    """Return the root of the original that a map names; None for a damaged map."""
    with suppress(Corrupt, NotFound, Invalid):
        root = read_map(repository, read_commit(repository, commit).tree).get("root")
        return Oid(root) if isinstance(root, str) else None
    return None
