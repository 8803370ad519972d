"""The house style where a machine can check it: who may import whom, and calls that must not occur."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "scopes").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_imports_go_to_lower_ranks_only_and_foreign_libraries_stay_in_their_package():
    """S2-22: the contracts are in pyproject.toml."""
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


def test_no_modules_import_each_other_not_even_for_their_types():
    """The contracts do not see imports under TYPE_CHECKING; `graphlib` names the modules of a cycle.

    An import inside a function is not counted: it runs when both modules are complete.
    """
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in SOURCES}
    imports = {}
    for name, path in modules.items():
        found = [node for node in walk_statements(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        names = {node.module for node in found} | {
            f"{node.module}.{each.name}" for node in found for each in node.names
        }
        imports[name] = names & modules.keys() - {name}
    assert len(list(graphlib.TopologicalSorter(imports).static_order())) == len(modules)


def walk_statements(block):
    """Yield each statement of a module, and of the blocks in it that are no functions."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(block, field, ()):
            yield statement
            if not isinstance(statement, ast.FunctionDef):
                yield from walk_statements(statement)


def test_every_module_and_package_at_the_top_has_a_layer():
    """A new one is outside of all contracts until it is named there."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    ranked = {name.strip() for layer in contracts[0]["layers"] for name in layer.split("|")}
    top = {path.stem for path in (ROOT / "scopes").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {f"scopes.{name}" for name in top - {"__init__", "__main__"}} == ranked


def walk_sources(*words, sources=SOURCES):
    """Yield each node of the sources whose text has one of the words, in any case, and the file."""
    for source in sources:
        text = source.read_text()
        if any(word in text.lower() for word in words):
            for node in ast.walk(ast.parse(text)):
                yield source.relative_to(ROOT), node


def test_nobody_calls_what_loses_data_silently():
    """`create_commit` reports success on a full disk; a forced reference is no compare-and-swap."""
    for source, node in walk_sources("create_commit", "create_reference"):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr != "create_commit", source
            if node.func.attr.startswith("create_reference"):
                forced = [ast.unparse(k.value) for k in node.keywords if k.arg == "force"]
                assert forced in (["False"], []), source


def test_messages_that_are_shown_are_read_by_one_function():
    """It redacts them while text leaves redacted; the others index, check or send what is stored."""
    stored = {
        "conversation/verify.py", "history/messages.py", "merge/replay.py", "purge/redact.py",
        "purge/rewrite_history.py", "sync/clearance.py", "sync/names.py",
    }  # fmt: skip
    users = [source for source in SOURCES if "MESSAGE_FILE" in source.read_text()]
    assert {source.relative_to(ROOT / "scopes").as_posix() for source in users} == stored


@pytest.mark.parametrize("package", [p for p in SOURCES if p.name == "__init__.py"], ids=lambda p: p.parent.name)
def test_a_package_begins_with_a_docstring_and_exports_nothing(package):
    """The root package is the Python API: its names are loaded at first use."""
    body = ast.parse(package.read_text()).body
    assert isinstance(body[0], ast.Expr)
    assert package == ROOT / "scopes" / "__init__.py" or body[1:] == []


def test_there_is_one_last_resort_of_each_program():
    """Two broad excepts in the project: that of the command line, and that of a request to the MCP server."""
    broad = [
        str(source)
        for source, node in walk_sources("except:", "exception")
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
    ]
    assert broad == ["scopes/cli/main.py", "scopes/server/mcp/error_gate.py"]


def list_loaded_names():
    """Return (importing package, module, name) for every string that `load` imports at run time."""
    found = []
    for source in SOURCES:
        package = source.relative_to(ROOT).parts[1].removesuffix(".py")
        for module, name in re.findall(r'"(scopes(?:\.\w+)+):(\w+)"', source.read_text()):
            found.append((package, module, name))
    return sorted(set(found))


def list_layers():
    """Return the packages of the import contract, highest layer first; one layer is a set of packages."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if "lower ranks" in contract["name"])
    return [{name.strip().removeprefix("scopes.") for name in layer.split("|")} for layer in layers]


@pytest.mark.every_case("a name that is not looked at may be missing at run time")
@pytest.mark.parametrize(("package", "module", "name"), list_loaded_names())
def test_a_name_that_is_loaded_at_run_time_exists_in_a_lower_layer(package, module, name):
    """`load("module:name")` is invisible to mypy and to the import contracts."""
    assert hasattr(importlib.import_module(module), name)
    target = module.split(".")[1]
    rank = {member: number for number, layer in enumerate(list_layers()) for member in layer}
    assert target == package or rank[target] > rank[package]


def list_retired_words():
    """Return the words that the glossary of CONTRIBUTING.md retires as names."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (line,) = re.findall(r"^Retired as names: (.+)\.$", text, re.MULTILINE)
    return set(line.replace("`", "").split(", "))


def find_given_name(node):
    """Return the name that a node gives to a class, function, parameter, variable or field; None if it gives none."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    return None


@functools.cache
def split_name(name):
    """Return the lower-case words of `snake_case` and `CamelCase` names."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_a_retired_word_does_not_come_back_as_a_name():
    retired = list_retired_words()
    modules = [*SOURCES, *TESTS]
    assert [str(path) for path in modules if split_name(path.stem) & retired] == []
    names_in_text = {path: set(re.findall(r"[A-Za-z_]+", path.read_text())) for path in modules}
    bad = {name for name in set().union(*names_in_text.values()) if split_name(name) & retired}
    possible = [path for path, names in names_in_text.items() if names & bad]
    names = ((source, node, find_given_name(node)) for source, node in walk_sources("", sources=possible))
    found = [f"{name} ({source}:{node.lineno})" for source, node, name in names if name and split_name(name) & retired]
    assert found == []


LIVE = ("server", "hosts", "handover", "code_links")
LIVE_MODULES = [
    path for package in LIVE for path in sorted((ROOT / "scopes" / package).rglob("*.py")) if path.stem != "__init__"
]


@pytest.mark.every_case("it takes a millisecond, and a module that is not named stays so")
@pytest.mark.parametrize("path", LIVE_MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_map_of_the_live_part_names_every_module(path):
    """A stranger looks for a file in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert re.search(rf"`(?:\w+/)*{path.stem}`", text), f"{path.stem} is not in the map"
