"""`facts propose`: propose a fact about a conversation, and add a context key."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from shlex import quote

from scopes.agents.registry import Registry
from scopes.clock import format_time, now, now_nanoseconds
from scopes.errors import Invalid, NotFound, Refused
from scopes.facts.context import FactContext
from scopes.facts.fact import ProposedFact, Provenance, derive_id
from scopes.facts.store import FactChanges, FactStore
from scopes.facts.validation import check_expiry, find_problems, is_expired, is_same
from scopes.history.names import find_nearest, resolve_conversation, resolve_revision
from scopes.ids import ConversationId, Oid, OperationId, parse_agent_name
from scopes.result import HIDDEN, INLINE, Note, Result, shown
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_MAX_KEY_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FactProposed(Result):
    """A proposal that was stored, or was there already: then `operation` is None.

    `is_fact`: there is such a fact already, so nothing was stored.
    """

    kind = "proposed-fact"

    conversation: ConversationId
    fact: ProposedFact = field(metadata=INLINE)
    operation: OperationId | None
    is_fact: bool = field(default=False, metadata=HIDDEN)

    @property
    @shown
    def state(self) -> str:
        """The state of the proposal; `accepted` if there is such a fact."""
        return "accepted" if self.is_fact else self.fact.state

    @property
    def sentence(self) -> str:
        """What was proposed, or why nothing was stored."""
        there = "is a fact already:" if self.is_fact else "already proposed:"
        return f"{there if self.operation is None else 'proposed'} {self.answer} for {self.conversation}"

    @property
    def answer(self) -> str:
        """The key and the id."""
        return f"{self.fact.key}/{self.fact.id}"

    @property
    def remark(self) -> str:
        """Why nothing was stored."""
        there = "is a fact already" if self.is_fact else "already proposed"
        return "" if self.operation is not None else f"{there}, so nothing was stored: {self.answer}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAdded(Result):
    """A context key that was added for all conversations, or was there already: then `operation` is None."""

    kind = "fact-key"

    key: str
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """What was added."""
        return f"added the context key {self.key}" if self.operation is not None else self.remark

    @property
    def answer(self) -> str:
        """The key."""
        return self.key

    @property
    def remark(self) -> str:
        """That nothing was added."""
        return "" if self.operation is not None else f"the context key exists already: {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What `propose` is given.

    Attributes:
        id: Names it; None for one that is derived from key and content.
        sources: Messages or revisions that it is drawn from.
        expires_seconds: After how many seconds it can no longer be promoted (S2-20); None for never.
    """

    key: str
    content: str
    agent: str
    id: str | None = None
    confidence: float = 1.0
    model: str | None = None
    prompt_hash: str | None = None
    sources: Sequence[str] = ()
    invalidates: str | None = None
    expires_seconds: int | None = None


def propose(repository: Repository, conversation: str, given: Proposal) -> FactProposed:
    """Store a proposal; one that the facts of the conversation contradict is stored too, with a note (S2-10).

    Raises:
        NotFound, Ambiguous: there is no such conversation or source, or several match.
        Invalid: the key is unknown, the text empty, the id or the confidence impossible.
        Refused: a proposal of this id waits already, with other content.
    """
    conversation_id = resolve_conversation(repository, conversation)
    sources = tuple(_find_source(repository, conversation_id, each) for each in given.sources)
    with exclusive_write(repository):
        store = FactStore(repository, conversation_id)
        context = store.read_context()
        agent = Registry(repository).find_named(given.agent)
        key = require_key(context, given.key)
        fact_id = given.id or derive_id(key, given.content)
        expires = given.expires_seconds
        fact = ProposedFact(
            key=key,
            id=fact_id,
            content=given.content,
            confidence=given.confidence,
            provenance=Provenance(
                agent=parse_agent_name(given.agent),
                number=None if agent is None else agent.number,
                model=given.model,
                prompt_hash=given.prompt_hash,
                sources=sources,
            ),
            invalidates=given.invalidates,
            proposed=now(),
            expires=None if expires is None else format_time(now_nanoseconds() + expires * 10**9),
        )
        taken = context.find(key, fact_id)
        if taken is not None and is_same(_check(fact, given), taken):
            return FactProposed(conversation=conversation_id, fact=fact, operation=None, is_fact=True)
        operation = _store(store, _check(fact, given))
        if operation is None:
            fact = store.find_proposal(key, fact_id) or fact
        problems = find_problems(fact, context)
        hint = _cure(fact, context, conversation_id) if problems else ""
    notes = (Note(f"it cannot be promoted as it is: {'; '.join(problems)}", hint),) if problems else ()
    return FactProposed(conversation=conversation_id, fact=fact, operation=operation, notes=notes)


def _cure(fact: ProposedFact, context: FactContext, conversation: ConversationId) -> str:
    """Return what to do about a proposal that cannot be promoted."""
    reject = f"scopes facts reject {quote(conversation)} {quote(fact.key)}/{quote(fact.id)} --reason TEXT"
    target = fact.invalidates
    if target is None or context.find(fact.key, target) is not None:
        return f'reject it: {reject}; to propose it under another id: --data \'{{"id": "ID"}}\''
    near = find_nearest(target, [each.id for each in context.walk([fact.key])])
    meant = (
        f"did you mean {' or '.join(near)}?" if near else f"facts that can be: scopes facts list {quote(conversation)}"
    )
    listed = meant if near else f"{meant} --key {fact.key}"
    return f"{listed}\nto propose it again with another --invalidates, reject this one: {reject}"


def _find_source(repository: Repository, conversation: ConversationId, name: str) -> Oid:
    """Return the commit of a message or a revision; `main~2` is one of the conversation.

    Raises:
        NotFound: there is none.
    """
    for each in (name, f"{conversation}/{name}"):
        with suppress(NotFound):
            return Oid(resolve_revision(repository, each).oid)
    hint = f"a source is the id of a message, or a revision such as {conversation}/main~2"
    hint = f"{hint}; see: scopes log {quote(conversation)}"
    raise NotFound(f"there is no message {name!a}", hint=hint)


def _check(fact: ProposedFact, given: Proposal) -> ProposedFact:
    """Return a proposal that may become a fact some day, whatever the context has then.

    Raises:
        Invalid: the text, the id or the confidence is not valid, or it expires at once.
    """
    problems = find_problems(replace(fact, invalidates=None), FactContext(more_keys=frozenset({fact.key})))
    if problems:
        raise Invalid(f"that cannot be proposed: {'; '.join(problems)}", hint="see: scopes help facts propose")
    check_expiry(given.expires_seconds)
    return fact


def _store(store: FactStore, fact: ProposedFact) -> OperationId | None:
    earlier = store.find_proposal(fact.key, fact.id)
    if earlier is not None and earlier.state == "pending" and not is_expired(earlier):
        if earlier.content == fact.content and earlier.invalidates == fact.invalidates:
            return None
        see = f"see: scopes facts show {quote(store.conversation)} {quote(fact.key)}/{quote(fact.id)}"
        raise Refused(
            f"{earlier.provenance.agent} has proposed {fact.key}/{fact.id} with other content",
            hint=f"decide about that one first, or give another id with --data; {see}",
        )
    if earlier is None and store.holds_proposal(fact.key, fact.id):
        text = f"a stored proposal {fact.key}/{fact.id} cannot be read, and is not replaced"
        raise Refused(text, hint="see: scopes verify; give another id with --data")
    changes = FactChanges(store, f"propose {fact.key}/{fact.id} for {store.conversation}")
    changes.propose(store.proposal_change(fact.key, fact.id, fact))
    return changes.commit("facts-propose")


def add_key(repository: Repository, key: str) -> KeyAdded:
    """Add a context key for all conversations (S2-11).

    Raises:
        Invalid: it is not one word.
    """
    is_word = key.isprintable() and not any(character.isspace() or character == "/" for character in key)
    if not key or not is_word or len(key) > _MAX_KEY_CHARACTERS:
        raise Invalid(f"{key[:_MAX_KEY_CHARACTERS]!a} cannot be a context key", hint="one word, such as Requirements")
    with exclusive_write(repository):
        store = FactStore(repository, ConversationId(""))  # keys belong to no conversation
        known = FactContext(more_keys=store.read_more_keys()).known_key(key)
        if known is not None:
            return KeyAdded(key=known, operation=None)
        changes = FactChanges(store, f"add the context key {key}")
        changes.add_key(key)
        return KeyAdded(key=key, operation=changes.commit("facts-key"))


def require_key(context: FactContext, name: str) -> str:
    """Return the key of a name, whatever its case.

    Raises:
        Invalid: it is unknown; the hint has the nearest one.
    """
    key = context.known_key(name)
    if key is not None:
        return key
    if not name.strip():
        raise Invalid("the context key is empty", hint=f"keys: {', '.join(context.known_keys())}")
    known = {each.casefold(): each for each in context.known_keys()}
    from difflib import get_close_matches

    near = get_close_matches(name.casefold(), known, 1)
    hint = f"did you mean {known[near[0]]}? Or" if near else f"keys: {', '.join(context.known_keys())};"
    raise Invalid(f"unknown context key {name!a}", hint=f"{hint} to add {name[:80]}: --new-key")
