"""Find what makes a command undecided for rules: words that the shell computes and that could be options or verbs.

`rm $flags x` may be `rm -r x`, and `git $verb` may be `git push`. A computed word that no rule asks for, as in
`echo $x` or `pytest $args`, is no reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scopes.check.shell_command import Redirection
from scopes.check.shell_scripts import script_file
from scopes.check.shell_state import MANY, State, Word, passes_link, resolve
from scopes.check.shell_wrappers import program_of
from scopes.lazy_patterns import compile_lazily


class _Valued(NamedTuple):
    """The options of a subcommand that take the next word as value."""

    letters: str = ""
    long: tuple[str, ...] = ()


_GIT: Final[Mapping[str, _Valued]] = {  # subcommands for which an option or operand decides a rule
    "push": _Valued("o", ("--repo", "--push-option", "--receive-pack", "--exec")),
    "commit": _Valued(
        "mFCct", ("--message", "--file", "--author", "--date", "--trailer", "--fixup", "--squash", "--template")
    ),
    "am": _Valued("SpC"),
    "reset": _Valued(),
    "clean": _Valued("e", ("--exclude",)),
    "checkout": _Valued("bB", ("--orphan",)),
    "switch": _Valued("cC", ("--create", "--orphan")),
    "restore": _Valued("s", ("--source",)),
    "stash": _Valued("m", ("--message",)),
    "reflog": _Valued(),
}
_OPERANDS: Final = frozenset({"push", "checkout", "restore"})  # whose operands decide too: `+main`, `.`
_NAMES: Final = compile_lazily(
    r"\$\(\s*git (?:-C \S+ )?(?:branch --show-current|rev-parse|symbolic-ref|describe|merge-base)\b"
)
_PUBLISHERS: Final[Mapping[str, frozenset[str]]] = {  # programs that publish, and subcommands with another one behind
    **dict.fromkeys(
        (
            "pnpm", "bun", "lerna", "changeset", "vsce", "ovsx", "jsr", "twine", "poetry", "flit", "hatch", "pdm",
            "maturin", "cargo", "gem", "nuget", "helm", "goreleaser",
        ),
        frozenset(),
    ),
    "npm": frozenset(),
    "uv": frozenset(),
    "yarn": frozenset({"npm"}),
    "docker": frozenset({"image", "compose", "buildx", "manifest"}),
    "podman": frozenset({"image"}),
    "gh": frozenset({"release"}),
    "glab": frozenset({"release"}),
}  # fmt: skip
_RECURSIVE: Final = compile_lazily(r"-[a-zA-Z]*[rR][a-zA-Z]*|--r(?:e(?:c(?:u(?:r(?:s(?:i(?:ve?)?)?)?)?)?)?)?")
_DELETING: Final = frozenset({"rm", "grm", "rimraf", "find", "gfind"})
_HOOKS: Final = frozenset(
    {"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push", "post-checkout", "post-merge",
     "pre-rebase", "post-rewrite", "pre-merge-commit", "applypatch-msg", "pre-applypatch", "post-applypatch",
     "reference-transaction", "post-index-change"}
)  # fmt: skip
_MAKEFILES: Final = frozenset({"Makefile", "makefile", "GNUmakefile"})
_TEMPORARY: Final = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/shm/")  # noqa: S108
_PATTERN: Final = compile_lazily(r"[*?]|\[[^\]/]+\]")
_FIND_VALUED: Final = compile_lazily(
    r"-(?:i?l?name|i?path|i?wholename|i?regex|regextype|(?:max|min)depth|newer\w*|[acm](?:time|min)|[acm]newer|size|perm"
    r"|user|group|uid|gid|type|xtype|fstype|links|inum|samefile|printf|fprint0?|fls|context|used)"
)


def find_doubt(words: tuple[Word, ...], readable: Sequence[str]) -> str | None:
    """Return why rules cannot decide about a command; None if its computed words do not matter to them.

    `readable` are the words with the source of command substitutions.
    """
    if words and _PATTERN.search(words[0].text):
        return "the program is a pattern of file names"
    program, operands = program_of(words), words[1:]
    if all(word.value is not None for word in operands):
        return None
    if program == "git":
        return _doubt_git(operands, readable[1:])
    if program in _PUBLISHERS:
        return _doubt_publisher(program, operands)
    doubt = {"rm": _doubt_rm, "grm": _doubt_rm, "find": _doubt_find, "gfind": _doubt_find}.get(program)
    return None if doubt is None else doubt(operands)


def find_place_doubt(words: tuple[Word, ...], files: tuple[Redirection, ...], state: State) -> str | None:
    """Return why it is not known on which files a command works, or which program it is; None if it is known."""
    program = program_of(words)
    name = words[0].text if words else ""
    path = resolve(state.directory, name) if "/" in name else None
    names = {each.rsplit("/", 1)[-1] for each in state.written} if state.written else set()
    if (
        path in state.written
        or (path is not None and MANY in state.written)
        or ("PATH" in state.variables and name in names)
        or _runs_written(program, words, state)
    ):
        return "runs a file that this line writes"
    if program == "git" and names & _HOOKS:
        return "git may run a hook that this line writes"
    if program in {"make", "gmake"} and names & _MAKEFILES:
        return "make runs a file that this line writes"
    deletes = _deleted(program, words[1:]) if program in _DELETING else []
    if state.links:
        written = [each.target for each in files if each.kind != "read" and each.target is not None]
        paths = (resolve(state.directory, target) for target in (*deletes, *written))
        if any(passes_link(each, state.links) for each in paths if each is not None):
            return "a path goes through a link that this line makes"
    deleted = [each for each in deletes if not each.startswith(("/", "~", "$", "`"))]
    if state.directory is None and deleted:
        return "the directory is not known"
    is_left = any(_leaves(each, place, state.start or place) for each in deleted for place in state.others)
    return "a cd in front of it may fail" if is_left else None


def _runs_written(program: str, words: tuple[Word, ...], state: State) -> bool:
    """Return True if sed or awk reads its program from a file that the line writes."""
    file = script_file(program, words) if state.written else None
    return file is not None and resolve(state.directory, file.text) in state.written


def _deleted(program: str, words: tuple[Word, ...]) -> list[str]:
    """Return what a command deletes with all that is below it."""
    options = {word.text for word in _before_operands(words) if word.text.startswith("-")}
    if program in {"rm", "grm", "rimraf"}:
        if program == "rimraf" or any(_RECURSIVE.fullmatch(each) for each in options):
            return [word.text for word in words if not word.text.startswith("-")]
    elif program in {"find", "gfind"} and "-delete" in options:
        end = next((number for number, word in enumerate(words) if word.text.startswith(("-", "(", "!"))), len(words))
        return [word.text for word in words[:end]] or ["."]
    return []


def _leaves(target: str, place: str, start: str) -> bool:
    """Return True if a path is not below the directory in which the line began, nor below one for temporary files."""
    path = resolve(place, re.sub(r"(?:^|/)(?:\*\*?|\.\*)/?$", "", target) or ".")
    return path is not None and not path.startswith((f"{start.rstrip('/')}/", *_TEMPORARY))


def _may_be_option(word: Word) -> bool:
    """Return True if a computed word may begin with `-`; what `xargs` and `find -exec` add counts as a path."""
    return word.value is None and word.text.startswith(("-", "$", "`", "{")) and not word.text.startswith("${item}")


def _before_operands(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words in front of `--`: options may be among them."""
    return next((words[:number] for number, word in enumerate(words) if word.value == "--"), words)


def _doubt_rm(words: tuple[Word, ...]) -> str | None:
    before = _before_operands(words)
    if any(word.value is not None and _RECURSIVE.fullmatch(word.value) for word in before):
        return None
    paths = [word for word in words if word.value is None or not word.value.startswith("-")]
    for word in filter(_may_be_option, before):
        if word.text.startswith("-") or word.splits or len(paths) > 1:
            return f"{_shown(word)} may be an option of rm"
    return None


def _doubt_git(words: tuple[Word, ...], readable: Sequence[str]) -> str | None:
    verb = words[0].value
    if verb is None:
        return "the subcommand of git is computed by the shell"
    valued = _GIT.get(verb)
    if valued is None:
        return None
    is_value = is_behind = False
    for word, text in zip(words[1:], readable[1:], strict=True):
        if is_value:
            is_value = False
        elif word.value is not None:
            is_behind = is_behind or word.value == "--"
            is_value = not is_behind and _takes_value(word.value, valued)
        elif not _NAMES.match(text.strip('"')) and (
            (not is_behind and _may_be_option(word)) or (verb in _OPERANDS and word.text.startswith(("$", "`", "+")))
        ):
            return f"git {verb} depends on {_shown(word)}"
    return None


def _takes_value(option: str, valued: _Valued) -> bool:
    """Return True if the value of an option is the next word."""
    if option.startswith("--"):
        return option in valued.long
    letters = option[1:] if option.startswith("-") else ""
    found = next((number for number, letter in enumerate(letters, 1) if letter in valued.letters), 0)
    return found > 0 and found == len(letters)


def _doubt_find(words: tuple[Word, ...]) -> str | None:
    start = next(
        (n for n, word in enumerate(words) if word.text.startswith(("-", "(", "!")) or (n and word.splits)), len(words)
    )
    if any(word.value == "-delete" for word in words):
        return None
    before: str | None = None
    for word in words[start:]:
        if before in {"-exec", "-execdir", "-ok", "-okdir"}:  # what they run is a command of its own
            return None
        if _may_be_option(word) and (before is None or not _FIND_VALUED.fullmatch(before)):
            return f"{_shown(word)} may be an action of find"
        before = word.value
    return None


def _doubt_publisher(program: str, words: tuple[Word, ...]) -> str | None:
    verbs = [word for word in words if word.value is None or not word.value.startswith("-")]
    if verbs and verbs[0].value in _PUBLISHERS[program]:
        verbs = verbs[1:]
    if verbs and verbs[0].value is None and (verbs[0] is words[0] or _may_be_option(verbs[0])):
        before = words[words.index(verbs[0]) - 1] if verbs[0] is not words[0] else None
        if before is None or before.value is None or not before.value.startswith("-"):
            return f"the subcommand of {program} is computed by the shell"
    return None


def _shown(word: Word) -> str:
    return "a computed word" if "$__" in word.text else " ".join(word.text.split())[:60]
