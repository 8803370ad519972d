"""Compile a regular expression when it is first used, so that commands start fast."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr


class _LazyPattern:
    """Has the attributes of a compiled regular expression, which it compiles when the first one is asked for."""

    def __init__(self, pattern: "str | bytes", flags: int) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> "Any":
        value = getattr(_any(_import_re().compile(*self._arguments)), name)
        self.__dict__[name] = value  # found without this method from now on
        return value


def compile_lazily(pattern: "AnyStr", flags: int = 0) -> "re.Pattern[AnyStr]":
    """Return a regular expression that is compiled at its first use.

    Its methods are those of `re.Pattern`; the functions of `re` do not accept it as a pattern.
    """
    lazy: re.Pattern[AnyStr] = _any(_LazyPattern(pattern, flags))
    return lazy


def _any(value: object) -> "Any":
    return value


def _import_re() -> "Any":
    __import__("re")
    return sys.modules["re"]
