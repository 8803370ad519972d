"""Read from the output of a test run that it failed, or found no test, by the summary lines of the test runner.

That tests passed is never concluded: an agent can print `5 passed` itself.
"""

from __future__ import annotations

import re

from scopes.lazy_patterns import compile_lazily

MAX_OUTPUT = 200_000  # characters at the end
_ESCAPE = compile_lazily(r"\x1b\[[0-9;]*[A-Za-z]")
_COUNT = r"\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)"
# For each test runner its summary, and what a summary of failures contains.
_LAST = (
    (
        compile_lazily(rf"(?:=+ )?{_COUNT}(?:, {_COUNT}){{0,9}} in \d+(?:\.\d+)?s(?: \([\d:]+\))?(?: =+)?"),
        r"\b\d+ (?:failed|errors?)\b",
    ),
    (compile_lazily(r"FAILED \((?:failures|errors|unexpected successes)=\d+.*\)|OK(?: \(.*\))?"), r"^FAILED"),
    (compile_lazily(r"Tests: +(?:\d+ \w+, ){1,5}\d+ total"), r" \d+ failed"),
    (compile_lazily(r" *Tests  ?(?:\d+ \w+(?: \| )?){1,5} \(\d+\)"), r" \d+ failed"),
    (compile_lazily(r"\d+ examples?, \d+ failures?(?:, .*)?"), r", [1-9]\d* failures?"),  # rspec
    (compile_lazily(r"BUILD SUCCESSFUL in \d.*|\d+ tests? completed, \d+ failed.*"), r" [1-9]\d* failed"),
    (
        compile_lazily(r"Tests: \d+, Assertions: \d+.*|OK \(\d+ tests?, \d+ assertions?\)"),
        r"(?:Failures|Errors): [1-9]",
    ),
    (compile_lazily(r"\d+% tests passed, \d+ tests? failed out of \d+"), r", [1-9]\d* tests? failed"),  # ctest
    (compile_lazily(r"(?:#|\u2139) fail \d+"), r" [1-9]\d*$"),  # TAP of node
)
# Test runners with one summary for each package: all of one run count.
_EACH = (
    (compile_lazily(r"(FAIL|ok  )\t\S.*"), r"^FAIL"),
    (compile_lazily(r"(?:\[\w+\] +)?Tests run: \d+, Failures: \d+.*"), r"(?:Failures|Errors): [1-9]"),  # of maven
    (compile_lazily(r"(?:Failed|Passed)!  ?- Failed: +\d+, .*| +Failed: +\d+"), r"Failed: +[1-9]"),  # of dotnet
    (compile_lazily(r"not ok \d+(?! .*# (?i:todo|skip)).*"), r"^not ok"),  # TAP
    (compile_lazily(r"test result: (FAILED|ok)\. \d+ passed; \d+ failed;.*"), r"^test result: FAILED"),
)
# What test runners and shells print if there was no test to run, or no test runner; and if there was one.
_NONE = compile_lazily(
    r"(?:=+ )?(?:no tests ran|\d+ deselected)(?:, \d+ warnings?)? in \d+(?:\.\d+)?s(?: =+)?|collected 0 items|"
    r"Ran 0 tests in .*|NO TESTS RAN(?: \(.*\))?|No test(?:s| files) found, exiting with code \d+|"
    r"\?   \t\S+\t\[no test files\]|ok  \t.*\[no tests to run\]|running 0 tests|"
    r"0 examples, 0 failures.*|No tests executed!|No tests were found!!!|\[INFO\] No tests to run\.|"
    r"\S*: No module named '?(?:pytest|unittest|coverage|tox|nox|nose2?)'?|"
    r"(?:\S*: )?(?:line \d+: )?(?:\S+: command not found|command not found: \S+)|(?:\S+: \d+: )?\S+: not found|"
    r"npm (?:error|ERR!) Missing script: \S+|make: \*\*\* No rule to make target .*|error: Failed to spawn: .*"
)
_SOME = compile_lazily(
    rf"(?:=+ )?(?:.*, )?\d+ (?:failed|passed|skipped|xfailed|xpassed|errors?|rerun)(?:, {_COUNT})* in \d.*|"
    r"Ran [1-9]\d* tests? in .*|Tests: +.*\b[1-9]\d* total| *Tests  ?(?:\d+ \w+(?: \| )?){1,5} \([1-9]\d*\)|"
    r"FAIL(?:\t.*)?|ok  \t(?!.*\[no tests to run\]).*|running [1-9]\d* tests?|[1-9]\d* examples?, \d+ failures?.*|"
    r"OK \([1-9]\d* tests?, .*\)|(?:\[\w+\] +)?Tests run: [1-9].*|--- (?:PASS|FAIL|SKIP): .*"
)


def has_failed(output: str, runs: int) -> bool:
    """Return True if the output has the summary of a failed test run; of several runs the last one counts."""
    lines = _lines_of(output)
    for summary, failure in (*_LAST, *_EACH):
        found = [line for line in lines if summary.fullmatch(line)]
        decisive = found if (summary, failure) in _EACH and runs == 1 else found[-1:]
        if any(re.search(failure, line) for line in decisive):
            return True
    return False


def has_a_failure(output: str) -> bool:
    """Return True if one of the summaries in the output is that of a failed test run."""
    lines = _lines_of(output)
    found = ((line, failure) for summary, failure in (*_LAST, *_EACH) for line in lines if summary.fullmatch(line))
    return any(re.search(failure, line) for line, failure in found)


def ran_none(output: str) -> bool:
    """Return True if the output says that there was no test to run, and no summary of another run."""
    lines = _lines_of(output)
    return any(map(_NONE.fullmatch, lines)) and not any(map(_SOME.fullmatch, lines))


def find_summary(output: str) -> tuple[str, bool] | None:
    """Return the last summary of a test runner in an output, as short as people read it, and whether it is a failure.

    Of a runner with one summary for each package it says how many of them failed or passed.
    """
    lines = _lines_of(output)
    for summary, failure in _LAST:
        found = [line for line in lines if summary.fullmatch(line)]
        if found:
            short = re.sub(r"^[ =]*(?:Tests:? +)?| in \d.*$|[ =]*$", "", found[-1])
            return short, re.search(failure, found[-1]) is not None
    for summary, failure in _EACH:
        found = [line for line in lines if summary.fullmatch(line)]
        failed = sum(re.search(failure, line) is not None for line in found)
        if found:
            return (f"{failed} of {len(found)} failed" if failed else f"{len(found)} passed"), failed > 0
    return None


def _lines_of(output: str) -> list[str]:
    """Return the lines of an output that can be a summary."""
    lines = (_ESCAPE.sub("", line).rstrip() for line in output[-MAX_OUTPUT:].splitlines())
    return [line for line in lines if len(line) < 500]
