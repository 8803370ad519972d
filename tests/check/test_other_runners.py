"""Summaries of failed tests of maven, rspec, dotnet, TAP, gradle, phpunit and ctest."""

from __future__ import annotations

import pytest

from scopes.check.runner_summaries import has_failed


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE", True),
        ("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS", False),
        ("3 examples, 1 failure", True),
        ("3 examples, 0 failures, 1 pending", False),
        ("Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3", True),
        ("Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2", False),
        ("# tests 3\n# pass 1\n# fail 2", True),
        ("# tests 3\n# pass 3\n# fail 0", False),
        ("ok 1 - a\nnot ok 2 - b", True),
        ("not ok 2 - b # TODO later", False),
        ("3 tests completed, 1 failed\nBUILD FAILED in 2s", True),
        ("BUILD SUCCESSFUL in 2s", False),
        ("Tests: 3, Assertions: 3, Failures: 1.", True),
        ("OK (3 tests, 3 assertions)", False),
        ("66% tests passed, 1 tests failed out of 3", True),
        ("100% tests passed, 0 tests failed out of 3", False),
    ],
)
def test_the_summary_of_a_runner_tells_that_tests_failed(output, failed):
    assert has_failed(output, 1) is failed
