"""Hostile remotes: a bare repository with what was pushed, changed object by object as no scopes would write it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pygit2
from pygit2.enums import ObjectType

from tests.support.store import git

AUTHOR = b"scopes <scopes@systems.scopes> 1767225600 +0000"
FILE, FOLDER, PROGRAM, LINK, MODULE = b"100644", b"40000", b"100755", b"120000", b"160000"


class Forger:
    """Writes objects into a bare repository and moves the ref of its only conversation, or its first one, to them.

    Objects are read and written in this process: a process of git for each takes longer than what is tested with them.
    """

    def __init__(self, bare: str, ref: str | None = None) -> None:
        self.bare = bare
        self._repository = pygit2.Repository(bare)
        self.ref = ref or min(self._repository.references)
        self.manifest_oid = str(self._repository.references[self.ref].target)
        self.root = self.ref.rpartition("/")[2]
        self.manifest: dict[str, Any] = json.loads(self.read(f"{self.manifest_oid}:manifest.json"))
        self.meta = self.find(f"{self.manifest_oid}:meta")
        self.tip = self.manifest["branches"]["name:main"]["tip"]

    def find(self, name: str) -> str:
        """Return the object that a revision of git names."""
        return str(self._repository.revparse_single(name).id)

    def read(self, name: str) -> bytes:
        """Return the content of the object that a revision of git names."""
        return self._repository.read(self.find(name))[1]

    def write(self, kind: str, data: bytes) -> str:
        """Write any bytes as an object, also those that git would not."""
        return str(self._repository.write(ObjectType[kind.upper()], data))

    def tree(self, *entries: tuple[bytes, bytes, str]) -> str:
        """Write a tree with these modes, names and objects, in this order."""
        return self.write(
            "tree", b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(oid)) for mode, name, oid in entries)
        )

    def entries(self, tree: str) -> list[tuple[bytes, bytes, str]]:
        """Return the entries of a tree."""
        found = self._repository.revparse_single(tree).peel(pygit2.Tree)
        return [(b"%o" % each.filemode, each.raw_name, str(each.id)) for each in found]

    def commit(self, tree: str, parents: Sequence[str], body: bytes, author: bytes = AUTHOR) -> str:
        """Write a commit; `body` is its message."""
        above = b"".join(b"parent %s\n" % parent.encode() for parent in parents)
        head = b"tree %s\n%sauthor %s\ncommitter %s\n\n" % (tree.encode(), above, author, author)
        return self.write("commit", head + body)

    def child(self, tree: str | None = None, **changes: Any) -> str:
        """Write a message above the tip of main: a copy of the tip with another tree, or with changed parts."""
        old = self.read(self.tip)
        head, _, body = old.partition(b"\n\n")
        author = head.partition(b"\nauthor ")[2].partition(b"\n")[0]
        tree = tree or self.find(f"{self.tip}^{{tree}}")
        made = {"parents": [self.tip], "body": body, "author": author, **changes}
        return self.commit(tree, made["parents"], made["body"], made["author"])

    def message_tree(self, *more: tuple[bytes, bytes, str], message: bytes | None = None) -> str:
        """Write the tree of the tip with more entries, or with another message."""
        entries = {name: (mode, name, oid) for mode, name, oid in self.entries(self.tip)}
        if message is not None:
            entries[b"message.json"] = (FILE, b"message.json", self.write("blob", message))
        entries |= {name: (mode, name, oid) for mode, name, oid in more}
        return self.tree(*(entries[name] for name in sorted(entries)))

    def state_tree(self, *names: bytes, content: bytes = b"{}\n") -> str:
        """Write the tree of the tip with one more file in its state, below directories."""
        tree = self.write("blob", content)
        for number, name in enumerate(reversed(names)):
            tree = self.tree((FOLDER if number else FILE, name, tree))
        state = [entry for entry in self.entries(f"{self.tip}:state") if entry[1] != names[0]]
        mode = FOLDER if len(names) > 1 else FILE
        inner = self.entries(tree) if len(names) == 1 else [(mode, names[0], self.entries(tree)[0][2])]
        return self.message_tree((FOLDER, b"state", self.tree(*sorted([*state, *inner], key=lambda each: each[1]))))

    def meta_tree(self, *names: bytes, content: bytes = b"x\n") -> str:
        """Write the metadata with one more file, below directories."""
        tree = self.write("blob", content)
        mode = FILE
        for name in reversed(names[1:]):
            tree, mode = self.tree((mode, name, tree)), FOLDER
        entries = [entry for entry in self.entries(self.meta) if entry[1] != names[0]]
        return self.tree(*sorted([*entries, (mode, names[0], tree)], key=lambda each: each[1]))

    def publish(
        self,
        tip: str | None = None,
        *,
        meta: str | None = None,
        manifest: dict[str, Any] | bytes | None = None,
        parents: Iterable[str] | None = None,
        more: Iterable[tuple[bytes, bytes, str]] = (),
        ref: str | None = None,
    ) -> str:
        """Write the next manifest, with another tip of main or other parts, and move the ref to it."""
        document = json.loads(json.dumps(self.manifest))
        if tip is not None:
            document["branches"]["name:main"]["tip"] = tip
        tips = [document["branches"][key]["tip"] for key in sorted(document["branches"])]
        data = (
            manifest if isinstance(manifest, bytes) else json.dumps(document if manifest is None else manifest).encode()
        )
        entries = [(FILE, b"manifest.json", self.write("blob", data)), (FOLDER, b"meta", meta or self.meta), *more]
        above = [self.manifest_oid, *dict.fromkeys(tips)] if parents is None else list(parents)
        body = b"Manifest of a conversation\n\nScopes-Kind: manifest\n"
        made = self.commit(self.tree(*sorted(entries, key=lambda each: each[1])), above, body)
        self.point(made, ref)
        return made

    def point(self, oid: str, ref: str | None = None) -> None:
        """Move the ref of the conversation, or another one."""
        git(self.bare, "update-ref", ref or self.ref, oid)
