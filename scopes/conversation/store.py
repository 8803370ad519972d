"""`init`, `config` and `gc`: a store is made, set and packed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from shlex import quote

from scopes.clock import in_seconds, now_nanoseconds, parse_date
from scopes.errors import Invalid, NotFound
from scopes.index.sqlite_files import delete_files
from scopes.model.operation import Operation
from scopes.result import HIDDEN, OMIT_EMPTY, Column, Note, Result, counted, format_size, short_id, shown
from scopes.store.config import (
    COMMANDS,
    DEFAULTS,
    NOT_FROM_STORE,
    SETTINGS,
    Config,
    Setting,
    check_key,
    check_value,
    find_setting,
    is_read_from_store,
    nearest_key,
    read_setting,
    write_setting,
)
from scopes.store.locks import defer_signals
from scopes.store.maintenance import count_loose_objects, expire, pack, plan_expire
from scopes.store.repository import Repository, create_store, is_store
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCreated(Result):
    """The path of the store; `created` is False if it existed already."""

    kind = "init"

    path: str
    created: bool

    @property
    def sentence(self) -> str:
        """Whether the store is new."""
        return f"{'created an empty store' if self.created else 'the store exists already'}: {self.path}"

    @property
    def answer(self) -> str:
        """The path."""
        return self.path

    @property
    def next_step(self) -> str:
        """How to remove the new store."""
        undo = f"undo with: rm -r {quote(self.path)} (as long as the store is empty)"
        return undo if self.created else ""


def init(path: str, *, dry_run: bool = False) -> StoreCreated:
    """Create an empty store at `path`; an existing store is not changed, and with `dry_run` none is created.

    Raises:
        Invalid: the path exists and is not a store.
        Inaccessible: the store cannot be written.
    """
    return StoreCreated(path=path, created=not is_store(path) if dry_run else create_store(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigValue(Result):
    """The value of one setting and the level or file it comes from; None if it was removed.

    `before` is the value that the written level had before.
    """

    kind = "config"

    key: str
    value: str | None
    origin: str
    written: bool
    before: str | None = None

    @property
    @shown
    def removed(self) -> bool:
        """Whether there is no value now."""
        return self.value is None

    @property
    def sentence(self) -> str:
        """What was written, if anything was."""
        what = f"removed {self.key}" if self.value is None else f"{self.key} = {self.value}"
        return f"{what} ({self.origin})" if self.written else ""

    @property
    def answer(self) -> str:
        """The value; of a removed setting the key."""
        return self.key if self.written and self.value is None else self.value or "\n"

    @property
    def next_step(self) -> str:
        """How to bring the value before back."""
        if not self.written or self.before == self.value:
            return ""
        key, level = quote(self.key), quote(self.origin)
        if self.before is None:
            return f"undo with: scopes config --unset {key} --level {level}"
        return f"undo with: scopes config {key} {quote(self.before)} --level {level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigList(Result):
    """Every value of every setting, lowest precedence first."""

    rows_in = "settings"
    columns = (Column("key"), Column("value"), Column("origin", option="show_origin"))
    empty = "Nothing is set."

    settings: tuple[Setting, ...]


def get_setting(config: Config, key: str) -> ConfigValue:
    """Read the effective value of a setting.

    Raises:
        Invalid: the key is not a setting of scopes.
        NotFound: the setting has no value.
    """
    value = config.find(check_key(key))
    if value is None:
        name, near = find_setting(key), nearest_key(key)
        hint = f"did you mean {near}?" if near else "list what is set: scopes config"
        raise NotFound(f"{key} is not set", hint=hint if name is None else f"it is {SETTINGS[name]}")
    origins = [setting.origin for setting in config.walk() if setting.key.lower() == key.lower()]
    return ConfigValue(key=key, value=value, origin=origins[-1] if origins else "user", written=False)


def list_settings(config: Config, *, defaults: bool = False) -> ConfigList:
    """List the values of all levels, with `defaults` also the defaults of the settings that have one."""
    lowest = tuple(Setting(key, value, "default") for key, value in DEFAULTS.items()) if defaults else ()
    return ConfigList(settings=(*lowest, *config.walk()))


def set_setting(
    repository: Repository | None, home: str, key: str, value: str | None, *, level: str, dry_run: bool = False
) -> ConfigValue:
    """Write a setting to the configuration of the store or of the user; the value None removes it.

    With `dry_run` nothing is written.

    Raises:
        Invalid: the key, value or level is not valid, or the level is `store` and the setting is not read from stores.
        NotFound: the setting to remove has no value, or there is no store.
        Inaccessible: the file cannot be written.
    """
    check_key(key, known=value is not None)
    if value is not None:
        check_value(key, value)
    if level not in {"store", "user"}:
        raise Invalid(f"{level!a} is not a valid config level", hint="levels: store, user")
    if level == "store" and not is_read_from_store(key):
        effect = "starts work by itself" if key.lower() in NOT_FROM_STORE - COMMANDS else "names a command"
        raise Invalid(f"{key} {effect} and is read from your own settings only", hint="set it with --level user")
    if level == "store" and repository is None:
        raise NotFound("there is no store for the setting", hint="create one: scopes init, or use --level user")
    own = os.path.join(home, ".gitconfig")  # the first write creates it
    path = own if level == "user" or repository is None else repository.config.store_file
    before = read_setting(path, key)
    with defer_signals():
        is_there = value is not None or before is not None
        try:
            if not (is_there if dry_run else write_setting(path, key, value)):
                raise NotFound(f"{key} is not set at the level {level}", hint="see: scopes config --show-origin")
        finally:  # also if it was written and could not be synced
            if repository is not None and before != value == read_setting(path, key):
                repository.caller.on_commit(f"the setting {key}")
    return ConfigValue(key=key, value=value, origin=level, written=True, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageCollected(Result):
    """The size of the object database before and after, and the number of expired operations and trash refs.

    With `dry_run` nothing was changed: the numbers are those of the run without it, the size afterwards is unknown, and
    `loose_objects`, `records` and `refs` are what would be packed and deleted.
    """

    kind = "gc"
    columns = (
        Column("path"),
        Column("bytes_before"),
        Column("bytes_after"),
        Column("expired_operations", "Operations"),
        Column("expired_refs", "Refs"),
    )

    path: str
    bytes_before: int
    bytes_after: int | None
    expired_operations: int
    expired_refs: int
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    loose_objects: int | None = None
    records: tuple[Operation, ...] | None = field(default=None, metadata=HIDDEN)
    refs: tuple[str, ...] | None = None

    @property
    @shown
    def operations(self) -> tuple[str, ...] | None:
        """The ids of the operations that would be deleted."""
        return None if self.records is None else tuple(record.id for record in self.records)

    @property
    def sentence(self) -> list[str]:
        """The sizes, and what was expired; of a dry run each operation and ref."""
        before = format_size(self.bytes_before)
        if self.bytes_after is None:
            lines = [f"would pack {self.path}: {counted(self.loose_objects or 0, 'loose object')}, {before} now"]
        else:
            lines = [f"packed {self.path}: {before} → {format_size(self.bytes_after)}"]
        if self.expired_operations or self.expired_refs:
            refs = counted(self.expired_refs, "deleted ref")
            verb = "would expire" if self.dry_run else "expired"
            lines.append(f"{verb} {counted(self.expired_operations, 'operation')} and {refs}")
        lines += [f"{short_id(each.id)}  {in_seconds(each.time)}  {each.summary}" for each in self.records or ()]
        return [*lines, *(self.refs or ())]


def gc(
    repository: Repository, *, expire_before: str | None = None, caches: Iterable[str] = (), dry_run: bool = False
) -> GarbageCollected:
    """Pack the store under the exclusive lock; unreachable objects stay for two more weeks.

    `expire_before` is a date: operations before it can no longer be undone, and the trash refs that they created are
    deleted. With it, the directories in `caches`, which hold data derived from the store, are emptied at once, because
    they may contain the text of expired messages. With `dry_run` nothing is changed.

    Raises:
        Invalid: the date cannot be parsed.
        Busy, Inaccessible: nothing was deleted.
    """
    cutoff = None if expire_before is None else parse_date(expire_before, now_nanoseconds())
    if dry_run:
        _, operations, trash = ([], [], []) if cutoff is None else plan_expire(repository, cutoff)
        return GarbageCollected(
            path=repository.path,
            bytes_before=_size(repository.path),
            bytes_after=None,
            expired_operations=len(operations),
            expired_refs=len(trash),
            dry_run=True,
            loose_objects=count_loose_objects(repository),
            records=tuple(operations),
            refs=tuple(change.ref for change in trash),
        )
    with exclusive_write(repository):
        before = _size(repository.path)
        expired, refs = (0, 0) if cutoff is None else expire(repository, cutoff)
        pack(repository)
        after = _size(repository.path)
    notes = [Note("git deletes expired objects two weeks after they were written")] if refs or expired else []
    if cutoff is not None:
        failures = [failure for directory in caches for failure in delete_files(directory)]
        notes += [Note(f"a cache may still hold what was deleted: {why}", "remove it yourself") for why in failures]
    return GarbageCollected(
        path=repository.path,
        bytes_before=before,
        bytes_after=after,
        expired_operations=expired,
        expired_refs=refs,
        notes=tuple(notes),
    )


def _size(path: str) -> int:
    """Return the disk usage of the object database in bytes."""
    total = 0
    for top, _, files in os.walk(os.path.join(path, "objects")):
        for name in files:
            with suppress(OSError):
                total += os.stat(os.path.join(top, name)).st_blocks * 512
    return total
