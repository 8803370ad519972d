"""Derive from the messages of both sides of a merge what they did: files, plans, answers, tests.

Nothing of it is stored: messages and source records are read when a merge is planned or a conflict is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from scopes.history.activity import CheckRun
from scopes.history.messages import MessageHeader, header_of
from scopes.history.revisions import conversation_ids, find_directory, find_root_commit
from scopes.history.sources import read_records
from scopes.ids import ConversationId, Oid
from scopes.merge.conflict_keys import comparable_key
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence, find_divergence
from scopes.merge.file_claims import FileClaims, list_file_claims
from scopes.merge.file_comparison import FileComparison, compare_files, names_of_files
from scopes.merge.plans_and_answers import PlanDivergence, compare_plans, find_answer_conflicts, has_plan
from scopes.merge.side_calls import COMMAND_NAMES, SideCall, ToolMessages, read_side_calls
from scopes.merge.side_work import NO_WORK, SideWork, is_work, read_side_work
from scopes.merge.unclaimed_changes import find_unclaimed_changes
from scopes.model import encoding
from scopes.model.conflicts import Conflict
from scopes.model.shell_writers import MAY_CHANGE_UNNAMED
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository, read_commit

_PROMPT_KINDS = frozenset({"prompt", "plain"})
MAX_COMMITS_BEFORE = 2000  # of the history of the merge base that are searched for the text of a file


class SideTests(NamedTuple):
    """The last run of each test command, on each side of a merge."""

    target: tuple[CheckRun, ...] = ()
    source: tuple[CheckRun, ...] = ()


NO_TESTS: Final = SideTests()


class Alternatives(NamedTuple):
    """Two answers to one prompt: the message at the merge base, and the first message of each side."""

    prompt: MessageHeader
    target: MessageHeader
    source: MessageHeader


_BySide: TypeAlias = tuple[list[SideCall], list[SideCall]]
"""Calls of target and source."""


class RecordedWork:
    """Reads the work of both sides of a divergence; `conversations` are those of target and source."""

    def __init__(
        self,
        repository: Repository,
        objects: Objects,
        divergence: Divergence,
        conversations: Sequence[ConversationId],
    ) -> None:
        self._repository = repository
        self._objects = objects
        self._divergence = divergence
        self._conversations = conversations
        self._messages = ToolMessages(objects)

    def compare_files(self, disagreements: Iterable[Disagreement]) -> tuple[FileComparison, ...]:
        """Compare the files among disagreements; empty if there are none."""
        names = names_of_files(disagreements)
        if not names:
            return ()
        divergence, directory = self._divergence, self._divergence.directory
        claims = (
            list_file_claims(self._objects, divergence.target.commits, directory),
            list_file_claims(self._objects, divergence.source.commits, directory),
        )
        found = compare_files(
            divergence,
            names,
            claims,
            read_calls=self._read_calls_about,
            read_records=self._read_records,
            read_calls_before=self._read_calls_before,
            read_claims_before=self._read_claims_before,
        )
        return tuple(found)

    def find_unclaimed_changes(self, disagreements: Iterable[Disagreement]) -> list[Disagreement]:
        """Return the files that both sides touched, at least one by a command, and that are not among disagreements."""
        if not (self._divergence.target.commits and self._divergence.source.commits):
            return []
        known = {comparable_key(each.key, self._divergence.directory) for each in disagreements}
        return find_unclaimed_changes(self._divergence, [side.touches for side in self._work], known)

    def list_tests(self) -> SideTests:
        """Return the last run of each test command on each side, in the order of these runs."""
        return SideTests(*(tuple(side.runs) for side in self._work))

    def compare_plans(self) -> tuple[PlanDivergence, ...]:
        """Return the steps of plans to which both sides gave another status."""
        target, source = (side.calls for side in self._work)
        if not (has_plan(target) and has_plan(source)):
            return ()
        before = read_side_calls(self._messages, self._commits_before, (), is_work)[0]
        return compare_plans(target, source, before)

    def find_answer_conflicts(self) -> list[tuple[Disagreement, Conflict]]:
        """Return the conflicts between answers of the user to one question."""
        return find_answer_conflicts(*(side.calls for side in self._work))

    def find_alternatives(self) -> Alternatives | None:
        """Return the answers with which both sides begin, if the merge base is a prompt; else None."""
        sides = self._divergence.target.commits, self._divergence.source.commits
        if len(self._divergence.bases) != 1 or not all(sides):
            return None
        prompt = header_of(read_commit(self._objects, self._divergence.bases[0]))
        target, source = (header_of(commits[0]) for commits in sides)
        is_prompt = prompt.kind in _PROMPT_KINDS and prompt.author_kind == "human"
        if not is_prompt or {target.author_kind, source.author_kind} != {"agent"} or target.id == source.id:
            return None
        return Alternatives(prompt, target, source)

    @cached_property
    def _work(self) -> tuple[SideWork, SideWork]:
        """The work of target and source; none unless both have commits."""
        target, source = self._divergence.target.commits, self._divergence.source.commits
        if not (target and source):
            return NO_WORK, NO_WORK
        open_chunks = self._repository.open_commit_chunks
        chunks = None if open_chunks is None else open_chunks()
        read = partial(read_side_work, self._messages, bases=self._divergence.bases, chunks=chunks)
        return read(target), read(source)

    def _read_calls(self, *wanted: Callable[[bytes], bool]) -> list[_BySide]:
        """Return, for each `wanted`, the calls of target and source in messages whose stored bytes are wanted."""
        sides = self._divergence.target, self._divergence.source
        target, source = (
            read_side_calls(self._messages, side.commits, self._divergence.bases, *wanted) for side in sides
        )
        return list(zip(target, source, strict=True))

    def _read_calls_about(self, names: Collection[str]) -> _BySide:
        """Return the calls of target and source that mention a name."""
        return self._read_calls(_Mentions(names))[0]

    def _read_calls_before(self, names: Collection[str]) -> list[SideCall]:
        """Return the calls before the fork that mention a name, oldest first."""
        return read_side_calls(self._messages, self._commits_before, (), _Mentions(names))[0]

    def _read_claims_before(self) -> tuple[Sequence[Commit], FileClaims]:
        """Return the commits before the fork, oldest first, and their claims about files."""
        claims = list_file_claims(self._objects, self._commits_before, self._divergence.directory)
        return self._commits_before, claims

    @cached_property
    def _commits_before(self) -> list[Commit]:
        """The last commits of the history of the merge bases, oldest first."""
        commits = list(islice(walk_newest_first(self._objects, self._divergence.bases), MAX_COMMITS_BEFORE))
        return commits[::-1]

    def _read_records(self, messages: set[str]) -> Mapping[str, list[bytes]]:
        roots = {find_root_commit(self._repository, conversation) for conversation in self._conversations}
        found = read_records(self._repository, {root for root in roots if root is not None}, messages)
        missing = messages - found.keys()  # cherry-picked from another conversation
        return found | read_records(self._repository, None, missing) if missing else found


def compare_one_file(
    repository: Repository, tips: tuple[Oid, Oid], conversations: Sequence[ConversationId], key: str
) -> FileComparison | None:
    """Compare one file of target and source; None if their histories have nothing in common."""
    directory = find_directory(repository, conversations[0])
    divergence = find_divergence(repository, repository, *tips, directory=directory)
    if divergence is None:
        return None
    work = RecordedWork(repository, repository, divergence, conversations)
    return next(iter(work.compare_files([Disagreement(key, "", {}, {})])), None)


class _Mentions:
    """Tells whether the stored bytes of a message mention one of some names, or may have a command for any file."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = [encoding.dump(name).strip()[1:-1] for name in set(names)]

    def __call__(self, data: bytes) -> bool:
        if any(name in data for name in self._names):
            return True
        return any(name in data for name in COMMAND_NAMES) and MAY_CHANGE_UNNAMED.search(data) is not None


def sides_conversations(repository: Repository, target: ConversationId, source: str) -> tuple[ConversationId, ...]:
    """Return the conversations of a target and of a source, which is named `CONV/BRANCH` if it is in another one."""
    other = source.partition("/")[0]
    found = [conversation for conversation in conversation_ids(repository) if conversation == other != target]
    return (target, *found)
