"""`scopes facts`: facts that agents derive and people accept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, TypeAlias

from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    Conversation,
    Data,
    Limit,
    OptionalConversation,
    Reason,
    Text,
    Texts,
    argument,
    option,
    read_confidence,
    read_fields,
)
from scopes.errors import Invalid
from scopes.facts.cycle import Acceptance, Cycle
from scopes.facts.decide import accept, decide, reject
from scopes.facts.list import list_eligible, list_facts, list_proposed, log_cycles, show_fact
from scopes.facts.propose import Proposal, add_key, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.render.output import progress
from scopes.render.view import ViewOptions

FactName: TypeAlias = Annotated[str, argument("FACT", "Its id, a unique prefix of it, or KEY/ID")]
MAX_CONTENT_BYTES = 1_000_000
_DURATION = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FIELDS = ("id", "model", "prompt_hash", "confidence")


def facts_propose(
    invocation: Invocation,
    conversation: Conversation,
    key: Annotated[str, argument("KEY", "The context key, such as Constraints")],
    text: Annotated[str, argument("TEXT", "The fact; - reads standard input")],
    sources: Annotated[Texts, option("--source MESSAGE", "A message that it is drawn from")] = None,
    invalidates: Annotated[Text, option("--invalidates ID", "The fact that it takes back")] = None,
    expires: Annotated[Text, option("--expires WHEN", "When nobody can accept it any more: 12h, 7d")] = None,
    new_key: Annotated[bool, option("--new-key", "KEY is a new context key")] = False,
    data: Data = None,
) -> int:
    """Propose a fact about a conversation.

    It becomes a fact by facts accept. Keys are Seeds, Hypotheses, Strategies, Constraints, Signals, and those that were
    added. Facts are never edited: a later one takes an earlier one back. Fields of --data: id, model, prompt_hash,
    confidence.

    Examples:
      scopes facts propose @ Constraints 'Node 20 only'
      scopes facts propose @ Needs 'SSO' --new-key
      scopes facts propose @ Seeds - --source k3x9 --data '{"confidence": 0.7}' < finding.txt
    """
    fields = read_fields(invocation, data)
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        raise Invalid(f"--data has the unknown field {unknown[0]!a}", hint=f"fields: {', '.join(_FIELDS)}")
    share = fields.pop("confidence", 1)
    given = Proposal(
        key=key,
        content=_read_content(invocation) if text == STANDARD_INPUT else text,
        agent="",
        confidence=read_confidence("confidence", str(share)) or 0.0,
        sources=sources or (),
        invalidates=invalidates,
        expires_seconds=None if expires is None else _read_duration(expires),
        **{name: str(value) for name, value in fields.items()},
    )
    repository = invocation.repository()
    if new_key:
        add_key(repository, key)
    return invocation.show(propose(repository, conversation, replace(given, agent=repository.caller.actor)))


def facts_list(
    invocation: Invocation,
    conversation: OptionalConversation = None,
    everything: Annotated[bool, option("-a, --all", "Also facts that were taken back")] = False,
    key: Annotated[Text, option("--key KEY", "Only those of this context key")] = None,
    proposed: Annotated[bool, option("--proposed", "Proposed facts, and questions of agents")] = False,
) -> int:
    """List facts, or what waits for a decision.

    With --proposed, -a also lists rejected and expired ones.

    Examples:
      scopes facts
      scopes facts list @ --proposed
    """
    function = list_proposed if proposed else list_facts
    return invocation.show(function(invocation.repository(), conversation, key=key, everything=everything))


def facts_show(invocation: Invocation, conversation: Conversation, fact: FactName) -> int:
    """Show a fact, and how it came about.

    Of a fact that a run added: the cycle, the agent, and the facts that it had read. Of a proposed one: why it cannot
    be accepted, if it cannot.

    Examples:
      scopes facts show @ Constraints/n20
      scopes facts show @ n20 --json
    """
    result = show_fact(invocation.repository(), conversation, fact)
    return invocation.show(result, options=ViewOptions(origin=True))


def facts_accept(invocation: Invocation, conversation: Conversation, fact: FactName, reason: Reason = "") -> int:
    """Make a fact of a proposed one, if it is valid.

    The decision is recorded with your name. If it is not valid, the reasons are printed, and it stays as it is.

    Examples:
      scopes facts accept @ n20
      scopes facts accept @ n20 --reason 'CI has it'
    """
    repository = invocation.repository()
    return invocation.show(accept(repository, conversation, fact, actor=repository.caller.actor, rationale=reason))


def facts_reject(invocation: Invocation, conversation: Conversation, fact: FactName, reason: Reason = "") -> int:
    """Reject a proposed fact, with a reason.

    No run accepts the same statement again.

    Examples:
      scopes facts reject @ n20 --reason 'we support 18'
      scopes facts reject conv-001 n20 --reason old
    """
    repository = invocation.repository()
    return invocation.show(reject(repository, conversation, fact, actor=repository.caller.actor, reason=reason))


def facts_decide(
    invocation: Invocation,
    conversation: Conversation,
    subject: Annotated[str, argument("QUESTION", "The question, or a proposed fact to refine")],
    decision: Annotated[str, argument("DECISION", "approved, rejected or refine")],
    reason: Reason = "",
) -> int:
    """Answer a question of an agent.

    The agents that depend on its key run again in the next facts run, and read the decision.

    Examples:
      scopes facts decide @ q3 approved
      scopes facts decide @ q3 refine --reason 'only for Safari'
    """
    repository = invocation.repository()
    actor = repository.caller.actor
    return invocation.show(decide(repository, conversation, subject, decision, actor=actor, rationale=reason))


def facts_run(
    invocation: Invocation,
    conversation: Conversation,
    agents: Annotated[Texts, option("--agent NAME=COMMAND", "The program of an agent")] = None,
    max_cycles: Annotated[int, option("--max-cycles N", "Stop after so many cycles", least=1)] = 100,
    min_confidence: Annotated[Text, option("--min-confidence SHARE", "Below it a person decides: 85%")] = None,
    review: Annotated[bool, option("--review", "A person decides about every fact")] = False,
    expires: Annotated[Text, option("--expires WHEN", "How long facts wait for a person: 12h, 7d")] = None,
) -> int:
    """Let agents derive facts until nothing changes.

    In each cycle the registered agents run that depend on a key with new facts. Each is a program, of --agent or of the
    setting scopes.agent.NAME.command, that reads a JSON object and writes one. --dry-run lists the agents of the next
    cycle. The exit code is 1 if an agent failed, 9 at a limit; undo takes the whole run back.

    Examples:
      scopes facts run @
      scopes facts run @ --dry-run
      scopes facts run @ --agent bot='./bot.py' --max-cycles 5
    """
    limits = RunLimits(
        cycles=max_cycles,
        expires_seconds=None if expires is None else _read_duration(expires),
        acceptance=Acceptance(review, read_confidence("--min-confidence", min_confidence) or 0.0),
    )
    commands = dict(_read_commands(agents or ()))
    repository = invocation.repository()
    if invocation.dry_run:
        return invocation.show(list_eligible(repository, conversation))
    with progress(invocation.output(), "running cycles") as on_progress:

        def report(_: Cycle) -> None:
            on_progress(1)

        result = run_programs(repository, conversation, commands, limits, on_cycle=report)
    return invocation.show(result)


def facts_log(
    invocation: Invocation,
    conversation: Conversation,
    limit: Limit = None,
    explain_order: Annotated[bool, option("--explain-order", "Every effect, in its order, and why")] = False,
) -> int:
    """Show the cycles of a conversation, newest first.

    Examples:
      scopes facts log @
      scopes facts log @ -n 1 --explain-order
    """
    return invocation.show(log_cycles(invocation.repository(), conversation, limit=limit, explain_order=explain_order))


def _read_commands(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    for word in words:
        name, equals, command = word.partition("=")
        if not equals or not name or not command.strip():
            raise Invalid(f"{word!a} names no agent and command", hint="for example: --agent bot='./bot.py'")
        yield name, command


def _read_content(invocation: Invocation) -> str:
    with open_input(invocation, STANDARD_INPUT) as stream:
        return stream.read(MAX_CONTENT_BYTES).decode("utf-8", "replace").strip()


def _read_duration(text: str) -> int:
    """Return the seconds of a time span such as `30m`, `12h` or `7d`.

    Raises:
        Invalid: it is not a time span.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise Invalid(f"{text!a} is not a time span", hint="for example: 30m, 12h, 7d")
    return int(match[1]) * _SECONDS[match[2]]
