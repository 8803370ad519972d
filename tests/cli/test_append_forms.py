"""Short forms of `scopes append` and its relatives: a new branch, typed messages of one text, messages named alone."""

from __future__ import annotations

import json

import pytest

from scopes.cli.append_input import TOPICS


@pytest.fixture
def talk(conversation):
    """A conversation with two messages on main; `first` is the id of the older one."""
    conversation.first = conversation.append("main", "one")
    conversation.append("main", "two")
    return conversation


def test_a_branch_is_created_with_its_first_message(talk):
    operations = len(talk.run("operations", "-a", "--json")["operations"])
    words = ("append", talk.id, "--from", talk.first, "--branch", "alt", "instead")
    done = talk.run(*words, "--json")
    assert (done["branch"], done["parent"]) == ("alt", "main")
    assert talk.texts("alt")[-2:] == ["one", "instead"]
    assert talk.branches()["main"]["active"]
    assert len(talk.run("operations", "-a", "--json")["operations"]) == operations + 1
    talk.run("undo")
    assert "alt" not in talk.branches()
    assert talk.branches()["main"]["active"]
    talk.run("redo")
    assert talk.texts("alt")[-2:] == ["one", "instead"]
    error = talk.run_refused(*words, code=1)
    assert error["message"] == f"branch 'alt' already exists in {talk.id}"


def test_a_new_branch_is_named_as_part_of_the_conversation_too(talk):
    talk.run("append", f"{talk.id}/alt", "--from", "main~1", "instead")
    assert talk.texts("alt")[-2:] == ["one", "instead"]


def test_a_branch_for_notes_is_created_only_once(talk):
    """As the skill tells agents: the first note and the tenth are the same command."""
    operations = len(talk.run("operations", "-a", "--json")["operations"])
    done = talk.run("append", f"{talk.id}/notes", "--from", "HEAD", "first", "--json")
    assert (done["branch"], done["parent"]) == ("notes", "main")
    assert "parent" not in talk.run("append", talk.id, "--branch", "notes", "--from", "HEAD", "second", "--json")
    assert talk.texts("notes")[-4:] == ["one", "two", "first", "second"]
    assert talk.branches()["main"]["active"]
    assert len(talk.run("operations", "-a", "--json")["operations"]) == operations + 1
    assert "it is active now" not in talk.run("append", f"{talk.id}/more", "--from", "HEAD", "x")
    talk.run_refused("append", f"{talk.id}/mian", "x", code=4)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--from", "HEAD", "x"), 2),
        (("--from", "HEAD", "--branch", "alt", "--jsonl", "-"), 2),
        (("--from", "HEAD", "--branch", "a b", "x"), 2),
        (("--from", "main~1", "x"), 2),
        (("--from", "main~1", "--branch", "alt", "--jsonl", "-"), 2),
        (("--from", "main~1", "--branch", "a b", "x"), 2),
        (("--from", "main~9", "--branch", "alt", "x"), 4),
        (("--from", "main~1", "--branch", "alt", " "), 1),
    ],
)
def test_nothing_is_created_if_the_branch_or_the_message_is_not_valid(talk, words, code):
    talk.run_refused("append", talk.id, *words, code=code)
    assert set(talk.branches()) == {"main", "fix"}


@pytest.mark.parametrize(
    ("kind", "options", "text", "document"),
    [
        ("decision", ("--topic", "batch size"), "2000 refs", {"topic": "batch size", "decision": "2000 refs"}),
        ("method", ("--topic", "speed"), "cache it", {"goal": "speed", "approach": "cache it"}),
        ("priority", ("--topic", "login"), "high", {"task": "login", "urgency": "high"}),
        ("analysis", ("--topic", "login"), "leaks", {"subject": "login", "finding": "leaks"}),
        (
            "analysis",
            ("--topic", "a", "--data", '{"aspect": "b"}'),
            "c",
            {"subject": "a", "aspect": "b", "finding": "c"},
        ),
    ],
)
def test_a_typed_message_is_made_of_one_text(talk, kind, options, text, document):
    """The stored message is that of --data."""
    talk.run("append", talk.id, "--kind", kind, *options, text)
    talk.run("append", talk.id, "--kind", kind, "--data", json.dumps(document))
    short, long = ({**talk.run("cat", f"{talk.id}/{name}", "--json")} for name in ("main~1", "main"))
    differing = {key for key in short if short[key] != long[key]}
    assert differing <= {"id", "oid", "parents", "time", "position"}
    assert short[kind].items() >= document.items()


@pytest.mark.parametrize("kind", TOPICS)
def test_the_error_of_a_typed_message_names_the_short_form(talk, kind):
    error = talk.run_refused("append", talk.id, "--kind", kind, "text", code=2)
    assert f"--kind {kind} --topic ABOUT TEXT" in error["hint"]
    assert "--data" in error["hint"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--topic", "db", "x"), "--topic belongs to a typed kind"),
        (("--kind", "decision", "--topic", "db"), "--topic needs a text"),
        (("--data", "[1]"), "--data is not a JSON object"),
        (("-m", "x", "y"), "the text is given twice"),
    ],
)
def test_options_that_do_not_fit_are_refused(talk, words, message):
    assert talk.run_refused("append", talk.id, *words, code=2)["message"] == message


def test_a_single_argument_is_the_text_unless_it_is_the_whole_id_of_a_conversation(talk):
    assert talk.run("append", "just this", "--json")["conversation"] == talk.id
    assert talk.texts()[-1] == "just this"
    assert talk.run_process("append", talk.id, stdin=None, input="from a pipe").returncode == 0
    assert talk.texts()[-1] == "from a pipe"
    assert talk.run_refused("append", talk.id, code=2)["message"] == "no message given"
    assert talk.run_refused("append", "conv-77", code=4)["message"] == "there is no conversation 'conv-77'"


def test_data_has_all_fields_of_a_message(talk, tmp_path):
    document = {"model": "gpt-5", "work_item": "SHOP-12", "files": [{"path": "a.py", "op": "edit"}]}
    (tmp_path / "fields.json").write_text(json.dumps(document))
    for data in (json.dumps(document), f"@{tmp_path}/fields.json"):
        talk.run("append", "edited", "--data", data)
        stored = talk.run("cat", "main", "--json")
        assert (stored["model"], stored["work_item"], stored["files"][0]["path"]) == ("gpt-5", "SHOP-12", "a.py")
    talk.run("append", "--kind", "decision", "--data", '{"decision": {"topic": "db", "decision": "x"}, "model": "m"}')
    assert talk.run("cat", "main", "--json")["model"] == "m"


def test_the_text_is_also_given_as_in_git(talk):
    done = talk.run("append", "@", "-m", "three", "--json")
    assert talk.texts()[-1] == "three"
    talk.run("amend", talk.id, done["id"], "-m", "four")
    talk.run("amend", done["id"], "-m", "five")
    assert "five" in talk.run("log", talk.id)


def test_a_message_to_amend_needs_no_conversation(talk):
    done = talk.run("amend", talk.first, "better", "--json")
    assert (done["conversation"], done["amends"]) == (talk.id, talk.first)
    assert "scopes amend" in talk.run_refused("amend", talk.first, code=2)["hint"]
    assert talk.run_refused("amend", talk.id, "text", code=2)["message"] == "no message given"


def test_a_message_is_picked_onto_the_latest_conversation(talk):
    talk.run("switch", "-c", talk.id, "alt", "main~1")
    assert talk.run("cherry-pick", "main", "--json")["target"] == "alt"
    assert talk.texts("alt")[-2:] == ["one", "two"]
    other = talk.run("new", "other", "--json")["id"]
    talk.run("append", other, "x")
    error = talk.run_refused("cherry-pick", talk.first, code=2)
    assert error["hint"] == f"name where to copy it: scopes cherry-pick {other} {talk.first}"
    assert talk.run("cherry-pick", other, talk.first, "--json")["conversation"] == other


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("rename", "{}", "Help output"), "scopes rename {} --title 'Help output'"),
    ],
)
def test_a_hint_has_the_words_in_the_right_order(talk, words, hint):
    done = talk.run_main(*(word.format(talk.id) for word in words))
    assert done.returncode != 0
    assert hint.format(talk.id) in done.stderr


def test_an_integer_with_too_many_digits_is_named_with_its_line(conversation, tmp_path):
    """The error text was Python's, which names a function of Python to call."""
    line = '{"author": "carol", "text": "a", "n": %s}'
    (tmp_path / "lines").write_text("\n".join((line % 1, line % ("1" * 5000))))
    done = conversation.run_main("append", conversation.id, "--jsonl", str(tmp_path / "lines"), "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["message"]) == (2, "line 2 has an integer of more than 4,300 digits")
    assert error["hint"] == "put it in quotes, as a text"
