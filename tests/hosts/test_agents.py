"""The table of agents: every verb names an agent as the table does, and finds its configuration in one place."""

from __future__ import annotations

import os

import pytest

from scopes.code_links.agent_environment import AGENT_VARIABLES
from scopes.code_links.foreign_notes import format_of, note_keys
from scopes.code_links.git_hooks import NAME as GIT
from scopes.errors import Invalid
from scopes.handover.agent_programs import PROGRAMS
from scopes.handover.skills import FOLDERS, SHARED, install_skill, remove_skill
from scopes.handover.skills import path_of as skill_of
from scopes.hosts.agents import (
    AGENTS,
    UserDirectories,
    config_directory,
    find_agent_named,
    import_hint,
    moved_directory,
    target_named,
)
from scopes.hosts.hook_target import HookEnvironment
from scopes.hosts.mcp_servers import HOSTS, find_host
from scopes.hosts.mcp_servers import path_of as servers_of
from scopes.importers.formats.registry import FORMATS
from scopes.live.hook_inputs import read_turn
from scopes.live.hook_targets import TARGETS, find_target

VARIABLES = {
    "claude-code": "CLAUDE_CONFIG_DIR",
    "codex": "CODEX_HOME",
    "gemini": "GEMINI_CLI_HOME",
    "opencode": "XDG_CONFIG_HOME",
}
every_moved = pytest.mark.parametrize("name", VARIABLES)


@pytest.mark.parametrize(
    "names",
    [
        PROGRAMS,
        {each.tool for each in AGENT_VARIABLES},
        {name for name, folder in FOLDERS.items() if folder != SHARED or name == "codex"},
        {name for name, host in HOSTS.items() if not host.in_project},
        set(TARGETS) - {GIT},
        {known.name for known in FORMATS if known.standard_folders is not None},
    ],
    ids=["resume", "shells", "skills", "mcp", "hooks", "transcripts"],
)
def test_every_verb_names_agents_as_the_table_does(names):
    assert set(names) <= set(AGENTS)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gemini", "import it: scopes import"),
        ("opencode", "import it: scopes import"),
        ("cursor", "import it: scopes import"),
        ("unheard-of", "import its transcript: scopes import FILE"),
    ],
)
def test_the_hint_to_an_import_fits_the_agent(name, hint):
    assert import_hint(name) == hint


def test_every_agent_has_a_transcript_format_of_its_name():
    assert set(AGENTS) <= {known.name for known in FORMATS}


@pytest.mark.parametrize("target", sorted(set(TARGETS) - {GIT}))
def test_the_input_of_every_hook_that_can_be_installed_is_read(target):
    with pytest.raises(
        Invalid, match=r"names no transcript|is not the id of a conversation|before it had given the session"
    ):
        read_turn(target, b"{}", {}, "/nowhere")


def files_of(name, home, environ):
    """The files of the hooks, of the server and of the skill of an agent."""
    directories = UserDirectories(home, "/project", environ)
    hooks = TARGETS[name].status(HookEnvironment(home, "/project", dict(environ), ("scopes",))).file
    skill = [] if FOLDERS[name] == SHARED else [skill_of(name, directories, project=False)]
    return [hooks, servers_of(HOSTS[name], directories), *skill]


@every_moved
def test_hooks_servers_and_skills_follow_the_variable_of_the_agent(tmp_path, name):
    """All three verbs write where the agent reads."""
    environ = {VARIABLES[name]: str(tmp_path / "moved")}
    for file in files_of(name, str(tmp_path / "home"), environ):
        assert file.startswith(f"{tmp_path}/moved/")
        assert file.startswith(os.path.join(config_directory(AGENTS[name], environ, "/nowhere"), ""))


@every_moved
@pytest.mark.parametrize("empty", [True, False])
def test_without_the_variable_they_are_in_the_home_directory(tmp_path, name, empty):
    environ = {VARIABLES[name]: ""} if empty else {}
    for file in files_of(name, str(tmp_path), environ):
        assert file.startswith(f"{tmp_path}/.")


def test_the_servers_of_claude_code_are_next_to_its_directory_unless_that_is_moved():
    host = HOSTS["claude-code"]
    assert servers_of(host, UserDirectories("/home/me", "/p", {})) == "/home/me/.claude.json"
    moved = UserDirectories("/home/me", "/p", {"CLAUDE_CONFIG_DIR": "/work/claude"})
    assert servers_of(host, moved) == "/work/claude/.claude.json"


def test_the_variable_of_gemini_names_the_parent_of_its_directory():
    assert config_directory(AGENTS["gemini"], {"GEMINI_CLI_HOME": "/work"}, "/home/me") == "/work/.gemini"


def test_a_relative_xdg_directory_is_ignored():
    """https://specifications.freedesktop.org/basedir-spec: all paths must be absolute, others are ignored."""
    assert moved_directory(AGENTS["opencode"], {"XDG_CONFIG_HOME": "relative"}) is None
    assert config_directory(AGENTS["opencode"], {"XDG_CONFIG_HOME": "relative"}, "/h") == "/h/.config/opencode"


def test_an_agent_without_a_variable_stays_in_the_home_directory():
    assert moved_directory(AGENTS["cursor"], {"CURSOR_HOME": "/elsewhere"}) is None
    assert config_directory(AGENTS["cursor"], {}, "/home/me") == "/home/me/.cursor"


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("claude", "claude-code"),
        ("Claude Code", "claude-code"),
        ("claude_code", "claude-code"),
        ("Codex", "codex"),
        ("codex-acp", "codex"),
        ("codex-cli", "codex"),
        (" gemini-cli ", "gemini"),
        ("QWEN-CODE", "qwen"),
        ("Cursor", "cursor"),
    ],
)
def test_an_agent_is_known_by_each_of_its_names(typed, name):
    assert find_agent_named(typed) is AGENTS[name]
    assert format_of(typed) == name


@pytest.mark.parametrize(
    "typed", ["", "emacs", "claude code 2", "co dex", "@codex", "@x/", "@x/y/codex", "x/codex", "@/codex"]
)
def test_other_names_are_of_no_agent(typed):
    assert find_agent_named(typed) is None


def test_no_name_belongs_to_two_agents():
    names = [name for agent in AGENTS.values() for name in (agent.name, *agent.others)]
    assert len(names) == len(set(names))


def test_notes_of_git_ai_are_looked_for_under_each_name_of_an_agent():
    assert len(note_keys("claude-code", "s")) == 2 * (1 + len(AGENTS["claude-code"].others))


@pytest.mark.parametrize("typed", ["claude", "Claude Code", "gemini-cli", "codex", "OpenCode"])
def test_hooks_servers_and_skills_are_installed_by_each_name_of_an_agent(tmp_path, typed):
    """As `resume --in` starts it by each of them."""
    name = AGENTS[target_named(typed)].name
    assert find_target(typed).name == find_host(typed).name == name
    changed = install_skill(typed, UserDirectories(str(tmp_path), str(tmp_path), {}), project=False)
    assert changed.agent == name
    assert remove_skill(typed, UserDirectories(str(tmp_path), str(tmp_path), {}), project=False).state == "removed"


@pytest.mark.parametrize("typed", ["git", "vscode", "agents", "nobody"])
def test_targets_that_are_no_agents_keep_their_names(typed):
    assert target_named(typed) == typed
