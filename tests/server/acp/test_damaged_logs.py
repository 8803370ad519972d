"""`acp.log` and `hooks.log` may hold anything: a full disk cuts a line, and anybody who can write the file adds one."""

from __future__ import annotations

import json
import os

import pytest

from scopes.live.event_log import HOOK_LOG, EventLog, read_events
from scopes.server.acp.acp_events import acp_log, acp_stats, protocol_versions
from tests.cli.running import PRODUCT, scopes

GOOD = {"time": "2026-01-01T12:00:00.000Z", "event": "initialize", "pid": 7, "agent": "stub", "protocol": 1}
GOOD_LINE = json.dumps(GOOD).encode()
VALUES = (
    None, True, 7, -1.5, 1e300, "", "\ud800", "\u202e\x1b[31m", [], [[]], {}, {"a": [1]}, 10**400,
    [[[[[[7]]]]]], {"a": {"b": {"c": {}}}},
)  # fmt: skip
NOT_EVENTS = (
    b"", b"null", b"[]", b"7", b'"text"', b"not json", b'{"time"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000,
    b'{"event": 1}', b"{}", *(GOOD_LINE.replace(b": 1}", b": %b}" % value) for value in (
        b"NaN", b"Infinity", b"-1e999", b"[" * 900 + b"]" * 900, b"9" * 5000
    )),
)  # fmt: skip


@pytest.fixture
def folder(sealed_world):
    """The folder with the logs."""
    found = sealed_world / ".local/state/scopes"
    found.mkdir(parents=True)
    return found


def write(folder, *lines, name="acp.log"):
    (folder / name).write_bytes(b"".join(line + b"\n" for line in lines))


def encoded(**fields):
    return json.dumps(GOOD | fields).encode()


@pytest.mark.parametrize("line", NOT_EVENTS, ids=[str(number) for number in range(len(NOT_EVENTS))])
def test_a_line_that_is_no_event_is_left_out_and_counted(folder, line):
    write(folder, encoded(), line, encoded(event="end"))
    found = read_events(str(folder))
    assert ([event.name for event in found.events], found.damaged) == (["initialize", "end"], 1)
    assert [note.text for note in found.notes] == ["left out what cannot be read: 1 line of acp.log"]


@pytest.mark.parametrize("field", ["time", "event", "pid", "agent", "target", "session"])
def test_a_field_of_another_type_makes_a_line_no_event(folder, field):
    """None is a value of another type, too: a field that an event does not have is not in its line."""
    is_number = field == "pid"
    for value in VALUES:
        write(folder, encoded(**{field: value}))
        right = isinstance(value, int) and not isinstance(value, bool) if is_number else isinstance(value, str)
        found = read_events(str(folder))
        assert len(found.events) == int(right and field != "time"), value
        assert found.damaged == 1 - len(found.events)


@pytest.mark.parametrize("words", [[], ["--json"], ["--agent", "stub"]])
def test_other_fields_may_hold_anything(folder, words):
    fields = ("way", "protocol", "error", "code", "ways", "exit_code", "kind", "new")
    lines = [encoded(**{field: value}) for field in fields for value in VALUES]
    write(folder, *lines, *(line.replace(b"initialize", b"session") for line in lines))
    done = scopes("acp", "--log", *words, table=PRODUCT)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_version_of_the_protocol_is_a_number(folder):
    for value in VALUES:
        write(folder, encoded(protocol=value))
        assert protocol_versions(str(folder)) == ({"stub": value} if isinstance(value, int) else {})


def test_a_command_says_once_that_lines_were_left_out(folder):
    """Not for each line, and the rest is shown."""
    write(folder, *NOT_EVENTS, name="acp.log.1")
    write(folder, encoded(event="session", way="new"), encoded(pid=[7]))
    for words, shown in (([], "session"), (["--agent", "stub"], "stub")):
        done = scopes("acp", "--log", *words, table=PRODUCT)
        assert (
            done.returncode,
            done.stderr.count(f"left out what cannot be read: {len(NOT_EVENTS) + 1} lines of acp.log"),
        ) == (0, 1)
        assert shown in done.stdout


def test_the_log_as_json_holds_the_warning(folder):
    write(folder, encoded(), b"{")
    document = json.loads(scopes("acp", "--log", "--json", table=PRODUCT).stdout.splitlines()[0])
    assert document["notes"] == [{"text": "left out what cannot be read: 1 line of acp.log"}]


@pytest.mark.parametrize(
    "words",
    [
        ["setup", "--status", "--only", "hooks"],
        ["setup", "--status", "--only", "hooks", "--json"],
        ["doctor", "--json"],
    ],
)
def test_the_status_of_hooks_reads_any_log(folder, words):
    line = {"time": GOOD["time"], "event": "failed", "pid": 7, "target": "claude-code", "error": "the disk is full"}
    fields = ("target", "error", "time", "pid", "event", "hint")
    write(folder, *(json.dumps({**line, field: value}).encode() for field in fields for value in VALUES), name=HOOK_LOG)
    done = scopes(*words, table=PRODUCT)
    assert (done.returncode in {0, 1}, "Traceback" in done.stderr) == (True, False), done.stderr


@pytest.mark.parametrize("value", VALUES, ids=[str(number) for number in range(len(VALUES))])
def test_the_last_problem_of_a_hook_may_be_anything(folder, value):
    line = {"time": GOOD["time"], "event": "failed", "pid": 7, "target": "claude-code", "error": value}
    write(folder, json.dumps(line).encode(), name=HOOK_LOG)
    done = scopes("setup", "--status", "--only", "hooks", "claude-code", table=PRODUCT)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_turn_that_was_not_recorded_is_shown_next_to_a_damaged_line(folder):
    assert (
        scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT).returncode == 0
    )  # without them nothing is a problem
    log = EventLog(str(folder), file_name=HOOK_LOG, target="claude-code")
    log.write("failed", error="the disk is full")
    with open(log.path, "ab") as file:
        file.write(b'{"time": 5}\n')
    done = scopes("setup", "--status", "--only", "hooks", "claude-code", "--json", table=PRODUCT)
    document = json.loads(done.stdout)
    assert document["hooks"][0]["problem"] == "the disk is full"
    assert document["notes"] == [{"text": "left out what cannot be read: 1 line of hooks.log"}]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_a_log_that_is_no_file_has_no_events(folder, make):
    make(folder / "acp.log")
    assert (acp_log(str(folder)).events, acp_stats(str(folder)).agents) == ((), ())


def test_a_log_of_nothing_but_damage_has_no_rows_and_a_warning(folder):
    write(folder, *NOT_EVENTS)
    stats = acp_stats(str(folder))
    assert (stats.agents, len(stats.notes)) == ((), 1)
