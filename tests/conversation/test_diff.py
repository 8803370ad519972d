"""`diff`: the differences between two revisions, and the exit code (S4-62)."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.diff import diff
from scopes.conversation.merge import merge
from scopes.errors import Invalid, NotFound
from tests.render.rendering import piped, seen_lines
from tests.support.history import history, say
from tests.support.tool_calls import call_tool


def words(drawn, heads):
    by_id = {identity: word for word, identity in drawn.ids.items()}
    return " ".join(by_id.get(head.id, head.subject) for head in heads)


@pytest.fixture
def drawn(repository):
    """Two diverged branches with different claims for three keys."""
    drawn = history(repository, "main: a b", "fix@a: c d")
    for where, word, author in (("main", "jwt", "carol"), ("fix", "sessions", "dave")):
        place = f"conv-001/{where}"
        say(repository, place, "decided", author=author, kind="decision", decision={"topic": "auth", "decision": word})
        analysis = {"subject": "login", "aspect": "risk", "finding": word}
        say(repository, place, "looked", author=author, kind="analysis", analysis=analysis)
    return drawn


@pytest.mark.parametrize(
    "arguments", [("conv-001", "main..fix"), ("conv-001/main..fix", None), ("conv-001/main", "fix")]
)
def test_messages_of_each_side_are_listed(repository, drawn, arguments):
    found = diff(repository, *arguments)
    assert words(drawn, found.only_left) == "b decided looked"
    assert words(drawn, found.only_right) == "c d decided looked"
    assert found.exit_code == 1


def test_claims_differ_by_key_and_agent(repository, drawn):
    claims = [(c.key, c.agent, c.left, c.right) for c in diff(repository, "conv-001", "main..fix").claims]
    assert claims == [
        ("analyses/login/risk", "carol", "jwt", None),
        ("analyses/login/risk", "dave", None, "sessions"),
        ("decisions/auth", None, "jwt", "sessions"),
    ]


def ask(repository, where, answer):
    arguments = {"questions": [{"question": "Which database?"}]}
    call_tool(repository, where, "AskUserQuestion", arguments, structured={"answers": {"Which database?": answer}})


def test_equal_answers_and_those_of_one_side_are_no_claims(repository):
    history(repository, "main: a", "fix@a: c")
    ask(repository, "conv-001/main", "SQLite")
    assert diff(repository, "conv-001", "main..fix").claims == ()
    ask(repository, "conv-001/fix", " sqlite")
    assert diff(repository, "conv-001", "main..fix").claims == ()


def test_a_revision_does_not_differ_from_itself(repository, drawn):
    found = diff(repository, "conv-001/main", "main")
    assert (found.only_left, found.only_right, found.claims, found.exit_code) == ((), (), (), 0)


def test_an_empty_side_is_the_active_branch(repository, drawn):
    assert words(drawn, diff(repository, "conv-001", "..fix").only_left) == "b decided looked"


def test_three_dots_compare_the_merge_base_with_the_second_revision(repository, drawn):
    found = diff(repository, "conv-001", "main...fix")
    assert found.only_left == ()
    assert words(drawn, found.only_right) == "c d decided looked"


def test_a_message_with_two_commits_counts_as_the_same(repository):
    """Messages are compared by id: a merged message is not reported as missing."""
    drawn = history(repository, "main: a b", "fix@a: c")
    merge(repository, "conv-001", "fix", target="main")
    found = diff(repository, "conv-001", "main..fix")
    assert words(drawn, found.only_left) == "b Merge 1 message"
    assert found.only_right == ()


def test_two_conversations_are_compared_completely(repository):
    history(repository, "main: a b")
    history(repository, "main: c")
    found = diff(repository, "conv-001", "conv-002")
    assert [head.subject for head in found.only_left] == ["a", "b"]
    assert [head.subject for head in found.only_right] == ["c"]


def test_a_single_revision_is_refused(repository, drawn):
    branch(repository, "conv-001", name="more")
    with pytest.raises(Invalid, match="two revisions"):
        diff(repository, "conv-001")
    with pytest.raises(NotFound):
        diff(repository, "conv-001", "main..nowhere")


def test_the_texts_that_a_commit_does_not_show_are_read_on_request(repository):
    history(repository, "main: a", "fix@a: b")
    say(repository, "conv-001/fix", "x" * 100)
    found = diff(repository, "conv-001", "main..fix", bodies=True)
    assert [message.text for message in found.bodies.values()] == ["x" * 100]
    assert diff(repository, "conv-001", "main..fix").bodies == {}


def decide(repository, where, topic, decision):
    return say(repository, where, "decided", kind="decision", decision={"topic": topic, "decision": decision})


@pytest.mark.parametrize("base", [None, "Database", "database"])
def test_a_topic_in_two_spellings_is_one_claim_as_in_a_merge(repository, base):
    history(repository, "main: a")
    if base is not None:
        decide(repository, "conv-001", base, "files")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/main", "Database", "SQLite")
    decide(repository, "conv-001/fix", "database", "Postgres")
    found = diff(repository, "conv-001", "main..fix")
    assert [(c.key, c.left, c.right, c.changed_in) for c in found.claims] == [
        ("decisions/database", "SQLite", "Postgres", None)
    ]
    rows = [line.split("\t") for line in piped(found).splitlines() if "\tclaim\t" in line]
    assert [row[:3] for row in rows] == [["-", "claim", "decisions/database"], ["+", "claim", "decisions/database"]]


def test_equal_decisions_on_a_topic_in_two_spellings_do_not_differ(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "Database", "SQLite")
    decide(repository, "conv-001/fix", "database", "SQLite")
    assert diff(repository, "conv-001", "main..fix").claims == ()


@pytest.mark.parametrize(
    ("left", "right", "shown", "line"),
    [
        (28, 3, 12 + 3, "- … 16 earlier; all: scopes log conv-001 fix..main"),
        (3, 28, 3 + 12, "+ … 16 earlier; all: scopes log conv-001 main..fix"),
        (13, 13, 13 + 13, None),
        (28, 0, 28, None),
    ],
)
def test_a_long_side_does_not_hide_the_other_one_on_a_terminal(repository, left, right, shown, line):
    """Of each side the last messages are shown; a side without another one, and rows in a pipe, are complete."""
    history(repository, "main: a")
    branch(repository, "conv-001", name="fix", switch=False)
    for name, count in (("main", left), ("fix", right)):
        for number in range(count):
            say(repository, f"conv-001/{name}", f"{name} {number}")
    found = diff(repository, "conv-001/main", "conv-001/fix")
    lines = [each for each in seen_lines(found, 100) if each.startswith(("- ", "+ "))]
    assert len(lines) == shown + (line is not None)
    assert ([each for each in lines if "…" in each] or [None])[0] == line
    assert any(f"main {left - 1}" in each for each in lines)
    assert not right or any(f"fix {right - 1}" in each for each in lines)
    assert len(piped(found).splitlines()) == left + right
