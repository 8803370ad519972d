"""Programs that change files which their arguments do not name: checkouts, patches, archives, builds.

The text of a file that the run wrote is not known behind them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from scopes.check.shell_command import Change
from scopes.check.shell_files import TEMPORARY, Files
from scopes.check.shell_state import State, Word, resolve
from scopes.check.shell_wrappers import program_of, split_options
from scopes.lazy_patterns import compile_lazily

_GIT: Final = frozenset(
    {"am", "apply", "bisect", "checkout-index", "cherry-pick", "clean", "filter-branch", "lfs", "merge", "pull",
     "read-tree", "rebase", "revert", "sparse-checkout", "stash", "submodule"}
)  # fmt: skip
_NEW_BRANCH: Final = frozenset({"-b", "-B", "-c", "-C", "--create"})
_KEPT: Final[Mapping[str, frozenset[str]]] = {  # forms of a command that change no file
    "stash": frozenset({"list", "show", "drop", "clear", "create", "store"}),
    "lfs": frozenset({"ls-files", "status", "track"}),
    "submodule": frozenset({"status"}),
    "sparse-checkout": frozenset({"list"}),
}
_UNCHANGING: Final[Mapping[str, frozenset[str]]] = {
    "apply": frozenset({"--check", "--stat", "--numstat", "--summary", "--cached"}),
    "clean": frozenset({"-n", "--dry-run"}),
}
_OTHERS: Final[Mapping[str, set[str] | None]] = {  # verbs of programs that change the files of a project
    "svn": {"update", "up", "switch", "sw", "revert", "merge", "patch", "checkout", "co"},
    "hg": {"update", "up", "checkout", "co", "revert", "pull", "merge", "import", "graft", "rebase", "unshelve"},
    "jj": {"edit", "new", "restore", "abandon", "rebase", "undo", "squash"},
    "gh": {"pr", "repo"},
    "go": {"generate"},
    "npm": {"run", "run-script", "test", "t", "start", "exec", "install", "ci", "i"},
    "yarn": None, "pnpm": None, "bun": {"run"}, "npx": None,
    "cargo": {"make", "xtask"}, "cmake": {"--build"}, "pre-commit": {"run"},
    **dict.fromkeys(("make", "gmake", "ninja", "just", "task", "rake", "nox", "invoke", "mvn", "gradle", "ant",
        "scons", "bazel", "patch", "cpio", "gunzip", "unxz", "bunzip2", "unzstd", "csplit", "rename", "prename"), None),
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


class Tree(NamedTuple):
    """Files that a program may have changed.

    place: a file, or a directory with all below it; None for the files of the project
    """

    place: str | None = None


def forget_texts(words: tuple[Word, ...], state: State) -> None:
    """Forget the texts of the files that a program may change without naming them."""
    files = state.files
    if not files.written or not words:
        return
    for tree in _find_trees(words):
        place = None if tree.place is None else resolve(state.directory, tree.place)
        if place is not None:
            _forget_below(place, files)
        else:
            _forget_project(state.places, files)


def _forget_below(place: str, files: Files) -> None:
    files.forget(lambda path: path == place or path.startswith(f"{place.rstrip('/')}/"))


def _forget_project(places: Sequence[str], files: Files) -> None:
    files.forget(lambda path: "/.git/" not in path and _is_in_project(path, places))


def forget_changed(changes: Sequence[Change], files: Files) -> None:
    """Forget the texts of the files that a change with a pattern, `{}` or a computed directory may mean."""
    if not files.written:
        return
    for change in changes:
        if change.kind in {"write", "copy"}:
            forget_path(change.path, files)


def forget_path(path: str, files: Files) -> None:
    """Forget the texts of the files that a written path may mean, besides the one of that name."""
    place, _, name = path.rpartition("/")
    if name == "{}":
        files.forget(lambda each: each.startswith(f"{place}/"))
    elif _GLOB.fullmatch(path):
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


def _find_trees(words: tuple[Word, ...]) -> Iterator[Tree]:
    program, texts = program_of(words), [word.text for word in words[1:]]
    if program == "git":
        yield from _in_git(words, texts)
    elif program in _WRITING:
        if not _WRITING[program].isdisjoint(texts):
            yield Tree()
    elif program in _OTHERS and _SHOWN.isdisjoint(texts):
        verbs = _OTHERS[program]
        if program == "gh":
            if texts[:2] in (["pr", "checkout"], ["pr", "co"], ["repo", "sync"]):
                yield Tree()
        elif verbs is None or not verbs.isdisjoint(texts[:3]):
            yield Tree()


def _in_git(words: tuple[Word, ...], texts: Sequence[str]) -> Iterator[Tree]:
    """Yield what a command of git changes in the working tree."""
    verb, rest = (texts[0], list(texts[1:])) if texts else ("", [])
    if not _changes_tree(verb, rest):
        return
    paths = _pathspecs(verb, words)
    if paths and not any(each.startswith(":") or _GLOB.fullmatch(each) or "$" in each for each in paths):
        yield from (Tree(each) for each in paths)
    else:
        yield Tree()


def _changes_tree(verb: str, rest: Sequence[str]) -> bool:
    """Return True if a command of git may change files of the working tree; `rest` is what follows its verb."""
    options, first = set(rest), rest[0] if rest else ""
    if verb in {"checkout", "switch"}:
        return not (len(rest) == 2 and first in _NEW_BRANCH)  # a new branch at the same commit
    if verb == "restore":
        return not options & {"--staged", "-S"} or bool(options & {"--worktree", "-W"})
    if verb == "reset":
        return bool(options & {"--hard", "--merge", "--keep"})
    return verb in _GIT and first not in _KEPT.get(verb, ()) and not options & _UNCHANGING.get(verb, frozenset())


def _pathspecs(verb: str, words: tuple[Word, ...]) -> list[str]:
    """Return the paths that `git checkout -- PATH` and `git restore PATH` name; empty for all others."""
    texts = [word.text for word in words[2:]]
    if verb not in {"checkout", "restore"} or any(each.startswith("--pathspec-from") for each in texts):
        return []
    if "--" in texts:
        return texts[texts.index("--") + 1 :]
    if verb == "checkout":
        return []
    found: list[str] = []
    rest = words[2:]
    while rest:
        operands = split_options(rest, "s", ("--source", "--conflict")).operands
        found += [word.text for word in operands[:1]]
        rest = operands[1:]
    return found
