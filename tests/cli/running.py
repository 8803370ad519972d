"""Run scopes in a new process, with the sample table or the product's."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.fork_server import run_program

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = "tests.cli.sample:TABLE"
PRODUCT = "scopes.cli.table:TABLE"
FORKED_KEYWORDS = {"stdin", "stdout", "stderr", "input", "text", "timeout", "cwd"}
PROGRAM = "import sys; from scopes.cli.main import main; from scopes.loading import load; sys.exit(main(sys.argv[2:], load(sys.argv[1])))"


def command_line(*words, table=SAMPLE, options=(), program=PROGRAM):
    """Return the argument list that runs scopes with these words."""
    return [sys.executable, *options, "-c", program, table, *words]


def environment(**extra):
    """Return the environment of this process, with this checkout on the Python path."""
    path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, **extra}


def scopes(*words, table=SAMPLE, options=(), program=PROGRAM, env=None, **keywords):
    """Run scopes in a process of its own and return the finished process, its output as text.

    The process is forked (`tests.support.fork_server`) unless options of the interpreter or keywords of `subprocess.run` are given
    that need a new one.
    """
    keywords = {"stdin": subprocess.DEVNULL, "text": True, "timeout": 60, **keywords}
    if keywords.pop("capture_output", True):
        keywords = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords}
    if options or not keywords.keys() <= FORKED_KEYWORDS:
        line = command_line(*words, table=table, options=options, program=program)
        return subprocess.run(line, check=False, env=environment(**(env or {})), **keywords)
    return run_program(program, [table, *words], environment(**(env or {})), **keywords)


def imported(*words, table=PRODUCT, env=None):
    """Return the names of all modules that a run imports, even if it ends with `os._exit`."""
    done = scopes(*words, table=table, options=("-X", "importtime"), env=env)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}
