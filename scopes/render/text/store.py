"""Render the store and its settings: init, verify, repair, gc, doctor, config."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, format_size, identifier, short_time, write_hint, write_outcome
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scopes.conversation.store import ConfigList, ConfigValue, GarbageCollected, StoreCreated
    from scopes.conversation.verify import Diagnosis, Repaired, Verification
    from scopes.render.color import Style
    from scopes.store.verify import Finding

_STYLES: dict[str, Style] = {"ok": "good", "warning": "warn", "failed": "bad", "error": "bad"}
_FINDINGS = (Column("Severity"), Column("Where"), Column("Problem"), Column("Cure"))
_REPAIRS = (Column("Where"), Column("Action"))
_CHECKS = (Column("Name"), Column("State"), Column("Detail"), Column("Cure"))
_SIZES = (Column("Path"), Column("Bytes before"), Column("Bytes after"), Column("Operations"), Column("Refs"))
_SETTING = (Column("Key", "key", flexible=True), Column("Value", flexible=True))
_ORIGIN = Column("Origin", "dim")


@render_text.register
def render_store_created(result: StoreCreated, view: View) -> None:
    """Write the path of the store."""
    prefix = "created an empty store: " if result.created else "the store exists already: "
    write_outcome(view, result.path, prefix, Span(result.path, "id"))
    if result.created and view.terminal:
        write_hint(view, f"undo with: rm -r {shlex.quote(result.path)} (as long as the store is empty)")


@render_text.register
def render_verification(result: Verification, view: View) -> None:
    """Write every defect and a verdict; in a pipe only the defects, one row each."""
    if not view.terminal:
        view.rows(_FINDINGS, ((f.severity, f.where, f.problem, f.cure or "") for f in result.findings))
        return
    _write_findings(view, result.findings)
    errors = sum(found.severity == "error" for found in result.findings)
    looked_at = (
        f"{counted(result.conversations, 'conversation')}, {counted(result.branches, 'branch')}, "
        f"{counted(result.messages, 'message')} in {result.path}"
    )
    verdict = Span("sound: ", "good") if result.sound else Span(f"damaged ({counted(errors, 'error')}): ", "bad")
    view.sentence(verdict, looked_at)


@render_text.register
def render_repaired(result: Repaired, view: View) -> None:
    """Write every repair, the defects that remain, and where the replaced files are; in a pipe the rest is a note."""
    if not view.terminal:
        view.rows(_REPAIRS, ((repair.where, repair.action) for repair in result.repairs))
        for finding in result.remaining:
            view.aside(f"{finding.severity}: {finding.where}: {finding.problem}; {finding.cure or 'no cure is known'}")
        return
    prefix = "would repair: " if result.dry_run else "repaired: "
    for repair in result.repairs:
        view.sentence(Span(prefix, "good"), Span(repair.where, "branch"), ": ", repair.action)
    if not result.repairs:
        view.line("Nothing to repair.")
    _write_findings(view, result.remaining)
    if result.quarantine is not None:
        view.sentence("Replaced files are in ", Span(result.quarantine, "id"))


@render_text.register
def render_garbage_collected(result: GarbageCollected, view: View) -> None:
    """Write the size before and after packing, and what was expired; for a dry run each operation and ref."""
    after = "" if result.bytes_after is None else str(result.bytes_after)
    if not view.terminal:
        sizes = (str(result.bytes_before), after, str(result.expired_operations), str(result.expired_refs))
        view.rows(_SIZES, [(result.path, *sizes)])
        return
    path, before = Span(result.path, "id"), format_size(result.bytes_before)
    if result.bytes_after is None:
        view.body(f"would pack {result.path}: {counted(result.loose_objects, 'loose object')}, {before} now")
    else:
        view.sentence("packed ", path, f": {before} → {format_size(result.bytes_after)}")
    if result.expired_operations or result.expired_refs:
        operations = counted(result.expired_operations, "operation")
        verb = "would expire" if result.dry_run else "expired"
        view.line(f"{verb} {operations} and {counted(result.expired_refs, 'deleted ref')}")
    for record in result.operations:
        line = (identifier(view, record.id), "  ", short_time(view, record.time), "  ", record.summary)
        view.cut(*line, indent=2)
    for ref in result.refs:
        view.line(Span(ref, "branch"), indent=2)


@render_text.register
def render_diagnosis(result: Diagnosis, view: View) -> None:
    """Write every check with its state."""
    if not view.terminal:
        view.rows(_CHECKS, ((c.name, c.state, c.detail, c.cure or "") for c in result.checks))
        return
    width = max((len(check.name) for check in result.checks), default=0)
    for check in result.checks:
        state = Span(f"{check.state:<7}", _STYLES.get(check.state, ""))
        view.hanging(check.detail, start=(state, " ", Span(f"{check.name:<{width}}", "key"), " "))
        _write_cure(view, check.cure, indent=9 + width)


@render_text.register
def render_config_value(result: ConfigValue, view: View) -> None:
    """Write the value of a setting, or what was written and at which level."""
    key, value = Span(result.key, "key"), result.value or ""
    if not result.written:
        view.line(value)
        return
    if result.value is None:
        write_outcome(view, key, "removed ", key, f" ({result.origin})")
    else:
        write_outcome(view, value, key, " = ", value, f" ({result.origin})")
    if view.terminal and result.before != result.value:
        undo = f"undo with: scopes config unset {shlex.quote(result.key)} --level {shlex.quote(result.origin)}"
        if result.before is not None:
            before = shlex.quote(result.before)
            undo = (
                f"undo with: scopes config set {shlex.quote(result.key)} {before} --level {shlex.quote(result.origin)}"
            )
        write_hint(view, undo)


@render_text.register
def render_config_list(result: ConfigList, view: View) -> None:
    """Write every setting, with `--show-origin` also its level."""
    if not result.settings and view.terminal:
        view.line("Nothing is set.")
    elif view.options.show_origin:
        rows = ((setting.key, setting.value, setting.origin) for setting in result.settings)
        view.rows((*_SETTING, _ORIGIN), rows, title="Settings")
    else:
        view.rows(_SETTING, ((setting.key, setting.value) for setting in result.settings), title="Settings")


def _write_findings(view: View, findings: Iterable[Finding]) -> None:
    for found in findings:
        severity = Span(f"{found.severity}:", _STYLES.get(found.severity, ""))
        view.sentence(severity, " ", Span(found.where, "branch"), ": ", found.problem)
        _write_cure(view, found.cure)


def _write_cure(view: View, cure: str | None, *, indent: int = 4) -> None:
    if cure is not None:
        view.sentence(Span(cure, "dim"), indent=indent)
