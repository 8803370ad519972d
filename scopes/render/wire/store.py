"""Format the store and its settings as JSON: init, verify, gc, doctor, config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import to_wire
from scopes.render.wire.fields import known

if TYPE_CHECKING:
    from scopes.conversation.config import ConfigList, ConfigValue
    from scopes.conversation.doctor import Diagnosis
    from scopes.conversation.gc import GarbageCollected
    from scopes.conversation.init import StoreCreated
    from scopes.conversation.verify import Verification


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
        "findings": [
            known(severity=found.severity, where=found.where, problem=found.problem, cure=found.cure)
            for found in result.findings
        ],
    }


@to_wire.register
def format_garbage_collected(result: GarbageCollected) -> dict[str, object]:
    """Return the size of the object database before and after packing."""
    return known(
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
    checks = [known(name=c.name, state=c.state, detail=c.detail, cure=c.cure) for c in result.checks]
    return {"kind": "doctor", "healthy": result.exit_code == 0, "checks": checks}


@to_wire.register
def format_config_value(result: ConfigValue) -> dict[str, object]:
    """Return one setting; its value is absent if it was removed."""
    return known(
        kind="config",
        key=result.key,
        value=result.value,
        origin=result.origin,
        written=result.written,
        removed=result.value is None,
    )


@to_wire.register
def format_config_list(result: ConfigList) -> dict[str, object]:
    """Return every value of every setting, weakest level first."""
    settings = [{"key": setting.key, "value": setting.value, "origin": setting.origin} for setting in result.settings]
    return {"kind": "config-list", "settings": settings}
