"""Every conflict type, created, listed, resolved and merged through the command line only."""

from __future__ import annotations

import json


def stopped(conversation, kind, severity, *words):
    """Merge, expect one conflict of a type, and find it in the list again."""
    stop = conversation.merge(*words, code=3)
    (conflict,) = [each for each in stop["conflicts"] if each["status"] == "open"]
    (listed,) = conversation.list_conflicts()
    assert (conflict["type"], conflict["severity"]) == (kind, severity)
    assert listed == conflict | {name: listed[name] for name in listed.keys() - conflict.keys()}
    assert (listed["conversation"], listed["status"], listed["number"]) == (conversation.id, "open", 1)
    return conflict


def values(conflict):
    """The values of the base, the target and the source."""
    return [side and side["value"] for side in (conflict["base"], conflict["target"], conflict["source"])]


def people(conflict):
    """The agents of the target and the source."""
    return [conflict[side]["agent"] for side in ("target", "source")]


def finished(conversation, conflict, *words):
    """Resolve a conflict, continue the merge, and see that nothing is left."""
    done = conversation.resolve(conflict, *words)
    assert (done["conflict"]["status"], done["remaining"]) == ("resolved", 0)
    assert conversation.continue_merge()["result"] == "merged"
    assert conversation.list_conflicts() == []
    assert conflict["id"] in {each["id"] for each in conversation.list_conflicts("--all")}
    return done["conflict"]["resolution"]


def test_edit_edit_one_message_amended_in_two_ways(conversation):
    for branch, who, text in (("main", "alice", "port 8080"), ("fix", "bob", "port 443")):
        conversation.run("conv", "amend", conversation.id, conversation.first, text, "--branch", branch, "--as", who)
    conflict = stopped(conversation, "edit-edit", "medium")
    assert values(conflict) == ["How shall we do it?", "port 8080", "port 443"]
    assert people(conflict) == ["alice", "bob"]
    assert finished(conversation, conflict, "--take", "source")["rejected"] == ["port 8080"]
    assert "port 443" in conversation.run("conv", "export", conversation.id)


def test_edit_edit_may_end_with_a_third_text(conversation):
    for branch, text in (("main", "port 8080"), ("fix", "port 443")):
        conversation.run("conv", "amend", conversation.id, conversation.first, text, "--branch", branch)
    finished(conversation, stopped(conversation, "edit-edit", "medium"), "--value", "port 8443")
    assert "port 8443" in conversation.run("conv", "export", conversation.id)


def test_delete_edit_one_side_retracts_what_the_other_amends(conversation):
    conversation.run("conv", "retract", conversation.id, conversation.first, "--branch", "main", "--as", "alice")
    conversation.run("conv", "amend", conversation.id, conversation.first, "better", "--branch", "fix", "--as", "bob")
    conflict = stopped(conversation, "delete-edit", "high")
    assert values(conflict) == ["How shall we do it?", {"retracted": True}, "better"]
    finished(conversation, conflict, "--take", "target")


def test_delete_edit_one_side_retracts_what_the_other_answers_by_name(conversation):
    conversation.run("conv", "retract", conversation.id, conversation.first, "--branch", "main", "--as", "alice")
    conversation.append("fix", "something else", author="bob")
    conversation.append("fix", "with SQLite", "--reply-to", conversation.first, author="bob")
    conflict = stopped(conversation, "delete-edit", "high")
    assert conflict["source"]["value"] == "with SQLite"
    finished(conversation, conflict, "--take", "source")


def test_delete_delete_both_sides_retract(conversation):
    for branch in ("main", "fix"):
        conversation.run("conv", "retract", conversation.id, conversation.first, "--branch", branch)
    done = conversation.merge()
    (conflict,) = done["conflicts"]
    assert (done["result"], conflict["type"], conflict["severity"]) == ("merged", "delete-delete", "low")
    assert conflict["resolution"]["strategy"] == "automatic"


def test_delete_delete_is_a_conflict_with_the_manual_strategy(conversation):
    for branch in ("main", "fix"):
        conversation.run("conv", "retract", conversation.id, conversation.first, "--branch", branch)
    finished(conversation, stopped(conversation, "delete-delete", "low", "--strategy", "manual"), "--take", "target")


def append_of_kind(conversation, branch, text, kind):
    """Append a message by x, who is of a kind."""
    line = json.dumps({"author": {"name": "x", "kind": kind}, "text": text})
    conversation.run("append", f"{conversation.id}/{branch}", "--jsonl", "-", given=line)


def test_add_add_one_key_with_different_content(conversation):
    """An entity that both sides begin to describe; nothing of it was there before."""
    for branch, kind in (("main", "human"), ("fix", "agent")):
        append_of_kind(conversation, branch, "hello", kind)
    conflict = stopped(conversation, "add-add", "low")
    assert conflict["key"] == "participants/x"
    assert values(conflict) == [None, {"kind": "human"}, {"kind": "agent"}]
    finished(conversation, conflict, "--take", "source")


def test_structural_a_reply_to_a_message_that_the_other_side_retracted(conversation):
    conversation.run("conv", "retract", conversation.id, conversation.first, "--branch", "main", "--as", "alice")
    conversation.append("fix", "With SQLite.", "--kind", "answer", author="bob")
    conflict = stopped(conversation, "structural", "high")
    assert conflict["source"]["value"] == "With SQLite."
    finished(conversation, conflict, "--take", "source")


def proposal(after, **more):
    """A proposal to give one field a value."""
    change = {"field_path": "timeout", "operation": "update", "before": 10, "after": after}
    return {"entity_type": "service", "entity_id": "auth", "changes": [change], **more}


def test_competing_proposals_one_field_with_two_values(conversation):
    conversation.append_on_both("proposal", proposal(30, confidence=0.85), proposal(5, confidence=0.5))
    conflict = stopped(conversation, "competing-proposals", "high")
    assert conflict["key"] == "proposals/service/auth/timeout"
    assert values(conflict) == [None, 30, 5]
    assert [conflict[side]["confidence"] for side in ("target", "source")] == [0.85, 0.5]
    assert finished(conversation, conflict, "--value", '{"seconds": 12}')["value"] == {"seconds": 12}


def test_contradictory_analysis_two_findings_on_one_aspect(conversation):
    ours, theirs = ({"subject": "login", "aspect": "security", "finding": word} for word in ("safe", "leaky"))
    conversation.append_on_both("analysis", ours, theirs)
    conflict = stopped(conversation, "contradictory-analysis", "high")
    assert (conflict["key"], values(conflict)) == ("analyses/login/security", [None, "safe", "leaky"])
    finished(conversation, conflict, "--take", "both", "--reason", "two threat models")


def test_decision_disagreement_two_decisions_on_one_topic(conversation):
    conversation.append_on_both(
        "decision", *({"topic": "data base", "decision": word} for word in ("SQLite", "PostgreSQL"))
    )
    conflict = stopped(conversation, "decision-disagreement", "high")
    assert values(conflict) == [None, "SQLite", "PostgreSQL"]
    ending = finished(conversation, conflict, "--take", "source", "--reason", "two writers", "--as", "erin")
    assert ending == {
        "strategy": "manual", "choice": "source", "reason": "two writers", "actor": "erin", "rejected": ["SQLite"],
    }  # fmt: skip
    rows = conversation.run("conv", "decisions", conversation.id, "--json")["decisions"]
    assert [row["decision"] for row in rows if row["stands"]] == ["PostgreSQL"]


def test_decision_disagreement_may_end_with_a_third_decision(conversation):
    conversation.append_on_both("decision", *({"topic": "db", "decision": word} for word in ("SQLite", "PostgreSQL")))
    finished(conversation, stopped(conversation, "decision-disagreement", "high"), "--value", "files", "--as", "erin")
    rows = conversation.run("conv", "decisions", conversation.id, "--json")["decisions"]
    assert [(row["decision"], row["message"]["author"]) for row in rows if row["stands"]] == [("files", "erin")]


def test_methodology_dispute_two_approaches_to_one_goal(conversation):
    conversation.append_on_both(
        "method", *({"goal": "fast tests", "approach": word} for word in ("mock less", "run less"))
    )
    conflict = stopped(conversation, "methodology-dispute", "high")
    assert values(conflict) == [None, "mock less", "run less"]
    finished(conversation, conflict, "--take", "target")


def test_priority_disagreement_two_urgencies_of_one_task(conversation):
    conversation.append_on_both("priority", *({"task": "login", "urgency": word} for word in ("low", "critical")))
    conflict = stopped(conversation, "priority-disagreement", "medium")
    assert values(conflict) == [None, "low", "critical"]
    finished(conversation, conflict, "--value", "high")


def test_resource_contention_is_listed_and_stops_nothing(conversation):
    for branch in ("main", "fix"):
        conversation.append(
            branch, "done", "--data", '{"files": [{"op": "edit", "path": "src/app.py"}]}', author=f"{branch}-agent"
        )
    done = conversation.merge()
    (conflict,) = done["conflicts"]
    assert (done["result"], conflict["type"], conflict["automatic_resolution"]) == (
        "merged",
        "resource-contention",
        "both",
    )


def test_resource_contention_stops_the_merge_with_strict(conversation):
    for branch in ("main", "fix"):
        conversation.append(
            branch, "done", "--data", '{"files": [{"op": "edit", "path": "src/app.py"}]}', author=f"{branch}-agent"
        )
    conflict = stopped(conversation, "resource-contention", "low", "--strict")
    assert conflict["key"] == "files/src/app.py"
    finished(conversation, conflict, "--take", "both")


def test_unknown_is_a_git_conflict_that_no_detector_reports(conversation):
    """Who x is was left open by both sides; then each decides it in its own way."""
    for branch, kind in (("main", "human"), ("fix", "agent")):
        append_of_kind(conversation, branch, "hello", kind)
    finished(conversation, stopped(conversation, "add-add", "low"), "--take", "both")
    conversation.run("conv", "merge", conversation.id, "--source", "main", "--target", "fix")
    for branch, kind in (("main", "human"), ("fix", "agent")):
        append_of_kind(conversation, branch, "that is me", kind)
    conflict = stopped(conversation, "unknown", "medium")
    assert values(conflict) == [{"both": [{"kind": "agent"}, {"kind": "human"}]}, {"kind": "human"}, {"kind": "agent"}]
    finished(conversation, conflict, "--take", "source")


def test_json_lines_conflict_like_options(conversation):
    for branch, word in (("main", "SQLite"), ("fix", "files")):
        line = {"author": branch, "kind": "decision", "text": word, "decision": {"topic": "db", "decision": word}}
        conversation.run("conv", "append", f"{conversation.id}/{branch}", "--jsonl", "-", given=json.dumps(line))
    assert values(stopped(conversation, "decision-disagreement", "high")) == [None, "SQLite", "files"]
