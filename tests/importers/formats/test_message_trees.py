"""Trees of messages: parents come first, the active line last, and nothing is lost or read twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.importers.formats.events import ByteRange, Draft, SessionRecord, Unparsed
from scopes.importers.formats.message_trees import Node, walk_tree
from scopes.importers.formats.records import Record
from scopes.importers.formats.run_builder import HUMAN, PROMPT, OpenMessage
from scopes.model.message import Part
from tests.support.examples import examples


def node(place, name, parent, *, text=True, **fields):
    """Make a node of ten bytes; without a text it has no message."""
    record = Record(place, place, ByteRange(place * 10, 10))
    message = (
        OpenMessage(key=str(place), parent=None, author=HUMAN, kind=PROMPT, parts=[Part("text", {"text": name})])
        if text
        else None
    )
    return Node(record, name, parent, message, **fields)


def tree(*pairs, empty=""):
    """Make nodes of words such as `b<a`; those in `empty` have no message."""
    words = [pair.partition("<")[::2] for pair in pairs]
    return [node(place, name, parent or None, text=name not in empty) for place, (name, parent) in enumerate(words)]


def lines(nodes, current=None):
    """Return the messages as words `child<parent` in their order, and the active one."""
    events = list(walk_tree(nodes, current))
    texts = {event.key: event.parts[0].text for event in events if isinstance(event, Draft)}
    words = [f"{texts[each.key]}<{texts.get(each.parent, '')}" for each in events if isinstance(each, Draft)]
    return " ".join(words), texts.get(events[-1].active)


@pytest.mark.parametrize(
    ("pairs", "current", "expected", "active"),
    [
        (("a<", "b<a", "c<b"), "c", "a< b<a c<b", "c"), (("c<b", "b<a", "a<"), "c", "a< b<a c<b", "c"),
        (("a<", "b<a", "c<a"), "b", "a< c<a b<a", "b"), (("a<", "b<a", "c<a"), "c", "a< b<a c<a", "c"),
        (("a<", "b<gone"), "a", "b< a<", "a"), (("a<", "b<a"), None, "a< b<a", "b"), (("a<", "b<a"), "gone", "a< b<a", "b"),
        ((), None, "", None),
    ],
)  # fmt: skip
def test_parents_come_first_and_the_active_line_last(pairs, current, expected, active):
    assert lines(tree(*pairs), current) == (expected, active)


@pytest.mark.parametrize(
    ("pairs", "notes"),
    [
        (("a<", "b<a"), ()),
        (("a<", "b<gone"), ("1 message names a missing parent",)),
        (("a<x", "b<gone"), ("2 messages name missing parents",)),
        (("a<", "b<a", "b<a"), ("1 message has the id of another one",)),
        (("a<", "a<", "a<x"), ("1 message names a missing parent", "2 messages have the ids of others")),
    ],
)
def test_what_had_to_be_repaired_is_one_note_for_each_kind(pairs, notes):
    """The messages stay: one without its parent begins a branch, one with the id of another follows its own parent."""
    events = list(walk_tree(tree(*pairs), None))
    assert (events[-1].notes, sum(isinstance(each, Draft) for each in events)) == (notes, len(pairs))


def test_nodes_without_a_message_are_passed_over_and_kept_as_states():
    nodes = tree("r<", "a<r", "x<a", "b<x", empty="rx")
    assert lines(nodes, "x") == ("a< b<a", "a")
    events = list(walk_tree(tree("r<", "a<r", empty="r"), None))
    assert [event.key for event in events if isinstance(event, SessionRecord)] == ["node"]


def test_a_second_node_with_a_name_is_a_message_that_has_no_children():
    assert lines(tree("a<", "b<a", "b<a", "c<b"), "c")[0].count("c<b") == 1
    assert len([event for event in walk_tree(tree("a<", "a<", "b<a"), "b") if isinstance(event, Draft)]) == 3


def test_nodes_that_are_their_own_ancestors_are_unparsed_and_all_others_read():
    events = list(walk_tree(tree("a<", "x<y", "y<x", "z<y", "s<s"), "x"))
    assert [event.spans[0].offset for event in events if isinstance(event, Unparsed)] == [10, 20, 30, 40]
    assert events[-1].active == events[-1].open == "0"


def test_a_message_has_the_bytes_of_the_nodes_that_it_has_taken():
    taken, answer = node(0, "t", None, text=False, taken=True), node(1, "a", "t")
    answer.records = [taken.record]
    draft, ending = list(walk_tree([taken, answer], "t"))
    assert draft.spans == (ByteRange(0, 10), ByteRange(10, 10))
    assert (draft.parent, ending.active) == (None, "1")


def test_a_node_with_a_problem_is_unparsed_and_its_children_follow_its_parent():
    odd = node(1, "x", "a", text=False, problem="odd")
    events = list(walk_tree([node(0, "a", None), odd, node(2, "b", "x")], "b"))
    assert [event.reason for event in events if isinstance(event, Unparsed)] == ["odd"]
    assert [event.parent for event in events if isinstance(event, Draft)] == [None, "0"]


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefgz"), st.booleans()), max_size=9),
    st.sampled_from("abz"),
)
def test_any_nodes_give_every_byte_once_and_parents_before_children(drawn, current):
    nodes = [node(place, name, parent, text=text) for place, (name, parent, text) in enumerate(drawn)]
    *events, ending = walk_tree(nodes, current)
    assert sorted(span.offset for event in events for span in event.spans) == [
        place * 10 for place in range(len(drawn))
    ]
    keys = [event.key for event in events if isinstance(event, Draft)]
    assert all(event.parent in [None, *keys[: keys.index(event.key)]] for event in events if isinstance(event, Draft))
    assert {ending.active, ending.open} <= {None, *keys}
    assert (ending.active is None) == (not keys)
