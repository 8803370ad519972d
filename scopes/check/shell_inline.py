"""Programs that run commands which their arguments name: tar, sort, sed, awk, vim, make, sqlite3 and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from scopes.check.shell_scripts import AWKS, SEDS, script_file
from scopes.check.shell_sed import awk_commands, awk_program, sed_commands, sed_scripts
from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import Step, is_abbreviation, join, program_of, split_options
from scopes.lazy_patterns import compile_lazily


class _Options(NamedTuple):
    """The options of a program whose value is a command for a shell: letters, and long names."""

    letters: str = ""
    long: tuple[str, ...] = ()


_COMMAND_OPTIONS: Final[Mapping[str, _Options]] = {
    "tar": _Options("IF", ("--to-command", "--use-compress-program", "--info-script", "--new-volume-script",
                           "--rsh-command", "--rmt-command", "--checkpoint-action")),
    "gtar": _Options("IF", ("--to-command", "--use-compress-program", "--checkpoint-action")),
    "bsdtar": _Options("", ("--use-compress-program",)),
    "split": _Options("", ("--filter",)),
    "sort": _Options("", ("--compress-program",)),
    "zip": _Options("", ("-TT", "--unzip-command")),
    "rsync": _Options("e", ("--rsh", "--rsync-path")),
    "man": _Options("PH", ("--pager", "--html")),
    "scp": _Options("S"),
    "sftp": _Options("S"),
    "nodemon": _Options("x", ("--exec",)),
    "ncat": _Options("ec", ("--exec", "--sh-exec")),
    "nc": _Options("ec"),
    "fzf": _Options("", ("--preview", "--bind")),
    "rg": _Options("", ("--pre",)),
    "aria2c": _Options("", ("--on-download-complete",)),
    "wget": _Options("", ("--use-askpass",)),
    "xterm": _Options("e"),
    "dpkg": _Options("", ("--pre-invoke", "--post-invoke", "--status-logger")),
    "install": _Options("", ("--strip-program",)),
    "prove": _Options("e", ("--exec",)),
    "npm": _Options("", ("--editor", "--script-shell", "--viewer")),
    **dict.fromkeys(("pip", "pip3"), _Options("", ("--editor",))),
}  # fmt: skip
_OTHER_OPTIONS: Final = frozenset({"--checkpoint"})  # they are no shortened ones
_ENDED_BY_COMMAND: Final = {"xterm": "-e", "gnome-terminal": "--", "watchexec": "--"}
_PLAIN_PROGRAM: Final = compile_lazily(
    r"(?:\S*/)?(?:ssh|gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|zstd|zstdmt|lz4|lzop|lzma|cat|less|more|rsync|unzip|brotli)"
    r"(?:\s+[\w./=@:~%+,-]+)*"
)
_TUNNEL: Final = compile_lazily(r"(?i)proxycommand|localcommand|knownhostscommand")
_FZF_ACTION: Final = compile_lazily(r"execute|become|reload|transform|preview[^-\w]|\$|`")  # which run commands
_CHECKPOINTS: Final = compile_lazily(r"dot|bell|ttyout(?:=.*)?|echo(?:=.*)?|sleep=\d+|totals|wait=.*|\.")
_VIMS: Final = frozenset({"vi", "vim", "nvim", "view", "ex", "vimdiff", "gvim", "rvim"})
_VIM_CALM: Final = compile_lazily(
    r"\s*:?\s*(?:(?:w?qa?|x|wqa|wa?|qall)!?|\d+|\$|/[^|]*|set?(?:local)? [\w =,-]*|syntax \w+"
    r"|norm(?:al)?!? ?[^:!|@\x00-\x1f]*"
    r"|%?(?:s/(?!.*\\=)[^|!]*|sort|d|j|retab|print)|\+?\d*|e(?:dit)? [\w./-]+|help ?\w*|version|colorscheme \w+)\s*"
)
_BANG: Final = compile_lazily(r"(?:^|\|)\s*:*\s*(?:silent!?\s+)?(?:(?:r|read|w|write)\s+)?[\d,$.%]*!\s*(.*)", re.DOTALL)
_BRACKET_BANG: Final = compile_lazily(r"^(?!\s*[\d,$.%;+-]*\s*(?:[rweE]\s*)?!)[^\n]*[^\s\\]\s*!", re.MULTILINE)
_ED_BANG: Final = compile_lazily(r"^\s*(?:[\d,$.%;+-]*\s*(?:[rweE]\s*)?)?!\s*(.+)$", re.MULTILINE)
_DOT_SHELL: Final = compile_lazily(r"^\s*\.(?:sh(?:e(?:ll?)?)?|sys?(?:t(?:em?)?)?)\s+(.+)$", re.MULTILINE)
_DOT_PIPE: Final = r"^\s*\.(?:import|output|once|o|read|excel|load|edit)\b[^\n|]*\|"
_CODE: Final[Mapping[str, re.Pattern[str]]] = {  # what makes a program run a command, in one of its words
    "sqlite3": compile_lazily(rf"{_DOT_PIPE}|(?i:\bedit\s*\(|\bload_extension\s*\(|^\s*\.load\s)", re.MULTILINE),
    "psql": compile_lazily(r"(?i)\\(?:!|copy.*program|o\s*\|)"),
    "mysql": compile_lazily(r"\\!|^\s*system\s"),
    "mariadb": compile_lazily(r"\\!|^\s*system\s"),
    "less": compile_lazily(r"^\+.*!"),
    "more": compile_lazily(r"^\+.*!"),
}
_GDB_SHELL: Final = compile_lazily(r"^\s*(?:sh(?:e(?:ll?)?)?(?!\w)|!|make)\s*(.*)$", re.DOTALL)
_GDB_CODE: Final = compile_lazily(
    r"^\s*(?:(?:python|py|pi|python-interactive|pipe|source|guile|gu|call|eval|with|w|alias|exec-file"
    r"|print\s.*system|p\s.*system|set\s+args|file\s+/|(?:r|run|start|starti)\s+\S)\b|\||target\s.*\|)"
)
_RECIPE: Final = compile_lazily(r"^(?:\t|[^\s#=][^=\n;:]*:[^=\n;]*;)\s*[@+-]*([^\n]+)", re.MULTILINE)
_MAKE_SHELL: Final = compile_lazily(r"\$[({]shell\s+((?:[^(){}]|\([^()]*\))*)[)}]|!=\s*([^\n]+)")
_MAKE_VARIABLE: Final = compile_lazily(r"[\w.]+[:+?]?=(?:[^\n]*[;|&`#]|\s*(?:sudo|rm|git|(?:ba|z|da|k)?sh)\s)")
_STANDARD_INPUT: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_PLAIN_SHELL: Final = compile_lazily(r"(?:/\S*/)?(?:ba|z|da|k)?sh")
_RUNS_INPUT: Final = frozenset(
    {"m4", "ed", "csh", "tcsh", "gdb", "lldb", "script", "unshare", "nsenter", "fakeroot", "chroot", "setarch",
     "linux32", "linux64", "i386", "x86_64", "npx", "sg", "newgrp", "su"}
)  # fmt: skip
_OPERAND_UNREAD: Final = {
    "run-parts": "run-parts runs the files of a directory",
    "socat": "socat runs what its addresses name",
    "xonsh": "is a command of xonsh",
    "nu": "is a command of nu",
}


def unwrap_inline(words: tuple[Word, ...], script: Word | None) -> list[Step]:
    """Return the shell commands that the arguments of a program contain; the program runs as well.

    script: what it reads on its standard input, if that is known
    """
    program = program_of(words)
    found = list(_scripts_of(program, words, script))
    return [Step(program, script=word, kept=True) for word in found if word.text]


def find_opaque_inline(words: tuple[Word, ...], script: Word | None, *, is_fed: bool) -> tuple[str | None, bool]:
    """Return why the arguments of a program cannot be read, and whether it runs its standard input.

    is_fed: its standard input is a pipe or a text
    """
    program = program_of(words)
    if program in _OPERAND_UNREAD and len(words) > 1:
        text = _OPERAND_UNREAD[program]
        is_calm = program == "socat" and not any(re.search("(?i)exec:|system:", word.text) for word in words)
        return (None if is_calm else text), False
    if any(not word.text for word in _scripts_of(program, words, script)):
        return f"{program} runs a command that it computes", False
    if _reads_code(program, words) and is_fed:
        return (None, False) if script is not None and program == "ed" else (f"{program} runs what it reads", True)
    if program == "npm" and is_fed and [word.text for word in words[1:]] in (["exec"], ["x"]):
        return "npm runs what it reads", True
    return _unread_arguments(program, words), False


def _unread_arguments(program: str, words: tuple[Word, ...]) -> str | None:
    code = _CODE.get(program)
    if code is not None and any(code.search(word.text) for word in words[1:]):
        return f"{program} runs a command"
    is_text = program in _VIMS and any(_vim_unread(each) for each in _vim_commands(words))
    if program in {"gdb", "lldb"}:
        is_text = any(_GDB_CODE.match(each.text) for each in _values(words, _GDB_OPTION))
    if program in {"make", "gmake"}:
        options = list(_make_options(words))
        is_text = any(name == "--eval" for name, _ in options)
        if any(_MAKE_VARIABLE.match(word.text) for word in words[1:]):
            return "make may run the value of a variable"
        if any(name == "SHELL" and value and not _PLAIN_SHELL.fullmatch(value.text) for name, value in options):
            return "make runs another shell"
    return f"{program} runs a text in its own language" if is_text else None


def _reads_code(program: str, words: tuple[Word, ...]) -> bool:
    """Return True if a program reads commands from its standard input."""
    if program in _RUNS_INPUT:
        return program != "m4" or not [word for word in words[1:] if not word.text.startswith("-")]
    if program in {"make", "gmake"}:
        return any(
            name == "-f" and value is not None and value.text in _STANDARD_INPUT for name, value in _make_options(words)
        )
    if program in AWKS | SEDS:
        file = script_file(program, words)
        return file is not None and file.text in _STANDARD_INPUT
    if program in _VIMS:
        return all(word.text != "-" for word in words[1:])
    return program in {"parallel", "at", "batch", "crontab"}


def _scripts_of(program: str, words: tuple[Word, ...], script: Word | None) -> Iterator[Word]:
    """Yield the shell commands in the arguments of a program; an empty word for one that it computes."""
    if program in _FINDERS:
        yield from (Word(text, text) for text in _FINDERS[program](words, script))
    elif program in _ENDED_BY_COMMAND and any(word.text == _ENDED_BY_COMMAND[program] for word in words):
        start = [word.text for word in words].index(_ENDED_BY_COMMAND[program])
        yield join(words[start + 1 :])
    elif program == "entr":
        yield join(split_options(words[1:], "").operands)
    elif program in _COMMAND_OPTIONS:
        yield from _option_scripts(program, words)


def _in_sed(words: tuple[Word, ...], _: Word | None) -> Iterator[str]:
    for each in sed_scripts(words):
        yield from sed_commands(each.text)


def _in_awk(words: tuple[Word, ...], _: Word | None) -> Iterator[str]:
    code = awk_program(words)
    yield from () if code is None else awk_commands(code.text)


def _in_vim(words: tuple[Word, ...], _: Word | None) -> Iterator[str]:
    for each in _vim_commands(words):
        if (match := _BANG.search(each.text)) is not None:
            yield match[1]


def _in_ed(words: tuple[Word, ...], script: Word | None) -> Iterator[str]:
    yield from (word.text[1:] for word in words[1:] if word.text.startswith("!"))
    text = "" if script is None else script.text
    yield from (match[1] for match in _ED_BANG.finditer(text))
    if _BRACKET_BANG.search(text):
        yield ""


def _in_sqlite(words: tuple[Word, ...], script: Word | None) -> Iterator[str]:
    for each in (*words[1:], *(() if script is None else (script,))):
        yield from (match[1] for match in _DOT_SHELL.finditer(each.text))


def _in_gdb(words: tuple[Word, ...], _: Word | None) -> Iterator[str]:
    matches = (_GDB_SHELL.match(each.text) for each in _values(words, _GDB_OPTION))
    yield from (match[1] for match in matches if match is not None)
    start = next((n for n, word in enumerate(words, 1) if word.text in {"-args", "--args"}), len(words))
    if start < len(words):
        yield join(words[start:]).text


_GDB_OPTION: Final = compile_lazily(r"--?(?:ex|ev\w*(?:-\w*)?|iex|ie\w*|init-ev[\w-]*|o|O|one-line)")


def _option_scripts(program: str, words: tuple[Word, ...]) -> Iterator[Word]:
    options = _COMMAND_OPTIONS[program]
    bundled = _bundled(words) if program in {"tar", "gtar"} else ()
    for name, value in (*_pairs(words, options), *bundled):
        text = value.text
        if is_abbreviation(name, "--checkpoint-action"):
            if _CHECKPOINTS.fullmatch(text):
                continue
            text = text.removeprefix("exec=")
        if program == "fzf" and name == "--bind":
            if _FZF_ACTION.search(text):
                yield Word("", "")
            continue
        if not text:
            continue
        if not _PLAIN_PROGRAM.fullmatch(text) or _TUNNEL.search(text):
            yield Word(None if value.value is None else text, text)
    if program in {"scp", "sftp", "rsync"} and any(_TUNNEL.search(word.text) for word in words[1:]):
        yield Word("", "")


def _bundled(words: tuple[Word, ...]) -> Iterator[tuple[str, Word]]:
    """Yield -I and -F of tar in its old style: `tar cIf PROGRAM FILE` has the values in the order of the letters."""
    letters = words[1].text if len(words) > 1 else ""
    if letters.isalpha():
        valued = [letter for letter in letters if letter in "fbIFCTXgHKLNV"]
        yield from ((f"-{each}", word) for each, word in zip(valued, words[2:], strict=False) if each in "IF")


def _pairs(words: tuple[Word, ...], options: _Options) -> Iterator[tuple[str, Word]]:
    """Yield the options of a command that take a command, with their values; they may be shortened."""
    for number, word in enumerate(words[1:], 1):
        text = word.text
        following = words[number + 1] if number + 1 < len(words) else Word("", "")
        name, equals, value = text.partition("=")
        if text == "--":
            return
        if name in _OTHER_OPTIONS:
            continue
        if any(name == each or is_abbreviation(name, each) for each in options.long):
            yield name, Word(None if word.value is None else value, value) if equals else following
        elif options.letters and re.match(r"-[A-Za-z]", text) and not text.startswith("--"):
            place = next((n for n, letter in enumerate(text) if letter in options.letters), None)
            if place is not None:
                attached = text[place + 1 :]
                yield f"-{text[place]}", Word(word.value and attached, attached) if attached else following


def _values(words: tuple[Word, ...], names: re.Pattern[str]) -> Iterator[Word]:
    """Yield the values of options: in the word itself behind `=`, or the next one."""
    for number, word in enumerate(words[1:], 1):
        name, equals, value = word.text.partition("=")
        is_named = names.fullmatch(name) is not None
        if is_named and equals:
            yield Word(word.value and value, value)
        elif is_named and number + 1 < len(words):
            yield words[number + 1]


def _vim_commands(words: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the commands in the words of vim: `-c TEXT`, `--cmd TEXT`, `+TEXT`."""
    for number, word in enumerate(words[1:], 1):
        text = word.text
        if text.startswith("+") and len(text) > 1:
            yield Word(word.value and text[1:], text[1:])
        elif text == "--cmd" or re.fullmatch(r"-[A-Za-z]*c", text):
            yield from words[number + 1 : number + 2]
        elif match := re.match(r"-[a-zA-Z]*?c(.+)", text):
            yield Word(match[1], match[1])
        elif text == "-S":
            yield Word("source", "source")


def _vim_unread(command: Word) -> bool:
    return not (_VIM_CALM.fullmatch(command.text) or _BANG.match(command.text))


def _make_options(words: tuple[Word, ...]) -> Iterator[tuple[str, Word | None]]:
    """Yield --eval, -f and SHELL from the words of make, with their values."""
    rest = words[1:]
    while rest:
        options = split_options(rest, "CfIjlLoWE", ("--directory", "--file", "--makefile", "--eval", "--include-dir"))
        for name, value in options.given:
            if name == "-E" or is_abbreviation(name, "--eval"):
                yield "--eval", value
            elif name in {"-f", "--file", "--makefile"}:
                yield "-f", value
        if options.operands and options.operands[0].text.startswith("SHELL="):
            yield "SHELL", Word(None, options.operands[0].text[6:])
        rest = options.operands[1:]


def _in_make(words: tuple[Word, ...], script: Word | None) -> Iterator[str]:
    for name, value in _make_options(words):
        text = value.text if name == "--eval" and value is not None else ""
        if name == "-f" and value is not None and value.text in _STANDARD_INPUT and script is not None:
            text = script.text
        yield from (match[1] for match in _RECIPE.finditer(text) if match[1].strip())
        for match in _MAKE_SHELL.finditer(text):
            yield match[1] or match[2]


_FINDERS: Final[Mapping[str, Callable[[tuple[Word, ...], Word | None], Iterator[str]]]] = {
    **dict.fromkeys(SEDS, _in_sed),
    **dict.fromkeys(AWKS, _in_awk),
    **dict.fromkeys(_VIMS, _in_vim),
    **dict.fromkeys(("gdb", "lldb"), _in_gdb),
    **dict.fromkeys(("make", "gmake"), _in_make),
    "ed": _in_ed,
    "sqlite3": _in_sqlite,
}
