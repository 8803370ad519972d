"""Create or delete many refs by one rewrite of `packed-refs`; libgit2 writes a file for each and syncs one by one.

Symbolic refs, which `packed-refs` cannot have, get their files here, which are synced together.

New tracking refs get no reflog: the operation and the manifest say all that its first line would, and a file for each
took as long as the search of a first push for secrets. Git begins the reflog when the ref is moved.

This is an optimization of `recovery.move_refs`, which moves whatever is left here by itself.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Container, Iterable, Sequence

from scopes.clock import wall_nanoseconds
from scopes.errors import Corrupt, NotFound
from scopes.ids import Oid
from scopes.model.operation import RefChange
from scopes.store.init import sync
from scopes.store.objects import COMMIT
from scopes.store.packed_refs import parse_packed_refs, read_packed_refs
from scopes.store.refs import REMOTES, SYMBOLIC
from scopes.store.repository import Repository

MIN_REFS = 100  # fewer are moved one by one
_HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"
_NULL = "0" * 40
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_SYNC_THREADS = 8  # the disk does several syncs at once
_KEPT_FOLDERS = 2  # refs, and heads or scopes


def move_many(repository: Repository, changes: Sequence[RefChange], reason: str) -> set[str]:
    """Make those of the changes that create a ref, or delete one to a commit that has no file of its own.

    Return the refs that it has created in `packed-refs`. Only refs to commits can be packed. Nothing is done if these
    are few, if another program has locked `packed-refs`, or if the disk fails. The caller holds the exclusive lock.
    """
    created = _pack(repository, changes, reason)
    symbolic = [change for change in changes if change.old is None and not _is_direct(change.new)]
    if len(symbolic) >= MIN_REFS:
        with contextlib.suppress(OSError):
            _create_symbolic(repository, symbolic)
    return created


def _pack(repository: Repository, changes: Sequence[RefChange], reason: str) -> set[str]:
    """Make the changes in `packed-refs`, or none of them; return the refs that were created."""
    wanted = [c for c in changes if _is_direct(c.new) and _is_direct(c.old) and (c.old is None) != (c.new is None)]
    if len(wanted) < MIN_REFS or not _logs_all(repository):
        return set()
    target = os.path.join(repository.path, "packed-refs")
    with contextlib.suppress(OSError), contextlib.ExitStack() as unless_renamed:
        descriptor = os.open(f"{target}.lock", _CREATE, 0o666)
        unless_renamed.callback(_remove, f"{target}.lock")
        with open(descriptor, "wb") as file:
            content = read_packed_refs(repository.path)
            if not content:
                content = _HEADER
            if not content.startswith(_HEADER) or b"\n^" in content:  # of an older git, or with tags
                return set()
            before = parse_packed_refs(content, ("refs/",))
            after = _apply(repository, before, wanted, reason)
            if after == before or content.count(b"\n") != len(before) + 1:
                return set()
            created = after.keys() - before.keys()
            if repository.durable:
                logged = [name for name in created if not name.startswith(REMOTES)]
                _sync_all([os.path.join(repository.path, "logs", name) for name in logged])
            file.write(_HEADER)
            lines = ((name.encode("utf-8", "surrogateescape"), value.encode()) for name, value in after.items())
            file.writelines(b"%s %s\n" % (value, name) for name, value in sorted(lines))
            file.flush()
            if repository.durable:
                os.fsync(file.fileno())
        os.rename(f"{target}.lock", target)
        unless_renamed.pop_all()
        for name in before.keys() - after.keys():
            _delete_log(repository, name)
        if repository.durable:
            sync(repository.path)
        return created
    return set()


def _apply(repository: Repository, before: dict[str, str], wanted: Iterable[RefChange], reason: str) -> dict[str, str]:
    """Return the packed refs after the changes; write the reflogs of new refs, but not of tracking refs."""
    after = dict(before)
    folders = {folder for name in before for folder in _folders(name)}
    free: set[str] = set()
    created = []
    for change in wanted:
        if os.path.lexists(os.path.join(repository.path, change.ref)):
            continue  # a file of its own, or an empty directory in its place
        if change.new is None:
            if after.get(change.ref) == change.old:
                del after[change.ref]
        elif change.ref not in before and change.ref not in folders and _has_room(repository, change.ref, before, free):
            created.append(change)
    write_log = _log_writer(repository, reason)
    for change in created:
        ref, new = change.ref, str(change.new)
        if _is_commit(repository, new) and (ref.startswith(REMOTES) or write_log(ref, new)):
            after[ref] = new
    return after


def _is_direct(value: str | None) -> bool:
    return value is None or not value.startswith(SYMBOLIC)


def _is_commit(repository: Repository, oid: str) -> bool:
    try:
        return repository.read(Oid(oid))[0] == COMMIT
    except (Corrupt, NotFound):
        return False


def _folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _has_room(repository: Repository, name: str, before: Container[str], free: set[str]) -> bool:
    """Return True if no folder in the name of a ref is itself a ref; add them to `free`, those that are not."""
    for folder in _folders(name):
        if folder not in free:
            if folder in before or os.path.isfile(f"{repository.path}/{folder}"):
                return False
            free.add(folder)
    return True


def _logs_all(repository: Repository) -> bool:
    """Return True if git writes a reflog for every ref, as the stores of scopes are set up."""
    try:
        return repository.git.config["core.logallrefupdates"] == "always"
    except KeyError:
        return False


def _log_writer(repository: Repository, reason: str) -> Callable[[str, str], bool]:
    """Return a function that writes the reflog of a new ref as libgit2 does; it returns False if that failed.

    It also fails if there is a reflog already.
    """
    name, email = repository.git.ident
    seconds = wall_nanoseconds() // 1_000_000_000
    offset = time.localtime(seconds).tm_gmtoff
    hours, minutes = divmod(abs(offset) // 60, 60)
    zone = f"{'-' if offset < 0 else '+'}{hours:02d}{minutes:02d}"
    end = f" {name} <{email}> {seconds} {zone}\t{' '.join(reason.splitlines()).strip()}\n"
    made: set[str] = set()

    def write(ref: str, oid: str) -> bool:
        path = f"{repository.path}/logs/{ref}"
        folder = os.path.dirname(path)
        try:
            if folder not in made:
                os.makedirs(folder, exist_ok=True)
                made.add(folder)
            with open(os.open(path, _CREATE, 0o666), "wb") as file:
                file.write(f"{_NULL} {oid}{end}".encode("utf-8", "surrogateescape"))
        except OSError:
            return False
        return True

    return write


def _create_symbolic(repository: Repository, changes: Iterable[RefChange]) -> None:
    """Create symbolic refs as libgit2 does: write a lock file, sync it, rename it; git keeps no reflog of them.

    Raises:
        OSError: some are not created; no lock file is left.
    """
    packed = parse_packed_refs(read_packed_refs(repository.path), ("refs/",))
    folders = {folder for name in packed for folder in _folders(name)}
    free: set[str] = set()
    created: set[str] = set()  # folders
    locked: dict[str, None] = {}  # paths whose lock file is ours
    try:
        for change in changes:
            path = os.path.join(repository.path, change.ref)
            is_free = change.ref not in packed and change.ref not in folders and not os.path.lexists(path)
            if is_free and _has_room(repository, change.ref, packed, free):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(os.open(f"{path}.lock", _CREATE, 0o666), "wb") as file:
                    locked[path] = None
                    file.write(f"{change.new}\n".encode("utf-8", "surrogateescape"))
        if repository.durable:
            _sync_all([f"{path}.lock" for path in locked])
        for path in (*locked,):
            os.rename(f"{path}.lock", path)
            del locked[path]
            created.add(os.path.dirname(path))
        for folder in created if repository.durable else ():
            sync(folder)
    finally:
        for path in locked:
            _remove(f"{path}.lock")


def _sync_all(waiting: list[str]) -> None:
    """Sync files after all of them were written, several at once: the first sync brings most others to the disk.

    Raises:
        OSError: one of them could not be synced.
    """
    errors: list[OSError] = []

    def sync_all() -> None:
        while waiting and not errors:
            try:
                path = waiting.pop()
            except IndexError:  # another thread took the last one
                return
            try:
                _sync_regular(path)
            except OSError as error:
                errors.append(error)

    threads = [threading.Thread(target=sync_all) for _ in range(_SYNC_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _sync_regular(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _delete_log(repository: Repository, ref: str) -> None:
    """Delete the reflog of a ref, and the folders that this leaves empty."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(repository.path, "logs", ref))
        for folder in reversed(_folders(ref)[_KEPT_FOLDERS:]):
            os.rmdir(os.path.join(repository.path, "logs", folder))


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
