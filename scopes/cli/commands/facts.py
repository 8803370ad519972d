"""`scopes facts propose`, `list`, `show`, `explain`, `promote`, `accept`, `reject`, `decide`, `run` and others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import AuthorName, ConversationArgument, OptionalConversationArgument, read_confidence
from scopes.cli.input import open_input
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid, check_not_negative
from scopes.facts.cycle import Acceptance, Cycle
from scopes.facts.decide import accept, decide, promote, reject
from scopes.facts.list import list_eligible, list_facts, list_proposed, log_cycles, show_fact
from scopes.facts.propose import Proposal, add_key, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.render.progress import progress
from scopes.render.view_options import ViewOptions

FactName: TypeAlias = Annotated[str, typer.Argument(metavar="FACT", help="Its id, a unique prefix of it, or KEY/ID")]
OfKey: TypeAlias = Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only those of this context key")]
MAX_CONTENT_BYTES = 1_000_000
_DURATION = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def facts_propose(
    context: typer.Context,
    conversation: ConversationArgument,
    key: Annotated[str, typer.Argument(metavar="CONTEXT-KEY", help="The context key, such as Constraints")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The fact; - reads standard input")],
    author: AuthorName = None,
    fact_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Names it in its key (default: a hash of key and text)")
    ] = None,
    confidence: Annotated[
        str, typer.Option("--confidence", metavar="SHARE", help="How sure the author is: 0.85 or 85%")
    ] = "1",
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model that an agent used")] = None,
    prompt_hash: Annotated[
        str | None, typer.Option("--prompt-hash", metavar="HASH", help="The hash of the prompt of the model")
    ] = None,
    sources: Annotated[
        list[str] | None, typer.Option("--source", metavar="MESSAGE", help="A message that it is drawn from")
    ] = None,
    invalidates: Annotated[
        str | None, typer.Option("--invalidates", metavar="ID", help="The fact of the same key that it takes back")
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="When it can no longer be promoted: 30m, 12h, 7d")
    ] = None,
) -> int:
    """Propose a fact about a conversation.

    A proposed fact is not a fact yet. It becomes one by facts promote, if it is valid, or by facts accept, if a person
    approves it as well. Keys are Seeds, Hypotheses, Strategies, Constraints, Signals, and those that facts key add has
    added. Facts are never edited: a later one with --invalidates takes an earlier one back. A source is a message or a
    revision such as main~2. A confidence is shown with a word: Very Low, from 0.2 Low, from 0.4 Medium, from 0.6 High,
    from 0.8 Very High.

    Examples:
      scopes facts propose conv-001 Constraints "The session cookie must be SameSite=Lax"
      scopes facts propose conv-001 Hypotheses - --as analyst --confidence 0.7 --source k3x9 < finding.txt
      scopes facts propose conv-001 Seeds "Budget is 20 days" --id budget-2 --invalidates budget --expires 7d
    """
    invocation: Invocation = context.obj
    given = Proposal(
        key=key,
        content=_read_content(invocation) if text == "-" else text,
        agent=author or invocation.repository().caller.actor,
        id=fact_id,
        confidence=read_confidence("--confidence", confidence) or 0.0,
        model=model,
        prompt_hash=prompt_hash,
        sources=sources or (),
        invalidates=invalidates,
        expires_seconds=None if expires is None else _read_duration(expires),
    )
    return invocation.show(propose(invocation.repository(), conversation, given))


def facts_list(
    context: typer.Context,
    conversation: OptionalConversationArgument = None,
    key: OfKey = None,
    proposed: Annotated[
        bool, typer.Option("--proposed", help="What waits for a decision: proposed facts, questions of agents")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also what was taken back; with --proposed rejected and expired ones")
    ] = False,
) -> int:
    """List the facts of a conversation.

    Examples:
      scopes facts list conv-001
      scopes facts list conv-001 --key Constraints --json
      scopes facts list --proposed
    """
    invocation: Invocation = context.obj
    function = list_proposed if proposed else list_facts
    return invocation.show(function(invocation.repository(), conversation, key=key, everything=everything))


def facts_show(context: typer.Context, conversation: ConversationArgument, fact: FactName) -> int:
    """Show a fact or a proposed fact.

    Examples:
      scopes facts show conv-001 budget
      scopes facts show conv-001 Constraints/samesite --json
    """
    invocation: Invocation = context.obj
    return invocation.show(show_fact(invocation.repository(), conversation, fact))


def facts_explain(context: typer.Context, conversation: ConversationArgument, fact: FactName) -> int:
    """Show how a fact came about.

    Of a fact that a run added: the cycle, the agent, the keys for which it ran, and the facts that it had not read
    before. Of a proposed fact: why it cannot be promoted, if it cannot.

    Examples:
      scopes facts explain conv-001 budget
    """
    invocation: Invocation = context.obj
    result = show_fact(invocation.repository(), conversation, fact)
    return invocation.show(result, options=ViewOptions(origin=True))


def facts_promote(context: typer.Context, conversation: ConversationArgument, fact: FactName) -> int:
    """Make a fact of a proposed fact, if it is valid.

    It is valid if it has text, a known key, a confidence from 0 to 1, an author, and an id that no fact with
    other text has. Otherwise the reasons are printed, and it stays a proposed fact.

    Examples:
      scopes facts promote conv-001 budget
    """
    invocation: Invocation = context.obj
    return invocation.show(promote(invocation.repository(), conversation, fact))


def facts_accept(
    context: typer.Context,
    conversation: ConversationArgument,
    fact: FactName,
    author: AuthorName = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why")] = "",
) -> int:
    """Approve a proposed fact: it becomes a fact.

    The decision is recorded with your name. One that is not valid stays as it is, as with facts promote. undo takes the
    acceptance back; later, a fact with --invalidates takes back the fact.

    Examples:
      scopes facts accept conv-001 budget
      scopes facts accept conv-001 budget --as carol --reason "confirmed by the customer"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    actor = author or repository.caller.actor
    return invocation.show(accept(repository, conversation, fact, actor=actor, rationale=reason))


def facts_reject(
    context: typer.Context,
    conversation: ConversationArgument,
    fact: FactName,
    author: AuthorName = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; required")] = "",
) -> int:
    """Reject a proposed fact, with a reason.

    It stays in facts list --proposed --all, and no run accepts the same statement again.

    Examples:
      scopes facts reject conv-001 budget --reason "that was last year"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    return invocation.show(
        reject(repository, conversation, fact, actor=author or repository.caller.actor, reason=reason)
    )


def facts_decide(
    context: typer.Context,
    conversation: ConversationArgument,
    subject: Annotated[str, typer.Argument(metavar="QUESTION|FACT", help="The question, or a proposed fact to refine")],
    decision: Annotated[str, typer.Argument(metavar="DECISION", help="approved, rejected or refine")],
    author: AuthorName = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, or what to refine")] = "",
) -> int:
    """Answer a question of an agent.

    The agents that depend on its key run again in the next facts run, and read the decision. With refine an agent is
    asked to propose something better: then facts promote refuses the proposed fact, and only facts accept makes a fact
    of it.

    Examples:
      scopes facts list conv-001 --proposed
      scopes facts decide conv-001 drop-ie11 approved --reason "0.1 % of users"
      scopes facts decide conv-001 Strategies/cache refine --reason "say how it is invalidated"
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    actor = author or repository.caller.actor
    return invocation.show(decide(repository, conversation, subject, decision, actor=actor, rationale=reason))


def facts_run(
    context: typer.Context,
    conversation: ConversationArgument,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="NAME=COMMAND", help="The program of an agent, before that of the settings"),
    ] = None,
    max_cycles: Annotated[int, typer.Option("--max-cycles", metavar="N", help="Stop after so many cycles")] = 100,
    max_facts: Annotated[
        int, typer.Option("--max-facts", metavar="N", help="Stop when the conversation has so many facts")
    ] = 10_000,
    timeout: Annotated[
        int | None, typer.Option("--timeout", metavar="SECONDS", help="What an agent may take in a cycle (default 60)")
    ] = None,
    min_confidence: Annotated[
        str, typer.Option("--min-confidence", metavar="SHARE", help="Below it a person decides: 0.85 or 85%")
    ] = "0",
    review: Annotated[bool, typer.Option("--review", help="A person decides about every fact")] = False,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="How long facts of the run wait for a person: 12h, 7d"),
    ] = None,
    all_keys: Annotated[
        bool, typer.Option("--all-keys", help="All keys count as new again, for an agent that was registered later")
    ] = False,
) -> int:
    """Let agents derive facts until nothing changes.

    In each cycle the registered agents run that depend on a key with new facts; in the first one of a conversation all
    keys count as new. An agent that could not see a key, because it was away, had no command or failed, or because a
    limit left out facts of it, runs for that key in the first cycle of the next run. Each is a program: it reads a JSON
    object on standard input and writes one on standard output; scopes help facts run --all describes both. All that
    they return is applied by the number of the agent, then in the order in which it wrote it, so the result does not
    depend on who was faster. An agent that fails contributes nothing.

    The run has converged when no key has new facts. If agents ask something, or a person has to decide about facts, it
    waits: decide, and run it again. The exit code is 1 if an agent failed and did not succeed later in the run; the
    others go on all the same, and the next run tries it again. `failed` of --json names those agents. Of two runs of a
    conversation at once the second one is refused, with exit code 6.

    Each cycle is stored as it ends. At a limit the exit code is 9 and what was added stays; undo takes the whole run
    back. The program of an agent is in the setting scopes.agent.<name>.command of your own configuration, never in that
    of a store.

    Examples:
      scopes agents register analyst --depends-on Seeds
      scopes facts run conv-001 --agent analyst="python3 analyst.py"
      scopes facts run conv-001 --review --expires 7d --json
      scopes config set scopes.agent.analyst.command "llm -m gpt-4o-mini -t analyst"
    """
    invocation: Invocation = context.obj
    for what, value in (("number of cycles", max_cycles), ("number of facts", max_facts)):
        check_not_negative(value, what, "0 or more")
    if max_cycles == 0:
        raise Invalid("a run of no cycles does nothing", hint="for example: --max-cycles 1")
    if timeout is not None and timeout < 1:
        raise Invalid(f"an agent cannot answer in {timeout} seconds", hint="for example: --timeout 30")
    limits = RunLimits(
        cycles=max_cycles,
        all_keys=all_keys,
        seconds=timeout,
        expires_seconds=None if expires is None else _read_duration(expires),
        acceptance=Acceptance(review, read_confidence("--min-confidence", min_confidence) or 0.0, max_facts),
    )
    repository = invocation.repository()
    with progress(invocation.output(), "running cycles") as on_progress:

        def report(_: Cycle) -> None:
            on_progress(1)

        result = run_programs(repository, conversation, dict(_read_commands(agents or ())), limits, on_cycle=report)
    return invocation.show(result)


def facts_log(
    context: typer.Context,
    conversation: ConversationArgument,
    limit: Annotated[int | None, typer.Option("-n", metavar="N", help="Only the newest N cycles")] = None,
    explain_order: Annotated[
        bool, typer.Option("--explain-order", help="Every effect, in the order in which it was applied")
    ] = False,
) -> int:
    """Show the cycles of a conversation, newest first.

    Examples:
      scopes facts log conv-001
      scopes facts log conv-001 -n 1 --explain-order
    """
    invocation: Invocation = context.obj
    check_not_negative(limit, "number of cycles", "0 or more")
    return invocation.show(log_cycles(invocation.repository(), conversation, limit=limit, explain_order=explain_order))


def facts_eligible(context: typer.Context, conversation: ConversationArgument) -> int:
    """List the agents that the next cycle would run.

    Examples:
      scopes facts eligible conv-001
    """
    invocation: Invocation = context.obj
    return invocation.show(list_eligible(invocation.repository(), conversation))


def facts_key_add(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="CONTEXT-KEY", help="One word, such as Requirements")],
) -> int:
    """Add a context key.

    It is one of all conversations, beside Seeds, Hypotheses, Strategies, Constraints and Signals.

    Examples:
      scopes facts key add Requirements
    """
    invocation: Invocation = context.obj
    return invocation.show(add_key(invocation.repository(create=True), key))


def _read_commands(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    for word in words:
        name, equals, command = word.partition("=")
        if not equals or not name or not command.strip():
            raise Invalid(f"{word!a} names no agent and command", hint='for example: --agent analyst="python3 a.py"')
        yield name, command


def _read_content(invocation: Invocation) -> str:
    with open_input(invocation, "-") as stream:
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
