"""Action items across the entries of a conversation."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.memory.actions import done, list_actions, merge_actions
from scopes.memory.entry import MemoryEntry
from scopes.memory.extraction import number_items
from scopes.memory.update import update
from tests.memory.talking import say
from tests.support.examples import examples


def open_items(repository):
    """Return the texts of the open action items."""
    return [row.item.text for row in list_actions(repository).actions]


def remember(repository, *texts, where="conv-001"):
    """Append texts and make an entry of them."""
    say(repository, *texts, where=where)
    return update(repository, where, at_once=True).entries[0]


def test_an_item_checked_later_is_closed_in_its_older_entry(repository):
    """S0-20."""
    remember(repository, "- [ ] test it\n- [ ] ship it")
    remember(repository, "- [x] Test  it")
    assert open_items(repository) == ["ship it"]
    undo(repository)
    assert open_items(repository) == ["test it", "ship it"]


def test_a_repeated_item_is_kept_once(repository):
    remember(repository, "- [ ] test it")
    assert remember(repository, "- [ ] test it\n- [ ] ship it").action_items[0].text == "ship it"
    assert sorted(open_items(repository)) == ["ship it", "test it"]


def test_an_item_closed_by_hand_can_be_added_again(repository):
    entry = remember(repository, "- [ ] test it")
    done(repository, entry.action_items[0].id)
    remember(repository, "- [ ] test it")
    assert open_items(repository) == ["test it"]


def test_another_conversation_does_not_close_items(repository):
    new(repository)
    remember(repository, "- [ ] test it")
    remember(repository, "- [x] test it", where="conv-002")
    assert open_items(repository) == ["test it"]


ITEMS = st.lists(
    st.tuples(st.sampled_from(["test it", "Test  it", "ship it", "rest"]), st.booleans()),
    max_size=4,
    unique_by=lambda item: " ".join(item[0].lower().split()),
)


def entry(name, uuid, items):
    """Return an entry with action items."""
    return MemoryEntry(
        id=name, agent="a", summary="s", time="2026-01-01T00:00:00Z", uuid=uuid, action_items=number_items(items, name)
    )


@given(st.lists(st.tuples(st.sampled_from(["u", "w", None]), ITEMS), max_size=4), ITEMS)
@settings(max_examples=examples(150))
def test_merging_closes_items_and_never_opens_or_loses_any(older, items):
    before = [entry(f"e{number}", uuid, found) for number, (uuid, found) in enumerate(older)]
    merged, changed = merge_actions(entry("new", "u", items), before)
    by_id = {each.id: each for each in before}
    for each in changed:
        old = by_id[each.id]
        assert each.uuid == "u"
        assert [item.text for item in each.action_items] == [item.text for item in old.action_items]
        assert all(new.done or not was.done for new, was in zip(each.action_items, old.action_items, strict=True))
    now = [{each.id: each for each in (*before, *changed)}[each.id] for each in before]
    assert merge_actions(merged, now) == (merged, [])
    known = {" ".join(i.text.lower().split()) for each in (*now, merged) for i in each.action_items}
    assert {" ".join(text.lower().split()) for text, _ in items} <= known
