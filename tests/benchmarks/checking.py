"""`check` of transcripts compared with their import, each time in a new process, in processor time."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.benchmarks.timing import Row, Samples, run
from tests.benchmarks.transcripts import make_material
from tests.benchmarks.workspace import Workspace

_SIZE = 4_000_000  # bytes of transcripts
_MEASURED = """
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""


def measure(work: Workspace) -> Iterator[Row]:
    """Yield the check of 4 MB of transcripts, with all rules, and the import of the same."""
    folder = make_material(work.path("checked"), _SIZE).folder
    ours, reference = [], []
    for _ in range(work.repetitions(3)):
        reference.append(_seconds(work, f"--store={work.new_path('imported')}", "conv", "import", folder))
        ours.append(_seconds(work, "check", folder))
    yield Row(
        operation=f"check of {_SIZE / 1_000_000:.0f} MB, in processor time",
        ours=Samples(tuple(ours)),
        reference=Samples(tuple(reference)),
        against="import of the same",
        budget=1.5,
    )


def _seconds(work: Workspace, *arguments: str) -> float:
    command = [sys.executable, "-m", "scopes", *arguments]
    return float(run([sys.executable, "-S", "-c", _MEASURED, *command], work.environment))
