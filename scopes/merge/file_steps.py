"""List the steps of the history of contested files: edits by tools, commands that wrote a file, and other claims.

A rename is a step of both paths. The steps of the old path lead to the new one if both sides made the same rename.
"""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scopes.history.messages import message_id_of
from scopes.ids import MessageId
from scopes.merge.conflict_keys import decoded_key
from scopes.merge.file_claims import FileClaim
from scopes.merge.side_calls import SideCall
from scopes.model.agent_tools import FILE_TOOLS, RESULT_RECORDS
from scopes.model.file_edits import FileEdit, command_of, directories_of_command, edits_of_call
from scopes.model.message import Part
from scopes.model.shell_commands import Removal, find_removals, is_repeatable, split_plain
from scopes.model.shell_effects import Path, find_effect, path_from
from scopes.model.shell_failures import may_write_when_failing
from scopes.model.shell_writers import read_actions
from scopes.model.working_trees import command_without_working_trees, without_working_tree, working_tree_of
from scopes.store.objects import Commit

_MAX_EDITS = 200  # of one file on one side
_MAX_RENAMES = 5  # of one file, one after the other
ReadRecords = Callable[[set[str]], Mapping[str, list[bytes]]]
"""Returns the source records of messages, by message id."""


class _Names(NamedTuple):
    """Returns the key of a path; and known keys of files, which show what a directory is."""

    key_of: Callable[[str], str]
    known: Collection[str]


class Step(NamedTuple):
    """One step of the history of a file: an edit by a tool, or a command that wrote the file, such as `Bash sed -i`.

    `cause` is the tool or command that changed the file, or what is known instead; it may be empty. `formats` is true
    for a command that changes only the format of the file, such as `Bash gofmt -w`. A claim without a recorded edit is
    a step with the hash of the text that it leads to, if that is in the claim. The paths in an edit are keys. `command`
    is a command line that makes the same text of the same text. `shared` is true for a message that the other side has
    too, by a cherry-pick: it was recorded for the text of one side only. `tree` is the working tree of an edit, empty
    for the one around the others.
    """

    message: MessageId
    agent: str
    cause: str
    edit: FileEdit | None = None
    formats: bool = False
    time: str | None = None
    content: str | None = None
    command: str | None = None
    shared: bool = False
    tree: str = ""

    @property
    def changes_file(self) -> bool:
        """False if this step only read the file."""
        return self.edit is None or self.edit.op != "read"


Steps = Mapping[str, Sequence[Step]]
"""The steps of files by key, oldest first."""


def list_sides(
    read_calls: Callable[[Collection[str]], tuple[Sequence[SideCall], Sequence[SideCall]]],
    key_of: Callable[[str], str],
    wanted: Mapping[str, str],
    read_records: ReadRecords,
    directory: str | None = None,
    *,
    known: Collection[str] = (),
) -> list[dict[str, list[Step]]]:
    """Return the steps of files on both sides, also those at the old paths of renames.

    read_calls: returns the calls of target and source about files with given names
    key_of: returns the key of a path
    wanted: the names of the files by key
    read_records: is called only as `list_steps` calls it
    directory: the working directory of the conversation
    known: keys of other files
    """
    names = dict(wanted)
    while True:
        read = read_calls(set(names.values()))
        sides = [list_steps(calls, key_of, names, read_records, directory, known=known) for calls in read]
        steps = [step for side in sides for found in side.values() for step in found]
        renamed = {path for step in steps if step.edit is not None for path in (step.edit.source, step.edit.target)}
        missing = {path for path in renamed if path is not None and path not in names}
        if not missing or len(names) > len(wanted) * _MAX_RENAMES:
            return sides
        names |= {key: name_of(key) for key in missing}


def name_of(key: str) -> str:
    """Return the last component of the path of a file, given its key."""
    return decoded_key(key).rpartition("/")[2]


def list_steps(
    calls: Iterable[SideCall],
    key_of: Callable[[str], str],
    wanted: Mapping[str, str],
    read_records: ReadRecords,
    directory: str | None = None,
    *,
    known: Collection[str] = (),
) -> dict[str, list[Step]]:
    """Return the steps of files by key, oldest first; `wanted` maps the keys of files to their names.

    `known` are keys of other files: a rename to a path above one of them moves into a directory.

    The source records are read only of messages whose stored results lack the text before an edit.
    """
    listed = [call for call in calls if not call.failed or may_write_when_failing(call.call)]
    touching = {
        call.message
        for call in listed
        for edit in edits_of_call(call.call, call.structured)
        if any(key_of(path) in wanted for path in (edit.path, edit.source) if path is not None)
    }
    imported = {str(call.message) for call in listed if call.message in touching and call.structured}
    records = read_records(imported) if imported else {}
    steps: dict[str, list[Step]] = {key: [] for key in wanted}
    root = None if directory is None else without_working_tree(directory)
    paths = {key: path_from(decoded_key(key).partition("/")[2], root) for key in wanted}
    names = _Names(key_of, known)
    for call in listed:
        for key, step in _read_command(call, paths, names, directory or ""):
            steps[key].append(step)
        structured = _structured_of(call, records.get(call.message, ()))
        for edit in edits_of_call(call.call, {**call.structured, **structured}) if call.message in touching else ():
            key, old = key_of(edit.path), None if edit.source is None else key_of(edit.source)
            edits = {key: edit._replace(path=key, source=old, before=_text_before(call, edit))}
            if old is not None and old != key:
                edits[old] = FileEdit(old, "delete", target=key)
            for each in edits.keys() & wanted.keys():
                tree = working_tree_of(posixpath.join(directory or "", edit.path))
                step = Step(call.message, call.agent, call.name, edits[each], time=call.time, tree=tree)
                steps[each].append(step._replace(edit=None, cause=f"{call.name} failed") if call.failed else step)
    return {key: _limited(_after_reset(found)) for key, found in steps.items()}


def _read_command(call: SideCall, paths: Mapping[str, Path], names: _Names, root: str) -> Iterator[tuple[str, Step]]:
    """Yield the step of a command for each file that it may have changed or removed, with the key of the file."""
    written = None if call.call is None else command_of(call.call)
    command = None if written is None else command_without_working_trees(written)
    directory = "" if call.call is None else absolute_directory(call, call.call)
    tree = working_tree_of(posixpath.join(root, directory)) if command == written else written
    directory = without_working_tree(directory)
    actions = () if command is None else read_actions(command, directory)
    if command is None or not actions:
        return
    parts = split_plain(command) if has_succeeded(call) else None
    is_certain = call.directory is not None and has_succeeded(call)
    repeatable = f"{call.directory}: {command}" if is_certain and is_repeatable(command) else None
    for key, path in paths.items():
        effect = find_effect(actions, path)
        if effect is not None:
            start = None if call.directory is None else without_working_tree(call.directory)
            edit = None if parts is None else _find_removal(parts, path, key, start, names)
            step = Step(call.message, call.agent, f"{call.name} {effect.cause}", edit, effect.formats, call.time)
            yield key, step._replace(command=repeatable, tree=tree or "")


def _find_removal(
    parts: Iterable[Sequence[str]],
    path: Path,
    key: str,
    directory: str | None,
    names: _Names,
) -> FileEdit | None:
    """Return the edit that a command line made of a file if it only removed or renamed it, else None."""
    edits: list[FileEdit] = []
    for words in parts:
        if words[:1] == ["cd"] and len(words) == 2 and not words[1].startswith("-"):
            is_known = directory is not None or posixpath.isabs(words[1])
            directory = posixpath.normpath(posixpath.join(directory or "", words[1])) if is_known else None
            continue
        removals = find_removals(words)
        if removals is None and find_effect(read_actions(shlex.join(words), directory or ""), path) is not None:
            return None
        for each in removals or ():
            if directory is None and not all(posixpath.isabs(name) for name in (each.path, each.new) if name):
                return None
            edit = _read_removal(each, key, directory or "", names)
            if edit is not None and edit.path != key:
                return None
            edits += [] if edit is None else [edit]
    last = edits[-1] if edits else None
    return last if last is not None and (len(edits) == 1 or last.op == "delete") else None


def _read_removal(removal: Removal, key: str, directory: str, names: _Names) -> FileEdit | None:
    """Return what a removal or a rename did to a file; the path is empty if the new place of the file is unknown.

    A file that is renamed to a path above another file moves into that directory. So does a directory, if the other
    file was not in it.
    """
    old, new, into = (
        None if path is None else names.key_of(posixpath.normpath(posixpath.join(directory, path)))
        for path in (removal.path, removal.new, removal.into)
    )
    if new is not None and into is not None:
        below = [each[len(new) :] for each in names.known if each.startswith(f"{new}/")]
        is_tree = key.startswith(f"{old}/") or any(each.startswith(f"{old}/") for each in names.known)
        if is_tree and any(f"{old}{rest}" not in names.known for rest in below):
            return FileEdit("", "edit") if key.startswith((f"{old}/", f"{new}/")) else None
        new = into if below and not is_tree else new
    if key == old or key.startswith(f"{old}/"):
        return FileEdit(key, "delete", target=None if new is None else f"{new}{key.removeprefix(old or '')}")
    if new is not None and (key == new or key.startswith(f"{new}/")):
        return FileEdit(key, "rename", source=f"{old}{key.removeprefix(new)}")
    return None


def absolute_directory(call: SideCall, part: Part) -> str:
    """Return the directory in which a command began if it is known as an absolute path; else an empty text."""
    named = next((named for named in directories_of_command(part) if posixpath.isabs(named)), "")
    return named or (call.directory if call.directory is not None and posixpath.isabs(call.directory) else "")


def _after_reset(steps: Sequence[Step]) -> list[Step]:
    """Return steps without the git commands before an edit that has the whole text: the side began with that text."""
    first = next((at for at, step in enumerate(steps) if step.edit is not None), 0)
    edit = steps[first].edit if steps else None
    if edit is None or (edit.before is None and edit.op != "read"):
        return list(steps)
    return [step for step in steps[:first] if " git " not in step.cause] + list(steps[first:])


def _text_before(call: SideCall, edit: FileEdit) -> str | None:
    """Return the text before an edit; `*** Add File` of a patch also replaces a file, whose text is not recorded."""
    return None if edit.op == "create" and call.name not in FILE_TOOLS else edit.before


def has_succeeded(call: SideCall) -> bool:
    """Return True if the result proves it: an exit code or a flag."""
    fields = call.result.fields
    given = {} if call.call is None else call.call.fields.get("input")
    background = isinstance(given, dict) and given.get("run_in_background") is True
    return not background and (fields.get("exit_code") == 0 or fields.get("is_error") is False)


def follow_renames(key: str, found: Sequence[Sequence[Step]], sides: Sequence[Steps]) -> tuple[str, list[list[Step]]]:
    """Return the key that a file had at the merge base, and its steps on each side, given those at its last path.

    If the renames of the sides lead to different paths, each is a step with an unknown result.
    """
    traced = [_trace(key, steps, side, _MAX_RENAMES) for steps, side in zip(found, sides, strict=True)]
    origins = {origin for origin, _ in traced}
    if len(origins) == 1 and None not in origins:
        return origins.pop() or key, [steps for _, steps in traced]
    return key, [[step._replace(edit=None) if _is_rename(step) else step for step in steps] for steps in found]


def _trace(key: str, steps: Sequence[Step], side: Steps, limit: int) -> tuple[str | None, list[Step]]:
    """Return the first path of a file on one side and its steps from there, given those at its last path.

    The path is None if a rename comes from a path whose steps are unknown.
    """
    last = max((at for at, step in enumerate(steps) if _is_rename(step)), default=None)
    if last is None:
        return key, list(steps)
    edit = steps[last].edit
    source = None if edit is None else edit.source
    if source is None or source not in side or limit == 0:
        return None, list(steps)
    origin, earlier = _trace(source, _until(side[source], steps[last]), side, limit - 1)
    return origin, [*earlier, *steps[last:]]


def find_last_path(key: str, side: Steps) -> str | None:
    """Return the path that a file has after all renames of one side; None if it was deleted."""
    path, start = key, 0
    for _ in range(_MAX_RENAMES):
        steps = side.get(path, ())[start:]
        last = steps[-1].edit if steps else None
        if last is None or last.op != "delete":
            return path
        if last.target is None:
            return None
        message, path = steps[-1].message, last.target
        later = side.get(path, ())
        start = next((at for at, step in enumerate(later) if step.message == message), len(later))
    return path


def list_trees(steps: Iterable[Step]) -> set[str]:
    """Return the working trees in which steps changed a file; one that made the text unknown does not count."""
    return {step.tree for step in steps if step.changes_file and step.edit is not None}


def without_other_reads(steps: Sequence[Step]) -> Sequence[Step]:
    """Return steps without the reads of a file in other working trees than those in which it was changed."""
    trees = list_trees(steps)
    return [step for step in steps if step.changes_file or not trees or step.tree in trees]


def _is_rename(step: Step) -> bool:
    return step.edit is not None and step.edit.op == "rename"


def _until(steps: Sequence[Step], rename: Step | None) -> list[Step]:
    """Return the steps of the old path of a rename before it."""
    found: list[Step] = []
    for step in steps:
        if rename is not None and step.message == rename.message and step.edit is not None and step.edit.op == "delete":
            break
        found.append(step)
    return found


def add_claims(steps: Sequence[Step], claims: Iterable[FileClaim], order: Mapping[MessageId, int]) -> list[Step]:
    """Add the claims of messages that have no recorded step; `order` is the position of each message on its side."""
    recorded = {step.message: order.get(step.message, -1) for step in steps if step.changes_file}
    last = max(recorded.values(), default=None)
    added: list[Step] = []
    for claim in claims:
        if claim.message not in recorded:
            is_last = last is not None and order.get(claim.message, -1) > last
            cause = "changed after its last recorded edit" if is_last else "changed without a recorded edit"
            added.append(Step(claim.message, claim.agent, "" if last is None else cause, content=claim.content))
    return sorted([*steps, *added], key=lambda step: order.get(step.message, -1)) if added else list(steps)


def mark_shared(steps: Sequence[Step], commits: Sequence[Commit], shared: Collection[MessageId]) -> list[Step]:
    """Mark the steps in shared messages, and add unknown steps where histories were merged; see `_add_merges`.

    `commits` are those of the side, oldest first.
    """
    marked = [step._replace(shared=True) if step.message in shared else step for step in steps]
    return _add_merges(marked, commits)


def _add_merges(steps: list[Step], commits: Sequence[Commit]) -> list[Step]:
    """Make the text unknown at merge commits: the text that a merge led to is recorded by a later step only.

    That is so after steps on a merged branch. A merge of a commit before the first one of the side also hides the
    steps before it: they did not begin with the text of the merge base.
    """
    by_oid = {commit.oid: commit for commit in commits}
    chain: set[MessageId] = set()
    commit = commits[-1] if commits else None
    while commit is not None:
        chain.add(message_id_of(commit))
        commit = by_oid.get(commit.parents[0]) if commit.parents else None
    merges = [(at, commit) for at, commit in enumerate(commits) if len(commit.parents) > 1]
    order = {message_id_of(commit): at for at, commit in enumerate(commits)}
    positions = [order.get(step.message, -1) for step in steps]
    found: list[Step] = []
    for step, position in zip(steps, positions, strict=True):
        is_hidden = any(at > position and not by_oid.keys() >= {*commit.parents[1:]} for at, commit in merges)
        found.append(step._replace(edit=None, cause="a merge") if is_hidden and step.changes_file else step)
    changed = [(at, step) for at, step in zip(positions, steps, strict=True) if step.changes_file]
    cuts = [
        (place, Step(message_id_of(commit), "", "a merge"))
        for place, commit in merges
        if any(at < place and step.message not in chain for at, step in changed)
    ]
    if not cuts:
        return found
    placed = [*zip(positions, found, strict=True), *cuts]
    return [step for _, step in sorted(placed, key=lambda each: each[0])]


def _limited(steps: list[Step]) -> list[Step]:
    """Return the first step and the last ones: they decide about the texts at the merge base and at the tip.

    A step between them makes the text unknown, until one of the last ones records the whole text.
    """
    if len(steps) <= _MAX_EDITS:
        return steps
    cut = Step(steps[1].message, steps[1].agent, f"more than {_MAX_EDITS} edits", time=steps[1].time)
    return [steps[0], cut, *steps[2 - _MAX_EDITS :]]


def _structured_of(call: SideCall, records: Iterable[bytes]) -> dict[str, Any]:
    """Return the structured result of a call in the records of its message; empty if they have none."""
    call_id = call.result.fields.get("call_id")
    name = json.dumps(call_id).encode() if isinstance(call_id, str) else b""
    for line in (line for data in records for line in data.splitlines() if name and name in line):
        record = _parse(line)
        for field in RESULT_RECORDS:
            found = record.get(field)
            if isinstance(found, dict):
                return found
    return {}


def _parse(line: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
