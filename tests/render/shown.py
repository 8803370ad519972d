"""A result with the display options to show it with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.result import Result


@dataclass(frozen=True, slots=True)
class Shown:
    """A result and the display options to show it with."""

    result: Result
    options: ViewOptions

    def replaced(self, **changes: Any) -> Shown:
        """Return the same with some fields of the result changed."""
        return Shown(replace(self.result, **changes), self.options)


def unwrap(sample: Result | Shown) -> tuple[Result, ViewOptions]:
    """Return a result and its display options."""
    return (sample.result, sample.options) if isinstance(sample, Shown) else (sample, DEFAULT_OPTIONS)
