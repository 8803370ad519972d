"""Read and write the metadata of a conversation: title, tags, branch entries and merge requests, as a chain of commits.

Each has a file of its own, so that git can merge the changes of two machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.errors import Corrupt
from scopes.history.registers import CLOCKS, walk_values
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model import encoding
from scopes.model.conversation import BranchEntry, decode_branch_entry, encode_branch_entry
from scopes.model.path_encoding import decode_component, encode_component
from scopes.store import refs
from scopes.store.objects import COMMIT, Identity, format_commit
from scopes.store.repository import Objects, Repository, read_commit, read_commit_stub
from scopes.store.trees import BlobChange, find_blob, find_entry, read_blob, update_tree

if TYPE_CHECKING:
    from scopes.model.merge_request import MergeRequest

TITLE = "title"
ARCHIVED = "archived"
DIRECTORY = "directory"  # where the conversation was started; it stays on this machine
_TAGS = "tags/"
_BRANCHES = "branches/"
_MAIN = encode_component("main")
_REQUESTS = "merge-requests/"
_DISMISSED = "dismissed-decisions/"


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a conversation; `commit` is the commit that it was read from.

    `directory` is where the conversation was started; imported ones have it in their root. `dismissed` are the ids of
    decision candidates that are not listed any more. `damaged` are the paths of merge requests that cannot be read: one
    of them must not block what else the conversation is for.
    """

    commit: Oid | None = None
    title: str | None = None
    archived: bool = False
    tags: Mapping[str, Oid] = field(default_factory=dict)
    branches: Mapping[BranchName, BranchEntry] = field(default_factory=dict)
    directory: str | None = None
    requests: Mapping[str, MergeRequest] = field(default_factory=dict)  # by id
    dismissed: frozenset[str] = frozenset()
    damaged: frozenset[str] = frozenset()


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
    damaged: set[str] = set()
    for path, oid in walk_values(objects, read_commit(objects, commit).tree):
        if path == TITLE:
            title = decode_line(read_blob(objects, oid))
        elif path == DIRECTORY:
            directory = decode_line(read_blob(objects, oid))
        elif path == ARCHIVED:
            archived = True
        elif path.startswith(_TAGS):
            tags[decode_component(path[len(_TAGS) :])] = _decode_tag(read_blob(objects, oid))
        elif path.startswith(_BRANCHES):
            name = BranchName(decode_component(path[len(_BRANCHES) :]))
            branches[name] = decode_branch_entry(read_blob(objects, oid))
        elif path.startswith(_REQUESTS):
            request = _decode_request(read_blob(objects, oid))
            if request is not None:
                requests[request.id] = request
            else:
                damaged.add(path)
        elif path.startswith(_DISMISSED):
            dismissed.add(decode_component(path[len(_DISMISSED) :]))
    return Metadata(
        commit, title, archived, tags, branches, directory, requests, frozenset(dismissed), frozenset(damaged)
    )


def has_given_title(repository: Repository, conversation: ConversationId) -> bool:
    """Return True if somebody gave the conversation its title, or removed it; False if that is from a source."""
    value = repository.find_ref(refs.meta_ref(conversation))
    tree = None if value is None else read_commit_stub(repository, Oid(value)).tree
    return tree is not None and find_entry(repository, tree, f"{CLOCKS}/{TITLE}") is not None


def read_directory_and_fork(objects: Objects, commit: Oid) -> tuple[str | None, Oid | None]:
    """Read only the directory and where the main branch began; raises as `read_metadata_at` does."""
    tree = read_commit_stub(objects, commit).tree
    directory, main = find_blob(objects, tree, DIRECTORY), find_blob(objects, tree, _BRANCHES + _MAIN)
    fork = None if main is None else decode_branch_entry(main).fork
    return None if directory is None else decode_line(directory), fork


def _decode_request(data: bytes) -> MergeRequest | None:
    """Decode a merge request; None if it is damaged."""
    from scopes.model.merge_request import decode_merge_request

    try:
        return decode_merge_request(data)
    except Corrupt:
        return None


def _decode_tag(data: bytes) -> Oid:
    return Oid(data.decode("ascii", "replace").strip())


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


def title_change(title: str | None) -> dict[str, BlobChange]:
    """Return the change that sets or removes the title."""
    return {TITLE: None if title is None else title.encode("utf-8", "replace") + b"\n"}


def directory_change(directory: str) -> dict[str, BlobChange]:
    """Return the change that sets the directory where the conversation was started."""
    return {DIRECTORY: directory.encode("utf-8", "replace") + b"\n"}


def tag_change(tag: str, oid: Oid | None) -> dict[str, BlobChange]:
    """Return the change that sets or removes a tag."""
    return {_TAGS + encode_component(tag): None if oid is None else f"{oid}\n".encode()}


def branch_change(branch: BranchName, entry: BranchEntry | None) -> dict[str, BlobChange]:
    """Return the change that sets or removes a branch entry."""
    return {_BRANCHES + encode_component(branch): None if entry is None else encode_branch_entry(entry)}


def request_change(request: MergeRequest) -> dict[str, BlobChange]:
    """Return the change that sets a merge request."""
    from scopes.model.merge_request import encode_merge_request

    return {_REQUESTS + encode_component(request.id): encode_merge_request(request)}


def dismissal_change(candidate: str, document: Mapping[str, str]) -> dict[str, BlobChange]:
    """Return the change that dismisses a decision candidate; the document says who did it, when and why."""
    return {_DISMISSED + encode_component(candidate): encoding.dump(dict(document))}
