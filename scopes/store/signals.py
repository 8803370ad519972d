"""Defer SIGINT, SIGTERM and SIGHUP until the success of a commit is recorded."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` makes enumeration members of all that it returns
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
