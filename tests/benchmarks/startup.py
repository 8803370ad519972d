"""The processor time of start-up, compared with the bare interpreter."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from tests.benchmarks.timing import Row, by_turns, process_cpu, process_wall
from tests.benchmarks.workspace import Workspace, python

_NOTHING = "python -c pass"
_IMPORT = "python -c 'import pygit2'"
_NO_INDEX = ", no index"
_COMMANDS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("--version", ("--version",), 6),
    ("--help", ("--help",), 6),
    ("conv --help", ("conv", "--help"), 8),
    ("conv append --help", ("conv", "append", "--help"), 8),
    ("conv list of {amount}, piped" + _NO_INDEX, ("conv", "list"), 11),
    ("conv list of {amount}, --json" + _NO_INDEX, ("conv", "list", "--json"), 11),
    ("conv list of {amount}, piped", ("conv", "list"), 7),
    ("conv list of {amount}, --json", ("conv", "list", "--json"), 7),
    ('__complete -- conv ""', ("__complete", "--", "conv", ""), 1.5),
    ('__complete -- conv show "" of {amount}', ("__complete", "--", "conv", "show", ""), 1.5),
)


def measure(work: Workspace) -> Iterator[Row]:
    """Yield every start-up row for each installed entry point."""
    store = work.store_of(500, 3, 300)
    environment = work.using(store)
    without = {**environment, "XDG_CACHE_HOME": os.devnull}
    for name, begin in entries(work):
        for what, words, budget in _COMMANDS:
            command = [*begin, *words]
            inside = without if what.endswith(_NO_INDEX) else environment
            ours, nothing = by_turns(
                work.repetitions(15),
                lambda command=command, inside=inside: process_cpu(command, inside),
                lambda: process_cpu(python("pass"), environment),
            )
            operation = f"{name} {what.format(amount=work.amount(500))}"
            yield Row(operation=operation, ours=ours, reference=nothing, against=_NOTHING, budget=budget)
        yield from _append(work, name, begin, environment)


def _append(work: Workspace, name: str, begin: list[str], environment: dict[str, str]) -> Iterator[Row]:
    command = [*begin, "conv", "append", "conv-001", "--as", "planner", "A sentence as agents write them."]
    ours, library = by_turns(
        work.repetitions(15),
        lambda: process_cpu(command, environment),
        lambda: process_cpu(python("import pygit2"), environment),
    )
    yield Row(operation=f"{name} conv append", ours=ours, reference=library, against=_IMPORT, budget=1.5)
    ours, library = by_turns(
        work.repetitions(10),
        lambda: process_wall(command, environment),
        lambda: process_wall(python("import pygit2"), environment),
    )
    yield Row(operation=f"{name} conv append, wall, synced", ours=ours, reference=library, against=_IMPORT)


def entries(work: Workspace) -> Iterator[tuple[str, list[str]]]:
    """Yield the script that pip installed, and our entry function without it."""
    script = os.path.join(os.path.dirname(sys.executable), "scopes")
    if os.path.exists(script):
        yield "scopes", [script]
    else:
        work.notes.append(f"no console script {script}: pip install -e . puts it there")
    yield "main()", python("from scopes.cli.main import main; main()")


def measure_library(work: Workspace) -> Iterator[Row]:
    """Yield the time of imports: the libraries, our modules, and `re`, which the script of an older pip imports."""
    for code in (
        "import re",
        "import pygit2",
        "import typer",
        "import scopes.store.repository",
        "import scopes.conversation.list",
    ):
        ours, nothing = by_turns(
            work.repetitions(15),
            lambda code=code: process_cpu(python(code), work.environment),
            lambda: process_cpu(python("pass"), work.environment),
        )
        yield Row(operation=f"python -c '{code}'", ours=ours, reference=nothing, against=_NOTHING)
