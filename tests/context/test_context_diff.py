"""`context --diff`: what a model would read differently at two revisions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scopes.context.context_diff import diff_contexts
from scopes.context.request import Request
from scopes.conversation.append import amend
from scopes.conversation.branch import branch
from scopes.errors import NotFound
from scopes.memory.summarize import summarize
from scopes.model.message import Author
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.support.diffs import apply_lines
from tests.support.history import history, say
from tests.support.planted import KINDS

TOKEN = KINDS[1][1]
COUNTER = SimpleNamespace(method="exact", count=len, prepare=list)


def compare(repository, *names, **options):
    cache = f"{repository.path}.cache"
    request = Request(**{"max_tokens": 2000, **options})
    left, right = names if len(names) == 2 else (*names, None)
    return diff_contexts(repository, request, choose_tokenizer(RankFilePaths(cache)), cache, (left, right))


def shown(found):
    return [
        (change.part, *(None if turn is None else turn.text for turn in (change.left, change.right)))
        for change in found.changes
    ]


def test_turns_of_one_side_are_removed_or_added(repository):
    history(repository, "main: a b", "fix@a: c")
    found = compare(repository, "conv-001", "main..fix")
    assert shown(found) == [("turn", "b", None), ("turn", None, "c")]
    assert [change.lines for change in found.changes] == [("-b",), ("+c",)]
    assert (found.exit_code, found.left.turns, found.right.turns) == (1, 2, 2)
    assert found.left.tokens_used > 0


def test_a_context_does_not_differ_from_itself(repository):
    history(repository, "main: a b", "fix@b:")
    found = compare(repository, "conv-001", "main..fix")
    assert (found.changes, found.exit_code) == ((), 0)


def test_a_compaction_replaces_turns_by_a_summary(repository):
    drawn = history(repository, "main: alpha beta")
    summarize(repository, drawn.conversation, COUNTER, ratio=0.9, compact=True)
    found = compare(repository, "conv-001", "main~1..main")
    assert [change.part for change in found.changes] == ["summary", "turn", "turn"]
    assert found.changes[0].lines[0].startswith("+")
    assert shown(found)[1:] == [("turn", "alpha", None), ("turn", "beta", None)]
    assert (found.left.turns, found.right.turns) == (2, 0)


def test_an_amended_message_is_a_changed_turn(repository):
    drawn = history(repository, "main: a b")
    amend(repository, "conv-001", drawn.ids["b"], "better", author=Author("carol"))
    (change,) = compare(repository, "conv-001", "main~1..main").changes
    assert (change.left.text, change.right.text) == ("b", "better")
    assert change.lines == ("@@ -1 +1 @@", "-b", "+better")


def test_the_options_of_a_context_apply_to_both_sides(repository):
    history(repository, "main: a", "one: ", "two: ")
    for name in "one", "two":
        say(repository, f"conv-001/{name}", "the login fails on Safari")
        say(repository, f"conv-001/{name}", f"something else {name}", task="other")
    with_task = compare(repository, "conv-001/one", "two", task="login Safari", max_tokens=120)
    assert with_task.max_tokens == 120
    assert with_task.left.tokens_used <= 120


def test_the_beginning_of_a_conversation_has_no_turns(repository):
    history(repository, "main: a")
    found = compare(repository, "conv-001", "main~1..main")
    assert shown(found)[-1] == ("turn", None, "a")
    assert found.left.turns == 0


def test_a_revision_that_is_not_there_is_not_found(repository):
    history(repository, "main: a")
    with pytest.raises(NotFound):
        compare(repository, "conv-001", "main..nowhere")


@pytest.mark.parametrize("names", [("main", "fix"), ("fix", "main"), ("main~2", "main"), ("main", "main")])
def test_the_diff_leads_from_the_turns_of_one_context_to_those_of_the_other(repository, names):
    drawn = history(repository, "main: a b c", "fix@a: d e")
    amend(repository, "conv-001/main", drawn.ids["b"], "one\ntwo", author=Author("carol"))
    found = compare(repository, "conv-001", "..".join(names))
    sides = []
    for name in names:
        everything = compare(repository, "conv-001", f"main~4..{name}")  # nothing is on the left side
        sides.append({change.right.id: change.right.text for change in everything.changes if change.right})
    turns, expected = sides
    for change in found.changes:
        if change.right is None:
            assert turns.pop(change.left.id) == change.left.text
        else:
            before = [] if change.left is None else change.left.text.splitlines()
            lines = [*(change.lines if before else (line for line in change.lines))]
            text = apply_lines(before, lines) if before else [line[1:] for line in lines]
            turns[change.right.id] = "\n".join(text)
    assert turns == expected
    assert (found.exit_code == 0) is (names[0] == names[1])


def test_names_of_branches_and_ids_with_secrets_are_replaced(repository):
    history(repository, "main: a b", conversation=f"x-{TOKEN}")
    branch(repository, f"x-{TOKEN}", name=TOKEN)
    say(repository, f"x-{TOKEN}", "c")
    found = compare(repository, f"x-{TOKEN}", f"main..{TOKEN}", secrets="redact")
    assert TOKEN not in f"{found.left} {found.right}"
    assert (found.left.side.revision.branch, found.exit_code) == ("main", 1)
    assert TOKEN in str(compare(repository, f"x-{TOKEN}", f"main..{TOKEN}", secrets="allow").right)
