"""`python -m tests.benchmarks [NAME...] [--json FILE] [--quick]`: a table of all measurements with their references."""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator

import scopes
from scopes.store.objects import pygit2
from tests.benchmarks import (
    appending,
    bulk,
    checking,
    contexts,
    explaining,
    fact_cycles,
    hooking,
    importing,
    listing,
    merging,
    packing,
    proxying,
    reading,
    replaying,
    retrieval,
    scaling,
    searching,
    sharing,
    startup,
    writers,
)
from tests.benchmarks.timing import Row
from tests.benchmarks.workspace import ROOT, Workspace

GROUPS: dict[str, Callable[[Workspace], Iterator[Row]]] = {
    "startup": startup.measure,
    "library": startup.measure_library,
    "append": appending.measure,
    "bulk": bulk.measure,
    "import": importing.measure,
    "check": checking.measure,
    "read": reading.measure,
    "list": listing.measure,
    "merge": merging.measure,
    "search": searching.measure,
    "retrieval": retrieval.measure,
    "context": contexts.measure,
    "why": explaining.measure,
    "rebase": replaying.measure,
    "scale": scaling.measure,
    "facts": fact_cycles.measure,
    "size": packing.measure,
    "writers": writers.measure,
    "acp": proxying.measure,
    "hooks": hooking.measure,
    "share": sharing.measure,
}
_TITLES = ("operation", "ours", "reference", "ratio", "budget", "met?")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, and return 0: a missed budget is a number to look at, not a failure."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description="Measure scopes against references."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(GROUPS)} (all of them)")
    parser.add_argument("--json", metavar="FILE", help="also write every sample, in seconds, megabytes or messages")
    parser.add_argument("--quick", action="store_true", help="small amounts, one repetition: only shows that it works")
    parser.add_argument("--megabytes", metavar="N", type=int, help="how much to import (400; 10 when quick)")
    parser.add_argument("--messages", metavar="N", type=int, default=0, help="also search so many drawn messages")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in GROUPS]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(GROUPS)}")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="scopes-benchmarks-") as directory:
        work = Workspace(directory, quick=options.quick, megabytes=options.megabytes, messages=options.messages)
        header = _header()
        print(*(f"{name}: {value}" for name, value in header.items()), sep="\n", end="\n\n", flush=True)
        rows = list(_measured(work, options.names or list(GROUPS)))
    print(
        f"\n{time.perf_counter() - begin:.0f} s in all",
        *(f"note: {note}" for note in dict.fromkeys(work.notes)),
        sep="\n",
    )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"header": header, "notes": work.notes, "rows": [_document(row) for row in rows]}, file, indent=1)
    return 0


def _measured(work: Workspace, names: Iterable[str]) -> Iterator[Row]:
    """Yield every row, and print it as soon as it is measured."""
    print(_line(_TITLES), flush=True)
    for name in names:
        for row in GROUPS[name](work):
            met = {None: "", True: "yes", False: "NO"}[row.met]
            budget = "" if row.budget is None else f"{'>=' if row.more_is_better else '<='} {row.budget}"
            reference = f"{_amount(row.reference.best, row.unit)}  {row.against}"
            print(
                _line((row.operation, _amount(row.ours.best, row.unit), reference, f"{row.ratio:.2f}", budget, met)),
                flush=True,
            )
            yield row


def _line(cells: Iterable[str]) -> str:
    operation, ours, reference, ratio, budget, met = cells
    return f"{operation:<52} {ours:>10}  {reference:<62} {ratio:>6}  {budget:>7}  {met}".rstrip()


def _amount(value: float, unit: str) -> str:
    if unit == "ms":
        return f"{1000 * value:8.1f} ms"
    return f"{value:8.2f} {unit}" if unit else f"{value:8.0f}"


def _document(row: Row) -> dict[str, object]:
    return {
        "operation": row.operation,
        "unit": "s" if row.unit == "ms" else row.unit,
        "against": row.against,
        "ours": {"best": row.ours.best, "median": row.ours.median, "all": row.ours.values},
        "reference": {"best": row.reference.best, "median": row.reference.median, "all": row.reference.values},
        "ratio": row.ratio if math.isfinite(row.ratio) else None,
        "budget": row.budget,
        "met": row.met,
    }


def _header() -> dict[str, str]:
    """Describe the machine and versions, on which the absolute numbers depend."""
    return {
        "scopes": f"{scopes.__version__} at {_output('git', '-C', str(ROOT), 'rev-parse', '--short', 'HEAD')}",
        "python": f"{platform.python_version()} ({sys.executable})",
        "libraries": f"pygit2 on libgit2 {pygit2.LIBGIT2_VERSION}, {_output('git', '--version')}",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "numbers": "the best of the repetitions; start-up, merging and sharing in processor time, all else in wall time",
    }


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(
            (line.partition(":")[2].strip() for line in file if line.startswith("model name")), platform.machine()
        )


if __name__ == "__main__":
    gc.set_threshold(100_000)  # as the command line does
    sys.exit(main())
