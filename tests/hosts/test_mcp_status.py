"""What `mcp status` says about the entry of each host: installed, outdated, missing or unreadable, and why."""

from __future__ import annotations

import json
import os

import pytest

from scopes.errors import Invalid
from scopes.hosts.agents import UserDirectories
from scopes.hosts.hook_target import HookEnvironment
from scopes.hosts.mcp_servers import HOSTS, find_host, install, path_of, remove
from scopes.hosts.mcp_status import mcp_status
from scopes.hosts.program import program_words

PROGRAM = tuple(program_words())


@pytest.fixture
def home(tmp_path):
    return str(tmp_path)


def environment(home, store=None, **environ):
    return HookEnvironment(home, home, environ, PROGRAM, store)


def set_up(home, host, *options, program=PROGRAM, agent=()):
    return install(host, [*program, *options, "mcp", *agent], UserDirectories(home, home, {}))


def status(home, host, store=None, **environ):
    (state,) = mcp_status(environment(home, store, **environ), [host]).servers
    return state


def write(home, host, text):
    path = path_of(find_host(host), UserDirectories(home, home, {}))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@pytest.mark.parametrize("host", HOSTS)
def test_an_entry_is_missing_then_installed_then_missing(host, home):
    assert status(home, host).condition == "missing"
    path = set_up(home, host).file
    found = status(home, host)
    assert (found.target, found.condition, found.file, found.detail, found.cure) == (host, "installed", path, "", "")
    remove(host, UserDirectories(home, home, {}))
    assert status(home, host).condition == "missing"


def test_without_names_there_is_a_row_for_each_host_and_only_vscode_is_of_the_project(home):
    found = mcp_status(environment(home)).servers
    assert [state.target for state in found] == list(HOSTS)
    assert [state.target for state in found if state.in_project] == ["vscode"]


@pytest.mark.parametrize("host", HOSTS)
def test_an_entry_that_starts_another_scopes_is_outdated(host, home):
    set_up(home, host, program=["/old/bin/scopes"])
    found = status(home, host)
    assert (found.condition, found.cure) == ("outdated", f"scopes setup {host} --only mcp")
    assert found.detail == f"it starts /old/bin/scopes, not {PROGRAM[0]} {PROGRAM[-1]}"


def test_an_entry_with_another_store_is_outdated_and_names_both(home):
    set_up(home, "codex", "--store", "/a.git")
    assert status(home, "codex", store="/a.git").condition == "installed"
    found = status(home, "codex", store="/b b.git")
    assert (found.condition, found.detail) == ("outdated", "it serves /a.git, not /b b.git")
    assert found.cure == "scopes --store '/b b.git' setup codex --only mcp"
    assert status(home, "codex").detail == "it serves /a.git, not the store of the agent's directory"


def test_an_entry_without_a_store_follows_the_variable(home):
    set_up(home, "gemini")
    assert status(home, "gemini", store="/a.git", SCOPES_STORE="/a.git").condition == "installed"
    assert status(home, "gemini", store="/a.git").condition == "outdated"
    assert status(home, "gemini", store="/b.git", SCOPES_STORE="/a.git").condition == "outdated"


def test_the_author_and_what_the_user_has_added_do_not_make_an_entry_outdated(home):
    path = set_up(home, "vscode", agent=["--as", "copilot"]).file
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    document["servers"]["scopes"]["env"] = {"X": "1"}
    write(home, "vscode", json.dumps(document))
    assert status(home, "vscode").condition == "installed"
    assert status(home, "vscode", store="/b.git").cure == "scopes --store /b.git setup vscode --only mcp --as copilot"


def test_the_cure_of_an_outdated_entry_makes_it_current(home):
    """Each word of the cure is what `mcp install` was given."""
    set_up(home, "claude-code", "--store", "/old.git", agent=["--as", "me"])
    cure = status(home, "claude-code", store="/new.git").cure.split()
    assert cure == ["scopes", "--store", "/new.git", "setup", "claude-code", "--only", "mcp", "--as", "me"]
    set_up(home, "claude-code", *cure[1:3], agent=cure[7:])
    assert status(home, "claude-code", store="/new.git").condition == "installed"


def test_other_options_and_other_fields_make_an_entry_outdated(home):
    set_up(home, "opencode", agent=["--http", "8321"])
    assert status(home, "opencode").detail == "it has the options --http 8321"
    set_up(home, "opencode")
    entry = {"type": "remote", "command": [*PROGRAM, "mcp"], "enabled": True}
    write(home, "opencode", json.dumps({"mcp": {"scopes": entry}}))
    assert status(home, "opencode").detail == "it is of another version"


def test_an_entry_that_is_turned_off_is_named(home):
    entry = {"type": "local", "command": [*PROGRAM, "mcp"], "enabled": False}
    write(home, "opencode", json.dumps({"mcp": {"scopes": entry}}))
    assert status(home, "opencode")[1:5:2] == ("outdated", "it is turned off: enabled is false")
    path = set_up(home, "codex").file
    with open(path, "a", encoding="utf-8") as file:
        file.write("enabled = false\n")
    assert status(home, "codex")[1:5:2] == ("installed", "it is turned off: enabled is false")


@pytest.mark.parametrize("entry", [{"command": "/bin/other", "args": ["mcp"]}, "x", {"command": 3}, ["scopes"]])
def test_a_server_of_another_program_with_this_name_is_not_ours(home, entry):
    write(home, "gemini", json.dumps({"mcpServers": {"scopes": entry}}))
    found = status(home, "gemini")
    assert (found.condition, found.detail) == ("missing", "a server of another program has the name scopes")


@pytest.mark.parametrize(
    ("host", "text", "reason"),
    [
        ("vscode", '// mine\n{"servers": {"scopes": {}}}', "is not plain JSON"),
        ("gemini", '{"mcpServers": ["scopes"]}', "is not an object"),
        ("codex", "[mcp_servers.scopes\n", "is not valid TOML"),
        ("codex", 'mcp_servers = "scopes"\n', "is not a table"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_condition_with_its_reason(home, host, text, reason):
    path = write(home, host, text)
    found = status(home, host)
    assert (found.condition, found.file) == ("unreadable", path)
    assert reason in found.detail


def test_a_file_that_does_not_name_the_server_is_not_judged(home):
    """VS Code and others take comments, and `doctor` is not to complain about somebody else's file."""
    write(home, "vscode", '// mine\n{"servers": {}}')
    assert status(home, "vscode").condition == "missing"


def test_a_link_out_of_the_project_is_not_followed(home, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    os.symlink(elsewhere, os.path.join(home, ".vscode"))
    found = status(home, "vscode")
    assert (found.condition, found.file) == ("unreadable", os.path.join(home, ".vscode/mcp.json"))
    assert "a link leads to" in found.detail


def test_an_unknown_host_is_refused_with_those_that_are_known(home):
    with pytest.raises(Invalid) as caught:
        status(home, "emacs")
    assert all(host in caught.value.hint for host in HOSTS)
    assert status(home, "claude").target == "claude-code", "each name of an agent is known"
