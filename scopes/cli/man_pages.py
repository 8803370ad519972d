"""Manual pages in roff, from the same table and descriptions as the help texts."""

from __future__ import annotations

from collections.abc import Iterable

from scopes import __version__
from scopes.cli.command_docs import Description
from scopes.cli.description import describe_global_options
from scopes.cli.help import explained
from scopes.cli.reference import ENVIRONMENT, EXIT_CODES, FILES
from scopes.cli.table import Table
from scopes.cli.text_wrap import blocks

Rows = Iterable[tuple[str, str]]


def page_name(table: Table, path: tuple[str, ...]) -> str:
    """Name the page of a command; the default group is left out: `scopes-append`, `scopes-config-get`."""
    return "-".join(("scopes", *table.short_path(path)))


def verb_page(name: str, verb: Description) -> str:
    """Write the page of one verb."""
    lines = [*_head(name, verb.summary.rstrip(".")), ".SH SYNOPSIS", *_strong(verb.usage, len(verb.spelling))]
    lines += [".SH DESCRIPTION", *_prose("\n\n".join(filter(None, (verb.summary, verb.text))))]
    if verb.arguments:
        lines += [".SH ARGUMENTS", *_terms((part.label, explained(part)) for part in verb.arguments)]
    lines += [".SH OPTIONS", *_terms((part.label, explained(part)) for part in verb.options)]
    lines += [".PP"] if verb.options else []
    lines += ["The options of every command are in", ".BR scopes (1)."]
    if verb.examples:
        lines += [".SH EXAMPLES", *_verbatim(verb.examples.splitlines())]
    lines += [".SH EXIT STATUS", "As in", ".BR scopes (1).", ".SH SEE ALSO", ".BR scopes (1)"]
    return "\n".join(lines) + "\n"


def root_page(table: Table, settings: Rows) -> str:
    """Write the page of the program."""
    lines = [*_head("scopes", "git for agent conversations"), ".SH SYNOPSIS"]
    lines += [*_strong("scopes [OPTIONS] COMMAND [ARGUMENTS]", len("scopes")), ".SH DESCRIPTION", *_prose(DESCRIPTION)]
    lines.append(".SH COMMANDS")
    sections = dict.fromkeys(command.section for command in table.commands.values())
    for section in sections:
        commands = [command for command in table.commands.values() if command.section == section]
        rows = ((table.spelling(c.path), f"{c.summary}. See {page_name(table, c.path)}(1).") for c in commands)
        lines += [f".SS {_text(section.capitalize())}", *_terms(rows)]
    lines += [".SH OPTIONS", *_terms((part.label, explained(part)) for part in describe_global_options())]
    chapters: tuple[tuple[str, Rows], ...] = (
        ("CONFIGURATION", settings),
        ("EXIT STATUS", EXIT_CODES),
        ("ENVIRONMENT", ENVIRONMENT),
        ("FILES", FILES),
    )
    for title, terms in chapters:
        lines += [f".SH {title}", *_terms(terms)]
    return "\n".join((*lines, ".SH SEE ALSO", ".BR git (1)")) + "\n"


DESCRIPTION = """\
Every conversation is a line of commits in a git repository of its own, one commit a message, so that branching,
merging, rewinding and walking history are git's own operations.

Conversations, branches, messages and operations are named by any unique prefix. Options stand before or after the
command; a double dash ends them. A single dash means standard input or standard output. Output goes to standard output,
everything else to standard error. On a terminal the output is set for reading; otherwise it is plain rows, separated by
tabs, and with --json it is JSON."""


def _head(name: str, summary: str) -> list[str]:
    title = f'.TH {_text(name.upper())} 1 "" "scopes {__version__}" "scopes manual"'
    return [title, ".ad l", ".nh", ".SH NAME", f"{_text(name)} \\- {_text(summary[:1].lower() + summary[1:])}"]


def _strong(usage: str, length: int) -> list[str]:
    return [f"\\fB{_text(usage[:length])}\\fR{_text(usage[length:])}"]


def _terms(rows: Rows) -> list[str]:
    lines: list[str] = []
    for label, text in rows:
        lines += [".TP", f"\\fB{_text(label)}\\fR", _text(text)]
    return lines


def _prose(text: str) -> list[str]:
    lines: list[str] = []
    for verbatim, rows in blocks(text):
        lines += _verbatim(rows) if verbatim else [".PP", *map(_text, rows)]
    return lines[1:] if lines[:1] == [".PP"] else lines


def _verbatim(rows: list[str]) -> list[str]:
    return [".PP", ".RS 4", ".nf", *map(_text, rows), ".fi", ".RE"]


def _text(line: str) -> str:
    """Escape what roff would read as its own."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
