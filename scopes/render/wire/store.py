"""Format the store and its settings as JSON: init, verify, repair, gc, doctor, config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scopes.conversation.store import ConfigList, ConfigValue, GarbageCollected, StoreCreated
    from scopes.conversation.verify import Diagnosis, Repaired, Verification
    from scopes.store.verify import Finding


@to_wire.register
def format_store_created(result: StoreCreated) -> dict[str, object]:
    """Return the path of the store."""
    return {"kind": "init", "path": result.path, "created": result.created}


@to_wire.register
def format_verification(result: Verification) -> dict[str, object]:
    """Return the number of checked objects and every defect."""
    return {
        "kind": "verification",
        "path": result.path,
        "sound": result.sound,
        "conversations": result.conversations,
        "branches": result.branches,
        "messages": result.messages,
        "findings": _format_findings(result.findings),
    }


@to_wire.register
def format_repaired(result: Repaired) -> dict[str, object]:
    """Return every repair and every defect that remains."""
    return without_none(
        kind="repair",
        path=result.path,
        dry_run=result.dry_run,
        repairs=[{"where": repair.where, "action": repair.action} for repair in result.repairs],
        remaining=_format_findings(result.remaining),
        quarantine=result.quarantine,
    )


@to_wire.register
def format_garbage_collected(result: GarbageCollected) -> dict[str, object]:
    """Return the size of the object database before and after packing."""
    return without_none(
        kind="gc",
        path=result.path,
        bytes_before=result.bytes_before,
        bytes_after=result.bytes_after,
        expired_operations=result.expired_operations,
        expired_refs=result.expired_refs,
        dry_run=result.dry_run or None,
        loose_objects=result.loose_objects if result.dry_run else None,
        operations=[record.id for record in result.operations] if result.dry_run else None,
        refs=list(result.refs) if result.dry_run else None,
    )


@to_wire.register
def format_diagnosis(result: Diagnosis) -> dict[str, object]:
    """Return every check."""
    checks = [without_none(name=c.name, state=c.state, detail=c.detail, cure=c.cure) for c in result.checks]
    return {"kind": "doctor", "healthy": result.exit_code == 0, "checks": checks}


@to_wire.register
def format_config_value(result: ConfigValue) -> dict[str, object]:
    """Return one setting; its value is absent if it was removed, and the one before if there was none."""
    return without_none(
        kind="config",
        key=result.key,
        value=result.value,
        origin=result.origin,
        written=result.written,
        removed=result.value is None,
        before=result.before,
    )


@to_wire.register
def format_config_list(result: ConfigList) -> dict[str, object]:
    """Return every value of every setting, weakest level first."""
    settings = [{"key": setting.key, "value": setting.value, "origin": setting.origin} for setting in result.settings]
    return {"kind": "config-list", "settings": settings}


def _format_findings(findings: Iterable[Finding]) -> list[dict[str, object]]:
    return [without_none(severity=f.severity, where=f.where, problem=f.problem, cure=f.cure) for f in findings]
