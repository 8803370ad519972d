"""Parse the text of a name: steps such as `~2`, `@{1}`, and what may be the prefix of an id; match prefixes.

Nothing is looked up in a store here: `revisions` does that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scopes.errors import Ambiguous, NotFound

LATEST = "@"
MIN_PREFIX_LENGTH = 4
_STEP = re.compile(r"[~^]([0-9]*)")
_LATEST = re.compile(r"@(?:(?P<one>-)|\{(?P<count>[0-9]{1,9})\})?")
_TIME_SUFFIX = re.compile(r"(?P<name>.*)@\{(?P<time>[^{}]*)\}", re.DOTALL)
_MAX_STEPS = 10**9


def parse_latest(text: str) -> int | None:
    """Return the position that `@`, `@-` or `@{2}` names: 0 is the latest; None for another text."""
    found = _LATEST.fullmatch(text)
    if found is None:
        return None
    return 1 if found["one"] else int(found["count"] or 0)


def split_time(text: str) -> tuple[str, str | None]:
    """Split `main@{2 hours ago}` into the name and the time or position; `@{2}` alone names a conversation."""
    found = None if parse_latest(text) is not None else _TIME_SUFFIX.fullmatch(text)
    return (text, None) if found is None else (found["name"], found["time"])


def split_steps(text: str) -> tuple[str, int]:
    """Split `main~2^` into the name and the number of steps back, without a regular expression that backtracks."""
    tail = text[len(text.rstrip("~^0123456789")) :]
    first = _STEP.search(tail)
    if first is None:
        return text, 0
    steps = tail[first.start() :]
    counts = _STEP.findall(steps)
    return text.removesuffix(steps), sum(int(n or 1) if len(n) < 10 else _MAX_STEPS for n in counts)


def is_short_prefix(text: str) -> bool:
    """Return True if a text would be the prefix of an id if it were longer."""
    return len(text) < MIN_PREFIX_LENGTH and text.isascii() and text.isalnum() and text == text.lower()


def could_be_id(text: str) -> bool:
    """Return True if a text may be the prefix of the id of a message or commit."""
    return len(text) >= MIN_PREFIX_LENGTH and text.isascii() and text.isalnum() and text == text.lower()


def may_be_root(text: str) -> bool:
    """Return True if a text may be the beginning of the id of a root commit, or the whole id."""
    return 7 <= len(text) <= 40 and not text.strip("0123456789abcdef")


def may_name_message(text: str) -> bool:
    """Return True if a text may name a message without `CONV/` before it: by its id, or by steps or a time."""
    return could_be_id(text) or text.startswith(LATEST) or split_steps(text)[1] > 0 or split_time(text)[1] is not None


def match_prefix(text: str, candidates: Iterable[str], what: str, hint: str | None, *, whole: bool = False) -> str:
    """Return the candidate that equals the text, or the only one that it is a prefix of, unless it has to be `whole`.

    Raises:
        Ambiguous: several match; with the first of them.
        NotFound: none does; `what` names it in the message, and the hint has the nearest names, or else `hint`.
    """
    known = list(candidates)
    if text in known:
        return text
    found = [name for name in known if name.startswith(text)]
    if len(found) == 1 and not whole:
        return found[0]
    if len(found) == 1:
        article = "an" if what[0] in "aeio" else "a"
        hint = f"did you mean {found[0]}? A command that changes something needs the whole name of {article} {what}"
        raise NotFound(f"there is no {what} {text!a}", hint=hint)
    if found:
        more = f" and {len(found) - 8} more" if len(found) > 8 else ""
        raise Ambiguous(
            f"{text!a} matches several: {', '.join(sorted(found)[:8])}{more}", hint="type a few more letters"
        )
    near = find_nearest(text, known)
    raise NotFound(f"there is no {what} {text!a}", hint=f"did you mean {' or '.join(near)}?" if near else hint)


def find_nearest(text: str, known: list[str]) -> list[str]:
    """Return up to three names similar to a text, best first; those one edit away alone, if there are any.

    Of names that differ from it in their number alone, `conv-39` means only `conv-039` or a number one edit away.
    """
    stem, _, number = text.rpartition("-")
    if number.isdecimal():
        same_number = [name for name in known if name.removeprefix(f"{stem}-").lstrip("0") == number.lstrip("0")]
        if same_number:
            return same_number[:3]
    from difflib import get_close_matches

    similar = get_close_matches(text, known)
    nearest = [name for name in similar if _is_one_edit_away(text, name)]
    return nearest or [name for name in similar if not number.isdecimal() or name.rpartition("-")[0] != stem]


def _is_one_edit_away(left: str, right: str) -> bool:
    """Return True if one character must be inserted, removed or replaced to turn a text into another."""
    shorter = min(len(left), len(right))
    start = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    a, b = left[start:], right[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:]
