"""`scopes proposals`: the whole way of a proposal, in every form of output, and mistakes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture
def proposed(conversation):
    """A conversation with the proposal of planner."""
    words = (
        "task/42",
        "status=done",
        "labels+=ui",
        "--as",
        "planner",
        "--confidence",
        "0.6",
        "--rationale",
        "all tests pass",
    )
    conversation.proposal = conversation.run("proposals", "create", conversation.id, *words).strip()
    return conversation


def test_a_proposal_is_created_listed_and_shown(proposed):
    """S4-58; the confidence has its band, each band begins at its lower bound, and the number."""
    row = proposed.run("proposals", "list", proposed.id).rstrip("\n").split("\t")
    assert row[:6] == [proposed.proposal, "task/42", "status,labels", "planner", "pending", "High (0.6)"]
    assert row[8] == 'status: none -> "done"; labels: none -> ["ui"]'
    shown = proposed.run("proposals", "show", proposed.proposal, "--json")
    assert (shown["state"], shown["confidence"], shown["confidence_level"]) == ("pending", 0.6, "high")
    assert [(each["decision"], each["state"]) for each in shown["history"]] == [("create", "pending")]
    assert "Confidence: High (0.6)" in proposed.run("proposals", "show", f"{proposed.id}/main", proposed.proposal[:6])
    assert (
        proposed.run("proposals", "list", "--format", r"{id}\t{state}\t{entity}")
        == f"{proposed.proposal}\tpending\ttask/42\n"
    )
    proposed.run("undo", "--as", "planner")
    assert proposed.run("proposals", "list") == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("true", True), ('{"a": [1]}', {"a": [1]}), ("todo", "todo"), ('"7"', "7"), ("a=b", "a=b"), ("", "")],
)
def test_a_value_is_json_or_text(conversation, text, value):
    done = conversation.run("proposals", "create", conversation.id, "task/1", f"x={text}", "--json")
    assert done["changes"] == [{"field": "x", "operation": "create", "before": None, "after": value}]


def test_every_field_can_be_given(conversation, tmp_path):
    """S4-24."""
    impact = {
        "risk_level": "None", "estimated_time": "1 day", "affected_entities": ["task/2"], "reversible": True,
        "dependencies": ["a review"], "potential_side_effects": ["a rebuild"],
    }  # fmt: skip
    given = {
        "category": "CLEANUP", "impact_assessment": impact, "context": "Friday", "alternative_options": ["wait"],
        "required_approvals": ["carol"], "request_type": "DISCUSS",
    }  # fmt: skip
    (tmp_path / "fields.json").write_text(json.dumps(given))
    words = ("--data", f"@{tmp_path}/fields.json", "--expires", "2030-01-01")
    made = conversation.run("proposals", "create", conversation.id, "task/1", "x=1", *words, "--json")
    shown = conversation.run("proposals", "show", made["id"], "--json")
    assert shown["impact_assessment"] == {
        "risk_level": "none", "estimated_time": "1 day", "affected_entities": ["task/2"], "reversible": True,
        "dependencies": ["a review"], "potential_side_effects": ["a rebuild"],
    }  # fmt: skip
    names = ("category", "request_type", "context", "alternative_options", "required_approvals", "expires_at")
    assert [shown[name] for name in names] == [
        "cleanup",
        "discuss",
        "Friday",
        ["wait"],
        ["carol"],
        "2030-01-01T00:00:00.000Z",
    ]


def test_a_proposal_is_sent_to_whom_is_named(conversation):
    """S4-35."""
    conversation.run("agents", "register", "ann", "--capability", "review")
    conversation.run("agents", "register", "bob", "--away")
    create = ("proposals", "create", conversation.id, "task/1")
    assert conversation.run(*create, "x=1", "--to", "@review", "--json")["delivered_to"] == ["ann"]
    assert conversation.run(*create, "y=1", "--to", "bob", "--queue", "--json")["queued_for"] == ["bob"]
    assert conversation.run_refused(*create, "z=1", "--to", "bob", code=1)["kind"] == "no-agents"
    assert len(conversation.run("proposals", "list", "--json")["proposals"]) == 2


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("create", "{id}", "task/1"), 2, "no change was given"),
        (("create", "{id}", "task/1", "status"), 2, "is not FIELD=VALUE"),
        (("create", "{id}", "task/1", "+=x"), 2, "is not FIELD=VALUE"),
        (("create", "{id}", "task/1", "x=1", "--before", "x"), 2, "is not FIELD=VALUE"),
        (("create", "{id}", "task/1", "x=1", "--before", "x=2"), 1, "x is none, not 2"),
        (("create", "{id}", "task/1", "x=1", "--confidence", "85 percent"), 2, "is not between 0 and 1"),
        (("create", "{id}", "task/1", "x=1", "--confidence", "101%"), 2, "is not between 0 and 1"),
        (("create", "{id}", "task/1", "x=1", "--confidence", "nan"), 2, "is not between 0 and 1"),
        (("create", "{id}", "task/1", "x=1", "--data", '{{"category": "fun"}}'), 2, "category"),
        (("create", "x=1"), 2, "is not an entity"),
        (("create", "{id}", "task/1", "x=1", "--queue"), 2, "--queue"),
        (("create", "{id}", "42", "x=1"), 2, "is not an entity"),
        (("list", "{id}", "--state", "open"), 2, "not a state"),
        (("show", "zzzz"), 4, "zzzz"),
        (("show", "{id}"), 2, "no proposal given"),
        (("show", ""), 2, "no proposal given"),
    ],
)
def test_a_mistake_names_what_is_wrong(conversation, words, code, text):
    error = conversation.run_refused("proposals", *(word.format(id=conversation.id) for word in words), code=code)
    assert text in error["message"]


def test_the_text_of_the_message_says_what_is_proposed(proposed):
    text = proposed.run("cat", proposed.proposal, "--json")["text"]
    assert text == 'Proposal for task/42: status: none -> "done", labels: none -> ["ui"]\n\nall tests pass'


def test_a_proposal_is_tested_accepted_and_rolled_back(proposed):
    """S4-58."""
    assert (
        proposed.run("proposals", "test", proposed.proposal)
        == 'status\tnone\tnone\t"done"\tno\nlabels\tnone\tnone\t["ui"]\tno\n'
    )
    assert proposed.run("proposals", "accept", proposed.proposal[:8], "--as", "carol") == f"{proposed.proposal}\n"
    shown = proposed.run("proposals", "show", proposed.proposal, "--json")
    assert (shown["state"], shown["rollback"]["can_rollback"]) == ("applied", True)
    assert [each["decision"] for each in shown["history"]] == ["create", "accept", "apply"]
    assert shown["created"] <= shown["reviewed_at"] <= shown["applied_at"]
    proposed.run("append", "--kind", "feedback", "--reply-to", proposed.proposal[:8], "no timeout since then")
    assert proposed.run("proposals", "show", proposed.proposal, "--json")["history"][-1]["decision"] == "outcome"
    proposed.run("undo")
    done = proposed.run("proposals", "rollback", proposed.proposal, "--reason", "the build fails", "--json")
    assert (done["state"], done["rolled_back"], done["values"][0]["after"]) == ("applied", True, None)
    proposed.run("undo")
    assert proposed.run("why", proposed.id, "--topic", "entities/task/42/status", "--json")["rows"][0]["value"] == {
        "value": "done"
    }
    proposed.run("undo", "--as", "carol")
    assert proposed.run("proposals", "list", "--format", "{state}") == "pending\n"


def test_accepting_and_applying_can_be_two_commands(proposed):
    """S4-58, S4-59: the exit code of a conflict is 3, also of a test."""
    name = proposed.proposal
    assert proposed.run("proposals", "accept", name, "--no-apply", "--json")["state"] == "accepted"
    assert proposed.run("proposals", "apply", name, "--json")["state"] == "applied"
    other = proposed.run("proposals", "create", proposed.id, "task/42", "status=review", "--as", "bob").strip()
    third = proposed.run("proposals", "create", proposed.id, "task/42", "status=closed", "--as", "carol").strip()
    proposed.run("proposals", "accept", third, "--no-apply")
    proposed.run("proposals", "accept", other)
    assert proposed.run("proposals", "test", third, "--json", code=3)["conflicts"] == 1
    error = proposed.run_refused("proposals", "apply", third, code=3)
    assert (error["kind"], error["message"]) == ("conflicted", 'the entity has changed: status is "review", not "done"')


def test_a_proposal_is_modified_or_rejected(proposed):
    done = proposed.run("proposals", "accept", proposed.proposal, "--set", "status=review", "--json")
    assert (done["decision"], done["state"], done["values"][0]["after"]) == ("modify", "applied", "review")
    reasons = {"TOO_RISKY": "reject: rejected, too-risky", "not now": "reject: rejected, other, not now"}
    for number, (reason, shown) in enumerate(reasons.items()):
        other = proposed.run("proposals", "create", f"task/{number}", "owner=bob").strip()
        rejected = proposed.run("proposals", "reject", proposed.id, other, "--reason", reason, "--json")
        assert (rejected["decision"], rejected["state"]) == ("reject", "rejected")
        assert shown in proposed.run("proposals", "show", other)


def test_a_dry_run_of_a_review_moves_nothing(proposed):
    done = proposed.run("proposals", "accept", proposed.proposal, "--dry-run", "--json")
    assert done["state"] == "applied"
    assert proposed.run("proposals", "list", "--format", "{state}") == "pending\n"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("reject", "{proposal}"), 2, "--reason"),
        (("accept", "{proposal}", "--set", "owner"), 2, "is not FIELD=VALUE"),
        (("accept", "{proposal}", "--set", "owner=bob"), 2, "does not change 'owner'"),
        (("apply", "{proposal}"), 1, "is pending and cannot be applied"),
        (("rollback", "{proposal}"), 1, "is pending and cannot be rolled back"),
        (("test", "conv-999", "{proposal}"), 4, "conv-999"),
    ],
)
def test_a_review_that_is_not_possible_is_refused(proposed, words, code, text):
    """S4-58."""
    error = proposed.run_refused("proposals", *(word.format(proposal=proposed.proposal) for word in words), code=code)
    assert text in error["message"]
    assert proposed.run("proposals", "list", "--format", "{state}") == "pending\n"


def test_of_several_processes_that_accept_one_accepts(proposed):
    """The others are told the state; the values are set once."""
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: proposed.run_process("proposals", "accept", proposed.proposal), range(4)))
    assert sorted(each.returncode for each in done) == [0, 1, 1, 1]
    assert all("is applied and cannot be accepted" in each.stderr for each in done if each.returncode)
    assert len(proposed.run("proposals", "show", proposed.proposal, "--json")["history"]) == 3


def test_a_conflict_between_two_reviews_is_resolved_like_any_other(proposed):
    """S4-58: the side that is taken has the state, on the merged branch too."""
    proposed.run("branch", proposed.id, "review", "--from", proposed.proposal)
    proposed.run("proposals", "accept", f"{proposed.id}/review", proposed.proposal, "--no-apply")
    proposed.run("proposals", "reject", f"{proposed.id}/main", proposed.proposal, "--reason", "poor-timing")
    done = proposed.run("merge", proposed.id, "--source", "review", "--target", "main", "--json", code=3)
    (conflict,) = done["conflicts"]
    assert conflict["key"] == f"reviews/{proposed.proposal}"
    proposed.run("conflicts", "resolve", proposed.id, "1", "--take", "source", "--continue")
    assert proposed.run("proposals", "list", f"{proposed.id}/main", "--format", "{state}") == "accepted\n"


def test_a_message_that_only_says_it_is_a_review_changes_nothing(proposed):
    """The state is a claim that comes with a review; anybody can append a message with its fields."""
    review = {
        "proposal": proposed.proposal,
        "decision": "accept",
        "state": "accepted",
        "author": "carol",
        "message": "x",
    }
    line = {"author": "mallory", "kind": "notice", "text": "accepted", "review": review}
    proposed.run("append", proposed.id, "--jsonl", "-", given=json.dumps(line) + "\n")
    shown = proposed.run("proposals", "show", proposed.proposal, "--json")
    assert (shown["state"], [each["decision"] for each in shown["history"]]) == ("pending", ["create"])
    assert "reviewed_at" not in shown
    assert proposed.run("changes", proposed.id, "--field", "entities") == ""


def test_a_proposal_during_a_merge_says_on_which_branch_it_is(conversation):
    """The active branch is the one that resolves the conflict then."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    conversation.merge(code=3)
    done = conversation.run_main("proposals", "create", conversation.id, "task/1", "status=done")
    assert done.stderr.splitlines() == [
        "note: this is the active branch, conflict-resolution/fix-into-main: the merge of fix into main is in progress",
        f"hint: the target: scopes proposals create {conversation.id}/main",
    ]
    assert not conversation.run_main("proposals", "create", f"{conversation.id}/main", "task/2", "status=done").stderr


def test_a_confidence_may_be_a_percentage(conversation):
    """A stranger typed 85% and read that it is not a valid float."""
    for text, value in (("85%", 0.85), ("0.85", 0.85), ("1", 1), (".5", 0.5), ("0%", 0)):
        words = ("task/42", f"status={text}", "--confidence", text)
        made = conversation.run("proposals", "create", conversation.id, *words, "--json")["id"]
        assert conversation.run("proposals", "show", made, "--json")["confidence"] == value
