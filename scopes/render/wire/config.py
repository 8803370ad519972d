"""Settings as JSON."""

from __future__ import annotations

from scopes.conversation.config import ConfigList, ConfigValue
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(ConfigValue)
def config_value(result: ConfigValue) -> dict[str, object]:
    """Lay out one setting; its value is absent when it was removed."""
    return known(
        kind="config",
        key=result.key,
        value=result.value,
        origin=result.origin,
        written=result.written,
        removed=result.value is None,
    )


@to_wire.register(ConfigList)
def config_list(result: ConfigList) -> dict[str, object]:
    """Lay out every value of every setting, weakest level first."""
    settings = [{"key": setting.key, "value": setting.value, "origin": setting.origin} for setting in result.settings]
    return {"kind": "config-list", "settings": settings}
