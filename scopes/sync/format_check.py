"""Check that fetched objects are conversations exactly as scopes writes them, and nothing else.

Git accepts symbolic links, submodules, tags and any paths; here only commits, files, directories and the paths that
scopes knows are allowed. Every object of the new packs must belong to a conversation that was requested. So no object
can be hidden in the store to be used later, and everything in the store was checked when it came.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.history.messages import (
    STATE_DIRECTORY,
    format_root_commit,
    identity_of,
    is_root,
    message_id_of,
    split_message_tree,
)
from scopes.history.sources import NOTHING, Purged, join_all, read_purged
from scopes.ids import Oid, is_message_id
from scopes.importers.purged_texts import find_longer_form
from scopes.model.conversation import Root, decode_root, tips_of
from scopes.model.message import Message, decode, decode_document, purge_message
from scopes.store.git_program import ReceivedObjects
from scopes.store.objects import (
    BLOB,
    COMMIT,
    DIRECTORY_MODE,
    FILE_MODE,
    TREE,
    Commit,
    compare_trees,
    find_in_tree,
    list_modes,
    parse_commit,
    parse_tree,
    read_commit,
    read_data,
)
from scopes.store.repository import Repository
from scopes.sync.check_budget import CheckBudget
from scopes.sync.content_check import check_metadata_file, check_state_file, fork_of, load_shallow
from scopes.sync.exact_commits import (
    UsualCommit,
    check_exact,
    check_message_commit,
    find_usual,
    read_exact_manifest,
    says_message,
)
from scopes.sync.manifest import StoredManifest, is_manifest, read_manifest
from scopes.sync.names import RemoteName, month_of, name_on_remote, project_of
from scopes.sync.purge_cures import PurgeCures
from scopes.sync.received_links import LinkSearch, ReceivedLink, ReceivedMessages, group_links
from scopes.sync.remotes import Remote

MAX_PARENTS: Final = 10_000
_MODES: Final = frozenset({FILE_MODE, DIRECTORY_MODE})
_HINT: Final = "nothing of it was taken; see who wrote it to the remote"
_BUNDLE_HINT: Final = "nothing of it was taken; see who wrote the file"


class PurgedHere(Corrupt):
    """A remote has content that was purged here.

    grown: entries for longer versions of purged messages
    reason: which content, without the conversation; cure: what to do about it
    value: the value of the ref there
    """

    grown: Purged = NOTHING
    reason: str = ""
    cure: str = ""
    value: str = ""


def _purged_here(where: str, reason: str, cure: str, value: Oid, hint: str) -> PurgedHere:
    error = PurgedHere(f"{where}{reason}; {cure}", hint=hint)
    error.reason, error.cure, error.value = reason, cure, value
    return error


class ReceivedConversation(NamedTuple):
    """A conversation that was checked, with the manifest that the remote has now."""

    name: RemoteName
    newest: StoredManifest


class CheckedConversations(NamedTuple):
    """The result for each conversation, the new objects that they contain, and the conversations with links."""

    results: list[ReceivedConversation | Corrupt]
    objects: set[Oid]
    linked: dict[RemoteName, ReceivedMessages]


class WantedConversation(NamedTuple):
    """A ref to check, its value, and the manifest that the remote had before."""

    name: RemoteName
    tip: Oid
    known: Oid | None


class _NewCommit(NamedTuple):
    """A fetched commit, parsed if it has the usual form."""

    oid: Oid
    data: bytes
    usual: UsualCommit | None


class FormatCheck:
    """Checks conversations one by one, then that no other object came with them."""

    def __init__(
        self, repository: Repository, received: ReceivedObjects, remote: Remote, *, takes_purged: bool = False
    ) -> None:
        self._repository = repository
        self._received = received
        self._unclaimed = set(received.new)  # new objects that belong to no conversation so far
        self._files: set[tuple[str, Oid]] = set()  # path and blob that were checked
        self._states: dict[Oid, Oid | None] = {}  # by commit
        self._roots: dict[Oid, Root] = {}  # that came
        self._purged = NOTHING if takes_purged else read_purged(repository)
        self._sender, self._hint = ("bundle", _BUNDLE_HINT) if remote.address.of_bundle else ("remote", _HINT)
        self.cures = PurgeCures(repository, remote, self._purged)
        self._budget = CheckBudget()
        self._messages: set[str] = set()  # that are new in the conversation that is checked, if anything was purged
        self._links: list[ReceivedLink] = []  # of them, to what they were made from
        self._linked: dict[RemoteName, ReceivedMessages] = {}
        self.made_from_parts: dict[Oid, str] = {}  # messages, by the roots of conversations, after `refuse_derived`

    def check(self, name: RemoteName, tip: Oid, known: Oid | None) -> ReceivedConversation:
        """Check the conversation of a ref; `known` is the manifest that the remote had before.

        Raises:
            Corrupt: it is not as scopes writes it; the message names the ref and what is wrong.
            TooNew: a newer version of scopes wrote it.
        """
        if self._purged.has_conversation(name.root):
            cure = self.cures.find(name, tip, self._received)
            raise _purged_here(f"{self._describe(name)} ", "was purged here", cure, tip, self._hint)
        self._budget.begin()
        self._messages, self._links = set(), []
        try:
            return self._check(name, tip, known)
        except (Corrupt, NotFound) as error:
            problem = f"{self._describe(name)} is not acceptable: "
            if isinstance(error, PurgedHere):
                cure = self.cures.find(name, tip, self._received)
                translated = _purged_here(problem, error.message, cure, tip, self._hint)
                translated.grown = error.grown
                raise translated from error
            kind = type(error) if isinstance(error, Corrupt) else Corrupt
            raise kind(f"{problem}{error.message}", hint=self._hint) from error

    def check_all(self, wanted: Sequence[WantedConversation]) -> CheckedConversations:
        """Check conversations; those with links are to be given to `refuse_derived`, all at once."""
        before = set(self._unclaimed)
        checked: list[ReceivedConversation | Corrupt] = []
        self._linked = {}
        for each in wanted:
            try:
                checked.append(self.check(*each))
            except Corrupt as error:
                checked.append(error)
        return CheckedConversations(checked, before - self._unclaimed, self._linked)

    def refuse_derived(
        self, checked: Sequence[ReceivedConversation], linked: Mapping[RemoteName, ReceivedMessages]
    ) -> dict[str, PurgedHere]:
        """Return the conversations with messages that were made from purged ones, as errors by their refs."""
        search = LinkSearch(self._repository, self._received, self._purged, linked)
        refused: dict[str, PurgedHere] = {}
        for name, newest in checked:
            found = search.find(name) if name in linked else None
            in_part = search.find_from_part(name) if name in linked else None
            if in_part is not None:
                self.made_from_parts[name.root] = in_part.message
            if found is not None:
                value, where = newest.oid, f"{self._describe(name)} is not acceptable: "
                cure = self.cures.find(name, value, self._received)
                reason = f"message {found.message[:8]} in it was made from one that was purged here"
                refused[name.ref] = _purged_here(where, reason, cure, value, self._hint)
        return refused

    @property
    def purged(self) -> Purged:
        """The list of what was purged here, which must not come back."""
        return self._purged

    def _describe(self, name: RemoteName) -> str:
        return f"the conversation {name.root[:12]} of the {self._sender}"

    def visit(self, objects: Iterable[Oid]) -> None:
        """Mark objects as accounted for that were checked elsewhere, such as those of lists and original files."""
        self._unclaimed.difference_update(objects)

    def check_nothing_else(self) -> None:
        """Check that every new object belongs to a conversation that was checked, or was in the store before.

        Raises:
            Corrupt: there is another object.
        """
        for oid in sorted(self._unclaimed):
            if not self._repository.has(oid):
                raise Corrupt(f"the remote sent object {oid}, which belongs to no conversation", hint=_HINT)

    def _check(self, name: RemoteName, tip: Oid, known: Oid | None) -> ReceivedConversation:
        newest: StoredManifest | None = None
        tips: dict[Oid, None] = {}  # of all new manifests: a chain of them may be very long, and each very large
        projects: set[str] = set()
        metadata: dict[Oid, None] = {}
        following: Oid | None = tip
        while following is not None and following != known:
            stored = self._check_manifest(following)
            newest = newest or stored
            tips |= dict.fromkeys(branch.tip for branch in stored.manifest.branches.values())
            projects.add(stored.manifest.project)
            metadata |= {} if stored.meta is None else {stored.meta: None}
            following = stored.previous
        if newest is None:
            raise Corrupt("it has no manifest")
        root = self._check_history(name.root, tips, self._read_known_tips(known))
        if self._find_name(root) != name:
            raise Corrupt(f"its root commit does not belong to the ref {name.ref}")
        if projects != {name.project}:
            raise Corrupt("its manifest names another project")
        for meta in metadata:
            self._check_metadata(meta, name.root)
        if self._links:
            self._linked[name] = group_links(self._messages, self._links)
        return ReceivedConversation(name, newest)

    def _find_name(self, root: Commit) -> RemoteName:
        """Return the name of a conversation on a remote, by its root; fetched roots were already read."""
        document = self._roots.get(root.oid)
        if document is None:
            return name_on_remote(self._received, root)
        return RemoteName(project_of(document), month_of(root), root.oid)

    def _check_manifest(self, oid: Oid) -> StoredManifest:
        self._budget.check_time()
        if self._received.read(oid)[0] != COMMIT:
            raise Corrupt(f"{oid} is not a commit")
        stored, commit = read_exact_manifest(self._received, oid)
        tree = self._read_tree(commit.tree)
        self._unclaimed.difference_update((oid, commit.tree, *(entry.oid for entry in parse_tree(tree).values())))
        return stored

    def _read_known_tips(self, known: Oid | None) -> set[Oid]:
        """Return the tips that the remote had before; they reach the root of the conversation, and no other root."""
        return set() if known is None else set(tips_of(read_manifest(self._repository, known).manifest.branches))

    def _check_history(self, root: Oid, tips: Iterable[Oid], known: Collection[Oid]) -> Commit:
        """Check every new commit below the tips, and that all history begins with the root; return the root."""
        seen = set(known)
        new = self._find_new(root, tips, seen)
        found = read_commit(self._received, root) if known or root in seen else None
        if found is None or found.parents or not is_root(found):
            raise Corrupt("its history does not begin with the root that its name says")
        try:
            for each in reversed(new):  # parents come first as a rule, so that their states are known
                if each.usual is not None and not self._purged.messages:
                    self._check_usual(each, each.usual)
                else:
                    self._check_commit(parse_commit(each.oid, each.data), each.data)
        except PurgedHere as error:
            error.grown = join_all(self._find_longer_form(parse_commit(each.oid, each.data)) for each in new)
            raise
        return found

    def _find_new(self, root: Oid, tips: Iterable[Oid], seen: set[Oid]) -> list[_NewCommit]:
        """Return the new commits reachable from tips, except those in `seen`, children first; add them to `seen`."""
        new: list[_NewCommit] = []
        waiting = list(tips)
        while waiting:
            oid = waiting.pop()
            if oid in seen:
                continue
            seen.add(oid)
            kind, data = self._received.read(oid)
            if kind != COMMIT:
                raise Corrupt(f"{oid} is not a commit")
            usual = find_usual(data)
            parents = parse_commit(oid, data).parents if usual is None else (usual.parent,)
            if not parents and oid != root:
                raise Corrupt(f"commit {oid} does not reach the root of the conversation")
            if len(parents) > MAX_PARENTS:
                raise Corrupt(f"commit {oid} has more than {MAX_PARENTS} parents")
            if oid in self._unclaimed:
                new.append(_NewCommit(oid, data, usual))
            waiting += parents
        return new

    def _check_usual(self, new: _NewCommit, usual: UsualCommit) -> None:
        """Check a commit of the usual form as `_check_commit` does, in two thirds of the time."""
        self._budget.check_time()
        message, state = self._split_tree(new.oid, usual.tree)
        self._unclaimed.difference_update((new.oid, usual.tree, message))
        data = read_data(self._received, message, BLOB)
        if not says_message(usual, data):
            self._check_message(parse_commit(new.oid, new.data), new.data, data)
        self._take_state(new.oid, usual.parent, state)

    def _check_commit(self, commit: Commit, stored: bytes) -> None:
        self._budget.check_time()
        if is_manifest(commit) or (is_root(commit) and commit.parents):
            raise Corrupt(f"commit {commit.oid} is not a message")
        message, state = self._split_tree(commit.oid, commit.tree)
        self._unclaimed.difference_update((commit.oid, commit.tree, message))
        data = read_data(self._received, message, BLOB)
        document = self._check_message(commit, stored, data)
        self._take_state(commit.oid, commit.parents[0] if commit.parents else None, state)
        if document is not None and self._purged.messages:
            self._note_links(commit, document, data)

    def _take_state(self, commit: Oid, parent: Oid | None, state: Oid | None) -> None:
        """Remember the state of a commit, and check its files that differ from those of its parent."""
        self._states[commit] = state
        before = None if parent is None else self._read_state(parent)
        if state is not None and state != before:
            self._check_state(before, state)

    def _split_tree(self, commit: Oid, tree: Oid) -> tuple[Oid, Oid | None]:
        """Return the blob of the message and the tree of the state in the tree of a commit.

        Raises:
            Corrupt: it has other entries.
        """
        found = split_message_tree(read_data(self._received, tree, TREE))
        if found is None:
            self._read_tree(tree)
            raise Corrupt(f"commit {commit} has other files than a message and its state")
        return found

    def _check_message(self, commit: Commit, stored: bytes, data: bytes) -> Message | None:
        """Check the document of a message, and that the commit says what the document gives, and nothing else.

        Return the message, or None for the root.
        """
        document = load_shallow(data)
        if is_root(commit):
            self._roots[commit.oid] = decode_root(data)
            check_exact(commit.oid, stored, format_root_commit(commit.tree, commit.time))
            return None
        message = decode_document(document)
        email = identity_of(message.author.name, message.author.kind).email
        same = (message.id, message.kind, email) == (commit.message_id, commit.kind, commit.author.email)
        if not same or not is_message_id(message.id):
            raise Corrupt(f"commit {commit.oid} and the message in it disagree about id, kind or author")
        if self._purged.has_message(message.id) and purge_message(data, self._purged.parts_of(message.id)) != data:
            raise PurgedHere(f"message {message.id[:8]} in it was purged here")
        if self._purged.messages and len(message.parts) > 1 and self._compare_forms(commit, message):
            raise PurgedHere(f"message {message.id[:8]} in it is the whole of one that was purged here")
        check_message_commit(commit, stored, message)
        return message

    def _note_links(self, commit: Commit, message: Message, data: bytes) -> None:
        """Remember a new message and its links to the messages that it was made from; its state is already checked."""
        self._messages.add(message.id)
        from scopes.purge.links import is_tombstone

        has_content = not is_tombstone(data)
        from scopes.purge.links import walk_origins

        origins = walk_origins(self._received, commit.oid, message)
        self._links += (ReceivedLink(message.id, each, has_content) for each in origins)

    def _compare_forms(self, commit: Commit, message: Message) -> Purged:
        """Return a purge entry for an imported message if a shorter version was purged here, else an empty list."""
        parent = read_commit(self._received, commit.parents[0])
        above = None if is_root(parent) else message_id_of(parent)
        return find_longer_form(self._purged, message, above, message.id)

    def _find_longer_form(self, commit: Commit) -> Purged:
        """Return the same for a commit that was not checked yet; an empty list if it fails a check."""
        with suppress(Corrupt, NotFound):
            self._budget.check_time()
            blob, _ = self._split_tree(commit.oid, commit.tree)
            return self._compare_forms(commit, decode(read_data(self._received, blob, BLOB)))
        return NOTHING

    def _read_state(self, commit: Oid) -> Oid | None:
        if commit in self._states:
            return self._states[commit]
        tree = read_commit(self._received, commit).tree
        entry = find_in_tree(read_data(self._received, tree, TREE), STATE_DIRECTORY)
        return None if entry is None else entry.oid

    def _check_state(self, before: Oid | None, after: Oid) -> None:
        """Check every file in which a state differs from the state before it."""
        waiting = [("", before, after)]
        while waiting:
            path, old, new = waiting.pop()
            if not self._budget.is_first_visit(f"state/{path}", new):
                continue
            data = self._read_directory(path, new)
            for name, (left, right) in compare_trees(b"" if old is None else self._read_tree(old), data).items():
                if right is None:
                    continue
                if right.is_tree:
                    waiting.append(
                        (f"{path}{name}/", left.oid if left is not None and left.is_tree else None, right.oid)
                    )
                else:
                    self._check_file("state/", path + name, right.oid)

    def _check_metadata(self, tree: Oid, root: Oid) -> None:
        """Check every file of the metadata, in all of the tree."""
        waiting = [("", tree)]
        while waiting:
            path, oid = waiting.pop()
            if not self._budget.is_first_visit(f"meta/{path}", oid):
                continue
            for entry in parse_tree(self._read_directory(path, oid)).values():
                if entry.is_tree:
                    waiting.append((f"{path}{entry.name}/", entry.oid))
                else:
                    self._check_file("meta/", path + entry.name, entry.oid)
                    self._check_fork(path, entry.oid, root)

    def _check_fork(self, path: str, blob: Oid, root: Oid) -> None:
        """Check that the entry of a branch names no root but that of the conversation, by which it is found here."""
        if path != "branches/":
            return
        fork = fork_of(read_data(self._received, blob, BLOB))
        if fork is None or not (self._received.is_new(fork) or self._repository.has(fork)):
            return
        kind, data = self._received.read(fork)
        if kind == COMMIT and fork != root and is_root(parse_commit(fork, data)):
            raise Corrupt("the entry of a branch names the root of another conversation")

    def _check_file(self, top: str, path: str, oid: Oid) -> None:
        self._unclaimed.discard(oid)
        if (top + path, oid) in self._files:
            return
        self._files.add((top + path, oid))
        data = read_data(self._received, oid, BLOB)
        try:
            (check_state_file if top == "state/" else check_metadata_file)(path, data)
        except ScopesError as error:
            raise Corrupt(f"{top}{path[:200]}: {error.message}", hint=error.hint) from error

    def _read_directory(self, path: str, oid: Oid) -> bytes:
        """Read a tree at a path below a state or the metadata; an empty one could have any name."""
        self._unclaimed.discard(oid)
        data = self._read_tree(oid)
        if path and not data:
            raise Corrupt("it has an empty directory, which scopes never writes")
        self._budget.count(oid, data)
        return data

    def _read_tree(self, oid: Oid) -> bytes:
        """Read a tree that has only files and directories."""
        data = read_data(self._received, oid, TREE)
        if not list_modes(data) <= _MODES:
            raise Corrupt(f"the tree {oid} has an entry that is neither a file nor a directory")
        return data
