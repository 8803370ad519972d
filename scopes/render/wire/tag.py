"""Tags as JSON."""

from __future__ import annotations

from scopes.conversation.tag import Tagged, TagList
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known
from scopes.render.wire.message_shape import head_object


@to_wire.register(Tagged)
def tagged(result: Tagged) -> dict[str, object]:
    """Name the tag; its commit is absent when it was removed."""
    return known(
        kind="tag",
        conversation=result.conversation,
        name=result.tag,
        removed=result.oid is None,
        oid=result.oid,
        operation=result.operation,
    )


@to_wire.register(TagList)
def tag_list(result: TagList) -> dict[str, object]:
    """Lay out the tags by name, each with its message."""
    tags = [{"name": name, "message": head_object(head)} for name, head in result.tags]
    return {"kind": "tag-list", "conversation": result.conversation, "tags": tags}
