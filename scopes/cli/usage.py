"""Declare the options and arguments of a command function, without typer.

    def show(context: usage.Context, conversation: Annotated[str, usage.Argument(metavar="CONV", help="Which")]) -> int:

`parser` makes typer's objects of these; `direct` reads ordinary command lines without them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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


class SharedParameters:
    """A command function of which one parameter stands for several, which other commands declare, too.

    `fields` is the class of that parameter, a NamedTuple: its fields are the parameters, with their defaults.
    """

    def __init__(self, function: Callable[..., int], name: str, fields: type[tuple[Any, ...]]) -> None:
        self.function = function
        self.name = name
        self.fields = fields
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, context: Context, **values: object) -> int:
        """Run the function; what was not given has its default."""
        names: tuple[str, ...] = self.fields._fields  # type: ignore[attr-defined] # it is a NamedTuple
        own = {name: value for name, value in values.items() if name not in names}
        chosen = self.fields(**{name: value for name, value in values.items() if name in names})
        return self.function(context, **{self.name: chosen}, **own)


def shares(name: str, fields: type[tuple[Any, ...]]) -> Callable[[Callable[..., int]], SharedParameters]:
    """Return a decorator: the parameter `name` of a command function stands for the fields of a NamedTuple."""
    return lambda function: SharedParameters(function, name, fields)
