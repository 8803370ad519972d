"""Commands that bring back files: git and other programs for versions write texts over them that they had before."""

from __future__ import annotations

from typing import Final

from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import program_of
from scopes.lazy_patterns import compile_lazily

_GIT_VERBS: Final = frozenset(
    {"checkout", "switch", "restore", "reset", "stash", "merge", "pull", "rebase", "revert", "cherry-pick", "am",
     "bisect", "read-tree", "checkout-index", "filter-branch", "clean", "submodule", "sparse-checkout", "lfs"}
)  # fmt: skip
_OTHER_VERBS: Final = frozenset(
    {"update", "up", "checkout", "co", "revert", "shelve", "unshelve", "switch", "restore", "edit", "new", "abandon",
     "undo", "goto", "next", "prev", "merge", "rebase", "squash", "op"}
)  # fmt: skip
RESTORING: Final = frozenset({"git", "hg", "svn", "jj", "sl"})
_NEW_BRANCH: Final = compile_lazily(r"-[bBcC]|--create|--force-create|--orphan")
_ONLY_LISTED: Final = frozenset({"list", "show", "drop", "clear", "create", "store", "branch"})
_WHOLE_RESET: Final = frozenset({"--hard", "--merge", "--keep"})


def restores_files(words: tuple[Word, ...]) -> bool:
    """Return True if a command of git, or of a program like it, may write other texts into the files of its tree."""
    verb = words[1].text if len(words) > 1 else ""
    if program_of(words) != "git":
        return verb in _OTHER_VERBS
    texts = [word.text for word in words[2:]]
    if verb == "reset":
        return not _WHOLE_RESET.isdisjoint(texts)
    if verb == "stash":
        return not (texts and texts[0] in _ONLY_LISTED)
    if verb == "restore":
        return not {"--staged", "-S"} & set(texts) or bool({"--worktree", "-W"} & set(texts))
    if verb in {"checkout", "switch"} and any(_NEW_BRANCH.fullmatch(text) for text in texts):
        operands = [text for text in texts if not text.startswith("-")]
        return len(operands) > 1  # the name of the new branch, and where it starts
    return verb in _GIT_VERBS
