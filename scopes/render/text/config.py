"""Settings for people."""

from __future__ import annotations

from scopes.conversation.config import ConfigList, ConfigValue
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import say_outcome
from scopes.render.view import Column, Span, View

_SETTING = (Column("Key", "key", flexible=True), Column("Value", flexible=True))
_ORIGIN = Column("Origin", "dim")


@render_text.register(ConfigValue)
def config_value(result: ConfigValue, view: View) -> None:
    """Say the value that was asked for, or what was written where."""
    key, value = Span(result.key, "key"), result.value or ""
    if not result.written:
        view.line(value)
    elif result.value is None:
        say_outcome(view, key, "removed ", key, f" ({result.origin})")
    else:
        say_outcome(view, value, key, " = ", value, f" ({result.origin})")


@render_text.register(ConfigList)
def config_list(result: ConfigList, view: View) -> None:
    """Say every value, and the level that it comes from if that is asked for."""
    if not result.settings and view.terminal:
        view.line("Nothing is set.")
    elif view.options.show_origin:
        rows = ((setting.key, setting.value, setting.origin) for setting in result.settings)
        view.rows((*_SETTING, _ORIGIN), rows, title="Settings")
    else:
        view.rows(_SETTING, ((setting.key, setting.value) for setting in result.settings), title="Settings")
