"""Tell whether a command line can make a commit: it runs git for that, it certainly does not, or that is unknown.

Only readers and other commands of git certainly make none. Any other program may run git, such as `make release`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from scopes.model.shell_programs import READERS
from scopes.model.shell_words import ANY, Unreadable, split_command
from scopes.model.shell_writers import MAX_COMMAND, MAX_LEVELS, SHELLS, unwrap, without_patches

CommitChance: TypeAlias = Literal["none", "unknown", "git"]
_CHANCES: Final = ("none", "unknown", "git")  # the strongest last
_COMMITTING: Final = frozenset(
    {"commit", "merge", "rebase", "cherry-pick", "revert", "am", "pull", "commit-tree", "citool", "gui",
     "filter-branch", "fast-import", "subtree", "svn"}
)  # fmt: skip
_OTHER_VERBS: Final = frozenset(
    {"", "add", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-ignore",
     "checkout", "cherry", "clean", "clone", "config", "count-objects", "describe", "diff", "diff-index", "diff-tree",
     "fetch", "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "help", "init", "log", "ls-files",
     "ls-remote", "ls-tree", "merge-base", "merge-tree", "mv", "name-rev", "notes", "push", "range-diff", "read-tree",
     "reflog", "remote", "reset", "restore", "rev-list", "rev-parse", "rm", "shortlog", "show", "show-ref", "stash",
     "status", "switch", "symbolic-ref", "tag", "update-index", "update-ref", "var", "version", "whatchanged",
     "worktree", "write-tree"}
)  # fmt: skip
_COMMITTERS: Final = {  # other programs for git repositories, with their words that make commits
    "gt": {"commit", "create", "modify", "c", "m", "absorb", "squash", "restack", "sync"},
    "jj": {"commit", "ci", "new", "describe", "squash", "split", "rebase"},
    "sl": {"commit", "ci", "amend", "rebase"},
    "hub": {"commit", "merge", "rebase", "cherry-pick", "am"},
}
_RUN_OTHERS: Final = frozenset(
    {"source", ".", "trap", "alias", "function", "pre-commit", "tox", "nox", "pytest", "py.test", "unittest",
     "coverage", "code", "gh", "vitest", "jest", "mocha"}
)  # fmt: skip
_NO_PROGRAMS: Final = READERS - _RUN_OTHERS | {"rm", "mv", "cp", "sed", "awk", "sort", "tee"}
_VALUED: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # of find


def find_commit_chance(command: str) -> CommitChance:
    """Return whether a command line can make a commit."""
    return _of_script(without_patches(command), 0)


def _strongest(chances: Iterable[CommitChance]) -> CommitChance:
    return max(chances, key=_CHANCES.index, default="none")


def _of_script(script: str, level: int) -> CommitChance:
    if level > MAX_LEVELS or len(script) > MAX_COMMAND:
        return "unknown"
    try:
        commands = split_command(script)
    except (Unreadable, RecursionError):
        return "unknown"
    return _strongest(_of_words(each.words, each.texts, level) for each in commands)


def _of_words(given: Sequence[str], texts: Sequence[str], level: int) -> CommitChance:
    words, _ = unwrap(list(given))
    if not words:
        return "none"
    program, rest = posixpath.basename(words[0]), words[1:]
    if program == "git":
        return _of_git(rest)
    if program in _COMMITTERS:
        return "git" if rest and rest[0] in _COMMITTERS[program] else "unknown"
    if program in SHELLS or program == "eval":
        return _of_shell(program, rest, texts, level)
    if program == "find":
        places = [place for place, word in enumerate(rest, 1) if word in _RUNS]
        return _strongest(_of_words(rest[place:], (), level) for place in places)
    return "none" if program in _NO_PROGRAMS else "unknown"


def _of_git(rest: Sequence[str]) -> CommitChance:
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in _VALUED else 1
    verb = rest[at] if at < len(rest) else ""
    if verb in _COMMITTING:
        return "git"
    return "none" if verb in _OTHER_VERBS else "unknown"  # an alias, or a program of the user


def _of_shell(program: str, rest: Sequence[str], texts: Sequence[str], level: int) -> CommitChance:
    if program == "eval":
        scripts = [" ".join(rest)]
    else:
        scripts = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word[:1] == "-" and word[-1:] == "c"]
    scripts += texts
    if not scripts:
        return "unknown" if rest else "none"
    return _strongest(_of_script(text.replace(ANY, "$_"), level + 1) for text in scripts)
