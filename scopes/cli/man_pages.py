"""Manual pages in roff: scopes(1), and one page for each section of the command table.

They have the texts of the help, from the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scopes import __version__
from scopes.cli.command_help import Docs, blocks, read_docs, read_manual, rows_text, split_manual
from scopes.cli.environment_docs import ENVIRONMENT, EXIT_CODES, FILES, REFS
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.table import AGENTS, AGREE, BRANCH, CHECK, MEMORY, READ, SHARE, STORE, WRITE, Table

Rows = Iterable[tuple[str, str]]
DESCRIPTION = """\
A store is a bare git repository. Each message of a conversation is one commit, so that branches, merges, rewinds and
history walks are those of git.

Conversations, branches, messages and operations can be given by any unique prefix; @ is the newest conversation of the
project, and is meant if none is named. Options can be given before or after the command; a double dash ends them. A
single dash means standard input or standard output. Results are printed to standard output, everything else to standard
error. On a terminal results are formatted for reading; otherwise they are rows with cells separated by tabs, and with
--json they are JSON."""
_PAGES = {
    READ: "scopes-read", WRITE: "scopes-write", BRANCH: "scopes-branch", CHECK: "scopes-check", SHARE: "scopes-share",
    AGENTS: "scopes-agents", MEMORY: "scopes-memory", AGREE: "scopes-agree", STORE: "scopes-store",
}  # fmt: skip


def pages(table: Table, settings: Rows) -> dict[str, str]:
    """Return the pages: name -> text."""
    found = {"scopes": _root_page(table, settings)}
    for section, commands in table.sections.items():
        found[page_name(section)] = _section_page(section, [read_docs(command) for command in commands])
    return found


def page_name(section: str) -> str:
    """Return the name of the page of a section, such as `scopes-share`."""
    return _PAGES.get(section) or f"scopes-{section.lower().replace(' ', '-')}"


def _root_page(table: Table, settings: Rows) -> str:
    lines = [*_header("scopes", "git for agent conversations"), ".SH SYNOPSIS"]
    lines += ["\\fBscopes\\fR COMMAND [WHERE] [WHAT] [OPTIONS]", ".SH DESCRIPTION", *_paragraphs(DESCRIPTION)]
    for section, commands in table.sections.items():
        rows = [(command.spelling, command.summary) for command in commands]
        lines += [f".SH {_escape(section.upper())}", "See", f".BR {_escape(page_name(section))} (1).", *_terms(rows)]
    options = [(each.label, each.help) for each in GLOBAL_OPTIONS]
    chapters: tuple[tuple[str, Rows], ...] = (
        ("OPTIONS", options),
        ("CONFIGURATION", settings),
        ("EXIT STATUS", EXIT_CODES),
        ("ENVIRONMENT", ENVIRONMENT),
        ("FILES", FILES),
        ("REFS", REFS),
    )
    for title, terms in chapters:
        lines += [f".SH {title}", *_terms(terms)]
    names = dict.fromkeys(map(page_name, table.sections))
    lines += [".SH SEE ALSO", *(f".BR {_escape(name)} (1)," for name in names), ".BR git (1)"]
    return "\n".join(lines) + "\n"


def _section_page(section: str, commands: Sequence[Docs]) -> str:
    lines = _header(page_name(section), section.lower())
    for docs in commands:
        lines += [f".SH {_escape(docs.command.spelling.upper())}", f"\\fB{_escape(docs.usage)}\\fR"]
        lines += [".PP", *_paragraphs("\n\n".join(filter(None, (f"{docs.summary}.", docs.text))))]
        lines += _terms((part.label, part.text) for part in (*docs.arguments, *docs.options))
        for title, text in split_manual(read_manual(docs.command.path)):
            lines += [f".SS {_escape(title.capitalize())}", *_paragraphs(text)]
        if docs.examples:
            lines += [".SS Examples", *_verbatim(docs.examples.splitlines())]
        for title, text in rows_text(docs.command):
            lines += [".PP", _escape(f"{title.capitalize()}: {text}")]
    lines += [".SH SEE ALSO", ".BR scopes (1)"]
    return "\n".join(lines) + "\n"


def _header(name: str, summary: str) -> list[str]:
    title = f'.TH {_escape(name.upper())} 1 "" "scopes {__version__}" "scopes manual"'
    return [title, ".ad l", ".nh", ".SH NAME", f"{_escape(name)} \\- {_escape(summary)}"]


def _terms(rows: Rows) -> list[str]:
    return [line for label, text in rows for line in (".TP", f"\\fB{_escape(label)}\\fR", _escape(text))]


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
