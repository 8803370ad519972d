"""The store as JSON: made, verified, packed, examined."""

from __future__ import annotations

from scopes.conversation.doctor import Diagnosis
from scopes.conversation.gc import GarbageCollected
from scopes.conversation.init import StoreCreated
from scopes.conversation.verify import Verification
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known


@to_wire.register(StoreCreated)
def created(result: StoreCreated) -> dict[str, object]:
    """Say where the store is."""
    return {"kind": "init", "path": result.path, "created": result.created}


@to_wire.register(Verification)
def verification(result: Verification) -> dict[str, object]:
    """Lay out what was looked at and every defect."""
    return {
        "kind": "verification",
        "path": result.path,
        "sound": result.sound,
        "conversations": result.conversations,
        "branches": result.branches,
        "messages": result.messages,
        "findings": [
            known(severity=found.severity, where=found.where, problem=found.problem, cure=found.cure)
            for found in result.findings
        ],
    }


@to_wire.register(GarbageCollected)
def collected(result: GarbageCollected) -> dict[str, object]:
    """Say how large the object database was and is."""
    return {
        "kind": "gc",
        "path": result.path,
        "bytes_before": result.bytes_before,
        "bytes_after": result.bytes_after,
        "expired_operations": result.expired_operations,
        "expired_refs": result.expired_refs,
    }


@to_wire.register(Diagnosis)
def diagnosis(result: Diagnosis) -> dict[str, object]:
    """Lay out every check."""
    checks = [known(name=c.name, state=c.state, detail=c.detail, cure=c.cure) for c in result.checks]
    return {"kind": "doctor", "healthy": result.exit_code == 0, "checks": checks}
