"""The directory from which git runs the hooks of a repository, and whether hooks may be written there.

It is the repository's own if it is in the git directory or in the working tree, also behind links, or if the
configuration of this repository names it in core.hooksPath. Through a link that leads elsewhere, and into the directory
of all repositories of the user, nothing is written.
"""

from __future__ import annotations

import os
import subprocess
from shlex import quote

from scopes.code_links.project_git import check_repository, unusable_files
from scopes.errors import Inaccessible, NotFound, Refused
from scopes.hosts.hook_target import HookEnvironment
from scopes.store.git_program import find_git
from scopes.store.projects import Worktree, find_worktree, is_below

_OWN_SCOPES = frozenset({"local", "worktree"})


def find_hooks(environment: HookEnvironment) -> tuple[Worktree, str]:
    """Return the working tree around the current directory, and the directory from which git runs its hooks.

    Raises:
        NotFound: there is none.
        Refused: it is not a directory.
        Inaccessible: git is not installed, or cannot read the repository.
    """
    worktree = find_worktree(environment.cwd)
    if worktree is None:
        raise NotFound(f"{environment.cwd} is not in a git repository", hint="change to a working tree of the project")
    with unusable_files(worktree.shared):
        check_repository(worktree.shared)
    done = _run_git(environment, worktree, "rev-parse", "--git-path", "hooks")
    if done.returncode != 0:
        text = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[0]
        raise Inaccessible(
            f"git cannot read {worktree.directory}: {text.removeprefix('fatal: ')}", hint="see: git status"
        )
    path = os.path.join(worktree.directory, os.fsdecode(done.stdout.rstrip(b"\n")))
    if os.path.lexists(path) and not os.path.isdir(path):
        raise _no_directory(path)
    return worktree, path


def _no_directory(path: str) -> Refused:
    """Return the error for a path at which git looks for hooks and which is no directory, with its cure."""
    if os.path.islink(path) and not os.path.exists(path):
        target = os.path.realpath(path)
        return Refused(
            f"git has no directory for hooks: {path} is a link to {target}, which does not exist",
            hint=f"delete the link: rm {quote(path)}; or, if hooks are meant to be there: mkdir -p {quote(target)}",
        )
    return Refused(f"git has no directory for hooks: core.hooksPath is {path}", hint="see: git config core.hooksPath")


def require_own(environment: HookEnvironment, worktree: Worktree, directory: str) -> None:
    """Check that hooks in a directory are those of this repository.

    Raises:
        Refused: they are those of others too.
    """
    if _is_inside(worktree, os.path.realpath(directory)):
        return
    if _is_inside(worktree, os.path.normpath(directory)):
        raise Refused(
            f"{directory} leads out of the repository, to {os.path.realpath(directory)}",
            hint=f"replace the link by a directory; or, if that directory is meant: git config core.hooksPath "
            f"{os.path.realpath(directory)}; or add the hooks yourself: --dry-run",
        )
    done = _run_git(environment, worktree, "config", "--show-scope", "--get", "core.hooksPath")
    if done.stdout.split(b"\t")[0].decode("utf-8", "replace") not in _OWN_SCOPES:
        raise Refused(
            f"{directory} has the hooks of all your repositories: the configuration of this one does not name it",
            hint=f"to install them there all the same: git config core.hooksPath {directory}; or see: --dry-run",
        )


def _is_inside(worktree: Worktree, path: str) -> bool:
    return any(is_below(path, os.path.realpath(top)) for top in (worktree.shared, worktree.directory))


def _run_git(environment: HookEnvironment, worktree: Worktree, *words: str) -> subprocess.CompletedProcess[bytes]:
    program = find_git()
    if program is None:
        raise Inaccessible("the git program is not installed", hint="install git")
    return subprocess.run(
        [program, *words],
        cwd=worktree.directory,
        env={name: value for name, value in environment.environ.items() if not name.startswith("GIT_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
