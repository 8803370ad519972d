"""The file of a spool: all of the messages or none, within a limit, and nothing of it is believed unread."""

from __future__ import annotations

import json
import os
import resource
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Refused
from scopes.model.message import Author, Message, Part
from scopes.server.acp import spool
from scopes.server.acp.recordings import Identity, RecordedBranch
from scopes.server.acp.spool import Spool, SpooledMessage, abandoned_file, list_spooled
from scopes.server.acp.take_spool import waiting_messages

STORE = "/srv/store.git"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def waiting(text="hello", session="s", recorded=None, forked=None):
    parts = (Part("text", {"text": text}),)
    message = Message(id="m-1", author=Author("carol", "human"), parts=parts, time="2026-01-01T00:00:00Z")
    return SpooledMessage(Identity("stub", "/project"), session, "run", recorded, forked, message)


def read_all(directory):
    """Return the messages of all files whose proxy has ended."""
    found = []
    for path in list_spooled(str(directory)):
        with abandoned_file(path) as file:
            found += [] if file is None else file.messages
    return found


def abandon(writer):
    """Close a file as the end of its process does."""
    os.close(writer._descriptor)


@given(st.lists(st.tuples(TEXT, TEXT, st.none() | TEXT), min_size=1, max_size=5))
def test_what_is_put_in_is_read_again(values):
    messages = [
        waiting(text, session, RecordedBranch("conv-001", "main", "0" * 40), forked) for text, session, forked in values
    ]
    with tempfile.TemporaryDirectory() as directory:
        writer = Spool(directory)
        for message in messages:
            writer.append(STORE, [message])
        abandon(writer)
        assert read_all(directory) == messages


def test_the_file_of_a_process_that_lives_is_not_read(tmp_path):
    writer = Spool(str(tmp_path))
    writer.append(STORE, [waiting()])
    assert read_all(tmp_path) == []
    assert waiting_messages(str(tmp_path)) == []
    abandon(writer)
    assert waiting_messages(str(tmp_path)) == [(STORE, 1)]


def test_a_file_that_two_commands_find_is_read_by_one(tmp_path):
    writer = Spool(str(tmp_path))
    writer.append(STORE, [waiting()])
    abandon(writer)
    [path] = list_spooled(str(tmp_path))
    with abandoned_file(path) as first, abandoned_file(path) as second:
        assert (first is None, second is None) == (False, True)


def test_a_spool_has_a_limit_for_all_its_files(tmp_path, monkeypatch):
    """A store that stays locked for days fills no disk."""
    monkeypatch.setattr(spool, "MAX_BYTES", 2000)
    writers = [Spool(str(tmp_path)), Spool(str(tmp_path))]
    writers[0].append(STORE, [waiting("x" * 1000)])
    with pytest.raises(Refused, match="limit"):
        writers[1].append(STORE, [waiting("y" * 1000)])
    assert len(list_spooled(str(tmp_path))) == 1
    writers[0].clear()
    writers[1].append(STORE, [waiting("y" * 1000)])


def test_a_disk_that_is_full_in_the_middle_of_a_message_leaves_whole_ones(tmp_path):
    """The next message does not begin within a half one."""
    writer = Spool(str(tmp_path))
    writer.append(STORE, [waiting("first")])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))  # a write beyond it fails after a part
    try:
        with pytest.raises(OSError, match="too large"):
            writer.append(STORE, [waiting("x" * 5000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.append(STORE, [waiting("second")])
    abandon(writer)
    assert [each.message.text for each in read_all(tmp_path)] == ["first", "second"]


@pytest.mark.parametrize(
    "line",
    [
        "", "[]", "7", "{", '{"agent": "a"}', "[" * 100_000, "\0",
        json.dumps({"agent": "a", "cwd": "", "session": "s", "run": "r", "recorded": 1, "forked": None, "message": "{}"}),
        json.dumps({"agent": "a", "cwd": "", "session": 7, "run": "r", "recorded": 1, "forked": None, "message": "{}"}),
    ],
)  # fmt: skip
def test_a_line_that_is_no_message_is_left_out(tmp_path, line):
    writer = Spool(str(tmp_path))
    writer.append(STORE, [waiting()])
    [path] = list_spooled(str(tmp_path))
    abandon(writer)
    with open(path, "a") as file:
        file.write(f"{line}\n")
    assert read_all(tmp_path) == [waiting()]


@pytest.mark.parametrize(
    "first", ["", "{}", "[1]", '{"scopes_acp_spool": 2, "store": "/x"}', '{"scopes_acp_spool": 1}']
)
def test_a_file_of_another_kind_or_version_is_left_alone(tmp_path, first):
    (tmp_path / spool.DIRECTORY).mkdir()
    (tmp_path / spool.DIRECTORY / "1.jsonl").write_text(f"{first}\n")
    assert read_all(tmp_path) == []
    assert len(list_spooled(str(tmp_path))) == 1


def test_a_link_or_a_pipe_in_its_place_is_not_read(tmp_path):
    """A pipe would be waited for, and a link leads elsewhere."""
    directory = tmp_path / spool.DIRECTORY
    directory.mkdir()
    os.mkfifo(directory / "1.jsonl")
    (directory / "2.jsonl").symlink_to(tmp_path / "other")
    (tmp_path / "other").write_text("{}")
    assert read_all(tmp_path) == []
