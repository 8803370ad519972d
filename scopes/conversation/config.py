"""`config`: read and write the settings, which are git configuration with keys `scopes.*`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from scopes.errors import Invalid, NotFound
from scopes.model.conflict import CONFLICT_TYPES
from scopes.result import Result
from scopes.store.config import COMMANDS, SETTINGS, Config, Setting, check_key, check_value, open_user_file
from scopes.store.config_write import write_setting
from scopes.store.repository import Repository
from scopes.store.signals import defer_signals

LEVELS = ("store", "user")
_RULE = "scopes.merge.rule."


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigValue(Result):
    """The value of one setting: read, or written at `origin`; None when it was removed."""

    key: str
    value: str | None
    origin: str
    written: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigList(Result):
    """Every value of every setting, weakest level first."""

    settings: tuple[Setting, ...]


def get_setting(config: Config, key: str) -> ConfigValue:
    """Read the value that counts.

    Raises:
        Invalid: the key is no setting of ours.
        NotFound: nothing sets it.
    """
    value = config.find(check_key(key))
    if value is None:
        known = SETTINGS.get(key)
        raise NotFound(f"{key} is not set", hint=f"it is {known}" if known else "list what is set: scopes config list")
    origins = [setting.origin for setting in config.walk() if setting.key.lower() == key.lower()]
    return ConfigValue(key=key, value=value, origin=origins[-1] if origins else "user", written=False)


def list_settings(config: Config) -> ConfigList:
    """List what is set, at every level."""
    return ConfigList(settings=tuple(config.walk()))


def _check_rule(key: str) -> None:
    """Refuse a rule for a type of conflict that there is not."""
    kind = key.lower().removeprefix(_RULE)
    if kind != key.lower() and kind not in CONFLICT_TYPES:
        raise Invalid(f"{kind!a} is no type of conflict", hint="types: " + ", ".join(CONFLICT_TYPES))


def set_setting(repository: Repository | None, home: str, key: str, value: str | None, *, level: str) -> ConfigValue:
    """Write a setting into the store's or the user's file; None removes it.

    Raises:
        Invalid: key, value or level mean nothing, or the setting names a command and the level is the store.
        NotFound: there was nothing to remove.
        Inaccessible: the file cannot be written.
    """
    check_key(key)
    _check_rule(key)
    if value is not None:
        check_value(key, value)
    if level not in LEVELS:
        raise Invalid(f"{level!a} is no level of settings", hint="levels: " + ", ".join(LEVELS))
    if key.lower() in COMMANDS and level == "store":
        raise Invalid(f"{key} names a command and is read from your own settings only", hint="set it with --level user")
    if level == "store" and repository is None:
        raise NotFound("there is no store to keep the setting", hint="create one: scopes init, or use --level user")
    if level == "user" or repository is None:
        files, path = open_user_file(home), os.path.join(home, ".gitconfig")
    else:
        files, path = repository.config.store_level(), os.path.join(repository.path, "config")
    with defer_signals():
        if not write_setting(files, path, key, value):
            raise NotFound(f"{key} is not set at the level {level}", hint="see: scopes config list --show-origin")
        if repository is not None:
            repository.committed = f"the setting {key}"
    return ConfigValue(key=key, value=value, origin=level, written=True)
