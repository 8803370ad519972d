"""Parents that come later and cyclic parents: no endless loop, no lost record."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.formats.claude_code.logs import Log, call, drafts, states, tree
from tests.support.examples import examples


def linked(links):
    """Return a log of prompts, each given by its name and its parent's."""
    log = Log()
    for name, parent in links:
        log.user(f"I am {name}", uuid=name, parent=parent)
    return log


def test_a_record_is_deferred_until_its_parent_is_read():
    log = linked([("a", None), ("c", "b"), ("d", "c"), ("b", "a"), ("e", "d")])
    assert tree(log) == [("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")]


def test_children_of_one_parent_wait_in_file_order():
    log = linked([("c", "a"), ("b", "a"), ("d", "b"), ("a", None)])
    assert tree(log) == [("a", None), ("c", "a"), ("b", "a"), ("d", "b")]


def test_a_hook_that_is_written_before_its_parent_keeps_the_chain():
    """Attachments of hooks are written before their parents."""
    log = Log()
    log.user("Sell tea", uuid="a")
    log.add("attachment", parent="b", uuid="hook", attachment={"type": "hook_success"})
    log.answer("m1", call("c1"), parent="a", uuid="b")
    log.user("And coffee", parent="hook")
    assert tree(log) == [("a", None), ("m1", "a"), ("u003", "m1")]
    assert states(log) == ["attachment/hook_success"]


def test_a_cycle_is_cut_at_its_earliest_record():
    """C-29."""
    log = linked([("a", "c"), ("b", "a"), ("c", "b"), ("d", "c")])
    assert tree(log) == [("a", None), ("b", "a"), ("c", "b"), ("d", "c")]


def test_cycles_do_not_stop_other_records():
    log = linked([("a", None), ("x", "y"), ("y", "x"), ("b", "a"), ("p", "q"), ("q", "p")])
    assert tree(log) == [("a", None), ("b", "a"), ("x", "b"), ("y", "x"), ("p", "y"), ("q", "p")]


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdefz") | st.none()), min_size=1, max_size=12))
def test_any_links_make_a_forest_that_holds_every_record_once(links):
    log = linked(links)
    found = drafts(log)
    assert sorted(draft.native_ids[0] for draft in found) == sorted({name for name, _ in links})
    assert len(states(log)) == len(links) - len(found)
