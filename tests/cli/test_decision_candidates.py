"""`scopes decisions --candidates`, `accept` and `dismiss` on the command line."""

from __future__ import annotations


def test_a_candidate_is_listed_accepted_and_taken_back(conversation):
    message = conversation.append("main", "We decided to use SQLite. We agreed on tabs.")
    (first, second) = conversation.run("decisions", conversation.id, "--candidates", "--json")["candidates"]
    assert (first["id"], first["why"], first["branch"]) == (f"{message}.1", "states a decision", "main")
    result = conversation.run(
        "decisions", "--accept", first["id"][:8] + ".1", "--topic", "db", "--as", "erin", "--json"
    )
    assert (result["kind"], result["topic"], result["candidate"]["id"]) == ("decision-accepted", "db", first["id"])
    gone = conversation.run("conv", "decisions", conversation.id, "--dismiss", message, "--reason", "no", "--json")
    assert gone["candidate"] == second
    assert conversation.run("decisions", conversation.id, "--candidates", "--json")["candidates"] == []
    (row,) = conversation.run("decisions", conversation.id, "--json")["decisions"]
    assert (row["topic"], row["message"]["author"]) == ("db", "erin")
    conversation.run("undo")
    assert len(conversation.run("decisions", conversation.id, "--candidates", "--json")["candidates"]) == 1


def test_a_row_in_a_pipe_has_every_column(conversation):
    message = conversation.append("main", "We decided to use SQLite.")
    cells = conversation.run("decisions", conversation.id, "--candidates").rstrip("\n").split("\t")
    assert cells[:5] == [f"{message}.1", "We decided to use SQLite.", "main", "states a decision", "carol"]


def test_an_unknown_candidate_is_refused_with_the_list(conversation):
    conversation.append("main", "hello")
    error = conversation.run_refused("decisions", conversation.id, "--accept", "ffff.1", code=4)
    assert f"scopes decisions {conversation.id} --candidates" in error["hint"]
