"""Undo of what an operation changed in a shared ref: agents, facts, memory, allowed secrets, paths of sources.

Others change the same ref, so it is not moved back. The files that the operation wrote get their values from before it
again, in a new commit, if each still has the value that it wrote. Numbers of agents and messages are never given twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import NamedTuple, NoReturn

from scopes.errors import Refused
from scopes.history.metadata import write_metadata
from scopes.history.shared_refs import (
    AGENT_FILES,
    INBOX_FILES,
    KEY_FILES,
    SHARED,
    EntryConversations,
    NamesOfUuids,
    PathChange,
    decode_leaf,
    read_json,
    tree_of,
    walk_path_changes,
)
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.model.operation import Operation, RefChange
from scopes.store import refs
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Objects, Repository, read_tree
from scopes.store.trees import BlobChange, find_entry, update_tree

_LIST = "see: scopes operations list"
_SEVERAL_FACTS = "context.json"


class SharedUndo:
    """The new content of shared refs when operations are taken back, given the newest one first."""

    def __init__(self, repository: Repository, operations: Sequence[Operation]) -> None:
        """Give the files that the operations changed the values from before them.

        Raises:
            Refused: a file has been changed since; the error names what that is and how to take it back first.
        """
        self._repository = repository
        self._operations = operations
        self._refs: dict[str, _SharedTree] = {}
        for operation in operations:
            for change in operation.changes:
                if change.ref in SHARED:
                    self._take_back(operation, change)

    def _take_back(self, target: Operation, change: RefChange) -> None:
        shared = self._refs.setdefault(change.ref, _SharedTree(self._repository, change.ref))
        changes = list(walk_path_changes(self._repository, change))
        moved = [each for each in changes if shared.find(each.path) != each.after]
        if moved:
            self._refuse(target, change.ref, min(moved, key=lambda each: each.path.endswith(_SEVERAL_FACTS)))
        for each in changes:
            shared.changes[each.path] = each.before
        shared.oldest = change.old

    def move_refs(self, tx: RefTransaction, subject: str, *, dry_run: bool) -> None:
        """Check what comes out, write it, and add the moves of the refs to a transaction; a dry run writes nothing.

        Raises:
            Refused: something that came since would be left without what it needs.
        """
        for ref, shared in self._refs.items():
            problem = self._find_problem(ref, shared)
            if problem is not None:
                raise Refused(f"{problem.text} since '{self._operations[0].summary}'", hint=problem.hint)
            if not dry_run:
                tx.move_ref(ref, shared.value, shared.write(subject))

    def _find_problem(self, ref: str, shared: _SharedTree) -> _Problem | None:
        if ref == refs.AGENTS:
            return _find_problem_of_agents(self._repository, shared)
        return self._find_used_key(shared) if ref == refs.FACTS else None

    def _find_used_key(self, facts: _SharedTree) -> _Problem | None:
        """Return a problem if a context key would vanish that a fact or a proposed fact has."""
        gone = {path[len(KEY_FILES) : -1] for path, blob in facts.changes.items() if blob is None and _is_key(path)}
        if not gone:
            return None
        proposed = self._refs.get(refs.PROPOSED_FACTS) or _SharedTree(self._repository, refs.PROPOSED_FACTS)
        for shared, inside in ((facts, "/facts"), (proposed, "")):
            for uuid in shared.names(""):
                used = gone.intersection(shared.names(f"{uuid}{inside}"))
                if used and not _is_key(f"{uuid}/"):
                    where = NamesOfUuids(self._repository).find(uuid) or uuid
                    text = f"{where} has got facts or proposed facts with the context key {decode_leaf(used.pop())}"
                    return _Problem(text, _LIST)
        return None

    def _refuse(self, target: Operation, ref: str, change: PathChange) -> NoReturn:
        what = _describe(self._repository, ref, change)
        later = self._find_later(target, ref, change.path)
        hint = _LIST if later is None else f"undo first '{later.summary}': scopes undo {later.id[:8]}"
        raise Refused(f"{what} has changed since '{target.summary}'", hint=hint)

    def _find_later(self, target: Operation, ref: str, path: str) -> Operation | None:
        """Return the newest operation after the target that changed a file, and is not taken back with it."""
        taken_back = {each.id for each in self._operations}
        for _, record in walk_operations(self._repository):
            if record.id == target.id:
                return None
            for change in record.changes if record.id not in taken_back else ():
                if change.ref == ref and any(e.path == path for e in walk_path_changes(self._repository, change)):
                    return record
        return None


class _Problem(NamedTuple):
    text: str
    hint: str


class _SharedTree:
    """The tree of a ref with changes that are not written yet.

    Attributes:
        value: The commit of the ref; None if there is no ref.
        oldest: The commit before the first operation that is taken back.
        changes: The new blobs by path; None for no file.
    """

    def __init__(self, repository: Repository, ref: str) -> None:
        self._repository = repository
        self.value = repository.find_ref(ref)
        self.oldest: str | None = None
        self.changes: dict[str, Oid | None] = {}
        self._tree = tree_of(repository, self.value)

    def find(self, path: str) -> Oid | None:
        """Return the blob of a file; None if there is none."""
        return self.changes[path] if path in self.changes else self._stored(path)

    def names(self, directory: str) -> set[str]:
        """Return the names in a directory, those that are not written yet included."""
        tree = self._tree
        if tree is not None and directory:
            entry = find_entry(self._repository, tree, directory)
            tree = entry.oid if entry is not None and entry.is_tree else None
        names = set() if tree is None else set(read_tree(self._repository, tree))
        prefix = f"{directory}/" if directory else ""
        inside = [path[len(prefix) :] for path in self.changes if path.startswith(prefix)]
        names |= {path.partition("/")[0] for path in inside}
        return {name for name in names if self._exists(prefix + name)}

    def name_of_agent(self, number: str) -> str:
        """Return the name that an agent has now, or its number if it has none."""
        name = read_json(self._repository, self._stored(f"{AGENT_FILES}{number}.json")).get("name")
        return name if isinstance(name, str) else number.lstrip("0")

    def write(self, subject: str) -> str | None:
        """Write the commit and return it; the one from before if that has the same files, so that undo restores it."""
        changes: dict[str, BlobChange] = dict(self.changes)
        if self.oldest is None and not self.names(""):
            return None
        tree = update_tree(self._repository, self._tree, changes)
        if tree == self._tree:
            return self.value
        if tree == tree_of(self._repository, self.oldest):
            return self.oldest
        return write_metadata(self._repository, None if self.value is None else Oid(self.value), changes, subject)

    def _stored(self, path: str) -> Oid | None:
        entry = None if self._tree is None else find_entry(self._repository, self._tree, path)
        return None if entry is None or entry.is_tree else entry.oid

    def _exists(self, path: str) -> bool:
        """Return True if there is a file, or a directory that does not become empty."""
        if path in self.changes:
            return self.changes[path] is not None
        entry = None if self._tree is None else find_entry(self._repository, self._tree, path)
        if entry is not None and not entry.is_tree:
            return True
        if not any(each.startswith(f"{path}/") for each in self.changes):
            return entry is not None
        return bool(self.names(path))


def _find_problem_of_agents(objects: Objects, shared: _SharedTree) -> _Problem | None:
    """Return what would be wrong with the agents that are changed: two of one name, a message that nobody can get."""
    changed = {path[len(AGENT_FILES) :] for path in shared.changes if path.startswith(AGENT_FILES)}
    files = shared.names(AGENT_FILES[:-1]) if changed else set()
    names = {file: str(read_json(objects, shared.find(AGENT_FILES + file)).get("name")) for file in files}
    for file in sorted(changed):
        number = file.removesuffix(".json")
        same = [other for other, name in names.items() if other != file and name == names.get(file)]
        if same:
            other = same[0].removesuffix(".json").lstrip("0")
            text = f"another agent has got the name {names[file]!a}, number {other},"
            return _Problem(text, f"give that one another name: scopes agents update {quote(names[file])} --name NAME")
        problem = _find_lost_message(objects, shared, number, is_there=file in names)
        if problem is not None:
            return problem
    return None


def _find_lost_message(objects: Objects, shared: _SharedTree, number: str, *, is_there: bool) -> _Problem | None:
    """Return a problem if messages would be left for an agent that is gone, or wait for one that is available."""
    directory, name = INBOX_FILES + number, shared.name_of_agent(number)
    blobs = [shared.find(f"{directory}/{name}") for name in shared.names(directory)]
    if blobs and not is_there:
        text = f"agent {name} has got messages that it has not acknowledged"
        return _Problem(text, f"remove it: scopes agents remove {quote(name)}")
    agent = read_json(objects, shared.find(f"{AGENT_FILES}{number}.json"))
    if agent.get("available") is not False and any(read_json(objects, blob).get("queued") is True for blob in blobs):
        hint = f"deliver them: scopes agents available {quote(name)}"
        return _Problem(f"messages wait for agent {name}, which were sent", hint)
    return None


_NAMED: Mapping[str, Callable[[list[str]], str]] = {
    refs.SECRETS: lambda parts: f"the allow-list entry {parts[-1][:8]}",
    refs.SOURCE_PATHS: lambda parts: f"the path of source {''.join(parts)[:8]}",
    refs.COMMITS: lambda parts: f"what is recorded of commit {parts[2][:8] if len(parts) > 2 else parts[-1]}",
}


def _is_key(path: str) -> bool:
    return path.startswith(KEY_FILES)


def _describe(repository: Repository, ref: str, change: PathChange) -> str:
    """Return what a file of a shared ref is, in words."""
    parts = change.path.split("/")
    if ref == refs.AGENTS:
        return _describe_agent_file(repository, parts, _known([change.after, change.before]))
    if ref == refs.MEMORY:
        document = read_json(repository, next(_known([change.after, change.before]), None))
        return f"memory entry {str(document.get('id', parts[-1]))[:8]}"
    if ref in _NAMED:
        return _NAMED[ref](parts)
    if _is_key(change.path):
        return f"context key {decode_leaf(parts[-1])}"
    return f"{_describe_fact_file(parts[1:])} of {NamesOfUuids(repository).find(parts[0]) or parts[0]}"


def _describe_fact_file(parts: list[str]) -> str:
    match parts:
        case ["facts", key, _, name]:
            return f"fact {decode_leaf(key)}/{decode_leaf(name)}"
        case ["decisions", name]:
            return f"the decision about {decode_leaf(name)}"
        case [key, _, name]:
            return f"proposed fact {decode_leaf(key)}/{decode_leaf(name)}"
    return "what is known of the facts"


def _describe_agent_file(repository: Repository, parts: list[str], blobs: Iterator[Oid]) -> str:
    document = read_json(repository, next(blobs, None))
    number = parts[1].removesuffix(".json").lstrip("0")
    if parts[0] == "agents":
        return f"agent {document.get('name', number)}"
    message, where = str(document.get("message", ""))[:8], EntryConversations(repository).find_id(document)
    name = _SharedTree(repository, refs.AGENTS).name_of_agent(parts[1])
    return f"message {message} of {where} in the inbox of {name}"


def _known(blobs: Iterable[Oid | None]) -> Iterator[Oid]:
    return (blob for blob in blobs if blob is not None)
