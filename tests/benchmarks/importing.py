"""Importing transcripts, each time in a new process: speed, memory, size, and reading the imported conversations."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tests.benchmarks.reading import read_log, read_show, row_against_git
from tests.benchmarks.stores import size_bytes
from tests.benchmarks.timing import Row, Samples, by_turns, process_cpu, process_wall, run, wall
from tests.benchmarks.transcripts import Material, make_material, real_size
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_MEGABYTE = 1_000_000
_FAST_IMPORT = "git fast-import"
# A process begins with the memory of the one that started it, as far as its peak counts; this one is small.
_MEASURED = """
import os, sys, time
begin = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, 1, 0)])
_, status, usage = os.wait4(process, 0)
print(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Imported:
    """A store with imported transcripts; memory is the peak of the process in megabytes."""

    store: str
    seconds: float
    cpu_seconds: float
    memory: float


def measure(work: Workspace) -> Iterator[Row]:
    """Yield speed, repetition, memory, size, and the reading of the longest session."""
    material = make_material(work.path("transcripts"), work.megabytes * _MEGABYTE)
    if not material.real:
        work.notes.append("import: there are no real transcripts here, these are drawn")
    whole = _import(work, [material.folder])
    yield from _speed(work, material, whole)
    yield from _against_agentsview(work, material, whole)
    yield from _memory(work, material, whole)
    yield from _size(work)
    yield from _maintenance(work, whole)
    yield from _reading(work, whole.store)


def _import(work: Workspace, paths: Sequence[str], store: str | None = None) -> Imported:
    """Import into a new or an existing store."""
    store = store or work.new_path("imported")
    work.sync()
    command = [sys.executable, "-m", "scopes", f"--store={store}", "conv", "import", *paths]
    seconds, cpu, kilobytes = run([sys.executable, "-S", "-c", _MEASURED, *command], work.environment).split()
    return Imported(store, float(seconds), float(cpu), int(kilobytes) / 1024)


def _speed(work: Workspace, material: Material, first: Imported) -> Iterator[Row]:
    """Yield the import compared with `git fast-import` of the same objects, which reads no transcript."""
    repetitions = work.repetitions(2)
    messages = int(_git(work, first.store, "rev-list", "--branches", "--min-parents=1", "--count")[0])
    stream = work.path("imported.stream")
    with open(stream, "wb") as file:
        subprocess.run(work.git(first.store, "fast-export", "--all"), env=work.environment, stdout=file, check=True)
    runs = [first, *(_import(work, [material.folder]) for _ in range(repetitions - 1))]
    ours = Samples(tuple(one.seconds for one in runs))
    times = [_fast_import(work, stream, first.store) for _ in range(repetitions)]
    reference = Samples(tuple(seconds for seconds, _ in times))
    megabytes = material.size / _MEGABYTE
    yield Row(
        operation=f"import of {megabytes:.0f} MB, {messages:,} messages",
        ours=ours,
        reference=reference,
        against=f"{_FAST_IMPORT} of the same objects",
        budget=0.5,
    )
    yield Row(
        operation="  in processor time",
        ours=Samples(tuple(one.cpu_seconds for one in runs)),
        reference=Samples(tuple(cpu for _, cpu in times)),
        against=_FAST_IMPORT,
    )
    for what, amount, unit in (("messages", messages, ""), ("megabytes of transcripts", megabytes, "MB")):
        yield Row(
            operation=f"  {what} a second",
            ours=_rate(amount, ours),
            reference=_rate(amount, reference),
            against=_FAST_IMPORT,
            unit=unit,
            more_is_better=True,
        )
    twice = _import(work, [material.folder], first.store)
    yield Row(
        operation="  once more, nothing is new",
        ours=Samples((twice.seconds,)),
        reference=ours,
        against="the first time",
    )


def _fast_import(work: Workspace, stream: str, store: str) -> tuple[float, float]:
    """Return the seconds and the processor seconds that git takes."""
    path = work.new_path("fast-import")
    run(["git", "init", "--quiet", "--bare", path], work.environment)
    work.sync()
    cpu = 0.0

    def write() -> None:
        nonlocal cpu
        cpu = process_cpu(work.git(path, "fast-import", "--quiet"), work.environment, stream)

    seconds = wall(write)
    heads = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")
    if _git(work, path, *heads) != _git(work, store, *heads):
        raise RuntimeError("fast-import made other objects")
    shutil.rmtree(path)
    return seconds, cpu


def _against_agentsview(work: Workspace, material: Material, first: Imported) -> Iterator[Row]:
    """Yield the import compared with agentsview, which does not keep the originals."""
    program = os.environ.get("SCOPES_TEST_AGENTSVIEW") or shutil.which("agentsview")
    if program is None:
        work.notes.append("import against agentsview: not installed (SCOPES_TEST_AGENTSVIEW names the program)")
        return
    environment = work.environment | {
        "AGENTSVIEW_DATA_DIR": work.new_path("agentsview"),
        "AGENTSVIEW_NO_DAEMON": "1",
        "AGENTSVIEW_TELEMETRY_ENABLED": "false",
        "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
        "CLAUDE_PROJECTS_DIR": os.path.join(material.folder, "claude-code"),
        "CODEX_SESSIONS_DIR": os.path.join(material.folder, "codex"),
    }
    seconds = process_wall([*_without_network(), program, "sync"], environment)
    yield Row(
        operation=f"import of {material.size / _MEGABYTE:.0f} MB",
        ours=Samples((first.seconds,)),
        reference=Samples((seconds,)),
        against="agentsview sync of the same folder",
    )


def _without_network() -> list[str]:
    """Return the command prefix that runs a process without network, if the system has one."""
    words = ["unshare", "--map-root-user", "--net"]
    found = (
        shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    )
    return words if found else []


def _memory(work: Workspace, material: Material, whole: Imported) -> Iterator[Row]:
    """Yield the peak memory of half and of all transcripts, compared with a quarter."""
    quarter = _import(work, material.first(material.size // 4))
    half = _import(work, material.first(material.size // 2))
    for what, imported in (("half of it", half), ("all of it", whole)):
        yield Row(
            operation=f"peak memory of importing {what}",
            ours=Samples((imported.memory,)),
            reference=Samples((quarter.memory,)),
            against="a quarter of it",
            budget=1.5,
            unit="MB",
        )


def _size(work: Workspace) -> Iterator[Row]:
    """Yield the size of the store with each transcript once; similar copies would compress too well."""
    material = make_material(
        work.path("transcripts-once"), min(real_size() or 20 * _MEGABYTE, work.megabytes * _MEGABYTE)
    )
    store = _import(work, [material.folder]).store
    fresh = size_bytes(os.path.join(store, "objects"))
    run([sys.executable, "-m", "scopes", f"--store={store}", "gc"], work.environment)
    names = "".join(line.split(" ")[0] + "\n" for line in _git(work, store, "rev-list", "--objects", "--branches"))
    listing = subprocess.run(
        work.git(store, "cat-file", "--batch-check=%(objectsize:disk)"),
        env=work.environment, input=names, text=True, capture_output=True, check=True,
    ).stdout  # fmt: skip
    text = f"{material.size / _MEGABYTE:.1f} MB of transcripts"
    messages = sum(map(int, listing.split()))
    packed = size_bytes(os.path.join(store, "objects"))
    for what, size, budget in (
        ("all objects as imported", fresh, None),
        ("all objects after gc", packed, 1.3),
        ("of them the messages", messages, 0.8),
    ):
        yield Row(
            operation=what,
            ours=Samples((size / _MEGABYTE,)),
            reference=Samples((material.size / _MEGABYTE,)),
            against=text,
            budget=budget,
            unit="MB",
        )


def _maintenance(work: Workspace, whole: Imported) -> Iterator[Row]:
    for what in ("gc after the import", "gc once more"):
        seconds = process_wall([sys.executable, "-m", "scopes", f"--store={whole.store}", "gc"], work.environment)
        yield Row(operation=what, ours=Samples((seconds,)), reference=Samples((whole.seconds,)), against="the import")


def _reading(work: Workspace, store: str) -> Iterator[Row]:
    """Yield `show` and `log` of the longest session."""
    counts = {name: read_show(store, name) for name in _conversations(store)}
    longest = max(counts, key=lambda name: counts[name])
    branch = f"refs/heads/{longest}/main"
    blobs, commits = ["log", "--format=%H:message.json", branch], ["rev-list", branch]
    amount = f"{counts[longest]:,}, imported"
    yield row_against_git(work, f"show of {amount}", lambda: read_show(store, longest), store, commits)
    for bodies, names in ((True, blobs), (False, commits)):
        what = "with bodies" if bodies else "without"
        whole = partial(read_log, store, longest, bodies=bodies)
        page = partial(read_log, store, longest, limit=50, bodies=bodies)
        yield row_against_git(work, f"log of {amount}, {what}", whole, store, names)
        ours, reference = by_turns(work.repetitions(5), partial(wall, page), partial(wall, whole))
        yield Row(operation=f"  its first page of 50, {what}", ours=ours, reference=reference, against="all of it")


def _conversations(store: str) -> list[str]:
    refs = open_store(store, FULL).list_refs("refs/heads/")
    return sorted({ref.removeprefix("refs/heads/").partition("/")[0] for ref in refs})


def _git(work: Workspace, store: str, *words: str) -> list[str]:
    return run(work.git(store, *words), work.environment).decode(errors="replace").splitlines()


def _rate(amount: float, seconds: Samples) -> Samples:
    return Samples((amount / seconds.best,))
