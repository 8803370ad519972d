"""The same message is the same commit on every machine and at any time."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.clock import parse_time
from scopes.history.messages import write_message_blob, write_message_commit, write_root_commit
from scopes.ids import MessageId
from scopes.model.conversation import Root
from scopes.model.message import Author, FileTouch, Message, Part, text_parts
from tests.support.store import assert_sound, git, make_store, read_bytes, run

ROOT = "35c4615c045f798092326f083acfbbe93d00fed2"
TIP = "6258fcda2939cecad854591f607dc175424f12a4"

WRITE = """
from tests.store.test_closed_content import write_conversation
repository = make_store(path)
print(*write_conversation(repository))
"""


def messages():
    """Return messages of every shape: odd text, a decision, files, a tool's output, no time."""
    identifiers = (MessageId(f"{'a' * 25}{letter}") for letter in "abcdefg")
    return [
        Message(id=next(identifiers), author=Author("Jörg Ü <x>", "human"), kind="prompt", parts=text_parts("Grüße,\n\0 \ud800 \u2028 \U0001f600"), time="2026-01-01T12:00:00.123+02:00"),
        Message(id=next(identifiers), author=Author("claude-code"), kind="answer", parts=(Part("tool_call", {"call_id": "1", "name": "Edit", "input": {"z": 1, "a": 0.5}}),), time="2026-01-01T12:00:01Z"),
        Message(id=next(identifiers), author=Author("carol"), kind="decision", parts=(), payload={"topic": "a/b c", "decision": "é"}, time="2026-01-01T12:00:02Z", to=("dave", "erin")),
        Message(id=next(identifiers), author=Author("carol"), parts=text_parts("no time"), files=(FileTouch("src/é.py", "edit", "sha256:00"), FileTouch("b", "rename", None, "a"))),
        Message(id=next(identifiers), author=Author("Bash", "tool"), kind="tool-results", parts=(), time="1969-12-31T23:59:59Z", extra={"z": 1, "é": [None, True]}),
    ]  # fmt: skip


def write_conversation(repository):
    """Write the fixed conversation; return its root and its tip."""
    root = Root(uuid="00000000-0000-4000-8000-000000000000", created="2026-01-01T00:00:00.000Z", cwd="/home/x/é")
    tip = first = write_root_commit(repository, root, {"carol": "agent", "Jörg Ü <x>": "human"})
    for message in messages():
        tip = write_message_commit(repository, tip, message, write_message_blob(repository, message), "/home/x/é")
    return first, tip


def test_a_conversation_has_these_commit_ids(repository):
    """P11: golden ids; if they change, the stored format has changed."""
    assert write_conversation(repository) == (ROOT, TIP)


WORLDS = {
    "another time zone": {"TZ": "Pacific/Kiritimati"},
    "another locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "no UTF-8 locale": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "another hash seed": {"PYTHONHASHSEED": "1"},
    "yet another hash seed": {"PYTHONHASHSEED": "12345"},
    "another user": {"USER": "mallory", "LOGNAME": "mallory", "HOME": "/nowhere"},
    "git's own names": {
        "GIT_AUTHOR_NAME": "m",
        "GIT_AUTHOR_EMAIL": "m@m",
        "GIT_COMMITTER_NAME": "m",
        "GIT_AUTHOR_DATE": "1 +0000",
    },
    "another width": {"COLUMNS": "20", "TERM": "xterm"},
    "optimized": {"PYTHONOPTIMIZE": "2"},
}


@pytest.mark.parametrize("world", WORLDS)
def test_no_data_of_the_machine_is_in_a_commit(tmp_path, world):
    """P11."""
    assert run(WRITE, tmp_path / "store.git", env=WORLDS[world]) == f"{ROOT} {TIP}"


@pytest.mark.parametrize("umask", ["000", "077"])
def test_umask_and_path_do_not_change_a_commit(tmp_path, umask):
    place = tmp_path / "é é" / ("x" * 100) / "store.git"
    before = ("sh", "-c", f'umask {umask}; cd /; exec "$@"', "sh")
    assert run(WRITE, place, before=before) == f"{ROOT} {TIP}"


def test_current_time_and_random_bytes_do_not_change_a_commit(repository, monkeypatch):
    """The clock and random bytes are read when a message is created, not when it is written."""
    monkeypatch.setattr(clock, "read_clock", lambda: 1 / 0)
    monkeypatch.setattr(clock, "random_bytes", lambda size: 1 / 0)
    assert write_conversation(repository) == (ROOT, TIP)


def test_the_store_contains_no_data_of_the_machine(tmp_path):
    """Objects, refs and configuration do not even contain the path of the store."""
    first, second = (make_store(tmp_path / name) for name in ("one.git", "another.git"))
    for store in (first, second):
        git(store, "update-ref", "refs/heads/conv-001/main", write_conversation(store)[1])
    assert read_bytes(f"{first.path}/config") == read_bytes(f"{second.path}/config")
    listed = [git(store, "cat-file", "--batch-all-objects", "--batch-check") for store in (first, second)]
    assert listed[0] == listed[1]
    assert_sound(first)


def test_git_shows_the_times_of_the_messages(repository):
    """A message without a time has the time of the message before it; a time before 1970 becomes 1970."""
    _, tip = write_conversation(repository)
    shown = git(repository, "log", "--reverse", "--format=%at %ct %ai", tip).splitlines()
    noon = parse_time("2026-01-01T10:00:00Z") // 10**9
    later = noon + 2 * 3600
    seconds = [parse_time("2026-01-01T00:00:00Z") // 10**9, noon, later + 1, later + 2, later + 2, 0]
    assert [line.split()[:2] for line in shown] == [[str(at)] * 2 for at in seconds]
    assert {line.split()[-1] for line in shown} == {"+0000"}


def test_subjects_and_trailers_stay_on_one_line(repository):
    _, tip = write_conversation(repository)
    shown = git(repository, "log", "--reverse", "--format=%s|%an|%ae|%(trailers:key=Scopes-To,valueonly)", tip)
    rows = [row for row in shown.splitlines() if row]
    assert rows[1] == "Grüße, \\x00 \\ud800 \U0001f600|Jörg Ü  x|j-rg-x@humans.scopes|"
    assert rows[3].endswith("carol|carol@agents.scopes|dave, erin")
    assert len(rows) == 6
