"""Changes of files that are not named: by builds and formatters, by patterns, and below directories that are computed.

The text of a file that the run wrote is not known behind them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from scopes.check.shell_command import Change
from scopes.check.shell_files import TEMPORARY, Files
from scopes.check.shell_state import State, Word
from scopes.check.shell_wrappers import program_of
from scopes.lazy_patterns import compile_lazily

_BUILDS: Final[Mapping[str, set[str] | None]] = {  # what runs the programs of a project, by verb
    "go": {"generate"},
    "npm": {"run", "run-script", "test", "t", "start", "exec", "install", "ci", "i"},
    "yarn": None, "pnpm": None, "bun": {"run"}, "npx": None,
    "cargo": {"make", "xtask"}, "cmake": {"--build"}, "pre-commit": {"run"},
    **dict.fromkeys(("make", "gmake", "ninja", "just", "task", "rake", "nox", "invoke", "mvn", "gradle", "ant",
        "scons", "bazel", "cpio", "gunzip", "unxz", "bunzip2", "unzstd", "csplit", "rename", "prename"), None),
}  # fmt: skip
_WRITING: Final[Mapping[str, set[str]]] = {  # options with which a program changes its operands
    "shfmt": {"-w", "--write"},
    "prettier": {"-w", "--write"},
    "awk": {"inplace"},
    "gawk": {"inplace"},
    "gzip": {"-d", "--decompress"},
    "xz": {"-d", "--decompress"},
    "zstd": {"-d", "--decompress"},
    "7z": {"x", "e"},
    "7za": {"x", "e"},
}
_SHOWN: Final = frozenset({"-n", "--dry-run", "--just-print", "--recon", "--help", "--version"})
_PLACES: Final = frozenset({"/", "~", "/home", "/Users", "/root", "/var", *(each.rstrip("/") for each in TEMPORARY)})
_HOME: Final = compile_lazily(r"/(?:home|Users)/[^/]+")
_GLOB: Final = compile_lazily(r".*[*?\[].*")


def forget_texts(words: tuple[Word, ...], state: State) -> None:
    """Forget the texts of the files of a project that a program may change without naming them."""
    if state.files.written and words and _changes_project(words):
        places = state.places
        state.files.forget(lambda path: _is_in_project(path, places))


def forget_changed(changes: Sequence[Change], files: Files) -> None:
    """Forget the texts of the files that a change of a pattern, or below a computed directory, may mean."""
    if not files.written:
        return
    for change in changes:
        if change.kind in {"write", "copy"}:
            forget_path(change.path, files)


def forget_path(path: str, files: Files) -> None:
    """Forget the texts of the files that a written path may mean, besides the one of that name."""
    place, _, name = path.rpartition("/")
    if _GLOB.fullmatch(path):
        count = path.count("/")
        files.forget(lambda each: each.count("/") == count and fnmatchcase(each, path))
    elif name and "$" not in name and (not path.startswith(("/", "~")) or "$" in place):
        files.forget(lambda each: posixpath.basename(each) == name)


def _is_in_project(path: str, directories: Sequence[str]) -> bool:
    """Return True if a file may be in the project of a directory; True if that is not known."""
    for directory in directories:
        if path.startswith(f"{directory.rstrip('/')}/"):
            return True
        if path.startswith("~") or directory.startswith("~"):
            common = posixpath.commonpath([f"/{path}", f"/{directory}"]).lstrip("/") or "/"
        else:
            common = posixpath.commonpath([path, directory])
        if common not in _PLACES and _HOME.fullmatch(common) is None:
            return True
    return not directories


def _changes_project(words: tuple[Word, ...]) -> bool:
    program, texts = program_of(words), [word.text for word in words[1:]]
    if program in _WRITING:
        return not _WRITING[program].isdisjoint(texts)
    if program == "gh":
        return texts[:2] in (["pr", "checkout"], ["pr", "co"], ["repo", "sync"])
    if program not in _BUILDS or not _SHOWN.isdisjoint(texts):
        return False
    verbs = _BUILDS[program]
    return verbs is None or not verbs.isdisjoint(texts[:3])
