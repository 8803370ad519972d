"""Run the rule tests of a directory (`scopes check --test`): each transcript in a temporary store of its own."""

from __future__ import annotations

from scopes.check.check import check
from scopes.check.policy import Policy
from scopes.check.rule_tests import (
    Case,
    Expected,
    RuleTests,
    compare_expected,
    find_rule_tests,
    find_uncovered,
    parse_expected,
)
from scopes.cli.check_runner import read_text
from scopes.cli.check_targets import open_runs
from scopes.cli.invocation import Invocation
from scopes.conversation.list import ListFilter


def run_rule_tests(invocation: Invocation, directory: str, policy: Policy) -> RuleTests:
    """Compare the findings of the transcripts of a directory with those that are expected.

    Raises:
        Invalid: there is no test, or a file of expectations has a mistake.
    """
    cases: list[Case] = []
    all_expected: list[Expected] = []
    tests = find_rule_tests(directory)
    for test in tests:
        expected = parse_expected(read_text(test.path, "file of expectations"), test.path, policy)
        with open_runs(invocation, test.transcripts, [], ListFilter()) as runs:
            checked = check(runs.repository, runs.scopes, policy, missing=runs.missing, empty=runs.empty)
        cases += compare_expected(test.name, expected, checked)
        all_expected += expected
    return RuleTests(
        tests=tuple(test.name for test in tests), cases=tuple(cases), uncovered=find_uncovered(policy, all_expected)
    )
