"""Importing transcripts, each time in a new process: speed, memory, size, and reading the imported conversations."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tests.benchmarks.agentsview import FIND, find_program
from tests.benchmarks.reading import read_log, read_show, row_against_git
from tests.benchmarks.spreading import Spread
from tests.benchmarks.stores import size_bytes
from tests.benchmarks.timing import Row, Samples, by_turns, process_cpu, process_wall, run, wall
from tests.benchmarks.transcripts import Material, make_material, real_size
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_MEGABYTE = 1_000_000
_FAST_IMPORT = "git fast-import"
_MEMORY_LIMIT = 300.0  # megabytes, of all processes together
_SEARCH_LIMIT = 0.3  # seconds
_WORKERS = 4
# A process begins with the memory of the one that started it, as far as its peak counts; this one is small. Pages that
# processes share count once in the sum of all (PSS), which is taken now and then.
_MEASURED = """
import os, sys, time
def processes(pid):
    yield pid
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            for child in file.read().split():
                yield from processes(int(child))
def kilobytes(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
begin = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, 1, 0)])
together = looks = 0
while not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
    looks += 1
    if looks % 20 == 0:
        try:
            together = max(together, sum(map(kilobytes, processes(process))))
        except OSError:  # one of them has just ended, or the system does not tell
            pass
    time.sleep(0.01)
seconds = time.perf_counter() - begin
_, status, usage = os.wait4(process, 0)
print(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, together)
sys.exit(os.waitstatus_to_exitcode(status))
"""
_ON_CORES = """
import os, sys
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(sys.argv[1])])
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class Imported:
    """A store with imported transcripts.

    memory: the peak of the largest process, in megabytes; `together` is that of all processes
    """

    store: str
    seconds: float
    cpu_seconds: float
    memory: float
    together: float


def measure(work: Workspace) -> Iterator[Row]:
    """Yield speed, repetition, memory, size, and the reading of the longest session."""
    material = make_material(work.path("transcripts"), work.megabytes * _MEGABYTE)
    if not material.real:
        work.notes.append("import: there are no real transcripts here, these are drawn")
    whole = _import(work, [material.folder])
    yield from _speed(work, material, whole)
    yield from _first_search(work, material)
    yield from _against_agentsview(work, material)
    yield from _scaling(work, material)
    yield from _memory(work, material, whole)
    yield from _size(work)
    yield from _maintenance(work, whole)
    yield from _reading(work, whole.store)


def _import(work: Workspace, paths: Sequence[str], store: str | None = None, *, cores: int | None = None) -> Imported:
    """Import into a new or an existing store, with all processors or only some."""
    store = store or work.new_path("imported")
    work.sync()
    command = [sys.executable, "-m", "scopes", f"--store={store}", "conv", "import", *paths]
    if cores is not None:
        command = [sys.executable, "-S", "-c", _ON_CORES, str(cores), *command]
    return Imported(store, *_measure(command, work.environment))


def _measure(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float, float, float]:
    """Run a command; return its seconds, its processor seconds, and the memory of its largest and of all processes."""
    seconds, cpu, largest, together = run([sys.executable, "-S", "-c", _MEASURED, *command], environment).split()
    return float(seconds), float(cpu), int(largest) / 1024, max(int(largest), int(together)) / 1024


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


def _first_search(work: Workspace, material: Material) -> Iterator[Row]:
    """Yield the first search after an import, a process of its own."""
    seconds = []
    for _ in range(work.repetitions(2)):
        store = _import(work, [material.folder]).store
        command = [sys.executable, "-m", "scopes", f"--store={store}", "conv", "search", "see"]
        seconds.append(_measure(command, work.environment)[0])
    yield Row(
        operation="first search after the import",
        ours=Samples(tuple(seconds)),
        reference=Samples((_SEARCH_LIMIT,)),
        against="the limit",
        budget=1.0,
    )


def _against_agentsview(work: Workspace, material: Material) -> Iterator[Row]:
    """Yield the import compared with agentsview, which does not keep the originals; both by turns."""
    program = find_program()
    if program is None:
        work.notes.append(f"import against agentsview: not installed ({FIND} names the program)")
        return
    ours, reference, ours_again, reference_again = [], [], [], []
    for _ in range(work.repetitions(2)):
        environment = work.environment | {
            "AGENTSVIEW_DATA_DIR": work.new_path("agentsview"),
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "false",
            "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
            "CLAUDE_PROJECTS_DIR": os.path.join(material.folder, "claude-code"),
            "CODEX_SESSIONS_DIR": os.path.join(material.folder, "codex"),
        }
        command = [*_without_network(), shutil.which(program) or program, "sync"]
        command[0] = shutil.which(command[0]) or command[0]  # `posix_spawn` does not search
        ours.append(_import(work, [material.folder]))
        work.sync()
        reference.append(_measure(command, environment))
        ours_again.append(_import(work, [material.folder], ours[-1].store))
        reference_again.append(_measure(command, environment))
    size = f"{material.size / _MEGABYTE:.0f} MB"
    against = "agentsview sync of the same folder"
    first, again = Samples(tuple(one.seconds for one in ours)), Samples(tuple(one.seconds for one in ours_again))
    times, cpu, _, memory = (Samples(values) for values in zip(*reference, strict=True))
    yield Row(operation=f"import of {size}", ours=first, reference=times, against=against, budget=1.0)
    used = Samples(tuple(one.cpu_seconds for one in ours))
    yield Row(operation="  in processor time", ours=used, reference=cpu, against=against)
    together = Samples(tuple(one.together for one in ours))
    yield Row(operation="  memory of all processes", ours=together, reference=memory, against=against, unit="MB")
    later = Samples(tuple(one[0] for one in reference_again))
    yield Row(operation="  once more, nothing is new", ours=again, reference=later, against=against)


def _without_network() -> list[str]:
    """Return the command prefix that runs a process without network, if the system has one."""
    words = ["unshare", "--map-root-user", "--net"]
    found = (
        shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    )
    return words if found else []


def _scaling(work: Workspace, material: Material) -> Iterator[Row]:
    """Yield how much of a linear gain the processors of this machine give, and what four would.

    The gain of two is measured. That of four is the time of one process, without workers, divided by four times the
    seconds that `Spread` finds for an import with four workers.
    """
    count = min(4, len(os.sched_getaffinity(0)))
    if count == 1:
        work.notes.append("import on several processors: this machine has one")
        return
    pairs = [
        (_import(work, [material.folder], cores=1), _import(work, [material.folder], cores=count)) for _ in range(2)
    ]
    one, several = (min(imported.seconds for imported in side) for side in zip(*pairs, strict=True))
    four = ["-c", f"scopes.importWorkers={_WORKERS}", "conv", "import", material.folder]
    spreads = []
    for _ in range(work.repetitions(2)):
        store = work.new_path("imported")
        work.sync()
        spreads.append(Spread.measure([sys.executable, "-m", "scopes", f"--store={store}", *four], work.environment))
    best = min(spreads, key=lambda spread: spread.seconds_on(_WORKERS))
    alone = min(imported.cpu_seconds for imported, _ in pairs)
    later = f"by who is ready to run, {best.serial:.2f} s on one processor"
    for cores, what, gain in (
        (count, "measured", one / several),
        (_WORKERS, later, alone / best.seconds_on(_WORKERS)),
    ):
        yield Row(
            operation=f"import on {cores} processors, {what}",
            ours=Samples((gain / cores,)),
            reference=Samples((1.0,)),
            against="the linear gain over one",
            budget=0.8,
            unit="x",
            more_is_better=True,
        )


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
    yield Row(
        operation="  of all processes together",
        ours=Samples((whole.together,)),
        reference=Samples((_MEMORY_LIMIT,)),
        against="the limit",
        budget=1.0,
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
