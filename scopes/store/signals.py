"""Ctrl-C between a commit point and the word that it happened: held back until both are done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_HELD = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextmanager
def held_signals() -> Iterator[None]:
    """Deliver interrupts only after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
