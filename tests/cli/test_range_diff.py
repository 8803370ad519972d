"""`scopes range-diff`: words, output and exit codes."""

from __future__ import annotations

import pytest


@pytest.fixture
def rebased(conversation):
    """A conversation in which fix was rebased onto a longer main."""
    conversation.append("fix", "one")
    conversation.append("main", "two")
    conversation.run("conv", "rebase", f"{conversation.id}/fix", "--onto", "main")
    return conversation


@pytest.mark.parametrize(
    "words",
    [
        ("main", "fix@{1}", "fix"),
        ("conv-001", "main", "fix@{1}", "fix"),
        ("conv-001", "main~1..fix@{1}", "main..fix"),
        ("main~1..fix@{1}", "main..fix"),
        ("conv-001/main", "conv-001/fix@{1}", "conv-001/fix"),
    ],
)
def test_a_rebased_branch_is_equal_to_itself_before(rebased, words):
    done = rebased.run_main("diff", "--range", *words)
    old, new = (rebased.run("conv", "cat", name, "--json")["oid"] for name in ("conv-001/fix@{1}", "conv-001/fix"))
    assert done.stdout == f"1\t{old}\t=\t1\t{new}\tcarol\tone\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_a_difference_is_exit_code_1_and_json_has_the_pairs(rebased):
    rebased.append("fix", "three")
    words = "diff", "--range", "conv-001", "main", "fix@{1}", "fix"
    document = rebased.run(*words, "--json", code=1)
    assert document["counts"] == {"equal": 1, "changed": 0, "only_old": 0, "only_new": 1}
    assert [pair["status"] for pair in document["pairs"]] == ["equal", "only-new"]
    assert rebased.run(*words, "--format", r"{mark}\t{new.subject}", code=1) == "=\tone\n>\tthree\n"


def test_a_changed_message_has_its_changed_lines_below_it(rebased):
    for name, text in (("x", "one two three four"), ("y", "one two three five")):
        rebased.run("conv", "branch", "conv-001", name)
        rebased.append(name, text)
    shown = rebased.run("diff", "--range", "x", "y", code=1).splitlines()
    assert shown[1:] == ["    @@ -1 +1 @@", "    -one two three four", "    +one two three five"]
    assert len(rebased.run("diff", "--range", "x...y", "--stat", code=1).splitlines()) == 1
    assert "similarity" in rebased.run("diff", "--range", "x", "y", "--stat", "--json", code=1)["pairs"][0]


def test_one_name_alone_is_refused_with_the_forms(rebased):
    assert "A..B C..D" in rebased.run_refused("diff", "--range", "conv-001", code=2)["message"]
    assert "A..B C..D" in rebased.run_refused("diff", "--range", "main..fix", code=2)["message"]


@pytest.fixture
def changed(rebased):
    """A rebased branch that was continued: one message is equal, two are new."""
    for text in ("three", "four"):
        rebased.append("fix", text)
    return rebased


VERSIONS = "diff", "--range", "conv-001", "main", "fix@{3}", "fix"


def test_a_template_is_written_once_for_every_pair(changed):
    shown = changed.run(*VERSIONS, "--format", "{mark} {old.number}-{new.number} {new.author}", code=1)
    assert shown == "= 1-1 carol\n> -2 carol\n> -3 carol\n"
    error = changed.run_refused(*VERSIONS, "--format", "{no_such_field}", code=2)
    assert "no_such_field" in error["message"]


def test_rows_may_end_with_nul_and_fields_are_columns(changed):
    assert changed.run(*VERSIONS, "--format", r"{status}\t{new.subject}", "-z", code=1).split("\0") == [
        "equal\tone",
        "only-new\tthree",
        "only-new\tfour",
        "",
    ]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("conv-001", "main", "fix@{99}"), 4, "does not go back 99 moves"),
        (("conv-001", "main", "nowhere"), 4, "there is no branch or message 'nowhere'"),
        (("conv-009", "main", "fix"), 4, "conv-009"),
        (("main..fix", "main...fix"), 2, "A..B C..D"),
        (("main", "fix", "fix", "fix", "fix"), 2, "A..B C..D"),
    ],
)
def test_versions_that_cannot_be_compared_are_one_error(rebased, words, code, text):
    assert text in rebased.run_refused("diff", "--range", *words, code=code)["message"]


def test_versions_of_two_conversations_are_named_with_their_conversation(rebased):
    rebased.run("new", "the other run")
    for text in ("one", "five"):
        rebased.run("append", "conv-002", "--as", "carol", text)
    names = "conv-001/main..conv-001/fix", "conv-002~2..conv-002"
    assert rebased.run("diff", "--range", *names, "--format", r"{mark}\t{new.subject}", code=1) == "=\tone\n>\tfive\n"
    assert rebased.run("diff", "--range", "conv-002~1..conv-002", "conv-002~1..conv-002", "--json")["equal"] is True
