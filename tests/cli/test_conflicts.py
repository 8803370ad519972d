"""`scopes conflicts`: every name of the group, every kind of resolution, and errors."""

from __future__ import annotations

import os
import stat

import pytest

from tests.cli.running import environment


@pytest.fixture
def stopped(conversation):
    """A conversation with a merge that stopped on two conflicts."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    ours, theirs = ({"subject": "login", "aspect": "security", "finding": word} for word in ("safe", "leaky"))
    conversation.append_on_both("analysis", ours | {"confidence": 0.85}, theirs)
    conversation.merge(code=3)
    conversation.analysis, conversation.decision = conversation.list_conflicts()
    return conversation


@pytest.mark.parametrize(
    "group", [("ai", "conflicts"), ("conflicts",), ("conv", "conflicts"), ("ai", "conversations", "conflicts")]
)
def test_every_name_of_the_group_works(stopped, group):
    assert len(stopped.run(*group, "list", "--json")["conflicts"]) == 2


def test_a_row_in_a_pipe_has_every_column(stopped):
    rows = [row.split("\t") for row in stopped.run("conflicts", "list").splitlines()]
    assert [row[1] for row in rows] == ["1", "2"]
    assert rows[0][:1] + rows[0][2:8] == [
        stopped.id, stopped.analysis["id"], "contradictory-analysis", "high", "analyses/login/security", "alice, bob", "open",
    ]  # fmt: skip
    assert (
        stopped.run("conflicts", "list", "--format", "{number}:{key}") == "1:analyses/login/security\n2:decisions/db\n"
    )


def test_a_message_on_the_branch_makes_it_a_debate_and_resolves_nothing(stopped):
    """S4-56."""
    stopped.append(stopped.decision["branch"], "I would take files", author="bob")
    assert [each["status"] for each in stopped.list_conflicts()] == ["debate", "debate"]
    assert len(stopped.list_conflicts("--status", "debate")) == 2
    assert stopped.list_conflicts("--status", "open") == []
    (position,) = stopped.run("conflicts", "show", stopped.id, "2", "--json")["talk"]
    assert (position["author"], position["subject"]) == ("bob", "I would take files")


def test_a_resolved_conflict_is_only_listed_when_asked_for(stopped):
    stopped.resolve(stopped.decision, "--take", "source")
    assert [each["number"] for each in stopped.list_conflicts()] == [1]
    assert [each["status"] for each in stopped.list_conflicts("--all")] == ["open", "resolved"]
    assert [each["id"] for each in stopped.list_conflicts("--status", "resolved")] == [stopped.decision["id"]]


def test_a_conflict_is_shown_with_its_messages(stopped):
    shown = stopped.run("conflicts", "show", stopped.id, stopped.analysis["id"][:5], "--json")
    assert (shown["kind"], shown["source_branch"], shown["target_branch"]) == ("conflict", "fix", "main")
    assert (shown["target"]["text"], shown["target"]["confidence"]) == ("my analysis", 0.85)
    text = stopped.run("conflicts", "show", stopped.id, "1")
    assert "— alice, Very High (0.85), message " in text


def test_an_escalated_conflict_names_its_assignee(stopped):
    done = stopped.run("conflicts", "escalate", stopped.id, "1", "--to", "carol", "--reason", "the budget", "--json")
    assert (done["kind"], done["conflict"]["status"], done["remaining"]) == ("escalation", "escalated", 2)
    assert [each["id"] for each in stopped.list_conflicts("--status", "escalated")] == [stopped.analysis["id"]]
    assert stopped.texts(stopped.analysis["branch"])[-1] == "Escalated analyses/login/security to carol: the budget"
    assert stopped.resolve(stopped.analysis, "--take", "both")["remaining"] == 1


def test_an_intervention_is_a_human_decision_with_a_reason(stopped):
    words = ("conflicts", "intervene", stopped.id, "2", "--take", "target")
    assert stopped.run_refused(*words, code=2)["message"] == "an intervention needs a reason"
    done = stopped.run(*words, "--reason", "the audit is next week", "--json")
    assert done["conflict"]["resolution"] == {
        "strategy": "intervention", "choice": "target", "reason": "the audit is next week", "actor": "user", "rejected": ["files"],
    }  # fmt: skip
    (message,) = [stopped.run("conv", "log", f"{stopped.id}/{stopped.decision['branch']}", "-n", "1", "--json")]
    assert (message["author_kind"], message["id"]) == ("human", done["message"])


def test_an_agent_resolves_under_its_own_name(stopped):
    done = stopped.resolve(stopped.decision, "--take", "source", "--as", "judge")
    assert done["conflict"]["resolution"]["actor"] == "judge"
    log = stopped.run("conv", "log", f"{stopped.id}/{stopped.decision['branch']}", "-n", "1", "--json")
    assert (log["author"], log["author_kind"]) == ("judge", "agent")


def test_undo_reverts_a_resolution(stopped):
    stopped.resolve(stopped.decision, "--take", "source")
    stopped.run("undo")
    assert len(stopped.list_conflicts()) == 2


REFUSED = {
    "nothing to decide by": ((), 2),
    "two ways at once": (("--take", "source", "--value", "x"), 2),
    "a side and the editor": (("--take", "source", "--edit"), 2),
    "no such side": (("--take", "left"), 2),
    "an empty decision": (("--value", " "), 2),
    "no such author": (("--take", "source", "--as", ""), 2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_invalid_resolution_changes_nothing(stopped, case):
    words, code = REFUSED[case]
    stopped.run_refused("conflicts", "resolve", stopped.id, "2", *words, code=code)
    assert len(stopped.list_conflicts()) == 2


def test_a_resolved_conflict_is_not_resolved_again(stopped):
    stopped.resolve(stopped.decision, "--take", "source")
    for words in (("resolve", stopped.id, "2", "--take", "target"), ("escalate", stopped.id, "2", "--to", "x")):
        error = stopped.run_refused("conflicts", *words, code=1)
        assert "is resolved already" in error["message"]
        assert error["hint"].startswith("show it: scopes conflicts show")


def test_a_conflict_that_a_finished_merge_resolved_is_shown_and_not_undone(stopped):
    for conflict in stopped.list_conflicts():
        stopped.resolve(conflict, "--take", "source")
    stopped.run("merge", stopped.id, "--continue")
    identity = stopped.decision["id"]
    hint = stopped.run_refused("conflicts", "resolve", stopped.id, identity, "--take", "target", code=1)["hint"]
    assert hint == f"show it: scopes conflicts show {stopped.id} {identity[:8]}"


def test_the_editor_is_not_opened_for_an_aborted_conflict(stopped):
    """`--edit` called it resolved, `--take` aborted."""
    stopped.run("conv", "merge", stopped.id, "--abort")
    errors = [
        stopped.run_refused("conflicts", "resolve", stopped.id, stopped.decision["id"], *words, code=1)
        for words in (("--take", "source"), ("--edit",))
    ]
    assert errors[0] == errors[1]
    assert "was aborted with its merge or replay" in errors[0]["message"]


def test_an_aborted_conflict_has_the_status_aborted(stopped):
    """`abandoned` is what `abandon` makes of a branch."""
    stopped.run("conv", "merge", stopped.id, "--abort")
    assert [each["status"] for each in stopped.list_conflicts("--status", "aborted")] == ["aborted"] * 2
    assert "aborted" in stopped.run_refused("conflicts", "list", "--status", "abandoned", code=2)["hint"]


def test_unknown_and_ambiguous_names_have_their_exit_codes(stopped):
    """A-1, A-2."""
    assert stopped.run_refused("conflicts", "show", stopped.id, "zzz", code=4)["hint"]
    assert stopped.run_refused("conflicts", "show", stopped.id, "3", code=4)["hint"]
    assert stopped.run_refused("conflicts", "list", "nowhere", code=4)["kind"] == "not-found"
    assert "debate" in stopped.run_refused("conflicts", "list", "--status", "closed", code=2)["hint"]


def test_the_same_conflict_on_two_branches_is_named_by_its_number(stopped):
    stopped.run("conv", "branch", stopped.id, "other", "--from", "main")
    stopped.run("conv", "merge", stopped.id, "--source", "fix", "--target", "other", "--json", code=3)
    rows = stopped.run("conflicts", "list", stopped.id, "--json")["conflicts"]
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    hint = stopped.run_refused("conflicts", "show", stopped.id, stopped.decision["id"], code=5)["hint"]
    assert hint.startswith("name one by its number: ")
    last = stopped.run("conflicts", "show", stopped.id, str(len(rows)), "--json")
    assert last["branch"] == "conflict-resolution/fix-into-other"


def test_a_value_of_the_wrong_type_is_refused(conversation):
    conversation.append_on_both("priority", *({"task": "login", "urgency": word} for word in ("low", "high")))
    conversation.merge(code=3)
    error = conversation.run_refused("conflicts", "resolve", conversation.id, "1", "--value", "soon", code=2)
    assert (error["message"], error["hint"]) == ("'soon' is not a valid urgency", "one of: low, normal, high, critical")


@pytest.mark.parametrize("text", ["NaN", "[" * 300 + "]" * 300, "1" * 5000])
def test_json_that_cannot_be_stored_is_refused_or_taken_as_text(conversation, text):
    change = {"field_path": "f", "operation": "update"}
    sides = ({"entity_type": "e", "entity_id": "x", "changes": [change | {"after": after}]} for after in (1, 2))
    conversation.append_on_both("proposal", *sides)
    conversation.merge(code=3)
    done = conversation.run_main("conflicts", "resolve", conversation.id, "1", "--value", text, "--json")
    assert done.returncode in {0, 2}
    assert "bug" not in done.stderr
    assert conversation.run("verify", "--json")["sound"]


def test_a_conflict_is_offered_only_the_sides_that_it_can_take(stopped):
    """`--take both` was offered for a decision, which holds one value."""
    offered = {name: stopped.run("conflicts", "show", stopped.id, name, "--json")["sides"] for name in "12"}
    assert offered == {"1": ["source", "target", "both"], "2": ["source", "target"]}
    for side, message, words in (
        ("both", "decisions/db holds one value", ""),
        ("base", "decisions/db has no value at the merge base", ""),
        ("left", "'left' is not a valid side of a conflict", " (ours is target, theirs is source)"),
    ):
        error = stopped.run_refused("conflicts", "resolve", stopped.id, "2", "--take", side, code=2)
        hint = f"take source or target{words}, or give a new value: --value 'as we agreed'"
        assert (error["message"], error["hint"]) == (message, hint)
    hint = "one of --take with source or target; --value VALUE; --edit"
    assert stopped.run_refused("conflicts", "resolve", stopped.id, "2", code=2)["hint"] == hint
    stopped.resolve(stopped.decision, "--take", "target")
    assert stopped.run("conflicts", "show", stopped.id, "2", "--json")["sides"] == []


def test_a_conflict_without_values_does_not_open_the_editor(conversation, tmp_path):
    for branch, text in (("main", "mine"), ("fix", "yours")):
        conversation.append(branch, text, "--data", '{"files": [{"op": "edit", "path": "a.py"}]}')
    conversation.merge("--strict", code=3)
    program = editor(tmp_path / "ed", f"touch {tmp_path}/ran")
    words = ("conflicts", "resolve", conversation.id, "1")
    done = conversation.run_process(*words, "--edit", env={"EDITOR": program})
    assert (done.returncode, (tmp_path / "ran").exists()) == (2, False)
    assert "--take with source, target or both" in done.stderr
    assert "take a side" in conversation.run_refused(*words, "--value", "x", code=2)["hint"]


def test_a_conflict_is_named_without_its_conversation(stopped):
    """`scopes conflicts show ID` needed the conversation, although the id is unique."""
    assert stopped.run("conflicts", "show", "2", "--json")["id"] == stopped.decision["id"]
    other = stopped.run("conv", "new", "--json")["id"]
    stopped.run("conv", "append", other, "newest", "--json")
    assert stopped.run("conflicts", "show", stopped.decision["id"][:6], "--json")["conversation"] == stopped.id
    error = stopped.run_refused("conflicts", "show", "2", code=4)
    assert error["message"] == f"there is no conflict '2' in {other}, the latest conversation"
    assert "a number needs its conversation before it" in error["hint"]
    assert "scopes conflicts list" in stopped.run_refused("conflicts", "show", "ffffffff", code=4)["hint"]
    error = stopped.run_refused("conflicts", "resolve", stopped.id, "--take", "source", code=2)
    assert error["message"] == "no conflict is named"
    stopped.run("conflicts", "escalate", stopped.decision["id"], "--to", "lead", "--json")
    stopped.run("conflicts", "intervene", stopped.analysis["id"], "--take", "both", "--reason", "x", "--json")
    stopped.run("conflicts", "resolve", stopped.decision["id"], "--take", "source", "--json")
    assert stopped.list_conflicts() == []
    assert stopped.run("conflicts", "show", stopped.decision["id"], "--json")["status"] == "resolved"


def test_a_conflict_is_named_by_its_key(stopped):
    for key in ("decisions/db", "decisions/DB "):
        assert stopped.run("conflicts", "show", stopped.id, key, "--json")["number"] == 2
    assert stopped.run("conflicts", "show", "analyses/login/security", "--json")["number"] == 1
    assert stopped.run_refused("conflicts", "show", stopped.id, "decisions", code=4)["hint"]
    stopped.run("conflicts", "resolve", "decisions/db", "--take", "source", "--json")
    assert [each["number"] for each in stopped.list_conflicts()] == [1]


def test_a_conflict_id_of_two_conversations_needs_one_of_them(stopped):
    """The same values conflict in a second conversation: the id is the same."""
    other = stopped.run("conv", "new", "--json")["id"]
    stopped.run("conv", "append", other, "start", "--json")
    stopped.run("conv", "branch", other, "fix", "--json")
    for branch, value in (("main", "SQLite"), ("fix", "files")):
        data = f'{{"topic": "db", "decision": "{value}"}}'
        stopped.run("conv", "append", other, "--branch", branch, "--kind", "decision", "--data", data, "x", "--json")
    stopped.run("conv", "merge", other, "--source", "fix", "--target", "main", "--json", code=3)
    conflict = stopped.decision["id"]
    assert stopped.run("conflicts", "show", conflict, "--json")["conversation"] == other
    third = stopped.run("conv", "new", "--json")["id"]
    stopped.run("conv", "append", third, "newest", "--json")
    error = stopped.run_refused("conflicts", "show", conflict, code=5)
    assert error["hint"] == f"name one of: {stopped.id} {conflict}, {other} {conflict}"


def editor(path, script):
    """Write an editor program that runs a script with the file as `$1`."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def edited(conversation, name, program):
    """Resolve the second conflict with an editor, in a process of its own."""
    words = ("conflicts", "resolve", conversation.id, "2", "--edit")
    return conversation.run_process(*words, env={name: program})


@pytest.mark.parametrize("name", ["GIT_EDITOR", "VISUAL", "EDITOR"])
def test_a_resolution_is_written_in_the_users_editor(stopped, tmp_path, name):
    script = 'cp "$1" "$0.seen"; { printf "# a heading\\nPostgreSQL\\n"; sed -n "/>8/,$ p" "$1"; } > "$0.new"; cat "$0.new" > "$1"'
    program = editor(tmp_path / "ed", script)
    done = edited(stopped, name, program)
    assert done.returncode == 0, done.stderr
    (resolved,) = stopped.list_conflicts("--status", "resolved")
    assert resolved["resolution"]["value"] == "# a heading\nPostgreSQL"
    seen = (tmp_path / "ed.seen").read_text()
    assert seen.startswith("<<<<<<< target: main (alice)\nSQLite\n=======\nfiles\n>>>>>>> source: fix (bob)\n# ---")
    assert "\n# Base: nothing\n" in seen


def test_the_editor_opens_the_texts_of_both_sides_and_the_base_as_comments(conversation, tmp_path):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "one\ntwo"}, "zoe")
    conversation.run("conv", "merge", conversation.id, "--source", "main", "--target", "fix", "--json")
    conversation.append_on_both("decision", {"topic": "db", "decision": "A\n======="}, {"topic": "db", "decision": "B"})
    conversation.merge(code=3)
    program = editor(tmp_path / "ed", 'cp "$1" "$0.seen"; sed -i "/^<<<<<<</d; /^>>>>>>>/d; 3d" "$1"')
    done = conversation.run_process("conflicts", "resolve", conversation.id, "1", "--edit", env={"EDITOR": program})
    assert done.returncode == 0, done.stderr
    seen = (tmp_path / "ed.seen").read_text()
    assert seen.startswith("<<<<<<< target: main (alice)\nA\n=======\n=======\nB\n>>>>>>> source: fix (bob)\n# ---")
    assert "\n# Base (zoe)\n# one\n# two\n" in seen
    assert conversation.list_conflicts("--status", "resolved")[0]["resolution"]["value"] == "A\n=======\nB"


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("true", "the text was not edited"),
        ('echo >> "$1"', "the text was not edited"),
        (': > "$1"', "the text is empty"),
        ('sed -i "1,/>8/{/>8/!d}" "$1"', "the text is empty"),
        ('sed -i "/files/d" "$1"', "the text still has the marks of the two sides"),
        ('sed -i "/^<<<<<<</d; /^>>>>>>>/d" "$1"', "the text still has the marks of the two sides"),
        ("exit 3", "exited with code 3"),
    ],
)
def test_an_editor_that_writes_nothing_or_fails_changes_nothing(stopped, tmp_path, script, trouble):
    done = edited(stopped, "EDITOR", editor(tmp_path / "ed", script))
    assert done.returncode == 1
    assert trouble in done.stderr
    assert len(stopped.list_conflicts()) == 2


def test_an_editor_command_with_arguments_is_run_by_the_shell(stopped, tmp_path):
    program = editor(tmp_path / "ed", 'printf "%s" "$1" > "$2"')
    assert edited(stopped, "EDITOR", f"{program} 'two words'").returncode == 0
    assert stopped.list_conflicts("--status", "resolved")[0]["resolution"]["value"] == "two words"


def test_the_settings_of_a_store_cannot_name_an_editor(stopped, tmp_path):
    """A store may come from someone else, so programs named in its settings are never run."""
    program = editor(tmp_path / "ed", f"touch {tmp_path}/ran")
    with open(os.path.join(stopped.store, "config"), "a", encoding="utf-8") as file:
        file.write(f"[core]\n\teditor = {program}\n[scopes]\n\teditor = {program}\n")
    environ = {name: value for name, value in environment().items() if name not in {"EDITOR", "VISUAL", "GIT_EDITOR"}}
    done = stopped.run_process("conflicts", "resolve", stopped.id, "2", "--edit", env=environ | {"EDITOR": ""})
    assert (done.returncode, (tmp_path / "ran").exists()) == (1, False)
    assert "no editor is set" in done.stderr


def test_a_question_that_was_resolved_before_is_shown_and_resolved_in_the_same_way(conversation):
    """M7."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "pg"}, {"topic": "db", "decision": "my"})
    for name in ("one", "two"):
        conversation.run("conv", "branch", conversation.id, name, "--from", "main", "--json")
    merge = ("conv", "merge", conversation.id, "--source", "fix", "--target")
    conversation.run(*merge, "one", code=3)
    (conflict,) = conversation.list_conflicts()
    conversation.resolve(conflict, "--take", "source", "--reason", "it is fast")
    conversation.continue_merge()
    notes = conversation.run_main(*merge, "two", "--dry-run").stderr
    assert "resolved before: my (source), by user, 20" in notes
    assert f"because it is fast (conflict {conflict['id']})" in notes
    (earlier,) = conversation.run(*merge, "two", "--json", code=3)["conflicts"][0]["resolved_before"]
    assert (earlier["choice"], earlier["values"], earlier["reason"]) == ("source", ["my"], "it is fast")
    assert "resolved before: my" in conversation.run_main("conflicts", "list", conversation.id).stderr
    assert "Resolved before: my (source), by user" in conversation.run("conflicts", "show", conversation.id, "1")
    two = conversation.run_refused("conflicts", "resolve", conversation.id, "1", "--as-before", "--edit", code=2)
    assert two["hint"] == "one of --take, --value, --edit and --as-before"
    done = conversation.run("conflicts", "resolve", conversation.id, "1", "--as-before", "--json")
    assert (done["conflict"]["resolution"]["strategy"], done["remaining"]) == ("reused", 0)
    conversation.continue_merge()


def test_the_numbers_that_a_merge_prints_are_those_of_the_list(conversation):
    """A merge listed conflicts in another order: `resolve 1` decided another conflict than the first one."""
    for branch, value in (("main", "a"), ("fix", "b")):
        for topic in ("one", "two", "three", "four", "five"):
            conversation.append_typed(branch, "decision", {"topic": topic, "decision": value}, "carol")
    stopped = conversation.merge(code=3)["conflicts"]
    listed = conversation.list_conflicts()
    assert [each["id"] for each in stopped] == [each["id"] for each in listed]
    assert [each["key"] for each in listed] == sorted(each["key"] for each in listed)
    assert [each["number"] for each in listed] == [1, 2, 3, 4, 5]
