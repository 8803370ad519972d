"""The plugin for OpenCode: written, brought up to date, deleted; a plugin of somebody else is not touched."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time

import pytest

from scopes.errors import Refused
from scopes.hosts.hook_target import HookEnvironment
from scopes.hosts.opencode_plugin import OpenCodePlugin

TARGET = OpenCodePlugin()
CALL = """
import { ScopesRecorder } from "%s"
const client = { session: {
  get: async ({ path }) => ({ data: %s }),
  messages: async () => ({ data: [{ info: { id: "m" }, parts: [] }, ...(%s)] }),
} }
const { event } = await ScopesRecorder({ client, directory: "%s" })
await event({ event: { type: "message.updated", properties: {} } })
await event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })
"""


@pytest.fixture
def place(tmp_path):
    return HookEnvironment(str(tmp_path), str(tmp_path), {}, ("/opt/py thon", 'a "quoted" \\ word'), "/stores/x.git")


def path_of(place):
    return TARGET.status(place).file


def read(place):
    with open(path_of(place), encoding="utf-8") as file:
        return file.read()


def states(result):
    return [change.state for change in result.changes]


def test_the_plugin_has_the_words_as_data_and_not_as_a_shell_line(place):
    assert states(TARGET.install(place)) == ["added"]
    line = next(line for line in read(place).splitlines() if line.startswith("const command = "))
    assert json.loads(line.removeprefix("const command = ")) == [
        *place.command, "hooks", "run", "opencode", "--store", "/stores/x.git",
    ]  # fmt: skip


def test_it_comes_and_goes(place):
    assert TARGET.status(place).condition == "missing"
    TARGET.install(place)
    assert TARGET.status(place).condition == "installed"
    assert states(TARGET.install(place)) == ["unchanged"]
    assert states(TARGET.remove(place)) == ["removed"]
    assert not os.path.exists(os.path.dirname(path_of(place))), "an empty folder is not left"
    assert states(TARGET.remove(place)) == ["absent"]


def test_an_older_one_is_brought_up_to_date(place):
    TARGET.install(place._replace(command=("/old",)))
    assert TARGET.status(place).condition == "outdated"
    assert states(TARGET.install(place)) == ["replaced"]
    assert "/old" not in read(place)
    assert states(TARGET.remove(place)) == ["removed"]
    assert not os.path.exists(path_of(place))


def test_a_plugin_of_somebody_else_stays(place):
    os.makedirs(os.path.dirname(path_of(place)))
    with open(path_of(place), "w", encoding="utf-8") as file:
        file.write("export const Mine = async () => ({})\n")
    for act in (TARGET.install, TARGET.remove):
        with pytest.raises(Refused, match="is not a plugin of scopes"):
            act(place)
    assert TARGET.status(place).condition == "unreadable"
    assert read(place).startswith("export const Mine")


def test_it_is_shown_without_being_written(place):
    shown = TARGET.install(place, print_only=True)
    assert "session.idle" in shown.changes[0].text
    assert not os.path.exists(path_of(place))


def test_the_configuration_directory_can_be_moved(place, tmp_path):
    moved = place._replace(environ={"XDG_CONFIG_HOME": str(tmp_path / "moved")})
    assert path_of(moved).startswith(str(tmp_path / "moved"))
    assert path_of(place._replace(environ={"XDG_CONFIG_HOME": "relative"})) == path_of(place)


WRITE = "cd '%s' && cat > $$ && mv $$ turn"
LONG = '[{ text: "\u20ac".repeat(3000000) }]'


def run_plugin(place, tmp_path, *words, info="{ id: path.id }", more="[]"):
    """Run the plugin in node with a session that becomes idle, and a program of ours."""
    TARGET.install(place._replace(command=words, store=None))
    (tmp_path / "call.mjs").write_text(CALL % (path_of(place), info, more, tmp_path))
    shutil.copy(path_of(place), tmp_path / "plugin.mjs")
    text = (tmp_path / "call.mjs").read_text().replace(path_of(place), "./plugin.mjs")
    (tmp_path / "call.mjs").write_text(text)
    return subprocess.run(
        ["node", "call.mjs"], cwd=tmp_path, timeout=60, check=False, capture_output=True, text=True,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
    )  # fmt: skip


def wait_for(path):
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.needs_node
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_an_idle_session_is_given_to_the_program_in_the_shape_of_an_export(place, tmp_path):
    done = run_plugin(place, tmp_path, "/bin/sh", "-c", WRITE % tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    wait_for(tmp_path / "turn")
    turn = json.loads((tmp_path / "turn").read_text())
    assert turn["session_id"] == "ses_1"
    assert turn["cwd"] == str(tmp_path)
    assert turn["export"] == {"info": {"id": "ses_1"}, "messages": [{"info": {"id": "m"}, "parts": []}]}


@pytest.mark.needs_node
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("info", ["await new Promise(() => {})", "await new Promise(() => process.exit())"])
def test_a_turn_that_opencode_does_not_wait_for_is_given_without_its_session(place, tmp_path, info):
    """`opencode run` ends as soon as it has the answer, before a long session has been read."""
    run_plugin(place, tmp_path, "/bin/sh", "-c", f"cat > {tmp_path}/turn", info=info)
    turn = json.loads((tmp_path / "turn").read_text())
    assert turn == {"hook_event_name": "session.idle", "session_id": "ses_1", "cwd": str(tmp_path)}


@pytest.mark.needs_node
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("last", ["{}", "setImmediate(() => process.exit()) && {}"])
def test_a_long_session_is_given_in_a_file_also_if_opencode_ends_at_once(place, tmp_path, last):
    """The file is complete before the program is started; a pipe would be cut off when OpenCode ends."""
    run_plugin(place, tmp_path, "/bin/sh", "-c", WRITE % tmp_path, more=f"({last}, {LONG})")
    wait_for(tmp_path / "turn")
    turn = json.loads((tmp_path / "turn").read_text())
    assert (turn["session_id"], turn.get("export")) == ("ses_1", None)
    assert os.path.dirname(turn["export_file"]) == str(tmp_path / "state" / "scopes" / "hooks")
    assert stat.S_IMODE(os.stat(turn["export_file"]).st_mode) == 0o600
    with open(turn["export_file"], encoding="utf-8") as file:
        assert json.load(file)["messages"][1]["text"] == "\u20ac" * 3000000


@pytest.mark.needs_node
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_a_long_session_goes_through_the_pipe_if_its_file_cannot_be_written(place, tmp_path):
    (tmp_path / "state").write_text("no directory")
    run_plugin(place, tmp_path, "/bin/sh", "-c", WRITE % tmp_path, more=LONG)
    wait_for(tmp_path / "turn")
    turn = json.loads((tmp_path / "turn").read_text())
    assert turn["export"]["messages"][1]["text"] == "\u20ac" * 3000000
    assert "export_file" not in turn


@pytest.mark.needs_node
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_a_turn_that_was_given_is_not_given_again_when_opencode_ends(place, tmp_path):
    run_plugin(place, tmp_path, "/bin/sh", "-c", f"cat > /dev/null; echo >> {tmp_path}/turns")
    wait_for(tmp_path / "turns")
    assert (tmp_path / "turns").read_text() == "\n"


@pytest.mark.needs_node
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("info", ["undefined", "null", "{ id: path.id }"])
def test_nothing_that_goes_wrong_reaches_opencode(place, tmp_path, info):
    """The program is gone, or the session is."""
    done = run_plugin(place, tmp_path, "/nowhere/python", info=info)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.needs_node
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_a_program_that_is_gone_does_not_stop_opencode(place, tmp_path):
    """Python without the program ends with 2, and writes an error."""
    done = run_plugin(place, tmp_path, sys.executable, "-E", "-P", "-X", "utf8", "/gone/scopes/__main__.py", more=LONG)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_outdated_plugin_is_described_by_its_program_and_its_store(place):
    TARGET.install(place._replace(command=("/old/scopes",), store=None))
    detail = TARGET.status(place).detail
    assert detail.startswith("it starts /old/scopes, not ")
    assert detail.endswith("it records into the store of the agent's directory, not /stores/x.git")


@pytest.mark.parametrize("command", ["[broken]", '["/opt/scopes", 1]'])
def test_a_plugin_with_another_command_is_of_another_version(place, command):
    TARGET.install(place)
    lines = [
        f"const command = {command}" if line.startswith("const command") else line for line in read(place).split("\n")
    ]
    with open(path_of(place), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    state = TARGET.status(place)
    assert (state.condition, state.detail) == ("outdated", "it is of another version")


def test_users_of_opencode_are_asked_to_start_it_again(place):
    assert "start them again" in TARGET.install(place).advice
    assert TARGET.install(place).advice is None
