"""Find files that both sides touched though their claims do not show it: by a command, or by two different renames."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from scopes.history.messages import message_id_of
from scopes.ids import MessageId, Oid
from scopes.merge.conflict_keys import comparable_file_key, comparable_key, group_of, type_of
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence, PathChange, PathChanges, Side
from scopes.merge.side_calls import COMMAND_NAMES, SideCall, has_any
from scopes.model.claims import FILES
from scopes.model.file_edits import command_of, edits_of_call
from scopes.model.message import Part
from scopes.model.shell_words import ANY, ONE, STAR
from scopes.model.shell_writers import read_actions

_WRITERS = ("rm", "mv", "sed", "perl", "tee", "cp", "truncate", "patch", "checkout", "restore")
_WRITER = re.compile(rf"\b(?:{'|'.join(_WRITERS)}) ".encode())
_WRITER_WORDS = tuple(f"{name} ".encode() for name in _WRITERS)  # without the word boundary they are found much faster
_RENAMES = (b"move_path", b"*** Move to: ")
_REMOVALS = frozenset({"rm", "git rm", "mv", "git mv"})
_IN_PLACE = ("sed ", "perl ")


class Touch(NamedTuple):
    """What one call did to files: the old and the new path of renames, and the paths that a command names, with it.

    If `agent` is set, `named` holds only as long as the agent has not changed its directory before; else `absolute`.
    """

    message: MessageId
    renames: tuple[tuple[str, str], ...]
    named: tuple[tuple[str, str], ...]
    agent: str | None = None
    absolute: tuple[tuple[str, str], ...] = ()


class _Touched(NamedTuple):
    """What the calls of one side touched, by key: files that commands name, removed paths, and renames.

    `changed` are the files that a command removed or edited in place.
    """

    named: dict[str, MessageId]
    removed: dict[str, MessageId]
    renamed: dict[str, str]
    changed: set[str]


def may_touch(data: bytes) -> bool:
    """Return True if the stored bytes of a message may have a command that names a file to write, or a rename."""
    if has_any(data, _RENAMES):
        return True
    if not has_any(data, COMMAND_NAMES) or not has_any(data, _WRITER_WORDS):
        return False
    return _WRITER.search(data) is not None


def list_touches(calls: Iterable[SideCall]) -> list[Touch]:
    """Return what calls did to files, the last of equal ones only, oldest first."""
    found: dict[tuple[object, ...], Touch] = {}
    for call in calls:
        touch = _touch_of(call)
        if touch is not None:
            found.pop(touch[1:], None)
            found[touch[1:]] = touch
    return [*found.values()]


def _touch_of(call: SideCall) -> Touch | None:
    if call.failed or call.call is None:
        return None
    edits = edits_of_call(call.call, call.structured)
    renames = tuple((edit.source, edit.path) for edit in edits if edit.source is not None)
    named = tuple(_named_paths(call, call.call))
    if not renames and not named:
        return None
    if not call.unless_moved:
        return Touch(call.message, renames, named)
    absolute = tuple(_named_paths(call._replace(directory=None), call.call))
    return Touch(call.message, renames, named, call.agent, absolute)


def find_unclaimed_changes(
    divergence: Divergence, touches: Sequence[Sequence[Touch]], known: Collection[str]
) -> list[Disagreement]:
    """Return a disagreement for each file, not in `known`, that both sides touched, at least one by a command.

    `touches` are those of target and source, by calls in messages that `may_touch` files. A file counts if a command
    names it, or removes a directory above it. A file that only commands touched counts if it is in the directory of the
    conversation and both sides removed it or edited it in place.
    """
    if not any(touches):
        return []
    directory = divergence.directory
    sides = divergence.target, divergence.source
    claimed = [_claimed(side, directory) for side in sides]
    touched = [_read_touched(each, directory) for each in touches]
    found = _find_touched_by_both(claimed, touched)
    listed = []
    oids = [_oids_of(side, [messages[at] for messages in found.values()]) for at, side in enumerate(sides)]
    for key, messages in sorted(found.items()):
        if key not in known:
            added = [tuple(oids[at][message] for message in (messages[at],) if message in oids[at]) for at in (0, 1)]
            changes = [each.get(key, {}) for each in claimed]
            listed.append(Disagreement(key, type_of(key, added=False), changes[0], changes[1], added[0], added[1]))
    return listed


def _find_touched_by_both(
    claimed: Sequence[Mapping[str, PathChanges]], touched: Sequence[_Touched]
) -> dict[str, tuple[MessageId | None, MessageId | None]]:
    """Return the keys of files that both sides touched, with the messages of the commands that did."""
    found: dict[str, tuple[MessageId | None, MessageId | None]] = {}
    for number, other in ((0, 1), (1, 0)):
        for key in claimed[other].keys() - claimed[number].keys() if touched[number].named else ():
            message = touched[number].named.get(key) or _find_above(key, touched[number].removed)
            if message is not None:
                found[key] = (message, None) if number == 0 else (None, message)
    both = touched[0].changed & touched[1].changed
    for key in both - {posixpath.dirname(key) for each in claimed for key in each} if both else ():
        if not any(key in each for each in claimed) and not key.startswith(f"{FILES}/%2F"):
            found[key] = touched[0].named[key], touched[1].named[key]
    for key in claimed[0].keys() & claimed[1].keys():
        if touched[0].renamed.get(key) != touched[1].renamed.get(key):
            found[key] = None, None
    return found


def _claimed(side: Side, directory: str | None) -> dict[str, dict[str, PathChange]]:
    """Return the changes of claims about files, by comparable key and path."""
    found: dict[str, dict[str, PathChange]] = {}
    for key, changes in side.changes.items():
        if group_of(key) == FILES:
            found.setdefault(comparable_key(key, directory), {}).update(changes)
    return found


def _read_touched(touches: Iterable[Touch], directory: str | None) -> _Touched:
    found = _Touched({}, {}, {}, set())
    key_of = lru_cache(maxsize=None)(partial(comparable_file_key, directory=directory))
    for touch in touches:
        for old, new in touch.renames:
            found.renamed[key_of(old)] = key_of(new)
        for path, cause in touch.named:
            key = key_of(path)
            found.named[key] = touch.message
            if cause in _REMOVALS:
                found.removed[key] = touch.message
            if cause in _REMOVALS or cause.startswith(_IN_PLACE):
                found.changed.add(key)
    return found


def _named_paths(call: SideCall, part: Part) -> Iterator[tuple[str, str]]:
    """Yield the paths that a command names and may change, each with the command."""
    command = command_of(part)
    for action in () if command is None else read_actions(command):
        words = tuple(filter(None, action.operands)) if not action.formats else ()
        for word in words[1:] if action.cause.startswith(_IN_PLACE) else words:  # the first one is the script
            path = posixpath.join(call.directory or "", action.directory, word)
            is_known = call.directory is not None or posixpath.isabs(path)
            if is_known and not any(mark in path for mark in (STAR, ONE, ANY)):
                yield path, action.cause


def _find_above(key: str, removed: dict[str, MessageId]) -> MessageId | None:
    """Return the message with the command that removed a directory above a file."""
    parts = key.split("/")
    return next((removed[above] for size in range(2, len(parts)) if (above := "/".join(parts[:size])) in removed), None)


def _oids_of(side: Side, messages: Iterable[MessageId | None]) -> dict[MessageId | None, Oid]:
    wanted = {message for message in messages if message is not None}
    return (
        {message_id_of(commit): commit.oid for commit in side.commits if message_id_of(commit) in wanted}
        if wanted
        else {}
    )
