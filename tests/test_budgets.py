"""The program stays small: every package has a budget of lines and files, which only goes down."""

from __future__ import annotations

import pytest

from tests.budgets import measure, read_budgets

SLACK = 0.03  # a budget may be so much above the size before it has to be lowered


@pytest.mark.parametrize("name", [pytest.param(name) for name in sorted(measure())])
@pytest.mark.every_case("each is a package")
def test_nothing_is_larger_than_its_budget(name):
    budgets = read_budgets()
    assert name in budgets, f"{name} has no budget in tests/budgets.toml: take its lines from another one"
    (lines, files), (most_lines, most_files) = measure()[name], budgets[name]
    assert (lines <= most_lines, files <= most_files) == (True, True), (
        f"{name} has {lines} lines in {files} files, its budget is {most_lines} in {most_files}"
    )


def test_budgets_go_down_with_the_code():
    sizes = measure()
    high = [
        name
        for name, (lines, files) in read_budgets().items()
        if name not in sizes or lines * (1 - SLACK) > sizes[name][0] or files * (1 - SLACK) > sizes[name][1]
    ]
    assert high == [], "lower them: python -m tests.budgets"
