"""From a Result to plain JSON values: each noun's module registers what its Results are called on the wire."""

from __future__ import annotations

from functools import singledispatch

from scopes.render.view_options import ViewOptions
from scopes.result import Result


@singledispatch
def to_wire(result: Result) -> dict[str, object]:
    """Return the JSON object of a result: its `kind` first, full ids, RFC 3339 times; what is unknown is absent."""
    raise TypeError(f"{type(result).__name__} has no wire rendering")


@singledispatch
def to_wire_with_options(result: Result, options: ViewOptions) -> dict[str, object]:  # noqa: ARG001  most have one shape
    """Return the JSON object of a result as the command's options shape it; they matter to few results."""
    return to_wire(result)
