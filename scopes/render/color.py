"""Decide whether to use color, and map the named styles to the sixteen colors of the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Style: TypeAlias = Literal[
    "", "id", "branch", "agent", "human", "time", "dim", "good", "bad", "warn", "heading", "active", "key"
]

# What people wrote is bold, agents are plain, and what is beside the point is dim. The sixteen colors of the terminal
# follow its theme, light or dark; blue is not used, because it is hard to read on black.
PALETTE: dict[Style, str] = {
    "": "",
    "id": "33",
    "branch": "32",
    "agent": "",
    "human": "1",
    "time": "2",
    "dim": "2",
    "good": "32",
    "bad": "1;31",
    "warn": "33",
    "heading": "1",
    "active": "1;32",
    "key": "2",
}


def decide_color(flag: str, environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Return True if output is colored.

    The first that applies decides: `--color`, NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, CLICOLOR=0, a terminal that is
    not dumb.
    """
    if flag in {"always", "never"}:
        return flag == "always"
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "") not in {"", "0"} for name in ("CLICOLOR_FORCE", "FORCE_COLOR")):
        return True
    return environ.get("CLICOLOR") != "0" and is_terminal and not is_dumb(environ)


def is_dumb(environ: Mapping[str, str]) -> bool:
    """Return True if TERM names no terminal or a dumb one."""
    return environ.get("TERM", "") in {"", "dumb"}


def paint(text: str, style: Style) -> str:
    """Return text with the escape sequences of a style; the text must be safe already."""
    codes = PALETTE[style]
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text
