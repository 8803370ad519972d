"""Settings: the keys `scopes.*` of git's configuration files, overridden by environment variables and flags.

Levels, the last one that sets a key wins: system, user, store, environment, flag. A program that opens a store through
the Python API sets values in place of flags. A store may come from another person, so a setting that names a command to
run is read from the system level, the user level, flags and programs only, and a setting that starts work by itself is
read from every level but the store's.

Help and completion read the tables, so this module does not load libgit2.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from scopes.errors import Corrupt, Inaccessible, Invalid
from scopes.ids import OperationId
from scopes.lazy_patterns import compile_lazily
from scopes.regular_file import sync
from scopes.store.locks import remove_orphans

if TYPE_CHECKING:
    from scopes.store.objects import pygit2

SETTINGS = {
    "scopes.author": "the author of your messages when --as is not given (default: user)",
    "scopes.defaultRemote": "the remote of commands that name none (default: origin, or the first one added)",
    "scopes.durability": "'full' (default): synced to disk before a command returns; 'fast': not",
    "scopes.lockTimeout": "seconds to wait for the store's lock (default 30)",
    "scopes.hints": "'false' turns hints off (default: true)",
    "scopes.color": "when to color the output: auto (default), always or never",
    "scopes.alias.<name>": "a command of your own: scopes <name> runs it (your own configuration only)",
    "scopes.pager": "the pager (a command: your own configuration only; default: less)",
    "scopes.editor": "the editor (a command: your own configuration only; default: VISUAL or EDITOR)",
    "scopes.merge.rule.<type>": "how to resolve conflicts of a type: first (the target's side), second, skip or fail",
    "scopes.model.<name>.window": "the context window, in tokens, of models whose names begin with <name>",
    "scopes.model.<name>.encoding": "the encoding that counts the tokens of such models: o200k_base or cl100k_base",
    "scopes.model.<name>.factor": "tokens of such a model for each token of the encoding, such as 1.2",
    "scopes.budgetWindow": "how 'budget' divides a window: content/response/overhead in percent (default 60/20/20)",
    "scopes.budgetContent": "how 'budget' divides the content: files/history/metadata in percent (default 50/30/20)",
    "scopes.contextSeconds": "seconds that a context is cached (default 600; 0: never)",
    "scopes.tightBudget": "tokens below which a context has only the newest conversation of a work item (default 500)",
    "scopes.maxTurns": "messages after which 'context' warns that a conversation is full (default: never)",
    "scopes.idleSeconds": "seconds after which 'context' warns that a conversation is idle (default: never)",
    "scopes.packThreshold": "loose objects that make a store pack itself (default 6000; your own configuration only)",
    "scopes.summarizer": "a program that writes the summaries (a command: your own configuration only)",
    "scopes.summarizerTimeout": "seconds that the summarizer may take (default 60)",
    "scopes.agent.<name>.command": "the program of an agent for 'facts run' (a command: your own configuration only)",
    "scopes.agent.<name>.delivery": "a program that gets the agent's messages (a command: your own configuration only)",
    "scopes.agent.<name>.timeout": "seconds that a program of an agent may take (default 60)",
    "scopes.check.hookFailure": "what 'check --hook' does if it fails: closed (default: deny the call) or open",
    "scopes.check.hookUnread": "what 'check --hook' does with a command that it cannot read: ask (default) or deny",
    "scopes.importWorkers": "processes that import many transcripts (default: one for each processor, up to 4)",
    "scopes.secrets.onImport": "'false': possible secrets in imports and appends are not reported (default: true)",
    "scopes.retention.<project>.age": "when 'retention run' purges those of a project, or of 'all': 2 years",
    "scopes.signCommits": "whether merges and decisions are signed (default: as git does; not from the store)",
    "scopes.fetchManifests": "'true': fetch and pull get manifests, and messages of what is here ('clone --manifests')",
    "scopes.remoteConversations": "conversations with which a repository of a remote is full (default 5000; 0: never)",
    "scopes.remoteMegabytes": "megabytes with which a repository of a remote is full (default 5000; 0: never)",
    "scopes.prices": "a file with the prices of models for 'usage' (your own configuration only)",
    "scopes.memoryEvery": "new messages after which 'memory update' adds an entry (default 4; 0: never)",
}
DEFAULTS = {
    "scopes.author": "user",
    "scopes.durability": "full",
    "scopes.lockTimeout": "30",
    "scopes.hints": "true",
    "scopes.color": "auto",
    "scopes.pager": "less",
    "scopes.budgetWindow": "60/20/20",
    "scopes.budgetContent": "50/30/20",
    "scopes.contextSeconds": "600",
    "scopes.tightBudget": "500",
    "scopes.packThreshold": "6000",
    "scopes.summarizerTimeout": "60",
    "scopes.check.hookFailure": "closed",
    "scopes.check.hookUnread": "ask",
    "scopes.secrets.onImport": "true",
    "scopes.fetchManifests": "false",
    "scopes.remoteConversations": "5000",
    "scopes.remoteMegabytes": "5000",
    "scopes.memoryEvery": "4",
}
CHOICES = {
    "scopes.durability": ("full", "fast"),
    "scopes.hints": ("true", "false"),
    "scopes.color": ("auto", "always", "never"),
    "scopes.merge.rule.<type>": ("first", "second", "skip", "fail"),
    "scopes.secrets.onImport": ("true", "false"),
    "scopes.signCommits": ("true", "false"),
    "scopes.fetchManifests": ("true", "false"),
    "scopes.check.hookFailure": ("closed", "open"),
    "scopes.check.hookUnread": ("ask", "deny"),
    "scopes.model.<name>.encoding": ("o200k_base", "cl100k_base"),
}
NUMBERS = frozenset(
    {
        "scopes.lockTimeout",
        "scopes.packThreshold",
        "scopes.summarizerTimeout",
        "scopes.memoryEvery",
        "scopes.remoteConversations",
        "scopes.remoteMegabytes",
        "scopes.contextSeconds",
        "scopes.tightBudget",
        "scopes.maxTurns",
        "scopes.idleSeconds",
        "scopes.importWorkers",
        "scopes.agent.<name>.timeout",
    }
)
# Git's spellings of true and false.
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


COMMANDS = frozenset({"scopes.pager", "scopes.editor", "scopes.summarizer", "core.pager"})
# A store may not start work either, and not let calls run unchecked or name files to read.
NOT_FROM_STORE = COMMANDS | {
    "scopes.packthreshold",
    "scopes.check.hookfailure",
    "scopes.check.hookunread",
    "scopes.signcommits",
    "scopes.prices",
}
_TRUSTED_WITH_COMMANDS = frozenset({"flag", "program"})
MACHINE_ID = "scopes.machineId"
_NAMES = {name.lower(): name for name in SETTINGS if "<" not in name}
_ENVIRONMENT_PREFIX = "SCOPES_"
_NO_SETTINGS = frozenset({"SCOPES_STORE", "SCOPES_DEBUG", "SCOPES_CONVERSATION", "SCOPES_MESSAGE", "SCOPES_REVISION"})
_PREFIXES = ("scopes.", "core.pager", "color.ui")
_WHOLE_NUMBER = compile_lazily(r"[0-9]{1,9}")
_PERCENTAGES = compile_lazily(r"[0-9]{1,3}/[0-9]{1,3}/[0-9]{1,3}")
_AGE = compile_lazily(r"[1-9][0-9]{0,4}(?: (?:day|week|month|year)s?|d|w|mo|y)", re.IGNORECASE)
_RULE = "scopes.merge.rule."
_AGENT = "scopes.agent."
ALIAS = "scopes.alias."
_NAME = r"(?P<name>[^\s\"\\]{1,100})"
MODEL_SETTING = compile_lazily(rf"scopes\.model\.{_NAME}\.(?P<field>window|encoding|factor)", re.IGNORECASE)
RETENTION_SETTING = compile_lazily(rf"scopes\.retention\.{_NAME}\.age", re.IGNORECASE)
_OF_MANY = {  # settings of SETTINGS with a name in the middle or at the end
    "scopes.merge.rule.<type>": compile_lazily(rf"{re.escape(_RULE)}[a-z-]+", re.IGNORECASE),
    "scopes.alias.<name>": compile_lazily(rf"{re.escape(ALIAS)}[a-z][a-z0-9-]{{0,63}}", re.IGNORECASE),
    "scopes.model.<name>.{field}": MODEL_SETTING,
    "scopes.agent.<name>.{field}": compile_lazily(
        rf"scopes\.agent\.{_NAME}\.(?P<field>command|delivery|timeout)", re.IGNORECASE
    ),
    "scopes.retention.<project>.age": RETENTION_SETTING,
}
_NEWER = compile_lazily(r"scopes\.[a-z][a-z0-9-]*", re.IGNORECASE)  # a setting that a newer scopes may know
_FORMS = {  # of the values that are neither any text nor one of a few
    "scopes.model.<name>.window": compile_lazily(r"[1-9][0-9]{0,8}"),
    "scopes.model.<name>.factor": compile_lazily(r"[0-9]{1,2}(\.[0-9]{1,2})?"),
    "scopes.retention.<project>.age": _AGE,
    "scopes.budgetWindow": _PERCENTAGES,
    "scopes.budgetContent": _PERCENTAGES,
} | dict.fromkeys(NUMBERS, _WHOLE_NUMBER)
LEVELS = {2: "system", 3: "user", 4: "user", 5: "store"}  # as libgit2 numbers them
_ID = compile_lazily(r"[0-9a-f]{12}")
_DIGITS = 12


class Setting(NamedTuple):
    """One value of a key and the level that sets it."""

    key: str
    value: str
    origin: str


class Config:
    """The settings of one open store, or of a command without a store."""

    def __init__(self, files: pygit2.Config, overrides: Mapping[str, Setting], store: str) -> None:
        self._files = files
        self._store = store
        self._overrides = {key.lower(): setting for key, setting in overrides.items()}

    def find(self, key: str) -> str | None:
        """Return the value of a key from the highest level that sets it; None if no level does.

        Raises:
            Corrupt: the value is not UTF-8 text.
        """
        override = self._overrides.get(key.lower())
        if (
            override is not None
            and _same_key(override.key, key)
            and (override.origin in _TRUSTED_WITH_COMMANDS or not names_command(key))
        ):
            return override.value
        if key.lower() in NOT_FROM_STORE or names_command(key):
            return self._find_own(key)
        try:
            return str(self._files[key])
        except KeyError:
            return None
        except UnicodeDecodeError as error:
            hint = f"set it again: scopes config set {quote(key)} VALUE"
            raise Corrupt(f"the setting {key} is not UTF-8 text", hint=hint) from error

    def find_integer(self, key: str, default: int) -> int:
        """Return a whole number of at most nine digits; the default if the value is missing or not such a number."""
        text = self.find(key)
        return int(text) if text is not None and _WHOLE_NUMBER.fullmatch(text) else default

    def find_boolean(self, key: str, *, default: bool) -> bool:
        """Return a boolean in one of git's spellings; the default if the value is missing or not a boolean."""
        return BOOLEANS.get((self.find(key) or "").lower(), default)

    def find_color(self) -> str:
        """Return when to color: auto, always or never, from scopes.color or else the user's color.ui, as in git."""
        value = (self.find("scopes.color") or self._find_own("color.ui") or "auto").lower()
        value = {True: "auto", False: "never", None: value}[BOOLEANS.get(value)]
        return value if value in CHOICES["scopes.color"] else "auto"

    def walk(self) -> Iterator[Setting]:
        """Yield every `scopes.*` value, lowest level first; a key may occur at several levels."""
        yield from (setting for setting in _walk_settings(self._files) if setting.key.startswith("scopes."))
        yield from self._overrides.values()

    def store_level(self) -> pygit2.Config:
        """Return the store's configuration file, for writing."""
        from scopes.store.objects import pygit2

        return pygit2.Config(self.store_file())

    def store_file(self) -> str:
        """Return the path of the configuration of the store."""
        return os.path.join(self._store, "config")

    def _find_own(self, key: str) -> str | None:
        """Return the value of a setting from the configuration files that only the user can write."""
        values = [
            s.value for s in _walk_settings(self._files) if _same_key(s.key, key) and s.origin in ("system", "user")
        ]
        return values[-1] if values else None


def _walk_settings(files: pygit2.Config) -> Iterator[Setting]:
    """Yield the settings of scopes, lowest level first; skip values that are not UTF-8: git shares the files."""
    entries = iter(files)
    while True:
        try:
            entry = next(entries, None)
            value = entry.value if entry is not None and entry.name.startswith(_PREFIXES) else None
        except UnicodeDecodeError:
            continue
        if entry is None:
            return
        if value is not None:
            yield Setting(entry.name, value, LEVELS.get(entry.level, "other"))


def environment_settings(environ: Mapping[str, str]) -> dict[str, Setting]:
    """Return the settings in the environment (`SCOPES_LOCK_TIMEOUT`: `scopes.lockTimeout`), by lower-case key.

    An empty variable counts as unset.
    """
    found: dict[str, Setting] = {}
    for name, value in environ.items():
        if name.startswith(_ENVIRONMENT_PREFIX) and name not in _NO_SETTINGS and value:
            key = "scopes." + name.removeprefix(_ENVIRONMENT_PREFIX).replace("_", "").lower()
            found[key] = Setting(key, value, "environment")
    return found


def open_user_file(home: str) -> pygit2.Config:
    """Open the user's git configuration for writing; the first write creates the file."""
    from scopes.store.objects import pygit2

    return pygit2.Config(os.path.join(home, ".gitconfig"))


def user_config() -> pygit2.Config:
    """Return the settings of the system and the user, for a command without a store.

    Raises:
        Inaccessible, Corrupt: a configuration file cannot be read.
    """
    from scopes.store.objects import pygit2, translated

    with translated("read the settings of git", os.path.expanduser("~")):
        return pygit2.config.DefaultConfig()


def read_user_value(key: str) -> str | None:
    """Return a value from the configuration of the user or the system; None if neither sets it.

    Raises:
        Inaccessible, Corrupt: a configuration file cannot be read.
    """
    return read_user_values(key).get("")


def read_user_values(prefix: str) -> dict[str, str]:
    """Return the values of the user or the system whose keys begin with a prefix, by the rest of the key.

    Raises:
        Inaccessible, Corrupt: a configuration file cannot be read.
    """
    start = prefix.lower()
    return {s.key.removeprefix(start): s.value for s in _walk_settings(user_config()) if s.key.startswith(start)}


def is_read_from_store(key: str) -> bool:
    """Return True if a store may set the key: it names no command and starts no work by itself."""
    return not (key.lower() in NOT_FROM_STORE or key.lower().startswith(ALIAS) or names_command(key))


def names_command(key: str) -> bool:
    """Return True if the value of a key is a command that scopes runs.

    Every setting of an agent is one but its time limit, whatever the name of the agent: nobody else may choose a name
    that makes it a setting which a store may have.
    """
    name = key.lower()
    return name in COMMANDS or (name.startswith(_AGENT) and not name.endswith(".timeout"))


def _same_key(one: str, other: str) -> bool:
    """Return True if two keys name one setting: in any letter case, except that of the name of an agent."""
    if one.lower() != other.lower():
        return False
    return not one.lower().startswith(_AGENT) or one.split(".")[2:-1] == other.split(".")[2:-1]


def check_key(key: str) -> str:
    """Check that the name of a setting is one that scopes may read; it need not be known.

    Raises:
        Invalid: it is outside of scopes, or only scopes itself may write it.
    """
    is_own = key.lower() in {"scopes.formatversion", MACHINE_ID.lower()}
    if is_own or not (is_known(key) or _NEWER.fullmatch(key)):
        raise _unknown_key(key)
    _check_rule(key)
    return key


def _check_rule(key: str) -> None:
    """Raise Invalid if a key is a merge rule for an unknown type of conflict."""
    if key.lower().startswith(_RULE):
        from scopes.model.conflicts import CONFLICT_TYPES

        conflict_type = key[len(_RULE) :].lower()
        if conflict_type not in CONFLICT_TYPES:
            raise Invalid(f"{conflict_type!a} is not a valid conflict type", hint="types: " + ", ".join(CONFLICT_TYPES))


def is_known(key: str) -> bool:
    """Return True if a key is a setting of scopes."""
    return _find_setting(key) is not None


def _find_setting(key: str) -> str | None:
    """Return the entry of SETTINGS for a key; None if there is none."""
    if key.lower() in _NAMES:
        return _NAMES[key.lower()]
    for name, pattern in _OF_MANY.items():
        found = pattern.fullmatch(key)
        if found is not None:
            return name.format(field=found.groupdict().get("field", "").lower())
    return None


def check_known(key: str) -> None:
    """Raise Invalid with the nearest settings as hint if a key is not a setting of scopes."""
    if not is_known(key):
        raise _unknown_key(key)
    _check_rule(key)


def nearest_key(key: str) -> str | None:
    """Return the setting whose name is most similar to a key, if one is."""
    from difflib import get_close_matches

    near: list[str] = get_close_matches(key.lower(), _NAMES, n=1, cutoff=0.75)
    return _NAMES[near[0]] if near else None


def _unknown_key(key: str) -> Invalid:
    near = nearest_key(key) if key.lower().startswith("scopes.") else None
    listed = "settings: " + ", ".join(SETTINGS)
    return Invalid(f"unknown setting {key!a}", hint=f"did you mean {near}?" if near else listed)


def check_value(key: str, value: str) -> str:
    """Check the value of a setting.

    Raises:
        Invalid: the value is not valid for this key; the hint describes valid values.
    """
    name = _find_setting(key) or ""
    form = _FORMS.get(name)
    if form is not None and not form.fullmatch(value):
        hint = "it is an age, such as: 2 years, 6mo, 30d" if form is _AGE else f"it is {SETTINGS[name]}"
        raise Invalid(f"{value!a} is not a valid value of {key}", hint=hint)
    if form is _PERCENTAGES and sum(map(int, value.split("/"))) != 100:
        raise Invalid(f"{value!a} is not a valid value of {key}", hint="the three percentages must sum to 100")
    choices = CHOICES.get(name, ())
    is_boolean = value.lower() in BOOLEANS and ("true" in choices or name == "scopes.color")
    if choices and not is_boolean and (value.lower() if name == "scopes.color" else value) not in choices:
        raise Invalid(f"{value!a} is not a valid value of {key}", hint=f"it is {SETTINGS[name]}")
    return value


def read_setting(files: pygit2.Config, key: str) -> str | None:
    """Return the value of a key in a configuration file; None if it has none, or one that is not UTF-8 text."""
    try:
        return str(files[key])
    except (KeyError, UnicodeDecodeError):
        return None


def write_setting(files: pygit2.Config, path: str, key: str, value: str | None) -> bool:
    """Set a value in the configuration file at `path`, or remove it if it is None; False if there was none to remove.

    Raises:
        Busy: another program keeps the file locked.
        Inaccessible: the file cannot be written, or it was written and could not be synced; the message says which.
    """
    if value is None and key not in files:
        return False
    from scopes.store.objects import is_locked, pygit2, refusal

    for may_retry in (True, False):
        try:
            _write(files, key, value)
        except (pygit2.GitError, OSError, ValueError) as error:
            if not (may_retry and is_locked(error)):
                raise refusal(f"write the setting {key}", os.path.dirname(path), error, writing=True) from error
            remove_orphans([f"{path}.lock"])
        else:
            break
    _sync(path, key)
    return True


def _write(files: pygit2.Config, key: str, value: str | None) -> None:
    if value is None:
        del files[key]
    else:
        files[key] = value


def _sync(path: str, key: str) -> None:
    try:
        for synced in (path, os.path.dirname(path)):
            sync(synced)
    except OSError as error:
        raise Inaccessible(
            f"the setting {key} was written, but could not be synced: a power cut may lose it",
            hint=f"check the disk of {path}",
        ) from error


def find_machine_id(config: Config) -> str | None:
    """Return the id of this machine; None if it has none yet."""
    known = read_setting(config.store_level(), MACHINE_ID)
    return known if known is not None and _ID.fullmatch(known) else None


def machine_id(config: Config, operation: OperationId) -> str:
    """Return the id of this machine; the first time it is made, as random as the id of the operation that needs it.

    Raises:
        Busy, Inaccessible: the configuration of the store cannot be written.
    """
    known = find_machine_id(config)
    if known is not None:
        return known
    made = sha256(f"machine {operation}".encode()).hexdigest()[:_DIGITS]
    write_setting(config.store_level(), config.store_file(), MACHINE_ID, made)
    return made
