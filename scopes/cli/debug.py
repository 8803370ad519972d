"""What `-vv` adds on standard error: the traceback of an error, and the time that a run took."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable

from scopes.sanitize import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from scopes.cli.invocation import Invocation


def run_with_timing(run: Callable[[], int]) -> int:
    """Run a command, print its wall-clock and CPU time, and return its exit code."""
    started, cpu_started = time.perf_counter(), time.process_time()
    code = run()
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu_started
    _print(sys.stderr, f"debug: exit code {code}, {wall:.3f} s, {cpu:.3f} s of CPU time, {len(sys.modules)} modules\n")
    return code


def print_traceback(invocation: Invocation, error: BaseException) -> None:
    """Print the traceback of an error."""
    _print(invocation.stderr, clean("".join(traceback.format_exception(error))))


def _print(stream: TextIO, text: str) -> None:
    """Write to standard error; a failure is ignored, as it would hide the exit code."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        return
