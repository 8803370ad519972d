"""The programs of agents: a cycle as JSON on standard input, effects as JSON on standard output, in any language.

Input, one JSON object, in which secrets are replaced:
    {"scopes": 1, "conversation", "cycle", "version", "agent": {"number", "name", "dependencies"}, "dirty": [KEY],
     "facts": [FACT of the dirty keys that the agent depends on], "decisions": [{"subject", "decision", "rationale"}]}
Output, one JSON object, each field optional; nothing at all means no effects:
    {"facts": [{"key", "content", "id", "confidence", "model", "prompt_hash", "sources", "invalidates"}],
     "questions": [{"key", "text", "id"}], "traces": [TEXT]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any, Final, NamedTuple

from scopes.child_process import CommandFailed, CommandLimits, before_fatal_signals, run_command
from scopes.clock import now
from scopes.facts.context import FactContext, taken_back
from scopes.facts.cycle import Effects, FactAgent, reasons_of
from scopes.facts.fact import Fact, ProposedFact, Provenance, Question, derive_id, describe, to_float
from scopes.facts.validation import MAX_CONTENT_CHARACTERS, is_id
from scopes.ids import ConversationId, Oid, is_oid
from scopes.secret_scan.clearance import Gate

MAX_OUTPUT_BYTES: Final = 10_000_000
DEFAULT_SECONDS: Final = 60
_MAX_AT_ONCE: Final = 8
_MAX_EFFECTS: Final = 10_000
_MAX_TRACE_CHARACTERS: Final = 500
_MAX_TRACES: Final = 20
_MAX_PROBLEM_CHARACTERS: Final = 2_000
_MAX_FIELD_CHARACTERS: Final = 80
_FACT_FIELDS: Final = frozenset(
    {"key", "content", "id", "confidence", "model", "prompt_hash", "sources", "invalidates"}
)
_QUESTION_FIELDS: Final = frozenset({"key", "text", "id"})
_FIELDS: Final = frozenset({"facts", "questions", "traces"})


class Program(NamedTuple):
    """The command of an agent, and how many seconds it may take in a cycle."""

    command: str
    seconds: int = DEFAULT_SECONDS


class UnreadableEffects(Exception):
    """What a program wrote is not an object of effects; the text is a predicate of the agent."""


class ProgramRunner:
    """Runs the programs of agents, up to eight at once; each sees the context as it was before the cycle."""

    def __init__(self, conversation: ConversationId, programs: Mapping[int, Program], gate: Gate) -> None:
        self._gate = gate
        self._conversation = conversation
        self._programs = programs
        self._stopped = Event()

    def use_name(self, conversation: ConversationId) -> None:
        """Give the programs another id of the conversation from now on."""
        self._conversation = conversation

    def ask(self, agents: Sequence[FactAgent], context: FactContext) -> dict[int, Effects]:
        """Return the effects of each agent, by number; one that fails has a problem and no effects (S2-19)."""
        facts = self._facts_of(agents, context)
        inputs = [self._input(agent, context, facts) for agent in agents]
        # Programs are in process groups of their own: Ctrl-C does not reach them.
        with before_fatal_signals(self._stopped.set), ThreadPoolExecutor(_MAX_AT_ONCE) as pool:
            answers = list(pool.map(self._run, agents, inputs))
        return {agent.number: _with_known_keys(each, context) for agent, each in zip(agents, answers, strict=True)}

    def _facts_of(self, agents: Sequence[FactAgent], context: FactContext) -> Mapping[str, Sequence[Fact]]:
        """Return the facts of the dirty keys on which an agent depends, without those that were taken back."""
        wanted = {key for agent in agents for key in reasons_of(agent, context)}
        found = {}
        for key in wanted:
            facts = list(context.walk([key]))
            gone = taken_back(facts)
            found[key] = [fact for fact in facts if (fact.key, fact.id) not in gone]
        return found

    def _input(self, agent: FactAgent, context: FactContext, facts: Mapping[str, Sequence[Fact]]) -> bytes:
        dirty = reasons_of(agent, context)
        document = {
            "scopes": 1,
            "conversation": self._conversation,
            "cycle": context.cycles + 1,
            "version": context.version,
            "agent": {"number": agent.number, "name": agent.name, "dependencies": list(agent.dependencies)},
            "dirty": list(dirty),
            "facts": [describe(fact) for key in dirty for fact in facts[key]],
            "decisions": [
                {"subject": each.subject, "decision": each.decision, "rationale": each.rationale}
                for each in context.stored.walk_decisions()
            ],
        }
        cleared = self._gate.clear_document(document, "a fact")
        return (json.dumps(cleared, ensure_ascii=True) + "\n").encode()

    def _run(self, agent: FactAgent, data: bytes) -> Effects:
        program = self._programs[agent.number]
        environ = {**os.environ, "SCOPES_CONVERSATION": self._conversation, "SCOPES_AGENT": agent.name}
        limits = CommandLimits(program.seconds, MAX_OUTPUT_BYTES)
        try:
            output = run_command(program.command, data, limits, environ=environ, is_stopped=self._stopped.is_set)
            return read_effects(output, agent)
        except (CommandFailed, UnreadableEffects) as error:
            return Effects(problem=str(error)[:_MAX_PROBLEM_CHARACTERS])


def _with_known_keys(effects: Effects, context: FactContext) -> Effects:
    """Return effects that spell keys as they are; a question about no key could never be answered."""
    facts = tuple(_with_known_key(each, context) for each in effects.facts)
    questions = []
    for each in effects.questions:
        key = context.known_key(each.key)
        if key is None:
            known = ", ".join(context.known_keys())
            return Effects(problem=f"asked about the unknown key {each.key[:80]!a}, known are {known}")
        questions.append(replace(each, key=key))
    return replace(effects, facts=facts, questions=tuple(questions))


def _with_known_key(fact: ProposedFact, context: FactContext) -> ProposedFact:
    """Return a proposal with its key as it is spelled, `seeds` as Seeds; one without a known key stays as it is."""
    key = context.known_key(fact.key)
    if key in {None, fact.key}:
        return fact
    is_derived = fact.id == derive_id(fact.key, fact.content)
    return replace(fact, key=key, id=derive_id(str(key), fact.content) if is_derived else fact.id)


def read_effects(output: bytes, agent: FactAgent) -> Effects:
    """Read what the program of an agent wrote.

    Raises:
        UnreadableEffects: it is not one JSON object of the form above.
    """
    text = output.decode("utf-8", "replace").strip()
    try:
        document = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise UnreadableEffects(f"wrote no JSON object: {ascii(text[:80])[:82]}") from error
    if not isinstance(document, dict):
        raise UnreadableEffects(f"wrote JSON that is not an object: {text[:80]!a}")
    _check_fields("output", document, _FIELDS)
    facts, questions, traces = (_list_of(document, name) for name in ("facts", "questions", "traces"))
    return Effects(
        facts=tuple(_read_fact(each, agent) for each in facts),
        questions=tuple(_read_question(each, agent) for each in questions),
        traces=tuple(str(each)[:_MAX_TRACE_CHARACTERS] for each in traces[:_MAX_TRACES]),
    )


def _read_fact(value: object, agent: FactAgent) -> ProposedFact:
    if not isinstance(value, dict):
        raise UnreadableEffects("wrote a fact that is not an object")
    _check_fields("a fact", value, _FACT_FIELDS)
    key, content = _text(value, "key"), _text(value, "content")
    if key is None or content is None:
        raise UnreadableEffects("wrote a fact without key or content")
    confidence, sources = value.get("confidence", 1.0), value.get("sources", [])
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise UnreadableEffects(f"wrote the confidence {str(confidence)[:40]!a}, which is not a number")
    if not isinstance(sources, list) or not all(isinstance(each, str) and is_oid(each) for each in sources):
        raise UnreadableEffects("wrote sources that are not commits: object ids of 40 digits")
    return ProposedFact(
        key=key,
        id=_text(value, "id") or derive_id(key, content),
        content=content,
        confidence=to_float(confidence),
        provenance=Provenance(
            agent=agent.name,
            number=agent.number,
            model=_text(value, "model"),
            prompt_hash=_text(value, "prompt_hash"),
            sources=tuple(map(Oid, sources)),
        ),
        invalidates=_text(value, "invalidates"),
        proposed=now(),
    )


def _read_question(value: object, agent: FactAgent) -> Question:
    if not isinstance(value, dict):
        raise UnreadableEffects("wrote a question that is not an object")
    _check_fields("a question", value, _QUESTION_FIELDS)
    key, text = _text(value, "key"), _text(value, "text")
    if key is None or text is None or not text.strip():
        raise UnreadableEffects("wrote a question without key or text")
    if len(text) > MAX_CONTENT_CHARACTERS:
        raise UnreadableEffects(f"wrote a question of over {MAX_CONTENT_CHARACTERS:,} characters")
    name = _text(value, "id") or derive_id(key, text)
    if not is_id(name):
        raise UnreadableEffects(f"wrote {name[:100]!a}, which is not the id of a question: letters, digits and ._:@+-")
    return Question(id=name, key=key, text=text, agent=agent.name)


def _list_of(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name, [])
    if not isinstance(found, list):
        raise UnreadableEffects(f"wrote {name!a} that is not a list")
    if len(found) > _MAX_EFFECTS:
        raise UnreadableEffects(f"wrote {len(found):,} {name}; at most {_MAX_EFFECTS:,} are allowed in a cycle")
    return found


def _check_fields(what: str, document: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse a field that scopes does not know: a misspelled one would be lost without a word."""
    unknown = next((name for name in document if name not in known), None)
    if unknown is not None:
        unknown = unknown[:_MAX_FIELD_CHARACTERS]  # before it is compared, which takes long for a long one
        from difflib import get_close_matches

        near = get_close_matches(unknown, known, 1)
        hint = f", did you mean {near[0]!a}?" if near else f"; fields are {', '.join(sorted(known))}"
        raise UnreadableEffects(f"wrote the unknown field {unknown!a} in {what}{hint}")


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise UnreadableEffects(f"wrote {name!a} that is not text")
    return value
