"""What a transcript on disk and the store have in common, as JSON."""

from __future__ import annotations

from scopes.importers.verify_source import SourceVerification
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(SourceVerification)
def certificate(result: SourceVerification) -> dict[str, object]:
    """Account for every byte of the file: the four counts add up to `sum`, which is its size."""
    account = {
        "message": result.message_bytes,
        "state": result.state_bytes,
        "unparsed": result.unparsed_bytes,
        "new": result.new_bytes,
    }
    return known(
        kind="certificate",
        path=result.path,
        format=result.format,
        session=result.native_id,
        part=result.part,
        whole=result.whole,
        comparison=result.comparison,
        size_bytes=result.size,
        stored_bytes=result.stored_size,
        equal_bytes=result.equal_bytes,
        account_bytes={**account, "sum": sum(account.values())},
        messages=result.messages,
        messages_away=result.away,
        findings=[
            known(severity=found.severity, where=found.where, problem=found.problem, cure=found.cure)
            for found in result.findings
        ],
    )
