"""Drawn conversations and drawn queries, and a scan of every message that answers them without any index."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from hypothesis import strategies as st

from scopes.history.messages import is_root
from scopes.history.revparse import conversation_ids, list_branch_tips
from scopes.index.tokenize import fold, tokenize
from scopes.search.ast import Both, Either, Field, Not, Words
from scopes.search.index_document import describe_from
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
_TERMS = st.builds(lambda found, prefix: Words(tuple(found), prefix, 0), st.sampled_from(_PHRASES), st.booleans())
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
    scoped = st.tuples(st.one_of(_TERMS, _PATTERNS), _IN).map(Both)
    return st.one_of(
        items.filter(lambda item: not isinstance(item, Not)).map(Not), several.map(Both), several.map(Either), scoped
    )


QUERIES = st.recursive(st.one_of(_TERMS, _FIELDS, _PATTERNS), _compounds, max_leaves=6)


def written(node) -> str:
    """Write a query the way people type it."""
    if isinstance(node, Words):
        return f'"{" ".join(node.words)}"' + "*" * node.prefix
    if isinstance(node, Field):
        return f'{node.name}:"{node.value}"'
    if isinstance(node, Not):
        return f"NOT ({written(node.item)})"
    joint = " " if isinstance(node, Both) else " OR "
    return "(" + joint.join(map(written, node.items)) + ")"


def entries(repository):
    """Return every message that a branch reaches: its id, and its description with the names of its branches."""
    describe, found = describe_from(repository), {}
    for conversation in conversation_ids(repository):
        for branch, tip in list_branch_tips(repository, conversation).items():
            for commit in walk_oldest_first(repository, [tip]):
                if not is_root(commit):
                    entry = describe(commit)
                    found.setdefault(entry.id, (entry, set()))[1].add(branch)
    return found


def scan(repository, node) -> set[str]:
    """Find messages by looking at every one."""
    return {name for name, (entry, branches) in entries(repository).items() if fits(node, entry, branches, COLUMNS)}


def fits(node, entry, branches, columns) -> bool:
    """Tell whether a message fits a query."""
    texts = [text for column, text in zip(COLUMNS, entry.texts, strict=True) if column in columns]
    if isinstance(node, Words):
        return any(_holds(tokenize(text), node) for text in texts)
    if isinstance(node, Field) and node.name == "re":
        return any(re.search(node.value, text, re.MULTILINE) for text in texts)
    if isinstance(node, Not):
        return not fits(node.item, entry, branches, columns)
    if isinstance(node, Either):
        return any(fits(item, entry, branches, columns) for item in node.items)
    if isinstance(node, Both):
        scopes = [
            name
            for item in node.items
            if isinstance(item, Field) and item.name == "in"
            for name in item.value.split(",")
        ]
        rest = [item for item in node.items if not (isinstance(item, Field) and item.name == "in")]
        return all(fits(item, entry, branches, scopes or columns) for item in rest)
    return _has(node, entry, branches)


def _holds(text, term) -> bool:
    length = len(term.words)
    last = term.words[-1]
    return any(
        tuple(text[at : at + length - 1]) == term.words[:-1]
        and (text[at + length - 1].startswith(last) if term.prefix else text[at + length - 1] == last)
        for at in range(len(text) - length + 1)
    )


def _has(field, entry, branches) -> bool:
    wanted = fold(field.value)
    match field.name:
        case "branch":
            return any(fnmatchcase(branch, field.value) for branch in branches)
        case "agent":
            return entry.author_kind == "agent" and fnmatchcase(fold(entry.author), wanted)
        case "tool":
            return any(fnmatchcase(fold(tool), wanted) for tool in entry.tools)
        case "file":
            forms = (wanted, f"{wanted}/*", f"*/{wanted}")
            return any(fnmatchcase(fold(path), form) for path in entry.files for form in forms)
    return fnmatchcase(fold(getattr(entry, field.name)), wanted)


def tell(repository, where, message):
    """Append a drawn message."""
    return say(repository, where, "", **{key: value for key, value in message.items() if key != "text"})
