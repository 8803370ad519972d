"""Settings: git's own configuration files, keys `scopes.*`, with what the environment and the flags say on top.

Levels, later wins: system, user, store, environment, flag. A setting that names a command to run is read from the
user's own level (or the flags) only: a store may have come from somebody else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pygit2
from pygit2.enums import ConfigLevel

from scopes.errors import Invalid
from scopes.store.foreign_errors import translated

SETTINGS = {
    "scopes.author": "the name under which you append when --as is not given",
    "scopes.durability": "'full' (default): synced to disk before a command returns; 'fast': not",
    "scopes.lockTimeout": "seconds to wait for the store's lock (default 30)",
    "scopes.hints": "'false' switches the next-step hints off",
    "scopes.pager": "the pager (a command: your own configuration only)",
    "scopes.packThreshold": "loose objects after which the store packs itself (default 6000)",
}
COMMANDS = frozenset({"scopes.pager", "scopes.editor", "scopes.summarizer", "scopes.resolver", "core.pager"})
LEVELS = {ConfigLevel.SYSTEM: "system", ConfigLevel.XDG: "user", ConfigLevel.GLOBAL: "user", ConfigLevel.LOCAL: "store"}


class Setting(NamedTuple):
    """One value with the level that it comes from."""

    key: str
    value: str
    origin: str


class Config:
    """The settings that hold for one open store, or for none."""

    def __init__(self, files: pygit2.Config, overrides: Mapping[str, Setting], store: str) -> None:
        self._files = files
        self._store = store
        self._overrides = {key.lower(): setting for key, setting in overrides.items()}

    def find(self, key: str) -> str | None:
        """Return the value that counts, or None where nothing sets it."""
        if key in COMMANDS:
            return self._find_own(key)
        override = self._overrides.get(key.lower())
        if override is not None:
            return override.value
        try:
            return str(self._files[key])
        except KeyError:
            return None

    def find_integer(self, key: str, default: int) -> int:
        """Return a whole number, or the default where the value is absent or none."""
        text = self.find(key)
        return int(text) if text is not None and text.isdecimal() else default

    def walk(self) -> Iterator[Setting]:
        """Yield every `scopes.*` value, weakest level first; a key may occur at several levels."""
        for entry in self._files:
            if entry.name.startswith("scopes.") and entry.value is not None:
                yield Setting(entry.name, entry.value, LEVELS.get(ConfigLevel(entry.level), "other"))
        yield from self._overrides.values()

    def store_level(self) -> pygit2.Config:
        """Return the store's own file, for writing."""
        return pygit2.Config(os.path.join(self._store, "config"))

    def _find_own(self, key: str) -> str | None:
        """Read a command-valued setting where only the user can have written it."""
        override = self._overrides.get(key.lower())
        if override is not None and override.origin == "flag":
            return override.value
        values = [entry for entry in self._files if entry.name == key.lower() and entry.value is not None]
        own = [e.value for e in values if LEVELS.get(ConfigLevel(e.level)) in ("system", "user")]
        return own[-1] if own else None


def open_user_file(home: str) -> pygit2.Config:
    """Open the user's own git configuration for writing; it is made at the first write."""
    return pygit2.Config(os.path.join(home, ".gitconfig"))


def user_config() -> pygit2.Config:
    """Return the system's and the user's settings, for a command that has no store yet."""
    merged = pygit2.Config()
    for add in (pygit2.Config.get_system_config, pygit2.Config.get_xdg_config, pygit2.Config.get_global_config):
        try:
            found = add()
        except OSError:
            continue
        for entry in found:
            if entry.name.startswith(("scopes.", "core.pager")) and entry.value is not None:
                merged[entry.name] = entry.value
    return merged


def check_key(key: str) -> str:
    """Accept the name of a setting of ours.

    Raises:
        Invalid: it is not below `scopes.`.
    """
    if not key.lower().startswith(("scopes.", "merge.rule.")) or key.endswith("."):
        raise Invalid(f"{key!a} is no setting of scopes", hint="settings: " + ", ".join(SETTINGS))
    return key


def write_setting(files: pygit2.Config, key: str, value: str | None, directory: str) -> bool:
    """Set (or, with None, remove) a value in one configuration file; False when there was nothing to remove."""
    with translated(f"write the setting {key}", directory):
        if value is None:
            if key not in files:
                return False
            del files[key]
        else:
            files[key] = value
    return True
