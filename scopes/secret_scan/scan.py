"""Find the secrets in texts and JSON documents, in the forms that `decoding` undoes.

The time is linear in the length of the text, and long texts are read in windows, so that memory is bounded. Secrets in
hex, and those divided by line breaks, are not found.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from scopes.lazy_patterns import compile_lazily
from scopes.secret_patterns import GENERAL, Secret, find_secrets
from scopes.secret_scan import prefilter
from scopes.secret_scan.checksums import is_possible
from scopes.secret_scan.decoding import decode_escapes, walk_encoded
from scopes.secret_scan.members import NOTHING, Around, Path, is_ciphertext, walk_texts

RULES_VERSION: Final = 7
"""Changed with the rules: what an older version found is looked for again."""

_SHORTEST: Final = 12  # characters of a secret with its required context: `://u:123456@`
_WINDOW: Final = 1 << 20
_OVERLAP: Final = 1 << 14  # no secret is longer
_KEY_END: Final = compile_lazily(r"-----END[^-]{0,40}-----|---- END[^-]{0,40}----")
_MAX_VALUE: Final = 400  # characters of a value that is searched together with its key


class Found(NamedTuple):
    """A secret: the rule, its place in the text, and its value, which may be encoded there."""

    rule: str
    start: int
    end: int
    value: str


class FoundInDocument(NamedTuple):
    """A secret in a text of a JSON document: the path of the text, and the secret in it."""

    path: Path
    found: Found


def scan_text(text: str, *, is_opaque: bool = False) -> list[Found]:
    """Return the secrets of a text in order; two have the same place, or do not overlap.

    is_opaque: the text is ciphertext or a signature, in which only fixed prefixes mean something
    """
    if len(text) < _SHORTEST:
        return []
    found = [each for start in range(0, len(text), _WINDOW) for each in _scan_window(text, start)]
    if is_opaque:
        found = [each for each in found if each.rule not in GENERAL]
    elif any(prefilter.may_hold_encoded(_bytes(window)) for window in _windows(text)):
        found += _walk_encoded(text)
    return _without_overlaps(found)


def scan_document(document: object) -> Iterator[FoundInDocument]:
    """Yield the secrets in the texts of a JSON value and in names of members; a name is text before its value."""
    for path, text, around in walk_texts(document):
        for found in scan_member(text, around):
            yield FoundInDocument(path, found)


def scan_member(text: str, around: Around = NOTHING) -> list[Found]:
    """Return the secrets of a text of a document, in its context, such as the name `password` of the member."""
    found = scan_text(text, is_opaque=around.is_opaque and is_ciphertext(text))
    if found or not around.before or len(text) > _MAX_VALUE:
        return found
    shift = len(around.before)
    assigned = _secrets_of(f'{around.before}{text}"')
    return [each._replace(start=each.start - shift, end=each.end - shift) for each in assigned if each.start >= shift]


def _scan_window(text: str, start: int) -> Iterator[Found]:
    """Yield the secrets that begin in a window; the text before and after it is read, too."""
    first = max(start - _OVERLAP, 0)
    window = text[first : start + _WINDOW + _OVERLAP]
    if not prefilter.may_hold_readable(_bytes(window)):
        return
    secrets = _secrets_of(window)
    decoded = decode_escapes(window)
    if decoded is not None:
        read = {each[:3] for each in secrets}  # `=` at the end of a line of base64 is an escape, too
        for rule, begin, end, value in _secrets_of(decoded.text, {*decoded.starts}):
            original = decoded.original(begin), decoded.original(end - 1) + 1
            if (rule, *original) not in read:
                secrets.append(Found(rule, *original, value))
    for found in secrets:
        if start <= found.start + first < start + _WINDOW:
            is_cut = found.rule == "private-key" and found.end == len(window)
            end = _end_of_key(text, first + found.end) if is_cut else first + found.end
            yield found._replace(start=found.start + first, end=end)


def _end_of_key(text: str, start: int) -> int:
    """Return the end of a private key that is longer than a window."""
    match = _KEY_END.search(text, start)
    return len(text) if match is None else match.end()


def _windows(text: str) -> Iterator[str]:
    return (text[start : start + _WINDOW + _OVERLAP] for start in range(0, len(text), _WINDOW))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _walk_encoded(text: str) -> Iterator[Found]:
    for stretch in walk_encoded(text):
        if not prefilter.may_hold_readable(stretch.text.encode()):
            continue
        for found in _secrets_of(stretch.text):
            yield Found(found.rule, stretch.start, stretch.end, found.value)


def _secrets_of(text: str, borders: Container[int] = ()) -> list[Found]:
    found = find_secrets(text, borders)
    return [Found(*each, value) for each in found if is_possible(each.kind, value := _value(text, each))]


def _value(text: str, secret: Secret) -> str:
    return text[secret.start : secret.end]


def _without_overlaps(found: list[Found]) -> list[Found]:
    """Return secrets whose places do not overlap; a rule with a prefix is preferred to a general one.

    A place with several secrets, such as a run of base64, has one entry for each.
    """
    ordered = sorted(set(found), key=lambda each: (each.start, each.rule in GENERAL, -each.end, each.rule))
    places: list[list[Found]] = []
    end = 0
    for each in ordered:
        if not places or each.start >= end:
            places.append([each])
            end = each.end
        elif each.rule not in GENERAL:
            places[-1].append(each)
            end = max(end, each.end)
    return [each for place in places for each in _secrets_of_place(place)]


def _secrets_of_place(found: list[Found]) -> list[Found]:
    """Return each secret of a place once, without partial finds of the same secret in another form of the text."""
    if len(found) == 1:
        return found
    start, end = found[0].start, max(each.end for each in found)
    kept: list[Found] = []
    for each in sorted(found, key=lambda each: (each.rule in GENERAL, -len(each.value))):
        if each.rule in GENERAL and kept:
            continue
        if not any(each.rule == other.rule and each.value in other.value for other in kept):
            kept.append(each._replace(start=start, end=end))
    return kept
