"""Ctrl-C between a commit point and the word that it happened: held back until both are done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_HELD = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver interrupts only after the block, however many threads there are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    # Where there are other threads, the kernel gives a signal to one of those, and Python calls its handler here.
    handlers = {held: signal.signal(held, lambda number, _: came.append(number)) for held in _HELD}
    try:
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in came:
            signal.raise_signal(number)
