"""Read mutated files of every format, guided by what they reach: no error but CannotImport, no hang, bounded memory.

    python -m tests.importers.fuzz [--seconds N] [--keep DIRECTORY] [FORMAT...]

Needs atheris (pip install atheris), which has wheels for some versions of Python. Each format runs in a process of its
own, and begins with its samples of `format_samples`. What fails is left in the directory; give it to the program again:

    python -m tests.importers.fuzz --again FILE FORMAT
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.importers.damage import replace_value, walk_paths

MAX_BYTES = 32_768
SECONDS_OF_ONE_FILE = 20
MEGABYTES = 1_500
ODD = (
    None, True, False, 0, -1, 2**63, 2**70, 1e308, float("nan"), "", "x", "\ud800", "\x00", "a\u2028b", "../../x", "main",
    "é" * 300, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59", "2026-03-01T10:00:00Z", [], {}, [[]], [{}], {"": {}},
)  # fmt: skip
RUNS = re.compile(r"Done (\d+) runs|#(\d+)\s")


def mutate_document(data: bytes, rng: random.Random) -> bytes:
    """Return JSON, or lines of JSON, with some values replaced, records moved, doubled or left out; else the same bytes."""
    try:
        records, is_lines = [json.loads(data)], False
    except (ValueError, RecursionError):
        try:
            records, is_lines = [json.loads(line) for line in data.splitlines() if line.strip()], True
        except (ValueError, RecursionError):
            return data
    for _ in range(rng.randint(1, 4)):
        change_one(records, rng, may_move=is_lines)
    written = [json.dumps(record).encode() for record in records]
    return b"".join(line + b"\n" for line in written) if is_lines else b"".join(written)


def change_one(records: list[object], rng: random.Random, *, may_move: bool) -> None:
    """Change one value of the records, or the place of one of them."""
    if not records:
        return
    at = rng.randrange(len(records))
    if may_move and rng.random() < 0.3:
        moved = records[at] if rng.random() < 0.5 else records.pop(at)
        if rng.random() < 0.7:
            records.insert(rng.randint(0, len(records)), moved)
        return
    paths = list(walk_paths(records[at]))
    path = rng.choice(paths)
    others = [walk_to(records[at], rng.choice(paths)), walk_to(rng.choice(records), ()), *rng.sample(ODD, 4)]
    records[at] = replace_value(records[at], path, rng.choice(others))


def walk_to(value: object, path: tuple[object, ...]) -> object:
    """Return the value at a path of a document."""
    for step in path:
        value = value[step]
    return value


def fuzz_one(name: str, folder: str, seconds: int) -> None:
    """Read mutated files of one format until the time is over; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["scopes.importers.formats"]):
        from scopes.importers.formats.registry import FORMATS
    read = reader_of(name, FORMATS)

    def mutate(data, max_size, seed):
        rng = random.Random(seed)
        changed = mutate_document(data, rng) if rng.random() < 0.5 else data
        return (changed if changed != data else atheris.Mutate(data, len(data) or 1))[:max_size]

    options = [
        f"-max_total_time={seconds}", f"-timeout={SECONDS_OF_ONE_FILE}", f"-rss_limit_mb={MEGABYTES}",
        f"-max_len={MAX_BYTES}", f"-artifact_prefix={folder}/{name}-", "-print_final_stats=1", "-len_control=0",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, f"{folder}/{name}"], read, custom_mutator=mutate)
    atheris.Fuzz()


def reader_of(name, formats):
    """Return a function that reads bytes as the format, with the checks that hold for every source."""
    from scopes.errors import CannotImport
    from tests.importers.reading import bytes_source, check

    form = next(each for each in formats if each.name == name)

    def read(data: bytes) -> None:
        if form.sniff(data):
            with suppress(CannotImport):
                check(list(form.walk_events(bytes_source(data))), len(data))

    return read


def write_samples(folder: Path) -> list[str]:
    """Write the samples of every format into a folder of its own; return the names of the formats."""
    from tests.importers.format_samples import SAMPLES

    names: dict[str, None] = {}
    for number, (name, moments) in enumerate(SAMPLES.values()):
        names[name] = None
        (folder / name).mkdir(exist_ok=True)
        for moment, data in enumerate(moments):
            (folder / name / f"{number}-{moment}").write_bytes(data)
    return list(names)


def run_all(folder: Path, chosen: list[str], seconds: int) -> int:
    """Run the formats one after another; return the number of those that failed."""
    failed = 0
    names = write_samples(folder)
    for name in chosen or names:
        command = [sys.executable, "-m", __spec__.name, "--one", name, "--seconds", str(seconds), "--keep", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        runs = max((int(a or b) for a, b in RUNS.findall(done.stderr)), default=0)
        left = sorted(path.name for path in folder.glob(f"{name}-*"))
        print(f"{name}: {runs:,} files, {'nothing failed' if not done.returncode else ' '.join(left)}", flush=True)
        if done.returncode:
            failed += 1
            print("\n".join(done.stdout.splitlines()[-12:] + done.stderr.splitlines()[-12:]), flush=True)
    return failed


def main() -> int:
    """Run all formats, one of them, or one file again."""
    parser = argparse.ArgumentParser(prog="python -m tests.importers.fuzz")
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="only these (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="for each format (default: 60)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="where the files that fail are left (default: a new one)")
    parser.add_argument("--again", metavar="FILE", help="read this file as the format, and show the error")
    parser.add_argument("--one", metavar="FORMAT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.again is not None:
        from scopes.importers.formats.registry import FORMATS

        reader_of(options.formats[0], FORMATS)(Path(options.again).read_bytes())
        return 0
    if importlib.util.find_spec("atheris") is None:
        parser.error("it needs atheris: pip install atheris, in an environment of its own")
    folder = Path(options.keep or tempfile.mkdtemp(prefix="scopes-fuzz-"))
    folder.mkdir(exist_ok=True)
    if options.one is not None:
        fuzz_one(options.one, str(folder), options.seconds)
    return run_all(folder, options.formats, options.seconds)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
