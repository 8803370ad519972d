"""`scopes merge-requests` for scripts: rows, fields, templates, NUL, JSON, exit codes and hints, in every state."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def branches(conversation):
    """Main has one message more than fix began with, and so has fix."""
    conversation.append("main", "on main")
    conversation.append("fix", "on fix")
    return conversation


@pytest.fixture
def conflicting(conversation):
    """A merge of fix into main would stop on two conflicts."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    ours, theirs = ({"subject": "login", "aspect": "security", "finding": word} for word in ("safe", "leaky"))
    conversation.append_on_both("analysis", ours, theirs)
    return conversation


def opened(conversation, title="Review", *options):
    words = ("mr", "open", conversation.id, "--source", "fix", "--title", title)
    return conversation.run(*words, *options, "--json")


def listed(conversation, *options):
    return conversation.run("mr", "list", conversation.id, *options, "--json")["merge_requests"]


def shown(conversation, name="1"):
    return conversation.run("mr", "show", conversation.id, name, "--json")


@pytest.mark.parametrize("group", [("merge-requests",), ("mr",), ("conv", "merge-requests"), ("conv", "mr")])
def test_every_name_of_the_group_works(branches, group):
    opened(branches)
    assert len(branches.run(*group, "list", "--json")["merge_requests"]) == 1


def test_a_row_has_nine_columns(branches):
    request = opened(branches, "A\ttitle")
    row = [
        branches.id, "1", request["id"], "open", "A title", "fix", "main", request["requester"], request["opened"],
    ]  # fmt: skip
    assert branches.run("mr", "list").rstrip("\n").split("\t") == row


def test_rows_end_in_nul_with_z(branches):
    opened(branches)
    branches.run("mr", "close", "1")
    opened(branches, "Again")
    output = branches.run("mr", "list", "--state", "all", "--format", r"{number}\t{state}\t{title}", "-z")
    assert output == "2\topen\tAgain\x001\tclosed\tReview\x00"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{number}", "1\n"),
        ("{number}: {title} ({source} -> {target})", "1: Review (fix -> main)\n"),
        ("{state}", "open\n"),
        ("{reason}", "\n"),
    ],
)
def test_a_template_prints_the_fields_of_a_request(branches, template, expected):
    opened(branches)
    assert branches.run("mr", "list", "--format", template) == expected


def test_the_fields_are_listed(branches):
    names = branches.run("mr", "list", "--json=").splitlines()
    assert {"id", "number", "state", "title", "source", "target", "requester", "opened"} <= {
        line.split()[0] for line in names
    }


def test_an_unknown_field_is_refused_with_the_known_ones(branches):
    opened(branches)
    error = branches.run_refused("mr", "list", "--format", r"{number}\t{nothing}", code=2)
    assert "nothing" in error["message"]


@pytest.mark.parametrize("command", [("list",), ("list", "--state", "merged")])
def test_an_empty_list_is_an_empty_output_and_an_empty_array(branches, command):
    assert branches.run("mr", *command) == ""
    assert branches.run("mr", *command, "--json") == {"scopes": 1, "kind": "merge-request-list", "merge_requests": []}


@pytest.mark.parametrize(
    ("state", "numbers"), [("open", [3]), ("closed", [1]), ("merged", [2]), ("all", [3, 2, 1]), (None, [3])]
)
def test_a_state_selects_the_rows(branches, state, numbers):
    """S4-21."""
    opened(branches)
    branches.run("mr", "close", branches.id, "1")
    opened(branches)
    branches.run("mr", "merge", branches.id, "2")
    branches.append("fix", "more")
    opened(branches)
    options = () if state is None else ("--state", state)
    assert [each["number"] for each in listed(branches, *options)] == numbers


def test_an_unknown_state_names_the_states(branches):
    error = branches.run_refused("mr", "list", "--state", "done", code=2)
    assert (error["message"], error["hint"]) == (
        "'done' is not a state of a merge request", "states: open, merged, closed, all",
    )  # fmt: skip


def test_the_json_of_each_step_has_the_same_request(branches):
    """S4-21: what is known grows, and nothing is renamed on the way."""
    made = opened(branches, "Review", "-m", "please", "--as", "codex")
    common = {
        "id",
        "number",
        "conversation",
        "title",
        "message",
        "source",
        "target",
        "requester",
        "opened",
        "source_tip",
    }
    assert (made["requester"], made["requester_kind"], made["change"]) == ("codex", "agent", "opened")
    (row,) = listed(branches)
    branches.run("mr", "merge", branches.id, "1", "--json")
    after = shown(branches)
    assert {name: row[name] for name in common} == {name: made[name] for name in common}
    assert {name: after[name] for name in common} == {name: made[name] for name in common}
    assert {"merge", "ended", "ended_by"} <= after.keys()
    assert not {"merge", "ended", "ended_by", "reason"} & row.keys()


def test_predicted_conflicts_are_numbers_in_text_and_objects_in_json(conflicting):
    """S4-12, S4-18."""
    opened(conflicting)
    view = shown(conflicting)
    assert (view["outcome"], len(view["conflicts"])) == ("conflict", 2)
    stop = conflicting.run("mr", "merge", conflicting.id, "1", "--json", code=3)
    assert view["conflicts"] == stop["conflicts"]
    assert {each["severity"] for each in view["conflicts"]} == {"high"}
    text = conflicting.run("mr", "show", conflicting.id, "1")
    assert "2 conflicts" in text
    assert "decision-disagreement" in text


@pytest.mark.parametrize(
    ("strategy", "code", "result"), [("ours", 0, "merged"), ("theirs", 0, "merged"), (None, 3, "conflict")]
)
def test_the_exit_code_of_a_merged_request_is_that_of_a_merge(conflicting, strategy, code, result):
    """S4-9."""
    opened(conflicting)
    options = () if strategy is None else ("--strategy", strategy)
    assert conflicting.run("mr", "merge", conflicting.id, "1", *options, "--json", code=code)["result"] == result
    assert shown(conflicting)["state"] == ("merged" if code == 0 else "open")


def test_a_wrong_strategy_is_a_usage_error(conflicting):
    opened(conflicting)
    assert conflicting.run_refused("mr", "merge", conflicting.id, "1", "--strategy", "best", code=2)


def test_a_fast_forward_can_be_forbidden_with_a_message(conversation):
    """S4-10."""
    conversation.append("fix", "on fix")
    opened(conversation)
    assert shown(conversation)["outcome"] == "fast-forward"
    done = conversation.run("mr", "merge", conversation.id, "1", "--no-ff", "-m", "Reviewed", "--json")
    assert done["result"] == "merged"
    assert conversation.texts("main")[-1] == "Reviewed"


REFUSALS = {
    "show an unknown one": (("show", "ID", "9"), 4, "not-found"),
    "merge an unknown one": (("merge", "ID", "9"), 4, "not-found"),
    "close an unknown one": (("close", "ID", "9"), 4, "not-found"),
    "an unknown conversation": (("show", "nothing", "1"), 4, "not-found"),
    "a conversation alone": (("show", "ID"), 2, "invalid"),
    "the same request again": (("open", "ID", "--source", "fix", "--title", "x"), 1, "refused"),
    "a branch into itself": (("open", "ID", "--source", "main", "--title", "x"), 2, "invalid"),
    "no such branch": (("open", "ID", "--source", "nope", "--title", "x"), 4, "not-found"),
    "an empty title": (("open", "ID", "--source", "fix", "--title", " "), 2, "invalid"),
    "no title": (("open", "ID", "--source", "fix"), 2, "invalid"),
    "no source": (("open", "ID", "--title", "x"), 2, "invalid"),
    "no request": (("close",), 2, "invalid"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_has_an_exit_code_a_kind_and_changes_nothing(branches, case):
    opened(branches)
    words, code, kind = REFUSALS[case]
    before = branches.run("operations", "-a")
    error = branches.run_refused("mr", *(branches.id if word == "ID" else word for word in words), code=code)
    assert error["kind"] in {kind, "usage"}
    assert branches.run("operations", "-a") == before
    assert [each["state"] for each in listed(branches, "--state", "all")] == ["open"]


def test_a_refused_merge_prints_one_line_and_a_hint_on_stderr(branches):
    opened(branches)
    branches.run("mr", "close", branches.id, "1", "--reason", "later")
    done = branches.run_main("mr", "merge", branches.id, "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == "error: merge request 1 is closed"
    assert f"scopes mr open {branches.id} fix" in done.stderr


def test_the_latest_conversation_is_meant_if_none_is_named(branches):
    branches.run("mr", "open", "--source", "fix", "--title", "Review")
    assert branches.run("mr", "show", "1", "--json")["conversation"] == branches.id
    assert branches.run("mr", "show", "#1", "--json")["number"] == 1
    assert branches.run("mr", "close", "1") == "1\n"


def test_each_step_is_undone_by_scopes_undo(conflicting):
    """S4-21."""
    opened(conflicting)
    conflicting.run("mr", "merge", conflicting.id, "1", "--strategy", "theirs")
    assert shown(conflicting)["state"] == "merged"
    conflicting.run("undo")
    assert (shown(conflicting)["state"], conflicting.texts("main")[-1]) == ("open", "my analysis")
    conflicting.run("mr", "close", conflicting.id, "1")
    conflicting.run("undo")
    assert shown(conflicting)["state"] == "open"
    conflicting.run("undo")
    assert listed(conflicting, "--state", "all") == []


def test_a_stopped_request_is_aborted_and_shown_as_it_was(conflicting):
    """S4-16."""
    opened(conflicting)
    before = shown(conflicting)
    stop = conflicting.run("mr", "merge", conflicting.id, "1", "--json", code=3)
    assert shown(conflicting)["in_progress"] == stop["branch"]
    error = conflicting.run_refused("mr", "merge", conflicting.id, "1", code=1)
    assert "--continue" in error["hint"]
    conflicting.run("merge", conflicting.id, "--abort")
    assert shown(conflicting) == before


def test_a_branch_that_is_gone_is_in_text_and_json(branches):
    opened(branches)
    branches.run("conv", "delete-branch", branches.id, "fix", "--force")
    view = shown(branches)
    assert (view["gone"], view["problem"]) == (["fix"], "branch fix does not exist")
    assert "not possible: branch fix does not exist" in branches.run("mr", "show", branches.id, "1")


@pytest.mark.parametrize(
    "text", ["\x1b]0;owned\x07", "\u202egnp.exe", "a\x00b", "<|im_start|>system", "x" * 200, "'; rm -rf /"]
)
def test_titles_messages_and_reasons_are_printed_safely_everywhere(branches, text):
    opened(branches, f"t {text}"[:200], "-m", text)
    branches.run("mr", "close", branches.id, "1", "--reason", text)
    for words in (
        ("list", "--state", "all"),
        ("show", branches.id, "1"),
        ("list", "--state", "all", "--format", "{title}"),
    ):
        output = branches.run("mr", *words)
        assert not {"\x1b", "\x07", "\x00", "\u202e"} & set(output)
    assert json.dumps(shown(branches)["title"]).isascii()


def test_requests_of_all_conversations_are_listed_newest_first(branches):
    opened(branches, "First")
    other = branches.run("conv", "new", "--json")["id"]
    branches.run("append", other, "hello")
    branches.run("branch", other, "fix")
    branches.run("append", other, "x", "--branch", "fix")
    branches.run("mr", "open", other, "--source", "fix", "--title", "Second")
    assert branches.run("mr", "list", "--format", "{conversation} {title}") == f"{other} Second\n{branches.id} First\n"
    assert branches.run("mr", "list", other, "--format", "{title}") == "Second\n"
