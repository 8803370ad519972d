"""`scopes setup --status`: whether each host has the server in its configuration, and whether that entry is current."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scopes.errors import Inaccessible, Refused
from scopes.hosts.agents import UserDirectories
from scopes.hosts.config_file import find_object, parse_json, read_text
from scopes.hosts.hook_target import HookEnvironment, describe_program, describe_store
from scopes.hosts.install_state import InstallState, columns_of, remark_outdated
from scopes.hosts.json_entries import words_of
from scopes.hosts.mcp_servers import HOSTS, NAME, Host, find_host, is_our_server, path_of, toml_servers, with_added
from scopes.hosts.program import arguments_of
from scopes.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class McpStatus(Result):
    """How the entry of each host is, in the order of the table."""

    rows_in = "servers"
    columns = columns_of("Server")

    servers: tuple[InstallState, ...]

    @property
    def remark(self) -> list[str]:
        """What is outdated, and what to do."""
        return remark_outdated(self.servers)


def mcp_status(environment: HookEnvironment, names: Sequence[str] = ()) -> McpStatus:
    """Return how the entries of some hosts are, of all without names.

    Raises:
        Invalid: there is no such host.
    """
    hosts = [find_host(name) for name in names] or list(HOSTS.values())
    return McpStatus(servers=tuple(_state_of(host, environment) for host in hosts))


def _state_of(host: Host, environment: HookEnvironment) -> InstallState:
    """Return how the entry of a host is; a file that cannot be read is a condition, not an error."""
    state = InstallState(host.name, "missing", os.path.join(environment.cwd, host.file), in_project=host.in_project)
    try:
        path = path_of(host, UserDirectories(environment.home, environment.cwd, environment.environ))
        state = state._replace(file=path)
        entry = _read_servers(host, path).get(NAME)
    except (Refused, Inaccessible) as error:
        return state._replace(condition="unreadable", detail=error.message)
    if entry is None:
        return state
    if not isinstance(entry, dict) or not is_our_server(entry):
        return state._replace(detail=f"a server of another program has the name {NAME}")
    return _compare(state, host, entry, environment)


def _read_servers(host: Host, path: str) -> Mapping[str, Any]:
    """Return the servers in a configuration; none if it does not name ours, whatever its format is."""
    text = read_text(path)
    if text is None or NAME not in text:
        return {}
    if path.endswith(".toml"):
        return toml_servers(text, path, host)
    return find_object(parse_json(text, path), host.keys, path)


def _compare(state: InstallState, host: Host, entry: dict[str, Any], environment: HookEnvironment) -> InstallState:
    """Return the state of an entry of ours: what differs from the one that an installation would write now."""
    words = words_of(entry) or []
    arguments = arguments_of(words) or []
    at = 2 if arguments[:1] == ["--store"] else 0
    program, store, options = words[: len(words) - len(arguments)] or words[:1], arguments[:at], arguments[at + 1 :]
    kept = options if len(options) == 2 and options[0] == "--as" else []
    wanted = _wanted_store(environment, store)
    if entry == with_added(entry, host.entry([*environment.command, *wanted, "mcp", *kept])):
        detail = "it is turned off: enabled is false" if entry.get("enabled") is False else ""
        return state._replace(condition="installed", detail=detail)
    differences = []
    if tuple(program) != environment.command:
        differences.append(f"it starts {describe_program(program)}, not {describe_program(environment.command)}")
    if store != wanted:
        differences.append(f"it serves {describe_store(store)}, not {describe_store(wanted)}")
    differences += _describe_rest(entry, options, kept)
    cure = shlex.join(["scopes", *wanted, "setup", host.name, "--only", "mcp", *kept])
    detail = "; ".join(differences) or "it is of another version"
    return state._replace(condition="outdated", detail=detail, cure=cure)


def _describe_rest(entry: Mapping[str, Any], options: Sequence[str], kept: Sequence[str]) -> Iterator[str]:
    if options != kept:
        yield f"it has the options {shlex.join(options)}"
    if entry.get("enabled") is False:
        yield "it is turned off: enabled is false"


def _wanted_store(environment: HookEnvironment, store: Sequence[str]) -> list[str]:
    """Return the option for the store; a server without a store of its own follows SCOPES_STORE, as agents do."""
    given = environment.environ.get("SCOPES_STORE")
    if environment.store is None or (not store and given is not None and environment.store == os.path.abspath(given)):
        return []
    return ["--store", environment.store]
