"""A transcript that comes through a pipe: it is kept beside, since a source is read more than once."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO

from scopes.importers.format import Source


@dataclass(frozen=True, slots=True)
class Piped(Source):
    """What came through a pipe, in a file that goes away with the process."""

    file: Any = field(compare=False, kw_only=True)

    def open(self) -> BinaryIO:
        """Open it for reading from its beginning."""
        return open(self.file.name, "rb")


def spool(stream: BinaryIO, name: str) -> Source:
    """Read a stream to its end, on disk, and return it as a source that was asked for."""
    file = NamedTemporaryFile(prefix="scopes-")  # noqa: SIM115 - it lives as long as the source
    shutil.copyfileobj(stream, file)
    file.flush()
    return Piped(name, file.tell(), named=True, file=file)
