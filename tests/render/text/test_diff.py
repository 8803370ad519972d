from __future__ import annotations

from dataclasses import replace

from scopes.conversation.diff import MessageDetail
from tests.render.rendering import seen_lines
from tests.render.results import DIFFERENCE, LONG, PROMPT, SECURE, body


def test_the_number_of_messages_of_a_side_is_that_of_its_lines_and_folded_results():
    """Eleven messages were announced, and seven lines followed."""
    details = {head.oid: MessageDetail(body(head), folded=True) for head in (SECURE, LONG)}
    lines = seen_lines(replace(DIFFERENCE, only_right=(PROMPT, SECURE, LONG), details=details))
    name = DIFFERENCE.right.name
    heading = f"Only in {name}: 3 messages (1 shown, 2 results folded into the calls)"
    assert [line[:2] for line in lines[lines.index(heading) + 1 :]] == ["+ "]
    assert f"Only in {name}: 2 messages" in seen_lines(DIFFERENCE)
