"""`mcp install`: add this server to the configuration of a program that uses MCP servers, or show what to add.

A file is changed only if what is in it stays: JSON is read and written again, so a file with comments is refused;
Codex's TOML gets a table at its end. The file as it was is kept beside it, and `mcp remove` takes the entry out.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from scopes.clock import new_id
from scopes.errors import Inaccessible, Invalid, Refused
from scopes.result import Result

NAME = "scopes"
State = Literal["added", "replaced", "unchanged", "removed", "absent", "shown"]


class Host(NamedTuple):
    """A program with a configuration of MCP servers.

    file: its configuration, from the home directory, or from the project if it begins with `./`
    keys: where the servers are in it
    entry: what describes the command of a server there
    """

    name: str
    file: str
    keys: tuple[str, ...]
    entry: Callable[[Sequence[str]], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfigured(Result):
    """What was done to the configuration of a host.

    backup: the file as it was before; None if it did not exist or was not changed.
    text: the entry as it is in the file.
    """

    host: str
    file: str
    state: State
    text: str
    backup: str | None = None


def _command(words: Sequence[str]) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


HOSTS = {
    host.name: host
    for host in (
        Host("claude-code", ".claude.json", ("mcpServers",), lambda words: {"type": "stdio", **_command(words)}),
        Host("codex", ".codex/config.toml", ("mcp_servers",), _command),
        Host("gemini", ".gemini/settings.json", ("mcpServers",), _command),
        Host(
            "opencode",
            ".config/opencode/opencode.json",
            ("mcp",),
            lambda words: {"type": "local", "command": list(words), "enabled": True},
        ),
        Host("vscode", "./.vscode/mcp.json", ("servers",), lambda words: {"type": "stdio", **_command(words)}),
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
    document = _read_json(path)
    servers = _servers(document, found, path)
    old = servers.get(NAME)
    text = json.dumps(_nested(found.keys, {NAME: entry}), indent=2)
    if only_show or old == entry:
        return HostConfigured(host=host, file=path, state="shown" if only_show else "unchanged", text=text)
    servers[NAME] = entry
    backup = _save(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return HostConfigured(host=host, file=path, state="added" if old is None else "replaced", text=text, backup=backup)


def remove(host: str, *, home: str, project: str) -> HostConfigured:
    """Take the server out of the configuration of a host; raises as `install`."""
    found = find_host(host)
    path = path_of(found, home, project)
    if path.endswith(".toml"):
        return _remove_toml(found, path)
    document = _read_json(path)
    servers = _servers(document, found, path)
    old = servers.pop(NAME, None)
    if old is None:
        return HostConfigured(host=host, file=path, state="absent", text="")
    backup = _save(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return HostConfigured(host=host, file=path, state="removed", text=json.dumps(old, indent=2), backup=backup)


def find_host(name: str) -> Host:
    """Return a host.

    Raises:
        Invalid: there is none of this name.
    """
    if name not in HOSTS:
        raise Invalid(f"{name!a} is not a host that can be configured", hint=f"hosts: {', '.join(HOSTS)}")
    return HOSTS[name]


def path_of(host: Host, home: str, project: str) -> str:
    """Return the path of the configuration of a host."""
    if host.file.startswith("./"):
        return os.path.join(project, host.file[2:])
    return os.path.join(home, host.file)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Inaccessible(f"cannot read {path}: {error.strerror}", hint="show what to add: --print") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not UTF-8", hint="show what to add: --print") from error


def _read_json(path: str) -> dict[str, Any]:
    text = _read(path)
    if not text.strip():
        return {}
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        hint = "it may have comments, which would be lost; add the entry yourself: --print"
        raise Refused(f"{path} is not plain JSON: {error}", hint=hint) from error
    if not isinstance(document, dict):
        raise Refused(f"{path} has no JSON object", hint="show what to add: --print")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a repeated key: writing it again would lose a value."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key is repeated")
    return document


def _servers(document: dict[str, Any], host: Host, path: str) -> dict[str, Any]:
    """Return the object of the servers, which is made if there is none."""
    found: Any = document
    for key in host.keys:
        found = found.setdefault(key, {})
        if not isinstance(found, dict):
            raise Refused(f"{key!a} in {path} is no object", hint="show what to add: --print")
    servers: dict[str, Any] = found
    return servers


def _nested(keys: Sequence[str], value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value


def _install_toml(host: Host, path: str, entry: Mapping[str, Any], *, only_show: bool) -> HostConfigured:
    block = _toml_block(host, entry)
    text = _read(path)
    old = _toml_servers(text, path, host).get(NAME)
    if only_show or old == entry:
        return HostConfigured(host=host.name, file=path, state="shown" if only_show else "unchanged", text=block)
    if old is not None:
        text = _without_block(text, host, path)
    changed = text.rstrip("\n") + "\n\n" * bool(text.strip()) + block
    if _toml_servers(changed, path, host).get(NAME) != entry:
        raise Refused(f"{path} cannot be changed safely", hint="show what to add: --print")
    backup = _save(path, changed)
    state: State = "added" if old is None else "replaced"
    return HostConfigured(host=host.name, file=path, state=state, text=block, backup=backup)


def _remove_toml(host: Host, path: str) -> HostConfigured:
    text = _read(path)
    if NAME not in _toml_servers(text, path, host):
        return HostConfigured(host=host.name, file=path, state="absent", text="")
    backup = _save(path, _without_block(text, host, path))
    return HostConfigured(host=host.name, file=path, state="removed", text="", backup=backup)


def _toml_servers(text: str, path: str, host: Host) -> dict[str, Any]:
    try:
        servers = tomllib.loads(text).get(host.keys[0], {})
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path} is not valid TOML: {error}", hint="mend it first") from error
    if not isinstance(servers, dict):
        raise Refused(f"{host.keys[0]!a} in {path} is no table", hint="show what to add: --print")
    return servers


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


def _save(path: str, text: str) -> str | None:
    """Replace a file, with the permissions that it had, and keep the old one; return the path of that.

    Raises:
        Inaccessible: a permission is missing, or the disk is full.
    """
    final = os.path.realpath(path)
    backup = None
    try:
        os.makedirs(os.path.dirname(final), exist_ok=True)
        mode = stat.S_IMODE(os.stat(final).st_mode) if os.path.exists(final) else 0o600
        if os.path.exists(final):
            backup = f"{final}.before-scopes"
            _write(backup, _read(final), mode)
        _write(final, text, mode)
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint="show what to add: --print") from error
    return backup


def _write(path: str, text: str, mode: int) -> None:
    temporary = f"{path}.{new_id()}.part"
    with ExitStack() as cleanup:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        cleanup.callback(os.unlink, temporary)
        os.fchmod(descriptor, mode)  # whatever the umask is
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        cleanup.pop_all()
