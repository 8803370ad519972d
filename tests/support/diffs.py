"""Apply the lines of a unified diff, so that tests can say what a diff must lead to."""

from __future__ import annotations

import re

_HUNK = re.compile(r"@@ -([0-9]+)(?:,([0-9]+))? \+[0-9,]+ @@")


def apply_lines(old, lines):
    """Return the lines of the new text: those of the old one with the hunks applied, which must fit."""
    result, position = [], 0
    for line in lines:
        hunk = _HUNK.fullmatch(line)
        if hunk is not None:
            start = int(hunk[1]) - (hunk[2] != "0")
            result += old[position:start]
            position = start
        elif line[0] == "+":
            result.append(line[1:])
        else:
            assert old[position] == line[1:]
            position += 1
            result += [line[1:]] * (line[0] == " ")
    return [*result, *old[position:]]
