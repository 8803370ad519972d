"""Settings: the keys `scopes.*` of git's configuration files, overridden by environment variables and flags.

Levels, the last one that sets a key wins: system, user, store, environment, flag. A program that opens a store through
the Python API sets values in place of flags. A store may come from another person, so a setting that names a command to
run is read from the system level, the user level, flags and programs only, and a setting that starts work by itself is
read from every level but the store's.

Help and completion read the tables, so this module does not load libgit2.

The small JSON files of a store are read and written here too, above all the one with the addresses of its remotes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scopes.clock import random_bytes
from scopes.errors import Corrupt, Invalid
from scopes.ids import OperationId
from scopes.lazy_patterns import compile_lazily
from scopes.model import canonical_json
from scopes.regular_file import read_regular, sync
from scopes.store.locks import remove_orphans
from scopes.store.refs import GONE_FILE, REMOTES_FILE

if TYPE_CHECKING:
    from scopes.store.objects import pygit2


SETTINGS = {
    "scopes.author": "your name, for messages without --as (default: git's user.name)",
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
    "scopes.budgetWindow": "how 'tokens --budget' divides: content/response/overhead in percent (60/20/20), or zen",
    "scopes.budgetContent": "how it divides the content: files/history/metadata in percent (default 50/30/20)",
    "scopes.contextSeconds": "seconds that a context is cached (default 600; 0: never)",
    "scopes.tightBudget": "tokens below which a context has only the newest conversation of a work item (default 500)",
    "scopes.maxTurns": "messages after which 'context' warns that a conversation is full (default: never)",
    "scopes.idleSeconds": "seconds after which 'context' warns that a conversation is idle (default: never)",
    "scopes.packThreshold": "loose objects that make a store pack itself (default 6000; your own configuration only)",
    "scopes.tokens": "'exact' refuses to estimate tokens where they cannot be counted",
    "scopes.summarizer": "a program that writes the summaries (a command: your own configuration only)",
    "scopes.summarizerTimeout": "seconds that the summarizer may take (default 60)",
    "scopes.systemPrompt": "what 'acp' puts before the history in a first prompt (your own configuration only)",
    "scopes.agent.<name>.command": "the program of an agent for 'facts run' (a command: your own configuration only)",
    "scopes.agent.<name>.delivery": "a program that gets the agent's messages (a command: your own configuration only)",
    "scopes.agent.<name>.timeout": "seconds that a program of an agent may take (default 60)",
    "scopes.check.hookFailure": "what 'check --hook' does if it fails: closed (default: deny the call) or open",
    "scopes.check.hookUnread": "what 'check --hook' does with a command that it cannot read: ask (default) or deny",
    "scopes.importWorkers": "processes that import many transcripts (default: one for each processor, up to 4)",
    "scopes.secrets.onImport": "'false': possible secrets in imports and appends are not reported (default: true)",
    "scopes.signCommits": "whether merges and decisions are signed (default: as git does; not from the store)",
    "scopes.fetchManifests": "'true': fetch and pull list what a remote has, and get messages only of what is here",
    "scopes.remoteConversations": "conversations with which a repository of a remote is full (default 5000; 0: never)",
    "scopes.remoteMegabytes": "megabytes with which a repository of a remote is full (default 5000; 0: never)",
    "scopes.prices": "a file with the prices of models for 'usage' (your own configuration only)",
    "scopes.memoryEvery": "new messages after which 'memory update' adds an entry (default 4; 0: never)",
}
DEFAULTS = {
    "scopes.durability": "full", "scopes.lockTimeout": "30", "scopes.hints": "true",
    "scopes.color": "auto", "scopes.pager": "less", "scopes.budgetWindow": "60/20/20",
    "scopes.budgetContent": "50/30/20", "scopes.contextSeconds": "600", "scopes.tightBudget": "500",
    "scopes.packThreshold": "6000", "scopes.summarizerTimeout": "60", "scopes.check.hookFailure": "closed",
    "scopes.check.hookUnread": "ask", "scopes.secrets.onImport": "true", "scopes.fetchManifests": "false",
    "scopes.remoteConversations": "5000", "scopes.remoteMegabytes": "5000", "scopes.memoryEvery": "4",
}  # fmt: skip
CHOICES = {
    "scopes.durability": ("full", "fast"),
    "scopes.tokens": ("exact", "estimate"),
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
NUMBERS = frozenset({
    "scopes.lockTimeout", "scopes.packThreshold", "scopes.summarizerTimeout", "scopes.memoryEvery",
    "scopes.remoteConversations", "scopes.remoteMegabytes", "scopes.contextSeconds", "scopes.tightBudget",
    "scopes.maxTurns", "scopes.idleSeconds", "scopes.importWorkers", "scopes.agent.<name>.timeout",
})  # fmt: skip
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
    "scopes.systemprompt",
}
_TRUSTED_WITH_COMMANDS = frozenset({"flag", "program"})
_MACHINE_ID = "scopes.machineId"
_NAMES = {name.lower(): name for name in SETTINGS if "<" not in name}
_ENVIRONMENT_PREFIX = "SCOPES_"
_NO_SETTINGS = frozenset({"SCOPES_STORE", "SCOPES_CONVERSATION", "SCOPES_MESSAGE", "SCOPES_REVISION"})
_PREFIXES = ("scopes.", "core.pager", "color.ui", "user.name")
_WHOLE_NUMBER = compile_lazily(r"[0-9]{1,9}")
_PERCENTAGES = compile_lazily(r"[0-9]{1,3}/[0-9]{1,3}/[0-9]{1,3}|zen")
_RULE = "scopes.merge.rule."
_AGENT = "scopes.agent."
ALIAS = "scopes.alias."
_NAME = r"(?P<name>[^\s\"\\]{1,100})"
MODEL_SETTING = compile_lazily(rf"scopes\.model\.{_NAME}\.(?P<field>window|encoding|factor)", re.IGNORECASE)
_OF_MANY = {  # settings of SETTINGS with a name in the middle or at the end
    "scopes.merge.rule.<type>": compile_lazily(rf"{re.escape(_RULE)}[a-z-]+", re.IGNORECASE),
    "scopes.alias.<name>": compile_lazily(rf"{re.escape(ALIAS)}[a-z][a-z0-9-]{{0,63}}", re.IGNORECASE),
    "scopes.model.<name>.{field}": MODEL_SETTING,
    "scopes.agent.<name>.{field}": compile_lazily(
        rf"scopes\.agent\.{_NAME}\.(?P<field>command|delivery|timeout)", re.IGNORECASE
    ),
}
_NEWER = compile_lazily(r"scopes\.[a-z][a-z0-9-]*", re.IGNORECASE)  # a setting that a newer scopes may know
_FORMS = {  # of the values that are neither any text nor one of a few
    "scopes.model.<name>.window": compile_lazily(r"[1-9][0-9]{0,8}"),
    "scopes.model.<name>.factor": compile_lazily(r"[0-9]{1,2}(\.[0-9]{1,2})?"),
    "scopes.budgetWindow": _PERCENTAGES,
    "scopes.budgetContent": _PERCENTAGES,
} | dict.fromkeys(NUMBERS, _WHOLE_NUMBER)
LEVELS = {2: "system", 3: "user", 4: "user", 5: "store"}  # as libgit2 numbers them
_ID = compile_lazily(r"[0-9a-f]{12}")
_MAX_BYTES: Final = 64 << 20
_UNFINISHED: Final = ".lock"  # `gc` also removes files with it
MAX_REPOSITORIES: Final = 100
_ADDRESS = compile_lazily(r"(?P<stem>.*?[^/:])(?P<ending>(?:\.git)?)/*")
_NUMBERED = compile_lazily(r"(?P<stem>.*[^/:])-(?P<number>[2-9]|[1-9][0-9]|100)")
_NO_NAMES: Final = frozenset({".git", ".", "..", "~"})
ORIGIN: Final = "origin"
DEFAULT_REMOTE: Final = "scopes.defaultRemote"  # the setting that names the remote of commands which name none
BUNDLE: Final = "bundle"  # what came from the last bundle is known under this name, which no remote has


class Setting(NamedTuple):
    """One value of a key and the level that sets it."""

    key: str
    value: str
    origin: str


class Config:
    """The settings of one open store, or of a command without a store; `store_file` is the configuration file."""

    def __init__(self, files: pygit2.Config, overrides: Mapping[str, Setting], store: str) -> None:
        self._files = files
        self.store_file = os.path.join(store, "config")
        self._overrides = {key.lower(): setting for key, setting in overrides.items()}

    def find(self, key: str) -> str | None:
        """Return the value of a key from the highest level that sets it, None if no level does; or raise Corrupt."""
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
            hint = f"set it again: scopes config {quote(key)} VALUE"
            raise Corrupt(f"the setting {key} is not UTF-8 text", hint=hint) from error

    def find_person(self) -> str | None:
        """Return the name of the person who uses scopes: scopes.author, or else git's user.name, not of the store."""
        return self.find("scopes.author") or self._find_own("user.name")

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

    def _find_own(self, key: str) -> str | None:
        """Return the value of a setting from the configuration files that only the user can write."""
        own = (each for each in _walk_settings(self._files) if each.origin in {"system", "user"})
        values = [each.value for each in own if _same_key(each.key, key)]
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
    """Return the settings in the environment (`SCOPES_LOCK_TIMEOUT`: `scopes.lockTimeout`), by lower-case key."""
    found: dict[str, Setting] = {}
    for name, value in environ.items():
        if name.startswith(_ENVIRONMENT_PREFIX) and name not in _NO_SETTINGS and value:
            key = "scopes." + name.removeprefix(_ENVIRONMENT_PREFIX).replace("_", "").lower()
            found[key] = Setting(key, value, "environment")
    return found


def user_config() -> pygit2.Config:
    """Return the settings of the system and the user, for a command without a store."""
    from scopes.store.objects import pygit2, translated

    with translated("read the settings of git", os.path.expanduser("~")):
        return pygit2.config.DefaultConfig()


def read_user_values(prefix: str) -> dict[str, str]:
    """Return the values of the user or the system whose keys begin with a prefix, by the rest of the key."""
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


def check_key(key: str, *, known: bool = False) -> str:
    """Check that the name of a setting is one that scopes may read; it need not be known unless `known`.

    Raises:
        Invalid: it is outside of scopes, or only scopes itself may write it; the hint has the nearest setting.
    """
    is_own = key.lower() in {"scopes.formatversion", _MACHINE_ID.lower()}
    if is_own or not (find_setting(key) or (not known and _NEWER.fullmatch(key))):
        near = nearest_key(key) if key.lower().startswith("scopes.") else None
        hint = f"did you mean {near}?" if near else "settings: " + ", ".join(SETTINGS)
        raise Invalid(f"unknown setting {key!a}", hint=hint)
    if key.lower().startswith(_RULE):
        from scopes.model.conflicts import CONFLICT_TYPES

        conflict_type = key[len(_RULE) :].lower()
        if conflict_type not in CONFLICT_TYPES:
            raise Invalid(f"{conflict_type!a} is not a valid conflict type", hint="types: " + ", ".join(CONFLICT_TYPES))
    return key


def find_setting(key: str) -> str | None:
    """Return the entry of SETTINGS for a key; None if there is none."""
    if key.lower() in _NAMES:
        return _NAMES[key.lower()]
    for name, pattern in _OF_MANY.items():
        found = pattern.fullmatch(key)
        if found is not None:
            return name.format(field=found.groupdict().get("field", "").lower())
    return None


def nearest_key(key: str) -> str | None:
    """Return the setting whose name is most similar to a key, if one is."""
    from difflib import get_close_matches

    near: list[str] = get_close_matches(key.lower(), _NAMES, n=1, cutoff=0.75)
    return _NAMES[near[0]] if near else None


def check_value(key: str, value: str) -> str:
    """Check the value of a setting, or raise Invalid; the hint describes valid values."""
    name = find_setting(key) or ""
    form, choices = _FORMS.get(name), CHOICES.get(name, ())
    text = value.lower() if name == "scopes.color" else value
    is_boolean = value.lower() in BOOLEANS and ("true" in choices or name == "scopes.color")
    if (form is None or form.fullmatch(value)) and (not choices or is_boolean or text in choices):
        if form is not _PERCENTAGES or value == "zen" or sum(map(int, value.split("/"))) == 100:
            return value
        hint = "the three percentages must sum to 100"
    else:
        hint = f"it is {SETTINGS[name]}"
    raise Invalid(f"{value!a} is not a valid value of {key}", hint=hint)


def read_setting(path: str, key: str) -> str | None:
    """Return the value of a key in a configuration file; None if it has none, or one that is not UTF-8 text."""
    from scopes.store.objects import pygit2

    try:
        return str(pygit2.Config(path)[key])
    except (KeyError, UnicodeDecodeError):
        return None


def write_setting(path: str, key: str, value: str | None) -> bool:
    """Set a value in a configuration file, or remove it if it is None; return False if there was none to remove.

    Raises:
        Busy: another program keeps the file locked.
        Inaccessible: the file cannot be written or synced.
    """
    from scopes.store.objects import is_locked, pygit2, refusal, translated

    files = pygit2.Config(path)
    if value is None and key not in files:
        return False
    for may_retry in (True, False):
        try:
            if value is None:
                del files[key]
            else:
                files[key] = value
        except (pygit2.GitError, OSError, ValueError) as error:
            if not (may_retry and is_locked(error)):
                raise refusal(f"write the setting {key}", os.path.dirname(path), error, writing=True) from error
            remove_orphans([f"{path}.lock"])
        else:
            break
    with translated(f"write the setting {key}", os.path.dirname(path)):
        for synced in (path, os.path.dirname(path)):
            sync(synced)
    return True


def find_machine_id(config: Config) -> str | None:
    """Return the id of this machine; None if it has none yet."""
    known = read_setting(config.store_file, _MACHINE_ID)
    return known if known is not None and _ID.fullmatch(known) else None


def machine_id(config: Config, operation: OperationId) -> str:
    """Return the id of this machine; the first time it is made, as random as the id of the operation that needs it."""
    known = find_machine_id(config)
    if known is not None:
        return known
    made = sha256(f"machine {operation}".encode()).hexdigest()[:12]
    write_setting(config.store_file, _MACHINE_ID, made)
    return made


def read_json(store: str, name: str) -> Any:
    """Return the content of a small JSON file of a store, None if there is none; or raise Corrupt."""
    path = os.path.join(store, name)
    try:
        return json.loads(read_regular(path, _MAX_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(store, name) from error


def _damaged(store: str, name: str) -> Corrupt:
    hint = "move the file away, and run the command again"
    return Corrupt(f"{os.path.join(store, name)} cannot be read", hint=hint)


def read_sets(store: str, name: str, field: str) -> dict[str, frozenset[str]]:
    """Return a field of a file that maps names to lists of texts; an empty dict if there is no such file or field."""
    return {key: frozenset(map(str, found)) for key, found in _read_field(store, name, field).items()}


def read_texts(store: str, name: str, field: str) -> dict[str, dict[str, str]]:
    """Return a field of a file that maps names to objects of texts, as `read_sets` does."""
    return {key: {**texts} for key, texts in _read_field(store, name, field).items()}


def _read_field(store: str, name: str, field: str) -> dict[str, Any]:
    document = read_json(store, name)
    known = document.get(field) if isinstance(document, dict) else None
    return known if isinstance(known, dict) else {}


def write_json(store: str, name: str, document: Mapping[str, Any] | None) -> None:
    """Replace a file as a whole, durably; None deletes it. Call it under the exclusive lock.

    What a process that was killed has left of the file is removed.

    Raises:
        Inaccessible: it cannot be written; it is as it was.
    """
    from scopes.store.objects import translated

    path = os.path.join(store, name)
    unfinished = f"{path}.{random_bytes(4).hex()}{_UNFINISHED}"
    with translated(f"write {name}", store):
        for left in os.listdir(store):
            if left.startswith(f"{name}.") and left.endswith(_UNFINISHED):
                os.unlink(os.path.join(store, left))
        try:
            if document is None:
                with suppress(FileNotFoundError):
                    os.unlink(path)
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with open(os.open(unfinished, flags, 0o600), "wb") as file:
                    file.write(canonical_json.dump(dict(document)))
                    file.flush()
                    os.fsync(file.fileno())
                os.rename(unfinished, path)
            sync(store)
        finally:
            with suppress(OSError):
                os.unlink(unfinished)


class NextRepository(NamedTuple):
    """The repository after another one: its number, and its address."""

    number: int
    address: str


def find_next(address: str) -> NextRepository | None:
    """Return the repository after the one with an address; None if it has no name that can be numbered."""
    found = _ADDRESS.fullmatch(address)
    if found is None or address.rstrip("/").rpartition("/")[2].rpartition(":")[2] in _NO_NAMES:
        return None
    numbered = _NUMBERED.fullmatch(found["stem"])
    stem, number = (found["stem"], 1) if numbered is None else (numbered["stem"], int(numbered["number"]))
    if number >= MAX_REPOSITORIES:
        return None
    return NextRepository(number + 1, f"{stem}-{number + 1}{found['ending']}")


def find_first(addresses: Mapping[str, str], name: str) -> str:
    """Return the name of the first repository of the remote to which one belongs; it may be that one."""
    found = _NUMBERED.fullmatch(name)
    if found is None:
        return name
    first = found["stem"]
    is_one = first in addresses and find_first(addresses, first) == first and name in list_family(addresses, first)
    return first if is_one else name


def list_family(addresses: Mapping[str, str], name: str) -> list[str]:
    """Return the names of the repositories of a remote, the oldest first; `addresses` are those of all remotes."""
    names = [name]
    following = find_next(addresses[name])
    while following is not None and addresses.get(f"{name}-{following.number}") == following.address:
        names.append(f"{name}-{following.number}")
        following = find_next(following.address)
    return names


def read_addresses(store: str) -> dict[str, str]:
    """Return the addresses of the remotes by name; `sync` checks them."""
    addresses: dict[str, str] = _read_remotes(store)["remotes"]
    return addresses


def read_entries(store: str) -> dict[str, tuple[str, bool]]:
    """Return the addresses by name, and whether conversations are branches there."""
    document = _read_remotes(store)
    branches = document.get("as_branches", [])
    return {name: (address, name in branches) for name, address in document["remotes"].items()}


def read_first(store: str) -> str | None:
    """Return the remote that was added first, if that is known."""
    first: str | None = _read_remotes(store).get("first")
    return first


def find_default(store: str, setting: str | None) -> str | None:
    """Return the remote of commands that name none: by the setting, else `origin`, the first or the only one."""
    names = read_addresses(store)
    if setting:
        return find_first(names, setting)
    first = read_first(store)
    if ORIGIN in names:
        return ORIGIN
    return find_first(names, first) if first is not None and first in names else _only(names)


def _only(addresses: Mapping[str, str]) -> str | None:
    names = [name for name in addresses if find_first(addresses, name) == name]
    return names[0] if len(names) == 1 else None


def _read_remotes(store: str) -> dict[str, Any]:
    document = read_json(store, REMOTES_FILE) or {"remotes": {}}
    if isinstance(document, dict) and isinstance(document.get("remotes"), dict):
        return document
    raise _damaged(store, REMOTES_FILE)


def write_entries(store: str, entries: Mapping[str, tuple[str, bool]], first: str | None = None) -> None:
    """Replace the list of remotes. Call it under the exclusive lock; raises as `write_json` does.

    first: the remote that was added first; None if that is the same as before
    """
    addresses = {name: address for name, (address, _) in entries.items()}
    branches = sorted(name for name, (_, as_branches) in entries.items() if as_branches)
    first = first or read_first(store)
    first = first if first in entries else _only(addresses)
    document = {"v": 1, "remotes": addresses, "as_branches": branches, "first": first}
    write_json(store, REMOTES_FILE, {key: value for key, value in document.items() if value or key == "remotes"})


def read_gone(store: str) -> dict[str, frozenset[str]]:
    """Return the roots of conversations that remotes had and have no more, by the name of the remote."""
    return read_sets(store, GONE_FILE, "remotes")
