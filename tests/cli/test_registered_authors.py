"""Who writes a message: the registry says whether a name is a person or a program, and a misspelled name gets a note."""

from __future__ import annotations

import json

import pytest

from tests.cli.conversation import Conversation


@pytest.fixture
def team(tmp_path):
    """A store in which ann is registered as a program and dora as a person."""
    conversation = Conversation(tmp_path)
    conversation.run("agents", "register", "ann")
    conversation.run("agents", "register", "dora", "--type", "human")
    return conversation


def kind_of(team, *words):
    done = team.run_main(*words, "--json")
    assert done.returncode == 0, done.stderr
    return team.run("cat", f"{team.id}/{json.loads(done.stdout)['id']}", "--json")["author_kind"]


@pytest.mark.parametrize(("name", "kind"), [("ann", "agent"), ("dora", "human"), ("zoltan", "agent")])
def test_a_registered_name_has_the_kind_that_it_is_registered_with(team, name, kind):
    assert kind_of(team, "append", team.id, "text", "--as", name) == kind


@pytest.mark.parametrize(("name", "kind"), [("ann", "agent"), ("dora", "human"), ("zoltan", "human")])
def test_the_name_in_the_settings_is_looked_up_too(team, name, kind):
    assert kind_of(team, "-c", f"scopes.author={name}", "append", team.id, "text") == kind


def test_a_registered_person_is_a_user_in_the_change_log(team):
    team.run("append", team.id, "text", "--as", "dora")
    rows = team.run("changes", team.id, "--cause", "user:dora", "--field", "messages", "--json")
    assert rows["cause"] == "user:dora"


def test_a_name_near_a_registered_one_gets_a_note_and_is_written(team):
    done = team.run_main("append", team.id, "text", "--as", "anm")
    assert (done.returncode, done.stderr) == (0, "note: anm is not registered; did you mean ann?\n")
    assert team.run("log", team.id, "--json", "-n", "1")["author"] == "anm"


@pytest.mark.parametrize("name", ["ann", "dora", "zoltan"])
def test_other_names_get_no_note(team, name):
    assert team.run_main("append", team.id, "text", "--as", name).stderr == ""


def test_without_registered_agents_no_name_is_misspelled(tmp_path):
    conversation = Conversation(tmp_path)
    assert conversation.run_main("append", conversation.id, "text", "--as", "anm").stderr == ""


def test_a_command_that_fails_has_its_error_alone(team):
    error = team.run_refused("conflicts", "escalate", team.id, "1", "--to", "ann", "--as", "anm", code=4)
    assert error["message"] == f"there is no conflict '1' in {team.id}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "dora", "--to", "ann"), "a conflict is handed to one agent"),
    ],
)
def test_options_that_name_no_one_or_two_are_refused_with_what_is_wrong(team, words, message):
    assert team.run_refused("conflicts", "escalate", team.id, "1", *words, code=2)["message"] == message
