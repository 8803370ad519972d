"""Where an export is, as JSON."""

from __future__ import annotations

from scopes.exporters.atomic_save import ExportSaved
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(ExportSaved)
def saved(result: ExportSaved) -> dict[str, object]:
    """Name the file, or the directory and its files; original bytes have no number of messages."""
    return known(
        kind="export",
        conversation=result.conversation,
        path=result.path,
        format=result.format,
        messages=result.messages,
        bytes=result.size_bytes,
        files=list(result.files) or None,
    )
