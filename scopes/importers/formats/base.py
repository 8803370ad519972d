"""The protocol that a format meets, and the choice of a source's format: by what it holds, never by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from scopes.errors import CannotImport
from scopes.importers.formats.compressed import SUFFIX, open_plain
from scopes.importers.formats.events import Event

SNIFF_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was when the import began: at least `size` bytes that are not changed, only added to.

    It is `named` where somebody has asked for this very file, and not for a folder that it is in.
    """

    path: str
    size: int
    named: bool = field(default=False, compare=False, kw_only=True)

    def open(self) -> BinaryIO:
        """Open it for reading from its beginning; what is compressed reads as what it holds."""
        return open_plain(self.path) if self.path.endswith(SUFFIX) else open(self.path, "rb")


class Format(Protocol):
    """One kind of transcript."""

    name: str
    """What the format is called in results and in the roots of conversations."""

    def sniff(self, head: bytes) -> bool:
        """Tell from its first 256 KiB whether a source is in this format."""

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session first, then the source in the order of its bytes, and an Ending last.

        A source of several conversations yields a Session and an Ending for each. No record stops it: what cannot be
        read is an Unparsed.
        """


def choose_format(formats: Sequence[Format], source: Source) -> Format:
    """Return the first format that recognises the source.

    Raises:
        CannotImport: none does.
    """
    with source.open() as stream:
        head = stream.read(min(SNIFF_BYTES, source.size))
    for candidate in formats:
        if candidate.sniff(head):
            return candidate
    known = ", ".join(candidate.name for candidate in formats)
    raise CannotImport(f"{source.path} is in no format that scopes reads", hint=f"formats: {known}")
