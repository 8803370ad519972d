"""Search everything that a push would make reachable on the remote: only what a gate has cleared may leave.

The manifest of a conversation leaves as `Cleared`, and only after all that it reaches was searched.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from scopes.errors import ScopesError
from scopes.history.messages import (
    MESSAGE_FILE,
    NO_TEXT,
    STATE_DIRECTORY,
    header_of,
    is_root,
    read_stored_body,
    split_message_tree,
)
from scopes.history.metadata import CLOCKS, TITLE, decode_line
from scopes.ids import Oid
from scopes.model.canonical_json import names_in_path
from scopes.model.conversation import Manifest
from scopes.model.message import decode
from scopes.secret_scan import prefilter
from scopes.secret_scan.clean_texts import CleanTexts
from scopes.secret_scan.clearance import Cleared, Gate
from scopes.store.objects import (
    COMMIT,
    TREE,
    Commit,
    Objects,
    diff_blobs,
    format_commit,
    object_id,
    one_line,
    read_blob,
    read_commit,
    read_data,
    walk_blobs,
)
from scopes.store.repository import Repository
from scopes.sync.cleared_tips import ClearedTips
from scopes.sync.commit_texts import walk_texts
from scopes.sync.manifest_summary import PROMPT_PLACE
from scopes.sync.outgoing import Outgoing

MESSAGE_PLACE: Final = "message "
"""What the place of a leak in a message begins with."""
_AT_ONCE: Final = 1 << 18  # bytes of messages
_CLEAN: Final = CleanTexts()
TITLE_PLACE: Final = "the title"
TAG_PLACE: Final = "a tag"
BRANCH_PLACE: Final = "the name of a branch"
_FIRST_NAME: Final = "the first name of a branch"  # which is its id on every machine
_PLACES: Final = {
    "tags": TAG_PLACE,
    "branches": "the entry of a branch",
    "merge-requests": "a merge request",
    "dismissed-decisions": "a dismissed decision",
}
_PLACES_OF_CLOCKS: Final = {"tags": "a removed tag, which a remote has", "branches": _FIRST_NAME}


def clear_for_push(
    repository: Repository,
    objects: Objects,
    outgoing: Outgoing,
    gate: Gate,
    *,
    before: ClearedTips | None = None,
) -> Cleared:
    """Search all that a push would make reachable on the remote, and return the manifest as it may leave.

    Searches new messages, their commits and states, and the title, tags, branches and other metadata. Messages that the
    remote has are not searched again. `before` has the tips that were searched before; tips without secrets are added
    to it.

    Raises:
        SecretsFound: there may be a secret; the message has its place, rule and id, never its value.
        Corrupt, NotFound: something is damaged.
    """
    if gate.mode != "allow":
        searched = outgoing if before is None else outgoing._replace(new=before.choose_unsearched(outgoing))
        inspect_commits(repository, searched.new, gate)
        inspect_metadata(objects, searched, gate)
        if before is not None and gate.has_found_nothing:
            before.add(outgoing)
    return gate.clear_inspected(outgoing.encoded)


def inspect_metadata(objects: Objects, outgoing: Outgoing, gate: Gate) -> None:
    """Give the metadata and the manifest of a conversation to a gate: names, tags, the title, times."""
    values = (
        []
        if outgoing.meta is None
        else [(path, read_blob(objects, oid)) for path, oid in walk_blobs(objects, outgoing.meta)]
    )
    names = [name for path, _ in values for name in names_in_path(path)]
    texts = [*names, *_texts_of(outgoing.manifest), *(decode_line(data) for path, data in values if path == TITLE)]
    if _CLEAN.may_hold([*map(_encode, texts), *(data for _, data in values)]):
        _inspect_metadata(values, gate)
        _inspect_manifest(outgoing.manifest, gate)


def _may_hold(data: bytes) -> bool:
    """Return False if there is no secret in some bytes, and none that a limit has cut."""
    return prefilter.may_hold_secret(data) or prefilter.may_hold_beginning(data)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class _Sent(NamedTuple):
    """A commit that would leave: the message in it, its state if the tree is that of a message, and its place."""

    commit: Commit
    body: bytes
    state: Oid | None
    is_usual: bool

    @property
    def place(self) -> str:
        """The message as it is named to people."""
        return _place_of(self.commit)


def inspect_commits(
    repository: Repository, commits: Sequence[Commit], gate: Gate, without: Container[Oid] = ()
) -> None:
    """Give commits, their messages and states to a gate; of the commits `without` not the messages."""
    trees = [split_message_tree(read_data(repository, commit.tree, TREE)) for commit in commits]
    states = {commit.oid: tree[1] for commit, tree in zip(commits, trees, strict=True) if tree is not None}
    seen: set[tuple[str, Oid]] = set()
    for sent in _walk_parts(_walk_sent(repository, commits, trees, without)):
        suspicious = {*prefilter.choose_suspicious([each.body for each in sent])}
        kept = [each for each in sent if each.body not in suspicious or not gate.inspect(each.body, each.place)]
        _inspect_files(repository, kept, states, seen, gate)
        _inspect_commits(repository, kept, gate)


def _walk_sent(
    repository: Repository,
    commits: Sequence[Commit],
    trees: Sequence[tuple[Oid, Oid | None] | None],
    without: Container[Oid],
) -> Iterator[_Sent]:
    for commit, tree in zip(commits, trees, strict=True):
        if commit.oid in without:
            yield _Sent(commit, b"", None if tree is None else tree[1], is_usual=tree is not None)
        elif tree is None:
            yield _Sent(commit, read_stored_body(repository, header_of(commit)), None, is_usual=False)
        else:
            yield _Sent(commit, read_blob(repository, tree[0]), tree[1], is_usual=True)


def _walk_parts(messages: Iterable[_Sent]) -> Iterator[list[_Sent]]:
    """Yield messages by the parts that are searched at once: small ones together."""
    part: list[_Sent] = []
    size = 0
    for each in messages:
        part.append(each)
        size += len(each.body)
        if size >= _AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part


def _inspect_files(
    repository: Repository,
    sent: Sequence[_Sent],
    states: Mapping[Oid, Oid | None],
    seen: set[tuple[str, Oid]],
    gate: Gate,
) -> None:
    """Search the files that commits have beside their messages, and the names of these."""
    found = [
        (each, path.removesuffix("="), read_blob(repository, blob))
        for each in sent
        for path, blob in _list_new_files(repository, each, states, seen)
    ]
    names = [name for _, path, _ in found for name in names_in_path(path)]
    if _CLEAN.may_hold([*map(_encode, names), *(data for _, _, data in found)]):
        for each, path, data in found:
            _inspect_path(path, each.place, gate)
            gate.inspect(data, each.place)


def _place_of(commit: Commit) -> str:
    return "the root" if is_root(commit) else f"{MESSAGE_PLACE}{header_of(commit).id}"


def _inspect_commits(repository: Repository, sent: Sequence[_Sent], gate: Gate) -> None:
    """Search the names, lines and subjects of commits whose messages were searched; nearly all are in these."""
    usual = [each for each in sent if is_written_so(each.commit)]
    texts = (_encode(text) for each in usual for text in walk_texts(each.commit, each.body))
    suspicious = [*sent] if _CLEAN.may_hold(texts) else _without(sent, usual)
    stored = [read_data(repository, each.commit.oid, COMMIT) for each in suspicious]
    lines = [data.decode("utf-8", "replace") for data in stored]
    if _may_hold("\n".join(lines).encode()):
        for each, text in zip(suspicious, lines, strict=True):
            if _may_hold(text.encode()):
                _inspect_commit(repository, each.commit, text, gate)


def _without(sent: Sequence[_Sent], others: Sequence[_Sent]) -> list[_Sent]:
    left = {each.commit.oid for each in others}
    return [each for each in sent if each.commit.oid not in left]


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
            gate.inspect_part(whole, place)


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


def _list_new_files(
    repository: Repository, sent: _Sent, states: Mapping[Oid, Oid | None], seen: set[tuple[str, Oid]]
) -> Iterator[tuple[str, Oid]]:
    """Yield path and blob of every file beside the message that the commit below has not; `seen` gets them.

    These are files of the state, or what another program has put there. `states` are those of the commits that leave.
    """
    commit = sent.commit
    parent = commit.parents[0] if commit.parents else None
    if sent.is_usual and (parent is None or parent in states):
        before = None if parent is None else states[parent]
        changed = () if before == sent.state else diff_blobs(repository, before, sent.state)
        found = ((f"{STATE_DIRECTORY}/{path}", blob) for path, _, blob in changed)
    else:
        tree = None if parent is None else read_commit(repository, parent).tree
        found = ((path, blob) for path, _, blob in diff_blobs(repository, tree, commit.tree) if path != MESSAGE_FILE)
    for path, blob in found:
        if blob is not None and (path, blob) not in seen:
            seen.add((path, blob))
            yield path, blob


def _inspect_metadata(values: Sequence[tuple[str, bytes]], gate: Gate) -> None:
    """Search all metadata; the title may be cut, and what is in a secret of a message that may leave may leave, too.

    A clock is a number and a machine; its name is searched with the value that it has.
    """
    paths = {path for path, _ in values}
    for path, data in values:
        if path == TITLE:
            gate.inspect_name(decode_line(data), TITLE_PLACE)
            continue
        folder, _, name = path.partition("/")
        if folder != CLOCKS:
            place = _PLACES.get(folder, "the metadata")
            _inspect_path(name, BRANCH_PLACE if folder == "branches" else place, gate)
            gate.inspect(data, place)
        elif name not in paths:
            _inspect_path(name, _PLACES_OF_CLOCKS.get(name.partition("/")[0], "the metadata"), gate)


def _texts_of(manifest: Manifest) -> Iterator[str]:
    """Yield the texts of a manifest."""
    yield from (manifest.title or "", manifest.prompt or "", manifest.created, manifest.newest)
    for key, branch in manifest.branches.items():
        yield from (key, branch.name)


def _inspect_manifest(manifest: Manifest, gate: Gate) -> None:
    """Search all texts of a manifest; the others are hashes and numbers."""
    gate.inspect_name(manifest.title or "", TITLE_PLACE)
    gate.inspect_name(manifest.prompt or "", PROMPT_PLACE)
    gate.inspect_text(f"{manifest.created} {manifest.newest}", "the root")
    for key, branch in manifest.branches.items():
        gate.inspect_text(key, _FIRST_NAME)
        gate.inspect_text(branch.name, BRANCH_PLACE)


def _inspect_path(path: str, place: str, gate: Gate) -> None:
    """Search the names in a path."""
    for name in names_in_path(path):
        gate.inspect_text(name, place)


def is_written_so(commit: Commit) -> bool:
    """Return True if a commit is exactly what `format_commit` writes of its fields: no signature, no other line."""
    if commit.other_trailers is not None:
        return False
    written = format_commit(
        tree=commit.tree,
        parents=commit.parents,
        author=commit.author,
        time=commit.time,
        subject=commit.subject,
        trailers=commit.trailers.items(),
    )
    return object_id(COMMIT, written) == commit.oid
