"""`decisions accept`, `dismiss` and `withdraw`, and `conflicts list --all`, as a script sees them."""

from __future__ import annotations

import pytest


@pytest.fixture
def sentence(conversation):
    """A candidate on main."""
    return conversation.append("main", "We decided to use SQLite.") + ".1"


@pytest.fixture
def conflicting(conversation):
    """Main and rel decide SQLite, fix decides files."""
    conversation.run("conv", "branch", conversation.id, "rel")
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    conversation.append_typed("rel", "decision", {"topic": "db", "decision": "SQLite"}, "alice")
    return conversation


def merge(conversation, target, *words, code=0):
    return conversation.run("merge", conversation.id, "fix", "--target", target, *words, "--json", code=code)


def test_accepting_twice_is_refused_with_the_decision_in_the_hint(conversation, sentence):
    first = conversation.run("decisions", "--accept", sentence, "--topic", "db", "--as", "erin", "--json")
    error = conversation.run_refused("decisions", conversation.id, "--accept", sentence, code=1)
    assert error["kind"] == "refused"
    assert error["message"] == f"the decision candidate '{sentence}' was accepted already by erin"
    assert error["hint"] == f"see the decision: scopes cat {conversation.id}/{first['id']}"
    assert "SQLite" in conversation.run(*error["hint"].partition("scopes ")[2].split())
    assert len(conversation.run("decisions", conversation.id, "--json")["decisions"]) == 1


def test_accepting_alone_by_its_id_is_refused_in_the_same_way(conversation, sentence):
    conversation.run("decisions", "--accept", sentence, "--topic", "db")
    assert "accepted already" in conversation.run_refused("decisions", "--accept", sentence[:8], code=1)["message"]
    assert "accepted already" in conversation.run_refused("decisions", "--dismiss", sentence[:8], code=1)["message"]


def test_a_dismissed_candidate_is_refused_with_the_way_back(conversation, sentence):
    gone = conversation.run("decisions", "--dismiss", sentence, "--reason", "a joke", "--json")
    error = conversation.run_refused("decisions", "--accept", sentence, code=1)
    assert "dismissed already" in error["message"]
    assert error["hint"].endswith("scopes op -a")
    assert conversation.run("operations", "-a", "--json")["operations"][0]["id"] == gone["operation"]
    conversation.run("undo", gone["operation"])
    assert conversation.run("decisions", "--accept", sentence, "--topic", "db", "--json")["topic"] == "db"


def test_acceptance_dismissal_and_withdrawal_are_undone_one_by_one(conversation, sentence):
    conversation.run("decisions", "--accept", sentence, "--topic", "db")
    conversation.run("decisions", conversation.id, "--withdraw", "db")
    states = []
    for _ in range(2):
        rows = conversation.run("decisions", conversation.id, "--json")["decisions"]
        states.append([row["state"] for row in rows])
        conversation.run("undo")
    assert states == [["withdrawn"], ["in-effect"]]
    assert len(conversation.run("decisions", conversation.id, "--candidates", "--json")["candidates"]) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("ID", "--accept", "zzzz"), 4),
        (("--accept", "zzzz"), 4),
        (("ID", "--accept", "SENTENCE", "--topic", " "), 2),
        (("ID", "--branch", "nowhere", "--accept", "SENTENCE"), 4),
        (("ID", "--accept", "SENTENCE", "--as", ""), 2),
        (("ID", "--dismiss", "zzzz"), 4),
        (("ID", "--withdraw", "nothing"), 4),
        (("ID", "--withdraw"), 2),
        (("ID", "--withdraw", " "), 2),
        (("ID/nowhere", "--withdraw", "db"), 4),
        (("ID", "--withdraw", "db", "--topic", "x"), 2),
        (("ID", "--candidates", "--accept", "SENTENCE"), 2),
    ],
)
def test_a_refused_command_appends_nothing(conversation, sentence, words, code):
    before = conversation.texts("main")
    given = {"ID": conversation.id, "ID/nowhere": f"{conversation.id}/nowhere", "SENTENCE": sentence}
    conversation.run_refused("decisions", *(given.get(word, word) for word in words), code=code)
    assert conversation.texts("main") == before


def test_a_withdrawal_is_previewed_and_is_a_row(conversation, sentence):
    conversation.run("decisions", "--accept", sentence, "--topic", "db")
    planned = conversation.run("decisions", conversation.id, "--withdraw", "DB", "--dry-run", "--json")
    assert (planned["topic"], planned["decisions"]) == ("db", ["We decided to use SQLite."])
    assert conversation.run("decisions", conversation.id, "--format", r"{topic}\t{state}") == "db\tin-effect\n"
    conversation.run("decisions", conversation.id, "--withdraw", "DB", "--reason", "too slow")
    assert conversation.run("decisions", conversation.id, "--format", r"{topic}\t{state}") == "db\twithdrawn\n"
    assert conversation.texts("main")[-1] == "too slow"


def test_candidates_have_rows_fields_templates_and_nul(conversation, sentence):
    words = ("decisions", conversation.id, "--candidates")
    assert conversation.run(*words, "--format", r"{id}\t{branch}") == f"{sentence}\tmain\n"
    assert conversation.run(*words, "--format", "{text}", "-z") == "We decided to use SQLite.\x00"


@pytest.mark.parametrize(("strategy", "choice"), [("ours", "target"), ("theirs", "source")])
def test_what_a_strategy_answered_is_listed_with_all(conflicting, strategy, choice):
    """S4-57."""
    merge(conflicting, "main", "--strategy", strategy)
    assert conflicting.list_conflicts() == []
    (row,) = conflicting.list_conflicts("--all")
    assert (row["status"], row["branch"], row["target_branch"]) == ("resolved", "main", "main")
    assert (row["resolution"]["strategy"], row["resolution"]["choice"]) == (strategy, choice)
    view = conflicting.run("conflicts", "show", conflicting.id, row["id"], "--json")
    assert view["resolution"] == row["resolution"]


def test_an_open_question_and_its_ending_elsewhere_are_two_rows(conflicting):
    merge(conflicting, "main", "--strategy", "ours")
    merge(conflicting, "rel", code=3)
    rows = conflicting.run(
        "conflicts", "list", conflicting.id, "--all", "--format", r"{number}\t{status}\t{branch}"
    ).splitlines()
    assert rows == ["1\topen\tconflict-resolution/fix-into-rel", "2\tresolved\tmain"]
    assert conflicting.run("conflicts", "list", conflicting.id, "--format", "{number}") == "1\n"
    conflicting.run("conflicts", "resolve", conflicting.id, "1", "--take", "target", "--continue")
    (row,) = conflicting.list_conflicts("--all")
    assert row["status"] == "resolved"


def test_skipped_conflicts_are_listed_as_aborted(conversation):
    for topic in ("db", "os"):
        claims = [{"topic": topic, "decision": word} for word in ("one", "two")]
        conversation.append_on_both("decision", *claims)
    conversation.run("rebase", f"{conversation.id}/fix", "--onto", "main", code=3)
    conversation.run("rebase", conversation.id, "--skip", code=3)
    conversation.run("rebase", conversation.id, "--skip")
    rows = conversation.run("conflicts", "list", conversation.id, "--all", "--format", r"{key}\t{status}").splitlines()
    assert sorted(rows) == ["decisions/db\taborted", "decisions/os\taborted"]
    assert len(conversation.list_conflicts("--status", "aborted")) == 2
    for number in ("1", "2"):
        assert "aborted" in conversation.run("conflicts", "show", conversation.id, number)


@pytest.mark.parametrize("words", [("--take", "source"), ("--value", "x"), ("--as-before",)])
def test_an_ended_conflict_is_not_resolved_again(conflicting, words):
    merge(conflicting, "main", "--strategy", "ours")
    (row,) = conflicting.list_conflicts("--all")
    error = conflicting.run_refused("conflicts", "resolve", conflicting.id, row["id"], *words, code=1)
    assert "resolved" in error["message"]
    assert conflicting.list_conflicts("--all") == [row]


def test_an_unknown_status_names_the_statuses(conflicting):
    error = conflicting.run_refused("conflicts", "list", "--status", "done", code=2)
    assert error["hint"] == "statuses: open, debate, escalated, resolved, aborted"
