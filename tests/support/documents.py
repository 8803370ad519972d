"""Hypothesis strategies for JSON values and messages."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from scopes.ids import MessageId
from scopes.model.message import AUTHOR_KINDS, KINDS, TYPED_KINDS, Author, FileTouch, Message, Part


def _has_split_pair(text: str) -> bool:
    return any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in itertools.pairwise(text))


texts = st.text(st.characters(exclude_categories=()), max_size=20).filter(lambda text: not _has_split_pair(text))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
field_names = st.text("abcxyz_", min_size=2, max_size=6)
ids = st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=26, max_size=26).map(MessageId)
part_fields = st.dictionaries(
    st.sampled_from(["text", "input", "output", "call_id", "name", "path", "op"]) | field_names, json_values, max_size=3
)
parts = st.builds(Part, st.sampled_from(["text", "tool_call", "tool_result", "file_ref", "raw", "new"]), part_fields)
files = st.builds(
    FileTouch, texts, st.sampled_from(["read", "edit", "rename", "new"]), st.none() | texts, st.none() | texts
)
optional = st.none() | texts


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Draw a message; a typed kind gets only its required payload."""
    kind = draw(st.sampled_from(KINDS[1:]) | field_names)
    payload = draw(st.none() | st.dictionaries(texts, json_values, max_size=3)) if kind in TYPED_KINDS else None
    return Message(
        id=draw(ids),
        author=Author(draw(texts), draw(st.sampled_from(AUTHOR_KINDS) | field_names)),
        parts=tuple(draw(st.lists(parts, max_size=3))),
        kind=kind,
        time=draw(optional),
        to=tuple(draw(st.lists(texts, max_size=2))),
        files=tuple(draw(st.lists(files, max_size=2))),
        payload=payload,
        model=draw(optional),
        status=draw(optional),
        extra=draw(st.dictionaries(field_names.map("x_".__add__), json_values, max_size=2)),
    )
