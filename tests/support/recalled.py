"""Fixtures whose state an earlier test of this process made: files are copied, ids and the clock go on as if made anew.

A fixture that makes stores and remotes in `tmp_path` is decorated with `recalled`, below `pytest.fixture`:

    @pytest.fixture
    @recalled
    def theirs(drawn, bare, tmp_path):
        ...

It runs once for each state of `tmp_path` in which it finds that. A later test that has the same state gets the files
that it made. Absolute paths of the directory are replaced in files, though not in compressed objects.
"""

from __future__ import annotations

import copy
import inspect
import os
import stat
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scopes import clock
from scopes.store.repository import Repository
from tests.support.store import FAST, open_store


class _File(NamedTuple):
    mode: int
    modified: int
    content: bytes | None  # None for a directory


class _Made(NamedTuple):
    """The files, what was read from clock and ids meanwhile, and what the fixture returned."""

    directory: str
    files: dict[str, _File]
    readings: list[tuple[str, tuple[Any, ...], Any]]
    result: Any


class _Argument(NamedTuple):
    name: str


class _Store(NamedTuple):
    path: str
    actor: str


_MADE: dict[tuple[str, ...], _Made] = {}


def recalled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a fixture function that makes its state once, and copies it for later tests."""
    parameters = dict(inspect.signature(function).parameters)

    def fixture(**given: Any) -> Any:
        request, directory = given["request"], str(given["tmp_path"])
        arguments = {name: given[name] for name in parameters}
        before = _read_files(directory)
        param = repr(getattr(request, "param", None))
        key = (request.module.__name__, function.__qualname__, param, _digest(before, directory))
        if key in _MADE:
            return _recall(_MADE[key], directory, before, arguments)
        readings, result = _record(lambda: function(**arguments))
        _MADE[key] = _Made(directory, _read_files(directory), readings, _pack(result, directory, arguments))
        return result

    wanted = {**parameters}
    for name in ("request", "tmp_path"):
        wanted.setdefault(name, inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD))
    fixture.__signature__ = inspect.Signature([*wanted.values()])  # type: ignore[attr-defined]
    fixture.__name__, fixture.__doc__, fixture.__module__ = function.__name__, function.__doc__, function.__module__
    return fixture


def _record(make: Callable[[], Any]) -> tuple[list[tuple[str, tuple[Any, ...], Any]], Any]:
    readings: list[tuple[str, tuple[Any, ...], Any]] = []

    def recorded(name: str, read: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            readings.append((name, arguments, read(*arguments)))
            return readings[-1][-1]

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_clock", "random_bytes"):
            patch.setattr(clock, name, recorded(name, getattr(clock, name)))
        return readings, make()


def _recall(made: _Made, directory: str, before: Mapping[str, _File], arguments: Mapping[str, Any]) -> Any:
    for name in sorted(before.keys() - made.files.keys(), reverse=True):
        (os.unlink if before[name].content is not None else os.rmdir)(os.path.join(directory, name))
    for name, file in made.files.items():
        _write_file(os.path.join(directory, name), file, before.get(name), made.directory, directory)
    for name, words, value in made.readings:
        assert getattr(clock, name)(*words) == value, "the clock or the ids are not those with which the state was made"
    for store in arguments.values():
        if isinstance(store, Repository):
            store.close()
    return _unpack(made.result, made.directory, directory, arguments)


def _write_file(path: str, file: _File, known: _File | None, old: str, new: str) -> None:
    if file.content is None:
        if known is None:
            os.mkdir(path, file.mode)
        return
    content = file.content.replace(old.encode(), new.encode())
    if known is not None and known.content == content:
        return
    if known is not None:
        os.unlink(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
    os.write(descriptor, content)
    os.close(descriptor)
    os.utime(path, ns=(file.modified, file.modified))


def _read_files(directory: str) -> dict[str, _File]:
    """Return what is below a directory, directories before what is in them."""
    found = {}
    for top, names, files in os.walk(directory):
        for name in (*names, *files):
            path = os.path.join(top, name)
            status = os.lstat(path)
            assert stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode), path
            content = None if stat.S_ISDIR(status.st_mode) else Path(path).read_bytes()
            found[os.path.relpath(path, directory)] = _File(status.st_mode & 0o777, status.st_mtime_ns, content)
    return found


def _digest(files: Mapping[str, _File], directory: str) -> str:
    """Return the hash of names and contents, whatever the directory is called."""
    digest = sha256()
    for name in sorted(files):
        content = files[name].content
        digest.update(f"{name}\0{'/' if content is None else len(content)}\0".encode())
        digest.update((content or b"").replace(directory.encode(), b"."))
    return digest.hexdigest()


def _pack(result: Any, directory: str, arguments: Mapping[str, Any]) -> Any:
    """Return what a later test can have of a result: no open store."""
    if type(result) is tuple:
        return tuple(_pack(each, directory, arguments) for each in result)
    for name, value in arguments.items():
        if result is value and result is not None:
            return _Argument(name)
    if isinstance(result, Repository):
        return _Store(os.path.relpath(result.path, directory), result.caller.actor)
    return copy.deepcopy(result)


def _unpack(packed: Any, old: str, directory: str, arguments: Mapping[str, Any]) -> Any:
    if isinstance(packed, _Argument):
        return arguments[packed.name]
    if isinstance(packed, _Store):
        return open_store(os.path.join(directory, packed.path), FAST, packed.actor)
    if type(packed) is tuple:
        return tuple(_unpack(each, old, directory, arguments) for each in packed)
    if isinstance(packed, str | Path):
        return type(packed)(str(packed).replace(old, directory))
    return copy.deepcopy(packed)
