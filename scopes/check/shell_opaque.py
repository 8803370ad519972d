"""Find why rules cannot judge a command: words that the shell computes, unknown places, and texts that run as code.

`rm $flags x` may be `rm -r x`, and `git $verb` may be `git push`. A computed word that no rule asks for, as in
`echo $x` or `pytest $args`, is no reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scopes.check.shell_arithmetic import has_quoted_subscript, runs_in_subscript
from scopes.check.shell_command import Change, Redirection
from scopes.check.shell_files import TEMPORARY
from scopes.check.shell_state import State, Word, resolve
from scopes.check.shell_unwrap import roots_of_find
from scopes.check.shell_wrappers import is_abbreviation, program_of
from scopes.lazy_patterns import compile_lazily


class _Valued(NamedTuple):
    """The options of a subcommand that take the next word as value."""

    letters: str = ""
    long: tuple[str, ...] = ()


_GIT_VALUED: Final[Mapping[str, _Valued]] = {  # subcommands for which an option or operand decides a rule
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
    r"(?:[^|;&`$()\n]|2>&1)*\)"
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
_RECURSIVE: Final = compile_lazily(r"-[a-zA-Z]*[rR][a-zA-Z]*")
_DELETING: Final = frozenset({"rm", "grm", "rimraf", "find", "gfind"})
_PATTERN: Final = compile_lazily(r"[*?]|\[[^\]/]+\]")
_FIND_VALUED: Final = compile_lazily(
    r"-(?:i?l?name|i?path|i?wholename|i?regex|regextype|(?:max|min)depth|newer\w*|[acm](?:time|min)|[acm]newer|size|perm"
    r"|user|group|uid|gid|type|xtype|fstype|links|inum|samefile|printf|fprint0?|fls|context|used)"
)


def find_opaque_words(words: tuple[Word, ...], readable: Sequence[str]) -> str | None:
    """Return why rules cannot decide about a command; None if its computed words do not matter to them.

    `readable` are the words with the source of command substitutions.
    """
    if words and _PATTERN.search(words[0].text):
        return "the program is a pattern of file names"
    program, operands = program_of(words), words[1:]
    if all(word.value is not None for word in operands):
        return None
    if program == "git":
        return _opaque_git(operands, readable[1:])
    if program in _PUBLISHERS:
        return _opaque_publisher(program, operands)
    doubt = {"rm": _opaque_rm, "grm": _opaque_rm, "find": _opaque_find, "gfind": _opaque_find}.get(program)
    return None if doubt is None else doubt(operands)


def find_opaque_target(
    words: tuple[Word, ...], files: tuple[Redirection, ...], changes: Sequence[Change], state: State
) -> str | None:
    """Return why it is not known on which files a command works; None if it is known."""
    program = program_of(words)
    deletes = _deleted(program, words[1:]) if program in _DELETING else []
    if state.files.links or state.files.is_full:
        is_followed = any(word.text in {"-L", "-H", "-follow"} for word in words)
        paths = [(each, is_followed) for each in deletes]
        paths += [(each.target, True) for each in files if each.kind != "read" and each.target is not None]
        paths += [(each.path, each.kind in {"write", "copy"}) for each in changes]
        if any(_passes_link(path, state, is_followed=is_followed) for path, is_followed in paths):
            return "a path goes through a link that was made before"
    deleted = [each for each in deletes if not each.startswith(("/", "~", "$", "`"))]
    if state.directory is None and deleted:
        return "the directory is not known"
    is_left = any(_is_outside(each, place, state.start or place) for each in deleted for place in state.others)
    return "a cd in front of it may fail" if is_left else None


def _passes_link(target: str, state: State, *, is_followed: bool) -> bool:
    """Return True if a path goes through a link; `link/` enters one at its end, as some programs do."""
    path = resolve(state.directory, target)
    return path is not None and state.files.passes_link(path, is_entered=is_followed or target.endswith(("/", "/.")))


def _deleted(program: str, words: tuple[Word, ...]) -> list[str]:
    """Return what a command deletes with all that is below it."""
    options = {word.text for word in _before_operands(words) if word.text.startswith("-")}
    if program in {"rm", "grm", "rimraf"}:
        if program == "rimraf" or any(map(_is_recursive, options)):
            return [word.text for word in words if not word.text.startswith("-")]
    elif program in {"find", "gfind"} and "-delete" in options:
        return [word.text for word in roots_of_find((Word(program, program), *words))]
    return []


def _is_outside(target: str, place: str, start: str) -> bool:
    """Return True if a path is not below the directory in which the line began, nor below one for temporary files."""
    path = resolve(place, re.sub(r"(?:^|/)(?:\*\*?|\.\*)/?$", "", target) or ".")
    return path is not None and not path.startswith((f"{start.rstrip('/')}/", *TEMPORARY))


def _is_recursive(option: str) -> bool:
    return _RECURSIVE.fullmatch(option) is not None or is_abbreviation(option, "--recursive")


def _may_be_option(word: Word) -> bool:
    """Return True if a computed word may begin with `-`; what `xargs` and `find -exec` add counts as a path."""
    return word.value is None and word.text.startswith(("-", "$", "`", "{")) and not word.text.startswith("${item}")


def _before_operands(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words in front of `--`: options may be among them."""
    return next((words[:number] for number, word in enumerate(words) if word.value == "--"), words)


def _opaque_rm(words: tuple[Word, ...]) -> str | None:
    before = _before_operands(words)
    if any(word.value is not None and _is_recursive(word.value) for word in before):
        return None
    paths = [word for word in words if word.value is None or not word.value.startswith("-")]
    for word in filter(_may_be_option, before):
        if word.text.startswith("-") or word.splits or len(paths) > 1:
            return f"{_shown(word)} may be an option of rm"
    return None


def _opaque_git(words: tuple[Word, ...], readable: Sequence[str]) -> str | None:
    verb = words[0].value
    if verb is None:
        return "the subcommand of git is computed by the shell"
    valued = _GIT_VALUED.get(verb)
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


def _opaque_find(words: tuple[Word, ...]) -> str | None:
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


def _opaque_publisher(program: str, words: tuple[Word, ...]) -> str | None:
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


_TABLES: Final = compile_lazily(rb"\bBASH_(?:CMDS|ALIASES)\b")
_CASE: Final = compile_lazily(
    rb"\b(?:declare|typeset|local|readonly)[ \t](?:[^;&|\n=]{0,200}[ \t])?-[a-zA-Z]{0,20}[luc]"
)
_QUOTED_KEY: Final = compile_lazily(rb"\$\{\w+\['[^'\n]{0,200}(?:\$\(|`)")
_ARITHMETIC: Final = compile_lazily(
    rb"\(\(|\$\[|\blet\b|[ \t]-(?:eq|ne|[lg][te])[ \t]|\w=\$\{"
    rb"|\b(?:declare|local|typeset)[ \t][^;\n]{0,200}-\w{0,20}i|\$\{\w+[:\[]|\[\[?[ \t]-v\b"
)
_PROMPT: Final = compile_lazily(r"PS4=\S{0,99}(?:\$\(|`)")
_SPECIAL: Final = compile_lazily(r"(?:BASH_ENV|PROMPT_COMMAND|BASH_ALIASES)(?:\[[^\]]{0,99}\])?\+?=")
_SUBSCRIPT_READERS: Final = frozenset(
    {"test", "[", "read", "mapfile", "readarray", "wait", "let", "getopts", "local", "export"}
)
_CALLBACKS: Final = {"mapfile": "C", "readarray": "C", "compgen": "CWF", "complete": "CWF"}
_REFERENCE: Final = compile_lazily(r"(?:declare|typeset|local)\s(?:[^;=]*\s)?-[a-zA-Z]*n")
COMMAND_NOT_FOUND_HANDLERS: Final = frozenset({"command_not_found_handle", "command_not_found_handler"})


def find_opaque_text(source: bytes) -> str | None:
    """Return why a text of a shell may run something that no word of it shows; None if it does not."""
    if b"@P}" in source:
        return "${...@P} runs the substitutions in a value"
    if b"BASH_" in source and _TABLES.search(source):
        return "the programs or aliases of the shell are changed"
    if b"-" in source and _CASE.search(source):
        return "a variable changes the case of its values"
    if _QUOTED_KEY.search(source):
        return "a subscript runs commands"
    if _ARITHMETIC.search(source) and has_quoted_subscript(source.decode("utf-8", "replace")):
        return "arithmetic may run a value as code"
    return None


def find_opaque_code(words: tuple[Word, ...], text: str) -> str | None:
    """Return why a command may run a text that is not read; None if it does not."""
    name = words[0].value if words else None
    values = [word.value for word in words[1:] if word.value is not None]
    takes_names = name in _SUBSCRIPT_READERS or (name == "printf" and values[:1] == ["-v"])
    if takes_names and any(map(runs_in_subscript, values)):
        return "a subscript runs commands"
    if any(re.match(rf"-\w*[{_CALLBACKS[name]}]", value) for value in values) if name in _CALLBACKS else False:
        return f"{name} runs a text as code"
    if name == "shopt" and "cdable_vars" in values and "-u" not in values:
        return "cd may go to the value of a variable"
    if name in {"cd", "pushd"} and "CDPATH=" in text:
        return f"{name} searches a directory in CDPATH"
    return None


def find_opaque_assignment(text: str) -> str | None:
    """Return why an assignment, a declaration or a test may run a text that is not read; None if it does not."""
    if _REFERENCE.match(text):
        return "a variable refers to another one"
    if has_quoted_subscript(text):
        return "arithmetic may run a value as code"
    if _SPECIAL.match(text.removeprefix("export ")) or _PROMPT.search(text):
        return "a variable holds code that shells run"
    return None
