"""The test of messages behind `log --grep`."""

from __future__ import annotations

import pytest

from scopes.errors import Invalid
from scopes.model.message import Author, Message, Part
from scopes.search.query import grep_messages

MESSAGE = Message(
    id="m", author=Author("carol"),
    parts=(Part("text", {"text": "Why does Safari fail?"}), Part("tool_call", {"name": "Bash", "input": {"command": "make test"}})),
)  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "ignore_case", "matched"),
    [
        (["Safari"], False, True), (["safari"], False, False), (["safari"], True, True),
        (["nothing", "fail.$"], False, True), (["^make"], False, True), (["Bash"], False, False),
    ],
)  # fmt: skip
def test_a_message_matches_if_one_pattern_is_in_its_texts(patterns, ignore_case, matched):
    assert grep_messages(patterns, ignore_case=ignore_case)(MESSAGE) is matched


def test_an_invalid_pattern_is_refused():
    with pytest.raises(Invalid, match="is not a valid regular expression"):
        grep_messages(["("])
