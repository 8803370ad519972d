"""A tutorial: every type of conflict made, seen, resolved and finished from the command line alone."""

from __future__ import annotations

import json


def stopped(talk, kind, severity, *words):
    """Merge, expect one conflict of a type, and find it in the list again."""
    stop = talk.merge(*words, code=3)
    (conflict,) = [each for each in stop["conflicts"] if each["status"] == "open"]
    (listed,) = talk.listed()
    assert (conflict["type"], conflict["severity"]) == (kind, severity)
    assert listed == conflict | {name: listed[name] for name in listed.keys() - conflict.keys()}
    assert (listed["conversation"], listed["status"], listed["number"]) == (talk.id, "open", 1)
    return conflict


def values(conflict):
    """What the base, the target and the source say."""
    return [side and side["value"] for side in (conflict["base"], conflict["target"], conflict["source"])]


def people(conflict):
    """Who says what the target and the source say."""
    return [conflict[side]["agent"] for side in ("target", "source")]


def finished(talk, conflict, *words):
    """Resolve a conflict, continue the merge, and see that nothing is left."""
    done = talk.resolve(conflict, *words)
    assert (done["conflict"]["status"], done["remaining"]) == ("resolved", 0)
    assert talk.finish()["result"] == "fast-forward"
    assert talk.listed("--all") == []
    return done["conflict"]["resolution"]


def test_edit_edit_one_message_amended_in_two_ways(talk):
    for branch, who, text in (("main", "alice", "port 8080"), ("fix", "bob", "port 443")):
        talk.run("conv", "amend", talk.id, talk.first, text, "--branch", branch, "--as", who)
    conflict = stopped(talk, "edit-edit", "medium")
    assert values(conflict) == ["How shall we do it?", "port 8080", "port 443"]
    assert people(conflict) == ["alice", "bob"]
    assert finished(talk, conflict, "--take", "source")["rejected"] == ["port 8080"]
    assert "port 443" in talk.run("conv", "export", talk.id)


def test_edit_edit_may_end_with_a_third_text(talk):
    for branch, text in (("main", "port 8080"), ("fix", "port 443")):
        talk.run("conv", "amend", talk.id, talk.first, text, "--branch", branch)
    finished(talk, stopped(talk, "edit-edit", "medium"), "--value", "port 8443")
    assert "port 8443" in talk.run("conv", "export", talk.id)


def test_delete_edit_one_side_retracts_what_the_other_amends(talk):
    talk.run("conv", "retract", talk.id, talk.first, "--branch", "main", "--as", "alice")
    talk.run("conv", "amend", talk.id, talk.first, "better", "--branch", "fix", "--as", "bob")
    conflict = stopped(talk, "delete-edit", "high")
    assert values(conflict) == ["How shall we do it?", {"retracted": True}, "better"]
    finished(talk, conflict, "--take", "target")


def test_delete_edit_one_side_retracts_what_the_other_answers_by_name(talk):
    talk.run("conv", "retract", talk.id, talk.first, "--branch", "main", "--as", "alice")
    talk.say("fix", "something else", author="bob")
    talk.say("fix", "with SQLite", "--reply-to", talk.first, author="bob")
    conflict = stopped(talk, "delete-edit", "high")
    assert conflict["source"]["value"] == "with SQLite"
    finished(talk, conflict, "--take", "source")


def test_delete_delete_both_sides_retract(talk):
    for branch in ("main", "fix"):
        talk.run("conv", "retract", talk.id, talk.first, "--branch", branch)
    done = talk.merge()
    (conflict,) = done["conflicts"]
    assert (done["result"], conflict["type"], conflict["severity"]) == ("merged", "delete-delete", "low")
    assert conflict["resolution"]["strategy"] == "automatic"


def test_delete_delete_is_a_conflict_with_the_manual_strategy(talk):
    for branch in ("main", "fix"):
        talk.run("conv", "retract", talk.id, talk.first, "--branch", branch)
    finished(talk, stopped(talk, "delete-delete", "low", "--strategy", "manual"), "--take", "target")


def test_add_add_one_key_with_different_content(talk):
    """An entity that both sides begin to describe; nothing of it was there before."""
    for branch, who, kind in (("main", "x", "human"), ("fix", "x", "agent")):
        talk.say(branch, "hello", "--author-kind", kind, author=who)
    conflict = stopped(talk, "add-add", "low")
    assert conflict["key"] == "participants/x"
    assert values(conflict) == [None, {"kind": "human"}, {"kind": "agent"}]
    finished(talk, conflict, "--take", "source")


def test_structural_a_reply_to_a_message_that_the_other_side_retracted(talk):
    talk.run("conv", "retract", talk.id, talk.first, "--branch", "main", "--as", "alice")
    talk.say("fix", "With SQLite.", "--kind", "answer", author="bob")
    conflict = stopped(talk, "structural", "high")
    assert conflict["source"]["value"] == "With SQLite."
    finished(talk, conflict, "--take", "source")


def proposal(after, **more):
    """A proposal to give one field a value."""
    change = {"field_path": "timeout", "operation": "update", "before": 10, "after": after}
    return {"entity_type": "service", "entity_id": "auth", "changes": [change], **more}


def test_competing_proposals_one_field_with_two_values(talk):
    talk.both_say("proposal", proposal(30, confidence=0.85), proposal(5, confidence=0.5))
    conflict = stopped(talk, "competing-proposals", "high")
    assert conflict["key"] == "proposals/service/auth/timeout"
    assert values(conflict) == [None, 30, 5]
    assert [conflict[side]["confidence"] for side in ("target", "source")] == [0.85, 0.5]
    assert finished(talk, conflict, "--value", '{"seconds": 12}')["value"] == {"seconds": 12}


def test_contradictory_analysis_two_findings_on_one_aspect(talk):
    ours, theirs = ({"subject": "login", "aspect": "security", "finding": word} for word in ("safe", "leaky"))
    talk.both_say("analysis", ours, theirs)
    conflict = stopped(talk, "contradictory-analysis", "high")
    assert (conflict["key"], values(conflict)) == ("analyses/login/security", [None, "safe", "leaky"])
    finished(talk, conflict, "--take", "both", "--reason", "two threat models")


def test_decision_disagreement_two_decisions_on_one_topic(talk):
    talk.both_say("decision", *({"topic": "data base", "decision": word} for word in ("SQLite", "PostgreSQL")))
    conflict = stopped(talk, "decision-disagreement", "high")
    assert values(conflict) == [None, "SQLite", "PostgreSQL"]
    ending = finished(talk, conflict, "--take", "source", "--reason", "two writers", "--as", "erin")
    assert ending == {
        "strategy": "manual", "choice": "source", "reason": "two writers", "actor": "erin", "rejected": ["SQLite"],
    }  # fmt: skip
    rows = talk.run("conv", "decisions", talk.id, "--json")["decisions"]
    assert [row["decision"] for row in rows if row["stands"]] == ["PostgreSQL"]


def test_decision_disagreement_may_end_with_a_third_decision(talk):
    talk.both_say("decision", *({"topic": "db", "decision": word} for word in ("SQLite", "PostgreSQL")))
    finished(talk, stopped(talk, "decision-disagreement", "high"), "--value", "files", "--as", "erin")
    rows = talk.run("conv", "decisions", talk.id, "--json")["decisions"]
    assert [(row["decision"], row["message"]["author"]) for row in rows if row["stands"]] == [("files", "erin")]


def test_methodology_dispute_two_approaches_to_one_goal(talk):
    talk.both_say("method", *({"goal": "fast tests", "approach": word} for word in ("mock less", "run less")))
    conflict = stopped(talk, "methodology-dispute", "high")
    assert values(conflict) == [None, "mock less", "run less"]
    finished(talk, conflict, "--take", "base")


def test_priority_disagreement_two_urgencies_of_one_task(talk):
    talk.both_say("priority", *({"task": "login", "urgency": word} for word in ("low", "critical")))
    conflict = stopped(talk, "priority-disagreement", "medium")
    assert values(conflict) == [None, "low", "critical"]
    finished(talk, conflict, "--value", "high")


def test_priority_disagreement_takes_the_higher_one_with_auto_priority(talk):
    talk.both_say("priority", *({"task": "login", "urgency": word} for word in ("low", "critical")))
    done = talk.merge("--auto-priority")
    assert (done["result"], done["conflicts"][0]["automatic_resolution"]) == ("merged", "source")


def test_resource_contention_is_listed_and_stops_nothing(talk):
    for branch in ("main", "fix"):
        talk.say(branch, "done", "--file", "edit:src/app.py", author=f"{branch}-agent")
    done = talk.merge()
    (conflict,) = done["conflicts"]
    assert (done["result"], conflict["type"], conflict["automatic_resolution"]) == (
        "merged",
        "resource-contention",
        "both",
    )


def test_resource_contention_stops_the_merge_with_strict(talk):
    for branch in ("main", "fix"):
        talk.say(branch, "done", "--file", "edit:src/app.py", author=f"{branch}-agent")
    conflict = stopped(talk, "resource-contention", "low", "--strict")
    assert conflict["key"] == "files/src/app.py"
    finished(talk, conflict, "--take", "both")


def test_unknown_is_a_git_conflict_that_no_detector_reports(talk):
    """Who x is was left open by both sides; then each decides it in its own way."""
    for branch, kind in (("main", "human"), ("fix", "agent")):
        talk.say(branch, "hello", "--author-kind", kind, author="x")
    finished(talk, stopped(talk, "add-add", "low"), "--take", "both")
    talk.run("conv", "merge", talk.id, "--source", "main", "--target", "fix")
    for branch, kind in (("main", "human"), ("fix", "agent")):
        talk.say(branch, "that is me", "--author-kind", kind, author="x")
    conflict = stopped(talk, "unknown", "medium")
    assert values(conflict) == [{"both": [{"kind": "agent"}, {"kind": "human"}]}, {"kind": "human"}, {"kind": "agent"}]
    finished(talk, conflict, "--take", "source")


def test_json_lines_conflict_like_options(talk):
    for branch, word in (("main", "SQLite"), ("fix", "files")):
        line = {"author": branch, "kind": "decision", "text": word, "decision": {"topic": "db", "decision": word}}
        talk.run("conv", "append", f"{talk.id}/{branch}", "--jsonl", "-", given=json.dumps(line))
    assert values(stopped(talk, "decision-disagreement", "high")) == [None, "SQLite", "files"]
