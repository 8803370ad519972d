"""Generate tests/REQUIREMENTS.md: every numbered requirement with the tests whose docstrings name it.

    python -m tests.requirements          # rewrite the lists of tests
    python -m tests.requirements --check  # exit 1 if the file is out of date

The texts of the requirements are written by hand in that file; only the lines below each of them are generated. A number
in a docstring of scopes/ or tests/ that has no entry there is an error.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "tests" / "REQUIREMENTS.md"
NUMBER = re.compile(r"\b(?:S[0-4]-\d+|P\d{1,2}|[A-M]-\d{1,2})\b")
_ENTRY = re.compile(r"- \*\*(?P<number>[A-Z]\d?-?\d+)\*\* ")
OTHER_FORM = re.compile(
    r"\b(?:[Cc]atalogue|[Cc]ontract|Reliability|Transcripts|Acceptance|[Ff]act|[Ss]ection|[Rr]equirement)s?,? "
    r"(?:(?:fact|section|rule) )?[A-Z]?\d"
)  # a reference to a numbered list that is not in the repository
_NO_TEST = "  - no test yet"


@cache
def walk_docstrings(path: Path, pattern: re.Pattern[str] = NUMBER) -> list[tuple[str, str]]:
    """Return the name and the docstring of a module, its classes and its functions; "" is the module's own name.

    A file whose text does not contain the pattern is not parsed.
    """
    text = path.read_text(encoding="utf-8")
    return [
        (getattr(node, "name", ""), docstring)
        for node in (_walk_statements(ast.parse(text)) if pattern.search(text) else ())
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (docstring := ast.get_docstring(node))
    ]


def _walk_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the module and its statements without their expressions, which are most of the nodes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        inner = (ast.stmt, ast.excepthandler, ast.match_case)
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, inner)]


def find_tests() -> dict[str, set[str]]:
    """Return the tests by the numbers that their docstrings, or those of their modules, name."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module = path.relative_to(ROOT / "tests").as_posix()
        for name, text in walk_docstrings(path):
            for number in NUMBER.findall(text):
                if not name or name.startswith("test_"):
                    found[number].add(f"{module}::{name}" if name else module)
    return found


def find_mentions() -> dict[str, set[str]]:
    """Return the files whose docstrings name each number, in scopes/ and tests/."""
    found: dict[str, set[str]] = defaultdict(set)
    for top in ("scopes", "tests"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for _, text in walk_docstrings(path):
                for number in NUMBER.findall(text):
                    found[number].add(path.relative_to(ROOT).as_posix())
    return found


def list_numbers(document: str) -> list[str]:
    """Return the numbers that the document has an entry for, in its order."""
    return [match["number"] for line in document.splitlines() if (match := _ENTRY.match(line))]


def fill_in(document: str, tests: dict[str, set[str]]) -> str:
    """Return the document with the generated lines below every entry replaced."""
    lines: list[str] = []
    for line in document.splitlines():
        if line.startswith("  - "):
            continue
        lines.append(line)
        if match := _ENTRY.match(line):
            lines += [f"  - `{test}`" for test in sorted(tests.get(match["number"], ()))] or [_NO_TEST]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Rewrite the document, or with `--check` only compare it."""
    before = DOCUMENT.read_text(encoding="utf-8")
    after = fill_in(before, find_tests())
    if "--check" in arguments:
        return int(before != after)
    DOCUMENT.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
