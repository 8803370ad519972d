"""A run that is missing, empty or cut off never passes."""

from __future__ import annotations

from scopes.check.check import check
from scopes.check.policy import Policy
from tests.check.runs import judge, run_of, shell, verdict_of


def test_nothing_examined_is_never_clean(repository):
    checked = check(repository, [], Policy())
    assert (checked.failed, checked.exit_code) == (True, 1)
    assert [finding.rule for finding in checked.failures] == ["run/missing"]


def test_a_transcript_that_is_not_there_is_a_finding_next_to_the_other_runs(repository):
    conversation = run_of(repository, "Done.")
    checked = judge(repository, conversation, missing=[("agent.jsonl", "file 'agent.jsonl' not found")])
    assert [(run.name, bool(run.findings)) for run in checked.runs] == [("agent.jsonl", True), (conversation, False)]


def test_a_run_without_an_answer_and_without_a_call_is_empty(repository):
    checked = judge(repository, run_of(repository))
    assert verdict_of(checked, "run/empty") == ("fail", "the run has no answer and no tool call")
    policy = Policy(parameters={"run/empty": {"min_calls": 2}})
    checked = judge(repository, run_of(repository, shell("ls"), "Done."), policy)
    assert verdict_of(checked, "run/empty") == ("fail", "the run has 1 tool calls, at least 2 wanted")


def test_a_run_that_went_on_after_a_call_without_a_result_is_complete(repository):
    """Results are dropped at a compaction, and a web search of Codex has none."""
    search = ("web_search", {"query": "x"}, None)
    for steps in ([search, shell("make")], [search, "I found it."]):
        assert verdict_of(judge(repository, run_of(repository, *steps)), "run/incomplete") == ("pass", "")


def test_a_call_without_a_result_means_that_the_run_was_cut_off(repository):
    checked = judge(repository, run_of(repository, shell("make"), ("Bash", {"command": "make all"}, None)))
    assert verdict_of(checked, "run/incomplete") == ("fail", "a tool call has no result: the run was cut off")
