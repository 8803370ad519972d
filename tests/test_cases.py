"""An ordinary run has a few cases of every parametrized test, and makes no items of the others."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest

from tests.support.cases import COMPUTED, WITH_FILES, choose
from tests.support.fork_server import run_program
from tests.support.store import ROOT

TABLES = """
import pytest

many = pytest.mark.parametrize("number", range(40))

@many
def test_that_computes(number): pass
@many
def test_that_writes(number, tmp_path): pass
@many
@pytest.mark.cases(7)
def test_with_a_number_of_its_own(number, tmp_path): pass
@many
@pytest.mark.every_case("each is another file")
def test_that_needs_all(number, tmp_path): pass
@pytest.mark.parametrize("both", [True, False])
def test_with_two_cases(both, tmp_path): pass
@pytest.mark.parametrize("number", [1, pytest.param(1000, marks=pytest.mark.sweep)])
def test_with_a_large_case(number): pass
@pytest.mark.sweep
@many
def test_of_a_sweep(number): pass
"""
SLOW = "\n".join(f"@pytest.mark.slow\ndef test_slow_{number}(): pass" for number in range(80))
ALL = {"test_that_computes": 40, "test_that_writes": 40, "test_with_a_number_of_its_own": 40, "test_that_needs_all": 40}
ALL["test_with_two_cases"] = 2
MARKED = "pytestmark = [pytest.mark.realagents"
PROGRAM = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"


def collected(tmp_path, *words, tables=TABLES, **environment):
    """Return how many items are made of each test, and whether any of them was deselected."""
    file = tmp_path / "test_tables.py"
    file.write_text(tables)
    options = [
        "--rootdir",
        tmp_path,
        "-c",
        f"{ROOT}/pyproject.toml",
        "-p",
        "tests.conftest",
        "--assert=plain",
        "--collect-only",
    ]
    arguments = [str(word).replace("FILE", str(file)) for word in (*options, *words)]
    done = run_program(
        PROGRAM, arguments, {**os.environ, "PYTHONPATH": ROOT, "TEST_EXAMPLES": "", **environment}, cwd=ROOT
    )
    lines = done.stdout.splitlines()
    names = [line.split("::")[1].partition("[")[0] for line in lines if "::" in line]
    return {name: len(list(group)) for name, group in itertools.groupby(names)}, "deselected" in lines[-1]


@pytest.mark.parametrize("option", ["--files", "--part"])
@pytest.mark.slow
def test_the_parts_of_a_suite_have_every_test_once(tmp_path, option):
    names = [f"test_{number}" for number in range(9)]
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"def {name}(): pass\n")
    parts = [collected(tmp_path, option, f"{number}/2", tmp_path, tables="")[0] for number in (1, 2)]
    assert all(parts)
    assert sorted([*parts[0], *parts[1]]) == names


def test_an_ordinary_run_makes_items_of_few_cases_and_of_no_sweep(tmp_path):
    few = {
        "test_that_computes": COMPUTED,
        "test_that_writes": WITH_FILES,
        "test_with_a_number_of_its_own": 7,
        "test_that_needs_all": 40,
        "test_with_two_cases": 2,
        "test_with_a_large_case": 1,
    }
    assert collected(tmp_path, "FILE") == (few, False)


@pytest.mark.slow
def test_a_number_for_a_module_is_that_of_its_tests_that_create_files(tmp_path):
    tables = f"{TABLES}\npytestmark = pytest.mark.cases(9)\n"
    few = {
        "test_that_computes": COMPUTED,
        "test_that_writes": 9,
        "test_with_a_number_of_its_own": 7,
        "test_that_needs_all": 40,
        "test_with_two_cases": 2,
        "test_with_a_large_case": 1,
    }
    assert collected(tmp_path, "FILE", tables=tables) == (few, False)


def test_an_ordinary_run_has_a_sample_of_the_slow_tests_and_others_have_all(tmp_path):
    tables = f"import pytest\n{SLOW}"
    few, deselected = collected(tmp_path, "FILE", tables=tables)
    assert len(few) in range(5, 16)
    assert not deselected
    assert collected(tmp_path, "FILE", tables=tables) == (few, False)
    for words, environment in ((["-m", "slow"], {}), ([], {"TEST_EXAMPLES": "all"})):
        assert len(collected(tmp_path, "FILE", *words, tables=tables, **environment)[0]) == 80


@pytest.mark.every_case("each is another way to ask for all cases")
@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        (["FILE"], {"TEST_EXAMPLES": "all"}, {**ALL, "test_with_a_large_case": 1}),
        (["FILE", "-m", ""], {}, {**ALL, "test_with_a_large_case": 2, "test_of_a_sweep": 40}),
        (["FILE", "-m", "sweep"], {}, {"test_with_a_large_case": 1, "test_of_a_sweep": 40}),
        (["FILE::test_that_writes"], {}, {"test_that_writes": 40}),
        (["FILE::test_that_writes[17]"], {}, {"test_that_writes": 1}),
    ],
)
@pytest.mark.slow
def test_other_runs_have_every_case_that_they_ask_for(tmp_path, words, environment, expected):
    assert collected(tmp_path, *words, **environment)[0] == expected


def test_the_tests_of_real_agents_find_their_fixtures():
    """A fixture in the conftest of another package is not seen, and no ordinary run notices."""
    marked = [path for path in Path(ROOT, "tests").rglob("test_*.py") if MARKED in path.read_text()]
    words = ["-p", "no:xdist", "--assert=plain", "--setup-plan", "-m", "realagents", *marked]
    done = run_program(PROGRAM, words, {**os.environ, "PYTHONPATH": ROOT}, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert len(re.findall(r"::test_.*programs", done.stdout)) > len(marked) >= 4


def table(*sizes):
    """Return the cases of a product of parameters as pytest numbers them."""
    return [{str(name): value for name, value in enumerate(case)} for case in itertools.product(*map(range, sizes))]


@pytest.mark.parametrize("count", [2, 3, 4, 11, 50])
@pytest.mark.parametrize("shift", [0, 1, 12345])
def test_the_first_and_the_last_case_and_others_far_apart_are_taken(count, shift):
    chosen = choose(table(100), count, shift)
    assert (chosen[0], chosen[-1], len(chosen), chosen) == (0, 99, count, sorted(set(chosen)))
    assert max(after - before for before, after in itertools.pairwise(chosen)) <= 2 * 100 / (count - 1)


@pytest.mark.parametrize("shift", [0, 1, 12345])
@pytest.mark.parametrize("sizes", [(3, 40), (40, 3), (2, 5, 7), (4, 4, 4, 4), (8, 8)])
def test_every_value_of_a_parameter_with_few_values_is_taken(sizes, shift):
    cases = table(*sizes)
    taken = [cases[position] for position in choose(cases, 12, shift)]
    for name, size in enumerate(sizes):
        if size <= 5:
            assert {case[str(name)] for case in taken} == set(range(size))


def test_tests_with_the_same_table_have_other_cases_of_it():
    inner = {position for shift in range(40) for position in choose(table(100), 5, shift)}
    assert len(inner) > 90


def test_a_short_table_is_whole():
    assert choose(table(3), 3, 1) == [0, 1, 2]
    assert choose(table(3), 2, 1) == [0, 2]
    assert choose(table(3), 1, 1) == [0]
    assert choose([], 3, 1) == []
