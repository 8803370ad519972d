"""Import a folder of transcripts and print what each file became, as a Markdown table.

python -m tests.importers.transcript_table FOLDER [--speed]

After the table it says what a second import creates, and whether another time zone, locale and hash seed give the same
objects. `--speed` adds the megabytes of each format per second of processor time, beside those of agentsview, if it is
installed (SCOPES_TEST_AGENTSVIEW names the program).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from scopes.history.sources import SOURCES, TRACKING
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.found_transcripts import walk_source_paths
from scopes.importers.import_sources import import_sources
from scopes.importers.results import Imported
from scopes.store.refs import HEADS
from scopes.store.repository import Repository
from tests.importers.format_speed import speed_rows
from tests.importers.stores import count_objects
from tests.support.store import make_store

ELSEWHERE = {"TZ": "Pacific/Apia", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "4711"}
_SAME_EVERYWHERE = (HEADS, TRACKING, SOURCES)
_CHILD = """
import sys
from tests.importers.transcript_table import import_folder, refs_of
from tests.support.store import make_store
store = make_store(sys.argv[1])
import_folder(store, sys.argv[2])
print(refs_of(store))
"""
_COLUMNS = "| file | format | records | messages | branches | unparsed | bytes | accounted for |"


def import_folder(store: Repository, folder: str) -> Imported:
    """Import all transcripts below a folder."""
    return import_sources(store, find_sources(folder), FORMATS)


def refs_of(store: Repository) -> str:
    """Return the refs that are equal on every machine, one a line."""
    return "".join(f"{ref} {oid}\n" for ref, oid in sorted(store.list_refs(*_SAME_EVERYWHERE).items()))


def table_rows(store: Repository, done: Imported, folder: str) -> Iterator[str]:
    """Yield a row for each source, and one for each file that was skipped."""
    branches: dict[str, int] = {}
    names = [ref.removeprefix(TRACKING).partition("/")[0] for ref in store.list_refs(TRACKING)]
    for key, path in walk_source_paths(store):
        branches[path] = names.count(key)
    yield _COLUMNS
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for source in sorted(done.sources, key=lambda each: each.path):
        counts = source.records, source.messages, branches.get(source.path, 0), source.unparsed, source.size
        cells = [_short(source.path, folder), source.format, *(f"{count:,}" for count in counts)]
        yield f"| {' | '.join([*cells, f'{source.accounted_bytes:,}'])} |"
    for found in sorted(done.skipped, key=lambda each: each.path):
        account = found.became
        size = ("", "") if account is None else (f"{account.size:,}", f"{account.accounted_bytes:,}")
        reason = _short(found.reason, folder)
        yield f"| {' | '.join([_short(found.path, folder), f'skipped: {reason}', '', '', '', '', *size])} |"


def summary_rows(store: Repository, done: Imported, folder: str) -> Iterator[str]:
    """Yield what all sources are together, and what a second import and one on another machine create."""
    missing = sum(source.size - source.accounted_bytes for source in done.sources)
    size = sum(source.size for source in done.sources)
    messages = sum(source.messages for source in done.sources)
    yield f"{len(done.sources)} sources, {size:,} bytes, {messages:,} messages, {len(done.conversations)} conversations"
    yield f"bytes that are not accounted for: {missing}"
    before, refs = count_objects(store), refs_of(store)
    again = import_folder(store, folder)
    new = count_objects(store) - before
    yield f"second import: {new} new objects, operation {again.operation}, refs equal: {refs_of(store) == refs}"
    yield f"with {', '.join(ELSEWHERE.values())}: refs equal: {refs_elsewhere(folder) == refs}"


def refs_elsewhere(folder: str, environment: Mapping[str, str] = ELSEWHERE) -> str:
    """Import a folder in another process with another time zone, locale and hash seed, and return its refs."""
    with tempfile.TemporaryDirectory() as top:
        command = [sys.executable, "-c", _CHILD, os.path.join(top, "store.git"), folder]
        root = Path(__file__).parent.parent.parent
        environ = {**os.environ, "PYTHONPATH": str(root), "HOME": top, **environment}
        done = subprocess.run(command, cwd=root, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.removesuffix("\n")


def shorten_runs(rows: Iterator[str]) -> Iterator[str]:
    """Replace many rows of the parts of one file by the first of them and their number."""
    names: dict[str, int] = {}
    for row in rows:
        name = row.partition("#")[0]
        names[name] = names.get(name, 0) + ("#" in row)
        if names[name] <= 3:
            yield row
    for name, count in names.items():
        if count > 3:
            yield f"{name}# has {count - 3} more parts |"


def _short(text: str, folder: str) -> str:
    return text.replace(os.path.join(os.path.abspath(folder), ""), "").replace("|", "\\|")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as top:
        store = make_store(os.path.join(top, "store.git"))
        done = import_folder(store, options.folder)
        print(*shorten_runs(table_rows(store, done, options.folder)), sep="\n")
        print("", *summary_rows(store, done, options.folder), sep="\n- ")
    if options.speed:
        print("", *speed_rows(options.folder), sep="\n")


if __name__ == "__main__":
    main()
