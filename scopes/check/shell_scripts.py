"""The options of sed and awk, and the file from which they read their program."""

from __future__ import annotations

from typing import Final

from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import split_options

AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
SEDS: Final = frozenset({"sed", "gsed"})
SED_LETTERS: Final = "efl"  # options with a value
AWK_LETTERS: Final = "FvfeEilW"
SED_LONG: Final = ("--expression", "--file", "--line-length")
AWK_LONG: Final = ("--field-separator", "--assign", "--file", "--source", "--include", "--load", "--exec")


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
