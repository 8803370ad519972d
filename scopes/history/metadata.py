"""Read and write the metadata of a conversation: title, tags, branch entries and merge requests, as a chain of commits.

Each value is a register: a file of its own, with a clock and the machine that wrote it last, so that the changes of two
machines can be joined. The entry of a branch belongs to the id of the branch, because its name can change. Beside the
files is `clocks/<file>`, for a branch `clocks/branches/<id>`, with one line: the clock and the machine. A change has
the time in milliseconds since 1970 as its clock, or that of the change before plus 1 if that is greater: so the newest
change counts if the clocks of the machines are right, and one that has seen another in any case. A register without a
clock has clock 0 and no machine: an import wrote it, or the command that created its conversation or branch. A clock
without a value means that the value was removed.

What remotes had when they were last seen (`origin/main`) is here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scopes.clock import now_milliseconds, now_nanoseconds
from scopes.errors import Corrupt
from scopes.history.messages import is_root
from scopes.ids import BranchName, ConversationId, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model.canonical_json import decode_component, encode_component
from scopes.model.conversation import (
    MANIFEST_FILE,
    BranchEntry,
    ManifestBranch,
    MergeRequest,
    branch_id,
    decode_branch_entry,
    decode_manifest,
    decode_merge_request,
    encode_branch_entry,
    is_random_branch_id,
)
from scopes.store import refs
from scopes.store.config import BUNDLE, read_addresses
from scopes.store.graph import list_new_commits
from scopes.store.objects import (
    BLOB,
    COMMIT,
    BlobChange,
    Identity,
    Objects,
    find_blob,
    find_entry,
    format_commit,
    object_id,
    read_blob,
    read_commit,
    read_tree,
    update_tree,
    walk_blobs,
)
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository

CLOCKS = "clocks"
BRANCHES = "branches/"
_LINE = compile_lazily(rb"(0|[1-9][0-9]{0,17}) ([0-9a-f]{12})\n")


class Clock(NamedTuple):
    """When a register was changed, in milliseconds, and the machine that did it last; empty if no machine is known."""

    number: int
    machine: str


NO_CLOCK = Clock(0, "")


def encode_clock(clock: Clock) -> bytes:
    """Encode a clock as the content of its file."""
    return f"{clock.number} {clock.machine}\n".encode()


def decode_clock(data: bytes | None) -> Clock:
    """Decode the content of a clock file; without one it is NO_CLOCK.

    Raises:
        Corrupt: it is damaged.
    """
    if data is None:
        return NO_CLOCK
    match = _LINE.fullmatch(data)
    if match is None:
        raise Corrupt("a clock of the metadata is damaged", hint="see: scopes verify")
    return Clock(int(match[1]), match[2].decode())


def walk_values(objects: Objects, tree: Oid) -> Iterator[tuple[str, Oid]]:
    """Yield path and blob of every file of a metadata tree but the clocks, which most readers do not need."""
    for entry in read_tree(objects, tree).values():
        if not entry.is_tree:
            yield entry.name, entry.oid
        elif entry.name != CLOCKS:
            yield from walk_blobs(objects, entry.oid, f"{entry.name}/")


def read_clocks(objects: Objects, tree: Oid) -> dict[str, Clock]:
    """Return the clocks of a metadata tree by register.

    Raises:
        Corrupt: one is damaged.
    """
    entry = find_entry(objects, tree, CLOCKS)
    blobs = walk_blobs(objects, entry.oid) if entry is not None and entry.is_tree else ()
    return {path: decode_clock(read_blob(objects, oid)) for path, oid in blobs}


def register_of_branch(branch: str) -> str:
    """Return the register of a branch, by its id."""
    return BRANCHES + encode_component(branch)


def branch_of_file(path: str, data: bytes) -> str:
    """Return the id of the branch whose entry is in a file."""
    return branch_id(BranchName(decode_component(path[len(BRANCHES) :])), decode_branch_entry(data))


def has_branch(objects: Objects, tree: Oid, branch: str) -> bool:
    """Return True if a metadata tree has an entry with the id of a branch that was renamed.

    What renames a branch writes a clock; without clocks no file is read.
    """
    if find_entry(objects, tree, f"{CLOCKS}/{BRANCHES.rstrip('/')}") is None:
        return False
    entry = find_entry(objects, tree, BRANCHES.rstrip("/"))
    blobs = walk_blobs(objects, entry.oid, BRANCHES) if entry is not None and entry.is_tree else ()
    return any(branch_of_file(path, read_blob(objects, oid)) == branch for path, oid in blobs)


def clocks_of_edit(
    objects: Objects,
    tree: Oid | None,
    changes: Mapping[str, BlobChange],
    machine: Callable[[], str],
    *,
    original: Container[str] = (),
) -> dict[str, BlobChange]:
    """Return the clock files for changes that this machine makes to a metadata tree; None for no tree yet.

    The values of the paths in `original` come from a source, or create the conversation: every machine has the same, so
    their registers have a clock only if they had one before. So it is for a branch that is created with its own id.
    """
    written: dict[str, BlobChange] = {}
    for register, is_edit in sorted(_changed_registers(objects, tree, changes, original).items()):
        file = f"{CLOCKS}/{register}"
        data = None if tree is None else find_blob(objects, tree, file)
        if data is not None or is_edit:
            number = max(decode_clock(data).number + 1, now_milliseconds())
            written[file] = encode_clock(Clock(number, machine()))
    return written


def _changed_registers(
    objects: Objects, tree: Oid | None, changes: Mapping[str, BlobChange], original: Container[str]
) -> dict[str, bool]:
    """Return the registers whose values change, and for each whether it needs a clock if it had none."""
    found: dict[str, bool] = {}
    created: list[str] = []
    for path, change in changes.items():
        entry = None if tree is None else find_entry(objects, tree, path)
        old = None if entry is None or entry.is_tree else entry.oid
        if _is_same(old, change):
            continue
        if not path.startswith(BRANCHES):
            found[path] = path not in original
            continue
        if old is not None:
            found[register_of_branch(branch_of_file(path, read_blob(objects, old)))] = path not in original
        if change is not None:
            data = change if isinstance(change, bytes) else read_blob(objects, change)
            branch = branch_of_file(path, data)
            register = register_of_branch(branch)
            if is_random_branch_id(branch):
                created.append(register)  # unless another path had it, from which it was renamed
            else:
                found[register] = found.get(register, False) or path not in original
    return dict.fromkeys(created, False) | found


def _is_same(old: Oid | None, change: BlobChange) -> bool:
    if old is None or change is None:
        return old is change
    return object_id(BLOB, change) == old if isinstance(change, bytes) else change == old


TITLE = "title"
ARCHIVED = "archived"
DIRECTORY = "directory"  # where the conversation was started; it stays on this machine
TAGS = "tags/"
_MAIN = encode_component("main")
REQUESTS = "merge-requests/"
DISMISSED = "dismissed-decisions/"


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a conversation; `commit` is the commit that it was read from.

    `directory` is where the conversation was started; imported ones have it in their root. `dismissed` are the ids of
    decision candidates that are not listed any more.
    """

    commit: Oid | None = None
    title: str | None = None
    archived: bool = False
    tags: Mapping[str, Oid] = field(default_factory=dict)
    branches: Mapping[BranchName, BranchEntry] = field(default_factory=dict)
    directory: str | None = None
    requests: Mapping[str, MergeRequest] = field(default_factory=dict)  # by id
    dismissed: frozenset[str] = frozenset()


def read_metadata(repository: Repository, conversation: ConversationId) -> Metadata:
    """Read the metadata of a conversation; return an empty one if there is none."""
    value = repository.find_ref(refs.meta_ref(conversation))
    return Metadata() if value is None else read_metadata_at(repository, Oid(value))


def read_metadata_at(objects: Objects, commit: Oid) -> Metadata:
    """Read the metadata at a commit of its chain.

    Raises:
        Corrupt, NotFound: it is damaged or missing.
    """
    title, directory, archived = None, None, False
    tags: dict[str, Oid] = {}
    branches: dict[BranchName, BranchEntry] = {}
    requests: dict[str, MergeRequest] = {}
    dismissed: set[str] = set()
    for path, oid in walk_values(objects, read_commit(objects, commit).tree):
        if path == TITLE:
            title = decode_line(read_blob(objects, oid))
        elif path == DIRECTORY:
            directory = decode_line(read_blob(objects, oid))
        elif path == ARCHIVED:
            archived = True
        elif path.startswith(TAGS):
            tags[decode_component(path[len(TAGS) :])] = Oid(read_blob(objects, oid).decode("ascii", "replace").strip())
        elif path.startswith(BRANCHES):
            name = BranchName(decode_component(path[len(BRANCHES) :]))
            branches[name] = decode_branch_entry(read_blob(objects, oid))
        elif path.startswith(REQUESTS):
            request = decode_merge_request(read_blob(objects, oid))
            requests[request.id] = request
        elif path.startswith(DISMISSED):
            dismissed.add(decode_component(path[len(DISMISSED) :]))
    return Metadata(commit, title, archived, tags, branches, directory, requests, frozenset(dismissed))


def read_directory_and_fork(objects: Objects, commit: Oid) -> tuple[str | None, Oid | None]:
    """Read only the directory and where the main branch began; raises as `read_metadata_at` does."""
    tree = read_commit(objects, commit).tree
    directory, main = find_blob(objects, tree, DIRECTORY), find_blob(objects, tree, BRANCHES + _MAIN)
    fork = None if main is None else decode_branch_entry(main).fork
    return None if directory is None else decode_line(directory), fork


def decode_line(data: bytes) -> str:
    """Decode a value that is one line, such as the title."""
    return data.decode("utf-8", "replace").rstrip("\n")


def write_metadata(
    objects: Objects,
    previous: Oid | None,
    changes: Mapping[str, BlobChange],
    subject: str,
    *,
    time: int | None = None,
    sign: Callable[[bytes], bytes] = bytes,
) -> Oid:
    """Write the next commit of a metadata chain and return it; `time` is that of the commit, in seconds, or now."""
    tree = None if previous is None else read_commit(objects, previous).tree
    data = format_commit(
        tree=update_tree(objects, tree, changes),
        parents=() if previous is None else (previous,),
        author=Identity("scopes", "scopes@systems.scopes"),
        time=now_nanoseconds() // 1_000_000_000 if time is None else time,
        subject=subject,
    )
    return objects.write(COMMIT, sign(data))


def branch_change(branch: BranchName, entry: BranchEntry | None) -> dict[str, BlobChange]:
    """Return the change that sets or removes a branch entry."""
    return {BRANCHES + encode_component(branch): None if entry is None else encode_branch_entry(entry)}


class RemoteState(NamedTuple):
    """A branch of a remote, as `origin/main`, compared with the local one.

    ahead: how many messages only the local branch has, also one that a push holds back
    behind: how many only that of the remote has
    """

    name: str
    ahead: int
    behind: int


def read_remote_branches(repository: Repository, root: Oid | None) -> dict[str, dict[str, ManifestBranch]]:
    """Return the branches of a conversation by remote and by id; a remote that did not have it is left out."""
    found: dict[str, dict[str, ManifestBranch]] = {}
    for remote in list_remote_names(repository) if root is not None else ():
        value = repository.find_ref(f"{REMOTES}{remote}/{root}")
        if value is not None:
            found[remote] = read_manifest_branches(repository, Oid(value))
    return found


def read_manifest_branches(repository: Repository, manifest: Oid) -> dict[str, ManifestBranch]:
    """Return the branches in a manifest by id; none if the commit is no manifest.

    Raises:
        Corrupt, NotFound: it is damaged.
    """
    data = find_blob(repository, read_commit(repository, manifest).tree, MANIFEST_FILE)
    return {} if data is None else dict(decode_manifest(data).branches)


def list_remote_names(repository: Repository) -> list[str]:
    """Return the names of all remotes, sorted."""
    return sorted({*read_addresses(repository.path), BUNDLE})


def find_remote_branch(repository: Repository, root: Oid | None, name: str) -> Oid | None:
    """Return the tip of a branch such as `origin/main`; None if no remote has it."""
    for remote, branches in read_remote_branches(repository, root).items():
        for branch in branches.values():
            if name == f"{remote}/{branch.name}" and repository.has(branch.tip):
                return branch.tip
    return None


def is_same_branch(repository: Repository, root: Oid | None, name: str, branch: str) -> bool:
    """Return True if a name such as `origin/main` is that of the branch with an id, as some remote has it."""
    found = ((remote, branches.get(branch)) for remote, branches in read_remote_branches(repository, root).items())
    return any(there is not None and name == f"{remote}/{there.name}" for remote, there in found)


def compare_with_remotes(
    repository: Repository,
    branches: Mapping[str, Mapping[str, ManifestBranch]],
    name: BranchName,
    entry: BranchEntry | None,
    tip: Oid,
) -> tuple[RemoteState, ...]:
    """Return how a local branch differs from the same branch of each remote; none for a remote that lacks it."""
    key = branch_id(name, entry)
    states: list[RemoteState] = []
    for remote, there in branches.items():
        if key in there and repository.has(there[key].tip):
            other = there[key].tip
            ahead, behind = (_count(repository, *pair) for pair in ((tip, other), (other, tip)))
            states.append(RemoteState(f"{remote}/{there[key].name}", ahead, behind))
    return tuple(states)


def _count(repository: Repository, tip: Oid, other: Oid) -> int:
    """Count the messages that only one of two commits reaches."""
    return 0 if tip == other else sum(not is_root(commit) for commit in list_new_commits(repository, tip, other))
