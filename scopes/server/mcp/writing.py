"""The tools that write: record, branch, merge, remember, send, and propose facts. None of them accepts a fact."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import Annotated, Any, Literal, cast

from mcp.types import CallToolResult
from pydantic import Field

from scopes.agents.inbox import read_inbox
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.api.message_fields import MessageFields, make_message
from scopes.api.store import Store
from scopes.conversation.append import append_to, message_writers
from scopes.conversation.branch import branch as create_branch
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.new import new
from scopes.errors import Invalid, NotFound
from scopes.facts.propose import Proposal, propose
from scopes.history.conversations import read_uuid
from scopes.history.handles import BranchHandle
from scopes.history.revisions import resolve_branch, resolve_revision
from scopes.history.transaction import Transaction
from scopes.ids import MessageId
from scopes.memory.add import add as add_memory
from scopes.merge.commits import derived_id
from scopes.model.encoding import without_none
from scopes.model.message import Author, Message
from scopes.server.mcp.access import Client, StoreAccess
from scopes.server.mcp.answers import DEFAULT_TOKENS, answer, result_answer
from scopes.server.mcp.reading import Budget, Where, position
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
        answer as `conversation` from then on.
        """
        with self._access.open(client, create=True) as store:
            writer = self._author(client, author)
            given = without_none(reply_to=reply_to, **{kind: data})
            message = make_message(text, writer, kind, cast("MessageFields", given))
            if conversation is None:
                if key is not None:
                    raise Invalid("a key needs a conversation", hint="record the first message without a key")
                conversation = new(store.repository, title=title).id
            branch = _branch(store, conversation)
            if key is None:
                appended = append_to(branch, message)
                return result_answer(appended, position(store.repository, appended.conversation, appended.branch))
            return _record_once(store, branch, message, key)

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
        with self._access.open(client) as store:
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
            return result_answer(created, position(store.repository, created.conversation, created.name))

    def conversation_merge(
        self,
        client: Client,
        conversation: Annotated[str, Field(description="The conversation")],
        source: Annotated[str, Field(description="The branch to merge")],
        target: Annotated[
            str | None, Field(description="The branch that receives it (default: the active one)")
        ] = None,
        strategy: Annotated[
            Literal["automatic", "ours", "theirs", "manual"], Field(description="What happens to conflicts")
        ] = "automatic",
        dry_run: Annotated[bool, Field(description="Only say what would happen")] = False,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Merge a branch into another. Conflicts are data in the answer: then the target is unchanged.

        A conflict that is not resolved automatically is for a human: say what the sides are and stop there.
        """
        with self._access.open(client) as store:
            outcome = merge(
                store.repository, conversation, source, target=target,
                options=MergeOptions(strategy=strategy), dry_run=dry_run,
            )  # fmt: skip
            return result_answer(outcome, rows="merged_messages", max_tokens=max_tokens)

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
        with self._access.open(client, create=True) as store:
            added = add_memory(
                store.repository,
                text,
                agent=self._access.name_of(client),
                topics=topics or (),
                decisions=decisions or (),
                actions=actions or (),
                importance=importance,
            )
            return result_answer(added)

    def message_send(
        self,
        client: Client,
        conversation: Where,
        to: Annotated[list[str], Field(description="Agents by name, @capability, or all")],
        text: Annotated[str, Field(description="The message")],
        queue: Annotated[bool, Field(description="Send also if nobody is available: it waits for them")] = False,
    ) -> CallToolResult:
        """Add a message to a conversation and put it into the inboxes of registered agents, in one operation."""
        with self._access.open(client) as store:
            message = make_message(text, self._author(client, None), "plain", MessageFields())
            routed = send(_branch(store, conversation), message, to, queue=queue)
            return result_answer(routed, position(store.repository, routed.conversation, routed.branch))

    def inbox(
        self,
        client: Client,
        agent: Annotated[str | None, Field(description="Whose inbox (default: yours)")] = None,
        acknowledge: Annotated[bool, Field(description="Take the messages out: when you act on them now")] = False,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> CallToolResult:
        """Read the unread messages for you, in the order of sending."""
        with self._access.open(client) as store:
            name = agent or self._access.name_of(client)
            if Registry(store.repository).find_named(name) is None:
                hint = f"ask the user to register it: scopes agents register {quote(name)}"
                raise NotFound(f"no agent {name!a} is registered, so it has no inbox", hint=hint)
            found = read_inbox(store.repository, name)
            answered = result_answer(found, rows="messages", max_tokens=max_tokens)
            if acknowledge and found.messages:
                if (answered.structured_content or {}).get("left_out"):
                    raise Invalid(
                        "the inbox does not fit into max_tokens, so nothing was taken", hint="raise max_tokens"
                    )
                taken = read_inbox(store.repository, found.agent.name, acknowledge=True)
                answered = result_answer(taken, rows="messages", max_tokens=100_000)
            return answered

    def fact_propose(
        self,
        client: Client,
        conversation: Annotated[str, Field(description="The conversation that it is about")],
        key: Annotated[str, Field(description="Seeds, Hypotheses, Strategies, Constraints or Signals")],
        content: Annotated[str, Field(description="The statement")],
        confidence: Annotated[float, Field(ge=0, le=1, description="How sure you are")] = 0.8,
        sources: Annotated[list[str] | None, Field(description="Messages that show it, by id")] = None,
    ) -> CallToolResult:
        """Propose a fact. It becomes one only when a person, or a run that a person started, accepts it."""
        with self._access.open(client) as store:
            name = self._access.name_of(client)
            given = Proposal(key=key, content=content, agent=name, confidence=confidence, sources=sources or ())
            return result_answer(propose(store.repository, conversation, given))

    def _author(self, client: Client, name: str | None) -> Author:
        if name is None:
            return Author(self._access.name_of(client), "agent")
        return Author(name, "human" if name == "user" else "agent")


def _branch(store: Store, conversation: str) -> BranchHandle:
    conversation_id, name = resolve_branch(store.repository, conversation, None)
    return store.branch(conversation_id, name)


def _record_once(store: Store, branch: BranchHandle, message: Message, key: str) -> CallToolResult:
    """Append a message whose id follows from its author and a key, unless the conversation has it already."""
    repository, conversation = store.repository, branch.conversation.id
    uuid = read_uuid(repository, conversation)
    message_id = derived_id("mcp", uuid, message.author.name, key)
    with exclusive_write(repository):
        current = store.branch(conversation, branch.name)
        known = _find(store, current, message_id)
        if known is not None:
            return answer({"kind": "message", "id": message_id, "recorded": "earlier", **known})
        [write] = message_writers(repository, conversation, [replace(message, id=message_id)])
        oid = write(current.tip)
        tx = Transaction(repository, conversation)
        tx.move_branch(branch.name, current.tip, oid)
        tx.commit("append", f"append {message_id[:8]} to {branch}")
    where = position(repository, conversation, branch.name)
    return answer({"kind": "message", "id": message_id, "oid": oid, **where})


def _find(store: Store, branch: BranchHandle, message_id: MessageId) -> dict[str, object] | None:
    """Return where a message of a conversation is; None if it is not there."""
    try:
        found = resolve_revision(store.repository, message_id, branch.conversation.id)
    except NotFound:
        return None
    name = found.branch or branch.name
    return {"oid": found.oid, **position(store.repository, branch.conversation.id, name)}
