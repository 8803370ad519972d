"""The names of refs, and conflicts between names.

refs/heads/<conversation>/<branch>        branch tips
refs/scopes/meta/<conversation>           the metadata of a conversation
refs/scopes/active/<conversation>         symbolic: its active branch
refs/scopes/operations                    the operation log
refs/scopes/memory                        the memory entries of conversations
refs/scopes/agents                        the registered agents
refs/scopes/facts                         the facts of conversations
refs/scopes/commits                       which session made a commit of a project, recorded when it was made
refs/scopes/proposed-facts                proposed facts, which are no facts
refs/scopes/secrets                       what looks like a secret and may leave
refs/scopes/remotes/<remote>/<root>       the last manifest of a conversation that a remote had
refs/scopes/remote-sources/<remote>/<root>   the original files of a conversation that a remote had, see `source_sets`
refs/scopes/fetched-sources/<root>        the original files of a conversation that came from remotes
refs/scopes/purged                        what was purged, by hashes of its ids
refs/scopes/local/...                     what belongs to this machine and never leaves it, such as paths of sources
refs/scopes/pending                       marker of a committed operation whose refs are not all moved yet
refs/scopes/trash/<conversation>/<operation>/...   deleted refs
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scopes.errors import Invalid
from scopes.ids import BranchName, ConversationId, OperationId

HEADS = "refs/heads/"
META = "refs/scopes/meta/"
ACTIVE = "refs/scopes/active/"
TRASH = "refs/scopes/trash/"
REMOTES = "refs/scopes/remotes/"
REMOTE_SOURCES = "refs/scopes/remote-sources/"
FETCHED_SOURCES = "refs/scopes/fetched-sources/"
REMOTES_FILE = "remotes.json"  # of the store: the addresses of the remotes
GONE_FILE = "gone-on-remotes.json"  # of the store: which conversations they have no more
OPERATIONS = "refs/scopes/operations"
MEMORY = "refs/scopes/memory"
AGENTS = "refs/scopes/agents"
FACTS = "refs/scopes/facts"
COMMITS = "refs/scopes/commits"
PROPOSED_FACTS = "refs/scopes/proposed-facts"
SECRETS = "refs/scopes/secrets"
LOCAL = "refs/scopes/local/"
SOURCE_PATHS = f"{LOCAL}source-paths"
PURGED = "refs/scopes/purged"
REDACTED = f"{LOCAL}redacted/"  # which commits of a redacted copy were which, by the root of the copy
PURGED_ELSEWHERE = f"{LOCAL}purged-elsewhere"  # what lists of remotes had that they have no more
PURGE_OFFERS = f"{LOCAL}purge-offers/"  # the lists of other machines as a remote has them, by remote and machine
PURGE_DECLINED = f"{LOCAL}purge-declined"  # what the user has decided to keep
PENDING = "refs/scopes/pending"
SYMBOLIC = "ref: "
_FEW = 16


def branch_ref(conversation: ConversationId, branch: BranchName) -> str:
    """Return the ref of a branch."""
    return f"{HEADS}{conversation}/{branch}"


def meta_ref(conversation: ConversationId) -> str:
    """Return the ref of a conversation's metadata."""
    return META + conversation


def active_ref(conversation: ConversationId) -> str:
    """Return the symbolic ref of a conversation's active branch."""
    return ACTIVE + conversation


def trash_ref(conversation: ConversationId, operation: OperationId, ref: str) -> str:
    """Return the trash ref to which a deleting operation moves a ref."""
    kind, _, rest = ref.removeprefix("refs/").removeprefix("scopes/").partition("/")
    tail = rest.removeprefix(conversation).lstrip("/")
    return f"{TRASH}{conversation}/{operation}/{kind}" + (f"/{tail}" if tail else "")


def split_branch_ref(ref: str) -> tuple[ConversationId, BranchName] | None:
    """Return conversation and branch of a branch ref; None for any other ref."""
    if not ref.startswith(HEADS):
        return None
    conversation, slash, branch = ref[len(HEADS) :].partition("/")
    return (ConversationId(conversation), BranchName(branch)) if slash else None


def conversations_in(names: Iterable[str]) -> set[ConversationId]:
    """Return the conversations that branch refs belong to; thousands of names are read at once."""
    return {ConversationId(parts[2]) for parts in (name.split("/", 3) for name in names) if len(parts) > 3}


def conversation_of(ref: str) -> ConversationId | None:
    """Return the conversation that a ref belongs to; None for a ref of the whole store."""
    for prefix in (HEADS, META, ACTIVE, TRASH):
        if ref.startswith(prefix):
            return ConversationId(ref[len(prefix) :].partition("/")[0])
    return None


def check_name_conflicts(existing: Iterable[str], added: Iterable[str]) -> None:
    """Refuse new refs that conflict with others: `x` with `x/y`, and `X` with `x` (equal on many file systems).

    Raises:
        Invalid: a new ref conflicts with an existing one or with another new one; the message names both.
    """
    added = list(added)
    conflicts = RefNameConflicts(_choose_near(existing, added))
    for ref in added:
        other = conflicts.find(ref)
        if other is not None:
            raise Invalid(
                f"{_shown(ref)!a} cannot exist together with {_shown(other)!a}",
                hint="a name cannot be the first part of another name or differ from it only in upper and lower case",
            )
        conflicts.add(ref)


def _choose_near(existing: Iterable[str], added: Sequence[str]) -> Iterable[str]:
    """Return the existing refs that may conflict with a few new ones, sorted by name; with many new ones, all of them.

    Names conflict if one is a directory of the other, or if they differ in case only.
    """
    folded = {ref.casefold() for ref in added}
    if len(added) > _FEW or folded != set(added):
        return sorted(existing)
    above = {ref[:end] for ref in folded for end in range(1, len(ref)) if ref[end] == "/"}
    below = tuple(f"{ref}/" for ref in folded)
    near = folded | above
    names = list(existing)
    text = "\n".join(("", *names))
    if text == text.casefold() and not any(f"\n{start}" in text for start in below):  # the common case, in few calls
        return sorted(near.intersection(names))
    return sorted(ref for ref in names if ref in near or ref.startswith(below) or ref != ref.casefold())


class RefNameConflicts:
    """A set of refs that finds the one with which a new ref conflicts."""

    def __init__(self, existing: Iterable[str]) -> None:
        self._taken: dict[str, str] = {}
        self._directories: dict[str, str] = {}
        for ref in existing:
            self.add(ref)

    def add(self, ref: str) -> None:
        """Add a ref to the set."""
        folded = ref.casefold()
        self._taken[folded] = ref
        slash = folded.rfind("/")
        while slash > 0 and folded[:slash] not in self._directories:
            self._directories[folded[:slash]] = ref
            slash = folded.rfind("/", 0, slash)

    def find(self, ref: str) -> str | None:
        """Return a ref of the set with which a new ref conflicts; None if there is none."""
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
    return ref.removeprefix(HEADS).removeprefix(META)
