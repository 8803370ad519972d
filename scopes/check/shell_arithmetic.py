"""Find texts that arithmetic of bash runs: it expands the subscript of an array in a value, quoted or not.

`let 'a[$(x)]=1'`, `(( b = 'a[$(x)]' ))` and `[[ 'a[$(x)]' -eq 1 ]]` run x, and so does `((b))` after `b='a[$(x)]'`.
"""

from __future__ import annotations

from typing import Final

from scopes.lazy_patterns import compile_lazily

_TOKEN: Final = compile_lazily(r"\w\[|[\[\]`]|\$\(")
_SINGLE_QUOTED: Final = compile_lazily(r"'([^']*)'")
_ESCAPED: Final = compile_lazily(r"\\(?:\$\(|`)")


def runs_in_subscript(value: str) -> bool:
    """Return True if a command substitution is in the subscript of an array."""
    depth = 0
    for match in _TOKEN.finditer(value) if "$(" in value or "`" in value else ():
        mark = match[0]
        if mark == "]":
            depth = max(0, depth - 1)
        elif mark in {"$(", "`"}:
            if depth:
                return True
        elif depth or mark != "[":
            depth += 1
    return False


def has_quoted_subscript(text: str) -> bool:
    """Return True if a source text has a subscript with a command substitution that only arithmetic would run."""
    if "$(" not in text and "`" not in text:
        return False
    quoted = (match[1] for match in _SINGLE_QUOTED.finditer(text))
    return any(map(runs_in_subscript, quoted)) or (_ESCAPED.search(text) is not None and runs_in_subscript(text))
