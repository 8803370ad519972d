"""Running the command that the user has chosen for summaries: it has so long and so much.

What is late, silent, failing or endless is refused, and nothing that it began goes on.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import IO

from scopes.errors import Refused

MOST_OUTPUT_BYTES = 100_000
_PIECE_BYTES = 65536
_GRACE_SECONDS, _LOOK_SECONDS = 1.0, 0.1


def run_summarizer(command: str, prompt: str, timeout_seconds: int) -> str:
    """Run a command through the shell and return what it wrote; its standard input is the prompt.

    Raises:
        Refused: it did not start, took too long, failed, or wrote nothing or too much.
    """
    with tempfile.TemporaryFile() as given:
        given.write(prompt.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise _refusal(f"cannot be started: {error.strerror}") from error
        try:
            output, complaint = _collect(process, time.monotonic() + timeout_seconds, timeout_seconds)
        finally:
            _end(process)
    if process.returncode != 0:
        last = (complaint.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
        code = process.returncode
        how = f"failed with exit code {code}" if code > 0 else f"was killed by signal {-code}"
        raise _refusal(f"{how}: {last[:200]}")
    text = output.decode("utf-8", "replace").strip()
    if not text:
        raise _refusal("wrote nothing")
    return text


def _collect(process: subprocess.Popen[bytes], deadline: float, timeout_seconds: int) -> tuple[bytes, bytes]:
    """Read both outputs to their ends, of the second only what is last.

    Once the command has exited, what it left behind may write for a moment longer: it may hold the outputs for ever.
    """
    heard = [b"", b""]
    late = _refusal(f"took longer than {timeout_seconds} seconds")
    with selectors.DefaultSelector() as selector:
        for place, stream in enumerate(_streams(process)):
            selector.register(stream, selectors.EVENT_READ, place)
        while selector.get_map():
            if process.returncode is None and process.poll() is not None:
                deadline = min(deadline, time.monotonic() + _GRACE_SECONDS)
            left = deadline - time.monotonic()
            if left <= 0 and process.returncode is None:
                raise late
            if left <= 0:
                break
            for key, _ in selector.select(min(left, _LOOK_SECONDS)):
                data = os.read(key.fd, _PIECE_BYTES)
                heard[key.data] += data
                if not data:
                    selector.unregister(key.fileobj)
            heard[1] = heard[1][-2000:]
            if len(heard[0]) > MOST_OUTPUT_BYTES:
                raise _refusal(f"wrote more than {MOST_OUTPUT_BYTES:,} bytes")
    try:
        process.wait(max(deadline - time.monotonic(), 0.01))
    except subprocess.TimeoutExpired as error:
        raise late from error
    return heard[0], heard[1]


def _streams(process: subprocess.Popen[bytes]) -> list[IO[bytes]]:
    return [stream for stream in (process.stdout, process.stderr) if stream is not None]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing running, also of what the command began."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in _streams(process):
        stream.close()


def _refusal(what: str) -> Refused:
    return Refused(f"the summarizer {what}", hint="see scopes.summarizer, or use --builtin")
