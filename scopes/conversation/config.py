"""`config`: read and write settings, stored as git configuration under keys `scopes.*`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from scopes.errors import Invalid, NotFound
from scopes.result import Result
from scopes.store.config import (
    COMMANDS,
    NOT_FROM_STORE,
    Config,
    Setting,
    check_key,
    check_known,
    check_value,
    is_known,
    is_read_from_store,
    nearest_key,
    open_user_file,
)
from scopes.store.config_write import read_setting, write_setting
from scopes.store.repository import Repository
from scopes.store.settings import DEFAULTS, SETTINGS
from scopes.store.signals import defer_signals

LEVELS = ("store", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigValue(Result):
    """The value of one setting and the level or file it comes from; None if it was removed.

    `before` is the value that the written level had before.
    """

    key: str
    value: str | None
    origin: str
    written: bool
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigList(Result):
    """Every value of every setting, lowest precedence first."""

    settings: tuple[Setting, ...]


def get_setting(config: Config, key: str) -> ConfigValue:
    """Read the effective value of a setting.

    Raises:
        Invalid: the key is not a setting of scopes.
        NotFound: the setting has no value.
    """
    value = config.find(check_key(key))
    if value is None:
        raise NotFound(f"{key} is not set", hint=_describe(key))
    origins = [setting.origin for setting in config.walk() if setting.key.lower() == key.lower()]
    return ConfigValue(key=key, value=value, origin=origins[-1] if origins else "user", written=False)


def _describe(key: str) -> str:
    """Return the hint about a setting without a value."""
    description = next((text for name, text in SETTINGS.items() if name.lower() == key.lower()), None)
    if description is not None:
        return f"it is {description}"
    near = None if is_known(key) else nearest_key(key)
    return f"did you mean {near}?" if near else "list what is set: scopes config list"


def list_settings(config: Config, *, defaults: bool = False) -> ConfigList:
    """List the values of all levels, with `defaults` also the defaults of the settings that have one."""
    lowest = tuple(Setting(key, value, "default") for key, value in DEFAULTS.items()) if defaults else ()
    return ConfigList(settings=(*lowest, *config.walk()))


def set_setting(
    repository: Repository | None, home: str, key: str, value: str | None, *, level: str, force: bool = False
) -> ConfigValue:
    """Write a setting to the configuration of the store or of the user; the value None removes it.

    With `force` the key may be one that scopes does not know, such as one of a newer version.

    Raises:
        Invalid: the key, value or level is not valid, or the level is `store` and the setting is not read from stores.
        NotFound: the setting to remove has no value, or there is no store.
        Inaccessible: the file cannot be written.
    """
    check_key(key)
    if value is not None:
        if not force:
            check_known(key)
        check_value(key, value)
    if level not in LEVELS:
        raise Invalid(f"{level!a} is not a valid config level", hint="levels: " + ", ".join(LEVELS))
    if level == "store" and not is_read_from_store(key):
        effect = "starts work by itself" if key.lower() in NOT_FROM_STORE - COMMANDS else "names a command"
        raise Invalid(f"{key} {effect} and is read from your own settings only", hint="set it with --level user")
    if level == "store" and repository is None:
        raise NotFound("there is no store for the setting", hint="create one: scopes init, or use --level user")
    if level == "user" or repository is None:
        files, path = open_user_file(home), os.path.join(home, ".gitconfig")
    else:
        files, path = repository.config.store_level(), os.path.join(repository.path, "config")
    before = read_setting(files, key)
    with defer_signals():
        if not write_setting(files, path, key, value):
            raise NotFound(f"{key} is not set at the level {level}", hint="see: scopes config list --show-origin")
        if repository is not None:
            repository.committed = f"the setting {key}"
    return ConfigValue(key=key, value=value, origin=level, written=True, before=before)
