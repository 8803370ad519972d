"""An entry without a model: what deterministic rules can tell of messages.

The summary is what a person first asked for, and up to three sentences by TextRank; topics are the words that most
messages share. Decisions are typed decisions, sentences that say so, and what people say is to be done ("let's use
SQLite"). Things to do are `TODO`, boxes to be checked, and the steps of the plans that agents keep.

Importance is 3, and 2 more where something was decided (1 more where by a typed decision), 1 more where something is
left to do, 1 more where something went wrong or stopped, 1 more from 20 messages on: 3 to 9. 10 is for people to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from scopes.ids import AgentName, MessageId
from scopes.memory.entry import USUAL, ActionItem
from scopes.memory.keywords import top_words, walk_words
from scopes.memory.sentences import split_sentences, walk_lines
from scopes.memory.source_messages import SourceMessage
from scopes.memory.textrank import choose_sentences
from scopes.memory.todo_lists import find_plan

_SENTENCES = 3
_TOPICS = 6
MOST_ITEMS = 30
LONGEST_ITEM = 500
_MANY_MESSAGES = 20
_LONGEST_REQUEST = 300
_FEWEST_WORDS = 2
_SO_BE_IT = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|sure|good|great|then|so|and|no)\b[,.! ]*)*"
    r"(?:let['\u2019]?s |we(?:'ll| will)? |please )?(?:not )?"
    r"(?:use|go with|stick with|stick to|switch to|settle on)\b",
    re.IGNORECASE,
)
_BOX = re.compile(r"[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>.*\S)")
_TODO = re.compile(r"[ \t]*(?:[-*+#/>]+[ \t]*)?TODO\b(?:\([^()]*\))?[ \t]*:?[ \t]*(?P<text>.*\S)")


def main_agent(said: Sequence[SourceMessage]) -> AgentName:
    """Return the agent who said most, else whoever did; of equals the one who spoke first."""
    agents = [each.head.author for each in said if each.message.author.kind == "agent"]
    return Counter(agents or [each.head.author for each in said]).most_common(1)[0][0]


def summary_of(said: Sequence[SourceMessage]) -> str:
    """Say what was asked for, and what came of it in up to three sentences."""
    sentences = sentences_of(said)
    request = _request(said)
    chosen = [sentence for sentence in choose_sentences(sentences, _SENTENCES) if sentence != request]
    return "\n".join(map(clip, filter(None, (request, *chosen)))) or f"{len(said)} messages with {main_agent(said)}"


def sentences_of(said: Sequence[SourceMessage]) -> list[str]:
    """List the sentences of messages, in order."""
    return [sentence for each in said for sentence in split_sentences(each.text)]


def _request(said: Sequence[SourceMessage]) -> str | None:
    """Return the first sentence of a person that tells something, and does not only lead to what does."""
    for each in said:
        if each.message.author.kind == "human":
            for sentence in split_sentences(each.message.text):
                telling = len(set(walk_words(sentence))) >= _FEWEST_WORDS and not sentence.endswith(":")
                if telling and len(sentence) <= _LONGEST_REQUEST:
                    return sentence
    return None


def topics_of(said: Sequence[SourceMessage]) -> tuple[str, ...]:
    """Name what it was about: first the topics of typed decisions, then the words that most messages share."""
    names = tuple(clip(name) for name in names_of(said))[:MOST_ITEMS]
    words = top_words((_prose(each.text) for each in said), _TOPICS)
    known = {name.casefold() for name in names}
    return (*names, *[word for word in words if word not in known][: max(_TOPICS - len(names), 0)])


def names_of(said: Sequence[SourceMessage]) -> tuple[str, ...]:
    """List the topics of typed decisions, each once."""
    return tuple(dict.fromkeys(topic for each in said if (topic := each.topic) and topic.strip()))


def _prose(text: str) -> str:
    return "\n".join(walk_lines(text))


def decisions_of(said: Sequence[SourceMessage]) -> tuple[str, ...]:
    """List what was decided, in order, each once."""
    found: list[str] = []
    for each in said:
        if each.decision is not None:
            found.append(each.decision)
            continue
        person = each.message.author.kind == "human"
        found += [s for s in split_sentences(each.message.text) if _says_decision(s, person=person)]
    return _each_once(found)


def _says_decision(sentence: str, *, person: bool) -> bool:
    """Tell a sentence that decides from one that asks, and what a person wants from what an agent proposes."""
    if sentence.endswith(("?", "\uff1f")):
        return False
    if says_decided(sentence):
        return True
    chosen = _SO_BE_IT.match(sentence) if person and len(sentence) <= _LONGEST_REQUEST else None
    return chosen is not None and any(walk_words(sentence[chosen.end() :]))


def actions_of(said: Sequence[SourceMessage], entry: MessageId) -> tuple[ActionItem, ...]:
    """List what is to be done; what a later box has checked is done, and a plan replaces its author's former one."""
    found: dict[str, bool] = {}
    planned: dict[str, set[str]] = {}
    for each in said:
        plan = find_plan(each.message)
        if plan is not None:
            steps = {clip(step): done for step, done in plan.items()}
            for former in planned.get(each.head.author, set()) - set(steps):
                found.pop(former, None)
            found |= steps
            planned[each.head.author] = set(steps)
        for line in walk_lines(each.message.text):
            box, todo = _BOX.match(line), _TODO.match(line)
            if box is not None:
                found[clip(box["text"])] = box["mark"] != " "
            elif todo is not None:
                found.setdefault(clip(todo["text"]), False)
    return number_items(found.items(), entry)


def number_items(items: Iterable[tuple[str, bool]], entry: MessageId) -> tuple[ActionItem, ...]:
    """Give things to do their ids: the entry's with a number behind it."""
    kept = list(items)[:MOST_ITEMS]
    return tuple(ActionItem(f"{entry}.{number}", text, done) for number, (text, done) in enumerate(kept, start=1))


def importance_of(said: Sequence[SourceMessage], decisions: Sequence[str], actions: Sequence[ActionItem]) -> int:
    """Weigh an entry by the rule above."""
    typed = any(each.decision is not None for each in said)
    trouble = any(each.message.kind == "error" or each.message.status in ("error", "interrupted") for each in said)
    left = any(not item.done for item in actions)
    return USUAL + 2 * bool(decisions) + typed + left + trouble + (len(said) >= _MANY_MESSAGES)


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(clip, texts)))[:MOST_ITEMS]


def clip(text: str) -> str:
    """Cut what is too long for an entry."""
    return text if len(text) <= LONGEST_ITEM else text[: LONGEST_ITEM - 1] + "…"


_DECIDED = re.compile(
    r"\b(?:decided|entschieden|beschlossen|vereinbart)\b"
    r"|\bagreed (?:on|to|that|upon)\b|\b(?:we|we've|we have|they) agreed\b|\bgeeinigt\b"
    r"|\bdecision: |\b(?:we will|we'll) (?:use|go with)\b|\bwe are going with\b|\bwir nehmen\b|决定|決定",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[;:.!?()\u2013\u2014\uff0c\u3002]|\b(?:but|and|so|yet we|aber|und|sondern)\b"
    r"|,(?=[^,]*\b(?:we|i|they|it|you|he|she|is|was|were|has|have|wir|ich|es|man|sie)\b)",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\b(?:not|never|cannot|no|nobody|none|nothing|neither|nor|without|hardly|if|unless|until|whether|once|before|"
    r"as soon as|should|would|could|might|may|must|yet to|suppose|assuming|"
    r"nicht|nie|niemals|nichts|niemand|keine?[mnrs]?|ob|wenn|falls|sobald|bevor|ohne|noch zu|sollten?|w\u00fcrden?)\b"
    r"|n['\u2019]t\b|\bbe\s*$|[\u6ca1\u6c92\u672a\u4e0d]\u6709?\s*$|\u5982\u679c",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\s*(?:have|has|had|did|do|does|is|are|was|were|haben|hat|wurde|ist)\s+(?!been\b)\w+\s*(?:\w+\s+){0,3}$",
    re.IGNORECASE,
)
_VOID = re.compile(
    r"\s*(?:(?:on|upon|about)\s+)?(?:nothing|none|neither|no one|nichts|whether|if we|ob)\b", re.IGNORECASE
)


def says_decided(sentence: str) -> bool:
    """Tell whether a clause says so in earnest: neither denied nor asked, and no mere condition."""
    start = 0
    clauses = _CLAUSE.finditer(sentence)
    following = next(clauses, None)
    for found in _DECIDED.finditer(sentence):
        while following is not None and following.end() <= found.start():
            start, following = following.end(), next(clauses, None)
        before = sentence[start : found.start()]
        if not _UNREAL.search(before) and not _ASKING.match(before) and not _VOID.match(sentence, found.end()):
            return True
    return False
