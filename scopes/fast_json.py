"""Switch on a faster JSON library, msgspec, for commands that read and write many documents.

Importing it takes longer than most commands need, so a command switches it on when there is enough to do. It changes no
result: what it would read or write differently, `json` does.
"""

from __future__ import annotations

from typing import Any

library: Any = None  # the module `msgspec.json`, once `enable` has found it


def enable() -> None:
    """Use msgspec from now on in this process, if it is installed."""
    global library  # noqa: PLW0603 - process-wide, like the module it names
    try:
        from msgspec import json

        library = json
    except ImportError:
        library = None
