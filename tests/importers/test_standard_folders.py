"""Where agents keep their transcripts, on each operating system and by the variables that move them."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

import pytest

import scopes
from scopes.hosts.agents import AGENTS, import_hint
from scopes.importers.discovery import find_session_file, find_standard_folders, list_standard_places
from scopes.importers.formats.registry import FORMATS

MANUAL = Path(scopes.__file__).parent / "cli" / "manual" / "import.txt"
HOME = "/home/carol"
STANDARD = {known.name: known.standard_folders for known in FORMATS if known.standard_folders is not None}


@pytest.mark.parametrize(
    ("agent", "platform", "environ", "path"),
    [
        ("llm", "linux", {}, "/home/carol/.config/io.datasette.llm/logs.db"),
        ("llm", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/io.datasette.llm/logs.db"),
        ("llm", "linux", {"XDG_CONFIG_HOME": "relative"}, "/home/carol/.config/io.datasette.llm/logs.db"),
        ("llm", "linux", {"XDG_CONFIG_HOME": "/x", "LLM_USER_PATH": "/y"}, "/y/logs.db"),
        (
            "llm",
            "darwin",
            {"XDG_CONFIG_HOME": "/x"},
            "/home/carol/Library/Application Support/io.datasette.llm/logs.db",
        ),
        ("llm", "win32", {"APPDATA": "/r"}, "/r/io.datasette.llm/logs.db"),
        ("llm", "win32", {}, "/home/carol/AppData/Roaming/io.datasette.llm/logs.db"),
        ("mini-swe-agent", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/mini-swe-agent/last_mini_run.traj.json"),
        ("mini-swe-agent", "win32", {"LOCALAPPDATA": "/l"}, "/l/mini-swe-agent/mini-swe-agent/last_mini_run.traj.json"),
        ("opencode", "darwin", {}, "/home/carol/.local/share/opencode/opencode.db"),
        ("opencode", "win32", {"XDG_DATA_HOME": "/x"}, "/x/opencode/opencode.db"),
        ("qwen", "linux", {"QWEN_HOME": "/q"}, "/q/projects"),
        ("qwen", "linux", {"QWEN_HOME": "/q", "QWEN_RUNTIME_DIR": "/r"}, "/r/projects"),
        ("pi", "linux", {"PI_CODING_AGENT_DIR": "/p"}, "/p/sessions"),
        ("pi", "linux", {"PI_CODING_AGENT_DIR": "/p", "PI_CODING_AGENT_SESSION_DIR": "/s"}, "/s"),
        ("gemini", "win32", {"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/tmp"),
        ("claude-code", "win32", {}, "/home/carol/.claude/projects"),
    ],
)
def test_a_standard_folder_is_where_the_operating_system_and_the_variables_say(agent, platform, environ, path):
    assert STANDARD[agent].paths(environ, HOME, platform)[0] == path


@pytest.mark.parametrize(
    ("platform", "environ", "top"),
    [
        ("linux", {}, "/home/carol/.config/Cursor/User"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Cursor/User"),
        ("darwin", {"XDG_CONFIG_HOME": "/x"}, "/home/carol/Library/Application Support/Cursor/User"),
        ("win32", {"APPDATA": "/r"}, "/r/Cursor/User"),
    ],
)
def test_the_editor_of_cursor_has_a_directory_of_its_own(platform, environ, top):
    found = STANDARD["cursor"].paths(environ, HOME, platform)
    assert found == [f"{HOME}/.cursor/chats", f"{HOME}/.cursor/projects", f"{top}/globalStorage/state.vscdb"]


def test_a_conversation_of_cursor_is_in_a_database_of_its_own_or_in_that_of_the_editor(tmp_path):
    chat, other = "a1b2c3d4-e5f6-4890-abcd-ef1234567890", "b1b2c3d4-e5f6-4890-abcd-ef1234567890"
    database = tmp_path / ".cursor/chats/0d26" / chat / "store.db"
    editor = tmp_path / ".config/Cursor/User/globalStorage/state.vscdb"
    for path in (database, editor):
        path.parent.mkdir(parents=True)
        path.touch()
    for session, path in ((chat, database), (other, editor)):
        assert find_session_file(FORMATS, "cursor", session, {}, str(tmp_path)) == f"{path}#{session}"
    editor.unlink()
    assert find_session_file(FORMATS, "cursor", other, {}, str(tmp_path)) is None


@pytest.mark.parametrize(
    ("environ", "folders"),
    [
        ({}, ["/home/carol/.openhands/conversations", "/home/carol/.openhands/sessions"]),
        ({"OPENHANDS_PERSISTENCE_DIR": "/p"}, ["/p/conversations", "/p/sessions"]),
        ({"OPENHANDS_PERSISTENCE_DIR": "/p", "OPENHANDS_CONVERSATIONS_DIR": "/c"}, ["/c"]),
    ],
)
def test_the_folders_of_openhands_are_moved_by_its_variables(environ, folders):
    assert STANDARD["openhands"].paths(environ, HOME, "linux") == folders


@pytest.mark.parametrize("name", STANDARD)
def test_the_manual_names_the_folders_and_the_variables_of_every_agent(name):
    known = STANDARD[name]
    entry = MANUAL.read_text().partition(f"\n  {known.agent.title}\n")[2]
    line = " ".join(takewhile(lambda text: text.startswith("      "), entry.splitlines()))
    first, *others = known.paths({}, HOME, "linux")
    assert first.replace(HOME, "~") in line
    assert all(os.path.basename(path) in line for path in others)
    base = {".config/": "XDG_CONFIG_HOME", ".local/share/": "XDG_DATA_HOME"}
    bases = [variable for start, variable in base.items() if known.agent.directory_on("linux").startswith(start)]
    variables = list(dict.fromkeys(name for name in (known.variable, known.agent.variable, *bases) if name is not None))
    assert (f"({', '.join(variables)})" if variables else "~") in line


def test_a_variable_moves_the_search_for_a_session_too(tmp_path):
    (tmp_path / "chats").mkdir()
    session = tmp_path / "2026-01-01T00-00-00-000Z_01a2157e-d70f-7c52-8e27-5916229d7d14.jsonl"
    moved = {"PI_CODING_AGENT_SESSION_DIR": str(tmp_path.parent)}
    session.touch()
    found = find_session_file(FORMATS, "pi", "01a2157e-d70f-7c52-8e27-5916229d7d14", moved, "/nowhere")
    assert found == str(session)


def test_the_id_of_a_session_of_opencode_has_an_underscore(tmp_path):
    database = tmp_path / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    database.touch()
    session = "ses_e03257654ffeEx561YOT1CGuEn"
    assert find_session_file(FORMATS, "opencode", session, {}, str(tmp_path)) == f"{database}#{session}"


def test_every_standard_folder_that_exists_is_found(tmp_path):
    """`import` and `watch` without a path read these; a hint to `scopes import` is true for their agents."""
    places = list_standard_places(FORMATS, {}, str(tmp_path))
    for place in places:
        Path(place).mkdir(parents=True)
    found = find_standard_folders(FORMATS, {}, str(tmp_path))
    assert [path for folders in found.values() for path in folders] == places
    hinted = {name for name in AGENTS if import_hint(name) == "import it: scopes import"}
    assert hinted == {name for name in STANDARD if name in AGENTS}
