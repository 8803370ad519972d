"""Read the commands that a shell command line runs: unwrapped, in order, each with its directory.

The grammar is that of tree-sitter-bash. Nothing runs: what the line alone does not decide is unknown, and a command
that cannot be read says why in `opaque`.
"""

from __future__ import annotations

from scopes.check.shell_collector import Exhausted, Frame
from scopes.check.shell_command import Command
from scopes.check.shell_files import Files
from scopes.check.shell_reader import Reader
from scopes.check.shell_state import State

MAX_BYTES = 1 << 20  # of a command line; the rest is not read


def parse_commands(line: str, directory: str | None = None, files: Files | None = None) -> tuple[Command, ...]:
    """Return the commands that a command line runs, in the order in which they run.

    Text in quotes, heredocs and comments does not run; command substitutions do. All branches of a condition count,
    the body of a loop over literal values counts once for each value, and functions count where they are called.
    `files` is what earlier command lines wrote; what this one writes is added.
    """
    reader = Reader()
    text = line.encode("utf-8", "surrogatepass")
    try:
        reader.run_line(text[:MAX_BYTES], Frame(b"", State(directory, files)))
    except Exhausted:
        reader.report(line, directory, "it runs too many commands to read")
    if len(text) > MAX_BYTES:
        reader.report(line, directory, f"it is longer than {MAX_BYTES} bytes")
    return tuple(reader.commands)
