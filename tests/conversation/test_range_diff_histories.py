"""`range-diff` reads like a review: every way to change a branch has its marks, at every width and in every form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, rewind
from scopes.conversation.diff import range_diff
from scopes.conversation.rebase import cherry_pick, rebase
from scopes.conversation.undo import undo
from scopes.model.message import Author
from tests.render.rendering import document, piped, seen_lines
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import make_store

LONG = "the cookie is not set because the session is new and the server answers before the store is written"


def compare(repository, *names, **options):
    return range_diff(repository, names, conversation="conv-001", **options)


def marks(found):
    return " ".join(f"{pair.mark}{(pair.new or pair.old).subject}" for pair in found.pairs)


def pick(repository, target, *messages):
    """Start a branch at the message a of main, and pick messages onto it in an order."""
    branch(repository, "conv-001", name=target, start="main~1", switch=False)
    cherry_pick(repository, "conv-001", list(messages), branch=target)


@pytest.fixture
def drawn(repository):
    """The branch fix has three messages since a, and main has one."""
    return history(repository, "main: a b", "fix@a: c d e")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("c d e", "=c =d =e"),
        ("c e", "=c <d =e"),
        ("d e", "<c =d =e"),
        ("c", "=c <d <e"),
        ("e c d", "=e =c =d"),
        ("d c e", "=d =c =e"),
        ("e d c", "=e =d =c"),
    ],
)
def test_picked_messages_are_equal_and_those_left_out_are_only_old(repository, drawn, order, expected):
    """A message keeps its id when it is picked, so it is found wherever it is now."""
    pick(repository, "again", *(drawn.ids[word] for word in order.split()))
    found = compare(repository, "main~1", "fix", "again")
    assert marks(found) == expected
    assert found.exit_code == int("<" in expected)


def test_a_reordered_branch_is_equal_and_its_numbers_show_the_new_order(repository, drawn):
    pick(repository, "again", drawn.ids["e"], drawn.ids["c"], drawn.ids["d"])
    found = compare(repository, "main~1", "fix", "again")
    assert [(pair.old.number, pair.new.number) for pair in found.pairs] == [(3, 1), (1, 2), (2, 3)]
    assert {pair.similarity for pair in found.pairs} == {1.0}


def test_messages_added_in_the_middle_and_at_the_end_are_only_new(repository, drawn):
    pick(repository, "again", drawn.ids["c"])
    say(repository, "conv-001/again", "x")
    cherry_pick(repository, "conv-001", [drawn.ids["d"], drawn.ids["e"]], branch="again")
    say(repository, "conv-001/again", "y")
    assert marks(compare(repository, "main~1", "fix", "again")) == "=c >x =d =e >y"


def test_one_rebase_after_another_is_compared_by_the_moves_of_the_branch(repository, drawn):
    rebase(repository, "conv-001/fix", onto="main")
    say(repository, "conv-001/fix", "f")
    say(repository, "conv-001/main", "g")
    rebase(repository, "conv-001/fix", onto="main")
    assert marks(compare(repository, "main", "fix@{1}", "fix")) == "=c =d =e =f"
    assert marks(compare(repository, "main", "fix@{3}", "fix")) == "=c =d =e >f"  # before both


def test_after_undo_of_a_rebase_the_rebased_version_is_still_there(repository, drawn):
    rebase(repository, "conv-001/fix", onto="main")
    undo(repository)
    assert marks(compare(repository, "main", "fix@{1}", "fix")) == "=c =d =e"


def test_a_branch_that_was_wound_back_and_continued_has_its_old_end_as_only_old(repository, drawn):
    rewind(repository, "conv-001", branch="fix", count=1)
    say(repository, "conv-001/fix", "e2")
    found = compare(repository, "main~1", "fix@{2}", "fix")
    assert marks(found) == "=c =d <e >e2"


def test_an_amended_and_a_retracted_message_are_new_messages_that_say_so(repository, drawn):
    branch(repository, "conv-001", name="before", start="fix", switch=False)
    amend(repository, "conv-001/fix", drawn.ids["d"], "d, but better", author=Author("carol"))
    retract(repository, "conv-001/fix", drawn.ids["c"], "wrong", author=Author("carol"))
    found = compare(repository, "main~1", "before", "fix")
    assert [pair.mark for pair in found.pairs] == ["=", "=", "=", ">", ">"]
    assert [pair.new.head.kind for pair in found.pairs[3:]] == ["plain", "notice"]


def test_ends_that_have_nothing_of_their_own_have_no_rows(repository, drawn):
    found = compare(repository, "main", "main", "main")
    assert (found.pairs, found.exit_code, found.old.messages, found.new.messages) == ((), 0, 0, 0)
    assert seen_lines(found) == ["Neither range has a message of its own."]
    assert piped(found) == ""


def test_a_version_that_is_in_the_other_one_has_only_new_messages(repository, drawn):
    found = compare(repository, "fix~2", "fix")
    assert (marks(found), found.old.messages) == (">d >e", 0)


@pytest.fixture
def runs(repository):
    """Two runs of a task in two conversations: equal commands, another answer, another end."""
    history(repository, "main: fix-the-login")
    history(repository, "main: fix-the-login")
    for place, answer, end in (("conv-001", "is", "done"), ("conv-002", "was", "not done yet, one test fails")):
        part = {"type": "tool_call", "name": "Bash", "call_id": f"{place}-1", "input": {"command": "make test"}}
        say(repository, place, "", kind="answer", parts=[part], author={"name": "claude", "kind": "agent"})
        output = {"type": "tool_result", "call_id": f"{place}-1", "output": "1 failed"}
        say(repository, place, "", kind="tool-results", parts=[output], author={"name": "claude", "kind": "tool"})
        say(repository, place, LONG.replace("is not", f"{answer} not"))
        say(repository, place, end)
    return repository


def compare_runs(repository, **options):
    return range_diff(repository, ["conv-001~4..conv-001", "conv-002~4..conv-002"], **options)


def test_two_runs_in_two_conversations_are_compared_though_no_id_is_equal(runs):
    found = compare_runs(runs)
    assert [pair.mark for pair in found.pairs] == ["=", "=", "!", "<", ">"]
    assert (found.old.conversation, found.new.conversation) == ("conv-001", "conv-002")
    assert all(pair.old.head.id != pair.new.head.id for pair in found.pairs if pair.old and pair.new)
    assert 0.8 < found.pairs[2].similarity < 1


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_of_a_message_is_wider_than_the_terminal(runs, width):
    lines = seen_lines(compare_runs(runs), width)
    assert max(map(len, lines)) <= width
    assert [line[1:3] for line in lines if line[:1].isdigit()] == [": "] * 4
    changed = next(line for line in lines if " ! " in line)
    assert ("because the session is new" in changed) is (width == 200)  # a narrower one has the beginning of the text


def test_a_pipe_has_all_columns_of_every_row(runs):
    rows = [line.split("\t") for line in piped(compare_runs(runs, patch=False)).splitlines()]
    assert {len(row) for row in rows} == {7}
    assert [row[2] for row in rows] == ["=", "=", "!", "<", ">"]
    assert LONG.replace("is not", "was not").startswith(rows[2][6].rstrip("…"))
    assert rows[3][3:5] == ["-", "-"]
    assert rows[4][:2] == ["-", "-"]


def test_without_patch_a_row_is_one_line(runs):
    assert len(seen_lines(compare_runs(runs, patch=False))) == 5
    assert len(seen_lines(compare_runs(runs))) > 5


def test_json_has_both_messages_of_every_pair_and_counts_them(runs):
    found = document(compare_runs(runs))
    assert found["counts"] == {"equal": 2, "changed": 1, "only_old": 1, "only_new": 1}
    assert [(side["name"], side["messages"]) for side in (found["old"], found["new"])] == [
        ("conv-001~4..conv-001", 4),
        ("conv-002~4..conv-002", 4),
    ]
    assert [set(pair) & {"old", "new"} for pair in found["pairs"]] == [
        {"old", "new"}, {"old", "new"}, {"old", "new"}, {"old"}, {"new"},
    ]  # fmt: skip
    changed = found["pairs"][2]
    assert [line[:1] for line in changed["diff"]] == ["@", "-", "+"]
    assert json.dumps(found).count('"diff"') == 1


def test_recorded_control_characters_do_not_reach_the_terminal(repository):
    history(repository, "main: a", "one: ", "two: ")
    for name, end in ("one", "x"), ("two", "y"):
        say(repository, f"conv-001/{name}", f"one two three\x1b[31m four\r\n{end}")
    text = "\n".join(seen_lines(compare(repository, "one", "two")))
    assert "\x1b" not in text
    assert "\r" not in text


EDITS = st.lists(st.sampled_from(["keep", "drop", "add"]), min_size=1, max_size=6)


@settings(max_examples=examples(20), deadline=None)
@given(EDITS)
def test_the_marks_are_the_edits_that_made_the_second_version(tmp_path_factory, edits):
    """Messages are kept, dropped and added in order: `=`, `<` and `>` in the same order."""
    repository = make_store(tmp_path_factory.mktemp("edits") / "store.git")
    kept = [f"m{number}" for number, edit in enumerate(edits) if edit != "add"]
    drawn = history(repository, "main: a b", f"fix@a: {' '.join(kept)}")
    branch(repository, "conv-001", name="again", start="main~1", switch=False)
    for number, edit in enumerate(edits):
        if edit == "keep":
            cherry_pick(repository, "conv-001", [drawn.ids[f"m{number}"]], branch="again")
        elif edit == "add":
            say(repository, "conv-001/again", f"m{number}")
    found = compare(repository, "main~1", "fix", "again")
    by_subject = {(pair.new or pair.old).subject: pair.mark for pair in found.pairs}
    expected = {"keep": "=", "drop": "<", "add": ">"}
    assert by_subject == {f"m{number}": expected[edit] for number, edit in enumerate(edits)}
    assert [pair.new.number for pair in found.pairs if pair.new] == list(range(1, found.new.messages + 1))
    assert found.exit_code == int(set(edits) != {"keep"})
