"""Help: the pages of the program and of its groups, from the command table, and where those of a command come from."""

from __future__ import annotations

import os

from scopes.cli.command_line import split_words
from scopes.cli.suggestion import unknown_word
from scopes.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scopes.cli.command_line import CommandLine
    from scopes.cli.invocation import Invocation
    from scopes.cli.table import Table

_MAX_COLUMNS = 100
_NAME_COLUMNS = 14
_NEWEST = "The newest conversation is @, and what is meant if you name none."
_REFERENCE = """\
Global options
  -C DIR, --store PATH, -c KEY=VALUE      Where to run, which store, a setting
  --at WHEN       Read the store as it was: an operation or a time
  --as NAME       Act as this agent or person (default: you)
  --dry-run       Print what would happen, change nothing
  --secrets HOW   At a secret: refuse (default), redact or allow
  --json[=FIELDS], --format FORM, -z      JSON; a form or template; NUL rows
  -q, -v          Less; more (-vv: timings and tracebacks)
  -y, --no-input, --color WHEN, --no-pager, -h, -V
Exit codes   0 done  1 no  2 usage  3 conflicts wait  4 not found  5 ambiguous
   6 busy  7 damaged  8 cannot read or write  9 limit  70 a bug  130 Ctrl-C
Names        @ newest here  conv-001/try~2  conv-001@{1 day ago}  A..B  MESSAGE
Also taken   blame (why), checkout (switch), op, conv, ai conversations
Environment, files, settings: scopes help -a config   One: scopes help NAME
"""


def answer_without_command(table: Table, line: CommandLine, invocation: Invocation) -> int:
    """Print the first page, or the page of a group; 0 is the exit code."""
    if line.missing_value is not None:
        raise Invalid(f"option {line.missing_value!r} requires an argument", hint="see: scopes help")
    _print(invocation, group_page(table, line.path) if line.path else first_page(table))
    return 0


def explain(table: Table, words: list[str], invocation: Invocation, *, include_all: bool = False) -> int:
    """Print the help of a command or a group, or the first page; 0 is the exit code.

    With `include_all`, print the manual of the command or of those of the group, or the page of all commands.
    `schemas` explains the JSON Schemas.
    """
    if words[:1] == ["schemas"]:
        from scopes.cli.schemas import explain_schemas

        return int(explain_schemas(words[1:], invocation))
    line = split_words(table, words)
    if line.unknown is not None:
        raise unknown_word(table, line)
    if line.command is None and invocation.json:
        raise Invalid("--json needs one command to explain", hint="for example: scopes help merge --json")
    if line.command is not None:
        from scopes.cli.command_help import command_page, docs_line, manual_page, read_docs

        docs = read_docs(line.command)
        if invocation.json:
            invocation.stdout.write(docs_line(docs))
            return 0
        page = manual_page if include_all else command_page
        text = str(page(table, docs, terminal_width(invocation.environ)))
    elif line.path:
        text = group_page(table, line.path)
        if include_all:
            text += "".join(_manuals(table, line.path, terminal_width(invocation.environ)))
    else:
        text = all_commands_page(table) if include_all else first_page(table)
    _print(invocation, text)
    return 0


def _manuals(table: Table, path: tuple[str, ...], width: int) -> Iterable[str]:
    from scopes.cli.command_help import manual_page, read_docs

    for command in table.commands.values():
        if command.path[: len(path)] == path:
            yield f"\n\n{manual_page(table, read_docs(command), width)}"


def _print(invocation: Invocation, text: str) -> None:
    """Print a help text, on a terminal through the pager if it does not fit."""
    if invocation.stdout.isatty():
        invocation.output().page(text)
    else:
        invocation.stdout.write(text)


def terminal_width(environ: Mapping[str, str]) -> int:
    """Return the width of help texts: COLUMNS, else the terminal's, else 80; at least 40, at most 100."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(40, min(int(given), _MAX_COLUMNS))
    try:
        return max(40, min(os.get_terminal_size(1).columns, _MAX_COLUMNS))
    except OSError:
        return 80


def first_page(table: Table) -> str:
    """Return the page of the commands that people install the program for."""
    lines = ["scopes - git for agent conversations", ""]
    for heading, rows in table.first_page.items():
        found = [(name, text or _summary(table, name)) for name, text in rows.items()]
        lines += [heading, *(_row(name, summary) for name, summary in found if summary)]
    count = sum(map(len, table.sections.values()))
    lines += ["", f"One command: scopes help why      All {count}: scopes help --all", _NEWEST]
    return "\n".join(lines) + "\n"


def all_commands_page(table: Table) -> str:
    """Return the page of all commands, by section, with the verbs of a group below it, and the reference."""
    sections = table.sections
    lines = [f"scopes - git for agent conversations: all {sum(map(len, sections.values()))} commands", ""]
    for section, commands in sections.items():
        verbs: dict[str, list[str]] = {}
        for command in commands:
            verbs.setdefault(command.path[0], []).extend(command.path[1:2])
        lines.append(section)
        for name, members in verbs.items():
            lines += [_row(name, _summary(table, name)), *([f"      {' '.join(members)}"] if members else [])]
        lines.append("")
    return "\n".join(lines) + "\n" + _REFERENCE


def group_page(table: Table, path: tuple[str, ...]) -> str:
    """Return the page of a group: a line for each of its commands."""
    rows = [(" ".join(each.path), each.summary) for each in table.members(path)]
    width = max(len(name) for name, _ in rows) + 2
    group = table.groups[path]
    lines = [f"{group.spelling} - {group.summary}", "", *(f"  {name.ljust(width)}{text}" for name, text in rows), ""]
    if (*path, "list") in table.commands:
        lines.append(f"{group.spelling} alone is: {group.spelling} list")
    return "\n".join([*lines, f"One command: scopes help {rows[0][0]}      Manual: scopes help -a {' '.join(path)}\n"])


def _summary(table: Table, name: str) -> str:
    node = table.groups.get((name,)) or table.commands.get((name,))
    return "" if node is None else node.summary


def _row(name: str, summary: str) -> str:
    return f"  {name.ljust(_NAME_COLUMNS)}{summary}"
