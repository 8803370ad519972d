"""Hooks in the configuration of agents: they come and go, and everything else stays."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest

from scopes.errors import Refused
from scopes.hosts.agent_hooks import AGENT_HOOKS, is_hook_command
from scopes.hosts.hook_target import HookEnvironment
from scopes.hosts.program import guarded, split_command
from scopes.importers.formats.cursor_hooks import EVENTS

THEIRS = {"hooks": [{"type": "command", "command": "say done"}]}
TARGETS = {target.name: target for target in AGENT_HOOKS}
every_target = pytest.mark.parametrize("target", AGENT_HOOKS, ids=TARGETS)
SPACED = "/opt/my programs/python"


@pytest.fixture
def place(tmp_path):
    return HookEnvironment(str(tmp_path), str(tmp_path), {}, (SPACED, "-P", "/lib/scopes/__main__.py"))


def file_of(target, place):
    return target.status(place).file


def write(target, place, document):
    path = file_of(target, place)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(target, place):
    with open(file_of(target, place), encoding="utf-8") as file:
        return file.read()


def read_file(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def states(result):
    return [change.state for change in result.changes]


def entries(target, place):
    return json.loads(read(target, place))["hooks"]


@every_target
def test_every_event_runs_the_program_with_the_agent_and_nothing_else(target, place):
    """No data of the turn is on the command line: it comes on standard input."""
    target.install(place)
    for event in target.events:
        (entry,) = entries(target, place)[event]
        (hook,) = entry["hooks"] if target.nested else [entry]
        assert hook.get("type", "command") == "command"
        assert split_command(hook["command"]) == [*place.command, "hooks", "run", target.name]
        assert hook["command"] == shlex.join([*place.command, "hooks", "run", target.name]) + " 2>/dev/null || exit 0"


@every_target
@pytest.mark.parametrize("python", [sys.executable, "/no/such/python"])
def test_a_hook_whose_program_is_gone_does_not_stop_its_agent(target, place, python):
    """By exit code 2, which Python has then, Claude Code goes on with the error as a prompt; others block."""
    target.install(place._replace(command=(python, "-E", "-P", "-X", "utf8", "/gone/scopes/__main__.py")))
    for event in target.events:
        (entry,) = entries(target, place)[event]
        (hook,) = entry["hooks"] if target.nested else [entry]
        ended = subprocess.run(["/bin/sh", "-c", hook["command"]], input=b"{}", capture_output=True, check=False)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
        bare = subprocess.run(["/bin/sh", "-c", hook["command"].removesuffix(" || exit 0")], check=False)
        assert bare.returncode in {2, 127}


@every_target
@pytest.mark.parametrize("guard", ["", " || exit 0"])
def test_hooks_of_an_old_form_are_outdated_and_replaced(target, place, guard):
    old = shlex.join([*place.command, "hooks", "run", target.name]) + guard
    write(target, place, {"hooks": {event: [target.entry(old)] for event in target.events}})
    state = target.status(place)
    assert (state.condition, state.detail) == (
        "outdated", "it has the old form, which stops the agent or prints errors if scopes is gone",
    )  # fmt: skip
    assert states(target.install(place)) == ["replaced"]
    assert target.status(place).condition == "installed"
    assert all(len(entries(target, place)[event]) == 1 for event in target.events)
    assert states(target.remove(place)) == ["removed"]
    assert target.status(place).condition == "missing"


@every_target
def test_a_second_installation_changes_nothing(target, place):
    assert states(target.install(place)) == ["added"]
    before = read(target, place)
    assert states(target.install(place)) == ["unchanged"]
    assert read(target, place) == before


@every_target
def test_hooks_and_settings_of_others_stay(target, place):
    event = target.events[0]
    write(target, place, {"model": "x", "hooks": {event: [THEIRS], "Other": [THEIRS], "enabled": True}})
    target.install(place)
    assert entries(target, place)[event][0] == THEIRS
    target.remove(place)
    assert json.loads(read(target, place)) == {
        "model": "x",
        "hooks": {event: [THEIRS], "Other": [THEIRS], "enabled": True},
    }


@every_target
def test_removing_gives_the_bytes_back(target, place):
    text = '{ "hooks": {"Other": [ ] }, "z": 1e3 }'
    write(target, place, text)
    target.install(place)
    assert states(target.remove(place)) == ["removed"]
    assert read(target, place) == text


@every_target
def test_the_command_of_an_older_place_is_replaced(target, place):
    old = place._replace(command=("/old/scopes",))
    target.install(old)
    assert target.status(place).condition == "outdated"
    assert states(target.install(place)) == ["replaced"]
    assert "/old/scopes" not in read(target, place)
    assert target.status(place).condition == "installed"


@every_target
def test_bytes_come_back_after_an_update_too(target, place):
    write(target, place, '{"z":1}')
    target.install(place._replace(command=("/old/scopes",)))
    target.install(place)
    target.remove(place)
    assert read(target, place) == '{"z":1}'


@every_target
def test_nothing_is_written_to_show_the_hooks(target, place):
    shown = target.install(place, print_only=True)
    assert shown.shown
    assert json.loads(shown.changes[0].text)["hooks"].keys() == set(target.events)
    assert not os.path.exists(file_of(target, place))


@every_target
def test_there_is_nothing_to_remove_where_nothing_was_installed(target, place):
    assert states(target.remove(place)) == ["absent"]
    write(target, place, {"hooks": {target.events[0]: [THEIRS]}})
    assert states(target.remove(place)) == ["absent"]
    assert entries(target, place) == {target.events[0]: [THEIRS]}


@every_target
def test_the_store_that_was_named_is_that_of_the_hook(target, place):
    target.install(place._replace(store="/stores/work notes.git"))
    (entry,) = entries(target, place)[target.events[0]]
    (hook,) = entry["hooks"] if target.nested else [entry]
    assert split_command(hook["command"])[-2:] == ["--store", "/stores/work notes.git"]


def command_of(target):
    return f"/opt/scopes hooks run {target.name}"


@every_target
@pytest.mark.parametrize(
    "form", ["backup.sh && {} && notify", "{} | tee log", "{}; x", "nice {}", "{} --store $HOME/x"]
)
def test_a_command_of_the_user_that_also_runs_ours_is_left_alone(target, place, form):
    theirs = {"type": "command", "command": form.format(command_of(target))}
    entry = {"hooks": [theirs]} if target.nested else theirs
    write(target, place, {"hooks": {target.events[0]: [entry]}})
    assert states(target.remove(place)) == ["absent"]
    assert states(target.install(place)) == ["added"]
    assert entries(target, place)[target.events[0]][0] == entry
    target.remove(place)
    assert entries(target, place) == {target.events[0]: [entry]}


@every_target
def test_what_the_user_added_to_our_entry_stays_with_an_update_and_is_kept_by_a_removal(target, place):
    hook = {"type": "command", "command": command_of(target), "timeout": 60}
    entry = {"matcher": "x", "comment": "mine", "hooks": [hook]} if target.nested else {**hook, "comment": "mine"}
    write(target, place, {"hooks": {target.events[0]: [entry]}})
    assert read_file(target.install(place).changes[0].backup) == json.dumps({"hooks": {target.events[0]: [entry]}})
    (updated,) = entries(target, place)[target.events[0]]
    (inner,) = updated["hooks"] if target.nested else [updated]
    assert (updated["comment"], inner["timeout"]) == ("mine", 60)
    assert inner["command"] == guarded([*place.command, "hooks", "run", target.name])
    assert target.status(place).condition == "installed"
    backup = target.remove(place).changes[0].backup
    assert "mine" in read_file(backup)


@every_target
def test_our_hook_for_an_event_of_another_version_goes_with_an_update(target, place):
    write(target, place, {"hooks": {"Old": [target.entry(command_of(target)), THEIRS]}})
    target.install(place)
    assert entries(target, place)["Old"] == [THEIRS]


def test_codex_gets_no_longer_timeout_than_it_takes(place):
    """It warned at each start: "clamping SessionEnd hook timeout to 3s"."""
    target = TARGETS["codex"]
    target.install(place)
    written = {event: entry["hooks"][0]["timeout"] for event, (entry,) in entries(target, place).items()}
    assert written == {"Stop": 10, "SubagentStop": 10, "SessionEnd": 3}
    write(target, place, {"hooks": {event: [target.entry(command_of(target))] for event in target.events}})
    assert states(target.install(place)) == ["replaced"]
    updated = {event: entry["hooks"][0]["timeout"] for event, (entry,) in entries(target, place).items()}
    assert updated == written


def test_our_own_timeout_in_a_mixed_entry_is_kept_by_a_removal(place):
    target = TARGETS["claude-code"]
    ours = {"type": "command", "command": command_of(target), "timeout": 77}
    write(target, place, {"hooks": {"Stop": [{"hooks": [*THEIRS["hooks"], ours]}]}})
    assert "77" in read_file(target.remove(place).changes[0].backup)


def test_a_hook_of_ours_in_an_entry_of_others_goes_alone(place):
    target = TARGETS["claude-code"]
    command = shlex.join([*place.command, "hooks", "run", "claude-code"])
    mixed = {"matcher": "x", "hooks": [*THEIRS["hooks"], {"type": "command", "command": command}]}
    write(target, place, {"hooks": {"Stop": [mixed]}})
    assert target.status(place).condition == "outdated"
    target.remove(place)
    assert entries(target, place) == {"Stop": [{"matcher": "x", **THEIRS}]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"hooks": []}', "is not an object"),
        ('{"hooks": {"Stop": {}}}', "is not a list"),
        ("{ // mine\n}", "is not plain JSON"),
    ],
)
def test_a_file_that_would_lose_something_is_refused(place, text, problem):
    target = TARGETS["claude-code"]
    write(target, place, text)
    with pytest.raises(Refused, match=problem):
        target.install(place)
    assert read(target, place) == text


def test_entries_of_any_form_are_left_alone(place):
    target = TARGETS["claude-code"]
    odd = [1, None, "x", {"hooks": 2}, {"hooks": [3, {"command": 4}, {"command": "'"}]}]
    write(target, place, {"hooks": {"Stop": odd}})
    target.install(place)
    target.remove(place)
    assert entries(target, place) == {"Stop": odd}


def test_a_file_that_cannot_be_read_is_a_condition(place):
    target = TARGETS["gemini"]
    write(target, place, "{ // mine\n}")
    state = target.status(place)
    assert (state.condition, "plain JSON" in state.detail) == ("unreadable", True)


@pytest.mark.parametrize(("name", "variable"), [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")])
def test_the_directory_of_an_agent_can_be_moved(place, tmp_path, name, variable):
    moved = place._replace(environ={variable: str(tmp_path / "moved")})
    assert file_of(TARGETS[name], moved).startswith(str(tmp_path / "moved"))


@every_target
def test_what_is_left_to_do_is_shown_once(target, place):
    """Codex runs no hook before the user has trusted it; others have read their configuration already."""
    advice = target.install(place).advice
    assert ("trust" if target.name == "codex" else "start them again") in advice
    assert target.install(place).advice is None
    assert target.remove(place).advice is None


@every_target
def test_an_outdated_hook_is_described_by_its_program_and_its_store(target, place):
    target.install(place._replace(command=("/old/python", "-P", "/old/scopes/__main__.py"), store="/old store.git"))
    assert target.status(place).detail == (
        "it starts /old/python /old/scopes/__main__.py, not '/opt/my programs/python' /lib/scopes/__main__.py; "
        "it records into /old store.git, not the store of the agent's directory"
    )
    assert target.status(place._replace(store="/new.git")).detail.endswith("into /old store.git, not /new.git")


@every_target
def test_a_hook_that_is_missing_is_named(target, place):
    target.install(place)
    document = json.loads(read(target, place))
    del document["hooks"][target.events[-1]]
    write(target, place, document)
    assert target.status(place).condition == "outdated"
    assert target.status(place).detail == f"the hook for {target.events[-1]} is missing"


@every_target
def test_two_hooks_for_one_event_are_outdated(target, place):
    target.install(place)
    document = json.loads(read(target, place))
    document["hooks"][target.events[0]] *= 2
    write(target, place, document)
    assert target.status(place).condition == "outdated"
    assert states(target.install(place)) == ["replaced"]
    assert len(entries(target, place)[target.events[0]]) == 1


def test_the_advice_about_a_file_with_comments_is_one_that_can_be_followed(place):
    target = TARGETS["claude-code"]
    write(target, place, "{ // mine\n}")
    with pytest.raises(Refused) as error:
        target.remove(place)
    assert "--print" not in error.value.hint
    assert "remove it yourself" in error.value.hint
    assert "`hooks run claude-code`" in error.value.hint


def test_a_command_with_an_open_quote_is_not_ours():
    assert not is_hook_command("scopes hooks run codex 'x", "codex")
    assert is_hook_command("/a/scopes hooks run codex --store x", "codex")


def test_the_file_of_cursor_has_the_version_that_it_asks_for(place):
    """cursor.com/docs/agent/hooks: version 1, and entries without a list of their own."""
    target = TARGETS["cursor"]
    target.install(place)
    document = json.loads(read(target, place))
    assert (document["version"], list(document)) == (1, ["version", "hooks"])
    target.remove(place)
    assert not os.path.exists(file_of(target, place))


def test_the_hooks_of_cursor_are_the_events_that_its_format_reads():
    assert TARGETS["cursor"].events == EVENTS
