"""Hooks and a server in one file come and go in any order, and at the end the file is what it was."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.hosts import mcp_servers
from scopes.hosts.agents import UserDirectories
from scopes.hosts.config_file import format_json
from scopes.hosts.hook_target import HookEnvironment
from scopes.hosts.json_entries import has_entries, take_out
from scopes.hosts.program import program_words
from scopes.live.hook_targets import TARGETS

BOTH = sorted(set(TARGETS) & set(mcp_servers.HOSTS))
FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}
SERVER = {"mcpServers": {"scopes": {"command": "/opt/scopes", "args": ["--store", "/s.git", "mcp"]}}}
HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/scopes hooks run gemini"}]}]}}
ORIGINALS = [
    None,
    "",
    "{}",
    '{"mcpServers": {}}',
    '{ "hooks": {"Stop": [ ]}, "z" : 1e3 }\r\n',
    '{"hooks":{"AfterAgent":[{"hooks":[{"type":"command","command":"say done"}]}]},"mcpServers":{"other":{}},"z":[]}',
]
TOML = '# mine\nmodel = "o4"\n\n\n[mcp_servers.other]\ncommand = "x"'
STEPS = ["server", "other server", "no server", "hooks", "other hooks", "no hooks"]


class Home:
    """A home directory with the configuration of an agent, and the steps that change it."""

    def __init__(self, path, agent):
        self.path, self.agent = str(path), agent
        self.directories = UserDirectories(self.path, self.path, {})
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)

    def do(self, step):
        other = step.startswith("other ")
        place = HookEnvironment(self.path, self.path, {}, tuple(program_words()), "/other.git" if other else None)
        words = [*place.command, *(["--store", "/other.git"] if other else []), "mcp"]
        if step == "no server":
            mcp_servers.remove(self.agent, self.directories)
        elif step == "no hooks":
            TARGETS[self.agent].remove(place)
        elif step.endswith("server"):
            mcp_servers.install(self.agent, words, self.directories)
        else:
            TARGETS[self.agent].install(place)

    def write(self, name, text):
        if text is not None:
            os.makedirs(os.path.dirname(os.path.join(self.path, name)), exist_ok=True)
            with open(os.path.join(self.path, name), "w", encoding="utf-8", newline="") as file:
                file.write(text)

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.path):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.join(folder, name)] = file.read()
        return found


@pytest.mark.parametrize("agent", BOTH)
@given(
    original=st.sampled_from(ORIGINALS), steps=st.lists(st.sampled_from(STEPS), max_size=7), server_first=st.booleans()
)
def test_whatever_came_and_went_every_byte_is_as_before_and_no_file_is_left(
    tmp_path_factory, agent, original, steps, server_first
):
    home = Home(tmp_path_factory.getbasetemp() / f"home-{agent}", agent)
    server = os.path.relpath(mcp_servers.path_of(mcp_servers.HOSTS[agent], home.directories), home.path)
    for name in {FILES.get(agent), server} - {None}:
        home.write(name, TOML if original and name.endswith(".toml") else original)
    before = home.files()
    for step in steps:
        home.do(step)
    for step in sorted(["no server", "no hooks"], reverse=server_first):
        home.do(step)
    assert home.files() == before


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "settings.json")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return text


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_while_another_entry_is_there_the_file_of_before_is_kept(path):
    write(f"{path}.before-scopes", '{"z":1}')
    text = write(path, format_json({"z": 1, **SERVER, **HOOK}))
    assert take_out(path, text, {"z": 1, "mcpServers": {}, **HOOK}) is None
    assert json.loads(read(path)) == {"z": 1, **HOOK}
    take_out(path, read(path), {"z": 1, "hooks": {"Stop": []}})
    assert read(path) == '{"z":1}'
    assert not os.path.exists(f"{path}.before-scopes")


def test_what_the_user_changed_since_stays_and_empty_objects_of_ours_go(path):
    write(f"{path}.before-scopes", '{"z":1,"servers":{}}')
    text = write(path, format_json({"z": 2, "servers": {}, **SERVER}))
    backup = take_out(path, text, {"z": 2, "servers": {}, "mcpServers": {}})
    assert json.loads(read(path)) == {"z": 2, "servers": {}}
    assert json.loads(read(backup))["z"] == 2


def test_a_file_that_the_user_has_formatted_anew_is_not_put_back(path):
    write(f"{path}.before-scopes", '{"z":1}')
    text = write(path, json.dumps({"z": 1, **SERVER}, indent=8))
    take_out(path, text, {"z": 1, "mcpServers": {}})
    assert read(path) == format_json({"z": 1})


def test_a_file_that_held_our_entry_alone_is_deleted_with_what_came_with_it(path):
    text = write(path, format_json({"version": 1, **HOOK}))
    take_out(path, text, {"version": 1, "hooks": {"Stop": []}}, {"version": 1})
    assert os.listdir(os.path.dirname(path)) == []


def test_a_setting_that_was_there_before_is_not_taken_for_one_of_ours(path):
    write(f"{path}.before-scopes", '{ "version": 1 }')
    text = write(path, format_json({"version": 1, **HOOK}))
    take_out(path, text, {"version": 1, "hooks": {}}, {"version": 1})
    assert read(path) == '{ "version": 1 }'


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (SERVER, True),
        (HOOK, True),
        ({"mcp": {"scopes": {"type": "local", "command": ["/x/scopes/__main__.py", "mcp"]}}}, True),
        ({"hooks": {"stop": [{"command": "/opt/scopes hooks run cursor --store '/a b.git'"}]}}, True),
        ({"hooks": {"Stop": [{"hooks": [{"command": "scopes check --hook"}]}]}}, False),
        ({"other": SERVER}, False),
        ({"hooks": {"Stop": [{"command": "scopes hooks run 'x"}, {"command": 1}, {"command": [1]}]}}, False),
        ({"mcpServers": [], "hooks": None}, False),
    ],
)
def test_an_entry_of_ours_is_known_by_its_command(document, expected):
    assert has_entries(document) is expected


@pytest.mark.parametrize("kept", ["{broken", "[1]", '{"a": 1, "a": 2}'])
def test_a_kept_file_that_is_not_json_is_not_put_back(path, kept):
    write(f"{path}.before-scopes", kept)
    text = write(path, format_json({"z": 1, **SERVER}))
    take_out(path, text, {"z": 1, "mcpServers": {}})
    assert json.loads(read(path)) == {"z": 1}


def test_the_order_of_settings_counts_as_a_change(path):
    """Another program has written the file since; the bytes of before would undo that."""
    write(f"{path}.before-scopes", '{"a":1,"z":2}')
    text = write(path, format_json({"z": 2, "a": 1, **SERVER}))
    take_out(path, text, {"z": 2, "a": 1, "mcpServers": {}})
    assert read(path) == format_json({"z": 2, "a": 1})
