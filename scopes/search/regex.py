r"""Regular expressions in the syntax of RE2, which takes time linear in the text whatever the pattern is.

Classes know all scripts: \w, \d and \s, and \W, \D and \S outside of brackets. \b knows ASCII letters only, and there
is neither lookaround nor a back-reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from scopes.errors import Invalid

Matcher: TypeAlias = Callable[[str], tuple[int, int] | None]
"""Returns the span of the first match in a text, or None."""

_MAX_PATTERN_CHARACTERS: Final = 10_000
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPE_OR_BRACKET: Final = re.compile(r"\\(?P<escaped>.)|(?P<begin>\[\^?\]?)|(?P<end>\])", re.DOTALL)
_WORD: Final = r"\p{L}\p{N}_"
_SPACE: Final = r"\s\x0b\x1c-\x1f\x{85}\p{Z}"
_IN_BRACKETS: Final = {"w": _WORD, "d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACE}
_OUTSIDE: Final = {
    "w": f"[{_WORD}]", "W": f"[^{_WORD}]", "d": r"\p{Nd}", "D": r"\P{Nd}", "s": f"[{_SPACE}]", "S": f"[^{_SPACE}]",
    "Z": r"\z",
}  # fmt: skip
_SYNTAX: Final = "the syntax is that of RE2: without lookaround, without back-references"


def compile_regex(pattern: str) -> Matcher:
    """Compile a regular expression; ^ and $ match at line ends, and case matters unless it starts with `(?i)`.

    Raises:
        Invalid: the pattern is not valid, or too long.
    """
    import re2  # type: ignore[import-untyped]

    if len(pattern) > _MAX_PATTERN_CHARACTERS:
        raise Invalid(f"a regular expression has at most {_MAX_PATTERN_CHARACTERS:,} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(f"(?m:{_with_all_scripts(pattern)})", options)
    except (re2.error, UnicodeEncodeError) as error:
        raise Invalid(f"{pattern!a} is not a valid regular expression: {_reason(error)}", hint=_SYNTAX) from error

    def find(text: str) -> tuple[int, int] | None:
        match = compiled.search(text if text.isascii() else _SURROGATE.sub("\ufffd", text))
        return None if match is None else (int(match.start()), int(match.end()))

    return find


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _with_all_scripts(pattern: str) -> str:
    r"""Write classes such as \w by their Unicode categories: RE2's own know ASCII only."""
    pieces: list[str] = []
    done = 0
    in_brackets = False
    for token in _ESCAPE_OR_BRACKET.finditer(pattern):
        replaced = (_IN_BRACKETS if in_brackets else _OUTSIDE).get(token["escaped"] or "")
        if replaced is not None:
            pieces += (pattern[done : token.start()], replaced)
            done = token.end()
        elif token["begin"]:
            in_brackets = True
        elif token["end"]:
            in_brackets = False
    return "".join([*pieces, pattern[done:]])
