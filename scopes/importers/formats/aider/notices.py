"""Read what Aider says in its notices: models, tokens, files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.model.message import FileTouch

_MODEL = re.compile(r"^(?:Main model|Models?): (\S+?)\u26a1? with ", re.MULTILINE)
_NUMBER = r"(\d[\d,]{0,15}(?:\.\d{1,6})?[kM]?)"
_TOKENS = re.compile(rf"^Tokens: {_NUMBER} sent[^\n]{{0,200}}? {_NUMBER} received", re.MULTILINE)
_WRITTEN = re.compile(rf"{_NUMBER} cache write")
_READ = re.compile(rf"{_NUMBER} (?:cache hit|cached)")
_FILES = re.compile(r"^(?:Applied edit to (\S[^\n]{0,4000})|Added (\S[^\n]{0,4000}) to the chat\.?)$", re.MULTILINE)
_COUNTS = ("input_uncached", "cache_read", "cache_write", "output")
_INTERRUPT = "^C KeyboardInterrupt"
_UNITS = {"k": 1000, "M": 1_000_000}


def find_model(notice: str) -> str | None:
    """Return the model that a notice names last; None if it names none."""
    found = _MODEL.findall(notice)
    return str(found[-1]) if found else None


def read_usage(notice: str) -> Mapping[str, Any] | None:
    """Return the tokens of the answer before a notice; large numbers are rounded there.

    A notice has several counts if the model was asked again before it answered.
    """
    lines = [found[0] for found in _TOKENS.finditer(notice)]
    if not lines:
        return None
    totals = [sum(column) for column in zip(*map(_read_line, lines), strict=True)]
    return {**dict(zip(_COUNTS, totals, strict=True)), "raw": {"notice": "\n".join(lines)}}


def _read_line(line: str) -> tuple[int, ...]:
    """Return the counts of a line, named as _COUNTS.

    Newer versions count cached tokens as sent too: if they can be part of the sent ones, they are.
    """
    found = _TOKENS.match(line)
    sent, received = (0, 0) if found is None else (_count(found[1]), _count(found[2]))
    written, read = (_count(each[1]) if (each := form.search(line)) else 0 for form in (_WRITTEN, _READ))
    included = written + read if written + read <= sent else 0
    return sent - included, read, written, received


def find_touches(notice: str) -> Iterator[FileTouch]:
    """Yield the files that a notice says were edited, or added to the chat."""
    for edited, added in _FILES.findall(notice):
        yield FileTouch(edited or added, "edit" if edited else "mention")


def is_interrupt(notice: str) -> bool:
    """Return True if a notice says that the user interrupted an answer."""
    return _INTERRUPT in notice


def _count(text: str) -> int:
    unit = _UNITS.get(text[-1], 1)
    return round(float(text.rstrip("kM").replace(",", "")) * unit)
