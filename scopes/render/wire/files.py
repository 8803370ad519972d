"""The files of a conversation as JSON."""

from __future__ import annotations

from scopes.conversation.files import FileList
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(FileList)
def file_list(result: FileList) -> dict[str, object]:
    """Lay out the files, each with the messages that touched it, oldest first."""
    files = [
        known(
            path=row.path,
            operations=row.operations,
            messages=list(row.messages),
            last_touch=row.last_touch,
            last_author=row.last_author,
            last_operation=row.last_operation,
        )
        for row in result.files
    ]
    return {"kind": "file-list", "conversation": result.conversation, "files": files}
