"""Where the file of each imported source was last: a ref of this machine alone, which no push, clone or bundle sends.

The stored source itself has no path, so that it is the same on every machine and does not tell the user's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from scopes.history.sources import SourceRecord, source_key
from scopes.ids import Oid
from scopes.model import encoding
from scopes.store import refs
from scopes.store.objects import COMMIT, Identity, format_commit
from scopes.store.repository import Objects, Repository, read_commit_stub
from scopes.store.trees import BlobChange, find_blob, read_blob, update_tree, walk_blobs

SUBJECT = "paths of sources"


def with_last_path(repository: Repository, record: SourceRecord) -> SourceRecord:
    """Return the record of a source with the path where its file was last; it is empty if it was never imported here.

    Raises:
        Corrupt, NotFound: the record of the paths is damaged.
    """
    commit = repository.find_ref(refs.SOURCE_PATHS)
    if commit is None:
        return record
    tree = read_commit_stub(repository, Oid(commit)).tree
    data = find_blob(repository, tree, file_of(source_key(record.format, record.native_id, record.part)))
    match encoding.load(data or b"null"):
        case {"path": str(path)}:
            return replace(record, path=path)
    return record


def walk_source_paths(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the key of each source that was imported here, with the path where its file was last."""
    commit = repository.find_ref(refs.SOURCE_PATHS)
    if commit is None:
        return
    for file, oid in walk_blobs(repository, read_commit_stub(repository, Oid(commit)).tree):
        match encoding.load(read_blob(repository, oid)):
            case {"path": str(path)}:
                yield file.replace("/", ""), path


def write_source_paths(objects: Objects, previous: Oid | None, paths: Mapping[str, str]) -> Oid:
    """Write the paths of sources, by key, over the previous ones; return the new commit, the same if none changes."""
    tree = None if previous is None else read_commit_stub(objects, previous).tree
    changes: dict[str, BlobChange] = {file_of(key): encoding.dump({"path": path}) for key, path in paths.items()}
    new = update_tree(objects, tree, changes)
    if previous is not None and new == tree:
        return previous
    return objects.write(
        COMMIT,
        format_commit(
            tree=new,
            parents=(),
            author=Identity("scopes", "scopes@systems.scopes"),
            time=0,  # it is a state without a history, the same whenever it was written
            subject=SUBJECT,
        ),
    )


def file_of(key: str) -> str:
    """Return the file of the path of a source."""
    return f"{key[:2]}/{key[2:]}"
