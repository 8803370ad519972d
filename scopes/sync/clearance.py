"""Search everything that a push would make reachable on the remote: only what a gate has cleared may leave.

The manifest of a conversation leaves as `Cleared`, and only after all that it reaches was searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scopes.errors import Invalid, ScopesError
from scopes.history.messages import MESSAGE_FILE, NO_TEXT, header_of, is_root, read_stored_body
from scopes.history.metadata import TITLE, decode_line
from scopes.history.revisions import conversation_ids
from scopes.ids import Oid
from scopes.model.codec import decode
from scopes.model.manifest import Manifest
from scopes.model.path_encoding import decode_component
from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.secrets.gates import gate_of
from scopes.secrets.scan import SecretRow
from scopes.store.objects import COMMIT, Commit, one_line
from scopes.store.packs.bulk import bulk_objects
from scopes.store.repository import Objects, Repository, read_commit_stub, read_data
from scopes.store.transactions import shared_write
from scopes.store.trees import diff_blobs, read_blob, walk_blobs
from scopes.sync.outgoing import Outgoing, plan_push, walk_new

_TOGETHER: Final = 64  # commits
_PLACES: Final = {
    "tags": "a tag",
    "branches": "the entry of a branch",
    "merge-requests": "a merge request",
    "dismissed-decisions": "a dismissed decision",
    "clocks": "the name of a tag or of a branch",
}


def clear_for_push(repository: Repository, objects: Objects, outgoing: Outgoing, gate: Gate) -> Cleared:
    """Search all that a push would make reachable on the remote, and return the manifest as it may leave.

    Searched are new messages, their commits and states, and the title, tags, branches and other metadata. What the
    remote has of messages is not searched again.

    Raises:
        SecretsFound: there may be a secret; the message names its place, rule and id, and never what it is.
        Corrupt, NotFound: something is damaged.
    """
    if gate.mode != "allow":
        _inspect(repository, objects, outgoing, gate)
    return gate.clear_inspected(outgoing.encoded)


def find_outgoing_secrets(repository: Repository) -> list[SecretRow]:
    """Return what would keep conversations from being pushed, wherever it is, and is not allowed.

    That is more than `secrets scan` lists: also names in states, clocks and subjects that other programs have written.
    """
    rows: list[SecretRow] = []
    with shared_write(repository), bulk_objects(repository) as objects:
        for conversation in conversation_ids(repository):
            gate = gate_of(repository, "refuse")
            _inspect(repository, objects, plan_push(repository, None, conversation, objects), gate)
            rows += [
                SecretRow(leak.id, leak.rule, conversation, None, leak.place, leak.line, allowed=False)
                for leak in gate.leaks
            ]
    return rows


def _inspect(repository: Repository, objects: Objects, outgoing: Outgoing, gate: Gate) -> None:
    _inspect_messages(repository, outgoing, gate)
    if outgoing.meta is not None:
        _inspect_metadata(objects, outgoing.meta, gate)
    _inspect_manifest(outgoing.manifest, gate)


def _inspect_messages(repository: Repository, outgoing: Outgoing, gate: Gate) -> None:
    there = {} if outgoing.previous is None else outgoing.previous.manifest.branches
    seen: set[tuple[str, Oid]] = set()
    without_secret: list[Commit] = []
    for commit in walk_new(repository, outgoing.manifest.branches, there):
        place = _place_of(commit)
        if gate.inspect(read_stored_body(repository, header_of(commit)), place):
            continue
        without_secret.append(commit)
        for path, blob in _list_new_files(repository, commit, seen):
            _inspect_path(path.removesuffix("="), place, gate)
            gate.inspect(read_blob(repository, blob), place)
    for start in range(0, len(without_secret), _TOGETHER):
        _inspect_commits(repository, without_secret[start : start + _TOGETHER], gate)


def _place_of(commit: Commit) -> str:
    return "the root" if is_root(commit) else f"message {header_of(commit).id}"


def _inspect_commits(repository: Repository, commits: Sequence[Commit], gate: Gate) -> None:
    """Search the names, lines and subjects of commits: all at once, because they are short, and most have no secret."""
    texts = [read_data(repository, commit.oid, COMMIT).decode("utf-8", "replace") for commit in commits]
    joined = "\n".join(texts).encode()
    if prefilter.may_hold_secret(joined) or prefilter.may_hold_beginning(joined):
        for commit, text in zip(commits, texts, strict=True):
            _inspect_commit(repository, commit, text, gate)


def _inspect_commit(repository: Repository, commit: Commit, text: str, gate: Gate) -> None:
    """Search the names and lines of a commit, and its subject; `text` is the commit."""
    place = _place_of(commit)
    head, _, lines = text.partition("\n\n")
    _, _, trailers = lines.partition("\n")
    gate.inspect_text(f"{head}\n{trailers}", place)
    subject = commit.subject.encode("utf-8", "surrogatepass")
    if prefilter.may_hold_secret(subject) or prefilter.may_hold_beginning(subject):
        whole = _uncut_subject(commit.subject, read_stored_body(repository, header_of(commit)))
        if whole is None:
            gate.inspect_name(commit.subject, place)
        else:
            gate.inspect_text(whole, place)


def _uncut_subject(subject: str, body: bytes) -> str | None:
    """Return the subject with the whole of its last word, as the message has it; None if it comes from elsewhere.

    So a secret that the subject cuts has the same id as in the message, and what is no secret does not look like one.
    """
    try:
        text = decode(body).text.strip() or NO_TEXT
    except ScopesError:
        return None
    if one_line(text) != subject:
        return None
    line = one_line(text, None)
    end = line.find(" ", len(subject))
    return line if end < 0 else line[:end]


def _list_new_files(repository: Repository, commit: Commit, seen: set[tuple[str, Oid]]) -> Iterator[tuple[str, Oid]]:
    """Yield path and blob of every file beside the message that the commit below has not; `seen` gets them.

    These are files of the state, or what another program has put there.
    """
    before = next((read_commit_stub(repository, parent).tree for parent in commit.parents), None)
    for path, _, blob in diff_blobs(repository, before, commit.tree):
        if blob is not None and path != MESSAGE_FILE and (path, blob) not in seen:
            seen.add((path, blob))
            yield path, blob


def _inspect_metadata(objects: Objects, tree: Oid, gate: Gate) -> None:
    """Search all metadata; the title may be cut, and what is in a secret of a message that may leave may leave, too."""
    for path, blob in walk_blobs(objects, tree):
        data = read_blob(objects, blob)
        if path == TITLE:
            gate.inspect_name(decode_line(data), "the title")
            continue
        folder, _, name = path.partition("/")
        place = _PLACES.get(folder, "the metadata")
        _inspect_path(name, place, gate)
        gate.inspect(data, place)


def _inspect_manifest(manifest: Manifest, gate: Gate) -> None:
    """Search all texts of a manifest; the others are hashes and numbers."""
    gate.inspect_name(manifest.title or "", "the title")
    gate.inspect_text(f"{manifest.created} {manifest.newest}", "the root")
    for key, branch in manifest.branches.items():
        for name in dict.fromkeys((key, branch.name)):
            gate.inspect_text(name, "the name of a branch")


def _inspect_path(path: str, place: str, gate: Gate) -> None:
    """Search the names in a path."""
    for component in path.split("/"):
        try:
            name = decode_component(component)
        except Invalid:
            name = component
        gate.inspect_text(name, place)
