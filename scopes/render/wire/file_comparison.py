"""Format what both sides of a merge made of a file as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none

if TYPE_CHECKING:
    from scopes.merge.files import FileComparison, FileSide


def file_object(file: FileComparison) -> dict[str, object]:
    """Return a file that both sides changed; ranges are first and last line, at the merge base and on both sides."""
    ranges = [{name: list(lines) for name, lines in each._asdict().items()} for each in file.ranges]
    return without_none(
        path=file.path,
        key=file.key,
        outcome=file.outcome,
        ranges=ranges,
        note=file.note,
        target=_side(file.target),
        source=_side(file.source),
    )


def _side(side: FileSide) -> dict[str, object]:
    return without_none(
        agents=list(side.agents), messages=list(side.messages), unknown=side.unknown, deleted=side.deleted or None
    )
