"""Defer SIGINT, SIGTERM and SIGHUP until the success of a commit is recorded; let them remove what is temporary."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` makes enumeration members of all that it returns
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)  # SIGINT is an exception already
_DEFERRED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver these signals after the block; has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    mask = _signal.pthread_sigmask(signal.SIG_BLOCK, _DEFERRED)
    # If there are other threads, the kernel delivers the signal to one of them, and Python runs its handler here.
    handlers = [(number, _signal.signal(number, lambda signum, _: received.append(signum))) for number in _DEFERRED]
    try:
        yield
    finally:
        for number, handler in handlers:
            _signal.signal(number, handler)
        _signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for signal_number in received:
            signal.raise_signal(signal_number)


class Terminated(BaseException):
    """SIGTERM or SIGHUP came; the process ends with it when the block of `unwound` is left."""


@contextmanager
def unwound() -> Iterator[None]:
    """Let SIGTERM and SIGHUP leave the block by an exception, so that it is tidied up; then they end this process.

    A signal that is ignored or has a handler keeps it. Has no effect outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def leave(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)
        if len(arrived) == 1:  # the others must not interrupt the tidying
            raise Terminated

    heeded = [number for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)
        if arrived:
            signal.raise_signal(arrived[0])
