"""Which cases of a parametrized test an ordinary run has: few of a slow one, far apart, and the same every time.

A thorough run (`TEST_EXAMPLES=all`), a run of the sweeps and a run of tests that are named one by one have all cases.
This holds for tests that create files: a table of two cases is whole, because they are often the two sides of one statement,
and a longer one has one case. A test that only computes has 10 of its cases, spread over the table.
`@pytest.mark.cases(NUMBER)` gives a test another number, or those tests of a module that create files;
`@pytest.mark.every_case(REASON)` gives it all cases.

An ordinary run has a sample of the tests that are marked `slow`: one of `SLOW_TESTS`, chosen by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

from tests.support.examples import is_thorough

COMPUTED = 10
WITH_FILES = 1
SLOW_TESTS = 8
WHOLE = 2  # cases of a table that is not shortened
NOT_ORDINARY = ("sweep", "realagents")


def is_ordinary(config: Any) -> bool:
    """Return True if the run is to be short: it is not thorough, leaves sweeps out, and names no single test."""
    return (
        not is_thorough()
        and "not sweep" in config.option.markexpr
        and not any("::" in argument for argument in config.args)
    )


def is_sampled(name: str) -> bool:
    """Return True if a slow test with this name is in every ordinary run."""
    return crc32(name.encode()) % SLOW_TESTS == 0


def limit_cases(metafunc: Any) -> None:
    """Leave out cases of a test before pytest makes items of them: items are a large part of the time of a run."""
    calls = [call for call in metafunc._calls if not any(mark.name in NOT_ORDINARY for mark in call.marks)]
    if calls:
        chosen = choose(
            [_values(call.params) for call in calls],
            _find_limit(metafunc, len(calls)),
            crc32(metafunc.definition.nodeid.encode()),
        )
        metafunc._calls[:] = [calls[position] for position in chosen]


def _values(parameters: Mapping[str, object]) -> dict[str, int]:
    """Return numbers for the values of a case: rows of a table share their words, small numbers and True."""
    return {name: id(value) for name, value in parameters.items()}


def _find_limit(metafunc: Any, all_cases: int) -> int:
    definition = metafunc.definition
    if definition.get_closest_marker("every_case"):
        return all_cases
    creates_files = "tmp_path" in metafunc.fixturenames
    for node, mark in definition.iter_markers_with_node("cases"):
        if creates_files or node is definition:
            return int(mark.args[0])
    if creates_files:
        return WITH_FILES if all_cases > WHOLE else all_cases
    return COMPUTED


def choose(cases: Sequence[Mapping[str, int]], count: int, shift: int) -> list[int]:
    """Return the positions of `count` cases: the first, the last, and one in each of equal stretches between them.

    A case maps the names of its parameters to numbers for their values. In a stretch, the case with the most values
    that no chosen case has yet is taken. Of equally good ones the `shift` decides: it differs from test to test, so that
    tests with the same table have other cases of it.
    """
    if len(cases) <= count:
        return list(range(len(cases)))
    chosen = [0, len(cases) - 1][:count]
    seen = {value for position in chosen for value in cases[position].items()}
    inner = range(1, len(cases) - 1)
    for number in range(count - len(chosen)):
        start, end = (len(inner) * (number + step) // (count - 2) for step in (0, 1))
        stretch = [inner[start + (shift + step) % (end - start)] for step in range(end - start)]
        best = max(stretch, key=lambda position: len(cases[position].items() - seen))
        seen |= cases[best].items()
        chosen.append(best)
    return sorted(chosen)
