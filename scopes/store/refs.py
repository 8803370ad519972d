"""The naming scheme of refs: which name holds what, and which names cannot stand beside each other.

refs/heads/<conversation>/<branch>        branch tips
refs/scopes/meta/<conversation>           what may change about a conversation
refs/scopes/active/<conversation>         symbolic: its active branch
refs/scopes/operations                    the operation log
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
    taken: dict[str, str] = {}
    directories: dict[str, str] = {}
    for ref in existing:
        taken[ref.casefold()] = ref
        _note_directories(ref, directories)
    for ref in added:
        other = _find_in_the_way(ref, taken, directories)
        if other is not None:
            raise Invalid(
                f"{_shown(ref)!a} cannot stand beside {_shown(other)!a}",
                hint="a name cannot also be the first part of another, nor differ in upper and lower case only",
            )
        taken[ref.casefold()] = ref
        _note_directories(ref, directories)


def _find_in_the_way(ref: str, taken: dict[str, str], directories: dict[str, str]) -> str | None:
    folded = ref.casefold()
    if folded in taken or folded in directories:
        return taken.get(folded) or directories[folded]
    parts = ref.split("/")
    for depth in range(1, len(parts)):
        directory = "/".join(parts[:depth]).casefold()
        if directory in taken:
            return taken[directory]
        other = directories.get(directory, ref)
        if other.split("/")[:depth] != parts[:depth]:
            return other
    return None


def _note_directories(ref: str, directories: dict[str, str]) -> None:
    folded = ref.casefold()
    slash = folded.rfind("/")
    while slash > 0 and folded[:slash] not in directories:
        directories[folded[:slash]] = ref
        slash = folded.rfind("/", 0, slash)


def _shown(ref: str) -> str:
    return ref.removeprefix(HEADS)
