"""Render remotes, and what was pushed, fetched and cloned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.render.color import Style
from scopes.render.dispatch import render_text
from scopes.render.relative_time import ago
from scopes.render.text.phrases import UNDO_HINT, counted, format_size, write_field, write_hint, write_outcome
from scopes.render.view import Cell, Column, Span, View
from scopes.result import plural

if TYPE_CHECKING:
    from scopes.sync.accept import FetchedConversation
    from scopes.sync.bundles import BundleCreated, BundledConversation, BundleVerified
    from scopes.sync.change_remotes import RemoteChanged, RemoteList
    from scopes.sync.clone import Cloned
    from scopes.sync.delete_on_remote import DeletedOnRemote
    from scopes.sync.edit_remotes import RemoteShown
    from scopes.sync.fetch import Fetched
    from scopes.sync.fetch_manifests import ManifestsFetched
    from scopes.sync.pull import Pulled, PulledBranch
    from scopes.sync.pushed import Pushed, PushedConversation
    from scopes.sync.remote_conversations import RemoteConversation, RemoteConversationList
    from scopes.sync.source_push import PushedSources

_REMOTES = (Column("Remote", "id"), Column("Conversations", align="right"), Column("Address", flexible=True))
_PUSHED = (
    Column("Conversation", "id"),
    Column("State"),
    Column("Branches", align="right"),
    Column("Messages", align="right"),
    Column("Reason", flexible=True),
)
_SOURCES = (
    Column("Conversation", "id"),
    Column("What"),
    Column("State"),
    Column("Files", align="right"),
    Column("Reason", flexible=True),
)
_DELETED = (
    Column("Name", "id"),
    Column("State"),
    Column("Reason", flexible=True),
    Column("Root", hidden=True),
)
_FETCHED = (
    Column("Conversation", "id"),
    Column("State"),
    Column("Branches"),
    Column("Title", flexible=True),
    Column("Root", hidden=True),
)
_PULLED = (
    Column("Branch", "branch"),
    Column("State"),
    Column("With"),
    Column("Messages", align="right"),
    Column("Reason", flexible=True),
)
_BUNDLED = (
    Column("Conversation", "id"),
    Column("State"),
    Column("Branches", align="right"),
    Column("Messages", align="right"),
    Column("Title", flexible=True),
    Column("Root", hidden=True),
)
_LISTED = (
    Column("Root", "id"),
    Column("ID"),
    Column("Title", flexible=True),
    Column("Messages", align="right"),
    Column("Branches", align="right"),
    Column("Activity", "time"),
    Column("Remote"),
)
_STYLES: dict[str, Style] = {
    "included": "good",
    "new": "good",
    "updated": "good",
    "forced": "warn",
    "refused": "bad",
    "unacceptable": "bad",
    "deleted": "dim",
}
_SHORT_ROOT = 12
_MAX_REASONS = 20  # on a terminal
_MAX_TITLE = 300  # characters


@render_text.register
def render_remote_changed(result: RemoteChanged, view: View) -> None:
    """Write what happened; in a pipe the name of the remote."""
    if result.change == "removed":
        write_outcome(view, result.name, "Removed the remote ", Span(result.name, "id"), " (", result.address, ")")
        return
    if result.before is not None:
        what = "Renamed the remote" if result.change == "renamed" else f"Moved the remote {result.name}"
        now = result.name if result.change == "renamed" else result.address
        write_outcome(view, result.name, f"{what} from ", Span(result.before, "id"), " to ", Span(now, "id"))
        return
    write_outcome(view, result.name, "Added the remote ", Span(result.name, "id"), " (", result.address, ")")
    if view.terminal and result.conversations is not None:
        number = result.conversations
        view.line(f"it has {number} {plural(number, 'conversation')}")
    if view.terminal:
        option = "" if result.default else f" {quote(result.name)}"
        write_hint(
            view, f"get them: scopes fetch{option}" if result.conversations else f"send some: scopes push{option} CONV"
        )


@render_text.register
def render_remote_list(result: RemoteList, view: View) -> None:
    """Write a row for each remote."""
    view.rows(_REMOTES, ((row.name, str(row.conversations), row.address) for row in result.remotes))
    if not result.remotes:
        view.aside("this store has no remote")
    elif view.terminal and len(result.remotes) > 1:
        default = next((row.name for row in result.remotes if row.default), None)
        if default is None:
            write_hint(view, "none is the default; choose one: scopes config scopes.defaultRemote NAME")
        else:
            view.line(f"Commands that name no remote use {default}.")


@render_text.register
def render_remote_shown(result: RemoteShown, view: View) -> None:
    """Write what is known about a remote, a line for each field."""
    view.line(Span(result.name, "id"), " (the default)" if result.default else "")
    write_field(view, "Address", result.address)
    if result.as_branches:
        write_field(view, "Refs", "branches below refs/heads/scopes")
    write_field(view, "Conversations", f"{result.conversations:,} when it was last seen, {result.here:,} of them here")
    write_field(view, "Not shared", counted(result.not_shared, "conversation"))
    if view.terminal:
        option = "" if result.default else f" {quote(result.name)}"
        write_hint(view, f"see what a push would send: scopes push{option} --dry-run")


@render_text.register
def render_pushed(result: Pushed, view: View) -> None:
    """Write a row for each conversation of which something was to send."""
    rows = [_pushed_row(row) for row in result.conversations if not _is_only_held(row)]
    if rows:
        title = f"Would Be Pushed to {result.remote}" if result.dry_run else None
        _write_with_reasons(view, _PUSHED, rows, title)
    _write_sources(result.sources, view)
    if result.dry_run:
        view.aside(f"nothing was sent to {result.remote}: this was a dry run")
    if result.unchanged:
        number = result.unchanged
        seen = " when it was last seen" if result.dry_run else ""
        view.aside(f"{result.remote} had everything of {number} {plural(number, 'conversation')}{seen}")
    if not result.conversations and not result.unchanged:
        view.aside("there was no conversation to push")


def _write_sources(sources: Sequence[PushedSources], view: View) -> None:
    """Write a row for each conversation whose original files were to be sent."""
    if sources:
        rows = [
            (row.conversation, "original files", _state(row.status), str(row.files), row.reason or "")
            for row in sources
        ]
        _write_with_reasons(view, _SOURCES, rows)


def _write_with_reasons(
    view: View, columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], title: str | None = None
) -> None:
    """Write a table of which the last column, the reasons, is written below it on a terminal: each is read as a whole.

    There the reasons of the first rows are written, and how many others there are.
    """
    if not view.terminal:
        view.rows(columns, rows)
        return
    view.rows(columns[:-1], [row[:-1] for row in rows], title=title)
    _write_reasons(view, [(str(row[0]), str(row[-1])) for row in rows if row[-1]])


def _write_reasons(view: View, reasons: Sequence[tuple[str, str]]) -> None:
    for name, reason in reasons[:_MAX_REASONS]:
        view.sentence(Span(name, "id"), ": ", reason)
    if len(reasons) > _MAX_REASONS:
        view.aside(f"{len(reasons) - _MAX_REASONS:,} more reasons: see --json, or a pipe")


def _is_only_held(row: PushedConversation) -> bool:
    """Return True for a conversation of which only messages that may still grow were not sent: a note names it."""
    return row.status == "unchanged" and not (row.diverged or row.behind)


def _pushed_row(row: PushedConversation) -> tuple[Cell, ...]:
    left = [f"left as they are: {', '.join(row.diverged)}"] if row.diverged else []
    left += [f"behind: {', '.join(row.behind)}"] if row.behind else []
    left += [row.reason] if row.reason else []
    if row.status == "updated" and not (row.messages or row.diverged or row.replaced or row.restored):
        left.insert(0, "metadata or branches only")
    if row.replaced:
        counts = ", ".join(f"{each.messages} of {each.branch}" for each in row.replaced)
        left.insert(0, f"removed there: {counts}")
    if row.restored:
        left.insert(0, f"sent again: {', '.join(row.restored)}")
    reason = row.reason if row.reason and not (row.replaced or row.restored) else "; ".join(left)
    is_left = row.diverged and not row.messages  # only its metadata may have been sent
    state = "forced" if row.replaced else "left" if is_left else row.status
    return row.conversation, Span(state, _STYLES.get(state, "")), str(row.branches), str(row.messages), reason


@render_text.register
def render_deleted_on_remote(result: DeletedOnRemote, view: View) -> None:
    """Write a row for each conversation or branch that was named."""
    rows = [(row.name, _state(row.status), row.reason or "", row.root) for row in result.names]
    if view.terminal:
        view.rows(_DELETED[:2], [row[:2] for row in rows])
        _write_reasons(view, [(row.name, row.reason) for row in result.names if row.reason])
    else:
        view.rows(_DELETED, rows)
    if result.dry_run:
        view.aside(f"nothing was deleted from {result.remote}: this was a dry run")


def _state(status: str) -> Span:
    return Span(status, _STYLES.get(status, ""))


@render_text.register
def render_fetched(result: Fetched, view: View) -> None:
    """Write a row for each conversation in which something was new."""
    _write_fetched(result, view)
    if result.operation is not None and view.terminal:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_pulled(result: Pulled, view: View) -> None:
    """Write what was fetched, and a row for each branch that was merged."""
    _write_fetched(result.fetched, view, since=" since the last fetch" if result.branches else "")
    if result.branches:
        _write_with_reasons(view, _PULLED, list(map(_pulled_row, result.branches)))
    is_changed = result.fetched.operation is not None or any(each.operation for each in result.branches)
    if view.terminal and is_changed:
        write_hint(view, UNDO_HINT)


def _pulled_row(row: PulledBranch) -> tuple[Cell, ...]:
    style: Style = "bad" if row.state in {"conflict", "refused"} else "good"
    reason = row.reason or (f"{row.conflicts} {plural(row.conflicts, 'conflict')}" if row.conflicts else "")
    return f"{row.conversation}/{row.branch}", Span(row.state, style), row.source, str(row.messages), reason


@render_text.register
def render_cloned(result: Cloned, view: View) -> None:
    """Write where the store is and how much is in it, or how much its remote has; in a pipe its path."""
    if result.listed is not None:
        _write_listed_clone(result.path, result.listed, view)
        return
    rows = () if result.fetched is None else result.fetched.conversations
    number = sum(row.status in {"new", "updated"} for row in rows)
    of_all = "" if number == len(rows) else f" of {len(rows):,}"
    text = f"Cloned {number:,}{of_all} {plural(len(rows), 'conversation')} into "
    write_outcome(view, result.path, text, result.path)
    if view.terminal:
        write_hint(view, f"use it: scopes --store {quote(result.path)} list")


@render_text.register
def render_bundle_created(result: BundleCreated, view: View) -> None:
    """Write a row for each conversation that was chosen, and where the bundle is."""
    _write_bundled(view, result.conversations)
    _write_sources(result.sources, view)
    if result.size_bytes is None:
        view.aside("no bundle was written")
    elif view.terminal:
        view.line(f"wrote {result.path} ({format_size(result.size_bytes)})")
        write_hint(view, "on another machine: scopes fetch FILE")


@render_text.register
def render_bundle_verified(result: BundleVerified, view: View) -> None:
    """Write a row for each conversation of the bundle."""
    if result.conversations:
        _write_bundled(view, result.conversations)
    else:
        view.aside("the bundle has no conversation")
    if view.terminal and result.conversations and result.exit_code == 0:
        write_hint(view, f"get them: scopes fetch {quote(result.path)}")


def _write_bundled(view: View, rows: Sequence[BundledConversation]) -> None:
    if not view.terminal:
        view.rows(_BUNDLED, (_bundled_row(row, row.reason or row.title) for row in rows))
        return
    view.rows(_BUNDLED, (_bundled_row(row, row.title) for row in rows))
    _write_reasons(view, [(_bundled_name(row), row.reason) for row in rows if row.reason])


def _bundled_row(row: BundledConversation, text: str | None) -> tuple[Cell, ...]:
    counts = (str(row.branches), str(row.messages)) if row.branches else ("", "")
    return _bundled_name(row), Span(row.status, _STYLES.get(row.status, "")), *counts, text or "", row.root


def _bundled_name(row: BundledConversation) -> str:
    return row.conversation or row.root[:_SHORT_ROOT]


@render_text.register
def render_manifests_fetched(result: ManifestsFetched, view: View) -> None:
    """Write how many conversations the remote has; in a pipe only that number."""
    _write_manifests(result, view)
    if view.terminal:
        write_hint(view, f"list them: scopes fetch {quote(result.remote)} --list")


def _write_listed_clone(path: str, listed: ManifestsFetched, view: View) -> None:
    if not view.terminal:
        view.line(path)
        return
    view.line("Made a store at ", path)
    _write_manifests(listed, view)
    write_hint(view, f"list them: scopes --store {quote(path)} fetch {quote(listed.remote)} --list")


def _write_manifests(result: ManifestsFetched, view: View) -> None:
    has = f" has {result.total:,} {plural(result.total, 'conversation')}; {result.new:,} new or changed"
    write_outcome(view, str(result.total), Span(result.remote, "id"), has)


@render_text.register
def render_remote_conversations(result: RemoteConversationList, view: View) -> None:
    """Write a row for each conversation, newest first; in a pipe with the whole id of its root."""
    if not view.terminal:
        view.rows(_LISTED, (_listed_row(row) for row in result.conversations))
    elif result.conversations:
        _write_listed(result, view)
    if not result.conversations:
        view.aside("no title has these words" if result.words is not None else "the remote has no conversation")


def _write_listed(result: RemoteConversationList, view: View) -> None:
    """Write a table without the columns in which all rows are alike."""
    now, remotes = now_nanoseconds(), {row.remote for row in result.conversations}
    left_out = set() if len(remotes) > 1 else {"Remote"}
    if not any(row.conversation for row in result.conversations):
        left_out.add("ID")
    shown = [number for number, column in enumerate(_LISTED) if column.name not in left_out]
    rows = (
        _listed_row(row, root=row.root[:_SHORT_ROOT], activity=ago(row.activity, now)) for row in result.conversations
    )
    view.rows([_LISTED[number] for number in shown], ([row[number] for number in shown] for row in rows))
    if result.more:
        total = len(result.conversations) + result.more
        view.line(Span(f"{len(result.conversations)} of {total:,} conversations; all: --all", "dim"))
    if any(row.conversation is None for row in result.conversations):
        write_hint(view, "read one, which fetches it: scopes log ROOT")


def _listed_row(row: RemoteConversation, root: str | None = None, activity: str | None = None) -> tuple[Cell, ...]:
    """Return a row; a first prompt in place of a title is dim, as in `list`."""
    title: Cell = Span(row.title or "", "dim") if row.title_source == "prompt" else row.title or ""
    counts = (str(row.messages), str(row.branches))
    return (root or row.root, row.conversation or "", title, *counts, activity or row.activity, row.remote)


def _write_fetched(result: Fetched, view: View, since: str = "") -> None:
    if result.conversations:
        view.rows(_FETCHED, [_fetched_row(row, view) for row in result.conversations])
    if view.terminal:
        reasons = [(_name_of_fetched(row), row.reason) for row in result.conversations if row.reason]
        _write_reasons(view, reasons)
    if result.listed is not None and any(result.listed):
        changes = ", ".join(f"{number} {word}" for word, number in result.listed._asdict().items() if number)
        view.line(f"in the list of {result.remote}: {changes}")
    elif not result.conversations:
        what = "nothing else" if result.refused_before else "nothing"
        view.aside(f"{what} is new on {result.remote}{since}")


def _name_of_fetched(row: FetchedConversation) -> str:
    return row.conversation or row.root[:_SHORT_ROOT]


def _fetched_row(row: FetchedConversation, view: View) -> tuple[Cell, ...]:
    """Return a row; a terminal has the reasons below the table, where each is read as a whole."""
    what = ", ".join(_describe_branches(row))
    title = (row.title or "")[:_MAX_TITLE]  # which may be a prompt of any length
    title = title if view.terminal else row.reason or title
    return _name_of_fetched(row), Span(row.status, _STYLES.get(row.status, "")), what, title, row.root


def _describe_branches(row: FetchedConversation) -> Iterator[str]:
    """Yield how many branches are in each state, but not those that are as they were."""
    if row.deleted:
        yield f"{len(row.deleted)} deleted there"
    for state in ("created", "moved", "grown", "ahead", "diverged"):
        number = sum(branch.state == state for branch in row.branches)
        if number:
            yield f"{number} {state}"
    if row.metadata and row.status == "updated":
        yield "metadata"
