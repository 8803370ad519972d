"""Generate the files derived from the command table: completion scripts, and manual pages in roff.

There is a page scopes(1), and one for each section of the table, with the texts of the help, from the same functions.

`python -m scopes.cli.generate` writes them into this checkout; `--check` only lists the files that differ.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from scopes import __version__
from scopes.cli.command_help import (
    ENVIRONMENT,
    EXIT_CODES,
    FILES,
    REFS,
    Docs,
    blocks,
    read_docs,
    read_manual,
    rows_text,
    split_manual,
)
from scopes.cli.completion_scripts import SCRIPTS
from scopes.cli.table import (
    AGENTS,
    AGREE,
    BRANCH,
    CHECK,
    GLOBAL_OPTIONS,
    MEMORY,
    READ,
    SHARE,
    STORE,
    TABLE,
    WRITE,
    Table,
)
from scopes.store.config import SETTINGS

_FOLDER = "man/man1"
_SCRIPTS = {"bash": "completions/scopes.bash", "zsh": "completions/_scopes", "fish": "completions/scopes.fish"}


def generate(table: Table) -> dict[str, str]:
    """Return the generated files: path in the checkout -> text."""
    files = {path: SCRIPTS[shell] for shell, path in _SCRIPTS.items()}
    return files | {f"{_FOLDER}/{name}.1": text for name, text in pages(table, SETTINGS.items()).items()}


def main(arguments: list[str], root: str) -> int:
    """Write the files and list the changed ones; with `--check` only list them, and return 1 if there are any."""
    check = "--check" in arguments
    files = generate(TABLE)
    folder = os.path.join(root, _FOLDER)
    extra = {f"{_FOLDER}/{name}" for name in (os.listdir(folder) if os.path.isdir(folder) else ())} - set(files)
    outdated = sorted(extra) + [path for path, text in files.items() if _read(os.path.join(root, path)) != text]
    for path in outdated:
        sys.stdout.write(f"{path}\n")
        if path in extra and not check:
            os.unlink(os.path.join(root, path))
        elif not check:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(files[path])
    return 1 if check and outdated else 0


def _read(path: str) -> str | None:
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
