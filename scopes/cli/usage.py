"""Declare the options and arguments of a command function, without typer.

    def show(context: usage.Context, conversation: Annotated[str, usage.Argument(metavar="CONV", help="Which")]) -> int:

`parser` makes typer's objects of these; `direct` reads ordinary command lines without them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.cli.invocation import Invocation


class Context:
    """The first parameter of a command function; `obj` is its Invocation, under the name that typer has for it."""

    __slots__ = ("obj",)

    def __init__(self, invocation: Invocation) -> None:
        self.obj = invocation


class _Parameter:
    """Names and settings of a parameter, for the class of typer that has this class's name."""

    __slots__ = ("names", "settings")

    def __init__(self, *names: str, **settings: str | int | bool) -> None:
        self.names = names
        self.settings = settings


class Option(_Parameter):
    """An option; `metavar` is the placeholder of its value, `min` the smallest number."""

    __slots__ = ()


class Argument(_Parameter):
    """An argument; `metavar` is its name in help."""

    __slots__ = ()
