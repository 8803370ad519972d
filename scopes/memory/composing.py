"""An entry without a model: what deterministic rules can tell of messages.

The summary is up to three sentences by TextRank, topics are the words that most messages share, decisions are typed
decisions and sentences that say so, things to do are `TODO` and boxes to be checked.

Importance is 3, and 2 more where something was decided (1 more where by a typed decision), 1 more where something is
left to do, 1 more where something went wrong or stopped, 1 more from 20 messages on: 3 to 9. 10 is for people to say.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from scopes.ids import AgentName, MessageId
from scopes.memory.covered import Said
from scopes.memory.entry import USUAL, ActionItem
from scopes.memory.sentences import split_sentences, walk_lines
from scopes.memory.textrank import choose_sentences
from scopes.memory.words import top_words

_SENTENCES = 3
_TOPICS = 6
_MOST_ITEMS = 30
_LONGEST_ITEM = 500
_MANY_MESSAGES = 20
_DECIDED = re.compile(
    r"\b(?:decided|agreed|decision:|we will use|we'll use|we are going with|"
    r"entschieden|beschlossen|vereinbart|geeinigt|wir nehmen)\b|\bdecision:|决定|決定",
    re.IGNORECASE,
)
_BOX = re.compile(r"[ \t]*[-*+][ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<text>.*\S)")
_TODO = re.compile(r"[ \t]*(?:[-*+#/>]+[ \t]*)?TODO\b(?:\([^()]*\))?[ \t]*:?[ \t]*(?P<text>.*\S)")


def text_of(said: Said) -> str:
    """Return what a message says; of a typed one without words, its document."""
    message = said.message
    if message.text.strip() or message.payload is None:
        return message.text
    return _typed_decision(said) or json.dumps(message.payload, ensure_ascii=False, sort_keys=True)


def main_agent(said: Sequence[Said]) -> AgentName:
    """Return the agent who said most, else whoever did; of equals the one who spoke first."""
    agents = [each.head.author for each in said if each.message.author.kind == "agent"]
    return Counter(agents or [each.head.author for each in said]).most_common(1)[0][0]


def summary_of(said: Sequence[Said]) -> str:
    """Say it in up to three sentences."""
    sentences = [sentence for each in said for sentence in split_sentences(text_of(each))]
    chosen = choose_sentences(sentences, _SENTENCES)
    return "\n".join(map(_clip, chosen)) or f"{len(said)} messages with {main_agent(said)}"


def topics_of(said: Sequence[Said]) -> tuple[str, ...]:
    """Name what it was about."""
    return top_words((_prose(text_of(each)) for each in said), _TOPICS)


def _prose(text: str) -> str:
    return "\n".join(walk_lines(text))


def decisions_of(said: Sequence[Said]) -> tuple[str, ...]:
    """List what was decided, in order, each once."""
    found: list[str] = []
    for each in said:
        typed = _typed_decision(each)
        if typed is not None:
            found.append(typed)
            continue
        sentences = split_sentences(each.message.text)
        found += [s for s in sentences if _DECIDED.search(s) is not None and not s.endswith(("?", "\uff1f"))]
    return _each_once(found)


def _typed_decision(said: Said) -> str | None:
    match said.message.kind, said.message.payload:
        case "decision", {"topic": topic, "decision": decision}:
            return f"{topic}: {decision}"
    return None


def actions_of(said: Sequence[Said], entry: MessageId) -> tuple[ActionItem, ...]:
    """List what is to be done; what a later box has checked is done."""
    found: dict[str, bool] = {}
    for each in said:
        for line in walk_lines(each.message.text):
            box, todo = _BOX.match(line), _TODO.match(line)
            if box is not None:
                found[_clip(box["text"])] = box["mark"] != " "
            elif todo is not None:
                found.setdefault(_clip(todo["text"]), False)
    return number_items(found.items(), entry)


def number_items(items: Iterable[tuple[str, bool]], entry: MessageId) -> tuple[ActionItem, ...]:
    """Give things to do their ids: the entry's with a number behind it."""
    kept = list(items)[:_MOST_ITEMS]
    return tuple(ActionItem(f"{entry}.{number}", text, done) for number, (text, done) in enumerate(kept, start=1))


def importance_of(said: Sequence[Said], decisions: Sequence[str], actions: Sequence[ActionItem]) -> int:
    """Weigh an entry by the rule above."""
    typed = any(_typed_decision(each) is not None for each in said)
    trouble = any(each.message.kind == "error" or each.message.status in ("error", "interrupted") for each in said)
    left = any(not item.done for item in actions)
    return USUAL + 2 * bool(decisions) + typed + left + trouble + (len(said) >= _MANY_MESSAGES)


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_clip, texts)))[:_MOST_ITEMS]


def _clip(text: str) -> str:
    return text if len(text) <= _LONGEST_ITEM else text[: _LONGEST_ITEM - 1] + "…"
