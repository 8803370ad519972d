"""Read what conversations have used; only those that have changed since the last time are read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scopes.conversation.show import ConversationRefs, group_by_conversation
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import is_root, read_root_of
from scopes.history.metadata import read_metadata
from scopes.ids import ConversationId, Oid
from scopes.store import refs
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository
from scopes.usage import answers as model_answers
from scopes.usage.answers import Answers
from scopes.usage.cache import UsageRow, read_answers, read_summaries, write_rows
from scopes.usage.tally import Tally, pack_answers, pack_summary, summarize, unpack_answers, unpack_summary

_ROWS_AT_ONCE = 500  # rows that are kept in memory before they are written


def read_usage(
    repository: Repository,
    conversations: Sequence[ConversationId] | None = None,
    *,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> tuple[Tally, list[ConversationId]]:
    """Return what conversations have used, all if None, and those that could not be read.

    An answer that several of them have counts for the first one, in the order of their names.
    """
    _, values = repository.read_refs(refs.HEADS, refs.META)
    every = {each.conversation: each for each in group_by_conversation(values)}
    wanted = sorted(every if conversations is None else conversations, key=_natural)
    reader = _Reader(repository, every)
    tally = Tally()
    damaged: list[ConversationId] = []
    for name in wanted:
        try:
            reader.add(tally, every[name])
        except (Corrupt, NotFound):
            damaged.append(name)
        on_progress(1)
    reader.finish()
    return tally, damaged


def _natural(name: ConversationId) -> tuple[int, str]:
    """Return a key that sorts `conv-999` before `conv-1000`."""
    return len(name), name


class _Reader:
    """Reads conversations through the cache, or without one for an earlier state of the store."""

    def __init__(self, repository: Repository, every: dict[ConversationId, ConversationRefs]) -> None:
        self._repository = repository
        self._directory = None if repository.is_past else repository.caller.index_directory
        self._kept = {} if self._directory is None else read_summaries(self._directory, repository.path)
        self._gone = [name for name in self._kept if name not in every]
        self._rows: list[UsageRow] = []

    def add(self, tally: Tally, of: ConversationRefs) -> None:
        """Add a conversation.

        Raises:
            Corrupt, NotFound: it cannot be read.
        """
        state, data = self._kept.get(of.conversation, (None, b""))
        if state == of.state:
            summary = unpack_summary(data)
            if not tally.has_any(summary):
                tally.add(of.conversation, summary)
                return
            answers = self._read_kept(of.conversation)
            if answers:
                tally.add_answers(of.conversation, summary.directory, answers)
                return
        commits = list(walk_oldest_first(self._repository, of.tips.values()))
        root = next((commit for commit in commits if is_root(commit)), None)
        known = {} if state is None else self._read_kept(of.conversation)
        answers = model_answers.read_answers(self._repository, commits, Oid("") if root is None else root.oid, known)
        directory = self._read_directory(of, root)
        summary = summarize(answers, directory)
        self._keep(UsageRow(of.conversation, of.state, pack_summary(summary), pack_answers(answers)))
        if tally.has_any(summary):
            tally.add_answers(of.conversation, directory, answers)
        else:
            tally.add(of.conversation, summary)

    def finish(self) -> None:
        """Write what was read."""
        if self._directory is not None and (self._rows or self._gone):
            write_rows(self._directory, self._repository.path, self._rows, self._gone)
        self._rows, self._gone = [], []

    def _keep(self, row: UsageRow) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self.finish()

    def _read_kept(self, conversation: ConversationId) -> Answers:
        if self._directory is None:
            return {}
        found = read_answers(self._directory, self._repository.path, [conversation])
        return unpack_answers(found[conversation]) if conversation in found else {}

    def _read_directory(self, of: ConversationRefs, root: Commit | None) -> str | None:
        metadata = read_metadata(self._repository, of.conversation)
        if metadata.directory is not None or root is None:
            return metadata.directory
        return read_root_of(self._repository, root, root.oid).cwd
