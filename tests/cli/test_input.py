"""Opening the input of a command: files, standard input, and what is refused."""

from __future__ import annotations

import base64
import io
import json
import os

import pytest

from scopes.cli.input import open_input
from scopes.cli.invocation import Invocation
from scopes.errors import Inaccessible, Invalid, NotFound
from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, scopes


@pytest.fixture
def invocation():
    return Invocation([], {})


def test_a_file_is_read_as_bytes(invocation, tmp_path):
    (tmp_path / "f").write_bytes(b"\xff\r\n")
    with open_input(invocation, str(tmp_path / "f")) as file:
        assert file.read() == b"\xff\r\n"


def test_a_single_dash_is_standard_input(invocation):
    invocation.stdin = io.TextIOWrapper(io.BytesIO(b"hello"))
    assert open_input(invocation, "-").read() == b"hello"


def test_a_missing_file_is_not_found(invocation, tmp_path):
    with pytest.raises(NotFound, match=r"file .* not found"):
        open_input(invocation, str(tmp_path / "nothing"))


@pytest.mark.parametrize("path", ["/dev/zero", "/", "/dev/tty0"])
def test_devices_and_directories_are_refused_without_reading(invocation, path):
    """A-10."""
    with pytest.raises((Invalid, Inaccessible, NotFound)):
        open_input(invocation, path)


def test_a_pipe_with_no_writer_does_not_hang(invocation, tmp_path):
    """A-10."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Invalid, match="not a regular file"):
        open_input(invocation, str(tmp_path / "pipe"))


def test_a_loop_of_links_is_inaccessible(invocation, tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(Inaccessible, match="cannot read"):
        open_input(invocation, str(tmp_path / "a"))


def test_on_a_terminal_a_note_prints_how_to_end_the_input():
    main, side = os.openpty()
    os.write(main, b"x\n\x04")
    done = scopes("conv", "read", "-", stdin=side)
    os.close(main)
    os.close(side)
    assert done.stdout == "2 bytes\n"
    assert "end with Ctrl-D" in done.stderr


@pytest.mark.parametrize("text", ["", "  \n", "-"])
def test_an_empty_message_is_refused(tmp_path, text):
    """D4: `false | scopes append X -` stored an empty message with exit code 0."""
    store = ("--store", str(tmp_path / "store.git"), "conv")
    assert scopes(*store, "new", table=PRODUCT).returncode == 0
    done = scopes(*store, "append", "conv-001", text, table=PRODUCT)
    assert (done.returncode, "the message is empty" in done.stderr) == (1, True), done.stderr
    assert scopes(*store, "log", "conv-001", table=PRODUCT).stdout == ""


def test_append_reads_a_pipe_without_a_dash(tmp_path):
    conversation = Conversation(tmp_path)
    assert conversation.run_process("append", conversation.id, stdin=None, input="from a pipe").returncode == 0
    assert "from a pipe" in conversation.run_main("log", conversation.id).stdout


@pytest.mark.parametrize(("given", "stored"), [("hi\n", "hi"), ("hi\r\n", "hi"), ("hi\n\n", "hi\n"), ("hi", "hi")])
def test_one_line_break_at_the_end_of_a_pipe_is_no_part_of_the_text(tmp_path, given, stored):
    """`echo hi | scopes append` stored it, so that a template printed a blank after the text."""
    conversation = Conversation(tmp_path)
    conversation.run_process("append", conversation.id, stdin=None, input=given)
    assert conversation.run("cat", conversation.id, "--json")["parts"] == [{"type": "text", "text": stored}]


def test_append_without_a_text_does_not_wait_for_other_input(tmp_path):
    conversation = Conversation(tmp_path)
    done = conversation.run_process("append", conversation.id)  # standard input is /dev/null
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no message given")


def test_append_of_an_empty_pipe_is_refused(tmp_path):
    conversation = Conversation(tmp_path)
    done = conversation.run_process("append", conversation.id, stdin=None, input="")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: the message is empty")


BYTES = bytes(range(256))


@pytest.mark.parametrize("words", [("append",), ("append", "-"), ("amend", "@"), ("memory-add",)])
def test_standard_input_that_is_not_utf_8_is_refused(tmp_path, words):
    """D4: the bytes were stored as a text that nobody can read."""
    conversation = Conversation(tmp_path)
    conversation.append("main", "before")
    where = {
        "append": ("conv", "append", conversation.id, *words[1:]),
        "amend": ("conv", "amend", conversation.id, "main", "-"),
        "memory-add": ("memory", "add", "-"),
    }[words[0]]
    done = conversation.run_process(*where, stdin=None, input=BYTES, text=False)
    assert done.returncode == 1
    assert b"standard input is not UTF-8 text (at byte 128)" in done.stderr
    assert (b"--binary" in done.stderr) == (words[0] == "append")
    assert conversation.run("conv", "log", conversation.id, "--json")["text"] == "before"


def test_with_binary_the_bytes_of_standard_input_are_a_file_part(tmp_path):
    """D4."""
    conversation = Conversation(tmp_path)
    words = ("conv", "append", conversation.id, "--binary", media_type := "image/png")
    done = conversation.run_process(*words, stdin=None, input=BYTES, text=False)
    assert done.returncode == 0, done.stderr
    [part] = conversation.run("conv", "cat", f"{conversation.id}/main", "--json")["parts"]
    assert (part["type"], part["media_type"], base64.b64decode(part["data"])) == ("file", media_type, BYTES)
    assert media_type in conversation.run("conv", "cat", f"{conversation.id}/main")


@pytest.mark.parametrize(
    ("words", "given", "code", "text"),
    [
        (("--binary", "image/png", "hello"), "x", 2, "--binary stores standard input"),
        (("--binary", "image/png"), "", 1, "the message is empty"),
        (("--binary", "a b"), "x", 2, "is not a media type"),
        (("--binary", "image/png", "--jsonl", "-"), "{}", 2, "--jsonl cannot be combined with TEXT"),
    ],
)
def test_binary_without_bytes_or_with_a_text_is_refused(tmp_path, words, given, code, text):
    conversation = Conversation(tmp_path)
    done = conversation.run_main("conv", "append", conversation.id, *words, given=given)
    assert (done.returncode, text in done.stderr) == (code, True), done.stderr
    assert conversation.run("conv", "log", conversation.id) == ""


def test_a_blank_line_of_jsonl_is_refused(tmp_path):
    """D4. A message with parts or a typed content needs no text."""
    conversation = Conversation(tmp_path)
    documents = [
        {"author": "a", "kind": "decision", "text": "", "decision": {"topic": "db", "decision": "SQLite"}},
        {"author": "a", "text": "", "parts": [{"type": "text", "text": "part"}]},
        {"author": "a", "text": " \n"},
    ]
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    words = ("conv", "append", conversation.id, "--jsonl", "-")
    done = conversation.run_main(*words, given=lines)
    assert (done.returncode, "line 3: the message is empty" in done.stderr) == (1, True), done.stderr


def test_an_amendment_without_text_is_refused(tmp_path):
    """D4."""
    conversation = Conversation(tmp_path)
    conversation.append("main", "before")
    words = ("conv", "amend", conversation.id, "main", "  ")
    done = conversation.run_main(*words)
    assert (done.returncode, "the message is empty" in done.stderr) == (1, True), done.stderr
