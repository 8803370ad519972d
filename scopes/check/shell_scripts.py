"""The options of interpreters such as shells, sed, python and node, and the files with their programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import Options, split_options

AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
SEDS: Final = frozenset({"sed", "gsed"})
SED_LETTERS: Final = "efl"  # options with a value
AWK_LETTERS: Final = "FvfeEilW"
SED_LONG: Final = ("--expression", "--file", "--line-length")
AWK_LONG: Final = ("--field-separator", "--assign", "--file", "--source", "--include", "--load", "--exec")

INLINE: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {  # options of interpreters that take code
    "python": ("c", ()),
    "pypy": ("c", ()),
    "node": ("ep", ("--eval", "--print")),
    "nodejs": ("ep", ("--eval", "--print")),
    "bun": ("ep", ("--eval", "--print")),
    "tsx": ("ep", ("--eval", "--print")),
    "perl": ("eE", ()),
    "ruby": ("e", ()),
    "php": ("r", ()),
    "lua": ("e", ()),
    "Rscript": ("e", ()),
    "osascript": ("e", ()),
    "elixir": ("e", ("--eval",)),
    "julia": ("eE", ("--eval",)),
}
LOADING: Final = frozenset(  # interpreters whose first operand is their program, and which take no text
    {"tclsh", "wish", "expect", "ts-node", "luajit", "groovy", "guile", "racket", "Rscript", "php", "swift", "sbcl"}
)
_LOADED: Final = ("--require", "--import", "--loader", "--experimental-loader")
_VALUED: Final = {
    "python": "mWX",
    "pypy": "mWX",
    "node": "rC",
    "nodejs": "r",
    "perl": "I",
    "ruby": "rI",
    "php": "dc",
    "lua": "l",
}
STANDARD_INPUT: Final = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


class Interpreted(NamedTuple):
    """What an interpreter runs.

    texts: programs in its arguments; None for a missing one
    module: of `python -m`
    loaded: files and modules that it loads first
    operands: the first one is the program if there is no text and no module
    """

    texts: tuple[Word | None, ...]
    module: Word | None
    loaded: tuple[Word, ...]
    operands: tuple[Word, ...]

    @property
    def script(self) -> Word | None:
        """The file that it runs; None if it runs something else."""
        if self.texts or self.module is not None or not self.operands:
            return None
        first = self.operands[0]
        return None if first.text in {"-", *STANDARD_INPUT} else first


def interpreted(program: str, words: tuple[Word, ...]) -> Interpreted | None:
    """Return what an interpreter such as python or node runs; None for other programs."""
    language = program.rstrip("0123456789.")
    rest = words[1:]
    if language in LOADING and language not in INLINE:
        return Interpreted((), None, (), split_options(rest, "").operands)
    if program in {"deno", "bun"} and rest and rest[0].text == "run":
        return Interpreted((), None, (), split_options(rest[1:], "").operands)
    letters, long = INLINE.get(language, ("", ()))
    if not letters:
        return None
    options = split_options(rest, letters + _VALUED.get(language, ""), (*long, *_LOADED, "--check-hash-based-pycs"))
    names = [name for name, _ in options.given]
    start = names.index("-m") if "-m" in names and language in {"python", "pypy"} else len(names)
    given = options.given[:start]  # what follows a module is for it
    texts = tuple(value for name, value in given if name in long or (len(name) == 2 and name[1] in letters))
    is_loading = "r" in _VALUED.get(language, "")
    loaded = tuple(
        value for name, value in given if value is not None and (name in _LOADED or (is_loading and name == "-r"))
    )
    return Interpreted(texts, options.given[start][1] if start < len(names) else None, loaded, options.operands)


def shell_options(words: tuple[Word, ...]) -> Options:
    """Return the options of a shell; `+x` is an option too, and standard input given as a file is `-s`."""
    words = tuple(Word(word.value, "-" + word.text[1:]) if word.text.startswith("+") else word for word in words)
    options = split_options(words, "oO", ("--rcfile", "--init-file"))
    operands = options.operands
    if operands and operands[0].text == "-":  # the same as `--`
        operands = operands[1:]
    if operands and operands[0].text in STANDARD_INPUT:
        return Options((*options.given, ("-s", None)), operands[1:])
    return Options(options.given, operands)


def script_file(program: str, words: tuple[Word, ...]) -> Word | None:
    """Return the file from which sed or awk reads its program; None if it reads none, or is another program."""
    if program not in AWKS | SEDS:
        return None
    letters, long = (AWK_LETTERS, AWK_LONG) if program in AWKS else (SED_LETTERS, SED_LONG)
    rest = words[1:]
    while rest:
        options = split_options(rest, letters, long)
        for name, value in options.given:
            if value is not None and name in {"-f", "-E", "--file", "--exec"}:
                return value
        rest = options.operands[1:] if program in SEDS else ()
    return None
