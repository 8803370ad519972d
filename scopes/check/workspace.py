"""Paths of a transcript against its workspace, whatever the operating system that it was recorded on."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Mapping, Sequence
from types import ModuleType

from scopes.check.globs import matches_path
from scopes.lazy_patterns import compile_lazily

_DRIVE = compile_lazily(r"[A-Za-z]:[\\/]|\\\\")
_WIDE = compile_lazily(
    r"~.*|/|/(?:home|Users)(?:/[^/]+)?|/(?:root|var|opt|mnt|srv|tmp|media|private(?:/(?:var|tmp|etc))?|var/tmp)"
    r"|/(?:bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|usr|System|Library)(?:/.*)?"
    r"|(?i:[a-z]:\\?|[a-z]:\\(?:users(?:\\[^\\]+)?|windows(?:\\.*)?|program ?files[^\\]*(?:\\.*)?))"
)  # roots, homes, and directories of the system
_NO_WORKSPACE = compile_lazily(
    r"~|/+|/(?:var/|export/)?home(?:/[^/]+)?|/Users(?:/[^/]+)?|/root|/var/root|/Volumes(?:/[^/]+)?"
    r"|/(?:mnt|cygdrive)(?:/[a-z])?|(?:/mnt|/cygdrive)?/[a-z]/(?:Users(?:/[^/]+)?|Windows(?:/.*)?)"
    r"|(?:/private)?/(?:tmp|var|etc|var/(?:tmp|lib|log|cache|spool|run|folders))|/private"
    r"|/(?:opt|srv|media|run|boot|lib(?:\d+)?|bin|sbin|Applications|Library)"
    r"|/usr(?:/local)?(?:/(?:bin|sbin|lib(?:\d+)?|include|share|src|etc))?|/usr/local|/(?:dev(?!/shm/.)|proc|sys|System)(?:/.*)?"
    r"|[a-z]:\\?|[a-z]:\\(?:users(?:\\[^\\]+)?|windows(?:\\.*)?|program ?files[^\\]*)",
    re.IGNORECASE,
)  # roots, homes, and directories of the system themselves: a project can be below most of them
# Variables in which CI systems state the directory of the checkout, and a variable that the system itself sets.
_CHECKOUTS = (
    ("GITHUB_WORKSPACE", "GITHUB_ACTIONS"),
    ("CI_PROJECT_DIR", "GITLAB_CI"),
    ("WORKSPACE", "JENKINS_URL"),
    ("BUILD_SOURCESDIRECTORY", "TF_BUILD"),
    ("BITBUCKET_CLONE_DIR", "BITBUCKET_BUILD_NUMBER"),
    ("BUILDKITE_BUILD_CHECKOUT_PATH", "BUILDKITE"),
    ("CIRCLE_WORKING_DIRECTORY", "CIRCLECI"),
    ("CI_WORKSPACE", "CI"),
    ("DRONE_WORKSPACE", "DRONE"),
    ("TRAVIS_BUILD_DIR", "TRAVIS"),
    ("CODEBUILD_SRC_DIR", "CODEBUILD_BUILD_ID"),
    ("APPVEYOR_BUILD_FOLDER", "APPVEYOR"),
)


def resolve(path: str, directory: str | None) -> str | None:
    """Return a path as an absolute one, without `.` and `..`; None if the directory is needed and unknown."""
    module = _module_of(path if directory is None or _is_absolute(path) else directory)
    if path.startswith("~"):
        return path
    if not _is_absolute(path):
        if directory is None:
            return None
        path = module.join(directory, path)
    return str(module.normpath(path))


def relative_to(path: str, workspace: str | None) -> str | None:
    """Return a resolved path relative to the workspace, with slashes; None if it is outside or that is unknown."""
    if workspace is None or path.startswith("~"):
        return None
    module = _module_of(workspace)
    if module is not _module_of(path):
        return None
    top, inside = module.normcase(module.normpath(workspace)), module.normcase(path)
    if inside == top:
        return "."
    prefix = top if top.endswith(module.sep) else top + module.sep
    return path[len(prefix) :].replace("\\", "/") if inside.startswith(prefix) else None


def path_in_workspaces(path: str, directory: str | None, workspaces: Sequence[str]) -> str | None:
    """Return a path relative to the innermost workspace around it, or as written without any; None if it is outside."""
    if not workspaces:
        return path
    resolved = resolve(path, directory or workspaces[0])
    inside = (None if resolved is None else relative_to(resolved, workspace) for workspace in workspaces)
    return min((each for each in inside if each is not None), key=len, default=None)


def matches_in_workspaces(pattern: str, path: str, directory: str | None, workspaces: Sequence[str]) -> bool:
    """Return True if a pattern matches a path as written, or relative to the innermost workspace around it."""
    inside = path_in_workspaces(path, directory, workspaces)
    return matches_path(pattern, path) or (inside is not None and matches_path(pattern, inside))


def is_outside(path: str, directory: str | None, workspaces: Sequence[str]) -> bool | None:
    """Return True if a path is outside of all workspaces; None if that is unknown."""
    if path.startswith("~"):
        return True
    resolved = resolve(path, directory)
    if resolved is None or not workspaces:
        return None
    return all(relative_to(resolved, workspace) is None for workspace in workspaces)


def is_workspace(path: str, checkout: str | None = None) -> bool:
    """Return True if a directory that a transcript states can be the workspace.

    The root directory, a home, a directory around homes and one of the system are none, nor is one around the checkout
    that the CI system states: in them everything would be inside. The checkout itself always is.
    """
    resolved = resolve(path, None) or path
    resolved = re.sub(r"^//+", "/", resolved) if _module_of(path) is posixpath else resolved
    below = None if checkout is None else relative_to(resolve(checkout, None) or checkout, resolved)
    if below is not None:
        return below == "." and resolved != "/"
    return _NO_WORKSPACE.fullmatch(resolved) is None and not resolved.startswith("..")


def find_checkout(environ: Mapping[str, str]) -> str | None:
    """Return the directory of the checkout that the CI system of this job states; None if there is none."""
    for variable, system in _CHECKOUTS:
        path = environ.get(variable, "") if environ.get(system) else ""
        path = path.replace("~", environ.get("HOME", "~"), 1) if path.startswith("~/") else path
        if _is_absolute(path) and "\0" not in path:
            return path
    return None


def is_widening(path: str, workspaces: Sequence[str]) -> bool:
    """Return True if a directory is too wide for a workspace: it contains one, is a home, or belongs to the system."""
    resolved = resolve(path, None)
    if resolved is None or _WIDE.fullmatch(resolved) is not None:
        return True
    return any(relative_to(workspace, resolved) not in {None, "."} for workspace in workspaces)


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or _DRIVE.match(path) is not None


def _module_of(path: str) -> ModuleType:
    return ntpath if _DRIVE.match(path) else posixpath
