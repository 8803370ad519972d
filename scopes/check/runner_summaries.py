"""Read from the output of a test run that it failed, by the summary line of the test runner.

Only failures are concluded: an agent can print `5 passed` itself.
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
)
# Test runners with one summary for each package: all of one run count.
_EACH = (
    (compile_lazily(r"(FAIL|ok  )\t\S.*"), r"^FAIL"),
    (compile_lazily(r"test result: (FAILED|ok)\. \d+ passed; \d+ failed;.*"), r"^test result: FAILED"),
)


def has_failed(output: str, runs: int) -> bool:
    """Return True if the output has the summary of a failed test run; of several runs the last one counts."""
    lines = [_ESCAPE.sub("", line).rstrip() for line in output[-MAX_OUTPUT:].splitlines()]
    for summary, failure in (*_LAST, *_EACH):
        found = [line for line in lines if len(line) < 500 and summary.fullmatch(line)]
        decisive = found if (summary, failure) in _EACH and runs == 1 else found[-1:]
        if any(re.search(failure, line) for line in decisive):
            return True
    return False
