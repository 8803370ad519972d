"""Import the function of a command, which the table of commands has by its name.

`__import__` is used because importing `importlib` takes a tenth of the interpreter's own start-up time.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load(target: str) -> "Any":
    """Import `package.module:name` and return the object."""
    module, _, name = target.partition(":")
    __import__(module)
    return getattr(sys.modules[module], name)
