"""Collections: a database or a folder with many conversations, each of which becomes a source of its own.

The bytes of such a source are the rows of its conversation as lines of JSON (`row_lines`), and one of the formats
reads them like a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from scopes.importers.formats.database import Database

SEPARATOR = "#"  # between the path of a collection and the id of a conversation


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of a collection.

    name: the agent's id of it
    lines: its rows; they are read once
    messages: the agent's ids of its messages, complete when all lines were read
    """

    name: str
    lines: Iterable[bytes]
    messages: set[str]


class DatabaseCollection(Protocol):
    """Databases of an agent."""

    @property
    def format(self) -> str:
        """Name of the format that reads the lines."""

    @property
    def tables(self) -> tuple[Mapping[str, tuple[str, ...]], ...]:
        """Tables with columns by which such a database is recognized; one of several sets is enough."""

    def walk_conversations(self, database: Database) -> Iterator[Conversation]:
        """Yield the conversations in the order of their ids; the lines of each are read before the next one."""


class FolderCollection(Protocol):
    """Folders of an agent in which every record is a file."""

    @property
    def format(self) -> str:
        """Name of the format that reads the lines."""

    @property
    def subfolders(self) -> frozenset[str]:
        """The names of subfolders that such a folder has."""

    def recognizes(self, folder: str) -> bool:
        """Return True if a folder with these subfolders is one; False if it does not have them."""

    def explain_incomplete(self, folder: str) -> str | None:
        """Return what such a folder lacks without which it is not recognized; None if it is another one, or whole."""

    @property
    def depth(self) -> int:
        """How many folders are above a file, up to and including the collection."""

    def walk_conversations(self, folder: str) -> Iterator[Conversation]:
        """Yield the conversations in the order of their ids; the lines of each are read before the next one."""
