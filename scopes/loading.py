"""Importing a thing by its name, at the moment it is needed: what keeps the start of every command short.

Loading goes through `__import__`, because importing `importlib` costs a tenth of the interpreter's own start.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load(target: str) -> "Any":
    """Import `package.module:name` and return the thing; the caller knows what it asked for."""
    module, _, name = target.partition(":")
    __import__(module)
    return getattr(sys.modules[module], name)
