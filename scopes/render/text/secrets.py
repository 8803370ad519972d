"""Render what a scan for secrets found, the list, rules, one secret, and changes of the allow-list."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted, write_field, write_hint, write_outcome
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scopes.secrets.allow import SecretAllowed
    from scopes.secrets.list import SecretExplained, SecretGroup, SecretList, SecretRules
    from scopes.secrets.scan import SecretRow, SecretsScanned

_PLACES = (
    Column("ID", "id"), Column("Rule"), Column("Conversation", "branch"), Column("Message", "id"),
    Column("Field", flexible=True), Column("Line", align="right"), Column("Allowed"),
)  # fmt: skip
_SECRETS = (
    Column("ID", "id"), Column("Rule"), Column("Places", align="right"), Column("Conversations", align="right"),
    Column("First in", "branch"), Column("Message", "id"), Column("Allowed by", "agent"),
    Column("Reason", flexible=True), Column("Place"), Column("Cure"),
)  # fmt: skip
_TERMINAL_SECRETS = (
    Column("ID", "id"), Column("Rule"), Column("Places", align="right"), Column("First in", "branch"),
    Column("Allowed", flexible=True),
)  # fmt: skip
_FOUND = (
    Column("ID", "id"), Column("Rule", flexible=True), Column("Places", align="right"), Column("First in", "branch"),
    Column("Allowed"),
)  # fmt: skip
_RULES = (
    Column("Rule"), Column("Looks for", flexible=True), Column("Checks", flexible=True), Column("Found", align="right"),
)  # fmt: skip
_SHOWN = 8  # characters of an id on a terminal
_MAX_ROWS = 20  # on a terminal
_MAX_CURES = 3  # hints
_NAMES = "title or names"


@render_text.register
def render_secrets_scanned(result: SecretsScanned, view: View) -> None:
    """Write a row for each place; on a terminal also what was scanned, and what to do."""
    rows = result.secrets
    if not view.terminal:
        _write_places(rows, view)
        return
    _write_found(rows, view)
    still = {row.id for row in rows if not row.allowed}
    found = f"{counted(len(still), 'possible secret')} not allowed" if still else "No secret that is not allowed"
    unchanged = f", {result.unchanged} of them unchanged" if result.unchanged else ""
    view.line(f"{found} in {counted(result.conversations, 'conversation')}{unchanged}.")
    if still:
        name = quote(next(iter(still))[:_SHOWN]) if len(still) == 1 else "ID"
        write_hint(view, f"all places of one: scopes secrets list --rules {name}")
        write_hint(view, f"if one is real, revoke it; if it is none: scopes secrets allow {name} --reason TEXT")


@render_text.register
def render_secret_list(result: SecretList, view: View) -> None:
    """Write a row for each secret."""
    if view.terminal and not result.secrets:
        view.line("No secrets were found.")
        write_hint(view, "look for them: scopes secrets list")
        return
    if view.terminal:
        view.rows(_TERMINAL_SECRETS, [_terminal_row(each) for each in result.secrets], title="Secrets")
        _write_cures(view, [cure for each in result.secrets for cure in each.cure])
        return
    rows = [
        (
            each.id, each.rule, str(each.places), str(each.conversations), each.conversation or "",
            _message(each.message, view) if each.places else "", each.allowed_by or "", each.reason or "",
            each.place or "", "; ".join(each.cure),
        )
        for each in result.secrets
    ]  # fmt: skip
    view.rows(_SECRETS, rows)


@render_text.register
def render_secret_rules(result: SecretRules, view: View) -> None:
    """Write a row for each rule."""
    rows = [(rule.rule, rule.looks_for, rule.checks or "", str(rule.secrets)) for rule in result.rules]
    view.rows(_RULES, rows, title="Rules")


@render_text.register
def render_secret_explained(result: SecretExplained, view: View) -> None:
    """Write what is known of a secret, and its places."""
    view.line(Span(result.id, "id"))
    write_field(view, "Rule", result.rule.rule)
    write_field(view, "Looks for", result.rule.looks_for)
    if result.rule.checks is not None:
        write_field(view, "Checks", result.rule.checks)
    if result.allowed is not None:
        write_field(view, "Allowed by", result.allowed.actor)
        write_field(view, "Reason", result.allowed.reason or "none given")
    write_field(view, "Places", str(len(result.places)))
    _write_places(result.places, view)
    if view.terminal and result.places and result.allowed is None:
        _write_cures(view, result.cures)
        first = result.places[0]
        if first.message is not None:
            write_hint(view, f"see it: scopes cat {quote(first.conversation)} {quote(first.message[:_SHOWN])}")
        write_hint(view, f"if it is no secret: scopes secrets allow {quote(result.id[:_SHOWN])} --reason TEXT")


@render_text.register
def render_secret_allowed(result: SecretAllowed, view: View) -> None:
    """Write what was changed; in a pipe the id."""
    secret = result.secret
    words = {"allowed": "may leave", "removed": "may no longer leave", "unchanged": "may leave already"}
    text = f"secret {secret.id[:_SHOWN]} ({secret.rule}) {words.get(result.change, result.change)}"
    write_outcome(view, secret.id, text, operation=result.operation)


def _terminal_row(each: SecretGroup) -> tuple[str, ...]:
    first = f"{each.conversation} {each.message[:_SHOWN] if each.message else each.place or ''}" if each.places else ""
    allowed = "no" if each.allowed_by is None else ": ".join(filter(None, (f"by {each.allowed_by}", each.reason)))
    return each.id[:_SHOWN], each.rule, str(each.places), first, allowed


def _write_cures(view: View, cures: Iterable[str]) -> None:
    """Write the commands after which secrets no longer leave."""
    commands = [*dict.fromkeys(cures)]
    for command in commands[:_MAX_CURES]:
        write_hint(view, f"to push without it: {command}")
    if len(commands) > _MAX_CURES:
        write_hint(view, f"{len(commands) - _MAX_CURES:,} more: scopes secrets list --rules ID")


def _write_found(rows: Sequence[SecretRow], view: View) -> None:
    """Write a row for each secret, with the number of its places and the first one."""
    places: dict[str, list[SecretRow]] = {}
    for row in rows:
        places.setdefault(row.id, []).append(row)
    cells = [
        (
            first.id[:_SHOWN],
            first.rule,
            str(len(places[first.id])),
            f"{first.conversation} {_message(first.message, view)}",
            "yes" if first.allowed else "no",
        )
        for first, *_ in list(places.values())[:_MAX_ROWS]
    ]
    if cells:
        view.rows(_FOUND, cells, title="Possible secrets")
    if len(places) > _MAX_ROWS:
        view.aside(f"{len(places) - _MAX_ROWS:,} rows are not shown: see --json, or a pipe")


def _write_places(rows: Iterable[SecretRow], view: View) -> None:
    shown = list(rows)
    hidden = len(shown) - _MAX_ROWS if view.terminal else 0
    cells = [
        (
            row.id[:_SHOWN] if view.terminal else row.id, row.rule, row.conversation, _message(row.message, view),
            row.field, str(row.line), "yes" if row.allowed else "no",
        )
        for row in (shown[:_MAX_ROWS] if hidden > 0 else shown)
    ]  # fmt: skip
    if view.terminal and cells:
        view.rows(_PLACES[2:], [row[2:] for row in cells], title="Possible secrets")
    elif not view.terminal:
        view.rows(_PLACES, cells)
    if hidden > 0:
        view.aside(f"{hidden:,} rows are not shown: see --json, or a pipe")


def _message(message: str | None, view: View) -> str:
    if message is None:
        return _NAMES
    return message[:_SHOWN] if view.terminal else message
