"""`mcp install`: add this server to the configuration of a program that uses MCP servers, or show what to add.

A file is changed only if everything else in it stays (`config_file`), also what the user has added to our entry, such
as `env`. Codex's TOML gets a table at its end. `mcp remove` removes the entry.

Sources: code.claude.com/docs/en/mcp (Claude Code; that CLAUDE_CONFIG_DIR moves `.claude.json` is not in the documents,
other programs rely on it), developers.openai.com/codex/mcp (Codex), docs/tools/mcp-server.md of Gemini CLI,
opencode.ai/docs/mcp-servers, code.visualstudio.com/docs/copilot/reference/mcp-configuration (VS Code).
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scopes.errors import Invalid, Refused
from scopes.hosts.agents import AGENTS, UserDirectories, config_directory, moved_directory, target_named
from scopes.hosts.config_file import (
    State,
    advise_removal,
    find_object,
    format_json,
    keep_copy,
    parse_json,
    read_to_change,
    require_inside,
    save,
    take_back,
)
from scopes.hosts.json_entries import has_entries, is_our_entry, take_out
from scopes.result import Result

NAME = "scopes"


class Host(NamedTuple):
    """A program with a configuration of MCP servers.

    file: its configuration, from the directory of the agent of this name
    in_home: the file is in the home directory, unless a variable moves the directory of the agent
    in_project: the file is in the project
    keys: where the servers are in it
    entry: what describes the command of a server there
    advice: what the user has to do then
    """

    name: str
    file: str
    keys: tuple[str, ...]
    entry: Callable[[Sequence[str]], dict[str, Any]]
    advice: str
    in_home: bool = False
    in_project: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfigured(Result):
    """What was done to the configuration of a host.

    backup: the file as it was before; None if it did not exist or was not changed.
    text: what scopes writes into the entry; the entry that was removed.
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
            in_home=True,
        ),
        Host(
            "codex",
            "config.toml",
            ("mcp_servers",),
            _command,
            "sessions of Codex that are running do not have it: start them again",
        ),
        Host(
            "gemini",
            "settings.json",
            ("mcpServers",),
            _command,
            "sessions of Gemini CLI that are running do not have it: start them again",
        ),
        Host(
            "opencode",
            "opencode.json",
            ("mcp",),
            lambda words: {"type": "local", "command": list(words), "enabled": True},
            "sessions of OpenCode that are running do not have it: start them again",
        ),
        Host(
            "vscode",
            ".vscode/mcp.json",
            ("servers",),
            lambda words: {"type": "stdio", **_command(words)},
            "VS Code starts the server after you have trusted it: run its command MCP: List Servers",
            in_project=True,
        ),
    )
}


def install(
    host: str, command: Sequence[str], directories: UserDirectories, *, only_show: bool = False
) -> HostConfigured:
    """Add the server to the configuration of a host, or bring its entry up to date.

    Fields that the user has added to the entry stay. An entry of this name for another program is replaced.

    command: the words that start the server.
    only_show: change nothing, and return what would be written.

    Raises:
        Invalid: there is no such host.
        Refused: its configuration has comments, or something else where the servers should be.
        Inaccessible: it cannot be read or written.
    """
    found = find_host(host)
    path = path_of(found, directories)
    entry = found.entry(command)
    if only_show:
        return HostConfigured(host=host, file=path, state="shown", text=_text_of(found, path, entry))
    if path.endswith(".toml"):
        return _install_toml(found, path, entry)
    before = read_to_change(path)
    document = parse_json(before, path)
    is_first = not has_entries(document)
    old = find_object(document, found.keys, path).get(NAME)
    text = _text_of(found, path, entry)
    entry = with_added(old, entry)
    if old == entry:
        return HostConfigured(host=host, file=path, state="unchanged", text=text)
    is_lost = before is not None and old is not None and not is_our_server(old) and not is_first
    copy = keep_copy(path, before or "") if is_lost else None
    backup = save(path, before, _add_json(before, found, path, entry), keep=is_first) or copy
    return _configured(found, path, old, text, backup)


def remove(host: str, directories: UserDirectories) -> HostConfigured:
    """Remove the server from the configuration of a host; raises as `install`."""
    found = find_host(host)
    path = path_of(found, directories)
    with advise_removal(f"{'.'.join((*found.keys, NAME))} in {path}"):
        if path.endswith(".toml"):
            return _remove_toml(found, path)
        before = read_to_change(path)
        document = parse_json(before, path)
        old = find_object(document, found.keys, path).pop(NAME, None)
        if old is None or before is None:
            return HostConfigured(host=host, file=path, state="absent", text="")
        loses = not is_our_server(old) or bool(old.keys() - found.entry([NAME]).keys())
        backup = take_out(path, before, document, loses=loses)
        text = format_json(old).rstrip() if isinstance(old, dict) else json.dumps(old)
    return HostConfigured(host=host, file=path, state="removed", text=text, backup=backup)


def _text_of(host: Host, path: str, entry: Mapping[str, Any]) -> str:
    """Return the text that is added to the configuration."""
    if path.endswith(".toml"):
        return _toml_block(host, entry)
    return json.dumps(_nested(host.keys, {NAME: entry}), indent=2)


def is_our_server(entry: object) -> bool:
    """Return True if an entry starts this program."""
    return isinstance(entry, dict) and is_our_entry(entry)


def _configured(host: Host, path: str, old: object, text: str, backup: str | None) -> HostConfigured:
    state: State = "added" if old is None else "replaced"
    return HostConfigured(host=host.name, file=path, state=state, text=text, backup=backup, advice=host.advice)


def find_host(name: str) -> Host:
    """Return a host by one of the names of the agent.

    Raises:
        Invalid: there is none of this name.
    """
    name = target_named(name)
    if name not in HOSTS:
        raise Invalid(f"{name!a} is not a host that can be configured", hint=f"hosts: {', '.join(HOSTS)}")
    return HOSTS[name]


def path_of(host: Host, directories: UserDirectories) -> str:
    """Return the path of the configuration of a host.

    Raises:
        Refused: it is in the project, and a link leads out of it.
    """
    if host.in_project:
        path = os.path.join(directories.project, host.file)
        require_inside(path, directories.project)
        return path
    agent = AGENTS[host.name]
    if host.in_home and moved_directory(agent, directories.environ) is None:
        return os.path.join(directories.home, host.file)
    return os.path.join(config_directory(agent, directories.environ, directories.home), host.file)


def with_added(old: object, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with the fields that the user has added to the old one, if that is ours."""
    return {**old, **entry} if isinstance(old, dict) and is_our_server(old) else entry


def _add_json(text: str | None, host: Host, path: str, entry: Mapping[str, Any]) -> str:
    document = parse_json(text, path)
    find_object(document, host.keys, path)[NAME] = entry
    return format_json(document)


def _nested(keys: Sequence[str], value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value


def _install_toml(host: Host, path: str, entry: dict[str, Any]) -> HostConfigured:
    block = _toml_block(host, entry)
    before = read_to_change(path)
    text = before or ""
    old = toml_servers(text, path, host).get(NAME)
    wanted = with_added(old, entry)
    if old == wanted:
        return HostConfigured(host=host.name, file=path, state="unchanged", text=block)
    if old is not None and wanted is not entry:
        changed = _replace_values(text, host, entry)
    else:
        changed = _add_block(text if old is None else _without_block(text, host, path), block)
    if not _differs_in_entry_only(text, changed, host, wanted):
        raise Refused(f"{path} cannot be changed safely", hint="show what to add: --print")
    is_lost = isinstance(old, dict) and wanted is not entry and not _has_block(text, host, old, entry)
    copy = keep_copy(path, text) if is_lost else None  # such as a comment behind a value
    backup = save(path, before, changed, keep=old is None or wanted is entry) or copy
    return _configured(host, path, old, block, backup)


def _has_block(text: str, host: Host, old: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Return True if the lines with our values are as we write them."""
    return _toml_block(host, {key: old[key] for key in entry if key in old}) in text


def _remove_toml(host: Host, path: str) -> HostConfigured:
    text = read_to_change(path) or ""
    entry = toml_servers(text, path, host).get(NAME)
    if entry is None:
        return HostConfigured(host=host.name, file=path, state="absent", text="")
    removed = _without_block(text, host, path)
    backup = take_back(path, text, lambda before: _add_block(before, _toml_block(host, entry)), removed)
    return HostConfigured(host=host.name, file=path, state="removed", text="", backup=backup)


def toml_servers(text: str, path: str, host: Host) -> dict[str, Any]:
    """Return the table with the servers.

    Raises:
        Refused: the text is not TOML, or something else is there.
    """
    try:
        servers = tomllib.loads(text).get(host.keys[0], {})
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path} is not valid TOML: {error}", hint="fix it first") from error
    if not isinstance(servers, dict):
        raise Refused(f"{host.keys[0]!a} in {path} is not a table", hint="show what to add: --print")
    return servers


def _add_block(text: str, block: str) -> str:
    return text.rstrip("\n") + "\n\n" * bool(text.strip()) + block


def _toml_block(host: Host, entry: Mapping[str, Any]) -> str:
    """Return the table of an entry; the JSON of its strings and lists of strings is valid TOML."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=True, default=str)}" for key, value in entry.items()]
    return "\n".join([f"[{host.keys[0]}.{NAME}]", *lines]) + "\n"


def _replace_values(text: str, host: Host, entry: Mapping[str, Any]) -> str:
    """Return a TOML text with other values in the table of the server; its other lines stay where they are."""
    header = f"[{host.keys[0]}.{NAME}]"
    lines: list[str] = []
    inside, replaced = False, ""
    for line in text.splitlines(keepends=True):
        if replaced:  # a value of several lines
            replaced = "" if _is_toml(replaced + line) else replaced + line
            continue
        if line.strip().startswith("["):
            inside = line.strip() == header
        if inside and line.partition("=")[0].strip() in entry:
            replaced = "" if _is_toml(line) else line
            continue
        lines.append(line)
        if inside and line.strip() == header:
            lines[-1] = _toml_block(host, entry)
    return "".join(lines)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _differs_in_entry_only(text: str, changed: str, host: Host, entry: Mapping[str, Any]) -> bool:
    """Return True if a changed TOML text has this entry and is otherwise the same."""
    wanted = tomllib.loads(text)
    wanted.setdefault(host.keys[0], {})[NAME] = entry
    return _is_toml(changed) and tomllib.loads(changed) == wanted


def _without_block(text: str, host: Host, path: str) -> str:
    """Return a TOML text without the table of the server and the tables below it; the others must stay as they are.

    Comments between the last line of the table and the next one are about that, and stay.
    """
    header = f"[{host.keys[0]}.{NAME}]"
    kept: list[str] = []
    after: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare.startswith("["):
            inside = bare == header or bare.startswith(f"{header[:-1]}.")
            kept += after * (not inside)
            after = []
        if not inside:
            kept.append(line)
        elif bare.startswith("#") or (after and not bare):
            after.append(line)
        elif bare:
            after = []
    kept += after
    changed = "".join(kept).rstrip("\n") + "\n"
    wanted = tomllib.loads(text)
    del wanted[host.keys[0]][NAME]
    if not wanted[host.keys[0]]:
        del wanted[host.keys[0]]
    if not _is_toml(changed) or tomllib.loads(changed) != wanted:
        raise Refused(f"the table {header} in {path} cannot be removed safely", hint="edit the file")
    return changed
