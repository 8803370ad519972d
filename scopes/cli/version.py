"""Print the version without building a parser."""

from __future__ import annotations

from scopes import __version__
from scopes.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.cli.invocation import Invocation
    from scopes.cli.table import Table


def print_version(_table: Table, words: list[str], invocation: Invocation) -> int:
    """Print the program name and version, or one JSON document."""
    if words:
        raise Invalid(f"version takes no arguments, got {words[0]!r}", hint="see: scopes help version")
    text, document = f"scopes {__version__}", f'{{"scopes":1,"kind":"version","version":"{__version__}"}}'
    invocation.stdout.write((document if invocation.json else text) + "\n")
    return 0
