"""Long command lines: looking for what the grammar misreads, or for files, does not take the square of their length."""

from __future__ import annotations

import pytest

from scopes.check.shell import parse_commands
from scopes.check.shell_files import MAX_LENGTH, Files

SIZE = 100_000  # with patterns that take the square of it, one of these lines takes minutes


@pytest.mark.parametrize(
    "line",
    [
        f"sed 's/{'[' * SIZE}/x/'",
        "declare " * (SIZE // 8),
        f"rm -rf build/$a{'/../$a' * (SIZE // 6)}",
        f"echo > x.py; PYTHONPATH={'a:' * (SIZE // 2)} python3 -m {'a.' * (SIZE // 2)}b",
    ],
)
@pytest.mark.cases(2)
def test_a_command_behind_a_long_one_is_found(line):
    assert parse_commands(f"{line}; git push --force", "/w")[-1].argv == ("git", "push", "--force")


def test_a_path_that_no_disk_can_have_counts_as_one_that_was_written():
    files = Files()
    assert files.find("/" + "a/" * MAX_LENGTH) is None
    files.write("/w/x", "ls")
    assert files.find("/" + "a/" * MAX_LENGTH).is_unread
