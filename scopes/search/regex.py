r"""Regular expressions with bounded run time: RE2 if it is installed, otherwise Python's `re` with a time limit.

Both find the same matches. RE2 takes time linear in the text. What it does not support (lookaround, back-references)
is matched by `re`, which may take exponential time and is interrupted by SIGALRM. The `regex` library has a timeout of
its own, but finds other matches: its \w contains combining marks and not \u00b2, its \s lacks \x1c to \x1f, and
ignoring case its \u0130 and \u0131 do not match i.
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
from scopes.search.re2_syntax import translate_to_re2

Matcher: TypeAlias = Callable[[str], tuple[int, int] | None]
"""Returns the span of the first match in a text, or None; raises TooSlow."""

LIMIT_SECONDS = 5.0
_MAX_PATTERN_CHARACTERS = 10_000
_SURROGATE = re.compile("[\ud800-\udfff]")


class TooSlow(Exception):
    """A pattern exceeded the time limit on one text."""


def compile_regex(pattern: str) -> Matcher:
    """Compile a Python regular expression; ^ and $ match at line ends, and case matters unless it starts with `(?i)`.

    Raises:
        Invalid: the pattern is not valid, too long or nested too deeply.
    """
    if len(pattern) > _MAX_PATTERN_CHARACTERS:
        raise Invalid(f"a regular expression has at most {_MAX_PATTERN_CHARACTERS:,} characters")
    try:
        with warnings.catch_warnings(action="ignore"):  # [[ may get another meaning in a later Python
            compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        hint = r"a letter of any script is [^\W\d_], a digit \d" if r"bad escape \p" in error.msg.lower() else None
        raise Invalid(f"{pattern!a} is not a valid regular expression: {error}", hint=hint) from error
    except (RecursionError, OverflowError) as error:
        raise Invalid("the regular expression is nested too deeply", hint="use fewer parentheses") from error
    by_python = _python_matcher(compiled)
    return _re2_matcher(pattern, by_python) or by_python


def install_hint() -> str | None:
    """Return how to install RE2, which may make a slow pattern fast; None if it is installed."""
    return "pip install 'scopes-ai[regex]'" if _re2_options() is None else None


def _re2_options() -> Any:
    try:
        options = load("re2:Options")()
    except ImportError:
        return None
    options.log_errors = False
    return options


def _re2_matcher(pattern: str, by_python: Matcher) -> Matcher | None:
    """Return a matcher by RE2 that passes texts on which RE2 would differ to `by_python`.

    None if RE2 is not installed or does not support the pattern.
    """
    options, translated = _re2_options(), translate_to_re2(pattern)
    if options is None or translated is None:
        return None
    try:
        compiled = load("re2:compile")(translated.pattern, options)
    except load("re2:error"):
        return None

    def find(text: str) -> tuple[int, int] | None:
        if not text.isascii() and (translated.ascii_only or _SURROGATE.search(text)):
            return by_python(text)
        match = compiled.search(text)
        return None if match is None else (int(match.start()), int(match.end()))

    return find


def _python_matcher(compiled: re.Pattern[str]) -> Matcher:
    def find(text: str) -> tuple[int, int] | None:
        with _time_limit():
            match = compiled.search(text)
        return None if match is None else match.span()

    return find


@contextmanager
def _time_limit() -> Iterator[None]:
    """Interrupt the block after LIMIT_SECONDS; `re` checks for signals while it matches.

    Raises:
        TooSlow: the time is over.
        Invalid: this is not the main thread; only that one receives signals.
    """
    if threading.current_thread() is not threading.main_thread():
        raise Invalid("this regular expression needs the main thread", hint=install_hint())

    def interrupt(_number: int, _frame: object) -> None:
        raise TooSlow

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
