"""Links that were recorded when a commit was made, and which message of which conversation they lead to.

A record names a session of an agent. Its conversation is found when somebody asks, because a session may be imported
long after its commits. Time chooses only the message inside of a session that is known.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from scopes.clock import parse_time
from scopes.code_links.commit_record import CommitRecord, is_amended
from scopes.code_links.commit_store import MAX_STEPS, CommitRecords
from scopes.code_links.link import LINK_LEVELS, CodeLink, CommitId, Evidence, LinkLevel
from scopes.code_links.pending_commits import list_pending
from scopes.code_links.record_commits import pending_records
from scopes.code_links.recorded_evidence import Detour, RecordedFact, with_evidence
from scopes.code_links.reflog_rewrites import read_rewrites
from scopes.code_links.turn_calls import TurnCall, TurnCalls
from scopes.code_links.turns import TurnMessage, list_turn_messages
from scopes.errors import Corrupt, NotFound
from scopes.history.activity import calls_by_id
from scopes.history.messages import read_body, read_body_bytes
from scopes.history.names import conversation_ids, find_root_commit, list_branch_tips, names_by_uuid
from scopes.history.sources import SOURCES, TRACKING, read_source_record
from scopes.ids import ConversationId, Oid
from scopes.result import Note
from scopes.store.projects import Worktree
from scopes.store.refs import HEADS, split_branch_ref
from scopes.store.repository import Repository

_MAX_READ: Final = 200  # messages that are read to find the call before a commit
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RecordedLinks:
    """What is recorded of a commit.

    unknown: records of sessions that are not in the store
    notes: what could not be read
    """

    links: tuple[CodeLink, ...] = ()
    unknown: tuple[CommitRecord, ...] = ()
    notes: tuple[Note, ...] = ()


class _Found(NamedTuple):
    """A record that is about a commit, and how it came from another one to this one."""

    record: CommitRecord
    detour: Detour = ""


class RecordedCommits:
    """Answers from the records of a store and from what hooks have written in a project, which it does not record."""

    def __init__(self, repository: Repository, worktree: Worktree | None = None) -> None:
        self._repository = repository
        self._worktree = worktree
        # Before the records: what is recorded meanwhile is then in both, instead of in neither.
        self._left = [] if worktree is None else list_pending(worktree)
        self._records = CommitRecords(repository)
        self._sessions: dict[str, tuple[ConversationId, tuple[Oid, ...]] | None] = {}
        self._turns: dict[tuple[Oid, ...], list[TurnMessage]] = {}
        self._turn_calls = TurnCalls(repository)

    @cached_property
    def _names(self) -> Mapping[str, ConversationId]:
        return names_by_uuid(self._repository)

    def links_of_commit(self, commit: CommitId, identity: str | None = None) -> RecordedLinks:
        """Return what is recorded of a commit, also of the commits that git rewrote as it; the surest link first.

        `identity` is that of the commit (`commit_facts`), to find one that was rebased or picked elsewhere.
        """
        found = list(self._find(commit, identity))
        hooked = [each.record for each in found if each.record.recorded_by == "hook"]
        by_hook = {each.commit for each in hooked if each.session_key and self._resolve(each.session_key)}
        links: dict[ConversationId, CodeLink] = {}
        amended: set[ConversationId] = set()
        facts: dict[ConversationId, list[RecordedFact]] = {}
        unknown: dict[str, CommitRecord] = {}
        for each in found:
            link = self._link(commit, each, has_hook=each.record.commit in by_hook)
            if link is None:
                unknown.setdefault(f"{each.record.tool} {each.record.session}", each.record)
                continue
            known = links.get(link.conversation)
            links[link.conversation] = link if known is None else _join(known, link)
            is_shell, call_id = each.record.recorded_by == "hook", link.evidence[0].call_id
            fact = RecordedFact(each.record.commit, each.detour, is_shell, link.turn, link.message, call_id)
            facts.setdefault(link.conversation, []).append(fact)
            if _is_own_amend(each):
                amended.add(link.conversation)
        worded = [with_evidence(link, facts[name]) for name, link in links.items()]
        return RecordedLinks(_lower_rivals(worded, amended), tuple(unknown.values()), self._records.notes)

    def commits_of(self, conversation: ConversationId) -> dict[CommitId, CommitRecord]:
        """Return the recorded commits of a conversation, each with its earliest record, in the order of time."""
        found: dict[CommitId, CommitRecord] = {}
        for key in {*self._records.session_keys(), *(each.session_key for each in self._pending)}:
            session = None if key is None else self._resolve(key)
            if key is None or session is None or session[0] != conversation:
                continue
            records = [each for commit in self._records.commits_of(key) for each in self._records.find(commit)]
            own = (each for each in (*records, *self._pending) if each.session_key == key)
            for record in own:
                found[record.commit] = min(found.get(record.commit, record), record, key=_moment)
        return dict(sorted(found.items(), key=lambda item: (item[1].at, item[0])))

    def replacements_of(self, commits: Iterable[CommitId]) -> dict[CommitId, CommitId]:
        """Return the earlier commits that git rewrote as one of these, with the newest one that each became."""
        wanted = list(commits)
        found: dict[CommitId, list[CommitId]] = {}
        for new in wanted:
            for old in self.list_earlier(new):
                found.setdefault(old, []).append(new)
        return {old: next((each for each in news if each not in found), news[-1]) for old, news in found.items()}

    def list_earlier(self, commit: CommitId) -> list[CommitId]:
        """Return the commits that git rewrote as this one, the nearest first: recorded, pending and in the reflogs."""
        found: dict[CommitId, None] = {}
        new = [commit]
        while new and len(found) < MAX_STEPS:
            old = [
                each
                for name in new
                for each in (*self._rewritten_here.get(name, ()), *self._records.list_earlier(name))
            ]
            new = [each for each in dict.fromkeys(old) if each not in found and each != commit]
            found |= dict.fromkeys(new)
        return list(found)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What could not be read so far."""
        return self._records.notes

    @cached_property
    def _pending(self) -> list[CommitRecord]:
        worktree = self._worktree
        return [] if worktree is None else list(pending_records(worktree, self._left))

    @cached_property
    def _rewritten_here(self) -> dict[CommitId, list[CommitId]]:
        """The commits that git rewrote in the project, by the new ones, as far as hooks and reflogs still have them."""
        found = {} if self._worktree is None else read_rewrites(self._worktree)
        for each in self._left:
            for old, new in each.rewritten:
                found.setdefault(new, []).append(old)
        return found

    def _find(self, commit: CommitId, identity: str | None) -> Iterator[_Found]:
        """Yield the records of a commit, of those that git rewrote as this one, and of those with its identity."""
        seen: set[CommitRecord] = set()
        earlier: dict[CommitId, Detour] = {commit: "", **dict.fromkeys(self.list_earlier(commit), "rewritten")}
        same = [] if identity is None else self._records.list_same(identity)
        same += [each.commit for each in self._pending if identity is not None and each.identity == identity]
        detours: dict[CommitId, Detour] = {**dict.fromkeys(same, "same"), **earlier}
        for name, detour in detours.items():
            for record in (*self._records.find(name), *(each for each in self._pending if each.commit == name)):
                if record not in seen:
                    seen.add(record)
                    yield _Found(record, detour)

    def _link(self, commit: CommitId, found: _Found, *, has_hook: bool) -> CodeLink | None:
        record = found.record
        session = None if record.session_key is None else self._resolve(record.session_key)
        if session is None:
            return None
        conversation, tips = session
        message = self._find_message(tips, record)
        call_id, has_call = record.call_id, False
        if record.recorded_by != "hook":
            call = None if message is None else self._find_turn_call(tips, message, record)
            call_id, has_call = (None, False) if call is None else (call.call_id, True)
            if call is not None and message is not None and call.message.begin == message.begin:
                message = call.message  # not the last one of the turn; that of a sub-agent has another number
        return CodeLink(
            commit=commit,
            conversation=conversation,
            message=None if message is None else message.head.id,
            turn=None if message is None else message.number,
            role="made",
            level=_level(record, has_hook=has_hook, has_call=has_call),
            evidence=(Evidence("recorded", call_id=call_id),),
            recorded_at=record.at if record.is_new_commit or is_amended(record.action) else None,
        )

    def _resolve(self, key: str) -> tuple[ConversationId, tuple[Oid, ...]] | None:
        if key not in self._sessions:
            self._sessions[key] = None
            with suppress(NotFound, Corrupt):
                self._sessions[key] = resolve_session(self._repository, key, self._names if "-" in key else None)
        return self._sessions[key]

    def _find_message(self, tips: tuple[Oid, ...], record: CommitRecord) -> TurnMessage | None:
        """Return the message that a record names, the one with its call, or the last one before the commit."""
        messages = self._list_messages(tips)
        if record.message is not None:
            return next((each for each in messages if each.head.id == record.message), None)
        with suppress(NotFound, Corrupt):
            found = self._find_call(messages, record)
            if found is not None:
                return found
        latest = parse_time(record.at)
        before = [each for each in messages if latest is not None and each.head.time <= latest // _SECOND]
        by_time = sorted(before, key=lambda each: each.head.time)  # copies and branches are between each other
        if by_time and len(before) == len(messages) and not self._is_recorded(tips, by_time[-1], record):
            return None
        with suppress(NotFound, Corrupt):
            for each in by_time[: -_MAX_READ - 1 : -1]:
                if each.head.author_kind == "agent" and self._calls_before(each, latest or 0):
                    return each
        return by_time[-1] if by_time else None

    def _is_recorded(self, tips: tuple[Oid, ...], last: TurnMessage, record: CommitRecord) -> bool:
        """Return False if a commit is later than all that is known of its session: it is of a turn that goes on.

        A call of the last turn may have made it, which is not finished. A session without times has none later.
        """
        body = read_body(self._repository, last.head)
        time = None if body.time is None else parse_time(body.time)
        latest = parse_time(record.at)
        is_later = time is not None and latest is not None and latest >= time
        return not is_later or self._find_turn_call(tips, last, record) is not None

    def _find_turn_call(self, tips: tuple[Oid, ...], message: TurnMessage, record: CommitRecord) -> TurnCall | None:
        """Return the call of the turn of a message that made a commit, as far as there is evidence."""
        with suppress(NotFound, Corrupt):
            return self._turn_calls.find(self._list_messages(tips), message, record)
        return None

    def _list_messages(self, tips: tuple[Oid, ...]) -> list[TurnMessage]:
        if tips not in self._turns:
            self._turns[tips] = []
            with suppress(NotFound, Corrupt):
                self._turns[tips] = list_turn_messages(self._repository, tips)
        return self._turns[tips]

    def _calls_before(self, message: TurnMessage, latest: int) -> bool:
        """Return True if a message has tool calls and was written before a time; commits have whole seconds only."""
        body = read_body(self._repository, message.head)
        time = None if body.time is None else parse_time(body.time)
        return bool(calls_by_id(body.parts)) and (time is None or time <= latest)

    def _find_call(self, messages: list[TurnMessage], record: CommitRecord) -> TurnMessage | None:
        if record.call_id is None:
            return None
        name = record.call_id.encode("utf-8", "replace")
        for each in reversed(messages):
            may_have = each.head.author_kind != "human" and name in read_body_bytes(self._repository, each.head)
            if may_have and record.call_id in calls_by_id(read_body(self._repository, each.head).parts):
                return each
        return None


def resolve_session(
    repository: Repository, key: str, names: Mapping[str, ConversationId] | None = None
) -> tuple[ConversationId, tuple[Oid, ...]] | None:
    """Return the conversation of a session, and the tips of what was imported of it, or of all its branches.

    `key` is that of its source, or the uuid of a conversation. None if the store has no such session.

    Raises:
        Corrupt, NotFound: an object is damaged or missing.
    """
    if "-" in key:
        name = (names_by_uuid(repository) if names is None else names).get(key)
        return None if name is None else (name, tuple(list_branch_tips(repository, name).values()))
    value = repository.find_ref(SOURCES + key)
    if value is None:
        return None
    tips = tuple(Oid(tip) for tip in repository.list_refs(f"{TRACKING}{key}/").values())
    found = _find_branch_at(repository, frozenset(tips))
    if found is None:  # the user has continued all its branches
        root = read_source_record(repository, Oid(value)).root
        known = conversation_ids(repository)
        found = next((each for each in known if find_root_commit(repository, each) == root), None)
    return None if found is None else (found, tips or tuple(list_branch_tips(repository, found).values()))


def _find_branch_at(repository: Repository, tips: frozenset[Oid]) -> ConversationId | None:
    for ref, tip in repository.list_refs(HEADS).items() if tips else ():
        split = split_branch_ref(ref) if tip in tips else None
        if split is not None:
            return split[0]
    return None


def _level(record: CommitRecord, *, has_hook: bool, has_call: bool) -> LinkLevel:
    """Return how sure a record is.

    A hook knows its session. At the end of a turn a commit is there that a person may have made in the same worktree:
    it is one of the turn if a call in it may have made it, and no hook says that it was another session.
    """
    if record.recorded_by == "turn":
        return "likely" if has_call and not has_hook else "candidate"
    if record.is_shared or not record.is_new_commit:
        return "likely"
    return "certain"


def _moment(record: CommitRecord) -> tuple[int, str]:
    return parse_time(record.at) or 0, record.recorded_by


def _join(one: CodeLink, other: CodeLink) -> CodeLink:
    """Return the surer of two links of one conversation, with the message of the other one if it has none."""
    first, second = sorted((one, other), key=lambda link: LINK_LEVELS.index(link.level))
    known = first if first.message is not None else second
    times = [link.recorded_at for link in (one, other) if link.recorded_at is not None]
    at = max(times, key=lambda time: parse_time(time) or 0, default=None)
    return replace(first, message=known.message, turn=known.turn, recorded_at=at)


def _is_own_amend(found: _Found) -> bool:
    """Return True if a hook saw a session amend the commit: others that made it before or after are no rivals."""
    record = found.record
    is_own = record.recorded_by == "hook" and not record.is_shared and found.detour != "same"
    return is_own and is_amended(record.action)


def _lower_rivals(links: Iterable[CodeLink], amended: Container[ConversationId]) -> tuple[CodeLink, ...]:
    """Return links, the surest first; if several conversations are merely likely, nobody knows which one it was.

    Those that surely amended the commit stay as they are.
    """
    found = sorted(links, key=lambda link: (LINK_LEVELS.index(link.level), link.conversation))
    rivals = [link for link in found if link.level == "likely" and link.conversation not in amended]
    if len(rivals) < 2 and not (found and (found[0].level == "certain" or found[0].conversation in amended)):
        return tuple(found)
    return tuple(replace(link, level="candidate") if link in rivals else link for link in found)
