"""The documents of every noun, where a script relies on more than a golden file says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.history.sessions import SubAgent
from scopes.render.document import result_line
from scopes.result import Note
from tests.render.rendering import document
from tests.render.results import (
    CALL,
    CHANGES,
    COVERAGE,
    CREATE,
    OPERATION,
    PROMPT,
    SAMPLES,
    SECURE,
    SUMMARIES,
    UUID,
    VIEW,
    branch,
)


def made(noun, name):
    """The document of a sample without its version."""
    found = document(SAMPLES[noun][name])
    assert found.pop("scopes") == 1
    return found


def test_new_names_the_conversation():
    found = made("conversation", "new")
    assert list(found)[:3] == ["kind", "id", "uuid"]
    assert found == {
        "kind": "conversation", "id": "conv-001", "uuid": UUID, "title": "Login fails", "participants": ["planner"],
        "active_branch": "main", "operation": OPERATION,
    }  # fmt: skip


def test_append_names_message_and_place():
    assert made("message", "appended") == {
        "kind": "message", "id": CALL.id, "oid": CALL.oid, "conversation": "conv-001", "branch": "main",
    }  # fmt: skip


def test_amend_and_retract_are_appends_that_name_their_target():
    assert made("message", "amended") == made("message", "appended") | {"amends": PROMPT.id}
    assert made("message", "retracted") == made("message", "appended") | {"retracts": PROMPT.id}


def test_branch_names_the_branch():
    found = made("branch", "created")
    assert (found["kind"], found["conversation"], found["name"]) == ("branch", "conv-001", "analysis/security-review")
    assert (found["parent"], found["active"], found["operation"]) == ("main", True, OPERATION)
    assert "purpose" not in made("branch", "created-aside")


def test_a_list_of_conversations_counts_branches_and_show_lists_them():
    """S4-48, S4-53, S4-54."""
    (first, *_) = made("list", "list")["conversations"]
    assert first["branches"] == 3
    assert [branch["name"] for branch in made("show", "show")["branches"]] == [b.name for b in VIEW.branches]
    common = set(made("show", "show")) - {"kind", "recent"}
    assert set(first) - common == {"title", "title_source", "source", "project", "directory", "agent", "model", "tags"}
    assert common < set(first)


def test_what_a_brief_list_does_not_know_is_absent():
    assert set(made("list", "list")["conversations"][2]) == {"id", "participants", "branches", "last_activity"}
    assert SUMMARIES[1].messages is None


def test_recent_messages_are_oldest_first():
    recent = made("show", "show")["recent"]
    assert [message["subject"] for message in recent] == [each.head.subject for each in VIEW.recent]


@pytest.mark.parametrize(
    ("noun", "name", "kind"),
    [
        ("conversation", "title", "rename"),
        ("conversation", "deleted", "delete"),
        ("conversation", "branch-deleted", "delete-branch"),
        ("branch", "list", "branch-list"),
        ("branch", "switched", "switch"),
        ("branch", "abandoned", "abandon"),
        ("branch", "rewound", "rewind"),
        ("operations", "list", "operation-list"),
        ("operations", "show", "operation"),
        ("operations", "undo", "undo"),
        ("operations", "redo", "redo"),
        ("changes", "change", "change"),
        ("files", "files", "file-list"),
        ("decisions", "decisions", "decision-list"),
        ("stats", "stats", "stats"),
        ("tag", "tagged", "tag"),
        ("tag", "list", "tag-list"),
        ("store", "init", "init"),
        ("store", "sound", "verification"),
        ("store", "gc", "gc"),
        ("store", "doctor", "doctor"),
        ("config", "get", "config"),
        ("config", "list", "config-list"),
        ("import_", "sample", "import"),
    ],
)
def test_every_document_has_its_kind(noun, name, kind):
    assert made(noun, name)["kind"] == kind


@pytest.mark.parametrize("name", ["switched", "abandoned", "rewound"])
def test_what_moved_a_ref_names_its_operation(name):
    assert made("branch", name)["operation"] == OPERATION


@pytest.mark.parametrize("name", ["switched-already", "revived-already", "rewound-nowhere"])
def test_what_moved_nothing_names_no_operation(name):
    assert "operation" not in made("branch", name)


def test_a_branch_rewound_to_its_beginning_ends_with_no_message():
    assert "message" not in made("branch", "rewound-to-nothing")
    assert made("branch", "rewound")["message"] == PROMPT.id


def test_a_removed_title_is_absent():
    assert "new" not in made("conversation", "title-removed")
    assert "old" not in made("conversation", "title")


def test_a_change_has_null_where_there_was_no_value():
    """S4-49: before null, after message."""
    found = made("changes", "change")
    assert found["before"] is None
    assert found["after"] == CHANGES[1].after
    assert (found["operation"], found["field_path"], found["cause"]) == ("APPEND", "messages", "agent:planner")


def test_the_change_log_as_one_document_holds_its_lines():
    lines = [document(change) for change in CHANGES]
    assert [{"scopes": 1} | change for change in made("changes", "changes")["changes"]] == lines


def test_a_log_as_one_document_holds_its_lines():
    """`log --json` itself is a line a message."""
    lines = [document(entry) for entry in SAMPLES["log"]["log"].items]
    assert [{"scopes": 1} | message for message in made("log", "log")["messages"]] == lines


def test_a_ref_that_was_absent_has_no_old_value():
    (branch, meta, _) = made("operations", "show")["operation"]["refs"]
    assert "old" not in branch
    assert set(meta) == {"ref", "old", "new"}


def test_an_operation_keeps_its_own_kind_inside():
    assert made("operations", "show")["operation"]["kind"] == "branch"
    assert made("operations", "undo")["target"]["id"] == CREATE.id
    assert made("operations", "list")["operations"][0]["undoes"] == CREATE.id


def test_a_file_names_every_message_that_touched_it():
    """S1-20."""
    (file,) = made("files", "files")["files"]
    assert file["messages"] == [PROMPT.id, CALL.id]
    assert file["operations"] == {"edit": 2, "read": 1}


def test_a_decision_carries_its_message():
    """S1-29: commit, date, agent."""
    (_, decision) = made("decisions", "decisions")["decisions"]
    assert decision["decision"] == "SameSite=Lax,\nand no other."
    assert {"oid", "time", "author"} <= set(decision["message"])
    assert decision["stands"] is True


def test_verification_has_whether_the_store_is_sound():
    assert made("store", "sound")["sound"] is True
    assert made("store", "damaged")["sound"] is False
    assert "cure" not in made("store", "damaged")["findings"][1]


def test_a_removed_setting_and_tag_have_no_value():
    assert "value" not in made("config", "unset")
    assert made("config", "unset")["removed"] is True
    assert "oid" not in made("tag", "removed")
    assert made("tag", "removed")["removed"] is True


def test_notes_come_with_the_document():
    assert made("store", "gc-expired")["notes"] == [{"text": "git deletes later", "hint": "wait"}, {"text": "only so"}]
    noted = replace(CHANGES[0], notes=(Note("odd"),))
    assert document(noted)["notes"] == [{"text": "odd"}]


def test_foreign_json_comes_back_in_its_order():
    line = result_line(SAMPLES["message"]["cat"])
    assert '"input":{"command":"grep -rn cookie src","timeout":10}' in line
    assert json.loads(line)["conversation"] == "conv-001"


def test_a_merge_has_its_result_and_the_new_messages():
    """S4-9, S4-11."""
    words = {"up-to-date": "up-to-date", "fast-forward": "fast-forward", "merged": "merged", "conflict": "conflict"}
    assert {name: made("merge", name)["result"] for name in words} == words
    assert made("merge", "merged")["merged_messages"] == [SECURE.id, COVERAGE.id]
    assert made("merge", "merged")["conflicts"] == []


def test_a_conflict_is_the_same_object_everywhere():
    """S4-12."""
    (listed, *_) = made("conflicts", "list")["conflicts"]
    (stopped, *_) = made("merge", "conflict")["conflicts"]
    assert stopped == {name: listed[name] for name in stopped}
    assert {"conversation", "status", "branch"} <= set(listed)


def test_a_side_is_its_last_position_with_the_others_under_also():
    conflict = made("conflicts", "show-several")
    assert conflict["source"] == {
        "value": {"seconds": 7}, "message": COVERAGE.id, "agent": "tester",
        "also": [{"value": 5, "message": SECURE.id, "agent": "reviewer", "confidence": 0.1}],
    }  # fmt: skip
    assert conflict["base"] == {"value": 10}


def test_a_side_without_positions_is_null():
    conflict = made("conflicts", "show")
    assert conflict["base"] is None
    assert conflict["automatic_resolution"] is None
    assert conflict["source"]["text"] == "Sessions can be revoked."


def test_a_resolution_is_whole():
    """S4-57."""
    assert made("conflicts", "resolved")["conflict"]["resolution"] == {
        "strategy": "intervention", "choice": "value", "value": "ask the audit", "reason": "the audit is next week", "actor": "carol",
        "rejected": ["JWT", "server-side sessions"],
    }  # fmt: skip
    assert made("conflicts", "escalated")["kind"] == "escalation"


def test_a_branch_counts_compactions_and_interrupts_and_names_its_sub_agent():
    """What `show` prints after a branch is in its JSON, too."""
    plain = document(VIEW)["branches"][0]
    assert (plain["compactions"], plain["interrupts"], "sub_agent" in plain) == (0, 0, False)
    sub_agent = SubAgent("explorer", "k3x9abcdefgh")
    row = branch("subagent/a1", 3, 3, compactions=1, interrupts=2, sub_agent=sub_agent)
    found = document(replace(VIEW, branches=(row,)))["branches"][0]
    assert (found["compactions"], found["interrupts"]) == (1, 2)
    assert found["sub_agent"] == {"agent": "explorer", "spawned_by": "k3x9abcdefgh"}
