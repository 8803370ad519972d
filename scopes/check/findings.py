"""What a check answers: a verdict for each rule and run, with findings and the events that decided them."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.ids import MessageId
from scopes.model.canonical_json import without_none

Level: TypeAlias = Literal["error", "warning", "note", "off"]
LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "note", "off")  # most severe first
Status: TypeAlias = Literal["pass", "fail", "unknown"]


class Event(NamedTuple):
    """One event of a run that decided a finding.

    number: position of the event in the run, from 1
    text: what happened, such as the command
    path, line: the record of the transcript; None if the message was not imported
    directory: the directory in which a shell call began, relative to the workspace; None for the workspace itself
    """

    number: int
    message: MessageId
    text: str
    path: str | None = None
    line: int | None = None
    directory: str | None = None


class Finding(NamedTuple):
    """One breach of a rule.

    message: what is wrong, one line
    events: the events that decided it, in the order of the run; the first one is the breach
    match: the part of the event's text that the rule matched; variables have the values that are known
    wrapper: the program or the construct that the matched command was unwrapped from, such as `sudo` or `bash -c`
    file, file_line: the file of the repository that it is about, relative to the workspace
    attempted: the call certainly did nothing, since it was refused or is an edit that failed; the level is one lower
    outcome, exit_code: how the call of the first event ended; None for findings that are about no single call
    directory: where the matched command ran, relative to the workspace; None for the workspace itself
    cure: what to do about it: how to avoid it, or how to allow it
    fingerprint: a hash, for a baseline, in which the number among equal findings of the run counts; `judge` sets it
    suppressed: the reason of the suppression that applies
    known: it is in the baseline
    """

    rule: str
    level: Level
    message: str
    events: tuple[Event, ...] = ()
    match: str | None = None
    wrapper: str | None = None
    file: str | None = None
    file_line: int | None = None
    attempted: bool = False
    cure: str = ""
    fingerprint: str = ""
    suppressed: str | None = None
    known: bool = False
    outcome: str | None = None
    exit_code: int | None = None
    directory: str | None = None

    @property
    def counts(self) -> bool:
        """True unless it is suppressed or in the baseline."""
        return self.suppressed is None and not self.known

    def document(self) -> dict[str, object]:
        """Return the finding as a JSON object."""
        return without_none(**{**self._asdict(), "cure": self.cure or None})


class Verdict(NamedTuple):
    """The answer of one rule about one run; `reason` says why it is unknown."""

    rule: str
    level: Level
    status: Status
    reason: str = ""
    findings: tuple[Finding, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the verdict as a JSON object without its findings."""
        return without_none(rule=self.rule, level=self.level, status=self.status, reason=self.reason or None)


def how_it_ended(finding: Finding) -> str:
    """Return how the call of a finding ended that was refused or failed."""
    if finding.outcome == "denied":
        return "was refused"
    return "failed" if finding.exit_code is None else f"ran and failed with exit {finding.exit_code}"


def lower(level: Level) -> Level:
    """Return the next less severe level; a note stays a note."""
    return LEVELS[min(LEVELS.index(level) + 1, 2)] if level != "off" else level


def is_at_least(level: Level, limit: str) -> bool:
    """Return True if a level is as severe as a limit; nothing is as severe as the limit `none`."""
    return limit in LEVELS and LEVELS.index(level) <= LEVELS.index(limit)


def redacted(finding: Finding) -> Finding:
    """Return the finding without secrets: no report may publish what an agent wrote into its transcript."""
    from scopes.secret_scan.shown import hide_secrets

    hide = hide_secrets
    return finding._replace(
        message=hide(finding.message),
        match=None if finding.match is None else hide(finding.match),
        events=tuple(event._replace(text=hide(event.text)) for event in finding.events),
        cure=hide(finding.cure),
        wrapper=None if finding.wrapper is None else hide(finding.wrapper),
        file=None if finding.file is None else hide(finding.file),
        directory=None if finding.directory is None else hide(finding.directory),
    )
