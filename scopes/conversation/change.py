"""One row of the change log, and the words that its columns have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from scopes.result import Result

OPERATIONS = ("CREATE", "APPEND", "UPDATE", "DELETE", "MERGE")
CAUSES = ("user", "agent", "system", "remote")  # kinds of cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Result):
    """One change; `cause` is `user:<name>`, `agent:<name>` or `system`, `source` the id of the message or operation.

    Of what a fetch has brought it is `remote:<name>`: somebody there made the change, and what was fetched has no name.
    `time` is when it was recorded. `tools` are the names of the tools that a new message calls.
    """

    time: str
    field_path: str
    operation: str
    before: Any
    after: Any
    cause: str
    source: str
    tools: tuple[str, ...] = ()


class FieldChange(NamedTuple):
    """A field that an operation or a message changed; None is no value.

    verb: one of OPERATIONS; None for the one that follows from the values
    cause: if it is another one than that of the operation
    """

    field_path: str
    before: Any
    after: Any
    verb: str | None = None
    cause: str | None = None

    def to_row(self, time: str, cause: str, source: str) -> Change:
        """Return the row of the change log."""
        return Change(
            time=time,
            field_path=self.field_path,
            operation=self.verb or _verb_of(self.before, self.after),
            before=self.before,
            after=self.after,
            cause=self.cause or cause,
            source=source,
        )


def _verb_of(before: object, after: object) -> str:
    return "CREATE" if before is None else "DELETE" if after is None else "UPDATE"


def cause_of(kind: str, name: str) -> str:
    """Return the cause that an author of a kind is."""
    return f"user:{name}" if kind == "human" else f"agent:{name}" if kind == "agent" else "system"
