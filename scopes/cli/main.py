"""The entry point: turn an argument list into an exit code.

What only some commands need is loaded by name, to keep start-up short.
"""

from __future__ import annotations

import gc
import os
import sys

from scopes.cli.command_line import expand_words
from scopes.cli.table import HELP, TABLE, VERSION
from scopes.loading import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scopes.cli.invocation import Invocation
    from scopes.cli.table import Table


def main(argv: list[str] | None = None, table: Table | None = None) -> int:
    """Run one command and return its exit code; no exception leaves this function.

    Without `argv`, the words come from `sys.argv` and the process ends here.
    """
    if argv is None:
        _use_utf8()
    # Imports create many objects and no garbage, so collect rarely.
    gc.set_threshold(100_000)
    arguments = sys.argv[1:] if argv is None else argv
    table = table or TABLE
    if arguments[:1] == ["__complete"]:
        from scopes.cli.completion import answer

        answer(table, arguments[1:], os.environ)
    _open_missing_streams()
    if arguments[:1] == ["check"] and any(word.startswith("--hook") for word in arguments):
        from scopes.cli.check_hook import parse_words

        values = parse_words(arguments)
        if values is not None:
            return _end(_run_hook(values), argv)
    if arguments[:2] == ["hooks", "run"] and len(arguments) > 2 and not arguments[2].startswith("-"):
        return _end(_record_turn(arguments[2:]), argv)
    from scopes.cli.invocation import Invocation

    invocation = Invocation(arguments, os.environ)
    if invocation.debug:
        from scopes.cli.errors import run_with_timing

        return _end(run_with_timing(lambda: _run_command(table, invocation)), argv)
    return _end(_run_command(table, invocation), argv)


def _run_command(table: Table, invocation: Invocation) -> int:
    """Run the command and return its exit code; every exception becomes an error line."""

    def run() -> int:
        code = dispatch(table, invocation)
        invocation.stdout.flush()
        return code

    return _run(run, lambda error: _report(invocation, error))


def _run_hook(values: dict[str, Any]) -> int:
    """Answer the hook of an agent; every exception becomes an answer."""
    from scopes.cli.check_hook import answer_failure, run_hook, split_rules

    return _run(
        lambda: int(run_hook(os.environ, values["agent"], *split_rules(values.get("rules")), values.get("preset"))),
        lambda error: int(answer_failure(os.environ, values["agent"], error)),
    )


def _record_turn(words: list[str]) -> int:
    """Start the process that records the turn of an agent; no exception reaches the agent."""
    from scopes.cli.hook_runner import log_failure, run_hook

    return _run(
        lambda: int(run_hook(words, os.environ, _run)),
        lambda error: int(log_failure(words, os.environ, error)),
    )


def _run(action: Callable[[], int], report: Callable[[BaseException], int]) -> int:
    """Return the exit code of an action, or that of the report of its exception."""
    try:
        code = action()
    except KeyboardInterrupt as interrupt:
        code = report(interrupt)
    except Exception as error:  # noqa: BLE001  the only one: every failure becomes an error line and an exit code
        code = report(error)
    return code


def _end(code: int, argv: list[str] | None) -> int:
    if argv is None:
        # Everything is flushed; the interpreter's shutdown would take as long as its start.
        os._exit(code)
    return code


def _use_utf8() -> None:
    """Start again in Python's UTF-8 mode if the locale has another encoding: arguments, paths and texts are UTF-8."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1" and sys.executable:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606 - this same program


def dispatch(table: Table, invocation: Invocation) -> int:
    """Print help or run the `quick` function of a command if possible; otherwise build its parser and run that."""
    invocation.refuse_broken_text()
    invocation.arguments, line = expand_words(table, invocation.arguments)
    command = line.command
    if line.unknown is not None:
        from scopes.cli.suggestion import unknown_word

        raise unknown_word(table, line)
    if line.has(VERSION.names):
        return print_version(invocation)
    if command is None or line.has(HELP.names):
        from scopes.cli.help import answer_without_command, explain

        return int(
            answer_without_command(table, line, invocation)
            if command is None
            else explain(table, [*command.path], invocation)
        )
    if line.has(("--json=",)):
        from scopes.cli.schemas import print_fields

        return int(print_fields(command.path, invocation))
    has_no_options = not any(word.startswith("-") for word in (*line.leading, *line.rest))
    if command.quick is not None and has_no_options:
        return int(load(command.quick)(table, line.rest, invocation))
    from scopes.cli.parser import run

    return int(run(line, invocation))


def print_version(invocation: Invocation) -> int:
    """Print the program name and version, or one JSON document; 0 is the exit code."""
    from scopes import __version__

    document = f'{{"scopes":1,"kind":"version","version":"{__version__}"}}'
    invocation.stdout.write((document if invocation.json else f"scopes {__version__}") + "\n")
    return 0


def _report(invocation: Invocation, error: BaseException) -> int:
    from scopes.cli.errors import report

    return int(report(invocation, error))


def _open_missing_streams() -> None:
    """Open /dev/null for each closed standard stream; otherwise a file of the store would get its descriptor."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while os.open(os.devnull, os.O_RDWR) < 2:
            pass
        sys.stdin = sys.stdin or os.fdopen(0)
        sys.stdout = sys.stdout or os.fdopen(1, "w")
        sys.stderr = sys.stderr or os.fdopen(2, "w")
