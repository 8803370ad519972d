"""The sizes of packages and documents, and the file with their budgets: `python -m tests.budgets` lowers it.

A budget only goes down. To raise one takes an equal cut elsewhere in the same commit, made by hand in the file.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUDGETS = ROOT / "tests" / "budgets.toml"
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
HEAD = """\
# Lines (with docstrings) and files of each package, as [lines, files]; `root` is the modules directly below scopes/.
# Law: a number only goes down. Raising one takes an equal cut elsewhere in the same commit.
# `python -m tests.budgets` writes the present sizes where they are lower.
"""


def measure() -> dict[str, tuple[int, int]]:
    """Return lines and files of every package, of the tests, and of the documents; an empty `__init__.py` is no file."""
    packages = {path.name: path.rglob("*.py") for path in sorted((ROOT / "scopes").iterdir()) if path.is_dir()}
    packages = {name: list(files) for name, files in packages.items()}
    packages["root"] = list((ROOT / "scopes").glob("*.py"))
    packages["tests"] = list((ROOT / "tests").rglob("*.py"))
    sizes = {name: _size(files) for name, files in packages.items() if files}
    return sizes | {name: (_lines(ROOT / name), 1) for name in DOCUMENTS}


def read_budgets() -> dict[str, tuple[int, int]]:
    """Return the budget of each name, as `measure` counts."""
    return {name: (lines, files) for name, (lines, files) in tomllib.loads(BUDGETS.read_text()).items()}


def lower() -> None:
    """Write the present sizes where they are lower than the budgets, and those of new packages."""
    budgets = read_budgets() if BUDGETS.exists() else {}
    rows = {name: tuple(map(min, size, budgets.get(name, size))) for name, size in measure().items()}
    BUDGETS.write_text(HEAD + "".join(f'"{name}" = [{lines}, {files}]\n' for name, (lines, files) in rows.items()))


def _size(files: list[Path]) -> tuple[int, int]:
    lines = [_lines(path) for path in files]
    return sum(lines), sum(count > 1 or path.name != "__init__.py" for path, count in zip(files, lines, strict=True))


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


if __name__ == "__main__":
    lower()
