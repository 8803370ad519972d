"""Gates for everything that leaves a store: only bytes that are `Cleared` may be written, and only a `Gate` makes them.

A gate refuses data with secrets, replaces the secrets, or allows them once. A secret has an id, a keyed hash: equal
secrets have equal ids in one store, and an id reveals nothing about the secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final, get_args

from scopes.errors import SecretsFound
from scopes.secret_scan import prefilter
from scopes.secret_scan.cut_ends import find_cut_ends
from scopes.secret_scan.members import NOTHING, Around, around_item, around_member, is_ciphertext, walk_texts
from scopes.secret_scan.repeated_keys import EVERY_VALUE, RepeatedKeys
from scopes.secret_scan.scan import Found, scan_member, scan_text

Mode: TypeAlias = Literal["refuse", "redact", "allow"]
MODES: Final[tuple[str, ...]] = get_args(Mode)
Identify: TypeAlias = Callable[[str, str], str]
"""Returns the id of a secret, given its rule and its value."""

_MAKER: Final = object()
_SHOWN: Final = 4  # characters of an id in a placeholder
_MAX_NAMED: Final = 5
_PLACEHOLDER: Final = re.compile(r"\[redacted:[a-z0-9-]+(?::[0-9a-f]{1,32})?\]")
_HINT: Final = (
    "replace them: --secrets redact; look at one: scopes secrets explain ID; it is none: scopes secrets allow ID; "
    "let them pass this time: --secrets allow"
)


@final
@dataclass(frozen=True, slots=True)
class Cleared:
    """Bytes that passed a gate; only a gate can create them."""

    data: bytes
    maker: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.maker is not _MAKER:
            raise TypeError("only a gate clears what leaves")


class Leak(NamedTuple):
    """A secret that would leave: its place, rule and id; `line` counts from 1 in its text."""

    place: str
    rule: str
    id: str
    line: int

    def __str__(self) -> str:
        return f"{self.place}, line {self.line}: {self.rule} ({self.id[:8]})"


class Gate:
    """Checks everything that leaves by one command or output.

    Attributes:
        mode: "refuse" raises, "redact" replaces secrets by placeholders, and "allow" checks nothing.
    """

    def __init__(self, mode: Mode, identify: Identify, allowed: Container[str] = ()) -> None:
        self.mode = mode
        self._redacted: set[str] = set()
        self._passed: set[str] = set()
        self._known: set[str] = set()  # the values of all that was found, without blanks
        self._identify = identify
        self._allowed = allowed
        self._leaks: list[Leak] = []

    def first_leak(self, text: str, place: str) -> Leak | None:
        """Return the first secret of a text that is not allowed; None if there is none."""
        return None if self.mode == "allow" else next(iter(self._list_leaks(scan_text(text), text, place)), None)

    def inspect(self, data: bytes, place: str) -> bool:
        """Record the secrets in a stored JSON line or in a text, for `refuse_leaks`, unless they are allowed.

        Return True if there are any.
        """
        before = len(self._leaks)
        if self.mode != "allow" and prefilter.may_hold_secret(data):
            document = _parse(data)
            for _, text, around in walk_texts(document):
                self._leaks += self._list_leaks(scan_member(text, around), text, place)
        return len(self._leaks) > before

    def inspect_text(self, text: str, place: str) -> None:
        """Record the secrets in a text, for `refuse_leaks`, unless they are allowed."""
        if self.mode != "allow":
            self._leaks += self._list_leaks(scan_text(text), text, place)

    def inspect_part(self, text: str, place: str) -> None:
        """Record the secrets in a part of a text that was inspected before, unless they are parts of known ones."""
        if self.mode != "allow":
            self._leaks += self._list_leaks(self._without_known(scan_text(text)), text, place)

    def _without_known(self, found: list[Found]) -> list[Found]:
        return [each for each in found if not any(_bare(each.value) in whole for whole in self._known)]

    def inspect_name(self, text: str, place: str) -> None:
        """Record the secrets in a title, a subject or another text that may be cut, and the beginnings of cut secrets.

        A part of a secret that was found before, such as in a message, is not reported: it has no id that could be
        allowed.
        """
        if self.mode != "allow":
            found = scan_text(text)
            ends = [end for end in find_cut_ends(text) if not any(_overlap(end, each) for each in found)]
            self._leaks += self._list_leaks(self._without_known([*found, *ends]), text, place)

    @property
    def redacted(self) -> int:
        """How many different secrets were replaced."""
        return len(self._redacted)

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """The secrets that were found and are not allowed, each place once."""
        return tuple(dict.fromkeys(self._leaks))

    @property
    def has_found_nothing(self) -> bool:
        """Return True if nothing looked like a secret so far, not even allowed ones."""
        return not self._leaks and not self._passed

    def refuse_leaks(self) -> None:
        """Raise an error about the secrets that `inspect` found.

        Raises:
            SecretsFound: there is one.
        """
        if self._leaks:
            leaks = list(dict.fromkeys(self._leaks))
            count = len(leaks)
            named = "; ".join(map(str, leaks[:_MAX_NAMED])) + (
                f"; and {count - _MAX_NAMED} more" if count > _MAX_NAMED else ""
            )
            what = "a possible secret" if count == 1 else f"{count} possible secrets"
            raise SecretsFound(f"{what} would leave the store: {named}", hint=_HINT)

    def clear_inspected(self, data: bytes) -> Cleared:
        """Return bytes as cleared, after everything in them was given to `inspect`.

        Raises:
            SecretsFound: there was a secret.
            ValueError: the gate replaces secrets, which `inspect` does not do.
        """
        if self.mode == "redact":
            raise ValueError("what was only inspected cannot be redacted")
        self.refuse_leaks()
        return Cleared(data, _MAKER)

    def clear_encoded(self, data: bytes) -> Cleared:
        """Return bytes as cleared that encode only results of `clear_document` or `clear_text`, such as a table.

        Raises:
            SecretsFound: there was a secret.
        """
        self.refuse_leaks()
        return Cleared(data, _MAKER)

    def clear(self, data: bytes, place: str) -> Cleared:
        """Return the bytes as cleared, with secrets replaced if the gate redacts.

        Raises:
            SecretsFound: they have a secret, and the gate refuses.
        """
        if self.may_change(data):
            text = data.decode("utf-8", "surrogateescape")
            cleared = self.clear_text(text, place)
            data = data if cleared == text else cleared.encode("utf-8", "surrogateescape")
        return Cleared(data, _MAKER)

    def clear_line(self, data: bytes, place: str) -> bytes:
        """Return a line of JSON with each of its texts cleared; a line that is not JSON is cleared as a text.

        Raises:
            SecretsFound: it has a secret, and the gate refuses.
        """
        if not self.may_change(data):
            return data
        document = _parse(data)
        cleared = self.clear_document(document, place)
        if cleared == document:
            return data
        if isinstance(document, str):
            return str(cleared).encode("utf-8", "surrogateescape")
        text = json.dumps(cleared, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace") + data[len(data.rstrip(b"\r\n")) :]

    def clear_text(self, text: str, place: str) -> str:
        """Return a text with secrets replaced if the gate redacts; raises as `clear` does."""
        return self._clear_member(text, place, NOTHING)

    def clear_document(self, value: Any, place: str, around: Around = NOTHING) -> Any:
        """Return a JSON value with its texts and names of members cleared; raises as `clear` does."""
        if isinstance(value, str):
            return self._clear_member(value, place, around)
        if isinstance(value, Mapping):
            pairs = [
                (
                    self.clear_text(str(name), place),
                    self.clear_document(item, place, around_member(value, str(name))),
                )
                for name, item in value.items()
            ]
            return RepeatedKeys(pairs) if isinstance(value, RepeatedKeys) else dict(pairs)
        if isinstance(value, list | tuple):
            cleared = [
                self.clear_document(item, place, around_item(value, number)) for number, item in enumerate(value)
            ]
            return cleared if isinstance(value, list) else tuple(cleared)
        return value

    def clear_name(self, text: str, place: str) -> str:
        """Return a cleared title or subject: the beginning of a cut secret is replaced in it, never refused.

        It has no id that could be allowed; the complete secret is in the message. Raises as `clear` does.
        """
        cleared = self.clear_text(text, place)
        return self._replace(cleared, [], find_cut_ends(cleared)) if self.mode == "refuse" else cleared

    def _clear_member(self, text: str, place: str, around: Around) -> str:
        if self.mode == "allow":
            return text
        found = scan_member(text, around)
        if self.mode == "refuse":
            self._leaks += self._list_leaks(found, text, place)
            self.refuse_leaks()
            return text
        is_opaque = around.is_opaque and is_ciphertext(text)
        return self._replace(text, found, [] if is_opaque else find_cut_ends(text))

    def _replace(self, text: str, found: list[Found], ends: list[Found]) -> str:
        """Return a text with placeholders for secrets that are not allowed, and for the beginnings of cut secrets."""
        places = [(each, self._identify(each.rule, each.value)) for each in found]
        places += [(end, "") for end in ends if not any(_overlap(end, each) for each in found)]
        pieces, position = [], 0
        for each, secret in sorted(places, key=lambda place: place[0].start):  # one place may have several secrets
            if secret not in self._allowed and each.start >= position:
                shown = placeholder(each.rule, secret)
                pieces += [text[position : each.start], shown]
                position = each.end
                self._redacted.add(secret or shown)
        return "".join([*pieces, text[position:]])

    def may_change(self, data: bytes) -> bool:
        """Return False if `clear` would return these bytes unchanged; this takes a fraction of its time."""
        if self.mode == "allow":
            return False
        return prefilter.may_hold_secret(data) or (self.mode == "redact" and prefilter.may_hold_beginning(data))

    def _list_leaks(self, found: list[Found], text: str, place: str) -> list[Leak]:
        ids = [(each, self._identify(each.rule, each.value)) for each in found]
        self._passed.update(each.value for each, secret in ids if secret in self._allowed)
        self._known.update(_bare(each.value) for each, _ in ids)
        return [
            Leak(place, each.rule, secret, text.count("\n", 0, each.start) + 1)
            for each, secret in ids
            if secret not in self._allowed
        ]


def _overlap(one: Found, other: Found) -> bool:
    return one.start < other.end and other.start < one.end


def placeholder(rule: str, secret: str) -> str:
    """Return the placeholder of a secret: it names the rule, and is the same for the same secret of a store."""
    return f"[redacted:{rule}:{secret[:_SHOWN]}]" if secret else f"[redacted:{rule}]"


def count_placeholders(text: str) -> int:
    """Return how many different secrets were replaced in a text."""
    return len(set(_PLACEHOLDER.findall(text)))


def without_store() -> Gate:
    """Return a gate that redacts data of no store; its placeholders have no ids."""
    return Gate("redact", lambda _rule, _value: "")


def _bare(value: str) -> str:
    """Return a value without spaces and line ends: in a title or a subject a key of several lines is on one line."""
    return "".join(value.split())


def _parse(data: bytes) -> Any:
    """Return the value of a line of JSON; a line that is not JSON as a text."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        value = EVERY_VALUE.decode(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text
