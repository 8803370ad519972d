"""`range-diff`: two versions of a branch, or two runs, message by message."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend
from scopes.conversation.branch import branch
from scopes.conversation.diff import Content, pair_messages, range_diff
from scopes.conversation.merge import merge
from scopes.conversation.rebase import rebase
from scopes.errors import Invalid, NotFound
from scopes.model.message import Author
from tests.support.examples import examples, is_thorough
from tests.support.history import history, say
from tests.support.store import make_store


def marks(found):
    return " ".join(f"{pair.mark}{(pair.new or pair.old).subject}" for pair in found.pairs)


def call(repository, where, command, output):
    """Append a tool call and its result, with call ids of their own."""
    call_id = f"{where}-{command}"
    part = {"type": "tool_call", "name": "Bash", "call_id": call_id, "input": {"command": command}}
    say(repository, where, "", kind="answer", parts=[part])
    result = {"type": "tool_result", "call_id": call_id, "output": output}
    say(repository, where, "", kind="tool-results", author_kind="tool", parts=[result])


def test_a_rebased_branch_has_the_same_messages_in_new_commits(repository):
    history(repository, "main: a b", "fix@a: c d")
    rebase(repository, "conv-001/fix", onto="main")
    found = range_diff(repository, ["main", "fix@{1}", "fix"], conversation="conv-001")
    assert (marks(found), found.exit_code) == ("=c =d", 0)
    assert all(pair.old.head.oid != pair.new.head.oid and pair.old.head.id == pair.new.head.id for pair in found.pairs)


def test_two_names_compare_what_each_has_alone(repository):
    history(repository, "main: a b", "fix@a: c d")
    for names in (["main", "fix"], ["main...fix"]):
        found = range_diff(repository, names, conversation="conv-001")
        assert (marks(found), found.exit_code) == ("<b >c >d", 1)
    assert (found.old.name, found.new.name) == ("fix..main", "main..fix")


def test_two_ranges_may_be_in_two_conversations(repository):
    history(repository, "main: a b c")
    history(repository, "main: a x c")
    found = range_diff(repository, ["conv-001~2..conv-001", "conv-002~2..conv-002"])
    assert marks(found) == "<b >x =c"


def test_two_runs_are_paired_by_tool_and_text_in_their_order(repository):
    history(repository, "main: fix-the-login", "one: ", "two: ")
    call(repository, "conv-001/one", "make test", "1 failed")
    say(repository, "conv-001/one", "The cookie is not set, so I set it in the response")
    call(repository, "conv-001/one", "make test", "all passed")
    call(repository, "conv-001/two", "make test", "1 failed")
    say(repository, "conv-001/two", "The cookie is not sent, so I set it in the response")
    say(repository, "conv-001/two", "wait")
    call(repository, "conv-001/two", "make test", "all passed")
    found = range_diff(repository, ["one", "two"], conversation="conv-001")
    assert [pair.mark for pair in found.pairs] == ["=", "=", "!", ">", "=", "="]
    assert found.pairs[2].lines == (
        "@@ -1 +1 @@",
        "-The cookie is not set, so I set it in the response",
        "+The cookie is not sent, so I set it in the response",
    )
    assert 0.5 < found.pairs[2].similarity < 1
    assert found.pairs[0].new.subject == "→ Bash make test"


def test_without_patch_there_are_no_lines(repository):
    history(repository, "main: a", "one: ", "two: ")
    say(repository, "conv-001/one", "one two three four")
    say(repository, "conv-001/two", "one two three five")
    (pair,) = range_diff(repository, ["one", "two"], conversation="conv-001", patch=False).pairs
    assert (pair.mark, pair.lines) == ("!", ())


def test_an_old_message_without_a_pair_comes_after_those_before_it(repository):
    history(repository, "main: a", "one: p q r s", "two: ")
    for word in "p", "s", "t":
        say(repository, "conv-001/two", word)
    assert marks(range_diff(repository, ["one", "two"], conversation="conv-001")) == "=p <q <r =s >t"


def test_an_amended_branch_has_the_amendment_as_a_new_message(repository):
    drawn = history(repository, "main: a b")
    branch(repository, "conv-001", name="before", start="main", switch=False)
    amend(repository, "conv-001/main", drawn.ids["b"], "better", author=Author("carol"))
    found = range_diff(repository, ["main~1", "before", "main"], conversation="conv-001")
    assert [pair.mark for pair in found.pairs] == [">"]


def test_merges_are_left_out(repository):
    history(repository, "main: a b", "fix@a: c")
    before = range_diff(repository, ["main~1", "main", "fix"], conversation="conv-001")
    merge(repository, "conv-001", "fix", target="main")
    after = range_diff(repository, ["main@{1}~1", "main", "fix"], conversation="conv-001")
    assert (marks(before), marks(after)) == ("<b >c", "<b =c")


@pytest.mark.parametrize("names", [["main"], ["main..fix"], ["main..fix", "main"], ["a", "b", "c", "d"], []])
def test_other_forms_are_refused(repository, names):
    history(repository, "main: a", "fix: b")
    with pytest.raises(Invalid, match="two versions"):
        range_diff(repository, names, conversation="conv-001")


def test_a_name_that_is_not_there_is_not_found(repository):
    history(repository, "main: a")
    with pytest.raises(NotFound, match="nowhere"):
        range_diff(repository, ["main", "nowhere"], conversation="conv-001")
    with pytest.raises(NotFound, match="does not go back 99 moves"):
        range_diff(repository, ["main", "main@{99}"], conversation="conv-001")


def content(identity, *words):
    return Content(str(identity), "plain", words, frozenset(words))


def test_messages_with_one_id_are_a_pair_wherever_they_are():
    left = [content(1, "a"), content(2, "b")]
    assert pair_messages(left, left[::-1]) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("texts", ["all equal", "all different", "similar"])
@pytest.mark.slow
def test_thousands_of_messages_on_each_side_are_paired_in_bounded_time(texts):
    """The cost grows with the number of messages, not with its square: 20 seconds are allowed for 5,000."""
    size = 5000 if is_thorough() or texts == "all equal" else 2000

    def run(side):
        for number in range(size):
            words = {
                "all equal": ["ok"],
                "all different": [f"{side}{number}", *(f"{side}{number}w{n}" for n in range(20))],
                "similar": [f"{side}{number}", *(f"w{n}" for n in range(20))],
            }
            yield content(f"{side}{number}", *words[texts])

    left, right = list(run("l")), list(run("r"))
    before = time.process_time()
    pairs = pair_messages(left, right)
    assert time.process_time() - before < size / 250
    assert len(pairs) == (0 if texts == "all different" else size)


WORDS = st.lists(st.sampled_from(["fix", "test", "commit", "look again", "the parser is slow"]), max_size=5)


@settings(max_examples=examples(25), deadline=None)
@given(WORDS, WORDS)
def test_a_comparison_the_other_way_has_as_many_pairs(tmp_path_factory, left, right):
    """`<` and `>` change places; a branch is equal to itself."""
    repository = make_store(tmp_path_factory.mktemp("ranges") / "store.git")
    history(repository, "main: a", "one: ", "two: ")
    for name, words in ("one", left), ("two", right):
        for word in words:
            say(repository, f"conv-001/{name}", word)
    forward, back = (
        range_diff(repository, ["main", *names], conversation="conv-001") for names in (("one", "two"), ("two", "one"))
    )
    turned = {"<": ">", ">": "<"}
    assert sorted(turned.get(pair.mark, pair.mark) for pair in forward.pairs) == sorted(p.mark for p in back.pairs)
    assert sorted(pair.similarity or 0 for pair in forward.pairs) == sorted(pair.similarity or 0 for pair in back.pairs)
    assert (forward.exit_code == 0) is (left == right)
    same = range_diff(repository, ["main", "one", "one"], conversation="conv-001")
    assert ([pair.mark for pair in same.pairs], same.exit_code) == (["="] * len(left), 0)


@settings(max_examples=examples(15), deadline=None)
@given(WORDS, WORDS)
def test_after_a_rebase_every_message_is_paired_with_itself(tmp_path_factory, on_main, on_fix):
    repository = make_store(tmp_path_factory.mktemp("rebase") / "store.git")
    history(repository, "main: a", "fix: ")
    for name, words in ("main", ["b", *on_main]), ("fix", ["c", *on_fix]):
        for word in words:
            say(repository, f"conv-001/{name}", word)
    rebase(repository, "conv-001/fix", onto="main")
    found = range_diff(repository, ["main", "fix@{1}", "fix"], conversation="conv-001")
    assert [pair.mark for pair in found.pairs] == ["="] * (len(on_fix) + 1)
    assert all(pair.old.head.id == pair.new.head.id and pair.old.number == pair.new.number for pair in found.pairs)
