"""`context --diff` over merges, compactions, decisions and budgets: what a model would read differently."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.context.context import context
from scopes.context.context_diff import diff_contexts
from scopes.context.request import Request
from scopes.conversation.append import retract
from scopes.conversation.branch import branch
from scopes.conversation.decisions import withdraw_decision
from scopes.conversation.merge import merge
from scopes.conversation.rebase import rebase
from scopes.conversation.undo import undo
from scopes.errors import Invalid, NotFound, Refused
from scopes.memory.summarize import summarize
from scopes.memory.uncompact import uncompact
from scopes.model.message import Author
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.render.rendering import document, piped, seen_lines
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import files_of, make_store

COUNTER = SimpleNamespace(method="exact", count=len, prepare=list)
CAROL = Author("carol", "human")


def compare(repository, *names, **options):
    """Compare the contexts of `A..B`, or of two names, with tokens that are estimated."""
    cache = f"{repository.path}.cache"
    request = Request(**{"max_tokens": 2000, **options})
    return diff_contexts(repository, request, choose_tokenizer(RankFilePaths(cache)), cache, (*names, None)[:2])


def read(repository, where, **options):
    cache = f"{repository.path}.cache"
    request = Request(**{"where": where, "max_tokens": 2000, **options})
    return context(repository, request, choose_tokenizer(RankFilePaths(cache)), cache)


def decide(repository, where, topic, decision):
    return say(repository, where, f"{topic}!", kind="decision", decision={"topic": topic, "decision": decision})


def compact(repository, where="conv-001"):
    return summarize(repository, where, COUNTER, ratio=0.9, compact=True)


def parts(found):
    return [change.part for change in found.changes]


def added(found):
    return [change.right.text for change in found.changes if change.right and not change.left]


def removed(found):
    return [change.left.text for change in found.changes if change.left and not change.right]


def test_a_merge_adds_the_turns_of_the_merged_branch_and_removes_none(repository):
    history(repository, "main: a b", "fix@a: c d")
    merge(repository, "conv-001", "fix", target="main")
    found = compare(repository, "conv-001", "main~1..main")
    assert (added(found), removed(found)) == (["c", "d"], [])
    assert (found.left.turns, found.right.turns) == (2, 4)


def test_a_merged_and_a_rebased_branch_read_the_same_turns_in_another_order(repository):
    """Two ways to put fix together with main: the messages keep their ids."""
    history(repository, "main: a b", "fix@a: c d", "copy@b: ")
    rebase(repository, "conv-001/fix", onto="main")
    merge(repository, "conv-001", "fix@{1}", target="copy")
    found = compare(repository, "conv-001", "copy..fix")
    assert sorted(added(found)) == sorted(removed(found))
    assert found.left.turns == found.right.turns == 4


def test_merges_of_two_branches_into_each_other_differ_alike_from_both_sides(repository):
    """Of two turns that changed places another one was kept if the sides were exchanged."""
    history(repository, "main: a b", "fix@a: c", "copy@b: ")
    merge(repository, "conv-001", "fix", target="main")
    merge(repository, "conv-001", "copy", target="fix")
    say(repository, "conv-001/main", "d")
    say(repository, "conv-001/fix", "e")
    found, mirrored = compare(repository, "conv-001", "main..fix"), compare(repository, "conv-001", "fix..main")
    assert (added(found), removed(found)) == (removed(mirrored), added(mirrored)) != ([], [])
    assert (found.left, found.right) == (mirrored.right, mirrored.left)
    assert found.exit_code == mirrored.exit_code == 1


def test_a_decision_of_the_merged_branch_comes_into_effect_with_the_merge(repository):
    history(repository, "main: a b", "fix@a: c")
    decide(repository, "conv-001/fix", "db", "sqlite")
    merge(repository, "conv-001", "fix", target="main")
    found = compare(repository, "conv-001", "main~1..main")
    assert "decisions" in parts(found)
    lines = next(change.lines for change in found.changes if change.part == "decisions")
    assert any(line.startswith("+") and "db: sqlite" in line for line in lines)


def test_a_decision_that_replaces_another_changes_the_decisions_and_marks_the_older_turn(repository):
    history(repository, "main: a")
    decide(repository, "conv-001", "db", "sqlite")
    decide(repository, "conv-001", "db", "postgres")
    found = compare(repository, "conv-001", "main~1..main")
    lines = next(change.lines for change in found.changes if change.part == "decisions")
    assert [line[:1] for line in lines if "db: " in line] == ["-", "+"]
    (marked,) = [change for change in found.changes if change.left and change.right]
    assert "[superseded by postgres]" in marked.right.text


def test_a_withdrawn_decision_is_in_effect_on_the_left_side_only(repository):
    history(repository, "main: a")
    decide(repository, "conv-001", "db", "sqlite")
    withdraw_decision(repository, "conv-001", "db", author=CAROL)
    found = compare(repository, "conv-001", "main~1..main")
    lines = next(change.lines for change in found.changes if change.part == "decisions")
    assert all(line.startswith("-") for line in lines)


def test_a_retracted_message_is_a_removed_turn(repository):
    drawn = history(repository, "main: a b c")
    retract(repository, "conv-001", drawn.ids["b"], "wrong", author=CAROL)
    found = compare(repository, "conv-001", "main~1..main")
    assert (removed(found), added(found)) == (["b"], [])


def test_a_compaction_and_uncompact_lead_back_to_the_same_context(repository):
    history(repository, "main: alpha beta gamma")
    compact(repository)
    uncompact(repository, "conv-001", author=CAROL)
    assert removed(compare(repository, "conv-001", "main~2..main~1")) == ["alpha", "beta", "gamma"]
    assert added(compare(repository, "conv-001", "main~1..main")) == ["alpha", "beta", "gamma"]
    assert compare(repository, "conv-001", "main~2..main").changes == ()


def test_a_message_after_a_compaction_is_all_that_is_added(repository):
    history(repository, "main: alpha beta")
    compact(repository)
    say(repository, "conv-001", "gamma")
    found = compare(repository, "conv-001", "main~1..main")
    assert (parts(found), added(found)) == (["turn"], ["gamma"])


def test_with_all_messages_a_compaction_is_one_more_turn(repository):
    history(repository, "main: alpha beta")
    compact(repository)
    found = compare(repository, "conv-001", "main~1..main", include_all=True)
    assert (parts(found), removed(found)) == (["turn"], [])
    assert (found.left.turns, found.right.turns) == (2, 3)


def test_a_compacted_branch_that_is_merged_leaves_the_target_its_own_messages(repository):
    """What the compaction replaced on its branch is replaced on the target, too."""
    history(repository, "main: a", "fix: alpha beta")
    compact(repository, "conv-001/fix")
    say(repository, "conv-001/main", "b")
    merge(repository, "conv-001", "fix", target="main")
    found = compare(repository, "conv-001", "main~1..main")
    assert found.changes
    assert found.right.tokens_used <= found.max_tokens


@pytest.mark.parametrize("max_tokens", [60, 120, 240, 500])
def test_both_contexts_keep_the_budget(repository, max_tokens):
    """S1-5."""
    history(repository, "main: a", "one: ", "two: ")
    for number in range(12):
        say(repository, "conv-001/one", f"one {number} " + "some words " * 6)
        say(repository, "conv-001/two", f"two {number} " + "other words " * 6)
    found = compare(repository, "conv-001/one", "two", max_tokens=max_tokens)
    assert max(found.left.tokens_used, found.right.tokens_used) <= max_tokens == found.max_tokens


def test_a_smaller_budget_compares_only_what_fits(repository):
    """An old difference that no model reads is none."""
    history(repository, "main: a", "one: early-one", "two: early-two")
    for number in range(10):
        for name in "one", "two":
            say(repository, f"conv-001/{name}", f"{name} {number} " + "equal words " * 20)
    large, small = (compare(repository, "conv-001/one", "two", max_tokens=size) for size in (4000, 150))
    assert "early-one" in removed(large)
    assert "early-one" not in removed(small)
    assert len(small.changes) < len(large.changes)


def test_a_request_that_is_not_valid_is_refused_as_by_context(repository):
    history(repository, "main: a b")
    with pytest.raises(Invalid):
        compare(repository, "conv-001", "main~1..main", max_tokens=-1)


def test_undo_of_an_append_is_the_difference_the_other_way_round(repository):
    history(repository, "main: a b")
    branch(repository, "conv-001", name="kept", start="main", switch=False)
    undo(repository)  # the branch
    branch(repository, "conv-001", name="kept", start="main~1", switch=False)
    forward = compare(repository, "conv-001", "kept..main")
    back = compare(repository, "conv-001", "main..kept")
    assert (added(forward), removed(forward)) == (removed(back), added(back)) == (["b"], [])


def test_comparing_changes_no_byte_of_the_store(repository):
    """S1-27."""
    history(repository, "main: a b", "fix@a: c")
    before = files_of(repository.path)
    compare(repository, "conv-001", "main..fix")
    assert files_of(repository.path) == before


@pytest.fixture
def found(repository):
    """A difference with every part: summary, decisions, an added, a removed and a changed turn."""
    history(repository, "main: alpha beta", "fix: ")
    decide(repository, "conv-001/fix", "db", "sqlite")
    say(repository, "conv-001/fix", "only on fix, and this text is rather long: " + "it goes on " * 20)
    compact(repository, "conv-001/main")
    decide(repository, "conv-001/main", "db", "postgres")
    return compare(repository, "conv-001", "main..fix")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_lines_fit_the_terminal(found, width):
    lines = seen_lines(found, width)
    assert max(map(len, lines)) <= width
    assert [line.split()[0] for line in lines[:2]] == ["---", "+++"]


def test_a_heading_precedes_every_part_and_names_its_turns(found):
    headings = [line for line in piped(found).splitlines() if line.startswith("@@ ") and line.endswith(" @@")]
    named = [line.split()[1] for line in headings if not line.startswith("@@ -")]
    assert named[:2] == ["summary", "decisions"]
    assert set(named[2:]) == {"message"}


def test_json_separates_turns_of_one_side_changed_turns_and_other_parts(found):
    shown = document(found)
    assert shown["equal"] is False
    assert [part["part"] for part in shown["other_parts"]] == ["summary", "decisions"]
    assert {turn["text"] for turn in shown["added"]} >= {"alpha", "beta"}
    assert all(turn["tokens"] > 0 for turn in (*shown["added"], *shown["removed"]))
    assert (shown["left"]["branch"], shown["right"]["branch"]) == ("main", "fix")


def test_equal_contexts_are_one_line_on_a_terminal_and_none_in_a_pipe(repository):
    history(repository, "main: a")
    same = compare(repository, "conv-001", "main..main")
    assert seen_lines(same) == ["A model reads the same at main and main."]
    assert piped(same) == ""


STEPS = st.lists(
    st.sampled_from(["say", "say on fix", "decide", "decide on fix", "compact", "merge", "uncompact"]),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(20), deadline=None)
@given(STEPS)
def test_the_turns_of_one_context_and_the_difference_give_those_of_the_other(tmp_path_factory, steps):
    """Whatever happened between: removed turns were read before, added ones are read now, the others in both."""
    repository = make_store(tmp_path_factory.mktemp("contexts") / "store.git")
    history(repository, "main: a b", "fix@a: c")
    for number, step in enumerate(steps):
        act = {
            "say": lambda n: say(repository, "conv-001/main", f"say-{n}"),
            "say on fix": lambda n: say(repository, "conv-001/fix", f"fix-{n}"),
            "decide": lambda n: decide(repository, "conv-001/main", f"topic-{n}", "x"),
            "decide on fix": lambda n: decide(repository, "conv-001/fix", f"topic-{n}", "y"),
            "compact": lambda _: compact(repository, "conv-001/main"),
            "merge": lambda _: merge(repository, "conv-001", "fix", target="main"),
            "uncompact": lambda _: uncompact(repository, "conv-001/main", author=CAROL),
        }[step]
        try:
            act(number)
        except (NotFound, Refused):
            continue
    found = compare(repository, "conv-001", "fix..main")
    left, right = (read(repository, f"conv-001/{name}") for name in ("fix", "main"))
    before, after = ({turn.id for turn in each.messages} for each in (left, right))
    only_left = {change.left.id for change in found.changes if change.left and not change.right}
    only_right = {change.right.id for change in found.changes if change.right and not change.left}
    assert (before - after) <= only_left <= before
    assert (after - before) <= only_right <= after
    assert ("decisions" in parts(found)) is (left.decisions_text != right.decisions_text)
    assert ("summary" in parts(found)) is (left.summary != right.summary)
