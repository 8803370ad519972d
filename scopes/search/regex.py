"""Regular expressions that end: RE2 where it is installed, and otherwise Python's own under a time limit.

RE2 takes time in proportion to the text, whatever the pattern; what it does not know (looking behind or ahead,
references back) is left to Python's, which can take longer than anybody lives.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from scopes.errors import Invalid
from scopes.loading import load

Find: TypeAlias = Callable[[str], tuple[int, int] | None]
"""Returns where a text first fits, or None; raises TooSlow."""

LIMIT_SECONDS = 5.0
_LONGEST = 10_000  # characters of a pattern


class TooSlow(Exception):
    """A pattern took longer than it may on one text."""


def compile_regex(pattern: str) -> Find:
    """Read a regular expression; upper and lower case differ unless it begins with `(?i)`.

    Raises:
        Invalid: it is none.
    """
    if len(pattern) > _LONGEST:
        raise Invalid(f"a regular expression has at most {_LONGEST:,} characters")
    try:
        own = re.compile(pattern)
    except re.error as error:
        raise Invalid(f"{pattern!a} is no regular expression: {error}") from error
    except (RecursionError, OverflowError) as error:
        raise Invalid("the regular expression goes too deep", hint="use fewer parentheses") from error
    return _find_linear(pattern) or _find_limited(own)


def _find_linear(pattern: str) -> Find | None:
    """Return a search by RE2; None where that is not installed or does not know the pattern."""
    try:
        options = load("re2:Options")()
    except ImportError:
        return None
    options.log_errors = False
    try:
        compiled = load("re2:compile")(pattern, options)
    except load("re2:error"):
        return None

    def find(text: str) -> tuple[int, int] | None:
        found = compiled.search(text.encode("utf-8", "replace").decode())
        return None if found is None else (int(found.start()), int(found.end()))

    return find


def _find_limited(compiled: re.Pattern[str]) -> Find:
    def find(text: str) -> tuple[int, int] | None:
        with _limited():
            found = compiled.search(text)
        return None if found is None else found.span()

    return find


@contextmanager
def _limited() -> Iterator[None]:
    """Interrupt the block after a while: Python's matcher looks for signals while it works.

    Raises:
        TooSlow: it took too long.
        Invalid: this is not the main thread, which alone can be interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        raise Invalid("this regular expression needs RE2 here", hint="pip install 'scopes[regex]'")

    def interrupt(_number: int, _frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
