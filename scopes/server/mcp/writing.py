"""The tools that write: record, branch, merge, remember, send, and propose facts. None of them accepts a fact."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal, cast, get_args

from mcp.types import CallToolResult
from pydantic import Field

from scopes.agents.authors import check_typed_author, note_misspelled, with_registered_kind
from scopes.agents.delivery import SentMessage, deliver_to_programs
from scopes.agents.inbox import read_inbox
from scopes.agents.registry import Registry
from scopes.agents.send import Routed, send
from scopes.api.conversation import MessageFields, make_message
from scopes.conversation.append import append_to, message_writers
from scopes.conversation.branch import branch as create_branch
from scopes.conversation.merge import MergeOptions, MergeOutcome, merge
from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid, NotFound, Refused, ScopesError
from scopes.facts.propose import Proposal, propose
from scopes.history.handles import BranchHandle, StoreHandle, read_uuid
from scopes.history.names import complete_message_id, resolve_branch, resolve_revision
from scopes.history.sessions import NOTES, is_followed
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, MessageId
from scopes.memory.add import add as add_memory
from scopes.merge.plan import derived_id
from scopes.model.canonical_json import without_none
from scopes.model.conversation import ACP
from scopes.model.message import EXAMPLES, TYPED_KINDS, Author, Message, encode, payload_key
from scopes.result import Note
from scopes.server.mcp.access import Client, StoreAccess
from scopes.server.mcp.answers import note_objects, result_answer, result_document, written_answer
from scopes.server.mcp.budget import DEFAULT_TOKENS, Document, check_budget
from scopes.server.mcp.inboxes import how_to_register, require_receivers, take_messages
from scopes.server.mcp.merges import Sides, abort_own, hinted_for_agent
from scopes.server.mcp.positions import find_directory, position, without_conversation
from scopes.server.mcp.reading import Budget, Where
from scopes.store.locks import is_file_locked, session_lock_path
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

Kind = Literal["plain", "answer", "prompt", "decision", "analysis", "proposal", "priority", "method"]
Key = Annotated[str | None, Field(description="Any text of yours: the same call with the same key is recorded once")]
Data = Annotated[
    dict[str, Any] | None,
    Field(description='The document of a typed kind: {"topic": "db", "decision": "SQLite"} for a decision'),
]


class WritingTools:
    """Tools that change the store; each message is on disk when its answer is sent."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    def conversation_record(
        self,
        client: Client,
        text: Annotated[str, Field(description="What was said")],
        conversation: Annotated[str | None, Field(description="Where; without it a new conversation begins")] = None,
        title: Annotated[str | None, Field(description="The title of a new conversation")] = None,
        author: Annotated[str | None, Field(description="Who said it (default: you); `user` is the human")] = None,
        kind: Kind = "plain",
        data: Data = None,
        reply_to: Annotated[str | None, Field(description="The id of the message that it answers")] = None,
        key: Key = None,
    ) -> CallToolResult:
        """Record a message: a prompt, an answer, a finding, or a decision (kind decision, with data).

        Record decisions with their reasons, and results that another session will need. Use the continuation_id of the
        answer as `conversation` from then on. Beside a session that is being recorded it goes to a branch notes.
        """
        with self._access.open(client, create=True, writes=True) as store:
            repository = store.repository
            _check_new(conversation, title, key)
            handle = None if conversation is None else _find_branch(repository, conversation)
            answered = complete_message_id(repository, None if handle is None else handle.conversation.id, reply_to)
            writer = self._author(repository, client, author)
            message = _make_message(text, writer, kind, data, answered)
            if handle is None:
                created = new(repository, title=title, directory=find_directory())
                handle = StoreHandle(repository).branch(created.id, created.branch)
            handle, moved = _leave_session(handle, self._access.name_of(client))
            if key is not None:
                return _record_once(handle, message, key, moved)
            appended = append_to(handle, message)
            notes = (*moved, *(() if author is None else note_misspelled(repository, author)))
            document = result_document(replace(appended, notes=(*appended.notes, *notes)))
            return written_answer(document | position(repository, appended.conversation, handle.name, appended.oid))

    def conversation_branch(
        self,
        client: Client,
        conversation: Where,
        name: Annotated[str | None, Field(description="Its name (default: from purpose and agent)")] = None,
        start: Annotated[
            str | None, Field(description="The message to branch at: id or main~2 (default: the tip)")
        ] = None,
        purpose: Annotated[
            Literal["analysis", "alternative-solution", "verification", "collaboration"] | None, Field()
        ] = None,
    ) -> CallToolResult:
        """Begin a branch, to try something without changing the other branches. The active branch stays active."""
        with self._access.open(client, writes=True) as store:
            conversation_id, parent = resolve_branch(store.repository, conversation, None)
            created = create_branch(
                store.repository,
                conversation_id,
                purpose=purpose,
                agent=self._access.name_of(client),
                start=start or parent,
                name=name,
                switch=False,
            )
            document = result_document(created)
            del document["tip"]  # it is the commit
            return written_answer(
                document | position(store.repository, created.conversation, created.name, created.tip)
            )

    def conversation_merge(
        self,
        client: Client,
        conversation: Where,
        source: Annotated[
            str | None, Field(description="The branch to merge: its name, or conv-001/NAME; not needed with abort")
        ] = None,
        target: Annotated[
            str | None,
            Field(description="The branch that receives it (default: that of conversation, else the active)"),
        ] = None,
        strategy: Annotated[
            Literal["automatic", "ours", "theirs", "manual"], Field(description="What happens to conflicts")
        ] = "automatic",
        dry_run: Annotated[bool, Field(description="Only say what would happen")] = False,
        abort: Annotated[bool, Field(description="Take back this merge, which you began and has conflicts")] = False,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Merge a branch into another. Conflicts are data in the answer: then the target is unchanged.

        A conflict that is not resolved automatically is for a human: say what the sides are and stop there. If some
        were left out of the answer, dry_run with a larger max_tokens has them all. A merge with conflicts stays
        unfinished until the human continues it, or you call this again with abort.
        """
        with self._access.open(client, writes=True) as store:
            check_budget(max_tokens)
            repository = store.repository
            conversation_id, named = resolve_branch(repository, conversation, None)
            default = named if "/" in conversation else None
            if source is None and not abort:
                raise Invalid("a merge needs a source", hint="give the branch to merge: source=NAME")
            sides = Sides(
                conversation_id,
                None if source is None else without_conversation(repository, conversation_id, source),
                default if target is None else without_conversation(repository, conversation_id, target),
            )
            if abort or sides.source is None:
                return written_answer(result_document(abort_own(repository, sides, self._access.name_of(client))))
            with hinted_for_agent(repository, sides, self._access.name_of(client)):
                outcome = merge(
                    repository,
                    conversation_id,
                    sides.source,
                    target=sides.target,
                    options=MergeOptions(strategy=strategy, keep_active=True),
                    dry_run=dry_run,
                )
            return written_answer(_merge_document(repository, outcome), max_tokens=max_tokens)

    def memory_add(
        self,
        client: Client,
        text: Annotated[str, Field(description="What to remember, in one or two sentences")],
        topics: Annotated[list[str] | None, Field(description="Words to find it by")] = None,
        decisions: Annotated[list[str] | None, Field(description="Decisions in it")] = None,
        actions: Annotated[list[str] | None, Field(description="What is still to be done")] = None,
        importance: Annotated[int, Field(ge=1, le=10, description="From 1 to 10")] = 5,
    ) -> CallToolResult:
        """Remember something across conversations."""
        with self._access.open(client, create=True, writes=True) as store:
            added = add_memory(
                store.repository,
                text,
                agent=self._access.name_of(client),
                topics=topics or (),
                decisions=decisions or (),
                actions=actions or (),
                importance=importance,
                directory=find_directory(),
            )
            return written_answer(result_document(added))

    def message_send(
        self,
        client: Client,
        conversation: Where,
        to: Annotated[list[str], Field(description="Agents by name, @capability, or all")],
        text: Annotated[str, Field(description="The message")],
        queue: Annotated[bool, Field(description="Send also if nobody is available: it waits for them")] = False,
    ) -> CallToolResult:
        """Add a message to a conversation and put it into the inboxes of registered agents, in one operation.

        If a receiver has a program, the answer comes when that has ended; a failure is in its notes, and the message is
        sent all the same.
        """
        with self._access.open(client, writes=True) as store:
            repository = store.repository
            message = _make_message(text, self._author(repository, client, None), "plain", None, None)
            require_receivers(repository, to)
            branch, moved = _leave_session(_find_branch(repository, conversation), self._access.name_of(client))
            routed = send(branch, message, to, queue=queue)
            where = position(repository, routed.conversation, routed.branch, routed.oid)
        with self._access.open(client, alone=False) as store:
            notes = _deliver(store.repository, routed)
            return written_answer(result_document(replace(routed, notes=(*moved, *routed.notes, *notes))) | where)

    def inbox(
        self,
        client: Client,
        agent: Annotated[str | None, Field(description="Whose inbox (default: yours)")] = None,
        acknowledge: Annotated[bool, Field(description="Take the messages out: when you act on them now")] = False,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Read the unread messages for you, in the order of sending.

        With acknowledge exactly those in the answer are taken out, each whole; call it again if some are left_out.
        """
        with self._access.open(client, writes=True) as store:
            name = agent or self._access.name_of(client)
            if Registry(store.repository).find_named(name) is None:
                raise NotFound(f"no agent {name!a} is registered, so it has no inbox", hint=how_to_register(name))
            found = read_inbox(store.repository, name)
            if acknowledge:
                return take_messages(store.repository, found, max_tokens)
            return result_answer(found, rows="messages", max_tokens=max_tokens)

    def fact_propose(
        self,
        client: Client,
        conversation: Annotated[str, Field(description="The conversation that it is about, or a continuation_id")],
        key: Annotated[str, Field(description="Seeds, Hypotheses, Strategies, Constraints or Signals")],
        content: Annotated[str, Field(description="The statement")],
        confidence: Annotated[float, Field(ge=0, le=1, description="How sure you are")] = 0.8,
        sources: Annotated[list[str] | None, Field(description="Messages that show it, by id")] = None,
    ) -> CallToolResult:
        """Propose a fact. It becomes one only when a person, or a run that a person started, accepts it."""
        with self._access.open(client, writes=True) as store:
            repository = store.repository
            conversation_id, branch = resolve_branch(repository, conversation, None)
            name = self._access.name_of(client)
            given = Proposal(key=key, content=content, agent=name, confidence=confidence, sources=sources or ())
            document = result_document(propose(repository, conversation_id, given))
            return written_answer(document | position(repository, conversation_id, branch))

    def _author(self, repository: Repository, client: Client, name: str | None) -> Author:
        """Return the author of a message, checked as one that is typed; the registry knows who is a human."""
        if name is None:
            return Author(self._access.name_of(client), "agent")
        author = check_typed_author(Author(name, "human" if name == "user" else "agent"))
        return with_registered_kind(repository, author)


def _deliver(repository: Repository, routed: Routed) -> tuple[Note, ...]:
    """Give a message that was sent to the programs of its receivers; return what failed."""
    try:
        sent = SentMessage(routed.message, [routed.operation])
        return deliver_to_programs(repository, routed.delivered_to, sent)
    except ScopesError as error:  # an error in place of the answer would make the agent send it again
        return (Note(error.message, error.hint),)


def _check_new(conversation: str | None, title: str | None, key: str | None) -> None:
    """Refuse what does not fit together: an argument that was ignored would not be noticed."""
    if conversation is None and key is not None:
        raise Invalid("a key needs a conversation", hint="record the first message without a key")
    if conversation is not None and title is not None:
        raise Invalid("a title is for a new conversation", hint="leave out title, or conversation")
    if title is not None and not title.strip():
        raise Invalid("the title is empty", hint="leave it out")
    if key is not None and not key:
        raise Invalid("the key is empty", hint="leave it out")


def _make_message(text: str, author: Author, kind: Kind, data: Document | None, reply_to: str | None) -> Message:
    """Return a message that can be stored: what is too large or too deep is refused before a conversation is made."""
    if data is not None and kind not in TYPED_KINDS:
        kinds = sorted(TYPED_KINDS.intersection(get_args(Kind)))
        raise Invalid("data needs a typed kind", hint=f"kinds: {', '.join(kinds)}")
    if data is None and kind in TYPED_KINDS:
        raise Invalid(f"a message of kind {kind} needs data", hint=f"for example: {EXAMPLES[kind]}")
    if data is None and not text.strip():
        raise Invalid("the message is empty", hint="give a text")
    given = without_none(reply_to=reply_to, **{payload_key(kind): data})
    message = make_message(text, author, kind, cast("MessageFields", given))
    encode(message)
    return message


def _find_branch(repository: Repository, conversation: str) -> BranchHandle:
    return StoreHandle(repository).branch(*resolve_branch(repository, conversation, None))


def _leave_session(branch: BranchHandle, agent: AgentName) -> tuple[BranchHandle, tuple[Note, ...]]:
    """Return the branch for the message of an agent: `notes` in place of one that a session goes on writing."""
    if not is_written_by_session(branch):
        return branch, ()
    if NOTES not in branch.conversation.tips:
        with suppress(Refused):  # another process was faster
            create_branch(
                branch.repository, branch.conversation.id, agent=agent, start=branch.name, name=NOTES, switch=False
            )
    text = f"{branch} is the branch of a session that is being recorded: the message is on {NOTES}"
    return BranchHandle(branch.conversation, NOTES), (Note(text),)


def _merge_document(repository: Repository, outcome: MergeOutcome) -> Document:
    """Return the outcome of a merge with the position of the target; conflicts are on `resolution_branch`."""
    document = result_document(outcome)
    document.pop("tip", None)
    resolution = outcome.branch if outcome.branch != outcome.target and not outcome.dry_run else None
    where = position(repository, outcome.conversation, outcome.target)
    return document | where | without_none(resolution_branch=resolution)


def _record_once(branch: BranchHandle, message: Message, key: str, notes: tuple[Note, ...]) -> CallToolResult:
    """Append a message whose id follows from its author and a key, unless the conversation has it already.

    notes: of the branch to which it is appended
    """
    repository, conversation = branch.repository, branch.conversation.id
    uuid = read_uuid(repository, conversation)
    message_id = derived_id("mcp", uuid, message.author.name, key)
    with exclusive_write(repository):
        known = _find(branch, message_id)
        if known is not None:
            return written_answer({"kind": "message", "id": message_id, "recorded": "earlier", **known})
        [write] = message_writers(repository, conversation, [replace(message, id=message_id)])
        tip = branch.tip
        oid = write(tip)
        tx = Transaction(repository, conversation)
        tx.move_branch(branch.name, tip, oid)
        tx.commit("append", f"append {message_id[:8]} to {branch}")
    where = position(repository, conversation, branch.name, oid)
    more = {"notes": note_objects(notes)} if notes else {}
    return written_answer({"kind": "message", "id": message_id, "oid": oid, **more, **where})


def _find(branch: BranchHandle, message_id: MessageId) -> Document | None:
    """Return where a message of a conversation is; None if it is not there."""
    repository, conversation = branch.repository, branch.conversation.id
    try:
        found = resolve_revision(repository, message_id, conversation)
    except NotFound:
        return None
    return {"oid": found.oid, **position(repository, conversation, found.branch or branch.name)}


def is_written_by_session(branch: BranchHandle) -> bool:
    """Return True if a session goes on writing a branch: an import follows it, or `scopes acp` records it now."""
    match branch.entry.extra.get(ACP):
        case {"agent": str(agent), "session": str(session)}:
            if is_file_locked(session_lock_path(branch.repository.path, (agent, session))):
                return True
    return is_followed(branch, branch.tip)
