"""Record and explain purged content that a purge could not remove: what contains it, and how to remove it.

After the messages are purged, the texts to search for are no longer known. So the objects and files in which something
was found are kept in a file of the store, with the hashes of what was purged, until they are gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any, Final, NamedTuple

from scopes.history.messages import is_root
from scopes.history.names import conversation_ids, find_root_commit
from scopes.history.sources import SOURCES, Purged, read_source_record, with_last_path
from scopes.ids import ConversationId, Oid
from scopes.purge.all_commits import is_history, list_operations, walk_all_commits, walk_known
from scopes.purge.names_that_stay import is_file_of_names
from scopes.purge.proof import find_names
from scopes.result import Note
from scopes.store import refs
from scopes.store.config import read_json, write_json
from scopes.store.objects import TREE, Commit, parse_tree, read_data
from scopes.store.repository import Repository

FILE: Final = "left-of-purges.json"
_OBJECT: Final = re.compile(r"object ([0-9a-f]{40})")
_SHORT: Final = 8
_ROOT: Final = 12
_THEN: Final = "then: scopes purge --continue"


class _Left(NamedTuple):
    """What one purge has left: the hashes of what was purged, the objects, and the files with their times."""

    of: frozenset[str]
    objects: frozenset[str]
    files: Mapping[str, int]


def has_left(store: str) -> bool:
    """Return True if a purge has left content that may still be there."""
    return bool(_read(store))


def with_earlier(repository: Repository, purged: Purged, left: Sequence[str]) -> tuple[str, ...]:
    """Return what is left, including what earlier purges of the same content have left and is still there; record it.

    Call it under the exclusive lock.

    purged: what is purged now; if it is empty, all earlier purges count
    """
    about = frozenset((*purged.messages, *purged.conversations))
    earlier = _read(repository.path)
    names = find_names(repository) if earlier else frozenset()
    known = [_still(repository, each, names) for each in earlier]
    objects = frozenset(match[1] for each in left if (match := _OBJECT.match(each)) is not None)
    files = {path: time for path in left if (time := _time_of(path)) is not None}
    same = [each for each in known if not about or about & each.of]
    found = dict.fromkeys(left)
    found |= dict.fromkeys(f"object {oid}" for each in same for oid in sorted(each.objects - objects))
    found |= dict.fromkeys(path for each in same for path in each.files)
    if left:
        known.append(_Left(about, objects, files))
    _write(repository, [each for each in known if each.objects or each.files])
    return tuple(found)


def _still(repository: Repository, left: _Left, names: Container[str]) -> _Left:
    """Return what is still there, without mere names, which an earlier version of scopes also recorded."""
    files = {
        path: time
        for path, time in left.files.items()
        if _time_of(path) == time and not is_file_of_names(repository.path, path)
    }
    found = (oid for oid in left.objects if oid not in names and repository.has(Oid(oid)))
    return left._replace(objects=frozenset(found), files=files)


def _time_of(path: str) -> int | None:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return None


def _read(store: str) -> list[_Left]:
    match read_json(store, FILE):
        case {"v": 1, "left": list(found)}:
            return [
                _Left(frozenset(each["of"]), frozenset(each["objects"]), dict(each["files"]))
                for each in found
                if isinstance(each, dict) and each.keys() >= {"of", "objects", "files"}
            ]
    return []


def _write(repository: Repository, left: Sequence[_Left]) -> None:
    found: list[dict[str, Any]] = [
        {"of": sorted(each.of), "objects": sorted(each.objects), "files": dict(each.files)} for each in left
    ]
    if found or read_json(repository.path, FILE) is not None:
        write_json(repository.path, FILE, {"v": 1, "left": found} if found else None)


def explain_left(repository: Repository, left: Sequence[str]) -> tuple[Note, ...]:
    """Return notes about what keeps objects with purged content reachable, each with a hint how to remove it."""
    wanted = frozenset(Oid(match[1]) for each in left if (match := _OBJECT.match(each)) is not None)
    return tuple(dict.fromkeys(_walk_notes(repository, wanted))) if wanted else ()


def _walk_notes(repository: Repository, wanted: frozenset[Oid]) -> Iterator[Note]:
    values = {ref: Oid(value) for ref, value in repository.list_refs().items() if not value.startswith(refs.SYMBOLIC)}
    log = list_operations(repository, values.get(refs.OPERATIONS))
    search = _Search(repository, wanted)
    names = {find_root_commit(repository, name): name for name in conversation_ids(repository)}
    roots: dict[Oid, Oid] = {}
    parents: dict[Oid, Sequence[Oid]] = {}  # of commits outside of histories and of the operation log
    holding: set[Oid] = set()
    for commit, _ in walk_all_commits(repository, values.values()):
        if search.has_one(commit):
            holding.add(commit.oid)
        if commit.oid in log:
            continue
        if not is_history(commit):
            parents[commit.oid] = commit.parents
            continue
        root = commit.oid if is_root(commit) else _root_of(commit, roots)
        if root is not None:
            roots[commit.oid] = root
            if commit.oid in holding and holding.isdisjoint(commit.parents):  # what is above has its state
                yield _note_message(values, names, root, commit)
    for ref in _walk_refs_above(values, parents, holding):
        yield _note_ref(repository, ref, values[ref])
    if not holding.isdisjoint(log):
        yield Note("the log of operations has it", f"undo is lost with it: scopes gc --expire now --yes; {_THEN}")
    if unreached := wanted - search.found:
        yield Note(f"nothing reaches object {min(unreached)}", f"delete it: scopes gc; {_THEN}")


def _walk_refs_above(
    values: Mapping[str, Oid], parents: Mapping[Oid, Sequence[Oid]], holding: Container[Oid]
) -> Iterator[str]:
    """Yield the refs other than branches from which one of the `holding` commits is reachable through `parents`."""
    for ref, tip in values.items():
        if not ref.startswith(refs.HEADS) and any(oid in holding for oid in walk_known([tip], parents)):
            yield ref


def _root_of(commit: Commit, roots: Mapping[Oid, Oid]) -> Oid | None:
    return next((roots[parent] for parent in commit.parents if parent in roots), None)


def _note_message(
    values: Mapping[str, Oid], names: Mapping[Oid | None, ConversationId], root: Oid, commit: Commit
) -> Note:
    what = "the root" if commit.message_id is None else f"message {commit.message_id[:_SHORT]}"
    if root in names:
        name = names[root]
        cure = f"scopes purge {quote(name)} " + ("--whole" if commit.message_id is None else commit.message_id[:_SHORT])
        return Note(f"{what} of {name} has it", f"purge it too: {cure}")
    short = root[:_ROOT]
    remotes = [ref.split("/")[-2] for ref in values if ref.startswith(refs.REMOTES) and ref.endswith(f"/{root}")]
    if not remotes:
        return Note(
            f"the conversation {short} has it, which is in the trash, or was undone",
            f"purge it too: scopes purge {short} --whole",
        )
    cure = f"purge it too: scopes purge {short} --whole, then: scopes push {quote(remotes[0])} --purged"
    return Note(
        f"the conversation {short} of {' and '.join(remotes)} has it, which is not here any more, or was never taken",
        f"{cure}; or take it, and purge messages of it: scopes pull {short}",
    )


def _note_ref(repository: Repository, ref: str, tip: Oid) -> Note:
    """Return a note about a ref that is not a branch: a transcript, metadata, a tracking ref or another one."""
    if ref.startswith(SOURCES):
        path = with_last_path(repository, read_source_record(repository, tip)).path
        return Note(
            f"the stored transcript {path or ref.removeprefix(SOURCES)} has it",
            "purge the conversation that was imported from it: scopes purge CONV --whole",
        )
    name = refs.conversation_of(ref)
    if name is not None:
        return Note(f"the metadata of {name} have it", f"change them, or: scopes purge {quote(name)} --whole")
    if ref.startswith((refs.REMOTES, refs.REMOTE_SOURCES)):
        remote, _, root = ref.removeprefix(refs.REMOTES).removeprefix(refs.REMOTE_SOURCES).rpartition("/")
        text = f"what {remote} had of the conversation {root[:_ROOT]} has it"
        return Note(
            text, f"purge it too: scopes purge {quote(root[:_ROOT])} --whole; or see: scopes pull {quote(root[:_ROOT])}"
        )
    return Note(f"{ref} has it", f"remove what quotes it; {_THEN}")


class _Search:
    """Looks for objects in trees, each of which is read once."""

    def __init__(self, repository: Repository, wanted: frozenset[Oid]) -> None:
        self._repository = repository
        self._wanted = wanted
        self._known: dict[Oid, bool] = {}
        self.found: set[Oid] = set()

    def has_one(self, commit: Commit) -> bool:
        """Return True if a commit is one of the objects, or if its tree has one."""
        if commit.oid in self._wanted:
            self.found.add(commit.oid)
        return self._is_in(commit.tree) or commit.oid in self._wanted

    def _is_in(self, tree: Oid) -> bool:
        if tree not in self._known:
            entries = parse_tree(read_data(self._repository, tree, TREE)).values()
            found = self._wanted.intersection((tree, *(entry.oid for entry in entries)))
            self.found |= found
            below = [self._is_in(entry.oid) for entry in entries if entry.is_tree]
            self._known[tree] = bool(found) or any(below)
        return self._known[tree]
