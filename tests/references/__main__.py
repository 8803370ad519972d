"""Compare the program with references: `python -m tests.references check|write [NAME ...]`.

A reference is what the program answered when it was written. A changed one is a decision, which the commit names.
SCOPES_TEST_CORPUS names a home with real sessions, SCOPES_TEST_CORPUS_PROJECTS the git directories of their projects;
what needs them or the samples is skipped without them. Exit code 0: all are the same, 1: some differ, 2: usage.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.references.makers import MAKERS
from tests.references.program import load_everything

DATA = Path(__file__).parent / "data"
SHOWN = 20


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yield a line for each value that differs."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from differences(before.get(key), now.get(key), f"{place}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, two) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, two, f"{place}[{number}]")
    elif before != now:
        yield f"{place}: {json.dumps(before)[:200]} -> {json.dumps(now)[:200]}"


def check(name: str) -> list[str] | None:
    """Return what differs from a reference; None if its material is not here."""
    now = MAKERS[name]()
    if now is None:
        return None
    return list(differences(json.loads((DATA / f"{name}.json").read_text()), json.loads(json.dumps(now))))


def write(name: str) -> None:
    """Keep what the program answers now."""
    now = MAKERS[name]()
    if now is None:
        print(f"{name}: skipped, its material is not here")
        return
    lines = [f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in sorted(now.items())]
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{name}: written")


def main(words: list[str]) -> int:
    """Run the command and return the exit code."""
    verb, names = (words[0], words[1:] or list(MAKERS)) if words else ("", [])
    if verb not in ("check", "write") or not {*names} <= {*MAKERS}:
        print(f"{__doc__}\nnames: {' '.join(MAKERS)}", file=sys.stderr)
        return 2
    load_everything()
    code = 0
    for name in names:
        if verb == "write":
            write(name)
            continue
        found = check(name)
        if found is None:
            print(f"{name}: skipped, its material is not here")
        elif not found:
            print(f"{name}: the same")
        else:
            code = 1
            print(f"{name}: {len(found)} differ\n  " + "\n  ".join(found[:SHOWN]))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
