"""A server of somebody else that has our name: nothing takes it away unasked, and a removal brings it back."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from scopes.errors import Refused
from scopes.hosts.mcp_servers import HOSTS, install, remove
from tests.hosts.test_mcp_servers import OTHER, file_of, place, read, set_up, write

THEIRS = {"url": "https://example.org/mcp", "headers": {"X": "1"}}
TABLE = '[mcp_servers.scopes] # mine\nurl = "https://example.org/mcp"\n\n[mcp_servers.scopes.headers]\nX = "1"\n'
HOOK = {"hooks": {"AfterAgent": [{"hooks": [{"command": "/opt/scopes hooks run gemini"}]}]}}


@pytest.fixture
def home(tmp_path):
    return str(tmp_path)


def theirs(host):
    """Return a configuration with a server of the user that has our name, between two other values."""
    if host == "codex":
        return f'model = "o4"\n\n{TABLE}\n[profiles.x]\nmodel = "m"\n'
    servers = {"scopes": THEIRS, "other": {"command": "x"}}
    for key in reversed(HOSTS[host].keys):
        servers = {key: servers}
    return json.dumps({"a": 1, **servers}, indent=4)


def parsed(host, home):
    return (tomllib.loads if host == "codex" else json.loads)(read(host, home))


@pytest.mark.every_case("each program has a table of its own")
@pytest.mark.parametrize("host", HOSTS)
def test_it_is_neither_replaced_nor_removed_without_force(host, home):
    write(host, home, theirs(host))
    for change in (lambda: set_up(host, home), lambda: remove(host, place(home))):
        with pytest.raises(Refused, match=r"\.scopes in .* is another server") as refused:
            change()
        assert "--force" in refused.value.hint
    assert read(host, home) == theirs(host)


@pytest.mark.every_case("each program has a table of its own")
@pytest.mark.parametrize("host", HOSTS)
def test_what_was_replaced_with_force_is_back_after_the_removal_byte_for_byte(host, home):
    write(host, home, theirs(host))
    assert set_up(host, home, force=True).state == "replaced"
    assert "example.org" not in read(host, home)
    assert "is back" in remove(host, place(home)).advice
    assert read(host, home) == theirs(host)
    assert os.listdir(os.path.dirname(file_of(host, home))) == [os.path.basename(file_of(host, home))]


@pytest.mark.parametrize("host", ["gemini", "codex"])
def test_it_is_back_also_if_the_file_was_changed_since(host, home):
    write(host, home, theirs(host))
    set_up(host, home, force=True)
    write(host, home, "new = 1\n" + read(host, home) if host == "codex" else read(host, home) + "\n")
    assert "is back" in remove(host, place(home)).advice
    found = parsed(host, home)
    for key in HOSTS[host].keys:
        found = found[key]
    assert found["scopes"] == THEIRS


def test_a_later_installation_keeps_what_was_replaced_by_the_first(home):
    write("claude-code", home, theirs("claude-code"))
    set_up("claude-code", home, force=True)
    assert install("claude-code", OTHER, place(home)).state == "replaced"
    remove("claude-code", place(home))
    assert read("claude-code", home) == theirs("claude-code")


def test_it_is_back_also_if_hooks_were_installed_before_and_is_not_back_twice(home):
    """The file from before the hooks does not have it; what the user deletes then stays away."""
    write("gemini", home, json.dumps({**HOOK, "mcpServers": {"scopes": THEIRS}}))
    set_up("gemini", home, force=True)
    remove("gemini", place(home))
    assert parsed("gemini", home) == {**HOOK, "mcpServers": {"scopes": THEIRS}}
    write("gemini", home, json.dumps(HOOK))
    set_up("gemini", home)
    assert remove("gemini", place(home)).advice is None
    assert parsed("gemini", home) == HOOK


def test_with_force_it_is_removed(home):
    write("vscode", home, theirs("vscode"))
    assert remove("vscode", place(home), force=True).state == "removed"
    assert parsed("vscode", home) == {"a": 1, "servers": {"other": {"command": "x"}}}


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_a_table_in_a_text_of_several_lines_is_text(home, quotes):
    text = f'[[profiles]]\nprompt = {quotes}\n[mcp_servers.scopes]\ncommand = "x"\n{quotes}\n'
    write("codex", home, text)
    assert set_up("codex", home).state == "added"
    assert remove("codex", place(home)).state == "removed"
    assert read("codex", home) == text


def test_lists_of_several_lines_in_our_table_are_removed_with_it(home):
    write(
        "codex",
        home,
        '[mcp_servers.scopes]\ncommand = "/x/scopes"\nargs = [\n  "mcp",\n]\nx = [\n[1],\n]\n\n[a]\nb = 1\n',
    )
    remove("codex", place(home))
    assert parsed("codex", home) == {"a": {"b": 1}}
