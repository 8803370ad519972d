"""Manual pages in roff, from the same table and documentation as the help texts.

A file `manual/COMMAND.txt`, such as facts-run.txt, has further sections of the page of a command: a line `# TITLE`
begins each, and the text is written as in a docstring. `scopes help COMMAND --all` prints them too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from scopes import __version__
from scopes.cli.command_docs import CommandDocs
from scopes.cli.environment_docs import ENVIRONMENT, EXIT_CODES, FILES, REFS
from scopes.cli.help import parameter_text, rows_text
from scopes.cli.inspect_command import inspect_global_options
from scopes.cli.table import Table
from scopes.cli.text_wrap import blocks

Rows = Iterable[tuple[str, str]]
MANUAL = os.path.join(os.path.dirname(__file__), "manual")


def page_name(path: tuple[str, ...]) -> str:
    """Return the name of a command's page: `scopes-append`, `scopes-config-get`."""
    return "-".join(("scopes", *path))


def read_manual(path: tuple[str, ...]) -> str:
    """Return the further sections of a command's page; an empty text if it has none."""
    file = os.path.join(MANUAL, f"{'-'.join(path)}.txt")
    if not os.path.exists(file):
        return ""
    with open(file, encoding="utf-8") as stream:
        return stream.read()


def split_manual(manual: str) -> list[tuple[str, str]]:
    """Return the sections of a manual as (title, text)."""
    sections = (section.partition("\n") for section in f"\n{manual}".split("\n# ")[1:])
    return [(title, text.strip("\n")) for title, _, text in sections]


def command_page(name: str, docs: CommandDocs, manual: str = "") -> str:
    """Return the page of one command; `manual` has its further sections."""
    lines = [*_header(name, docs.summary.rstrip(".")), ".SH SYNOPSIS", *_usage(docs.usage, len(docs.spelling))]
    lines += [".SH DESCRIPTION", *_paragraphs("\n\n".join(filter(None, (docs.summary, docs.text))))]
    if docs.arguments:
        lines += [".SH ARGUMENTS", *_definitions((part.label, parameter_text(part)) for part in docs.arguments)]
    lines += [".SH OPTIONS", *_definitions((part.label, parameter_text(part)) for part in docs.options)]
    lines += _definitions((title.capitalize(), text) for title, text in rows_text(docs))
    lines += [".PP"] if docs.options or docs.fields else []
    lines += ["The global options are described in", ".BR scopes (1)."]
    for title, text in split_manual(manual):
        lines += [f".SH {_escape(title)}", *_paragraphs(text)]
    if docs.examples:
        lines += [".SH EXAMPLES", *_verbatim(docs.examples.splitlines())]
    lines += [".SH EXIT STATUS", "See", ".BR scopes (1).", ".SH SEE ALSO", ".BR scopes (1)"]
    return "\n".join(lines) + "\n"


def root_page(table: Table, settings: Rows) -> str:
    """Return the page of the program."""
    lines = [*_header("scopes", "git for agent conversations"), ".SH SYNOPSIS"]
    lines += [
        *_usage("scopes [OPTIONS] COMMAND [ARGUMENTS]", len("scopes")),
        ".SH DESCRIPTION",
        *_paragraphs(DESCRIPTION),
    ]
    lines.append(".SH COMMANDS")
    sections = dict.fromkeys(command.section for command in table.commands.values())
    for section in sections:
        commands = [command for command in table.commands.values() if command.section == section]
        rows = ((c.spelling, f"{c.summary}. See {page_name(c.path)}(1).") for c in commands)
        lines += [f".SS {_escape(section.capitalize())}", *_definitions(rows)]
    lines += [".SH OPTIONS", *_definitions((part.label, parameter_text(part)) for part in inspect_global_options())]
    chapters: tuple[tuple[str, Rows], ...] = (
        ("CONFIGURATION", settings),
        ("EXIT STATUS", EXIT_CODES),
        ("ENVIRONMENT", ENVIRONMENT),
        ("FILES", FILES),
        ("REFS", REFS),
    )
    for title, terms in chapters:
        lines += [f".SH {title}", *_definitions(terms)]
    return "\n".join((*lines, ".SH SEE ALSO", ".BR git (1)")) + "\n"


DESCRIPTION = """\
A store is a bare git repository. Each message of a conversation is one commit, so that branches, merges, rewinds and
history walks are those of git.

Conversations, branches, messages and operations can be given by any unique prefix. Options can be given before or after
the command; a double dash ends them. A single dash means standard input or standard output. Results are printed to
standard output, everything else to standard error. On a terminal results are formatted for reading; otherwise they are
rows with cells separated by tabs, and with --json they are JSON."""


def _header(name: str, summary: str) -> list[str]:
    title = f'.TH {_escape(name.upper())} 1 "" "scopes {__version__}" "scopes manual"'
    return [title, ".ad l", ".nh", ".SH NAME", f"{_escape(name)} \\- {_escape(summary[:1].lower() + summary[1:])}"]


def _usage(usage: str, length: int) -> list[str]:
    return [f"\\fB{_escape(usage[:length])}\\fR{_escape(usage[length:])}"]


def _definitions(rows: Rows) -> list[str]:
    lines: list[str] = []
    for label, text in rows:
        lines += [".TP", f"\\fB{_escape(label)}\\fR", _escape(text)]
    return lines


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for verbatim, rows in blocks(text):
        lines += _verbatim(rows) if verbatim else [".PP", *map(_escape, rows)]
    return lines[1:] if lines[:1] == [".PP"] else lines


def _verbatim(rows: list[str]) -> list[str]:
    return [".PP", ".RS 4", ".nf", *map(_escape, rows), ".fi", ".RE"]


def _escape(line: str) -> str:
    """Escape characters and lines that have a meaning in roff."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
