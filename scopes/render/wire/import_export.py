"""Format import, `verify FILE` and export as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions

if TYPE_CHECKING:
    from scopes.exporters.atomic_save import ExportSaved, SiteSaved
    from scopes.exporters.commit_notes import TracesNoted
    from scopes.importers.found_transcripts import FoundTranscripts
    from scopes.importers.import_sample import SampleImported
    from scopes.importers.results import ConversationImported, Imported, SessionJoined, Skipped, SourceImported
    from scopes.importers.verify_source import SourceVerification


@to_wire.register
def format_sample_imported(result: SampleImported) -> dict[str, object]:
    """Return the conversation of the sample; without an operation it existed before."""
    return without_none(
        kind="import",
        conversation=result.conversation,
        messages=result.messages,
        new_messages=result.new_messages,
        branches=result.branches,
        operation=result.operation,
    )


@to_wire.register_with_options
def format_imported(result: Imported, options: ViewOptions = DEFAULT_OPTIONS) -> dict[str, object]:
    """Return every source and conversation, with `--report` also byte counts; `warnings` repeat the notes."""
    return without_none(
        kind="import",
        sources=[_source(source, report=options.report) for source in result.sources],
        conversations=[_conversation(row) for row in result.conversations],
        skipped=[_skipped(found, report=options.report) for found in result.skipped] or None,
        warnings=[note.text for note in result.notes],
        sessions_of_other_projects=result.other_sessions or None,
        missing_parents=dict(result.missing_parents) or None,
        joined=[_joined(found) for found in result.joined] or None,
        details=list(result.details) or None,
        dry_run=result.dry_run or None,
        unchanged=result.unchanged or None,
        operation=result.operation,
    )


@to_wire.register
def format_found_transcripts(result: FoundTranscripts) -> dict[str, object]:
    """Return the transcripts of each agent."""
    agents = [
        without_none(
            agent=each.agent,
            folders=list(each.folders),
            files=each.files,
            size_bytes=each.size,
            new=each.new,
            newest=each.newest,
            unknown=each.unknown or None,
            problems=list(each.problems) or None,
        )
        for each in result.agents
    ]
    return {"kind": "transcripts", "agents": agents}


@to_wire.register
def format_source_verification(result: SourceVerification) -> dict[str, object]:
    """Return the byte counts of the file; the four counts add up to `sum`, which is its size."""
    account = {
        "message": result.message_bytes,
        "state": result.state_bytes,
        "unparsed": result.unparsed_bytes,
        "new": result.new_bytes,
    }
    return without_none(
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
            without_none(severity=found.severity, where=found.where, problem=found.problem, cure=found.cure)
            for found in result.findings
        ],
    )


@to_wire.register
def format_export_saved(result: ExportSaved) -> dict[str, object]:
    """Return the file, or the directory and its files; an export of original bytes has no number of messages."""
    return without_none(
        kind="export",
        conversation=result.conversation,
        path=result.path,
        format=result.format,
        messages=result.messages,
        bytes=result.size_bytes,
        files=list(result.files) or None,
    )


@to_wire.register
def format_site_saved(result: SiteSaved) -> dict[str, object]:
    """Return the directory, and what is in it."""
    return {
        "kind": "site",
        "path": result.path,
        "conversations": result.conversations,
        "messages": result.messages,
        "bytes": result.size_bytes,
    }


def _skipped(found: Skipped, *, report: bool) -> dict[str, object]:
    account = found.account if report else None
    return without_none(
        path=found.path, reason=found.reason, account=None if account is None else _source(account, report=True)
    )


def _source(source: SourceImported, *, report: bool) -> dict[str, object]:
    account = {"message": source.message_bytes, "state": source.state_bytes, "unparsed": source.unparsed_bytes}
    return without_none(
        path=source.path,
        format=source.format,
        records=source.records,
        messages=source.messages,
        unparsed=source.unparsed,
        new=source.new,
        problems=list(source.problems) or None,
        size_bytes=source.size if report else None,
        account_bytes=account | {"sum": source.accounted_bytes} if report else None,
        whole=source.accounted_bytes == source.size if report else None,
    )


def _joined(found: SessionJoined) -> dict[str, object]:
    return without_none(
        session=found.session,
        conversation=found.conversation,
        branch=found.branch,
        message=found.message,
        equal_messages=found.equal_messages,
    )


def _conversation(row: ConversationImported) -> dict[str, object]:
    return without_none(
        id=row.id,
        uuid=row.uuid,
        title=row.title,
        messages=row.messages,
        new_messages=row.new_messages,
        branches=row.branches,
    )


@to_wire.register
def format_traces_noted(result: TracesNoted) -> dict[str, object]:
    """Return the ref and the commits that have a note there."""
    return {
        "kind": "traces-noted",
        "conversation": result.conversation,
        "ref": result.ref,
        "commits": list(result.commits),
    }
