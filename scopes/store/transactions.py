"""Write to a store: under its lock, all refs of an operation or none, and what a dead process began is finished first.

An append moves one branch by compare-and-swap under the shared lock. Every other change is an operation: its record is
written, a marker ref names it, which is the commit point, and then its refs move under the exclusive lock. Whoever has
that lock next finishes an operation whose process died, and removes orphaned lock files: no other scopes process holds
the lock file of a ref then, and a git program holds one for milliseconds, so that one that does not change for a second
is an orphan.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from scopes.clock import jitter, seconds_of
from scopes.errors import Busy, Inaccessible, Invalid, NotFound, ScopesError
from scopes.ids import Oid
from scopes.model.operation import Operation, RefChange, encode_operation
from scopes.regular_file import sync
from scopes.store import refs
from scopes.store.git_program import PRIVATE_PREFIX, QUARANTINE_PREFIX, list_abandoned, run_git
from scopes.store.locks import LOCK_FILE, defer_signals, find_orphans, remove_orphans
from scopes.store.objects import (
    BLOB,
    COMMIT,
    TREE,
    Identity,
    TreeEntry,
    format_commit,
    format_tree,
    is_locked,
    is_moved,
    one_line,
    pygit2,
    read_commit,
    refusal,
    translated,
)
from scopes.store.operations import NULL_OID, append_line, identity_of
from scopes.store.refs import SYMBOLIC, ListedRefs
from scopes.store.repository import OPERATION_FILE, Prunes, Repository, read_operation

_MAX_REASON = 1000  # characters of a line of a reflog
_MANY_REFS = 100  # in an operation, that are worth to rewrite `packed-refs`
_ALL_REFS = "refs/"
_FEW_REFS = 50  # new ones in an operation, for which not all refs are listed


@contextmanager
def exclusive_write(repository: Repository) -> Iterator[Operation | None]:
    """Hold the exclusive lock, with no operation pending; yield the operation that had to be finished first, if any.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    if repository.is_dry:
        yield None
        return
    with repository.lock.exclusive():
        repository.forget_pruned()
        yield finish_pending(repository)


@contextmanager
def shared_write(repository: Repository) -> Iterator[None]:
    """Hold the shared lock, with no operation pending; move refs by compare-and-swap alone.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    if repository.is_dry:
        yield
        return
    while True:
        with repository.lock.shared():
            if repository.raw_ref(refs.PENDING) is None:
                repository.forget_pruned()
                yield
                return
        with exclusive_write(repository):
            pass


@contextmanager
def unless_pruned(repository: Repository, prunes: Prunes) -> Iterator[None]:
    """Hold off a purge while something that was read from the store gets its name; a store that cannot be locked, too.

    Raises:
        Busy: a purge has deleted objects since `prunes` was made, or does so now.
    """
    with ExitStack() as locks:
        with suppress(Inaccessible):
            locks.enter_context(repository.lock.shared())
        prunes.require_none()
        yield


def require_unpurged(repository: Repository, what: str, commits: Iterable[Oid]) -> None:
    """Raise if commits that a text was made from have gone; call it under the lock, before the text is stored.

    A purge rewrites every commit above what it removes, and deletes the old ones.

    Raises:
        Busy: a purge has deleted one of them; `what` it was of is named.
    """
    if not all(map(repository.has, commits)):
        text = f"something of {what} was purged meanwhile; the new text may repeat it, so nothing was stored"
        raise Busy(text, hint="try again")


def append(
    repository: Repository, ref: str, build: Callable[[Oid], Oid], reason: str, *, first: str | None = None
) -> Oid:
    """Move a ref from its tip to a new commit on top of it; other processes may append at the same time.

    `build` writes the commit for a given tip; it is called again if another process moved the ref first. After a few
    lost races the exclusive lock is taken, so that progress is certain. `first` is the first message of the same
    command, for the reflog, which `undo` reads.

    Raises:
        NotFound: there is no such ref.
        Busy: a git command keeps the ref locked.
        Inaccessible: disk full or permission denied; the ref is unchanged.
    """
    repository.git.set_ident(*identity_of(repository.caller.actor))
    with shared_write(repository):
        for turn in range(6):
            commit = _try_append(repository, ref, build, reason, first)
            if commit is not None:
                return commit
            time.sleep(jitter() * 0.002 * (turn + 1))
    with exclusive_write(repository):
        for _ in range(20):
            commit = _try_append(repository, ref, build, reason, first)
            if commit is not None:
                return commit
            remove_orphan_lock(repository, ref)
    raise Busy(f"another program keeps {ref} locked", hint="try again in a moment")


def _try_append(
    repository: Repository, ref: str, build: Callable[[Oid], Oid], reason: str, first: str | None
) -> Oid | None:
    """Compare and swap once; return None if another process moved the ref or holds its lock."""
    if repository.is_dry:
        tip = repository.find_ref(ref)
        if tip is None:
            raise NotFound(f"there is no {ref.removeprefix(refs.HEADS)}")
        commit = build(Oid(tip))
        _move_dry(repository, [RefChange(ref, tip, commit)])
        return commit
    with translated(f"read the ref {ref}", repository.path):
        reference = repository.git.references.get(ref)
    if reference is None:
        raise NotFound(f"there is no {ref.removeprefix(refs.HEADS)}")
    commit = build(Oid(str(reference.target)))
    line = append_line(repository, reason, first)
    with defer_signals():
        try:
            reference.set_target(pygit2.Oid(hex=commit), line)
        except (pygit2.GitError, OSError) as error:
            if is_moved(error) or is_locked(error):
                return None
            _check_failed_move(repository, ref, commit, error)
        repository.caller.on_commit(reason)
    return commit


def _move_dry(repository: Repository, changes: Iterable[RefChange]) -> None:
    if repository.listed is not None:
        repository.listed.move(changes)


def _check_failed_move(repository: Repository, ref: str, commit: Oid, error: BaseException) -> None:
    """Raise Inaccessible after a failed move: the ref is unchanged, or it was moved and cannot be synced."""
    what = ref.removeprefix(refs.HEADS)
    if repository.raw_ref(ref) != commit:
        raise refusal(f"move {what}", repository.path, error) from error
    try:
        sync(os.path.join(repository.path, os.path.dirname(ref)))
    except OSError as problem:
        raise Inaccessible(
            f"{what} was recorded as {commit}, but could not be synced: a power cut may lose it",
            hint="check the disk; do not repeat the command",
        ) from problem


def commit_operation(repository: Repository, operation: Operation) -> Oid:
    """Commit an operation and move its refs; all of them or none. Call it inside `exclusive_write`.

    The objects of the new values must be written before, under the same lock or an earlier one (`store.prunes`).

    Raises:
        Busy: a ref does not have the old value of the operation.
        NotFound: the object of a new value is not in the store.
        Invalid: git does not accept a name, or two names conflict.
        Inaccessible: the disk failed; nothing has changed.
    """
    _check(repository, operation)
    previous = repository.raw_ref(refs.OPERATIONS)
    commit = write_operation(repository, operation, None if previous is None else Oid(previous))
    if repository.is_dry:
        _move_dry(repository, [*operation.changes, RefChange(refs.OPERATIONS, previous, commit)])
        return commit
    repository.git.set_ident(*identity_of(repository.caller.actor))
    with defer_signals():
        try:
            set_ref(repository, RefChange(refs.PENDING, None, commit), operation.kind)
        except ScopesError as error:
            _check_failed_move(repository, refs.PENDING, commit, error.__cause__ or error)
        if repository.raw_ref(refs.PENDING) != commit:
            raise Busy(f"another program keeps changing {refs.PENDING}", hint="try again in a moment")
        repository.caller.on_commit(f"{operation.kind}: {operation.summary}")
        try:
            move_refs(repository, operation, commit)
        except ScopesError:
            return commit  # it is committed: readers see it, and the next writer moves the refs
    return commit


def _list_near(repository: Repository, added: list[str]) -> set[str]:
    """Return the existing refs with which new ones may conflict; all, if many are new."""
    if len(added) > _FEW_REFS:
        return repository.list_ref_names(_ALL_REFS)
    if not added:
        return set()
    # An active branch has the name of its conversation, as the metadata have, and cannot be packed.
    folders = {f"{ref.rpartition('/')[0]}/" for ref in added if not ref.startswith(refs.ACTIVE)}
    folders |= {f"{ref}/" for ref in added}
    above = {ref[:end] for ref in added for end in range(len(_ALL_REFS), len(ref)) if ref[end] == "/"} | {*added}
    return repository.list_ref_names(*sorted(folders)) | {ref for ref in above if repository.raw_ref(ref) is not None}


def _check(repository: Repository, operation: Operation) -> None:
    """Raise if an operation cannot be carried out: after the commit point it would block every later writer."""
    added = [change.ref for change in operation.changes if change.old is None]
    existing = _list_near(repository, added)
    for ref, old, _ in operation.changes:
        if old is None and ref not in existing and ref.startswith(_ALL_REFS):
            continue  # to look it up by itself would find nothing, and an import has thousands
        if repository.raw_ref(ref) != old:
            raise Busy(f"{ref.removeprefix(refs.HEADS)} was moved by another process", hint="try again")
    for ref in added:
        if not pygit2.reference_is_valid_name(ref):
            raise Invalid(f"{ref!a} is not a name that git accepts", hint="choose another name")
    if added:
        refs.check_name_conflicts(existing - {change.ref for change in operation.changes if change.new is None}, added)
    for value in {change.new for change in operation.changes}:
        if value and not value.startswith(SYMBOLIC) and not repository.has(Oid(value)):  # a purge may have deleted it
            raise NotFound(f"object {value} is not in the store", hint="see: scopes verify")


def write_operation(repository: Repository, operation: Operation, previous: Oid | None) -> Oid:
    """Write the commit of an operation; old and new values are its parents, so that undo can reach them."""
    values = [value for change in operation.changes for value in (change.old, change.new)]
    parents = dict.fromkeys(Oid(each) for each in (previous, *values) if each and not each.startswith(SYMBOLIC))
    blob = repository.write(BLOB, encode_operation(operation))
    tree = repository.write(TREE, format_tree([TreeEntry(OPERATION_FILE, blob, is_tree=False)]))
    data = format_commit(
        tree=tree,
        parents=parents,
        author=Identity("scopes", "scopes@systems.scopes"),
        time=seconds_of(operation.time),
        subject=f"{operation.kind}: {operation.summary}",
        trailers=[("Scopes-Operation", operation.id)],
    )
    return repository.write(COMMIT, data)


@contextmanager
def refs_listed_once(repository: Repository) -> Iterator[None]:
    """Let `find_ref` and `list_refs` answer from one listing, made now, until the end of the block.

    Move no refs in the block. What the block finds may be out of date unless it holds the lock of the store; an
    operation compares the old values again when it is committed. If a ref is damaged, all of them are read one by one,
    so that whoever needs that one reports it.
    """
    if repository.listed is None:
        files, values = repository.read_refs("refs/")
        if not files.list_damaged(("refs/",)):
            repository.listed = ListedRefs(values, is_past=False)
    try:
        yield
    finally:
        if repository.listed is not None and not repository.listed.is_past:
            repository.listed = None


def finish_pending(repository: Repository) -> Operation | None:
    """Finish the pending operation, if there is one, and return it; call it under the exclusive lock.

    Its process died, or could not move all refs. One that had only its marker left to delete is returned as well.

    Raises:
        Inaccessible: a ref cannot be written; the operation stays committed, and readers see it.
    """
    marker, last = repository.raw_ref(refs.PENDING), repository.raw_ref(refs.OPERATIONS)
    pending = repository.find_pending(marker, last)
    if pending is None:
        if marker is None:
            return None
        set_ref(repository, RefChange(refs.PENDING, marker, None), "finished before")
        return read_operation(repository, read_commit(repository, Oid(marker))) if marker == last else None
    commit, operation = pending
    move_refs(repository, operation, commit)
    return operation


def move_refs(repository: Repository, operation: Operation, commit: str) -> None:
    """Set every ref of a committed operation to its new value, then the operation log, then delete the marker ref.

    An operation that moves the log itself (expire) is not recorded in it. Deletions come first, so that a name can
    become a directory of names. Completion offers the ids in the reflog of the log. Repeating this is harmless.
    """
    reason = one_line(f"{operation.kind}: {operation.summary}", _MAX_REASON)  # a name in it may have any character
    _copy_reflogs(repository, operation)
    if len(operation.changes) >= _MANY_REFS:
        move_many(repository, operation.changes, reason)
    for change in sorted(operation.changes, key=lambda change: change.new is not None):
        set_ref(repository, change, reason)
    previous = repository.raw_ref(refs.OPERATIONS)
    if previous != commit and all(change.ref != refs.OPERATIONS for change in operation.changes):
        set_ref(repository, RefChange(refs.OPERATIONS, previous, commit), f"{reason} [{operation.id}]")
    set_ref(repository, RefChange(refs.PENDING, commit, None), reason)


def move_many(repository: Repository, changes: Sequence[RefChange], reason: str) -> None:
    """Move the direct refs of a committed operation, with reflogs, and pack all refs; nothing if git refuses."""
    lines = [
        f"update {change.ref}\0{change.new or NULL_OID}\0{change.old or NULL_OID}\0"
        for change in changes
        if change.old != change.new and not any((value or "").startswith(SYMBOLIC) for value in change[1:])
    ]
    words = ("update-ref", "-z", "--stdin", "-m", reason)
    lock, actor = repository.lock.descriptor, identity_of(repository.caller.actor)
    # The refs are not synced one by one: git syncs `packed-refs`, into which they are packed.
    settings = ("core.fsync=all,-reference",)
    with suppress(ScopesError):
        run_git(repository.path, *words, settings=settings, lock=lock, stdin="".join(lines), actor=actor)
        run_git(repository.path, "pack-refs", "--all", lock=lock)
    repository.git.set_refdb(pygit2.Refdb.open(repository.git))


def set_ref(repository: Repository, change: RefChange, reason: str) -> None:
    """Move one ref from its old to its new value; do nothing if it already has the new value.

    A ref with a third value (a git command moved it in the meantime) is not changed; `verify` reports it.
    """
    for turns_left in reversed(range(5)):
        current = repository.raw_ref(change.ref)
        if current == change.new or current != change.old:
            return
        try:
            _set(repository.git, change.ref, change.new, current, reason)
        except (pygit2.GitError, OSError, ValueError) as error:
            # libgit2 removes a ref from its copy of packed-refs before it fails to write the file, and would then find
            # nothing to remove.
            repository.git.set_refdb(pygit2.Refdb.open(repository.git))
            if not (is_locked(error) and turns_left):
                raise refusal(f"move the ref {change.ref}", repository.path, error, writing=True) from error
            remove_orphan_lock(repository, change.ref)


def _set(git: pygit2.Repository, ref: str, new: str | None, current: str | None, reason: str) -> None:
    existing = git.references.get(ref) if current is not None else None
    is_symbolic = (new or "").startswith(SYMBOLIC)
    if existing is not None and (new is None or (current or "").startswith(SYMBOLIC) != is_symbolic):
        existing.delete()  # a mirror clone makes a symbolic ref direct, and libgit2 cannot change the kind of a ref
        existing = None
    if new is None:
        return
    name = new.removeprefix(SYMBOLIC)
    if existing is not None:
        existing.set_target(name if is_symbolic else pygit2.Oid(hex=name), reason)
    elif is_symbolic:
        git.create_reference_symbolic(ref, name, force=False, message=reason)
    else:
        git.create_reference_direct(ref, pygit2.Oid(hex=name), force=False, message=reason)


def _copy_reflogs(repository: Repository, operation: Operation) -> None:
    """Copy the reflogs of branches that get another name, because git deletes a reflog with its ref.

    A copy that fails is left out, such as that of `x` which becomes `x/y`: only `undo` of its appends and times such as
    `main@{yesterday}` need it.
    """
    for new_name, source in renamed_branches(operation.changes).items():
        path, copy = (os.path.join(repository.path, "logs", ref) for ref in (source, new_name))
        with suppress(OSError):
            if os.path.isfile(path) and repository.raw_ref(new_name) is None:  # else an earlier try moved it
                os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
                shutil.copyfile(path, copy)


def renamed_branches(changes: Iterable[RefChange]) -> dict[str, str]:
    """Return the former names of the branches that an operation renames, trashes or restores, by new name."""
    listed = [change for change in changes if change.ref.startswith((refs.HEADS, refs.TRASH))]
    removed = {change.ref: change.old for change in listed if change.new is None}
    renamed: dict[str, str] = {}
    for change in listed:
        sources = [ref for ref, value in removed.items() if value == change.new]
        if change.old is None and sources:
            new_name = change.ref[::-1]
            renamed[change.ref] = max(sources, key=lambda ref: len(os.path.commonpath((ref[::-1], new_name))))
    return renamed


def remove_orphan_lock(repository: Repository, ref: str) -> None:
    """Remove the lock files that block a ref, if they are orphans."""
    remove_orphans(os.path.join(repository.path, name) for name in (f"{ref}.lock", "packed-refs.lock"))


def list_orphans(repository: Repository) -> list[str]:
    """Return the leftovers that do not change for a second, relative to the store; call it under the exclusive lock."""
    leftovers = {os.path.join(repository.path, path): path for path in list_leftovers(repository)}
    return [leftovers[path] for path in find_orphans(leftovers)]


def list_leftovers(repository: Repository) -> Iterator[str]:
    """Yield the lock files, temporary files and directories that a dead process left, relative to the store."""
    for top, directories, files in os.walk(repository.path):
        if top == repository.path:
            yield from sorted(name for name in directories if name.startswith(PRIVATE_PREFIX))
            yield from list_abandoned(top)
            directories[:] = [name for name in directories if not name.startswith((PRIVATE_PREFIX, QUARANTINE_PREFIX))]
        for name in sorted(files):
            path = os.path.relpath(os.path.join(top, name), repository.path)
            # only below objects/: a branch may be called tmp_x
            is_temporary = path.startswith("objects/") and name.startswith(("tmp_", ".tmp-"))
            # git does not pack refs while this unfinished file exists
            if is_temporary or path == "packed-refs.new" or (name.endswith(".lock") and path != LOCK_FILE):
                yield path
