"""`scopes setup git`: hooks in the user's repository that record which session of an agent made a commit.

A hook that exists is renamed and still runs; removing ours renames it back. Each hook is replaced in one step, so git
finds one at every moment. The directory is the one that git uses, also with core.hooksPath; all worktrees share it.

This is a `HookTarget` like those in `hosts`. It is here because it needs the repository and the files of
`pending_commits`, which are above `hosts`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from scopes.code_links.git_hook_scripts import (
    KEPT_SUFFIX,
    RECORDING_HOOKS,
    TRAILER,
    TRAILER_NAME,
    Script,
    find_command,
    make_script,
    parse_script,
)
from scopes.code_links.hooks_directory import find_hooks, require_own
from scopes.code_links.pending_commits import DIRECTORY, STARTING, pending_directory
from scopes.errors import Inaccessible, NotFound, Refused, ScopesError
from scopes.hosts.config_file import FileChange
from scopes.hosts.hook_target import HookEnvironment, HooksChanged, HookState, describe_outdated, recorded_store
from scopes.part_files import lock_part, part_of, remove_parts
from scopes.regular_file import read_regular
from scopes.result import Note
from scopes.store.objects import translated
from scopes.store.projects import Worktree, is_below

NAME: Final = "git"
_MAX_HOOK_BYTES = 1 << 20
_KEPT_TRAILER: Final = Note(
    f"commits of agents get the trailer {TRAILER_NAME}, as before",
    "without it: scopes setup git --remove, and then: scopes setup git",
)
_MADE = "made-hooks-directory"  # a file: the directory of the hooks did not exist before


@dataclass(frozen=True, slots=True)
class GitHooks:
    """The hooks of the repository around the current directory.

    trailer: whether there is the one that adds a trailer; None to leave that as it is
    """

    trailer: bool | None = None
    name: str = NAME
    summary: str = "Record which session of an agent made a commit"

    def install(self, environment: HookEnvironment, *, print_only: bool = False) -> HooksChanged:
        """Add the hooks, or bring them up to date; with `print_only` return what would be written.

        Raises:
            NotFound: there is no repository with a working tree.
            Refused: a hook of ours was changed, or a hook that was kept would be lost; or the directory is not one of
                the repository.
            Inaccessible: the hooks cannot be read or written.
        """
        worktree, directory = find_hooks(environment)
        wanted = dict(self._scripts(environment, directory))
        found = {name: _read_ours(directory, name) for name in wanted}
        if print_only:
            shown = (FileChange(os.path.join(directory, name), "shown", text) for name, text in wanted.items())
            return HooksChanged(target=self.name, changes=tuple(shown), shown=True)
        require_own(environment, worktree, directory)
        with translated("write hooks of git", directory):
            _prepare(worktree, directory)
            _remove_parts(directory)
            changes = [_write_hook(os.path.join(directory, name), text, found[name]) for name, text in wanted.items()]
            if self.trailer is False and _is_ours(directory, TRAILER):
                changes.append(_take_out(directory, TRAILER))
        notes = (_KEPT_TRAILER,) if self.trailer is None and TRAILER in wanted else ()
        return HooksChanged(target=self.name, changes=tuple(changes), advice=_advice(worktree, directory), notes=notes)

    def status(self, environment: HookEnvironment) -> HookState:
        """Return the state of the hooks."""
        try:
            worktree, directory = find_hooks(environment)
            wanted = dict(self._scripts(environment, directory))
            found = {name: _read_ours(directory, name) for name in wanted}
        except NotFound as error:
            return HookState(self.name, "missing", environment.cwd, error.message)
        except ScopesError as error:
            return HookState(self.name, "unreadable", environment.cwd, error.message)
        if not any(found.values()) or not os.path.isdir(pending_directory(worktree)):
            return HookState(self.name, "missing", directory)
        trailers = found.get(TRAILER) is not None
        differing = {name: ours for name, ours in found.items() if ours is None or ours.text != wanted[name]}
        if differing:
            commands = _find_commands(differing)
            missing = [name for name, ours in differing.items() if ours is None]
            detail = describe_outdated(environment, commands, missing)
            store = recorded_store(environment, commands)
            return HookState(self.name, "outdated", directory, detail, trailers=trailers, store=store)
        return HookState(self.name, "installed", directory, trailers=trailers, store=environment.store)

    def remove(self, environment: HookEnvironment) -> HooksChanged:
        """Remove the hooks, and put back those that were there before; raises as `install`."""
        worktree, directory = find_hooks(environment)
        names = [
            name
            for name in (*RECORDING_HOOKS, TRAILER)
            if _read_ours(directory, name) or _is_only_kept(directory, name)
        ]
        with translated("write hooks of git", directory):
            _remove_parts(directory)
            changes = [_take_out(directory, name) for name in names]
            _remove_directories(worktree, directory)
        return HooksChanged(target=self.name, changes=tuple(changes) or (FileChange(directory, "absent"),))

    def _scripts(self, environment: HookEnvironment, directory: str) -> Iterator[tuple[str, str]]:
        """Yield name and text of the hooks."""
        for name in (*RECORDING_HOOKS, TRAILER):
            if name != TRAILER or (_is_ours(directory, name) if self.trailer is None else self.trailer):
                yield name, make_script(name, environment.command, environment.store)


def _kept_of(path: str) -> str:
    return path + KEPT_SUFFIX


def _is_ours(directory: str, name: str) -> bool:
    with suppress(ScopesError):
        return _read_ours(directory, name) is not None
    return False


def _read_ours(directory: str, name: str) -> Script | None:
    """Return a hook if it is ours; None if it is another one, or there is none.

    Raises:
        Refused: somebody has changed it; or it is another one, and one that we kept is there too.
        Inaccessible: it cannot be read.
    """
    path = os.path.join(directory, name)
    try:
        script = None if os.path.islink(path) else parse_script(read_regular(path, _MAX_HOOK_BYTES))
    except FileNotFoundError:
        script = None
    except OSError as error:
        raise Inaccessible(f"cannot read {path}: {error.strerror}", hint="see: ls -l") from error
    if script is not None and script.is_changed:
        raise Refused(f"{path} was changed after scopes had written it", hint="remove the lines of scopes from it")
    kept = _kept_of(path)
    is_other = script is None and os.path.lexists(path) and os.path.lexists(kept)
    if is_other and not os.path.samestat(os.lstat(path), os.lstat(kept)):
        raise Refused(f"{kept} exists, and scopes did not write {path}", hint="move one of them away")
    return script


def _is_only_kept(directory: str, name: str) -> bool:
    """Return True if an installation was interrupted when the hook had its second name only."""
    path = os.path.join(directory, name)
    return os.path.lexists(_kept_of(path)) and not os.path.lexists(path)


def _take_out(directory: str, name: str) -> FileChange:
    """Delete a hook of ours, or put back the one that was kept."""
    path = os.path.join(directory, name)
    if os.path.lexists(_kept_of(path)):
        os.replace(_kept_of(path), path)
    else:
        os.unlink(path)
    return FileChange(path, "removed")


def _find_commands(found: Mapping[str, Script | None]) -> list[list[str]]:
    """Return the words that hooks run."""
    return list(filter(None, (find_command(ours.text) for ours in found.values() if ours is not None)))


def _prepare(worktree: Worktree, directory: str) -> None:
    top = os.path.join(worktree.shared, DIRECTORY)
    for path in (top, pending_directory(worktree), os.path.join(top, _MADE), os.path.join(top, STARTING)):
        if os.path.islink(path):
            raise Refused(f"{path} is a symbolic link, which scopes did not make", hint="delete it")
    os.makedirs(pending_directory(worktree), exist_ok=True)
    if not os.path.isdir(directory):
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # waits for no reader of a pipe
        os.close(os.open(os.path.join(top, _MADE), flags, 0o666))
        os.makedirs(directory)


def _remove_parts(directory: str) -> None:
    """Delete what killed processes left of hooks that they were writing: nobody else deletes it."""
    for name in (*RECORDING_HOOKS, TRAILER):
        remove_parts(os.path.join(directory, name))


def _write_hook(path: str, text: str, ours: Script | None) -> FileChange:
    """Write a hook of ours in one step; another one that is there gets a second name before."""
    if ours is not None and ours.text == text:
        return _change(path, "unchanged")
    temporary = part_of(path)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            lock_part(descriptor)
            file.write(text)
            os.chmod(temporary, stat.S_IMODE(os.stat(temporary).st_mode) | 0o100)
        if ours is None and os.path.lexists(path) and not os.path.lexists(_kept_of(path)):
            _keep(path)
        os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    return _change(path, "added" if ours is None else "replaced")


def _change(path: str, state: Literal["added", "replaced", "unchanged"]) -> FileChange:
    return FileChange(path, state, backup=_kept_of(path) if os.path.lexists(_kept_of(path)) else None)


def _keep(path: str) -> None:
    try:
        os.link(path, _kept_of(path), follow_symlinks=False)
    except OSError:  # a file system without hard links
        os.rename(path, _kept_of(path))


def _remove_directories(worktree: Worktree, directory: str) -> None:
    """Remove what `_prepare` made, unless something is in it: commits that are not recorded yet stay."""
    top = os.path.join(worktree.shared, DIRECTORY)
    made = os.path.join(top, _MADE)
    with suppress(OSError):
        if os.path.exists(made):
            os.unlink(made)
            os.rmdir(directory)
    with suppress(OSError):
        os.rmdir(pending_directory(worktree))
        os.unlink(os.path.join(top, STARTING))
    with suppress(OSError):
        os.rmdir(top)


def _advice(worktree: Worktree, directory: str) -> str | None:
    real = os.path.realpath(directory)
    if is_below(real, worktree.shared):
        return None
    if is_below(real, worktree.directory):
        return f"{directory} is part of the working tree: git status shows the hooks"
    return (
        f"git runs {directory} for other repositories too: commits are recorded only in those where this was installed"
    )
