"""The house style where a machine can check it: who may import whom, and calls that must not occur."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "scopes").rglob("*.py"))


def test_imports_go_to_lower_ranks_only_and_foreign_libraries_stay_in_their_package():
    """S2-22: the contracts stand in pyproject.toml."""
    linter = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [linter, "--config", ROOT / "pyproject.toml", "--no-cache"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_calls_what_loses_data_silently(source):
    """`create_commit` reports success on a full disk; a forced reference is no compare-and-swap."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr != "create_commit"
            if node.func.attr.startswith("create_reference"):
                forced = [ast.unparse(k.value) for k in node.keywords if k.arg == "force"]
                assert forced in (["False"], [])


@pytest.mark.parametrize("package", [p for p in SOURCES if p.name == "__init__.py"], ids=lambda p: p.parent.name)
def test_a_package_begins_with_a_docstring_and_exports_nothing(package):
    body = ast.parse(package.read_text()).body
    assert isinstance(body[0], ast.Expr)
    assert all(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__" for node in body[1:])


def test_there_is_one_last_resort():
    """One broad except in the project: the command line's."""
    broad = [
        f"{source.relative_to(ROOT)}:{node.lineno}"
        for source in SOURCES
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
    ]
    assert len(broad) == 1, broad
