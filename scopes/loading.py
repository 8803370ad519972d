"""Import an object, or compile a regular expression, when it is first needed, so that commands start fast.

`__import__` is used because importing `importlib` takes a tenth of the interpreter's own start-up time.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any, AnyStr


def load(target: str) -> "Any":
    """Import `package.module:name` and return the object."""
    module, _, name = target.partition(":")
    __import__(module)
    return getattr(sys.modules[module], name)


def deferred(target: str) -> "Callable[..., Any]":
    """Return a function that imports the function `package.module:name` at its first call.

    Import the function itself below TYPE_CHECKING, so that its calls are still checked.
    """

    def call(*arguments: "Any", **options: "Any") -> "Any":
        return load(target)(*arguments, **options)

    return call


class _LazyPattern:
    """Has the attributes of a compiled regular expression, which it compiles when the first one is asked for."""

    def __init__(self, pattern: "str | bytes", flags: int) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> "Any":
        value = getattr(load("re:compile")(*self._arguments), name)
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
