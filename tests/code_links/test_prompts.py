"""What was asked for in a turn: prompts as they were typed, and the end of the answer that they agreed to."""

from __future__ import annotations

import pytest

from scopes.code_links.edit_index import IndexedTurn
from scopes.code_links.prompts import MAX_END, MAX_PROMPT, Request, as_typed, end_of, read_request
from scopes.ids import ConversationId
from tests.support.history import history, say
from tests.support.store import remove_object


def turn(prompt=None, agreed_to=None, long_prompt=None):
    return IndexedTurn(1, prompt, agreed_to, long_prompt, 0.0, 0.0, ConversationId("conv-001"))


@pytest.fixture
def write(repository):
    """Return a function that appends a message and returns its commit."""
    history(repository, "main: a")
    return lambda text: say(repository, "conv-001", text).oid


LONG = "please write a command that lists the branches"


def test_a_short_prompt_has_the_answer_before_it_and_the_longer_prompt(repository, write):
    asked, answer, yes = write(LONG), write("Shall I?"), write("yes")
    assert read_request(repository, turn(yes, answer, asked)) == Request("yes", "Shall I?", LONG)


@pytest.mark.parametrize("prompt", [LONG, "fix the tests", f"yes, and {LONG}, and the tags too"])
def test_an_instruction_of_its_own_agrees_to_no_answer(repository, write, prompt):
    answer, asked = write("Done and committed."), write(prompt)
    assert read_request(repository, turn(asked, answer)).agreed_to is None


def test_an_approval_that_is_not_very_short_agrees_to_the_answer_before_it(repository, write):
    answer, yes = write("Shall I move it?"), write("yep let's refactor. do we have tests to move too?")
    assert read_request(repository, turn(yes, answer)).agreed_to == "Shall I move it?"


def test_a_long_prompt_has_no_longer_one(repository, write):
    first, second = write(LONG), write(f"no, {LONG} and the tags")
    assert read_request(repository, turn(second, None, first)).longer_prompt is None


def test_a_turn_before_the_first_prompt_asked_for_nothing(repository):
    assert read_request(repository, turn()) == Request()


def test_a_prompt_that_is_lost_is_none(repository, write):
    lost = write("yes")
    remove_object(repository, lost)
    assert read_request(repository, turn(lost)) == Request()


def test_a_very_long_prompt_is_cut(repository, write):
    assert len(read_request(repository, turn(write("x" * 10_000))).prompt) == MAX_PROMPT


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("  fix it\n", "fix it"),
        ("<command-name>/compact</command-name> <command-message>compact</command-message>", "/compact"),
        (
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>42</command-args>",
            "/review 42",
        ),
        ("<command-message>superpowers:plan</command-message>", "/superpowers:plan"),
        ("fix it <system-reminder>do not\nforget</system-reminder>", "fix it"),
        ("<ide_opened_file>The user opened a.py</ide_opened_file>fix it", "fix it"),
    ],
)
def test_a_prompt_is_shown_as_it_was_typed(text, typed):
    assert as_typed(text) == typed


def test_a_short_answer_is_returned_whole():
    assert end_of("  Shall I?\n") == "Shall I?"


def test_of_a_long_answer_the_last_paragraphs_count():
    answer = "word " * 200 + "\n\nI would move it.\n\nShall I?"
    assert end_of(answer) == "… I would move it.\n\nShall I?"


def test_without_paragraphs_the_end_begins_with_a_sentence():
    answer = "First sentence. " * 30 + "Shall I?"
    assert end_of(answer).startswith("… First sentence.")
    assert len(end_of(answer)) <= MAX_END + 2


def test_without_sentences_the_end_begins_with_a_word():
    assert end_of("word " * 200).startswith("… word")


def test_without_words_the_end_is_cut_anywhere():
    assert end_of("x" * 1000) == "… " + "x" * MAX_END
