"""The naming scheme of refs: which name holds what, and which names cannot stand beside each other.

refs/heads/<conversation>/<branch>        branch tips
refs/scopes/meta/<conversation>           what may change about a conversation
refs/scopes/active/<conversation>         symbolic: its active branch
refs/scopes/operations                    the operation log
refs/scopes/memory                        what is remembered of conversations
refs/scopes/pending                       the commit point of an operation whose refs are still moving
refs/scopes/trash/<conversation>/<operation>/...   what delete moved away
"""

from __future__ import annotations

from collections.abc import Iterable

from scopes.errors import Invalid
from scopes.ids import BranchName, ConversationId, OperationId

HEADS = "refs/heads/"
META = "refs/scopes/meta/"
ACTIVE = "refs/scopes/active/"
TRASH = "refs/scopes/trash/"
OPERATIONS = "refs/scopes/operations"
MEMORY = "refs/scopes/memory"
PENDING = "refs/scopes/pending"
SYMBOLIC = "ref: "


def branch_ref(conversation: ConversationId, branch: BranchName) -> str:
    """Name the ref of a branch's tip."""
    return f"{HEADS}{conversation}/{branch}"


def meta_ref(conversation: ConversationId) -> str:
    """Name the ref of a conversation's metadata."""
    return META + conversation


def active_ref(conversation: ConversationId) -> str:
    """Name the symbolic ref of a conversation's active branch."""
    return ACTIVE + conversation


def trash_ref(conversation: ConversationId, operation: OperationId, ref: str) -> str:
    """Name the place to which an operation's delete moves a ref."""
    kind, _, rest = ref.removeprefix("refs/").removeprefix("scopes/").partition("/")
    tail = rest.removeprefix(conversation).lstrip("/")
    return f"{TRASH}{conversation}/{operation}/{kind}" + (f"/{tail}" if tail else "")


def split_branch_ref(ref: str) -> tuple[ConversationId, BranchName] | None:
    """Tell conversation and branch of a branch ref; None for any other ref."""
    if not ref.startswith(HEADS):
        return None
    conversation, slash, branch = ref[len(HEADS) :].partition("/")
    return (ConversationId(conversation), BranchName(branch)) if slash else None


def check_side_by_side(existing: Iterable[str], added: Iterable[str]) -> None:
    """Refuse refs that cannot exist together: `x` beside `x/y`, and `X` beside `x` (equal on many file systems).

    Raises:
        Invalid: names the ref that is in the way.
    """
    neighbours = RefNameConflicts(existing)
    for ref in added:
        other = neighbours.find_in_the_way(ref)
        if other is not None:
            raise Invalid(
                f"{_shown(ref)!a} cannot stand beside {_shown(other)!a}",
                hint="a name cannot also be the first part of another, nor differ in upper and lower case only",
            )
        neighbours.add(ref)


class RefNameConflicts:
    """Refs that exist, or are about to; tells which of them another cannot stand beside."""

    def __init__(self, existing: Iterable[str]) -> None:
        self._taken: dict[str, str] = {}
        self._directories: dict[str, str] = {}
        for ref in existing:
            self.add(ref)

    def add(self, ref: str) -> None:
        """Take one more ref in."""
        folded = ref.casefold()
        self._taken[folded] = ref
        slash = folded.rfind("/")
        while slash > 0 and folded[:slash] not in self._directories:
            self._directories[folded[:slash]] = ref
            slash = folded.rfind("/", 0, slash)

    def find_in_the_way(self, ref: str) -> str | None:
        """Return a ref that a new one cannot stand beside, or None."""
        folded = ref.casefold()
        if folded in self._taken or folded in self._directories:
            return self._taken.get(folded) or self._directories[folded]
        parts = ref.split("/")
        for depth in range(1, len(parts)):
            directory = "/".join(parts[:depth]).casefold()
            if directory in self._taken:
                return self._taken[directory]
            other = self._directories.get(directory, ref)
            if other.split("/")[:depth] != parts[:depth]:
                return other
        return None


def _shown(ref: str) -> str:
    return ref.removeprefix(HEADS)
