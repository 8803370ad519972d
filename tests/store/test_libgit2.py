"""Importing pygit2 does not import `ssl`, and `ssl` works afterwards."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.store import ROOT


def run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_no_module_of_the_store_imports_ssl():
    """18 ms of every command, mostly for the system's certificates."""
    everything = "import pkgutil, scopes.store; [__import__(f'scopes.store.{m.name}') for m in pkgutil.iter_modules(scopes.store.__path__)]"
    assert run(f"{everything}\nimport sys; print('pygit2' in sys.modules, 'ssl' in sys.modules)") == ["True", "False"]


def names_imported_by(path):
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "pygit2" in text else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_only_one_module_imports_pygit2_itself():
    """The first import decides whether `ssl` is loaded, whichever module it is in."""
    package = Path(ROOT) / "scopes"
    direct = {path.name for path in package.rglob("*.py") if "pygit2" in set(names_imported_by(path))}
    assert direct == {"libgit2.py"}


@pytest.mark.parametrize("name", ["open_repository", "repository", "objects"])
def test_a_module_that_is_imported_first_does_not_import_ssl(name):
    assert run(f"import sys, scopes.store.{name}; print('ssl' in sys.modules)") == ["False"]


def test_ssl_works_when_imported_afterwards():
    code = "from scopes.store.libgit2 import pygit2\nimport ssl\nprint(ssl.create_default_context().check_hostname)"
    assert run(code) == ["True"]


def test_an_imported_ssl_is_kept():
    code = "import ssl, sys\nfrom scopes.store.libgit2 import pygit2\nprint(sys.modules['ssl'] is ssl)"
    assert run(code) == ["True"]


def test_pygit2_is_the_real_module():
    assert run("from scopes.store.libgit2 import pygit2 as ours\nimport pygit2\nprint(ours is pygit2)") == ["True"]
