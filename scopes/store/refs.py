"""The names of refs, conflicts between names, and the files that refs are in.

Only `os`, regular expressions and bytes are used: completion has five milliseconds, so nothing here loads libgit2.

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

import hashlib
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

from scopes.errors import Corrupt, Invalid
from scopes.ids import BranchName, ConversationId, OperationId, is_oid
from scopes.model.operation import RefChange
from scopes.regular_file import MAX_PACKED_BYTES, UnusableFile, read_regular

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
_NAME_START = 41  # after the object id and a space
_LOOSE = re.compile(r"ref: (?P<name>\S[^\0\n]*?)\s*|(?P<oid>[0-9a-f]{40})(?:\s.*)?", re.DOTALL)
_PACKED = re.compile(rb"(?:[0-9a-f]{40} [^\n]++\n|[#^][^\n]*+\n|\n)*+")
MAX_REF_BYTES = 4096


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
    conflicts = RefNameConflicts(existing)
    for ref in added:
        other = conflicts.find(ref)
        if other is not None:
            raise Invalid(
                f"{_shown(ref)!a} cannot exist together with {_shown(other)!a}",
                hint="a name cannot be the first part of another name or differ from it only in upper and lower case",
            )
        conflicts.add(ref)


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


def read_packed_refs(store: str) -> bytes:
    """Return the content of a store's `packed-refs`, empty if there is no such file; or raise OSError."""
    try:
        return read_regular(os.path.join(store, "packed-refs"), MAX_PACKED_BYTES)
    except FileNotFoundError:
        return b""


def parse_packed_refs(content: bytes, prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return object ids by ref name, for the names that begin with one of the prefixes."""
    return {line[_NAME_START:]: line[: _NAME_START - 1] for line in _choose_lines(content, prefixes)}


def find_packed_ref(content: bytes, name: str) -> str | None:
    """Return the object id of a ref; None if it is not there."""
    searched = name.encode("utf-8", "surrogateescape")
    start = _find_line(content, searched)
    if not content.startswith(searched + b"\n", start + _NAME_START):
        return None
    oid = content[start : start + _NAME_START - 1].decode("latin-1")
    return oid if is_oid(oid) else None


def _choose_lines(content: bytes, prefixes: tuple[str, ...]) -> list[str]:
    """Return the lines with refs that begin with a prefix, each line once."""
    chosen: list[str] = []
    for prefix in sorted(prefixes):
        if not any(prefix.startswith(other) and prefix != other for other in prefixes):
            first = prefix.encode("utf-8", "surrogateescape")
            after = first[:-1] + bytes([first[-1] + 1])
            part = content[_find_line(content, first) : _find_line(content, after)]
            chosen += [line for line in part.decode("utf-8", "surrogateescape").split("\n") if line[:1] not in "#^"]
    return chosen


def _find_line(content: bytes, name: bytes) -> int:
    """Return where the first line begins whose ref is not before `name`, by a binary search in the sorted lines."""
    low, high = 0, content.rfind(b"\n") + 1  # an incomplete last line is left out
    while low < high:
        start = content.rfind(b"\n", low, (low + high) // 2) + 1 or low
        if content.startswith(b"^", start) and start > low:  # the peeled value of the ref in the line before
            start = content.rfind(b"\n", low, start - 1) + 1 or low
        end = content.find(b"\n", start) + 1
        if content.startswith((b"#", b"^"), start) or content[start + _NAME_START : end - 1] < name:
            low = end
        else:
            high = start
    return low


class RefFiles(NamedTuple):
    """The content of the ref files: loose refs by name (None if damaged), and the bytes of `packed-refs`."""

    loose: dict[str, str | None]
    packed: bytes

    def state_of(self, prefixes: tuple[str, ...]) -> str:
        """Return a digest that changes whenever a ref with one of the prefixes changes."""
        digest = hashlib.sha256(self.packed)
        loose = sorted(item for item in self.loose.items() if item[0].startswith(prefixes))
        digest.update(repr(loose).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()

    def list_damaged(self, prefixes: tuple[str, ...]) -> list[str]:
        """Return the refs with one of the prefixes whose files are damaged, sorted by name."""
        return sorted(name for name, value in self.loose.items() if value is None and name.startswith(prefixes))

    def list_refs(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        """Return the intact refs with one of the prefixes, sorted by name; a symbolic ref as `ref: <name>`."""
        _check_packed(self.packed)
        refs: dict[str, str | None] = {**parse_packed_refs(self.packed, prefixes), **self.loose}
        return {name: value for name, value in sorted(refs.items()) if value is not None}


def read_loose_ref(store: str, name: str) -> str | None:
    """Return the value of a ref that has a file of its own, None if it has none; raise ValueError if it is damaged."""
    try:
        value = _read_loose(f"{store}/{name}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    if value is None and not os.path.isdir(f"{store}/{name}"):
        raise ValueError(name)
    return value


def read_ref_files(store: str, prefixes: tuple[str, ...], read_packed: Callable[[], bytes] | None = None) -> RefFiles:
    """Read the files of the refs whose names begin with one of the prefixes, or raise OSError."""
    loose = {name: value for prefix in prefixes for name, value in _walk_loose(store, prefix, _read_loose)}
    return RefFiles(loose, read_packed() if read_packed else read_packed_refs(store))


def list_ref_names(store: str, prefixes: tuple[str, ...], read_packed: Callable[[], bytes]) -> set[str]:
    """Return the names of the refs that begin with one of the prefixes, also of damaged ones."""
    names = {name for prefix in prefixes for name, _ in _walk_loose(store, prefix, lambda path: path)}
    packed = read_packed()
    _check_packed(packed)
    return names | parse_packed_refs(packed, prefixes).keys()


@lru_cache(maxsize=1)  # a command that reads many refs checks the same content again and again
def _check_packed(packed: bytes) -> None:
    if not _PACKED.fullmatch(packed):
        raise Corrupt("packed-refs of the store is damaged", hint="repair it: scopes verify --repair")


def _walk_loose(store: str, prefix: str, read: Callable[[str], str | None]) -> Iterator[tuple[str, str | None]]:
    """Yield name and value of every loose ref whose name begins with a prefix; None if damaged."""
    pending = [prefix]
    while pending:
        directory, _, start = pending.pop().rpartition("/")
        try:
            with os.scandir(os.path.join(store, directory)) as entries:
                matching = [entry for entry in entries if entry.name.startswith(start)]
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in matching:
            name = f"{directory}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{name}/")
            elif not name.endswith(".lock"):
                try:
                    yield name, read(entry.path)
                except FileNotFoundError:
                    continue  # deleted, or packed: `packed-refs` is read next


def _read_loose(path: str) -> str | None:
    try:
        content = read_regular(path, MAX_REF_BYTES)
    except UnusableFile:
        return None
    match = _LOOSE.fullmatch(content.decode("utf-8", "surrogateescape"))
    if match is None:
        return None
    return match["oid"] or SYMBOLIC + match["name"]


class ListedRefs:
    """The values of all refs at one moment.

    is_past: they replace those of the store: an earlier state, or with `is_dry` what a dry run would make of the store
    """

    def __init__(self, values: Mapping[str, str], *, is_past: bool, is_dry: bool = False) -> None:
        self.is_past, self.is_dry = is_past or is_dry, is_dry
        self._values = dict(values)
        self._names = sorted(values)

    def move(self, changes: Iterable[RefChange]) -> None:
        """Give refs the new values of an operation."""
        for change in changes:
            self._values.pop(change.ref, None)
            if change.new is not None:
                self._values[change.ref] = change.new
        self._names = sorted(self._values)

    def find(self, name: str) -> str | None:
        """Return the value of a ref; None if it does not exist."""
        return self._values.get(name)

    def list_refs(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        """Return the values of the refs with one of the prefixes, or of all without a prefix, sorted by name."""
        if not prefixes:
            return {name: self._values[name] for name in self._names}
        found = {name: self._values[name] for prefix in prefixes for name in self._walk_names(prefix)}
        return found if len(prefixes) == 1 else dict(sorted(found.items()))

    def _walk_names(self, prefix: str) -> Iterator[str]:
        names = islice(self._names, bisect_left(self._names, prefix), None)
        return takewhile(lambda name: name.startswith(prefix), names)
