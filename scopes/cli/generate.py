"""Generate the files derived from the command table: completion scripts and manual pages.

`python -m scopes.cli.generate` writes them into this checkout; `--check` only lists the files that differ.
"""

from __future__ import annotations

import os
import sys

from scopes.cli.completion_scripts import SCRIPTS
from scopes.cli.man_pages import pages
from scopes.cli.table import TABLE, Table
from scopes.store.config import SETTINGS

_PAGES = "man/man1"
_SCRIPTS = {"bash": "completions/scopes.bash", "zsh": "completions/_scopes", "fish": "completions/scopes.fish"}


def generate(table: Table) -> dict[str, str]:
    """Return the generated files: path in the checkout -> text."""
    files = {path: SCRIPTS[shell] for shell, path in _SCRIPTS.items()}
    return files | {f"{_PAGES}/{name}.1": text for name, text in pages(table, SETTINGS.items()).items()}


def main(arguments: list[str], root: str) -> int:
    """Write the files and list the changed ones; with `--check` only list them, and return 1 if there are any."""
    check = "--check" in arguments
    files = generate(TABLE)
    folder = os.path.join(root, _PAGES)
    extra = {f"{_PAGES}/{name}" for name in (os.listdir(folder) if os.path.isdir(folder) else ())} - set(files)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
