"""The conversations for a work item are found and put into one context, oldest first."""

from __future__ import annotations

import pytest

from scopes.context import work_items
from scopes.context.work_items import find_work_item
from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.errors import NotFound
from scopes.history.names import list_branch_tips
from tests.context.building import built, talk
from tests.support.history import say


def conversations(repository, *items):
    """Create a conversation of one message for each work item."""
    for number, item in enumerate(items, start=1):
        new(repository)
        say(repository, f"conv-00{number}", f"message for {item}", **({} if item is None else {"work_item": item}))


def found(repository, item="SHOP-1"):
    return [revision.conversation for revision in find_work_item(repository, item)]


def test_the_conversation_with_the_newest_message_for_it_comes_last(repository):
    """S1-18: every conversation with a message for the work item is found."""
    conversations(repository, "SHOP-1", "SHOP-2", "SHOP-1", "SHOP-1")
    say(repository, "conv-001", "and again", work_item="SHOP-1")
    assert found(repository) == ["conv-003", "conv-004", "conv-001"]


def test_a_message_that_only_mentions_the_id_does_not_count(repository):
    conversations(repository, None)
    say(repository, "conv-001", 'see "SHOP-1"', parts=[{"type": "tool_call", "input": {"work_item": "SHOP-1"}}])
    assert found(repository) == []


@pytest.mark.parametrize("item", ['a"b', "back\\slash", "\u00e4\u20ac", "tab\there"])
def test_an_id_with_escaped_characters_is_found(repository, item):
    conversations(repository, item)
    assert found(repository, item) == ["conv-001"]


def test_the_active_branch_is_searched(repository):
    conversations(repository, None)
    branch(repository, "conv-001", purpose="analysis", agent="bot", name="work")
    say(repository, "conv-001", "there", work_item="SHOP-1")
    [revision] = find_work_item(repository, "SHOP-1")
    assert (revision.branch, revision.oid) == ("work", list_branch_tips(repository, "conv-001")["work"])


def test_an_empty_store_has_none(repository):
    assert found(repository) == []


@pytest.fixture
def indexed(repository, tmp_path):
    """Return a function that finds with an index, and checks that the result is the one without."""

    def find(item="SHOP-1"):
        plain = find_work_item(repository, item)
        repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
        try:
            assert find_work_item(repository, item) == plain
        finally:
            repository.caller = repository.caller._replace(index_directory=None)
        return [revision.conversation for revision in plain]

    return find


@pytest.fixture
def read(monkeypatch):
    """Return a list that grows with every message whose bytes are read."""
    calls = []
    read = work_items.read_body_bytes
    monkeypatch.setattr(work_items, "read_body_bytes", lambda *given: calls.append(given) or read(*given))
    return calls


def test_the_index_knows_every_work_item_after_one_search(repository, indexed, read):
    conversations(repository, "SHOP-1", "SHOP-2", None, "SHOP-1")
    assert indexed() == ["conv-001", "conv-004"]
    read.clear()
    assert (indexed("SHOP-2"), indexed("SHOP-9")) == (["conv-002"], [])
    assert len(read) == 2 * 4  # without the index


def test_merged_branches_are_found_with_the_index_as_without(repository, indexed):
    conversations(repository, "SHOP-1")
    branch(repository, "conv-001", name="side", switch=False)
    say(repository, "conv-001/side", "there", work_item="SHOP-2", time="2030-01-01T00:00:00Z")
    say(repository, "conv-001/main", "here", work_item="SHOP-3")
    for _ in range(2):
        assert [indexed(f"SHOP-{number}") for number in (1, 2, 3)] == [["conv-001"]] * 3
    merge(repository, "conv-001", "side", target="main")
    say(repository, "conv-001/main", "after", work_item="SHOP-1")
    for _ in range(2):
        assert [indexed(f"SHOP-{number}") for number in (1, 2, 3)] == [["conv-001"]] * 3


@pytest.fixture
def three(repository):
    """Return a store with three conversations for one work item, and one for another."""
    for name, item in (("first", "SHOP-1"), ("other", "SHOP-2"), ("second", "SHOP-1"), ("third", "SHOP-1")):
        new(repository, conversation_id=name)
        talk(repository, 3, conversation=name, work_item=item)
    return repository


def test_every_conversation_for_the_work_item_is_included_oldest_first(three, exact, tmp_path):
    """S1-18."""
    result = built(three, exact, tmp_path, None, work_item="SHOP-1")
    assert list(dict.fromkeys(m.conversation for m in result.messages)) == ["first", "second", "third"]
    assert (result.conversations_included, result.conversations_excluded) == (3, 0)
    assert "### first 1. User (carol)" in result.formatted_history


def test_older_conversations_that_do_not_fit_are_counted_in_the_warning(three, exact, tmp_path):
    """S1-12."""
    result = built(three, exact, tmp_path, None, work_item="SHOP-1", max_tokens=250)
    assert {m.conversation for m in result.messages} == {"third"}
    assert "Session history limited: 2 older sessions excluded due to token budget" in result.warnings
    assert result.conversations_excluded == 2


def test_the_given_conversation_comes_last(three, exact, tmp_path):
    result = built(three, exact, tmp_path, "first", work_item="SHOP-1")
    assert result.messages[-1].conversation == "first"
    assert result.conversation == "first"


def test_messages_for_another_work_item_are_left_out(three, exact, tmp_path):
    say(three, "third", "lunch", work_item="SHOP-2")
    say(three, "third", "no item")
    texts = [m.text for m in built(three, exact, tmp_path, "third", work_item="SHOP-1").messages]
    assert "lunch" not in texts
    assert "no item" in texts


def test_an_unknown_work_item_is_not_found(three, exact, tmp_path):
    with pytest.raises(NotFound):
        built(three, exact, tmp_path, None, work_item="SHOP-9")


def test_a_conversation_or_a_work_item_is_required(three, exact, tmp_path):
    with pytest.raises(NotFound):
        built(three, exact, tmp_path, None)


def test_a_work_item_on_an_inactive_branch_is_found(three, exact, tmp_path):
    """S1-18."""
    branch(three, "other", name="side", switch=False)
    say(three, "other/side", "as for SHOP-1", work_item="SHOP-1", time="2030-01-01T00:00:00Z")
    result = built(three, exact, tmp_path, None, work_item="SHOP-1")
    assert result.messages[-1].text == "as for SHOP-1"
