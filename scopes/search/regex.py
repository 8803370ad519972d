"""Regular expressions that end: RE2 where it is installed, and otherwise Python's own under a time limit.

What a pattern finds does not depend on that. RE2 takes time in proportion to the text, whatever the pattern; what it
cannot say (looking behind or ahead, references back) is left to Python's, which can take longer than anybody lives.
"""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from scopes.errors import Invalid
from scopes.loading import load
from scopes.search.re2_syntax import re2_form

Find: TypeAlias = Callable[[str], tuple[int, int] | None]
"""Returns where a text first fits, or None; raises TooSlow."""

LIMIT_SECONDS = 5.0
_LONGEST = 10_000  # characters of a pattern
_SURROGATE = re.compile("[\ud800-\udfff]")


class TooSlow(Exception):
    """A pattern took longer than it may on one text."""


def compile_regex(pattern: str) -> Find:
    """Read a regular expression of Python's on text; ^ and $ are the ends of lines.

    Upper and lower case differ unless it begins with `(?i)`.

    Raises:
        Invalid: it is none.
    """
    if len(pattern) > _LONGEST:
        raise Invalid(f"a regular expression has at most {_LONGEST:,} characters")
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may take [[ for
            own = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        hint = r"a letter of any script is [^\W\d_], a digit \d" if r"bad escape \p" in error.msg.lower() else None
        raise Invalid(f"{pattern!a} is no regular expression: {error}", hint=hint) from error
    except (RecursionError, OverflowError) as error:
        raise Invalid("the regular expression goes too deep", hint="use fewer parentheses") from error
    limited = _find_limited(own)
    return _find_linear(pattern, limited) or limited


def advice() -> str | None:
    """Say what else helps against a slow pattern than a simpler one; None where RE2 is installed and could not."""
    return "pip install 'scopes-ai[regex]'" if _re2_options() is None else None


def _re2_options() -> Any:
    try:
        options = load("re2:Options")()
    except ImportError:
        return None
    options.log_errors = False
    return options


def _find_linear(pattern: str, limited: Find) -> Find | None:
    """Return a search by RE2, which leaves to `limited` the texts on which it would find something else.

    None where it is not installed or does not know the pattern.
    """
    options, form = _re2_options(), re2_form(pattern)
    if options is None or form is None:
        return None
    try:
        compiled = load("re2:compile")(form.pattern, options)
    except load("re2:error"):
        return None

    def find(text: str) -> tuple[int, int] | None:
        if not text.isascii() and (form.ascii_only or _SURROGATE.search(text)):
            return limited(text)
        found = compiled.search(text)
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
        raise Invalid("this regular expression needs the main thread", hint=advice())

    def interrupt(_number: int, _frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
