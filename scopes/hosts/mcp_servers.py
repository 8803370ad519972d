"""`mcp install`: add this server to the configuration of a program that uses MCP servers, or show what to add.

A file is changed only if what is in it stays (`config_file`); Codex's TOML gets a table at its end. `mcp remove` takes
the entry out.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scopes.errors import Invalid, Refused
from scopes.hosts.config_file import (
    State,
    advise_removal,
    find_object,
    format_json,
    parse_json,
    read_text,
    require_inside,
    save,
    take_back,
)
from scopes.hosts.json_entries import has_entries, take_out
from scopes.result import Result

NAME = "scopes"


class Host(NamedTuple):
    """A program with a configuration of MCP servers.

    file: its configuration, from the home directory, or from the project if it begins with `./`
    keys: where the servers are in it
    entry: what describes the command of a server there
    advice: what the user has to do then
    """

    name: str
    file: str
    keys: tuple[str, ...]
    entry: Callable[[Sequence[str]], dict[str, Any]]
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfigured(Result):
    """What was done to the configuration of a host.

    backup: the file as it was before; None if it did not exist or was not changed.
    text: the entry as it is in the file.
    advice: what is left to do in the host; None if nothing is.
    """

    host: str
    file: str
    state: State
    text: str
    backup: str | None = None
    advice: str | None = None


def _command(words: Sequence[str]) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


HOSTS = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            ".claude.json",
            ("mcpServers",),
            lambda words: {"type": "stdio", **_command(words)},
            "sessions of Claude Code that are running do not have it: start them again",
        ),
        Host(
            "codex",
            ".codex/config.toml",
            ("mcp_servers",),
            _command,
            "sessions of Codex that are running do not have it: start them again",
        ),
        Host(
            "gemini",
            ".gemini/settings.json",
            ("mcpServers",),
            _command,
            "sessions of Gemini CLI that are running do not have it: start them again",
        ),
        Host(
            "opencode",
            ".config/opencode/opencode.json",
            ("mcp",),
            lambda words: {"type": "local", "command": list(words), "enabled": True},
            "sessions of OpenCode that are running do not have it: start them again",
        ),
        Host(
            "vscode",
            "./.vscode/mcp.json",
            ("servers",),
            lambda words: {"type": "stdio", **_command(words)},
            "VS Code starts the server after you have trusted it: run its command MCP: List Servers",
        ),
    )
}


def install(host: str, command: Sequence[str], *, home: str, project: str, only_show: bool = False) -> HostConfigured:
    """Add the server to the configuration of a host, or replace its entry.

    command: the words that start the server.
    only_show: change nothing, and return what would be written.

    Raises:
        Invalid: there is no such host.
        Refused: its configuration has comments, or something else where the servers should be.
        Inaccessible: it cannot be read or written.
    """
    found = find_host(host)
    path = path_of(found, home, project)
    entry = found.entry(command)
    if path.endswith(".toml"):
        return _install_toml(found, path, entry, only_show=only_show)
    before = read_text(path)
    document = parse_json(before, path)
    is_first = not has_entries(document)
    old = find_object(document, found.keys, path).get(NAME)
    text = json.dumps(_nested(found.keys, {NAME: entry}), indent=2)
    if only_show or old == entry:
        return HostConfigured(host=host, file=path, state="shown" if only_show else "unchanged", text=text)
    backup = save(path, before, _add_json(before, found, path, entry), keep=is_first)
    return _configured(found, path, old, text, backup)


def remove(host: str, *, home: str, project: str) -> HostConfigured:
    """Take the server out of the configuration of a host; raises as `install`."""
    found = find_host(host)
    path = path_of(found, home, project)
    with advise_removal(f"{'.'.join((*found.keys, NAME))} in {path}"):
        if path.endswith(".toml"):
            return _remove_toml(found, path)
        before = read_text(path)
        document = parse_json(before, path)
        old = find_object(document, found.keys, path).pop(NAME, None)
        if old is None or before is None:
            return HostConfigured(host=host, file=path, state="absent", text="")
        backup = take_out(path, before, document)
    return HostConfigured(host=host, file=path, state="removed", text=json.dumps(old, indent=2), backup=backup)


def _configured(host: Host, path: str, old: object, text: str, backup: str | None) -> HostConfigured:
    state: State = "added" if old is None else "replaced"
    return HostConfigured(host=host.name, file=path, state=state, text=text, backup=backup, advice=host.advice)


def find_host(name: str) -> Host:
    """Return a host.

    Raises:
        Invalid: there is none of this name.
    """
    if name not in HOSTS:
        raise Invalid(f"{name!a} is not a host that can be configured", hint=f"hosts: {', '.join(HOSTS)}")
    return HOSTS[name]


def path_of(host: Host, home: str, project: str) -> str:
    """Return the path of the configuration of a host.

    Raises:
        Refused: it is one of a project, and a link leads out of it.
    """
    if host.file.startswith("./"):
        path = os.path.join(project, host.file[2:])
        require_inside(path, project)
        return path
    return os.path.join(home, host.file)


def _add_json(text: str | None, host: Host, path: str, entry: Mapping[str, Any]) -> str:
    document = parse_json(text, path)
    find_object(document, host.keys, path)[NAME] = entry
    return format_json(document)


def _nested(keys: Sequence[str], value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value


def _install_toml(host: Host, path: str, entry: Mapping[str, Any], *, only_show: bool) -> HostConfigured:
    block = _toml_block(host, entry)
    before = read_text(path)
    text = before or ""
    old = _toml_servers(text, path, host).get(NAME)
    if only_show or old == entry:
        return HostConfigured(host=host.name, file=path, state="shown" if only_show else "unchanged", text=block)
    if old is not None:
        text = _without_block(text, host, path)
    changed = _add_block(text, block)
    if _toml_servers(changed, path, host).get(NAME) != entry:
        raise Refused(f"{path} cannot be changed safely", hint="show what to add: --print")
    backup = save(path, before, changed, keep=old is None)
    return _configured(host, path, old, block, backup)


def _remove_toml(host: Host, path: str) -> HostConfigured:
    text = read_text(path) or ""
    entry = _toml_servers(text, path, host).get(NAME)
    if entry is None:
        return HostConfigured(host=host.name, file=path, state="absent", text="")
    removed = _without_block(text, host, path)
    backup = take_back(path, text, lambda before: _add_block(before, _toml_block(host, entry)), removed)
    return HostConfigured(host=host.name, file=path, state="removed", text="", backup=backup)


def _toml_servers(text: str, path: str, host: Host) -> dict[str, Any]:
    try:
        servers = tomllib.loads(text).get(host.keys[0], {})
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path} is not valid TOML: {error}", hint="mend it first") from error
    if not isinstance(servers, dict):
        raise Refused(f"{host.keys[0]!a} in {path} is not a table", hint="show what to add: --print")
    return servers


def _add_block(text: str, block: str) -> str:
    return text.rstrip("\n") + "\n\n" * bool(text.strip()) + block


def _toml_block(host: Host, entry: Mapping[str, Any]) -> str:
    """Return a table of strings and lists of strings; their JSON is valid TOML."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=True)}" for key, value in entry.items()]
    return "\n".join([f"[{host.keys[0]}.{NAME}]", *lines]) + "\n"


def _without_block(text: str, host: Host, path: str) -> str:
    """Return a TOML text without the table of the server; the others must stay as they are."""
    header = f"[{host.keys[0]}.{NAME}]"
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if line.strip().startswith("["):
            inside = line.strip() == header
        if not inside:
            kept.append(line)
    changed = "".join(kept).rstrip("\n") + "\n"
    wanted = tomllib.loads(text)
    del wanted[host.keys[0]][NAME]
    if not wanted[host.keys[0]]:
        del wanted[host.keys[0]]
    if tomllib.loads(changed) != wanted:
        raise Refused(f"the table {header} in {path} cannot be taken out safely", hint="edit the file")
    return changed
