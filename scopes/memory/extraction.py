"""Memory entries without a model: deterministic rules that extract summary, topics, decisions and action items.

Summary: the first request of a person; the changed files; up to three sentences that can be understood alone, one
chosen by TextRank and those of the last answer; the last test run and commit.
Topics: see `topics`.
Decisions: typed decisions, sentences that state one, and choices of a person ("let's use SQLite").
Action items: `TODO` and `Action:` before a text, check boxes, and the steps of agents' to-do lists.
Importance: 3; plus 2 for a decision, 1 for a typed one, 1 for an open action item, 1 for an error or interruption, and
1 from 20 messages on: at most 9. Only people set 10.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from scopes.history.activity import CHANGED, ENDED, Activity
from scopes.history.messages import read_body, walk_headers_newest_first
from scopes.ids import AgentName, MessageId
from scopes.memory.entry import DEFAULT_IMPORTANCE, ActionItem, MemoryEntry, Sources
from scopes.memory.keywords import walk_words
from scopes.memory.sentences import split_sentences, walk_lines
from scopes.memory.source_messages import SourceMessage, SourceMessages, find_todo_list
from scopes.memory.textrank import MAX_CHARACTERS, choose_sentences, is_usable
from scopes.store.repository import Repository

STATED, CHOSEN = "states a decision", "choice of a person"
MAX_ITEMS = 30
MAX_ITEM_CHARACTERS = 500
NOTHING_LEFT = "(all source messages were amended or retracted)"
_SUMMARY_SENTENCES = 3
_MANY_MESSAGES = 20
_MAX_REQUEST_CHARACTERS = 300
_MIN_REQUEST_WORDS = 2
_MIN_STATEMENT_WORDS = 3
_FILE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".txt", ".log")
_REFERS_BACK = re.compile(
    r"(?:this|that|these|those|it|its|it['\u2019]s|they|them|their|he|she|there|here|then|also|but|and|or|so|however|now"
    r"|next|otherwise|because|which|instead|both|same|such|correct|actually|wait|good|great|perfect|ok|okay|yes|no|yeah"
    r"|right|sure|all|only|still|done|if|when"
    r"|the (?:other|same|latter|former|next|first|second|last|new|remaining|key|main|real)"
    r"|dies\w*|das|es|sie|dann|auch|aber|und|also|jetzt|dort|hier|ja|nein|gut)\b",
    re.IGNORECASE,
)
_PLANS = re.compile(
    r"(?:I|we)(?:['\u2019](?:ll|m|d)| will| am| would| need| want| think| should| can| see| understand)\b"
    r"|Let(?:['\u2019]s| me)\b|(?:Would|Could|Can|Should) you\b"
    r"|(?:Checking|Reading|Looking|Running|Reviewing|Searching|Inspecting|Waiting|Starting)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|sure|good|great|then|so|and|no)\b[,.! ]*)*"
    r"(?:let['\u2019]?s |we(?:'ll| will)? |please )?(?:not )?"
    r"(?:use|go with|stick with|stick to|switch to|settle on)\b",
    re.IGNORECASE,
)
_CHECK_BOX = re.compile(r"[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>.*\S)")
_TODO = re.compile(r"[ \t]*(?:[-*+#/>]+[ \t]*)?TODO\b(?:\([^()]*\))?[ \t]*:?[ \t]*(?P<text>.*\S)")
_TODO_IN_LINE = re.compile(r"\bTODO\b(?:\([^()]*\))?[ \t]*:[ \t]*(?P<text>.*\S)")
_ACTION = re.compile(
    r"[ \t]*(?:[-*+#/>]+[ \t]*)?(?:\*\*)?Action(?: item)?s?:(?:\*\*)?[ \t]*(?P<text>.*\S)", re.IGNORECASE
)
_DECIDED = re.compile(
    r"\b(?:decided|entschieden|beschlossen|vereinbart)\b"
    r"|\bagreed (?:on|to|that|upon)\b|\b(?:we|we've|we have|they) agreed\b|\bgeeinigt\b"
    r"|\bdecision: |\b(?:we will|we'll) (?:use|go with)\b|\bwe are going with\b|\bwir nehmen\b|决定|決定",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[;:.!?()\u2013\u2014\uff0c\u3002]|\b(?:but|and|so|yet we|aber|und|sondern)\b"
    r"|,(?=[^,]*\b(?:we|i|they|it|you|he|she|is|was|were|has|have|wir|ich|es|man|sie)\b)",
    re.IGNORECASE,
)
_NEGATION_OR_CONDITION = re.compile(
    r"\b(?:not|never|cannot|no|nobody|none|nothing|neither|nor|without|hardly|if|unless|until|whether|once|before|"
    r"as soon as|should|would|could|might|may|must|yet to|suppose|assuming|"
    r"nicht|nie|niemals|nichts|niemand|keine?[mnrs]?|ob|wenn|falls|sobald|bevor|ohne|noch zu|sollten?|w\u00fcrden?)\b"
    r"|n['\u2019]t\b|\bbe\s*$|[\u6ca1\u6c92\u672a\u4e0d]\u6709?\s*$|\u5982\u679c",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\s*(?:have|has|had|did|do|does|is|are|was|were|haben|hat|wurde|ist)\s+(?!been\b)\w+\s*(?:\w+\s+){0,3}$",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\s*(?:(?:on|upon|about)\s+)?(?:nothing|none|neither|no one|nichts|whether|if we|ob)\b", re.IGNORECASE
)


def main_agent(messages: SourceMessages) -> AgentName:
    """Return the agent with the most messages, the first of equals; the author with the most if there is no agent."""
    agents = [source.head.author for source in messages if source.message.author.kind == "agent"]
    return Counter(agents or [source.head.author for source in messages]).most_common(1)[0][0]


def summary_of(messages: SourceMessages, activity: Activity | None = None) -> str:
    """Return what was asked, what was changed, what was said and how it ended, one a line; never empty."""
    activity = activity or Activity()
    request = _first_request(messages)
    chosen = _choose_statements(messages, request)
    lines = (request, activity.changed_line(), *chosen, activity.ended_line())
    return "\n".join(map(clip, filter(None, lines))) or f"{len(messages)} messages with {main_agent(messages)}"


def _choose_statements(messages: SourceMessages, request: str | None) -> list[str]:
    """Return up to three sentences that can be understood alone: the best-ranked one, then those of the last answer.

    If there is none, the best-ranked ones of all sentences.
    """
    # sentences that are never ranked are not kept: there may be very many
    complete = [sentence for sentence in _walk_sentences(messages) if _is_complete(sentence) and sentence != request]
    if not complete:
        short = [sentence for sentence in _walk_sentences(messages) if len(sentence) <= MAX_CHARACTERS]
        sentences = short if any(map(is_usable, short)) else sentences_of(messages)
        return [sentence for sentence in choose_sentences(sentences, _SUMMARY_SENTENCES) if sentence != request]
    last: list[str] = []
    for source in reversed(messages):
        if source.message.author.kind != "human" and not last:
            last = [s for s in split_sentences(source.text) if _is_complete(s)][: _SUMMARY_SENTENCES - 1]
        if last:
            break
    ranked = [sentence for sentence in choose_sentences(complete, _SUMMARY_SENTENCES) if sentence not in last]
    return [*ranked[: _SUMMARY_SENTENCES - len(last)], *last]


def _is_complete(sentence: str) -> bool:
    """Return True if a sentence has a beginning and an end, and refers to nothing before it."""
    if len(sentence) > _MAX_REQUEST_CHARACTERS or sentence.endswith((":", "?", "\uff1f")) or "{" in sentence:
        return False
    if not sentence[0].isalpha() or sentence[0].islower() or sentence.count("|") > 1:
        return False
    words = len(set(walk_words(sentence)))
    return words >= _MIN_STATEMENT_WORDS and _REFERS_BACK.match(sentence) is None and _PLANS.match(sentence) is None


def sentences_of(messages: SourceMessages) -> list[str]:
    """List the sentences of messages, in order."""
    return list(_walk_sentences(messages))


def _walk_sentences(messages: Iterable[SourceMessage]) -> Iterator[str]:
    return (sentence for source in messages for sentence in split_sentences(source.text))


def _first_request(messages: SourceMessages) -> str | None:
    """Return the first sentence of a person that has enough words and does not just introduce what follows (`:`)."""
    for source in messages:
        if source.message.author.kind == "human":
            for sentence in split_sentences(source.message.text):
                words = set(walk_words(_without_paths(sentence)))
                informative = len(words) >= _MIN_REQUEST_WORDS and not sentence.endswith(":")
                if informative and len(sentence) <= _MAX_REQUEST_CHARACTERS:
                    return sentence
    return None


def _without_paths(text: str) -> str:
    return " ".join(
        word for word in text.split() if "/" not in word and not word.rstrip(":,.").endswith(_FILE_SUFFIXES)
    )


def decisions_of(messages: SourceMessages) -> tuple[str, ...]:
    """List the decisions in messages, in order, without duplicates."""
    found: list[str] = []
    for source in messages:
        if source.decision is not None:
            found.append(source.decision)
            continue
        by_person = source.message.author.kind == "human"
        found += [s for s in split_sentences(source.message.text) if why_decision(s, by_person=by_person) is not None]
    return tuple(dict.fromkeys(map(clip, found)))[:MAX_ITEMS]


def why_decision(sentence: str, *, by_person: bool) -> str | None:
    """Return why a sentence is taken for a decision, one of STATED and CHOSEN; None if it is not one.

    "Use SQLite" is a decision of a person, and a proposal of an agent.
    """
    if sentence.endswith(("?", "\uff1f")):
        return None
    if states_decision(sentence):
        return STATED
    choice = _CHOICE.match(sentence) if by_person and len(sentence) <= _MAX_REQUEST_CHARACTERS else None
    return CHOSEN if choice is not None and any(walk_words(sentence[choice.end() :])) else None


def actions_of(messages: SourceMessages, entry: MessageId) -> tuple[ActionItem, ...]:
    """List the action items in messages.

    A later check box closes an item. A to-do list replaces the last one of its author.
    """
    found: dict[str, bool] = {}
    listed: dict[str, set[str]] = {}
    for source in messages:
        todo_list = find_todo_list(source.message)
        if todo_list is not None:
            steps = {clip(step): done for step, done in todo_list.items()}
            for dropped in listed.get(source.head.author, set()) - set(steps):
                found.pop(dropped, None)
            found |= steps
            listed[source.head.author] = set(steps)
        for line in walk_lines(source.message.text):
            box = _CHECK_BOX.match(line)
            todo = _TODO.match(line) or _ACTION.match(line) or _TODO_IN_LINE.search(line)
            if box is not None:
                found[clip(box["text"])] = box["mark"] != " "
            elif todo is not None:
                found.setdefault(clip(todo["text"]), False)
    return number_items(found.items(), entry)


def number_items(items: Iterable[tuple[str, bool]], entry: MessageId) -> tuple[ActionItem, ...]:
    """Make action items of (text, done) pairs; their ids are the entry's with a number."""
    kept = list(items)[:MAX_ITEMS]
    return tuple(ActionItem(f"{entry}.{number}", text, done) for number, (text, done) in enumerate(kept, start=1))


def importance_of(messages: SourceMessages, decisions: Sequence[str], actions: Sequence[ActionItem]) -> int:
    """Return the importance by the rule in the module's docstring."""
    typed = any(source.decision is not None for source in messages)
    failed = any(s.message.kind == "error" or s.message.status in ("error", "interrupted") for s in messages)
    open_action = any(not item.done for item in actions)
    many = len(messages) >= _MANY_MESSAGES
    return DEFAULT_IMPORTANCE + 2 * bool(decisions) + typed + open_action + failed + many


def clip(text: str) -> str:
    """Truncate a text to the length of an item."""
    return text if len(text) <= MAX_ITEM_CHARACTERS else text[: MAX_ITEM_CHARACTERS - 1] + "…"


def drop_sources(repository: Repository, entry: MemoryEntry, withdrawn: tuple[MessageId, ...]) -> MemoryEntry:
    """Remove from an entry what only the given sources contributed; they become its `withdrawn`."""
    messages = list(_read_sources(repository, entry.sources))
    dropped = [source for source in messages if source.head.id in withdrawn]
    kept = [source for source in messages if source.head.id not in withdrawn]
    decisions = {*decisions_of(dropped)} - {*decisions_of(kept)}
    actions = {item.text for item in actions_of(dropped, entry.id)} - {item.text for item in actions_of(kept, entry.id)}
    sentences = {*map(clip, sentences_of(dropped))} - {*map(clip, sentences_of(kept))}
    sentences |= {line for line in entry.summary.splitlines() if line.startswith((CHANGED, ENDED))}
    summary = "\n".join(line for line in entry.summary.splitlines() if line not in sentences)
    texts = "\n".join(source.text for source in kept).casefold()
    decided = {source.topic for source in kept}
    return replace(
        entry,
        summary=summary if summary.strip() else NOTHING_LEFT,
        topics=tuple(t for t in entry.topics if t in decided or t.casefold() in texts),
        decisions=tuple(decision for decision in entry.decisions if decision not in decisions),
        action_items=tuple(item for item in entry.action_items if item.text not in actions),
        withdrawn=withdrawn,
    )


def _read_sources(repository: Repository, sources: Sources) -> Iterator[SourceMessage]:
    """Yield the sources of an entry as they were when it was made, newest first."""
    wanted = set(sources.messages)
    if sources.tip is None or not repository.has(sources.tip):
        return
    for head in walk_headers_newest_first(repository, [sources.tip]):
        if head.id in wanted:
            wanted.discard(head.id)
            yield SourceMessage(head, read_body(repository, head))
        if not wanted:
            return


def states_decision(sentence: str) -> bool:
    """Return True if a clause of a sentence states a decision that is not negated, asked about or conditional."""
    start = 0
    ends = _CLAUSE_END.finditer(sentence)
    next_end = next(ends, None)
    for match in _DECIDED.finditer(sentence):
        while next_end is not None and next_end.end() <= match.start():
            start, next_end = next_end.end(), next(ends, None)
        before = sentence[start : match.start()]
        if (
            not _NEGATION_OR_CONDITION.search(before)
            and not _QUESTION.match(before)
            and not _NOTHING.match(sentence, match.end())
        ):
            return True
    return False
