"""Help texts: the root's and the groups' from the table alone, a verb's from its description."""

from __future__ import annotations

import os

from scopes.cli.command_line import split_words
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.reference import ENVIRONMENT, EXIT_CODES, FILES
from scopes.cli.suggestion import unknown_word
from scopes.cli.text_wrap import columns, fill
from scopes.errors import Invalid
from scopes.loading import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scopes.cli.command_docs import Description, Part
    from scopes.cli.command_line import CommandLine
    from scopes.cli.invocation import Invocation
    from scopes.cli.table import Command, Table

MOST_COLUMNS = 100


def answer_without_verb(table: Table, line: CommandLine, invocation: Invocation) -> int:
    """Show the help of the root or of a group; a group without its verb is a usage error unless help was asked for."""
    if line.waits is not None:
        raise Invalid(f"option {line.waits!r} requires an argument", hint="see: scopes help")
    if line.typed and not line.wants_help:
        words = " ".join(("scopes", *line.typed))
        raise Invalid(f"{words!r} needs a command", hint=f"see: scopes help {' '.join(line.typed)}")
    invocation.stdout.write(format_group(table, line.path, terminal_width(invocation.environ)))
    return 0


def explain(table: Table, words: list[str], invocation: Invocation) -> int:
    """Print the help of the command that the words name; the verbs of the default group need no group."""
    line = split_words(table, words)
    if line.unknown is not None and not line.path:
        lifted = split_words(table, [*table.default, *words])
        line = lifted if lifted.unknown is None else line
    if line.unknown is not None:
        raise unknown_word(table, line)
    width = terminal_width(invocation.environ)
    if line.command is None:
        text = format_group(table, line.path, width)
    else:
        text = format_verb(_describe(table, line.command), width)
    invocation.stdout.write(text)
    return 0


def _describe(table: Table, command: Command) -> Description:
    """Read a verb's description where the generator wrote it; a verb of another table is taken to pieces."""
    stored: Description | None = None
    if table is load("scopes.cli.table:TABLE"):
        stored = load("scopes.cli.command_docs:find_description")(command.path)
    return stored or load("scopes.cli.description:describe")(table, command)


def terminal_width(environ: Mapping[str, str]) -> int:
    """Return the columns to use: COLUMNS, else the terminal's, else 80; at most 100, for the eye."""
    named = environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return max(40, min(int(named), MOST_COLUMNS))
    try:
        return max(40, min(os.get_terminal_size(1).columns, MOST_COLUMNS))
    except OSError:
        return 80


def format_group(table: Table, path: tuple[str, ...], width: int) -> str:
    """Write the help of the root (the empty path) or of a group, in sections like git's."""
    if path:
        name = table.spelling(path)
        head = [f"usage: {name} COMMAND [ARGUMENTS]", "", f"{table.groups[path].summary}."]
        commands = [command for command in table.commands.values() if command.path[: len(path)] == path]
        full = f"In full: scopes ai {' '.join(path)} COMMAND"
    else:
        name = "scopes"
        head = ["usage: scopes [OPTIONS] COMMAND [ARGUMENTS]", "", "git for agent conversations."]
        commands = list(table.commands.values())
        full = "In full: scopes ai conversations COMMAND"
    sections = dict.fromkeys(command.section for command in commands)
    body: list[str] = []
    for section in sections:
        rows = [(_tail(table, command, name), command.summary) for command in commands if command.section == section]
        body += ["", f"{section}:", *columns(rows, width)]
    tail = ["", full, f"One command: scopes help {' '.join(path)}".rstrip() + " COMMAND"]
    options = [] if path else ["", "options of every command:", *columns(_global_rows(), width)]
    return "\n".join((*head, *body, *options, *tail)) + "\n"


def format_reference(width: int) -> str:
    """Write what holds for every command: exit codes, environment, files."""
    lines: list[str] = []
    for title, rows in (("exit codes", EXIT_CODES), ("environment", ENVIRONMENT), ("files", FILES)):
        lines += ["", f"{title}:", *columns(rows, width)]
    return "\n".join(lines) + "\n"


def _tail(table: Table, command: Command, name: str) -> str:
    return table.spelling(command.path).removeprefix(name + " ")


def _global_rows() -> list[tuple[str, str]]:
    return [
        (", ".join(option.names) + (f" {option.value}" if option.value else ""), option.help)
        for option in GLOBAL_OPTIONS
    ]


def format_verb(verb: Description, width: int) -> str:
    """Write the help of a verb: usage, what it does, arguments, options, examples."""
    lines = [f"usage: {verb.usage}", "", verb.summary]
    if verb.text:
        lines += ["", *fill(verb.text, width)]
    for title, parts in (("arguments", verb.arguments), ("options", verb.options)):
        if parts:
            lines += ["", f"{title}:", *columns(((part.label, explained(part)) for part in parts), width)]
    if verb.examples:
        lines += ["", "examples:", *(f"  {line}".rstrip() for line in verb.examples.splitlines())]
    names = " ".join(option.names[-1] for option in GLOBAL_OPTIONS)
    lines += ["", *fill(f"options of every command (see: scopes help): {names}", width)]
    return "\n".join(lines) + "\n"


def explained(part: Part) -> str:
    """Return the help of an argument or option with its choices and default."""
    extras = [f"one of: {', '.join(part.choices)}"] if part.choices else []
    extras += [f"default: {part.default}"] if part.default is not None else []
    extras += ["may be repeated"] if part.repeated and part.names else []
    extras += ["required"] if part.required and part.names else []
    return f"{part.help} ({'; '.join(extras)})".strip() if extras else part.help
