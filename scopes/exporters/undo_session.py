"""What becomes of the file of a session when its registration is undone or redone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from scopes.conversation.undo import Undone
from scopes.exporters.session_files import DATABASE, FILE, KIND, delete_unchanged, digest_of_file, prepared_file
from scopes.history.sources import SOURCES, walk_chunks
from scopes.ids import Oid
from scopes.model.operation import Operation
from scopes.result import Note
from scopes.secrets.gates import gate_of
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository


def follow_undo(repository: Repository, undone: Undone) -> Undone:
    """Delete the file of a session whose registration was undone, if it is as it was written; write it after a redo.

    Raises:
        Inaccessible: it cannot be written again.
    """
    if undone.operation is None:
        return undone  # a dry run
    operation = _find_redone(repository, undone.target) if undone.redo else undone.target
    if operation is None or operation.kind != KIND:
        return undone
    written, added = operation.details.get(FILE), operation.details.get(DATABASE)
    if isinstance(added, Mapping) and not undone.redo:
        return replace(undone, notes=(*undone.notes, _note_added(added)))
    if not isinstance(written, Mapping):
        return undone
    path, digest = str(written.get("file")), str(written.get("sha256"))
    if undone.redo:
        note = None if _write_again(repository, operation, path) else Note(f"{path} is there, and stays as it is")
    elif delete_unchanged(path, digest):
        note = Note(f"deleted {path}")
    else:
        is_there = os.path.lexists(path)
        note = Note(f"{path} has changed since it was written, and stays", "delete it yourself") if is_there else None
    return undone if note is None else replace(undone, notes=(*undone.notes, note))


def _note_added(added: Mapping[str, object]) -> Note:
    """Return what becomes of a session in the database of an agent, from which scopes deletes nothing."""
    text = f"the session {added.get('session')} stays in the database of {added.get('agent')}"
    return Note(text, "an import makes a branch of it: delete it there first; or take undo back: scopes redo")


def _find_redone(repository: Repository, undo: Operation) -> Operation | None:
    """Return the operation that an undo took back."""
    return next((record for _, record in walk_operations(repository) if record.id == undo.undoes), None)


def _write_again(repository: Repository, operation: Operation, path: str) -> bool:
    """Write the session that an operation registered, unless there is a file; return whether it was written."""
    source = next((change.new for change in operation.changes if change.ref.startswith(SOURCES)), None)
    if source is None or digest_of_file(path) is not None:
        return False
    data = b"".join(walk_chunks(repository, Oid(source)))
    content = gate_of(repository, "allow").clear(data, "the session")  # it was cleared when it was written first
    with prepared_file(path, content, replaces=False) as place:
        place()
    return True
