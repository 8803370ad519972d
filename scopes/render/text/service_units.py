"""Render the units of service managers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import write_hint
from scopes.render.view import View

if TYPE_CHECKING:
    from scopes.hosts.service_units import ServiceUnit


@render_text.register
def render_service_unit(result: ServiceUnit, view: View) -> None:
    """Write the unit, and for a person what to do with it."""
    for line in result.text.splitlines():
        view.line(line)
    if view.terminal:
        write_hint(view, result.hint)
