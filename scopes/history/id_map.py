"""Which commits and messages became which, where a history was written again; what names them follows.

A map is kept on this machine alone, as `map.json` of a commit in a ref below `refs/scopes/local/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scopes.ids import MessageId, Oid
from scopes.model import encoding
from scopes.store.objects import BLOB, COMMIT, EMPTY_TREE, TREE, Identity, TreeEntry, format_commit, format_tree
from scopes.store.repository import Objects, read_tree
from scopes.store.trees import find_blob, read_blob, update_tree

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
