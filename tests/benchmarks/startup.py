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
_SCRIPT = """\
#!{python}
import sys
from scopes.cli.main import main
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(main())
"""
# Without an index `list --json` reads 19 objects of each conversation, its whole history among them, `list` 5.
_COMMANDS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("--version", ("--version",), 6),
    ("--help", ("--help",), 6),
    ("conv --help", ("conv", "--help"), 8),
    ("conv append --help", ("conv", "append", "--help"), 8),
    ("conv list of {amount}, piped" + _NO_INDEX, ("conv", "list"), 11),
    ("conv list of {amount}, --json" + _NO_INDEX, ("conv", "list", "--json"), 20),
    ("conv list of {amount}, piped", ("conv", "list"), 6),
    ("conv list of {amount}, --json", ("conv", "list", "--json"), 6.5),
    ("conv show", ("conv", "show", "conv-001"), 11),
    ("conv log -1", ("conv", "log", "conv-001", "-1"), 11),
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
    """Yield the script that pip installed, the one of a current pip if that is older, and our entry function alone."""
    script = os.path.join(os.path.dirname(sys.executable), "scopes")
    if os.path.exists(script):
        yield "scopes", [script]
        if _imports_re(script):
            work.notes.append(
                "an older pip wrote the script `scopes`, which imports re; `pip 26` is that of a current one"
            )
            yield "pip 26", [_write_script(work)]
    else:
        work.notes.append(f"no console script {script}: pip install -e . puts it there")
    yield "main()", python("from scopes.cli.main import main; main()")


def _imports_re(script: str) -> bool:
    with open(script, encoding="utf-8") as file:
        return "import re\n" in file


def _write_script(work: Workspace) -> str:
    """Write the script that pip 26 installs for our entry point."""
    path = work.path("scopes-pip-26")
    with open(path, "w", encoding="utf-8") as file:
        file.write(_SCRIPT.format(python=sys.executable))
    os.chmod(path, 0o755)
    return path


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
