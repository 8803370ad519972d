"""From a Result to its text: each noun's module registers how its Results are said to a View."""

from __future__ import annotations

from functools import singledispatch

from scopes.render.view import View
from scopes.result import Result


@singledispatch
def render_text(result: Result, view: View) -> None:  # noqa: ARG001  what the registered functions take
    """Say a result to a view."""
    raise TypeError(f"{type(result).__name__} has no text rendering")
