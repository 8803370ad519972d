"""The core objects store > conversation > branch > revision > message: `StoreHandle(repository).branch("conv-001")`.

Handles hold names and read when asked, so they never go stale and are cheap to make. A Revision is a plain value.
Verbs are functions of `scopes.conversation`, which resolve their arguments with these handles; `scopes.api` extends
the handles with the verbs as methods.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.clock import now_nanoseconds
from scopes.errors import Corrupt, NotFound, Refused
from scopes.history.messages import (
    NO_TEXT,
    ROOT_KIND,
    STATE_DIRECTORY,
    MessageHeader,
    author_kind_of,
    count_messages,
    header_of,
    is_root,
    message_id_of,
    read_body,
    walk_headers_newest_first,
    walk_headers_oldest_first,
)
from scopes.history.metadata import Metadata, read_metadata
from scopes.history.names import (
    MAIN,
    Revision,
    conversation_ids,
    could_be_id,
    find_root,
    find_root_commit,
    list_branch_tips,
    read_active_branch,
    resolve_branch,
    resolve_branch_name,
    resolve_conversation,
    resolve_revision,
)
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model import canonical_json
from scopes.model.canonical_json import decode_component
from scopes.model.conversation import BranchEntry
from scopes.model.message import PARTICIPANTS, Message
from scopes.result import Note
from scopes.sanitize import SUBJECT_LENGTH, mark_cut
from scopes.store import refs
from scopes.store.config import Config
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.objects import (
    Commit,
    Objects,
    find_blob,
    find_entry,
    one_line,
    read_commit,
    read_tree,
)
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class StoreHandle:
    """All conversations of a repository."""

    repository: Repository

    def conversations(self) -> Sequence[ConversationHandle]:
        """Return all conversations, sorted by id."""
        return [ConversationHandle(self.repository, each) for each in conversation_ids(self.repository)]

    def conversation(self, text: str) -> ConversationHandle:
        """Resolve a conversation by its id or a unique prefix; raises as `resolve_conversation` does."""
        return ConversationHandle(self.repository, resolve_conversation(self.repository, text))

    def branch(self, conversation: str, branch: str | None = None) -> BranchHandle:
        """Resolve a conversation, or `CONV/BRANCH`, and a branch in it; raises as `resolve_branch` does."""
        conversation_id, name = resolve_branch(self.repository, conversation, branch)
        return BranchHandle(ConversationHandle(self.repository, conversation_id), name)

    def revision(self, text: str) -> Revision:
        """Resolve a revision such as `conv-001/main~2`, a message id or a tag; raises as `resolve_revision` does."""
        return resolve_revision(self.repository, text)


@dataclass(frozen=True, slots=True)
class ConversationHandle:
    """One conversation."""

    repository: Repository
    id: ConversationId

    @property
    def metadata(self) -> Metadata:
        """Title, tags and branch entries."""
        return read_metadata(self.repository, self.id)

    @property
    def tips(self) -> dict[BranchName, Oid]:
        """The tip of each branch, sorted by name."""
        return list_branch_tips(self.repository, self.id)

    @property
    def active_branch(self) -> BranchHandle:
        """The branch that messages go to if none is named."""
        return BranchHandle(self, read_active_branch(self.repository, self.id))

    def branches(self) -> Sequence[BranchHandle]:
        """Return all branches, sorted by name."""
        return [BranchHandle(self, name) for name in self.tips]

    def branch(self, text: str | None = None) -> BranchHandle:
        """Resolve a branch by name or unique prefix (default: the active one); raises as `resolve_branch_name` does."""
        return BranchHandle(self, resolve_branch_name(self.repository, self.id, text))

    def revision(self, text: str) -> Revision:
        """Resolve a revision of this conversation; raises as `resolve_revision` does."""
        return resolve_revision(self.repository, text, self.id)


@dataclass(frozen=True, slots=True)
class BranchHandle:
    """One branch of a conversation."""

    conversation: ConversationHandle
    name: BranchName

    def __str__(self) -> str:
        return f"{self.conversation.id}/{self.name}"

    @property
    def repository(self) -> Repository:
        """The repository of the conversation."""
        return self.conversation.repository

    @property
    def tip(self) -> Oid:
        """The newest commit.

        Raises:
            NotFound: the branch was deleted.
        """
        value = self.repository.find_ref(refs.branch_ref(self.conversation.id, self.name))
        if value is None:
            raise NotFound(f"branch {self} no longer exists", hint="restore it: scopes undo")
        return Oid(value)

    @property
    def revision(self) -> Revision:
        """The revision at the tip."""
        return Revision(self.conversation.id, self.name, self.tip)

    def find(self, text: str) -> Revision:
        """Resolve a revision of the conversation; of a message that was copied, the id means the copy on this branch.

        Raises as `resolve_revision` does.
        """
        found = self.conversation.revision(text)
        head = header_of(read_commit(self.repository, found.oid))
        if could_be_id(text) and head.id.startswith(text) and not is_ancestor(self.repository, head.oid, self.tip):
            for commit in walk_newest_first(self.repository, [self.tip]):
                if message_id_of(commit) == head.id:
                    return found._replace(oid=commit.oid)
        return found

    @property
    def entry(self) -> BranchEntry:
        """The metadata entry; an empty one if there is none."""
        return self.conversation.metadata.branches.get(self.name, BranchEntry())

    @property
    def parent(self) -> BranchName | None:
        """The branch that this one was forked from; main if that is unknown or was deleted; None for main itself."""
        parent = self.entry.parent
        found = parent if parent is not None and parent in self.conversation.tips else MAIN
        return None if found == self.name else found

    def headers(self) -> Iterator[MessageHeader]:
        """Yield the headers of the messages, newest first; no body is read."""
        return walk_headers_newest_first(self.repository, [self.tip])

    def messages(self) -> Iterator[Message]:
        """Yield the messages, newest first."""
        return (read_body(self.repository, head) for head in self.headers())


ParticipantCache: TypeAlias = dict[Oid, frozenset[AgentName]]
"""The participants by their tree; the same tree occurs in very many commits."""

_NUMBERED = re.compile(rf"^(?:{refs.HEADS}|{refs.META}|{refs.TRASH})conv-([0-9]{{3,9}})(?:/.*)?$", re.MULTILINE)


def participants_of(
    objects: Objects, tips: Iterable[Commit], cache: ParticipantCache | None = None
) -> tuple[AgentName, ...]:
    """Return everybody who wrote a message, or was named at the start, on one of the branches; sorted."""
    cache = {} if cache is None else cache
    participants: set[AgentName] = set()
    for tip in tips:
        entry = find_entry(objects, tip.tree, f"{STATE_DIRECTORY}/{PARTICIPANTS}")
        if entry is None or not entry.is_tree:
            continue
        if entry.oid not in cache:
            names = read_tree(objects, entry.oid)
            cache[entry.oid] = frozenset(AgentName(decode_component(name.removesuffix("="))) for name in names)
        participants |= cache[entry.oid]
    return tuple(sorted(participants))


class Scope(NamedTuple):
    """What a command covers: all branches of a conversation, or `branch` only."""

    conversation: ConversationId
    branch: BranchName | None
    tips: Mapping[BranchName, Oid]


def resolve_scope(repository: Repository, text: str) -> Scope:
    """Resolve a conversation, or one branch of it given as `CONV/BRANCH`.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch, or several.
    """
    name, slash, rest = text.partition("/")
    conversation = resolve_conversation(repository, name)
    tips = list_branch_tips(repository, conversation)
    if not slash:
        return Scope(conversation, None, tips)
    branch = resolve_branch_name(repository, conversation, rest)
    return Scope(conversation, branch, {branch: tips[branch]})


def walk_messages(repository: Repository, scope: Scope) -> Iterator[tuple[MessageHeader, Message]]:
    """Yield all messages of the branches of a scope with their bodies, each once, oldest first."""
    heads = walk_headers_oldest_first(repository, _sort_by_time(repository, scope.tips.values()))
    return ((head, read_body(repository, head)) for head in heads)


def list_tips_by_time(repository: Repository, conversation: ConversationId) -> list[Oid]:
    """Return the tips of all branches, each once, the oldest first; a walk begins with the last of them."""
    return _sort_by_time(repository, list_branch_tips(repository, conversation).values())


def _sort_by_time(repository: Repository, tips: Iterable[Oid]) -> list[Oid]:
    return sorted(set(tips), key=lambda oid: (read_commit(repository, oid).time, oid))


def next_conversation_id(repository: Repository) -> ConversationId:
    """Return `conv-` and the highest number ever used plus one; includes deleted conversations, ignores case."""
    found = repository.list_ref_names(refs.META, refs.TRASH)
    number = 1 + max(map(int, _NUMBERED.findall("\n".join(found).lower())), default=0)
    while repository.list_ref_names(f"{refs.HEADS}conv-{number:03d}/"):  # its metadata is lost
        number += 1
    return ConversationId(f"conv-{number:03d}")


def refuse_taken(repository: Repository, conversation: ConversationId) -> None:
    """Raise Refused if a conversation with this id exists; the id of a deleted one may be used again."""
    has_branches = bool(repository.list_refs(f"{refs.HEADS}{conversation}/"))
    if has_branches or repository.find_ref(refs.meta_ref(conversation)) is not None:
        raise Refused(f"conversation {conversation} already exists", hint="choose another name")


def read_uuid(repository: Repository, conversation: ConversationId) -> str:
    """Return the uuid of a conversation, which it keeps when it is renamed.

    Raises:
        NotFound: there is no such conversation, or its history has no root.
    """
    root = find_root(repository, conversation)
    if root is None:
        raise NotFound(f"there is no conversation {conversation!a}", hint="list them: scopes list")
    return root.uuid


class Limits(NamedTuple):
    """The settings `scopes.maxTurns` and `scopes.idleSeconds`; None: no limit."""

    max_turns: int | None = None
    idle_seconds: int | None = None


NO_LIMITS: Final = Limits()


def read_limits(config: Config) -> Limits:
    """Return the configured limits."""
    turns, seconds = config.find_integer("scopes.maxTurns", 0), config.find_integer("scopes.idleSeconds", 0)
    return Limits(turns or None, seconds or None)


def check_limits(
    repository: Repository, tip: Oid, limits: Limits, *, appended: bool
) -> tuple[int | None, tuple[Note, ...]]:
    """Return how many messages may still come after a tip, None without a limit, and notes on exceeded limits.

    appended: the tip was appended just now, so the branch was idle before it, and not since
    """
    notes, remaining = [], None
    if limits.max_turns is not None:
        count = count_messages(walk_newest_first(repository, [tip]))
        remaining = max(0, limits.max_turns - count)
        if not remaining:
            text = f"the history of the branch has {count} of {limits.max_turns} messages (scopes.maxTurns)"
            notes.append(Note(text, "continue in a new one: scopes new"))
    if limits.idle_seconds is not None:
        commit = read_commit(repository, tip)
        last = read_commit(repository, commit.parents[0]).time if appended and commit.parents else commit.time
        seconds = (commit.time if appended else now_nanoseconds() // 1_000_000_000) - last
        if seconds > limits.idle_seconds:
            verb, limit = "was" if appended else "has been", f"longer than scopes.idleSeconds ({limits.idle_seconds})"
            notes.append(Note(f"the branch {verb} idle for {seconds} seconds, {limit}"))
    return remaining, tuple(notes)


TITLE, PROMPT = "title", "prompt"
MAX_PROMPT = 500  # characters of a first prompt that is shown as far as a terminal is wide
_TAGS = (
    "ide_opened_file|ide_selection|ide_diagnostics|command-name|command-message|command-args|command-contents"
    "|local-command-[a-z]+|system-reminder|bash-input|bash-stdout|bash-stderr|user-prompt-submit-hook"
    "|session-start-hook|task-notification|environment_context|user_instructions"
)
_CAVEAT = "Caveat: The messages below were generated by the user while running local commands"
_BEGINS_INJECTED = compile_lazily(rf"\s*(?:<(?:{_TAGS})\b|{_CAVEAT[:40]})")  # of a subject, which is cut
_INJECTED = compile_lazily(rf"(?s)\A\s*(?:<({_TAGS})\b[^>]*>.*?</\1>\s*|{_CAVEAT}[^\n]*\s*)+")


class Heading(NamedTuple):
    """What a conversation is called; `source` is TITLE or PROMPT."""

    text: str
    source: str

    def document(self) -> dict[str, object]:
        """Return the keys of documents that say what a conversation is called."""
        return {"title": self.text, "title_source": self.source}


def read_heading(repository: Repository, conversation: ConversationId) -> Heading | None:
    """Return the title of a conversation, or else its first prompt; None if it has neither or is damaged."""
    try:
        title = read_metadata(repository, conversation).title
        tips = list_branch_tips(repository, conversation)
        return heading_of(repository, title, walk_main(repository, tips))
    except (Corrupt, NotFound):
        return None


def heading_of(repository: Repository, title: str | None, newest_first: Iterable[Commit]) -> Heading | None:
    """Return the heading of a conversation with this title; its history is walked only without one."""
    if title is not None:
        return Heading(title, TITLE)
    prompt = first_prompt(repository, newest_first)
    return None if prompt is None else Heading(prompt, PROMPT)


def walk_main(
    repository: Repository, tips: Mapping[BranchName, Oid], known: Mapping[Oid, Commit] | None = None
) -> Iterable[Commit]:
    """Yield the commits of the branch main, or else of the first branch, newest first.

    `known` are commits that were read before; they are not read again.
    """
    tip = tips.get(MAIN) or next(iter(tips.values()), None)
    return () if tip is None else walk_newest_first(repository, [tip], known=known or {})


def first_prompt(repository: Repository, newest_first: Iterable[Commit]) -> str | None:
    """Return the first prompt on one line, with an ellipsis after MAX_PROMPT characters; None if there is none.

    Its message is read only if the subject of its commit does not have its whole text.
    """
    found = find_first_prompt(repository, newest_first)
    if found is None:
        return None
    if len(found.subject) < SUBJECT_LENGTH - 1 and not _BEGINS_INJECTED.match(found.subject):
        return found.subject
    text = _read_text(repository, found)
    line = one_line(typed_text(text) or text, MAX_PROMPT + 1)
    if not line or not (text.lstrip() != typed_text(text) or line.startswith(found.subject.rstrip("…"))):
        return mark_cut(found.subject)  # the subject is a tool call or a document, or the message cannot be read
    return line if len(line) <= MAX_PROMPT else f"{line[:MAX_PROMPT]}…"


def read_first_prompt(repository: Repository, conversation: ConversationId) -> str | None:
    """Return the first prompt of a conversation; None for one without any, or a damaged one."""
    try:
        return first_prompt(repository, walk_main(repository, list_branch_tips(repository, conversation)))
    except (Corrupt, NotFound):
        return None


def typed_text(text: str) -> str:
    """Return a prompt without what programs put in front of it: files that are open, commands, reminders, caveats."""
    return _INJECTED.sub("", text, count=1).strip()


def may_be_title(repository: Repository, commit: Commit) -> bool:
    """Return True if a message has a text that is not only what a program put into a prompt."""
    if commit.subject == NO_TEXT or not _BEGINS_INJECTED.match(commit.subject):
        return commit.subject != NO_TEXT
    text = _read_text(repository, commit)
    return not text or bool(typed_text(text))


def find_first_prompt(repository: Repository, newest_first: Iterable[Commit]) -> Commit | None:
    """Return the commit of the first prompt; None for a history without any.

    A prompt of a person is preferred, then one that a program gave to a sub-agent, then the first message of an agent.
    """
    oldest: dict[tuple[str, str | None], tuple[int, Commit]] = {}  # by address of the author and kind of the message
    commit: Commit | None = None
    for number, commit in enumerate(newest_first):
        if may_be_title(repository, commit):
            oldest[commit.author.email, commit.kind] = number, commit
    if commit is None or not is_root(commit):
        return None
    prompts: dict[str | None, Commit] = {}
    for (email, kind), (_, commit) in sorted(oldest.items(), key=lambda item: item[1][0]):  # the oldest is the last
        if kind != ROOT_KIND:
            author_kind = author_kind_of(email)
            prompts[kind if author_kind == "injected" else author_kind] = commit
    return next((prompts[kind] for kind in ("human", PROMPT, "agent") if kind in prompts), None)


def _read_text(repository: Repository, commit: Commit) -> str:
    """Return the text of a message; empty if it cannot be read."""
    try:
        return read_body(repository, commit).text
    except (Corrupt, NotFound):
        return ""


MAP_FILE: Final = "map.json"


class RedactedCopy(NamedTuple):
    """A redacted copy; `original` is None if that is not in the store any more."""

    copy: ConversationId
    original: ConversationId | None


def list_copies(repository: Repository) -> list[RedactedCopy]:
    """Return the redacted copies that were made here, in the order of their ids.

    A map on this machine, `refs/scopes/local/redacted/<root of the copy>`, names the root of the original.
    """
    maps = {Oid(ref.removeprefix(refs.REDACTED)): Oid(oid) for ref, oid in repository.list_refs(refs.REDACTED).items()}
    roots: dict[Oid | None, ConversationId] = {}
    for name in conversation_ids(repository) if maps else ():
        with suppress(Corrupt, NotFound):
            roots[find_root_commit(repository, name)] = name
    copies: list[RedactedCopy] = []
    for copy in maps.keys() & roots.keys():
        data = find_blob(repository, read_commit(repository, maps[copy]).tree, MAP_FILE)
        document: Any = canonical_json.load(data or b"{}")
        copies.append(RedactedCopy(roots[copy], roots.get(document.get("root"))))
    return sorted(copies)
