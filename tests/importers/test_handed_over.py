"""The blocks that scopes writes before a prompt are found in it, whole ones only; the rest is the user's own words."""

from __future__ import annotations

import pytest

from scopes.context.history_block import HistoryRequest, history
from scopes.conversation.new_rename_delete import new
from scopes.fence import fenced
from scopes.importers.session_commits import find_own_words
from scopes.memory.add import add
from scopes.model.message import Part
from tests.support.history import say
from tests.tokens.conftest import exact, nowhere, spread_ids

__all__ = ["exact", "nowhere", "spread_ids"]


@pytest.fixture
def block(repository, exact):
    """A block with all that there can be: memory, last words of another agent, and the history."""
    add(repository, "Prices are integers.", agent="planner")
    for where in (new(repository).id, new(repository).id):
        say(repository, where, "hide the prices", author={"name": "carol", "kind": "human"})
        say(repository, where, f"done in {where}", author={"name": f"coder-{where}", "kind": "agent"})
    return history(repository, HistoryRequest(where="conv-002", memory="all"), exact).text


def own(*texts):
    """Return the texts without blocks, and what is known of the blocks."""
    found = find_own_words(tuple(Part("text", {"text": each}) for each in texts))
    return [part.text for part in found.parts], found.handover


def test_every_block_that_scopes_writes_is_found_with_the_last_message_of_the_history(repository, block):
    texts, handover = own(f"{block}now the tests")
    assert texts == ["now the tests"]
    assert handover["blocks"] == ["memory", "exchanges", "history"]
    assert handover["message"] in block


def test_a_prompt_that_is_only_history_has_no_words_of_the_user(block):
    """`$(scopes history ...)` of a shell has no newline at its end."""
    assert own(block.rstrip("\n"))[0] == [""]


def test_words_before_and_after_blocks_are_kept(block):
    assert own(f"You are careful.\n{block}Go on.")[0] == ["You are careful.\nGo on."]
    assert own(f"{block}{block}Go on.")[0] == ["Go on."]


def test_a_block_that_is_a_part_of_its_own_leaves_an_empty_part(block):
    """`scopes acp` sends it so; the number of parts stays, because a purge names parts by number."""
    assert own(block, "Go on.")[0] == ["", "Go on."]


def test_a_block_inside_the_history_is_taken_out_with_it(repository, exact, block):
    say(repository, "conv-001", f"{block}nested", author={"name": "carol", "kind": "human"})
    outer = history(repository, HistoryRequest(where="conv-001"), exact).text
    assert own(f"{outer}mine") == (["mine"], own(outer)[1])


def test_a_block_without_its_end_is_text(block):
    cut = block[: block.rindex("-----")]
    kept = own(cut)[0][0]
    assert "<conversation_history>" in kept
    assert "hide the prices" in kept


@pytest.mark.parametrize("name", ["history", "memory"])
def test_a_fence_without_the_words_around_it_is_text(name):
    text = f"What does this mean?\n\n{fenced(name, 'a line')}"
    assert own(text) == ([text], None)


def test_only_texts_are_searched(block):
    part = Part("tool_result", {"call_id": "1", "output_text": block})
    assert find_own_words([part]).parts == (part,)


def test_a_text_with_many_first_lines_is_searched_in_bounded_time():
    """Each first line without its last one is a search to the end of the text."""
    text = "".join(f"----- recorded memory {number:030d} begins -----\n" for number in range(50_000))
    assert own(text) == ([text], None)
