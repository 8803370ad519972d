"""What people type on their first day: git's words, words in another order, and wrong values."""

from __future__ import annotations

import json

import pytest

from scopes.model.message import EXAMPLES, TYPED_KINDS


@pytest.fixture
def two_branches(conversation):
    """A conversation with one message on main and two on fix."""
    conversation.append("main", "on main")
    conversation.append("fix", "one")
    conversation.append("fix", "two")
    return conversation


def run(conversation, *words):
    """Run a command; `{}` in a word is the conversation."""
    return conversation.run_main(*(word.format(conversation.id) for word in words))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("reset",), "did you mean scopes rewind?"),
        (("revert",), "did you mean scopes retract?"),
        (("commit",), "did you mean scopes append?"),
        (("status",), "did you mean scopes show?"),
        (("rm",), "did you mean scopes delete?"),
        (("diff", "main..fix", "{}"), "scopes diff conv-001 main..fix"),
        (("search", "x", "after:5", "months", "ago"), 'after:"2 hours ago"'),
        (("search", "exit:abc"), "exit:1"),
        (("list", "--format", r"{id}\t{titel}"), "did you mean title?"),
    ],
)
def test_a_hint_names_the_command_that_was_meant(two_branches, words, hint):
    done = run(two_branches, *words)
    assert done.returncode == 2
    assert hint in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("tokens", "/nonexistent"), "file '/nonexistent' not found"),
        (("tokens", "./nofile"), "file './nofile' not found"),
        (("list", "-n", "-3"), "conversations -3: must not be negative"),
        (("log", "-n", "-1"), "-1 is not"),
        (("list", "-n", "x"), "'x' is not a whole number"),
        (("search", "x", "--context", "-1"), "-1 is not"),
    ],
)
def test_an_error_names_the_wrong_value(two_branches, words, error):
    done = run(two_branches, *words)
    assert done.returncode in {2, 4}
    assert error in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "printed"),
    [
        (("log", "{}", "main..fix", "--oneline"), 0, ["two", "one"]),
        (("log", "{}", "fix~1", "--oneline", "-1"), 0, ["one"]),
        (("log", "main..fix", "--oneline"), 0, ["two", "one"]),
        (("log", "fix", "--oneline", "-1"), 0, ["two"]),
        (("diff", "{}", "main", "fix"), 1, ["on main", "one", "two"]),
        (("search", "two", "--since", "5 months ago"), 0, ["two"]),
        (("search", "one OR two", "--until", "2020-01-01"), 1, []),
        (("list", "--until", "2020-01-01", "--format", "{id}"), 0, []),
        (("list", "--until", "now", "--format", "{id}"), 0, ["conv-001"]),
    ],
)
def test_a_revision_or_a_date_stands_where_people_write_it(two_branches, words, code, printed):
    done = run(two_branches, *words)
    assert done.returncode == code, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(printed)
    assert all(line.endswith(text) for line, text in zip(lines, printed, strict=True))


def test_a_message_where_a_conversation_is_expected_is_shown(two_branches):
    message = two_branches.append("main", "wrong")
    done = run(two_branches, "show", message[:8])
    assert (done.returncode, "wrong" in done.stdout) == (0, True)
    assert run(two_branches, "retract", message[:8]).returncode == 0
    assert run(two_branches, "retract", "{}").returncode == 2
    assert run(two_branches, "log", "--oneline", "-1").stdout.endswith("retracted: wrong\n")


@pytest.mark.parametrize("kind", sorted(TYPED_KINDS))
def test_a_typed_message_without_its_document_is_refused_with_an_example_that_works(two_branches, kind):
    done = run(two_branches, "append", two_branches.id, "--kind", kind, "text")
    assert done.returncode == 2
    assert f"--data '{EXAMPLES[kind]}'" in done.stderr
    assert json.loads(EXAMPLES[kind])
    assert two_branches.append("main", "--kind", kind, "--data", EXAMPLES[kind])


@pytest.mark.parametrize("words", [(), ("deploy",)])
def test_memory_lists_at_most_the_given_number(two_branches, words):
    for number in range(3):
        two_branches.run("memory", "add", f"deploy {number}")
    words = ("memory", "list", *words)
    assert len(two_branches.run(*words).splitlines()) == 3
    assert len(two_branches.run(*words, "-n", "2").splitlines()) == 2


def test_a_branch_is_summarized_by_its_option(two_branches):
    by_option = two_branches.run("summarize", two_branches.id, "--branch", "fix", "--dry-run")
    assert by_option == two_branches.run("summarize", f"{two_branches.id}/fix", "--dry-run")


def test_an_alias_with_the_name_of_a_command_is_noted(two_branches):
    assert "never used" in run(two_branches, "config", "scopes.alias.log", "list").stderr
    assert "never used" not in run(two_branches, "config", "scopes.alias.last", "list").stderr


def test_a_conversation_stands_for_its_newest_imported_message(two_branches, tmp_path):
    line = '{"role": "user", "content": "hello"}'
    (tmp_path / "chat.jsonl").write_text(f'{{"messages": [{line}, {{"role": "assistant", "content": "hi"}}]}}\n')
    two_branches.run("import", str(tmp_path / "chat.jsonl"))
    before = two_branches.run("cat", "conv-002", "--original")
    two_branches.run("append", "conv-002", "more")
    assert two_branches.run("cat", "conv-002", "--original") == before
    assert run(two_branches, "cat", "conv-002/main~0", "--original").returncode == 4


def test_a_conversation_before_the_words_of_a_query_is_noted(two_branches):
    done = run(two_branches, "search", "{}", "one", "--count")
    assert "conv-001 is a conversation: searched as a word" in done.stderr
    assert "search only there: --in conv-001" in done.stderr
    assert "is a conversation" not in run(two_branches, "search", "one", "--in", "{}", "--count").stderr


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (("one", "--since", "2090-01-01"), "1 message matches outside of it, the newest of 2"),
        (("one", "after:2090-01-01"), "1 message matches outside of it, the newest of 2"),
        (("one", "{}", "--until", "1990-01-01"), "1 message matches outside of it, the newest of 2"),
        (("one OR two", "--until", "1990-01-01"), "2 messages match outside of it, the newest of 2"),
        (("(one OR two) -before:2090-01-01",), "2 messages match outside of it, the newest of 2"),
        (("one OR two", "branch:fix", "--until", "1990-01-01"), "2 messages match outside of it"),
        (("main", "branch:fix", "--until", "1990-01-01"), "messages: from 2"),
        (("nowhere", "--until", "1990-01-01"), "messages: from 2"),
        (("--until", "1990-01-01", "kind:decision"), "messages: from 2"),
        (("--until", "1990-01-01", "before:1980-01-01"), "messages: from 2"),
        (("--regex", "one", "--until", "1990-01-01"), "messages: from 2"),
    ],
)
def test_a_search_of_a_time_without_hits_tells_what_matches_at_other_times(two_branches, words, note):
    """Without a match at any time, and for a regular expression, it names the days of all messages instead."""
    done = run(two_branches, "search", *words)
    assert done.returncode == 1
    assert "no message of that time matches" in done.stderr
    assert note in done.stderr
    assert ("messages: from" in done.stderr) == ("messages: from" in note)


def test_a_search_without_a_time_tells_nothing_about_other_times(two_branches):
    for words in (("nowhere",), ("one", "kind:decision")):
        assert "time" not in run(two_branches, "search", *words).stderr


def test_the_subject_of_a_decision_is_the_same_in_decisions_and_log(two_branches):
    document = json.dumps({"topic": "colour", "decision": "blue"})
    words = ("append", two_branches.id, "--kind", "decision", "--data", document)
    assert two_branches.run_main(*words).returncode == 0
    listed = run(two_branches, "decisions", "{}", "--json=message.subject").stdout
    logged = run(two_branches, "log", "{}", "--kind", "decision", "--json=subject").stdout
    (decision,) = json.loads(listed)["decisions"]
    assert decision["message.subject"] == json.loads(logged)["subject"] == "decision: blue · topic: colour"


def test_the_help_of_all_commands_names_checkout(two_branches):
    assert "checkout" in run(two_branches, "help", "--all").stdout
