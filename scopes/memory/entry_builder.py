"""Builder of memory entries: rules, and the user's summarizer command for the summary if there is one.

Separate from `update`: this module imports the extraction rules and subprocess, and `update` is imported whenever a
memory Result is shown.
"""

from __future__ import annotations

from scopes.clock import known_seconds, new_id, now
from scopes.errors import Refused
from scopes.history.activity import Activity
from scopes.memory.entry import EntryScope, MemoryEntry, Sources
from scopes.memory.extraction import actions_of, decisions_of, importance_of, main_agent, summary_of
from scopes.memory.source_messages import SourceMessages
from scopes.memory.summarizer_command import (
    BY_COMMAND,
    BY_RULES,
    SummarizerCommand,
    find_summarizer_command,
    summarize_by_command,
)
from scopes.memory.topics import topics_of
from scopes.result import Note
from scopes.store.repository import Repository

_RATIO = 0.1
_MAX_SUMMARY_CHARACTERS = 4_000


class EntryBuilder:
    """Builds entries of one update.

    If the user's command fails, that entry and the following ones are made by rules alone (S0-22), and `notes` say so.
    """

    def __init__(self, repository: Repository, *, built_in: bool, common: frozenset[str] = frozenset()) -> None:
        """Find the user's command, unless the summary is to be `built_in`; `common` words are no topics."""
        self._common = common
        self._command: SummarizerCommand | None = None if built_in else find_summarizer_command(repository)
        self.notes: tuple[Note, ...] = ()

    @property
    def uses_command(self) -> bool:
        """Whether a command writes the summaries, which may take long."""
        return self._command is not None

    def build(self, messages: SourceMessages, scope: EntryScope, activity: Activity | None = None) -> MemoryEntry:
        """Build an entry; its time is that of the newest message, or now if no message has a time."""
        entry_id = new_id()
        decisions, actions = decisions_of(messages), actions_of(messages, entry_id)
        activity = activity or Activity()
        summary, method = self._summary(messages, activity)
        time = known_seconds(max(source.head.time for source in messages))
        return MemoryEntry(
            id=entry_id,
            agent=main_agent(messages),
            summary=summary,
            time=now() if time is None else time,
            importance=importance_of(messages, decisions, actions),
            conversation=scope.conversation,
            uuid=scope.uuid,
            branch=scope.branch,
            topics=topics_of(messages, activity.changed, self._common),
            decisions=decisions,
            action_items=actions,
            sources=Sources(tuple(source.head.id for source in messages), scope.tip),
            method=method,
        )

    def _summary(self, messages: SourceMessages, activity: Activity) -> tuple[str, str]:
        if self._command is None:
            return summary_of(messages, activity), BY_RULES
        try:
            text = summarize_by_command(self._command, list(messages), _RATIO).text
        except Refused as error:
            self._command = None
            self.notes = (Note(f"{error.message}: entries were made without it", error.hint),)
            return summary_of(messages, activity), BY_RULES
        short = text if len(text) <= _MAX_SUMMARY_CHARACTERS else f"{text[: _MAX_SUMMARY_CHARACTERS - 1]}…"
        return short, BY_COMMAND
