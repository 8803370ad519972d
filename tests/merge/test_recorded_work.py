"""What both sides of a merge did: the last tests of each, and two answers to one prompt."""

from __future__ import annotations

import pytest

from scopes.conversation.blame import blame
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, show_conflict
from scopes.conversation.merge import MergeOptions, continue_merge, merge
from scopes.conversation.merge_outcomes import MergeConflicted, Merged
from scopes.conversation.new import new
from scopes.conversation.resolve import resolve_conflict
from scopes.errors import Refused
from scopes.history.activity import CheckRun
from scopes.merge import side_calls
from scopes.merge.plans_and_answers import PlanStep
from scopes.model.message import Author
from scopes.store.config import Setting
from scopes.store.repository import read_commit
from tests.support.history import say
from tests.support.store import FAST, open_store
from tests.support.tool_calls import REFUSED, call_tool


@pytest.fixture
def forked(repository):
    """A prompt, and two branches that begin after it."""
    new(repository)
    say(repository, "conv-001", "make it work", author={"name": "carol", "kind": "human"}, kind="prompt")
    branch(repository, "conv-001", name="alt", switch=False)
    return repository


def run(repository, where, command, *, name="Bash", field="command", **result):
    return call_tool(repository, f"conv-001/{where}", name, {field: command}, **result)


def test_a_merge_shows_the_last_run_of_each_test_command_of_both_sides(forked):
    run(forked, "main", "cd shop && go test ./... 2>&1 | tail -5", output="FAIL shop", exit_code=1)
    run(forked, "main", "pytest -q", output="3 passed")
    run(forked, "main", "cd shop && go test ./...", output="ok shop")
    run(forked, "main", "git commit -m 'test'", output="done")
    run(forked, "alt", "go test ./...", name="exec_command", field="cmd", output="exit status 1", exit_code=1)
    tests = merge(forked, "conv-001", "alt", target="main", dry_run=True).tests
    assert tests.target == (CheckRun("pytest -q", failed=False), CheckRun("go test ./...", failed=False))
    assert tests.source == (CheckRun("go test ./...", failed=True, exit_code=1),)


def test_a_result_is_found_by_a_call_id_that_json_escapes(forked):
    call = {"type": "tool_call", "call_id": 'a"b', "name": "Bash", "input": {"command": "go test ./..."}}
    say(forked, "conv-001/main", "", author="claude", kind="answer", parts=[call])
    result = {"type": "tool_result", "call_id": 'a"b', "output": "ok"}
    say(forked, "conv-001/main", "", author={"name": "tool", "kind": "tool"}, kind="tool-results", parts=[result])
    say(forked, "conv-001/alt", "more")
    tests = merge(forked, "conv-001", "alt", target="main", dry_run=True).tests
    assert tests.target == (CheckRun("go test ./...", failed=False),)


def test_a_side_without_tests_has_none(forked):
    run(forked, "main", "ls", output="test.py")
    say(forked, "conv-001/alt", "pytest -q fails")
    assert merge(forked, "conv-001", "alt", target="main", dry_run=True).tests == ((), ())


def test_two_answers_to_one_prompt_are_listed_and_do_not_stop_the_merge(forked):
    first = say(forked, "conv-001/main", "do it in Go", author="claude", kind="answer")
    other = say(forked, "conv-001/alt", "do it in Rust", author="codex", kind="answer")
    say(forked, "conv-001/alt", "thanks", author={"name": "carol", "kind": "human"})
    merged = merge(forked, "conv-001", "alt", target="main")
    assert isinstance(merged, Merged)
    found = merged.alternatives
    assert (found.prompt.subject, found.target.id, found.source.id) == ("make it work", first.id, other.id)


@pytest.mark.parametrize("author", [{"name": "carol", "kind": "human"}, {"name": "tool", "kind": "tool"}])
def test_only_answers_of_agents_are_alternatives(forked, author):
    say(forked, "conv-001/main", "do it in Go", author="claude")
    say(forked, "conv-001/alt", "do it in Rust", author=author)
    assert merge(forked, "conv-001", "alt", target="main").alternatives is None


def test_branches_that_begin_after_an_answer_have_no_alternatives(repository):
    new(repository)
    say(repository, "conv-001", "done", author="claude", kind="answer")
    branch(repository, "conv-001", name="alt", switch=False)
    for where in ("main", "alt"):
        say(repository, f"conv-001/{where}", f"more on {where}", author="claude", kind="answer")
    merged = merge(repository, "conv-001", "alt", target="main")
    assert not isinstance(merged, MergeConflicted)
    assert merged.alternatives is None


def ask(repository, where, question, answer):
    structured = {"questions": [{"question": question}], "answers": {question: answer}}
    arguments = {"questions": [{"question": question}]}
    return call_tool(repository, f"conv-001/{where}", "AskUserQuestion", arguments, structured=structured)


def test_two_answers_of_the_user_to_one_question_stop_the_merge_until_one_is_taken(forked):
    ask(forked, "main", "Which database?", "SQLite")
    other = ask(forked, "alt", "Which database? ", "Postgres")
    stopped = merge(forked, "conv-001", "alt", target="main")
    assert isinstance(stopped, MergeConflicted)
    [conflict] = stopped.conflicts
    assert (conflict.type, conflict.severity, conflict.status) == ("contradictory-answer", "high", "open")
    assert [side[0].value for side in (conflict.target, conflict.source)] == ["SQLite", "Postgres"]
    assert conflict.source[0][1:3] == (other.id, "user")
    resolve_conflict(forked, "conv-001", "1", take="source", author=Author("carol", "human"))
    assert isinstance(continue_merge(forked, "conv-001"), Merged)
    [row] = blame(forked, "conv-001/main", key="answers").rows
    assert (row.key, row.value) == ("answers/which%20database%3F", "Postgres")


@pytest.mark.parametrize("answer", ["SQLite", "sqlite "])
def test_equal_answers_are_no_conflict(forked, answer):
    ask(forked, "main", "Which database?", "SQLite")
    ask(forked, "alt", "Which database?", answer)
    assert merge(forked, "conv-001", "alt", target="main").conflicts == ()


def plan(repository, where, *steps, name="TodoWrite"):
    field, text = ("todos", "content") if name == "TodoWrite" else ("plan", "step")
    documents = [{text: step, "status": status} for step, status in steps]
    return call_tool(repository, f"conv-001/{where}", name, {field: documents})


def test_steps_to_which_both_sides_gave_another_status_are_listed(repository):
    new(repository)
    plan(repository, "main", ("write it", "in_progress"), ("test it", "pending"), ("ship it", "pending"))
    branch(repository, "conv-001", name="alt", switch=False)
    plan(repository, "main", ("write it", "completed"), ("test it", "completed"), ("ship it", "pending"))
    plan(
        repository,
        "alt",
        ("write it", "completed"),
        ("test it", "in_progress"),
        ("ship it", "completed"),
        name="update_plan",
    )
    merged = merge(repository, "conv-001", "alt", target="main")
    assert isinstance(merged, Merged)
    assert merged.plans == (PlanStep("test it", "completed", "in_progress", "pending"),)


def with_rule(repository, kind, rule):
    """Open the store again with a rule for a type of conflict."""
    key = f"scopes.merge.rule.{kind}"
    return open_store(repository.path, {**FAST, key: Setting(key, rule, "flag")})


def divergent(repository):
    """Two agents that go on with one plan, and give one of its steps two statuses."""
    new(repository)
    plan(repository, "main", ("test it", "pending"), ("ship it", "pending"))
    branch(repository, "conv-001", name="alt", switch=False)
    own = plan(repository, "main", ("test it", "completed"), ("ship it", "pending"))
    other = plan(repository, "alt", ("Test it ", "in_progress"), ("ship it", "pending"))
    return own, other


def test_a_step_with_two_statuses_is_a_conflict_that_stops_nothing(repository):
    own, other = divergent(repository)
    merged = merge(repository, "conv-001", "alt", target="main")
    assert isinstance(merged, Merged)
    [conflict] = merged.conflicts
    assert (conflict.type, conflict.severity, conflict.key) == ("plan-divergence", "low", "plans/test%20it")
    assert (conflict.status, conflict.resolution.choice) == ("resolved", "both")
    assert [side[0][:3] for side in (conflict.base, conflict.target, conflict.source)] == [
        ("pending", conflict.base[0].message, "claude"),
        ("completed", own.id, "claude"),
        ("in_progress", other.id, "claude"),
    ]


@pytest.mark.parametrize(
    "options", [MergeOptions(strict=True), MergeOptions(strategy="manual"), MergeOptions(strategy="theirs")]
)
def test_no_strategy_makes_a_merge_stop_for_a_plan(repository, options):
    divergent(repository)
    merged = merge(repository, "conv-001", "alt", target="main", options=options)
    assert [each.resolution.strategy for each in merged.conflicts] == ["automatic"]


def test_a_rule_can_forbid_to_merge_plans_that_differ(repository):
    divergent(repository)
    ruled = with_rule(repository, "plan-divergence", "fail")
    with pytest.raises(Refused, match="plan-divergence"):
        merge(ruled, "conv-001", "alt", target="main")


def test_a_plan_that_differs_changes_nothing_about_the_rules_for_other_conflicts(repository):
    """Rules are used only if they cover the types of all conflicts; nobody writes one for plans."""
    divergent(repository)
    ruled = with_rule(repository, "contradictory-answer", "second")
    ask(repository, "main", "Which database?", "SQLite")
    ask(repository, "alt", "Which database?", "Postgres")
    merged = merge(ruled, "conv-001", "alt", target="main")
    assert isinstance(merged, Merged)
    assert {each.type: each.resolution.choice for each in merged.conflicts} == {
        "plan-divergence": "both",
        "contradictory-answer": "source",
    }


def test_a_merge_in_the_other_direction_finds_the_same_conflict(repository):
    divergent(repository)
    one, other = (
        merge(repository, "conv-001", source, target=target, dry_run=True).conflicts[0].id
        for source, target in (("alt", "main"), ("main", "alt"))
    )
    assert one == other


def test_ended_conflicts_that_were_found_in_tool_calls_are_listed_with_all(repository):
    """They were left out: they are not in the state, so only the messages of both sides have them."""
    divergent(repository)
    ask(repository, "main", "Which database?", "SQLite")
    ask(repository, "alt", "Which database?", "Postgres")
    merge(repository, "conv-001", "alt", target="main", options=MergeOptions(strategy="ours"))
    rows = list_conflicts(repository, "conv-001", include_all=True).conflicts
    assert {(row.conflict.type, row.conflict.resolution.choice) for row in rows} == {
        ("plan-divergence", "both"),
        ("contradictory-answer", "target"),
    }
    assert list_conflicts(repository, "conv-001").conflicts == ()
    shown = show_conflict(repository, "conv-001", next(row.conflict.id for row in rows if "plans" in row.conflict.key))
    assert [position.value for position in shown.row.conflict.source] == ["in_progress"]


# tests


def runs_of(repository):
    return merge(repository, "conv-001", "alt", target="main", dry_run=True).tests


def test_only_the_last_run_of_a_command_counts_and_it_counts_as_the_newest(forked):
    run(forked, "main", "pytest -q", exit_code=1)
    run(forked, "main", "tox", exit_code=0)
    run(forked, "main", "pytest -q", exit_code=0)
    say(forked, "conv-001/alt", "on alt")
    assert runs_of(forked).target == (CheckRun("tox", failed=False, exit_code=0), CheckRun("pytest -q", False, 0))


def test_a_refused_call_is_no_run_of_tests(forked):
    run(forked, "main", "pytest -q", output="3 passed")
    run(forked, "main", "pytest -q", output=REFUSED, is_error=True)
    run(forked, "main", "mise run test:integration", output=REFUSED, is_error=True)
    say(forked, "conv-001/alt", "on alt")
    assert runs_of(forked).target == (CheckRun("pytest -q", failed=False),)


def test_commands_that_begin_alike_are_several_and_whole(forked):
    commands = [f"go test -v ./cmd/entire/cli/agent/claudecode/integration/... -run Test{name}" for name in "AB"]
    for command in commands:
        run(forked, "main", command, output="ok")
    say(forked, "conv-001/alt", "on alt")
    assert [each.command for each in runs_of(forked).target] == commands


def test_runs_before_the_fork_are_of_neither_side(repository):
    new(repository)
    run(repository, "main", "pytest -q", exit_code=1)
    branch(repository, "conv-001", name="alt", switch=False)
    for where in ("main", "alt"):
        say(repository, f"conv-001/{where}", "done")
    assert runs_of(repository) == ((), ())


def test_the_last_five_commands_of_a_side_are_listed(forked):
    for number in range(8):
        run(forked, "main", f"pytest tests/{number}", exit_code=0)
    say(forked, "conv-001/alt", "on alt")
    assert [each.command for each in runs_of(forked).target] == [f"pytest tests/{number}" for number in range(3, 8)]


def test_a_run_whose_call_is_before_the_fork_belongs_to_the_side_with_its_result(repository):
    new(repository)
    call = {"type": "tool_call", "call_id": "t", "name": "Bash", "input": {"command": "pytest -q"}}
    say(repository, "conv-001", "", author="claude", kind="answer", parts=[call])
    branch(repository, "conv-001", name="alt", switch=False)
    result = {"type": "tool_result", "call_id": "t", "output": "1 failed", "exit_code": 1}
    say(repository, "conv-001/alt", "", author={"name": "tool", "kind": "tool"}, kind="tool-results", parts=[result])
    say(repository, "conv-001/main", "never mind")
    assert runs_of(repository) == ((), (CheckRun("pytest -q", failed=True, exit_code=1),))


def test_the_runs_of_a_merged_lane_are_those_of_its_side(forked):
    """A merge inside of a lane: the runs of the inner branch are runs of the outer one."""
    branch(forked, "conv-001", name="inner", start="alt", switch=False)
    run(forked, "inner", "tox", exit_code=1)
    run(forked, "alt", "pytest -q", exit_code=0)
    merge(forked, "conv-001", "inner", target="alt")
    say(forked, "conv-001/main", "on main")
    assert {each.command: each.failed for each in runs_of(forked).source} == {"tox": True, "pytest -q": False}


# answers of the user


def answers(repository):
    found = merge(repository, "conv-001", "alt", target="main", dry_run=True).conflicts
    return {conflict.key: (conflict.target[0].value, conflict.source[0].value) for conflict in found}


def test_the_last_answer_of_a_side_to_a_question_counts(forked):
    ask(forked, "main", "Which database?", "Postgres")
    ask(forked, "main", "Which database?", "SQLite")
    ask(forked, "alt", "Which database?", "Postgres")
    assert answers(forked) == {"answers/which%20database%3F": ("SQLite", "Postgres")}
    ask(forked, "alt", "Which database?", "SQLite")
    assert answers(forked) == {}


@pytest.mark.parametrize("question", ["which  database?", "WHICH DATABASE?", " Which\ndatabase? "])
def test_a_question_is_the_same_in_every_spelling(forked, question):
    ask(forked, "main", "Which database?", "SQLite")
    ask(forked, "alt", question, "Postgres")
    assert answers(forked) == {"answers/which%20database%3F": ("SQLite", "Postgres")}


def test_answers_to_different_questions_are_no_conflict(forked):
    ask(forked, "main", "Which database?", "SQLite")
    ask(forked, "alt", "Which queue?", "Redis")
    assert answers(forked) == {}


def test_long_questions_with_one_beginning_are_two_questions(forked):
    long = "What about " + "the very same words, " * 20
    for where, answer in (("main", "yes"), ("alt", "no")):
        ask(forked, where, f"{long} first?", answer)
        ask(forked, where, f"{long} second?", answer)
    keys = list(answers(forked))
    assert len(keys) == 2
    assert all(len(key) < 700 for key in keys)


def test_several_questions_of_one_call_are_several_conflicts(forked):
    for where, words in (("main", ("SQLite", "Go")), ("alt", ("Postgres", "Go"))):
        given = dict(zip(("Which database?", "Which language?"), words, strict=True))
        structured = {"questions": [{"question": question} for question in given], "answers": given}
        call_tool(forked, f"conv-001/{where}", "AskUserQuestion", {"questions": []}, structured=structured)
    assert answers(forked) == {"answers/which%20database%3F": ("SQLite", "Postgres")}


@pytest.mark.parametrize("answer", ["", "  ", 7, None, ["SQLite"]])
def test_an_answer_without_words_is_none(forked, answer):
    ask(forked, "main", "Which database?", "SQLite")
    ask(forked, "alt", "Which database?", answer)
    assert answers(forked) == {}


def test_a_question_that_the_user_refused_has_no_answer(forked):
    ask(forked, "main", "Which database?", "SQLite")
    structured = {"answers": {"Which database?": "Postgres"}}
    call_tool(forked, "conv-001/alt", "AskUserQuestion", {}, structured=structured, is_error=True)
    assert answers(forked) == {}


def test_a_resolved_answer_is_not_asked_about_in_the_next_merge(forked):
    ask(forked, "main", "Which database?", "SQLite")
    ask(forked, "alt", "Which database?", "Postgres")
    merge(forked, "conv-001", "alt", target="main")
    resolve_conflict(forked, "conv-001", "1", take="target", author=Author("carol", "human"))
    continue_merge(forked, "conv-001")
    for where in ("main", "alt"):
        say(forked, f"conv-001/{where}", "more")
    assert answers(forked) == {}


# plans


def plans_of(repository):
    return merge(repository, "conv-001", "alt", target="main", dry_run=True).plans


def test_a_step_that_only_one_side_moved_on_is_no_divergence(repository):
    new(repository)
    plan(repository, "main", ("test it", "pending"), ("ship it", "pending"))
    branch(repository, "conv-001", name="alt", switch=False)
    plan(repository, "main", ("test it", "completed"), ("ship it", "pending"))
    plan(repository, "alt", ("test it", "pending"), ("ship it", "completed"))
    assert plans_of(repository) == ()


def test_steps_that_only_one_side_has_are_no_divergence(forked):
    plan(forked, "main", ("test it", "pending"))
    plan(forked, "alt", ("ship it", "completed"))
    assert plans_of(forked) == ()


def test_a_step_that_both_sides_added_with_two_statuses_is_a_divergence(forked):
    plan(forked, "main", ("test it", "pending"))
    plan(forked, "alt", ("test it", "completed"), name="update_plan")
    assert plans_of(forked) == (PlanStep("test it", "pending", "completed"),)


def test_the_last_plan_of_a_side_counts_and_a_failed_one_does_not(forked):
    plan(forked, "main", ("test it", "pending"))
    plan(forked, "alt", ("test it", "completed"))
    plan(forked, "alt", ("test it", "pending"))
    todos = [{"content": "test it", "status": "completed"}]
    call_tool(forked, "conv-001/alt", "TodoWrite", {"todos": todos}, is_error=True)
    assert plans_of(forked) == ()


@pytest.mark.parametrize("steps", [None, "test it", [7, {"content": "test it"}, {"content": 7, "status": "completed"}]])
def test_a_plan_of_another_shape_has_no_steps(forked, steps):
    plan(forked, "main", ("test it", "pending"))
    call_tool(forked, "conv-001/alt", "TodoWrite", {"todos": steps})
    assert plans_of(forked) == ()


# alternatives


def test_alternatives_are_found_in_either_direction(forked):
    say(forked, "conv-001/main", "do it in Go", author="claude", kind="answer")
    say(forked, "conv-001/alt", "do it in Rust", author="codex", kind="answer")
    for source, target in (("alt", "main"), ("main", "alt")):
        found = merge(forked, "conv-001", source, target=target, dry_run=True).alternatives
        subjects = {"main": "do it in Go", "alt": "do it in Rust"}
        assert (found.target.subject, found.source.subject) == (subjects[target], subjects[source])


def test_after_the_merge_the_same_branches_have_no_alternatives_any_more(forked):
    for where in ("main", "alt"):
        say(forked, f"conv-001/{where}", f"in {where}", author="claude", kind="answer")
    merge(forked, "conv-001", "alt", target="main")
    for where in ("main", "alt"):
        say(forked, f"conv-001/{where}", "more", author="claude", kind="answer")
    assert merge(forked, "conv-001", "alt", target="main", dry_run=True).alternatives is None


def test_a_merge_reads_each_message_without_tool_calls_once(forked, monkeypatch):
    run(forked, "main", "rm -f built.txt")
    run(forked, "alt", "pytest -q", output="3 passed")
    talk = [say(forked, f"conv-001/{side}", "hello", author="claude").oid for side in ("main", "alt", "main")]
    trees = [read_commit(forked, oid).tree for oid in talk]
    read, real = [], side_calls.read_message_bytes_at
    monkeypatch.setattr(
        side_calls, "read_message_bytes_at", lambda objects, tree: read.append(tree) or real(objects, tree)
    )
    merge(forked, "conv-001", "alt", target="main", dry_run=True)
    assert [read.count(tree) for tree in trees] == [1, 1, 1]
