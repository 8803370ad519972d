"""The mark of a repository that is closed: a ref that says which one is opened after it.

refs/scopes/v1/closed/next   in a repository: its mark

A closed repository gets no new conversations; those that it has stay there and are still updated. The commit depends
only on the number of the next repository, so two machines that close it at the same time write the same commit.
Readers compare its id: no other data can be hidden in it.
"""

from __future__ import annotations

from hashlib import sha1
from typing import Final

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.model import canonical_json
from scopes.store.config import find_next
from scopes.store.objects import BLOB, COMMIT, TREE, Identity, Objects, TreeEntry, format_commit, format_tree
from scopes.sync.addresses import Address
from scopes.sync.git_transport import INCOMING

CLOSED: Final = "refs/scopes/v1/closed/next"
_PATTERN: Final = "refs/scopes/v1/closed/*"
_HERE: Final = f"{INCOMING}closed/"
REFSPEC: Final = f"{_PATTERN}:{_HERE}*"
FILE: Final = "closed.json"
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")


def write_mark(objects: Objects, number: int) -> Oid:
    """Write the mark of a repository whose next repository has this number, and return its commit."""
    blob = objects.write(BLOB, canonical_json.dump({"v": 1, "next": number}))
    tree = objects.write(TREE, format_tree([TreeEntry(FILE, blob, is_tree=False)]))
    subject = f"Closed: new conversations are in repository {number}"
    return objects.write(COMMIT, format_commit(tree=tree, parents=(), author=_AUTHOR, time=0, subject=subject))


def take_mark(incoming: dict[str, Oid]) -> Oid | None:
    """Remove the mark from the fetched refs and return it; None if the repository is open."""
    marks = [incoming.pop(ref) for ref in sorted(incoming) if ref.startswith(_HERE)]
    return marks[0] if marks else None


def check_mark(address: Address, mark: Oid) -> set[Oid]:
    """Check the mark of a repository, and return the ids of its objects.

    Raises:
        Corrupt: it does not name the repository after the one with this address.
    """
    following = find_next(address.text)
    ids = _Ids()
    if following is None or write_mark(ids, following.number) != mark:
        problem = "the mark that closes the repository does not name the one after it"
        raise Corrupt(problem, hint=f"see who wrote {CLOSED} there; it may have been another repository before")
    return ids.found


class _Ids:
    """Objects that are not written: only their ids are computed."""

    def __init__(self) -> None:
        self.found: set[Oid] = set()

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Not possible: nothing was written."""
        raise KeyError(oid)

    def write(self, kind: str, data: bytes) -> Oid:
        """Return the id of an object."""
        oid = Oid(sha1(b"%s %d\0%s" % (kind.encode(), len(data), data), usedforsecurity=False).hexdigest())
        self.found.add(oid)
        return oid
