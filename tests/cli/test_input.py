"""Opening the input of a command: files, standard input, and what is refused."""

from __future__ import annotations

import io
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
def test_an_empty_message_is_refused_unless_it_is_allowed(tmp_path, text):
    """D4: `false | scopes conv append X -` stored an empty message with exit code 0."""
    store = ("--store", str(tmp_path / "store.git"), "conv")
    assert scopes(*store, "new", table=PRODUCT).returncode == 0
    done = scopes(*store, "append", "conv-001", text, table=PRODUCT)
    assert (done.returncode, "the message is empty" in done.stderr) == (1, True), done.stderr
    assert scopes(*store, "log", "conv-001", table=PRODUCT).stdout == ""
    assert scopes(*store, "append", "conv-001", text, "--allow-empty", table=PRODUCT).returncode == 0


def test_append_reads_a_pipe_without_a_dash(tmp_path):
    conversation = Conversation(tmp_path)
    assert conversation.run_process("append", conversation.id, stdin=None, input="from a pipe").returncode == 0
    assert "from a pipe" in conversation.run_main("log", conversation.id).stdout


def test_append_without_a_text_does_not_wait_for_other_input(tmp_path):
    conversation = Conversation(tmp_path)
    done = conversation.run_process("append", conversation.id)  # standard input is /dev/null
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no message given")


def test_append_of_an_empty_pipe_is_refused(tmp_path):
    conversation = Conversation(tmp_path)
    done = conversation.run_process("append", conversation.id, stdin=None, input="")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: the message is empty")
