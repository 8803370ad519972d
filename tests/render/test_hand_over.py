"""A RawDocument is written byte for byte, and on a terminal with control characters escaped."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass

import pytest

from scopes.errors import Corrupt, Inaccessible, Refused
from scopes.render.output import Output, OutputSettings
from scopes.render.stream import OutputStream
from scopes.result import Note, RawDocument
from tests.render.hostile import PAYLOADS, forbidden
from tests.render.sample import Screen, output, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(RawDocument):
    """A document of some pieces, the last of which may be a failure."""

    sheets: tuple

    @property
    def pieces(self):
        for sheet in self.sheets:
            if isinstance(sheet, Exception):
                raise sheet
            yield sheet


def piped(*sheets, notes=(), **options):
    """Return the bytes written to a pipe and the text written to standard error."""
    stdout, stderr = io.TextIOWrapper(io.BytesIO(), encoding="latin-1"), io.StringIO()
    Output(OutputSettings(**options), {}, stdout, stderr).show(Paper(sheets=sheets, notes=notes))
    return stdout.buffer.getvalue(), stderr.getvalue()


def seen(*sheets):
    """Return the text written to a terminal."""
    made = output(terminal=True)
    made.show(Paper(sheets=sheets))
    return written(made)[0]


@pytest.mark.parametrize("options", [{}, {"json": True}, {"nul": True}, {"color": "always"}])
def test_a_pipe_gets_the_document_byte_for_byte(options):
    assert piped(b"\x1b[31m\r\n\0", bytes(range(256)), **options)[0] == b"\x1b[31m\r\n\0" + bytes(range(256))


def test_notes_go_to_standard_error():
    assert piped(b"x", notes=(Note("careful"),)) == (b"x", "note: careful\n")


def test_text_that_was_written_before_comes_first():
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    made = Output(OutputSettings(), {}, stdout, io.StringIO())
    made.stdout.write("first ")
    made.show(Paper(sheets=(b"second",)))
    assert stdout.buffer.getvalue() == b"first second"


def test_pieces_are_written_as_they_come():
    """Earlier pieces stay written when a later piece fails."""
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with pytest.raises(Corrupt):
        Output(OutputSettings(), {}, stdout, io.StringIO()).show(Paper(sheets=(b"one", Corrupt("x"))))
    assert stdout.buffer.getvalue() == b"one"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_terminal_shows_control_characters_as_text(payload):
    """H-71."""
    text = seen(f"before {payload} after".encode("utf-8", "replace"))
    assert forbidden(text.replace("\t", "")) == []  # a tab is no harm
    assert text.startswith("before ")


def test_binary_bytes_are_not_shown_on_a_terminal():
    with pytest.raises(Refused, match="the document is not text") as refusal:
        seen(b"\xff\xfe")
    assert refusal.value.hint == "write them to a file with --output, or into a pipe"


def test_a_long_document_is_paged(tmp_path):
    """Where a terminal can do more than print."""
    file = tmp_path / "page"
    made = Output(OutputSettings(), {"TERM": "xterm", "SCOPES_PAGER": f"cat > {file}"}, Screen(), io.StringIO())
    made.show(Paper(sheets=tuple(f"line {n}\n".encode() for n in range(100))))
    text = file.read_text() if file.exists() else made.stdout.stream.getvalue()
    assert text.splitlines()[-1] == "line 99"


def test_a_full_disk_and_a_closed_pipe_are_reported():
    """P12."""
    with open(os.open("/dev/full", os.O_WRONLY), "w", closefd=False) as stream:
        with pytest.raises(Inaccessible, match="no space left on device"):
            OutputStream(stream, {}, "auto").write_bytes(b"x" * 100_000)
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream:
        with pytest.raises(BrokenPipeError):
            OutputStream(stream, {}, "auto").write_bytes(b"x" * 100_000)
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
