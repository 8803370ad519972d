"""Making an entry of what was said: by rules, and its summary by the user's own command where there is one.

Where the command fails, the entry is made by the rules alone (S0-22), and it is not asked again in the same run.
"""

from __future__ import annotations

from scopes.clock import known_seconds, new_id, now
from scopes.errors import Refused
from scopes.memory.entry import Entry, EntryScope, Sources
from scopes.memory.extract import actions_of, decisions_of, importance_of, main_agent, summary_of, topics_of
from scopes.memory.source_messages import SourceMessage
from scopes.memory.summarizer import (
    BY_COMMAND,
    BY_RULES,
    SummarizerCommand,
    find_summarizer_command,
    summarize_by_command,
)
from scopes.result import Note
from scopes.store.repository import Repository

_SHARE = 0.1
_LONGEST_SUMMARY = 4_000


class EntryBuilder:
    """Makes entries; `notes` say what went wrong with the user's command."""

    def __init__(self, repository: Repository, *, built_in: bool) -> None:
        """Look up how the user wants summaries to be written."""
        self._asking: SummarizerCommand | None = None if built_in else find_summarizer_command(repository)
        self.notes: tuple[Note, ...] = ()

    @property
    def asks_command(self) -> bool:
        """Tell whether a command is asked, which may take long."""
        return self._asking is not None

    def tell(self, said: list[SourceMessage], told: EntryScope) -> Entry:
        """Make an entry of what was said; its time is that of the last message that has one, else of its making."""
        name = new_id()
        decisions, actions = decisions_of(said), actions_of(said, name)
        summary, method = self._summary(said)
        time = known_seconds(max(each.head.time for each in said))
        return Entry(
            id=name,
            agent=main_agent(said),
            summary=summary,
            time=now() if time is None else time,
            importance=importance_of(said, decisions, actions),
            conversation=told.conversation,
            uuid=told.uuid,
            branch=told.branch,
            topics=topics_of(said),
            decisions=decisions,
            action_items=actions,
            sources=Sources(tuple(each.head.id for each in said), told.tip),
            method=method,
        )

    def _summary(self, said: list[SourceMessage]) -> tuple[str, str]:
        if self._asking is None:
            return summary_of(said), BY_RULES
        try:
            text = summarize_by_command(self._asking, said, _SHARE).text
        except Refused as error:
            self._asking = None
            self.notes = (Note(f"{error.message}: entries were made without it", error.hint),)
            return summary_of(said), BY_RULES
        return (text if len(text) <= _LONGEST_SUMMARY else f"{text[: _LONGEST_SUMMARY - 1]}…"), BY_COMMAND
