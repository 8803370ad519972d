"""A result and the display options that it is rendered with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scopes.render.view import DEFAULT_OPTIONS, ViewOptions
from scopes.result import Result


@dataclass(frozen=True, slots=True)
class WithOptions:
    """A result and its display options."""

    result: Result
    options: ViewOptions

    def replaced(self, **changes: Any) -> WithOptions:
        """Return the same with some fields of the result changed."""
        return WithOptions(replace(self.result, **changes), self.options)


def unwrap(sample: Result | WithOptions) -> tuple[Result, ViewOptions]:
    """Return a result and its display options."""
    return (sample.result, sample.options) if isinstance(sample, WithOptions) else (sample, DEFAULT_OPTIONS)
