"""Settings: git's own configuration files, keys `scopes.*`, with what the environment and the flags say on top.

Levels, later wins: system, user, store, environment, flag. A setting that names a command to run is read from the
user's own level (or the flags) only: a store may have come from somebody else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from scopes.errors import Corrupt, Invalid
from scopes.store.error_translation import translated
from scopes.store.libgit2 import pygit2

SETTINGS = {
    "scopes.author": "the name under which you append when --as is not given",
    "scopes.durability": "'full' (default): synced to disk before a command returns; 'fast': not",
    "scopes.lockTimeout": "seconds to wait for the store's lock (default 30)",
    "scopes.hints": "'false' switches the next-step hints off",
    "scopes.pager": "the pager (a command: your own configuration only)",
    "scopes.merge.rule.<type>": "what becomes of conflicts of a type: first (the target's side), second, skip or fail",
    "scopes.model.<name>.window": "the context window, in tokens, of models whose names begin so",
    "scopes.model.<name>.encoding": "the encoding that counts their tokens: o200k_base or cl100k_base",
    "scopes.model.<name>.factor": "how many of their tokens one of the encoding stands for, such as 1.2",
    "scopes.budgetWindow": "how 'budget' divides a window: content/response/overhead in hundredths (default 60/20/20)",
    "scopes.budgetContent": "how it divides the content: files/history/metadata in hundredths (default 50/30/20)",
    "scopes.contextSeconds": "seconds that a context is kept for the next time (default 600; 0: never)",
    "scopes.tightBudget": "tokens below which a context has only the newest session of a work item (default 500)",
    "scopes.maxTurns": "messages after which 'context' says that a conversation is full (default: never)",
    "scopes.idleSeconds": "seconds after which 'context' says that a conversation was left (default: never)",
    "scopes.packThreshold": "loose objects after which the store packs itself (default 6000)",
    "scopes.summarizer": "writes summaries instead of the built-in one (a command: your own configuration only)",
    "scopes.summarizerTimeout": "seconds that the summarizer may take (default 60)",
    "scopes.memoryEvery": "new messages after which 'memory update' makes an entry (default 4; 0: never)",
}
COMMANDS = frozenset({"scopes.pager", "scopes.editor", "scopes.summarizer", "scopes.resolver", "core.pager"})
_OURS = ("scopes.", "core.pager")
_WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")
_HUNDREDTHS = re.compile(r"[0-9]{1,3}/[0-9]{1,3}/[0-9]{1,3}")
_RULE = "scopes.merge.rule."
MODEL_SETTING = re.compile(
    r"scopes\.model\.(?P<name>[^\s\"\\]{1,100})\.(?P<field>window|encoding|factor)", re.IGNORECASE
)
_KEY = re.compile(rf"scopes\.[a-z][a-z0-9-]*|{re.escape(_RULE)}[a-z-]+|{MODEL_SETTING.pattern}", re.IGNORECASE)
_FORMS = {
    "scopes.durability": re.compile("full|fast"),
    "scopes.hints": re.compile("true|false"),
    "scopes.locktimeout": _WHOLE_NUMBER,
    "scopes.packthreshold": _WHOLE_NUMBER,
    "scopes.summarizertimeout": _WHOLE_NUMBER,
    "scopes.memoryevery": _WHOLE_NUMBER,
    "scopes.contextseconds": _WHOLE_NUMBER,
    "scopes.tightbudget": _WHOLE_NUMBER,
    "scopes.maxturns": _WHOLE_NUMBER,
    "scopes.idleseconds": _WHOLE_NUMBER,
    "scopes.budgetwindow": _HUNDREDTHS,
    "scopes.budgetcontent": _HUNDREDTHS,
}
_FORM_OF_RULES = re.compile("first|second|skip|fail")
_FORMS_OF_MODELS = {
    "window": re.compile(r"[1-9][0-9]{0,8}"),
    "encoding": re.compile("o200k_base|cl100k_base"),
    "factor": re.compile(r"[0-9]{1,2}(\.[0-9]{1,2})?"),
}
LEVELS = {
    pygit2.enums.ConfigLevel.SYSTEM: "system",
    pygit2.enums.ConfigLevel.XDG: "user",
    pygit2.enums.ConfigLevel.GLOBAL: "user",
    pygit2.enums.ConfigLevel.LOCAL: "store",
}


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
        if key.lower() in COMMANDS:
            return self._find_own(key)
        override = self._overrides.get(key.lower())
        if override is not None:
            return override.value
        try:
            return str(self._files[key])
        except KeyError:
            return None
        except UnicodeDecodeError as error:
            hint = f"set it again: scopes config set {key} VALUE"
            raise Corrupt(f"the setting {key} is no text in UTF-8", hint=hint) from error

    def find_integer(self, key: str, default: int) -> int:
        """Return a whole number of at most nine digits, or the default where the value is absent or none."""
        text = self.find(key)
        return int(text) if text is not None and _WHOLE_NUMBER.fullmatch(text) else default

    def walk(self) -> Iterator[Setting]:
        """Yield every `scopes.*` value, weakest level first; a key may occur at several levels."""
        yield from (setting for setting in _walk_settings(self._files) if setting.key.startswith("scopes."))
        yield from self._overrides.values()

    def store_level(self) -> pygit2.Config:
        """Return the store's own file, for writing."""
        return pygit2.Config(os.path.join(self._store, "config"))

    def _find_own(self, key: str) -> str | None:
        """Read a command-valued setting where only the user can have written it."""
        override = self._overrides.get(key.lower())
        if override is not None and override.origin == "flag":
            return override.value
        own = [s.value for s in _walk_settings(self._files) if s.key == key.lower() and s.origin in ("system", "user")]
        return own[-1] if own else None


def _walk_settings(files: pygit2.Config) -> Iterator[Setting]:
    """Yield what concerns us, weakest level first, but for what is no UTF-8: the files are shared with git."""
    entries = iter(files)
    while True:
        try:
            entry = next(entries, None)
            value = entry.value if entry is not None and entry.name.startswith(_OURS) else None
        except UnicodeDecodeError:
            continue
        if entry is None:
            return
        if value is not None:
            yield Setting(entry.name, value, LEVELS.get(entry.level, "other"))


def open_user_file(home: str) -> pygit2.Config:
    """Open the user's own git configuration for writing; it is made at the first write."""
    return pygit2.Config(os.path.join(home, ".gitconfig"))


def user_config() -> pygit2.Config:
    """Return the system's and the user's settings, for a command that has no store yet.

    Raises:
        Inaccessible, Corrupt: one of their files cannot be read.
    """
    with translated("read the settings of git", os.path.expanduser("~")):
        return pygit2.config.DefaultConfig()


def check_key(key: str) -> str:
    """Accept the name of a setting of ours.

    Raises:
        Invalid: git knows no such key, or it is none of ours, or it is what the store itself writes.
    """
    if not _KEY.fullmatch(key) or key.lower() == "scopes.formatversion":
        raise Invalid(f"{key!a} is no setting of scopes", hint="settings: " + ", ".join(SETTINGS))
    return key


def check_value(key: str, value: str) -> str:
    """Accept a value that means something for a setting.

    Raises:
        Invalid: it means nothing; the hint says what does.
    """
    model = MODEL_SETTING.fullmatch(key)
    name, form = key.lower(), _FORMS.get(key.lower())
    if name.startswith(_RULE):
        name, form = f"{_RULE}<type>", _FORM_OF_RULES
    elif model is not None:
        field = model["field"].lower()
        name, form = f"scopes.model.<name>.{field}", _FORMS_OF_MODELS[field]
    if form is not None and not form.fullmatch(value):
        about = next(text for known, text in SETTINGS.items() if known.lower() == name)
        raise Invalid(f"{value!a} is no value of {key}", hint=f"it is {about}")
    return value
