"""Remove an entry of scopes from a JSON configuration; several may be in one file, such as a server and hooks.

The file from before the first entry is kept next to it. Once the last entry is out, its bytes come back if nothing but
our entries has changed since, in whatever order they came and went. Else the file is written without the entry, and
objects and lists that only we had made go too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

from scopes.errors import Refused
from scopes.hosts.config_file import backup_of, delete, format_json, keep_copy, parse_json, read_kept, save
from scopes.hosts.program import arguments_of, is_hook_run, split_command

_PARENTS = ("hooks", "mcpServers", "mcp", "servers")  # the keys of objects with our entries
Document = dict[str, Any]


def has_entries(document: Document) -> bool:
    """Return True if a configuration has a hook or a server of ours."""
    return any(is_our_entry(each) for key in _PARENTS for each in _walk(document.get(key)))


def take_out(
    path: str, before: str, document: Document, head: Mapping[str, Any] | None = None, *, loses: bool = False
) -> str | None:
    """Replace a file, which was `before`, by `document`, which is the same without one of our entries.

    head: what a new file has besides the entry
    loses: the entry had more than what we write, so the present file is kept in any case
    Returns the path of the file as it was; None if nothing need be kept.

    Raises:
        Busy, Inaccessible: as `save`.
    """
    kept = read_kept(backup_of(path))
    first = _parse(kept, path)
    copy = keep_copy(path, before) if loses else None
    if has_entries(document):
        save(path, before, format_json(_pruned(document, first)), keep=False)
        return copy
    is_same = _is_formatted(before, path) and _is_same(document, first, head or {})
    if is_same and kept is not None:
        save(path, before, kept, keep=False)
        with suppress(OSError):
            os.unlink(backup_of(path))
        return copy
    if is_same:
        delete(path, before)
        return copy
    return save(path, before, format_json(_pruned(document, first)), keep=not loses) or copy


def _is_same(document: Document, first: Document, head: Mapping[str, Any]) -> bool:
    """Return True if two documents differ by no more than what is made for an entry."""
    rest = {key: value for key, value in document.items() if key in first or (key, value) not in head.items()}
    return json.dumps(_pruned(rest, {})) == json.dumps(_pruned(first, {}))


def _pruned(document: Document, first: Document) -> Document:
    """Return a document without the empty objects and lists for our entries, unless `first` has them too."""
    document = deepcopy(document)
    for key in _PARENTS:
        found, known = document.get(key), first.get(key)
        if isinstance(found, dict):
            for name in [name for name, value in found.items() if value == []]:
                if not (isinstance(known, dict) and name in known):
                    del found[name]
        if found == {} and key not in first:
            del document[key]
    return document


def _parse(text: str | None, path: str) -> Document:
    try:
        return parse_json(text, path)
    except Refused:
        return {}


def _is_formatted(text: str, path: str) -> bool:
    return text == format_json(parse_json(text, path))


def _walk(value: Any) -> Iterator[Document]:
    """Yield the objects in a value, to the depth of hooks in the entries of an event."""
    level = [value]
    for _ in range(6):
        found = [each for each in level if isinstance(each, dict)]
        yield from found
        lists = [each for each in level if isinstance(each, list)]
        level = [item for each in found for item in each.values()] + [item for each in lists for item in each]


def is_our_entry(entry: Document) -> bool:
    """Return True if a hook or a server runs this program, and nothing else."""
    words = words_of(entry)
    return words is not None and (is_hook_run(words) or _is_server(words))


def words_of(entry: Document) -> list[str] | None:
    """Return the words that a hook or a server runs; None if it is not a command."""
    command, arguments = entry.get("command"), entry.get("args", [])
    if isinstance(command, str) and isinstance(arguments, list):
        command = [*(split_command(command) if not arguments else [command]), *arguments]
    return command if isinstance(command, list) and all(isinstance(word, str) for word in command) else None


def _is_server(command: list[str]) -> bool:
    words = arguments_of(command) or []
    return words[:1] == ["mcp"] or (words[:1] == ["--store"] and words[2:3] == ["mcp"])
