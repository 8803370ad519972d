"""What one worker of a run makes and the others only read, such as stores that take seconds to make."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def made_once(request: Any, factory: Any, name: str, make: Callable[[Path], Any]) -> Any:
    """Return what `make` returns for a directory, called by the first worker that needs it; the others wait for it.

    The result must be JSON. The directory is one of the run, and is removed with the temporary files of the run.
    """
    base = factory.getbasetemp()
    directory = (base.parent if hasattr(request.config, "workerinput") else base) / name
    with open(f"{directory}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = Path(f"{directory}.json")
        if not done.exists():
            directory.mkdir()
            done.write_text(json.dumps(make(directory)))
    return json.loads(done.read_text())
