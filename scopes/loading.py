"""Import an object when it is first needed, so that commands start fast.

`__import__` is used because importing `importlib` takes a tenth of the interpreter's own start-up time.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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
