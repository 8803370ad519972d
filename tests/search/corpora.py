"""Hypothesis strategies for messages and queries, and a reference search that scans every message without an index."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from hypothesis import strategies as st

from scopes.history.messages import is_root
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.index.full_text import fold, tokenize
from scopes.search.query import And, Field, Not, Or
from scopes.search.text import Documents, Phrase
from scopes.store.graph import walk_oldest_first
from tests.support.history import say

TEXTS = (
    "stack",
    "Stack overflow",
    "the parser, the stack",
    "Été à Paris",
    "東京タワー",
    "京都",
    "foo_bar.baz",
    "🚀 done",
    "",
)
COLUMNS = ("text", "reasoning", "tool_input", "tool_result")
_PARTS = st.sampled_from(TEXTS)
MESSAGES = st.fixed_dictionaries({
    "author": st.sampled_from([{"name": "Carol", "kind": "human"}, {"name": "planner", "kind": "agent"}]),
    "parts": st.lists(
        st.one_of(
            _PARTS.map(lambda text: {"type": "text", "text": text}),
            _PARTS.map(lambda text: {"type": "reasoning", "text": text}),
            st.tuples(st.sampled_from(["Bash", "Read"]), _PARTS).map(
                lambda call: {"type": "tool_call", "call_id": "1", "name": call[0], "input": {"a": [call[1]]}}
            ),
            _PARTS.map(lambda text: {"type": "tool_result", "call_id": "1", "output": text}),
        ),
        min_size=1,
        max_size=3,
    ),
    "kind": st.sampled_from(["plain", "answer"]),
    "files": st.sampled_from([[], [{"path": "src/login.py", "op": "edit"}], [{"path": "README", "op": "read"}]]),
})  # fmt: skip
_PHRASES = [
    phrase for text in TEXTS for phrase in (tokenize(text)[:1], tokenize(text)[:2], tokenize(text)[1:3]) if phrase
]
_TERMS = st.builds(lambda found, prefix: Phrase(tuple(found), prefix, 0), st.sampled_from(_PHRASES), st.booleans())
_FIELDS = st.sampled_from([
    ("author", "carol"), ("author", "*ann*"), ("agent", "Carol"), ("agent", "planner"), ("kind", "answer"), ("tool", "bash"),
    ("tool", "nothing"), ("file", "login.py"), ("file", "src"), ("file", "src/*"), ("branch", "main"), ("branch", "f*"),
]).map(lambda field: Field(*field, 0))  # fmt: skip
_PATTERNS = st.sampled_from(["[Ss]tack", "^Stack", r"overflow$", r"\w+\.baz", "京.", r"\bParis", "x"]).map(
    lambda pattern: Field("re", pattern, 0)
)
_IN = st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2).map(lambda names: Field("in", ",".join(names), 0))


def _compounds(items):
    several = st.lists(items, min_size=2, max_size=3).map(tuple)
    scoped = st.tuples(st.one_of(_TERMS, _PATTERNS), _IN).map(And)
    return st.one_of(
        items.filter(lambda item: not isinstance(item, Not)).map(Not), several.map(And), several.map(Or), scoped
    )


QUERIES = st.recursive(st.one_of(_TERMS, _FIELDS, _PATTERNS), _compounds, max_leaves=6)


def written(node) -> str:
    """Return the query text of a tree."""
    if isinstance(node, Phrase):
        return f'"{" ".join(node.words)}"' + "*" * node.prefix
    if isinstance(node, Field):
        return f'{node.name}:"{node.value}"'
    if isinstance(node, Not):
        return f"NOT ({written(node.item)})"
    operator = " " if isinstance(node, And) else " OR "
    return "(" + operator.join(map(written, node.items)) + ")"


def documents(repository):
    """Return, by message id, the index document of every reachable message and the branches that reach it."""
    describe, found = Documents(repository), {}
    for conversation in conversation_ids(repository):
        for branch, tip in list_branch_tips(repository, conversation).items():
            for commit in walk_oldest_first(repository, [tip]):
                if not is_root(commit):
                    document = describe(commit)
                    found.setdefault(document.id, (document, set()))[1].add(branch)
    return found


def scan(repository, node) -> set[str]:
    """Return the ids of the messages that match a query, by testing each one."""
    return {
        name
        for name, (document, branches) in documents(repository).items()
        if matches(node, document, branches, COLUMNS)
    }


def matches(node, document, branches, columns) -> bool:
    """Return True if a message matches a query."""
    texts = [text for column, text in zip(COLUMNS, document.texts, strict=True) if column in columns]
    if isinstance(node, Phrase):
        return any(_contains(tokenize(text), node) for text in texts)
    if isinstance(node, Field) and node.name == "re":
        return any(re.search(node.value, text, re.MULTILINE) for text in texts)
    if isinstance(node, Not):
        return not matches(node.item, document, branches, columns)
    if isinstance(node, Or):
        return any(matches(item, document, branches, columns) for item in node.items)
    if isinstance(node, And):
        scopes = [
            name
            for item in node.items
            if isinstance(item, Field) and item.name == "in"
            for name in item.value.split(",")
        ]
        others = [item for item in node.items if not (isinstance(item, Field) and item.name == "in")]
        return all(matches(item, document, branches, scopes or columns) for item in others)
    return _field_matches(node, document, branches)


def _contains(words, phrase) -> bool:
    length = len(phrase.words)
    last = phrase.words[-1]
    return any(
        tuple(words[at : at + length - 1]) == phrase.words[:-1]
        and (words[at + length - 1].startswith(last) if phrase.prefix else words[at + length - 1] == last)
        for at in range(len(words) - length + 1)
    )


def _field_matches(field, document, branches) -> bool:
    pattern = fold(field.value)
    match field.name:
        case "branch":
            return any(fnmatchcase(branch, field.value) for branch in branches)
        case "agent":
            return document.author_kind == "agent" and fnmatchcase(fold(document.author), pattern)
        case "tool":
            return any(fnmatchcase(fold(tool), pattern) for field, tool in document.touched if field == "tool")
        case "file":
            globs = (pattern, f"{pattern}/*", f"*/{pattern}")
            return any(
                fnmatchcase(fold(path), glob) for field, path in document.touched if field == "file" for glob in globs
            )
    return fnmatchcase(fold(getattr(document, field.name)), pattern)


def append_message(repository, where, message):
    """Append a generated message."""
    return say(repository, where, "", **{key: value for key, value in message.items() if key != "text"})
