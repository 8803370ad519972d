"""`setup --only mcp`: add this server to the configuration of a program that uses MCP servers, or show what to add.

A file is changed only if everything else in it stays (`config_file`), also what the user has added to our entry, such
as `env`. Codex's TOML gets a table at its end. `--remove` removes the entry. A server of somebody else with our name
is replaced only with `force`, and is back after the removal.

Sources: code.claude.com/docs/en/mcp (Claude Code; that CLAUDE_CONFIG_DIR moves `.claude.json` is not in the documents,
other programs rely on it), developers.openai.com/codex/mcp (Codex), docs/tools/mcp-server.md of Gemini CLI,
opencode.ai/docs/mcp-servers, code.visualstudio.com/docs/copilot/reference/mcp-configuration (VS Code).
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, NamedTuple

from scopes.errors import Invalid, Refused
from scopes.hosts.agents import AGENTS, UserDirectories, config_directory, moved_directory, target_named
from scopes.hosts.config_file import (
    State,
    advise_removal,
    backup_of,
    find_object,
    forget_copy,
    format_json,
    keep_copy,
    kept_texts,
    parse_json,
    read_to_change,
    require_inside,
    save,
    take_back,
)
from scopes.hosts.json_entries import has_entries, is_our_entry, take_out
from scopes.result import OMIT_EMPTY, Result, named

NAME = "scopes"
_IS_BACK = "the server of this name that was there before is back"


_SENTENCES = {
    "added": "Added scopes to {file}",
    "replaced": "Replaced the entry of scopes in {file}",
    "unchanged": "{file} has this entry already",
    "removed": "Removed scopes from {file}",
    "absent": "{file} has no entry of scopes",
}


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

    kind = "host"

    host: str
    file: str
    state: State
    text: str = field(metadata=named("entry") | OMIT_EMPTY)
    backup: str | None = None
    advice: str | None = None

    @property
    def sentence(self) -> list[str]:
        """What was done, and what is left to do."""
        return [] if self.state == "shown" else [self._done, self.advice or ""]

    @property
    def answer(self) -> str:
        """The file; of an entry that is shown its text."""
        return self.text if self.state == "shown" else self.file

    @property
    def remark(self) -> list[str]:
        """That the file is as before, and what is left to do."""
        return [self._done if self.state in {"unchanged", "absent"} else "", self.advice or ""]

    @property
    def next_step(self) -> list[str]:
        """Where the text goes, the file as it was, and how to remove the entry."""
        if self.state == "shown":
            return [f"goes into {self.file}"]
        is_added = self.state in {"added", "replaced"}
        remove = f"to remove it: scopes setup {quote(self.host)} --only mcp --remove" if is_added else ""
        return [remove, f"the file as it was: {self.backup}" if self.backup is not None else ""]

    @property
    def _done(self) -> str:
        return _SENTENCES.get(self.state, "").format(file=self.file)


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
    host: str, command: Sequence[str], directories: UserDirectories, *, force: bool = False, only_show: bool = False
) -> HostConfigured:
    """Add the server to the configuration of a host, or bring its entry up to date.

    Fields that the user has added to the entry stay.

    command: the words that start the server.
    force: replace an entry of this name for another program; `remove` brings it back.
    only_show: change nothing, and return what would be written.

    Raises:
        Invalid: there is no such host.
        Refused: its configuration has comments, something else where the servers should be, or another server of this
            name.
        Inaccessible: it cannot be read or written.
    """
    found = find_host(host)
    path = path_of(found, directories)
    entry = found.entry(command)
    if only_show:
        return HostConfigured(host=host, file=path, state="shown", text=_text_of(found, path, entry))
    if path.endswith(".toml"):
        return _install_toml(found, path, entry, force=force)
    before = read_to_change(path)
    document = parse_json(before, path)
    is_first = not has_entries(document)
    old = find_object(document, found.keys, path).get(NAME)
    _check_ours(found, path, old, "replace", force=force)
    text = _text_of(found, path, entry)
    entry = with_added(old, entry)
    if old == entry:
        return HostConfigured(host=host, file=path, state="unchanged", text=text)
    is_lost = before is not None and old is not None and not is_our_server(old) and not is_first
    copy = keep_copy(path, before or "") if is_lost else None
    backup = save(path, before, _add_json(before, found, path, entry), keep=is_first) or copy
    return _configured(found, path, old, text, backup)


def remove(host: str, directories: UserDirectories, *, force: bool = False) -> HostConfigured:
    """Remove the server from the configuration of a host; raises as `install`.

    If it had replaced another one, that is back. force: remove an entry of this name for another program.
    """
    found = find_host(host)
    path = path_of(found, directories)
    with advise_removal(f"{'.'.join((*found.keys, NAME))} in {path}"):
        if path.endswith(".toml"):
            return _remove_toml(found, path, force=force)
        before = read_to_change(path)
        document = parse_json(before, path)
        servers = find_object(document, found.keys, path)
        old = servers.get(NAME)
        if old is None or before is None:
            return HostConfigured(host=host, file=path, state="absent", text="")
        _check_ours(found, path, old, "remove", force=force)
        replaced = _find_replaced(found, path) if is_our_server(old) else None
        servers[NAME] = replaced  # where it was
        if replaced is None:
            del servers[NAME]
        loses = not is_our_server(old) or bool(old.keys() - found.entry([NAME]).keys())
        backup = take_out(path, before, document, loses=loses)
        text = format_json(old).rstrip() if isinstance(old, dict) else json.dumps(old)
        if replaced is not None and not loses:
            forget_copy(path)
    advice = None if replaced is None else _IS_BACK
    return HostConfigured(host=host, file=path, state="removed", text=text, backup=backup, advice=advice)


def _text_of(host: Host, path: str, entry: Mapping[str, Any]) -> str:
    """Return the text that is added to the configuration."""
    if path.endswith(".toml"):
        return _toml_block(host, entry)
    return json.dumps(_nested(host.keys, {NAME: entry}), indent=2)


def _check_ours(host: Host, path: str, entry: object, verb: str, *, force: bool) -> None:
    """Raise Refused if an entry of our name is for another program, and may not be changed."""
    if entry is not None and not is_our_server(entry) and not force:
        raise Refused(f"{'.'.join((*host.keys, NAME))} in {path} is another server", hint=f"to {verb} it: --force")


def _find_replaced(host: Host, path: str) -> Any:
    """Return the entry of another program that ours has replaced, as it is in a kept file; None if there is none."""
    for text in kept_texts(path):
        with suppress(Refused, tomllib.TOMLDecodeError):
            found: Any = tomllib.loads(text) if path.endswith(".toml") else parse_json(text, path)
            for key in (*host.keys, NAME):
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None and not is_our_server(found):
                return found
    return None


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


def _install_toml(host: Host, path: str, entry: dict[str, Any], *, force: bool) -> HostConfigured:
    block = _toml_block(host, entry)
    before = read_to_change(path)
    text = before or ""
    old = toml_servers(text, path, host).get(NAME)
    _check_ours(host, path, old, "replace", force=force)
    wanted = with_added(old, entry)
    if old == wanted:
        return HostConfigured(host=host.name, file=path, state="unchanged", text=block)
    if old is not None and wanted is not entry:
        changed = _replace_values(text, host, entry)
    else:
        changed = _add_block(text if old is None else _without_block(text, host, path), block)
    if not _differs_in_entry_only(text, changed, host, wanted):
        raise Refused(f"{path} cannot be changed safely", hint="show what to add: --dry-run")
    is_lost = isinstance(old, dict) and wanted is not entry and not _has_block(text, host, old, entry)
    copy = keep_copy(path, text) if is_lost else None  # such as a comment behind a value
    backup = save(path, before, changed, keep=old is None or wanted is entry) or copy
    return _configured(host, path, old, block, backup)


def _has_block(text: str, host: Host, old: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Return True if the lines with our values are as we write them."""
    return _toml_block(host, {key: old[key] for key in entry if key in old}) in text


def _remove_toml(host: Host, path: str, *, force: bool) -> HostConfigured:
    text = read_to_change(path) or ""
    entry = toml_servers(text, path, host).get(NAME)
    if entry is None:
        return HostConfigured(host=host.name, file=path, state="absent", text="")
    _check_ours(host, path, entry, "remove", force=force)
    removed = _without_block(text, host, path)
    replaced = _find_replaced(host, path) if is_our_server(entry) else None
    if replaced is not None:
        removed = _with_replaced(removed, host, path, replaced)

    def install_again(before: str) -> str:
        rest = _without_block(before, host, path) if _has_server(before, host) else before
        return _add_block(rest, _toml_block(host, entry))

    backup = take_back(path, text, install_again, removed)
    advice = None if replaced is None else _IS_BACK
    return HostConfigured(host=host.name, file=path, state="removed", text="", backup=backup, advice=advice)


def _has_server(text: str, host: Host) -> bool:
    servers = tomllib.loads(text).get(host.keys[0], {}) if _is_toml(text) else None
    return isinstance(servers, dict) and NAME in servers


def _with_replaced(text: str, host: Host, path: str, entry: Any) -> str:
    """Return a TOML text with the tables of another server, as a kept file has them.

    Raises:
        Refused: they cannot be added.
    """
    for kept in kept_texts(path):
        if _is_toml(kept):
            changed = _add_block(text, "".join(_split_block(kept, host)[1]))
            if _differs_in_entry_only(text, changed, host, entry):
                return changed
    table = ".".join((*host.keys, NAME))
    raise Refused(
        f"the earlier table {table} cannot be added to {path} again", hint=f"edit the file; see {backup_of(path)}"
    )


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
        raise Refused(f"{host.keys[0]!a} in {path} is not a table", hint="show what to add: --dry-run")
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
    changed = "".join(_split_block(text, host)[0]).rstrip("\n") + "\n"
    wanted = tomllib.loads(text)
    del wanted[host.keys[0]][NAME]
    if not wanted[host.keys[0]]:
        del wanted[host.keys[0]]
    if not _is_toml(changed) or tomllib.loads(changed) != wanted:
        header = f"[{host.keys[0]}.{NAME}]"
        raise Refused(f"the table {header} in {path} cannot be removed safely", hint="edit the file")
    return changed


def _split_block(text: str, host: Host) -> tuple[list[str], list[str]]:
    """Return the lines of a TOML text without those of the table of the server and the tables below it, and these."""
    header = f"[{host.keys[0]}.{NAME}]"
    kept: list[str] = []
    block: list[str] = []
    after: list[str] = []
    inside = False
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare.startswith("[") and _is_toml("".join(lines[:number])):  # else it is in a value of several lines
            inside = bare.partition("#")[0].rstrip() == header or bare.startswith(f"{header[:-1]}.")
            kept += after * (not inside)
            block += after * inside
            after = []
        if not inside:
            kept.append(line)
        elif bare.startswith("#") or (after and not bare):
            after.append(line)
        else:
            block += [*(after if bare else []), line]
            after = [] if bare else after
    return [*kept, *after], block
