"""The way in: from an argument list to an exit code. All else is loaded by name once it is known to be needed."""

from __future__ import annotations

import gc
import os
import sys

from scopes.loading import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.cli.command_line import CommandLine
    from scopes.cli.invocation import Invocation
    from scopes.cli.table import Table


def main(argv: list[str] | None = None, table: Table | None = None) -> int:
    """Run one command and return its exit code; nothing but an exit code ever leaves it.

    Without `argv` the process is ours, and ends here.
    """
    # Importing makes many objects and no garbage.
    gc.set_threshold(50_000)
    arguments = sys.argv[1:] if argv is None else argv
    table = table or load("scopes.cli.table:TABLE")
    if arguments[:1] == ["__complete"]:
        load("scopes.cli.completion:answer")(table, arguments[1:], os.environ)
    _open_missing_streams()
    invocation: Invocation = load("scopes.cli.invocation:Invocation")(arguments, os.environ)
    try:
        code = dispatch(table, invocation)
        invocation.stdout.flush()
    except KeyboardInterrupt as interrupt:
        code = load("scopes.cli.error_handler:report")(invocation, interrupt)
    except Exception as error:  # noqa: BLE001  the last resort: whatever went wrong becomes a line and an exit code
        code = load("scopes.cli.error_handler:report")(invocation, error)
    if argv is None:
        # Everything is flushed; the interpreter's tidying up would take as long as its start.
        os._exit(code)
    return code


def dispatch(table: Table, invocation: Invocation) -> int:
    """Answer from the table alone where that is enough; otherwise build the one parser that is needed and run it."""
    invocation.refuse_broken_text()
    line = load("scopes.cli.command_line:split_words")(table, invocation.arguments)
    command = line.command
    if line.unknown is not None:
        raise load("scopes.cli.suggestion:unknown_word")(table, line)
    if command is None:
        return int(load("scopes.cli.help:answer_without_verb")(table, line, invocation))
    if wants_help(line):
        return int(load("scopes.cli.help:explain")(table, [*command.path], invocation))
    bare = not any(word.startswith("-") for word in (*line.leading, *line.rest))
    if command.quick is not None and bare:
        return int(load(command.quick)(table, line.rest, invocation))
    return int(load("scopes.cli.parser:run")(table, line, invocation))


def wants_help(line: CommandLine) -> bool:
    """Tell whether `--help` stands before or behind the verb; nothing else is checked then."""
    words = line.rest[: line.rest.index("--")] if "--" in line.rest else line.rest
    return line.wants_help or "--help" in words or "-h" in words


def _open_missing_streams() -> None:
    """Put /dev/null where a standard stream was closed, so that no file of the store gets its number."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while os.open(os.devnull, os.O_RDWR) < 2:
            pass
        sys.stdin = sys.stdin or os.fdopen(0)
        sys.stdout = sys.stdout or os.fdopen(1, "w")
        sys.stderr = sys.stderr or os.fdopen(2, "w")
