"""Put what was written on top of an old reading of sources on top of the new one.

Messages of the sources are replaced by what they are now; all others (appended ones, amendments, merges) keep their
ids and are written again on the new ones, with the new ids in what they say about them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scopes.history.handles import MAP_FILE
from scopes.history.messages import MESSAGE_FILE, STATE_DIRECTORY, is_root, message_id_of
from scopes.ids import MessageId, Oid
from scopes.importers.session_commits import Segment
from scopes.model import encoding
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    TREE,
    Commit,
    Identity,
    Objects,
    TreeEntry,
    find_in_tree,
    format_commit,
    format_tree,
    one_line,
    parse_tree,
    read_blob,
    read_commit,
    read_data,
    read_tree,
    update_tree,
)

_MESSAGES = "messages"
_REPLACED = (b"tree ", b"parent ", b"gpgsig", b"mergetag")  # a signature would be that of another commit


_KIND = re.compile(rb"^Scopes-Kind: .*$", re.MULTILINE)


def edit_commit(
    data: bytes, tree: Oid, parents: Iterable[Oid], *, subject: str | None = None, kind: str | None = None
) -> bytes:
    """Return the bytes of a commit with another tree and parents, and another subject and kind if they are given."""
    head, gap, body = data.partition(b"\n\n")
    above = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    if subject is not None:
        body = one_line(subject).encode() + body[len(body.partition(b"\n")[0]) :]
    if kind is not None:
        body = _KIND.sub(b"Scopes-Kind: " + kind.encode(), body)
    return b"\n".join([*above, *_walk_kept(head.split(b"\n"))]) + gap + body


def _walk_kept(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the header lines that stay; a line that begins with a blank belongs to the one before."""
    is_kept = True
    for line in lines:
        if not line.startswith(b" "):
            is_kept = not line.startswith(_REPLACED)
        if is_kept:
            yield line


_ANYWHERE: Final = re.compile(
    rb"(?P<before>)(?<![0-9a-z])(?:(?P<commit>[0-9a-f]{40})|(?P<message>[a-z2-7]{26}))(?P<after>)(?![0-9a-z])"
)
_QUOTED: Final = re.compile(rb'(?P<before>")(?:(?P<commit>[0-9a-f]{40})|(?P<message>[a-z2-7]{26}))(?P<after>")')
_SUFFIX: Final = "="


@dataclass(slots=True)
class IdMap:
    """New ids of commits and of messages; those that are not in it stay."""

    commits: dict[Oid, Oid] = field(default_factory=dict)
    messages: dict[MessageId, MessageId] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(old != new for old, new in self.commits.items()) or bool(self.messages)

    def commit(self, oid: Oid) -> Oid:
        """Return the new id of a commit."""
        return self.commits.get(oid, oid)

    def message(self, name: MessageId) -> MessageId:
        """Return the new id of a message."""
        return self.messages.get(name, name)

    def substitute(self, data: bytes, *, anywhere: bool = False) -> bytes:
        """Return a file with the new ids in place of the old ones: in JSON where an id is a whole text, or anywhere."""

        def new(match: re.Match[bytes]) -> bytes:
            commit, message = match["commit"], match["message"]
            found = self.commit(Oid(commit.decode())) if commit else self.message(MessageId(message.decode()))
            return match["before"] + found.encode() + match["after"]

        return (_ANYWHERE if anywhere else _QUOTED).sub(new, data)

    def substitute_tree(self, objects: Objects, tree: Oid, *, anywhere: bool = False) -> Oid:
        """Write a tree again with the new ids in its files and in the names of its entries."""
        entries = []
        for name, entry in read_tree(objects, tree).items():
            plain, end = name.removesuffix(_SUFFIX), name[len(name.removesuffix(_SUFFIX)) :]
            known = self.message(MessageId(plain)) if MessageId(plain) in self.messages else plain
            if entry.is_tree:
                oid = self.substitute_tree(objects, entry.oid, anywhere=anywhere)
            else:
                oid = self.substitute_blob(objects, entry.oid, anywhere=anywhere)
            entries.append(TreeEntry(f"{known}{end}", oid, is_tree=entry.is_tree))
        return objects.write(TREE, format_tree(entries)) if entries else EMPTY_TREE

    def substitute_blob(self, objects: Objects, blob: Oid, *, anywhere: bool = False) -> Oid:
        """Write a file again with the new ids."""
        data = read_blob(objects, blob)
        new = self.substitute(data, anywhere=anywhere)
        return blob if new == data else objects.write(BLOB, new)


def write_map(objects: Objects, root: Oid, ids: IdMap, *, subject: str, previous: Oid | None = None) -> Oid:
    """Write which commits and messages of the conversation with this root became which; return the commit."""
    commits: dict[str, Any] = {str(old): str(new) for old, new in ids.commits.items()}
    messages: dict[str, Any] = {str(old): str(new) for old, new in ids.messages.items()}
    data = encoding.dump({"v": 1, "root": root, "commits": commits, "messages": messages})
    tree = update_tree(objects, None, {MAP_FILE: data})
    author = Identity("scopes", "scopes@systems.scopes")
    parents = () if previous is None else (previous,)
    return objects.write(COMMIT, format_commit(tree=tree, parents=parents, author=author, time=0, subject=subject))


def map_messages(old: Sequence[Segment], new: Sequence[Segment]) -> dict[MessageId, MessageId]:
    """Return the new id of each message of a source that has another one now.

    That is the message which has the first byte of the old one, or else its native id.
    """
    kept = {segment.message for segment in new if segment.message}
    spans = sorted((*segment.span, segment.message) for segment in new if segment.message and segment.span.length)
    starts = [offset for offset, _, _ in spans]
    natives: defaultdict[str, list[MessageId]] = defaultdict(list)
    for segment in new:
        for native in segment.native_ids if segment.message else ():
            if segment.message and segment.message not in natives[native]:
                natives[native].append(segment.message)
    found: dict[MessageId, MessageId] = {}
    seen: defaultdict[str, list[MessageId]] = defaultdict(list)
    for segment in old:
        message = segment.message
        if message is None or message in kept or message in found:
            continue
        same = None
        for native in segment.native_ids:
            if message not in seen[native]:
                seen[native].append(message)
            position = seen[native].index(message)
            same = same or next(iter(natives[native][position : position + 1]), None)
        place = bisect_right(starts, segment.span.offset) - 1
        if same is None and place >= 0 and segment.span.offset < spans[place][0] + spans[place][1]:
            same = spans[place][2]
        if same is not None:
            found[message] = same
    return found


def map_commits(objects: Objects, old_tips: Iterable[Oid], new_tips: Iterable[Oid], ids: IdMap) -> set[Oid]:
    """Add the new commits of the messages of sources to the map; return the old ones.

    A message that is none any more becomes the one before it.
    """
    new = list(walk_oldest_first(objects, new_tips))
    same = {commit.oid for commit in new}
    by_message: dict[MessageId, Oid] = {}
    for commit in new:
        by_message.setdefault(message_id_of(commit), commit.oid)
    old: set[Oid] = set()
    for commit in walk_oldest_first(objects, old_tips):
        old.add(commit.oid)
        if is_root(commit) or commit.oid in same:
            continue
        found = by_message.get(ids.message(message_id_of(commit)))
        before = ids.commit(commit.parents[0]) if commit.parents else commit.oid
        ids.commits[commit.oid] = before if found is None else found
    return old


class HistoryRewriter:
    """Rewrites commits that are not of a source, given parents first; `ids` gets their new ids."""

    def __init__(self, objects: Objects, ids: IdMap) -> None:
        self._objects = objects
        self._ids = ids

    def rewrite(self, commit: Commit) -> None:
        """Rewrite one commit, if it is above one that changes, or names a message that does."""
        parents = tuple(map(self._ids.commit, commit.parents))
        entries = parse_tree(read_data(self._objects, commit.tree, TREE))
        found = entries.get(MESSAGE_FILE)
        if found is not None and not found.is_tree:
            entries[MESSAGE_FILE] = found._replace(oid=self._ids.substitute_blob(self._objects, found.oid))
        state = self._state_of(commit, parents, entries.get(STATE_DIRECTORY))
        entries.pop(STATE_DIRECTORY, None)
        if state is not None:
            entries[STATE_DIRECTORY] = TreeEntry(STATE_DIRECTORY, state, is_tree=True)
        tree = self._objects.write(TREE, format_tree(entries.values()))
        if (tree, parents) != (commit.tree, commit.parents):
            data = read_data(self._objects, commit.oid, COMMIT)
            self._ids.commits[commit.oid] = self._objects.write(COMMIT, edit_commit(data, tree, parents))

    def _state_of(self, commit: Commit, parents: Sequence[Oid], entry: TreeEntry | None) -> Oid | None:
        """Return the state of the first new parent, with what the commit has changed in that of the old one."""
        own = None if entry is None else entry.oid
        if not parents:
            return own
        before, after = self._find_state(commit.parents[0]), self._find_state(parents[0])
        try:
            state = take_changes(self._objects, before, after, own)
        except ValueError:  # a name is that of a file here and of a directory there: the new reading has the last word
            state = after
        return None if state is None else self._rename_messages(state)

    def _find_state(self, oid: Oid) -> Oid | None:
        tree = read_commit(self._objects, oid).tree
        entry = find_in_tree(read_data(self._objects, tree, TREE), STATE_DIRECTORY)
        return entry.oid if entry is not None and entry.is_tree else None

    def _rename_messages(self, state: Oid) -> Oid:
        """Write the claims about messages under the new ids of these."""
        entries = parse_tree(read_data(self._objects, state, TREE))
        found = entries.get(_MESSAGES)
        if found is None or not found.is_tree:
            return state
        entries[_MESSAGES] = found._replace(oid=self._ids.substitute_tree(self._objects, found.oid))
        return self._objects.write(TREE, format_tree(entries.values()))


def take_changes(objects: Objects, base: Oid | None, target: Oid | None, source: Oid | None) -> Oid | None:
    """Write a copy of `target` with everything in which `source` differs from `base`; return its id, None if empty.

    Whole trees are taken where only one side has changed anything, so that many new files are not read.

    Raises:
        ValueError: a name is that of a file and of a directory.
    """
    trees = [None if tree == EMPTY_TREE else tree for tree in (base, target, source)]
    base, target, source = trees
    if source in {base, target}:
        return target
    if target == base:
        return source
    before, entries, after = ({} if tree is None else read_tree(objects, tree) for tree in trees)
    for name in before.keys() | after.keys():
        old, new, own = before.get(name), after.get(name), entries.get(name)
        if old == new:
            continue
        if len({entry.is_tree for entry in (old, new, own) if entry is not None}) > 1:
            raise ValueError(name)
        found = None if new is None else new.oid
        if any(entry is not None and entry.is_tree for entry in (old, new)):
            found = take_changes(objects, *(None if entry is None else entry.oid for entry in (old, own, new)))
        if found is None:
            entries.pop(name, None)
        else:
            entries[name] = TreeEntry(name, found, is_tree=any(each.is_tree for each in (old, new) if each is not None))
    return objects.write(TREE, format_tree(entries.values())) if entries else None
