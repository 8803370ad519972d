"""`scopes agents`: the whole way of an agent, in every form of output, and mistakes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.examples import amount


@pytest.fixture
def registered(conversation):
    conversation.append("main", "hello", author="carol")
    conversation.run("agents", "register", "reviewer", "--capability", "review", "--depends-on", "spec")
    return conversation


def test_an_agent_is_registered_changed_and_removed(registered):
    """S4-29."""
    assert registered.run("agents", "register", "planner", "--type", "human", "--away") == "2\n"
    changed = registered.run("agents", "register", "2", "--rename", "lead", "--capability", "plan", "--json")
    assert (changed["name"], changed["capabilities"], changed["change"]) == ("lead", ["plan"], "updated")
    assert registered.run("agents", "register", "lead", "--available", "--json")["available"] is True
    assert registered.run("agents", "register", "lead", "--away", "--json")["change"] == "away"
    registered.run("agents", "remove", "lead")
    assert registered.run_refused("agents", "show", "lead", code=4)["kind"] == "not-found"
    registered.run("undo")
    assert registered.run("agents", "show", "lead", "--json")["number"] == 2


def test_a_row_in_a_pipe_has_every_column(registered):
    rows = [row.split("\t") for row in registered.run("agents", "list").splitlines()]
    assert rows == [["1", "reviewer", "ai", "yes", "0", "review", "spec", ""], ["", "carol", "", "", "1", "", "", ""]]
    rows = registered.run("agents", "list", "--format", r"{name}\t{capabilities}", "--available")
    assert rows == "reviewer\treview\n"


def test_a_card_is_piped_from_one_store_to_another_name(registered):
    card = registered.run("agents", "show", "reviewer", "--card")
    assert json.loads(card)["name"] == "reviewer"
    second = registered.run("agents", "register", "second", "--card", "-", "--json", given=card)
    assert (second["name"], second["capabilities"]) == ("second", ["review"])


def test_a_card_in_a_pipe_has_control_and_invisible_characters_as_escapes(registered):
    card = json.dumps({"name": "odd", "description": "a\x9bb\x85c\u2028d", "skills": []})
    registered.run("agents", "register", "odd", "--card", "-", given=card)
    printed = registered.run("agents", "show", "odd", "--card")
    assert r'"description": "a\u009bb\u0085c\u2028d"' in printed
    assert json.loads(printed)["description"] == "a\x9bb\x85c\u2028d"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("register", "reviewer", "--rename", "all"), 2, "cannot be the name"),
        (("register", "nobody", "--rename", "x"), 4, "there is no agent"),
        (("register", "all"), 2, "cannot be the name"),
        (("register", "x", "--away", "--available"), 2, "cannot be combined"),
        (("register", "x", "--away", "--card", "-"), 2, "cannot be combined"),
        (("register", "x", "--type", "robot"), 2, "robot"),
        (("register", "x", "--capability", "a b"), 2, "cannot be a capability"),
        (("show", "nobody"), 4, "there is no agent"),
        (("update", "nobody", "--away"), 4, "there is no agent"),
        (("register", "x", "--card", "/no/such/file"), 4, "not found"),
        (("register", "x", "--card", "-"), 7, "not an agent card"),
    ],
)
def test_a_mistake_is_one_error_with_its_exit_code(registered, words, code, text):
    assert text in registered.run_refused("agents", *words, code=code)["message"]


def test_processes_that_register_at_once_get_different_numbers(conversation):
    """S2-1."""

    def register(name):
        return conversation.run_process("agents", "register", name).stdout.strip()

    count = amount(12, 4)
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(register, [f"agent-{number}" for number in range(count)]))
    assert sorted(map(int, numbers)) == list(range(1, count + 1))


def test_a_terminal_shows_who_is_available(registered):
    registered.run("agents", "register", "planner", "--away")
    text = registered.run("agents", "list", "--available")
    assert "planner" not in text


def test_a_message_is_sent_read_and_acknowledged(registered):
    """S4-30, S4-33."""
    done = registered.run("send", registered.id, "--to", "@review", "--as", "carol", "Please look", "--json")
    assert (done["kind"], done["delivered_to"], done["queued_for"]) == ("routing", ["reviewer"], [])
    (received,) = registered.run("inbox", "reviewer", "--json")["messages"]
    assert (received["id"], received["text"], received["from"]) == (done["message"], "Please look", "carol")
    assert registered.run("inbox", "1").split("\t")[0] == done["message"]
    assert len(registered.run("inbox", "reviewer", "--ack", "--json")["messages"]) == 1
    assert registered.run("inbox", "reviewer") == ""


def test_nobody_available_is_an_error_of_its_own(registered):
    """S4-31, S4-32."""
    registered.run("agents", "register", "reviewer", "--away")
    refusal = registered.run_refused("send", registered.id, "--to", "reviewer", "hello", code=1)
    assert (refusal["kind"], refusal["hint"]) == ("no-agents", "to let the message wait for them: --queue")
    done = registered.run_main("send", registered.id, "--to", "reviewer", "--queue", "hello")
    assert (done.returncode, done.stderr) == (0, "note: waiting for reviewer\n")
    assert registered.run_refused("send", registered.id, "--to", "nobody", "hello", code=4)["kind"] == "not-found"
    assert registered.run_refused("send", registered.id, "hello", code=2)["kind"] == "invalid"


def test_processes_that_send_to_one_inbox_lose_nothing(registered):
    """Several writers; every message arrives once, and those of one writer in their order."""

    def work(writer):
        for number in range(3):
            done = registered.run_process("send", registered.id, "--to", "reviewer", f"{writer}.{number}")
            assert done.returncode == 0, done.stderr

    writers = range(amount(8, 3))
    with ThreadPoolExecutor(len(writers)) as pool:
        list(pool.map(work, writers))
    texts = [each["text"] for each in registered.run("inbox", "reviewer", "--json")["messages"]]
    assert sorted(texts) == [f"{writer}.{number}" for writer in writers for number in range(3)]
    for writer in writers:
        own = [text for text in texts if text.startswith(f"{writer}.")]
        assert own == sorted(own)


@pytest.mark.parametrize(("capability", "cure"), [("reviev", "did you mean review?"), ("@zz", "capabilities: review")])
def test_a_capability_that_nobody_has_is_noted(registered, capability, cure):
    """Nothing was printed, with exit code 0."""
    done = registered.run_main("agents", "list", "--capability", capability)
    assert (done.returncode, done.stdout) == (0, "")
    name = capability.removeprefix("@")
    assert done.stderr.splitlines() == [f"note: no registered agent has the capability '{name}'", f"hint: {cure}"]


def test_the_note_about_a_capability_says_how_to_give_one_if_there_is_none(registered):
    registered.run("agents", "register", "reviewer", "--capability", "-review")
    done = registered.run_main("agents", "list", "--capability", "review")
    assert done.stderr.splitlines()[1] == "hint: to give an agent one: scopes agents register AGENT --capability WORD"


def test_nobody_available_with_a_known_capability_is_no_note(registered):
    registered.run("agents", "register", "reviewer", "--away")
    assert registered.run_main("agents", "list", "--capability", "review", "--available").stderr == ""


@pytest.mark.parametrize("kind", ["decision", "priority", "method", "analysis"])
def test_the_hint_of_send_names_only_options_that_it_has(registered, kind):
    """It named --topic, which only append has."""
    error = registered.run_refused("send", registered.id, "--to", "reviewer", "--kind", kind, "SQLite", code=2)
    assert error["hint"].startswith(f"for example: --kind {kind} --data ")
    appended = registered.run_refused("append", registered.id, "--kind", kind, "SQLite", code=2)
    assert " or --kind " in appended["hint"]


def test_a_misspelled_capability_of_a_receiver_is_suggested(registered):
    error = registered.run_refused("send", registered.id, "--to", "@reviwe", "hello", "--as", "carol", code=4)
    assert error["hint"] == "did you mean @review?"


def test_a_report_asks_nobody_to_decide_when_the_collaboration_has_ended(registered):
    """It still said that somebody neutral has to decide, below the outcome."""
    registered.run("agents", "register", "ann")
    branch = registered.run("collaborate", registered.id, "--type", "consensus", "--agents", "all", "--task", "Choose")
    for name, text in (("ann", "JWT"), ("reviewer", "Sessions")):
        registered.run("collaborate", "argue", branch.strip(), text, "--as", name)
    report = registered.run("collaborate", "show", branch.strip())
    assert "No consensus: JWT (1); Sessions (1)." in report
    assert "somebody neutral has to decide" in report
    registered.run("collaborate", "close", branch.strip(), "--outcome", "JWT")
    report = registered.run("collaborate", "show", branch.strip())
    assert "No consensus was reached before the end: JWT (1); Sessions (1)." in report
    assert "has to decide" not in report


@pytest.mark.parametrize(("key", "near"), [("Seds", ["did you mean Seeds?"]), ("Seeds", []), ("spec", [])])
def test_a_misspelled_context_key_of_a_new_agent_is_noted(registered, key, near):
    """The agent never ran, and nothing said so."""
    done = registered.run("agents", "register", "analyst", "--depends-on", key, "--json")
    assert [note["hint"] for note in done.get("notes", [])] == near


@pytest.mark.parametrize(
    ("words", "where"),
    [(("hello",), "main"), (("@", "hello"), "main"), (("CONV/fix", "hello"), "fix"), (("CONV", "-m", "hello"), "main")],
)
def test_a_message_goes_to_the_newest_conversation_unless_a_place_is_named(registered, words, where):
    words = [word.replace("CONV", registered.id) for word in words]
    done = registered.run("send", *words, "--to", "reviewer", "--json")
    assert (done["conversation"], done["branch"]) == (registered.id, where)


def test_a_dry_run_sends_nothing_and_starts_no_program(registered, user_configuration, tmp_path):
    registered.run("config", "scopes.agent.reviewer.delivery", f"touch {tmp_path}/ran", "--level", "user")
    assert registered.run("send", "hello", "--to", "reviewer", "--dry-run", "--json")["delivered_to"] == ["reviewer"]
    assert registered.run("inbox", "reviewer") == ""
    assert not (tmp_path / "ran").exists()
    assert registered.run_refused("inbox", "reviewer", "--deliver", "--dry-run", code=2)


def test_a_watch_ends_after_so_many_seconds_without_a_message(registered):
    registered.run("send", "hello", "--to", "reviewer")
    assert "hello" in registered.run("inbox", "reviewer", "--watch=0")
    assert registered.run_refused("inbox", "reviewer", "--watch=long", code=2)["message"].startswith("--watch=long")
