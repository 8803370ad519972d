"""Write what is derived from the command table: completion scripts, manual pages, the options file.

`python -m scopes.cli.generate` writes them into the checkout at hand; `--check` only compares, for the test.
"""

from __future__ import annotations

import os
import sys

from scopes.cli.command_docs import DESCRIPTIONS_FILE, Description, Part, write_descriptions
from scopes.cli.completion import OPTIONS_FILE
from scopes.cli.completion_scripts import SCRIPTS
from scopes.cli.description import describe
from scopes.cli.man_pages import page_name, root_page, verb_page
from scopes.cli.table import TABLE, Table
from scopes.model.conflict import CONFLICT_TYPES
from scopes.store.config import SETTINGS

PAGES = "man/man1"
SCRIPT_NAMES = {"bash": "scopes.bash", "zsh": "_scopes", "fish": "scopes.fish"}


def generate(table: Table, settings: dict[str, str]) -> dict[str, str]:
    """Return the derived files: path below the checkout -> text."""
    verbs = {path: describe(table, command) for path, command in table.commands.items()}
    files = {f"completions/{SCRIPT_NAMES[shell]}": script for shell, script in SCRIPTS.items()}
    files[f"{PAGES}/scopes.1"] = root_page(table, settings.items())
    for path, verb in verbs.items():
        name = page_name(table, path)
        files[f"{PAGES}/{name}.1"] = verb_page(name, verb)
    rows = [row for path, verb in verbs.items() for row in _rows(" ".join(path), verb)]
    rows += ["\t".join(("=", key, "", "", about)) for name, about in settings.items() for key in _keys(name)]
    files["scopes/cli/" + os.path.basename(OPTIONS_FILE)] = "".join(f"{row}\n" for row in rows)
    files["scopes/cli/" + os.path.basename(DESCRIPTIONS_FILE)] = write_descriptions(verbs)
    return files


def _keys(name: str) -> list[str]:
    """Return the settings of a name: one for each type of conflict where it leaves the type open; no model's."""
    if "<name>" in name:
        return []
    return [name.replace("<type>", kind) for kind in CONFLICT_TYPES] if "<type>" in name else [name]


def _rows(path: str, verb: Description) -> list[str]:
    """Return one row an option name and one an argument: path, name or place, value name, choices, help."""
    rows = [_row(path, f"{place}{'...' * part.repeated}", part) for place, part in enumerate(verb.arguments, start=1)]
    return rows + [_row(path, name, part) for part in verb.options for name in part.names]


def _row(path: str, name: str, part: Part) -> str:
    return "\t".join((path, name, part.value or "", ",".join(part.choices), part.help))


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` only name those that differ; 1 when there are any."""
    check = "--check" in arguments
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    wanted: dict[str, str | None] = {**generate(TABLE, SETTINGS)}
    for name in _existing_pages(root):
        wanted.setdefault(name, None)
    stale = [name for name, text in wanted.items() if _read(os.path.join(root, name)) != text]
    for name in stale:
        sys.stdout.write(f"{name}\n")
        if not check:
            _write(os.path.join(root, name), wanted[name])
    return 1 if check and stale else 0


def _existing_pages(root: str) -> list[str]:
    pages = os.path.join(root, PAGES)
    return [f"{PAGES}/{name}" for name in sorted(os.listdir(pages))] if os.path.isdir(pages) else []


def _write(path: str, text: str | None) -> None:
    if text is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: str) -> str | None:
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
