"""What was brought in, as JSON."""

from __future__ import annotations

from scopes.conversation.import_sample import SampleImported
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(SampleImported)
def sample_imported(result: SampleImported) -> dict[str, object]:
    """Name the conversation and count what is in it and what is new; without an operation it was there already."""
    return known(
        kind="import",
        conversation=result.conversation,
        messages=result.messages,
        new_messages=result.new_messages,
        branches=result.branches,
        operation=result.operation,
    )
