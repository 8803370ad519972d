from __future__ import annotations

from tests.render.rendering import document, piped, seen_lines
from tests.render.results import SAMPLES

TOKENS = SAMPLES["tokens"]


def test_a_piped_count_is_the_number_and_an_estimate_is_marked():
    assert (piped(TOKENS["text"]), piped(TOKENS["conversation"])) == ("1234\n", "~98765\n")


def test_a_terminal_shows_the_counting_method():
    assert seen_lines(TOKENS["text"])[0] == "1,234 tokens  o200k_base, exact"
    assert seen_lines(TOKENS["conversation"])[0] == "~98,765 tokens  estimate"


def test_a_file_with_a_wrong_hash_is_named_as_such():
    rows = [line.split("\t") for line in piped(TOKENS["status"]).splitlines()]
    assert rows[0][3].endswith("(wrong hash)")
    assert rows[2] == ["cl100k_base", "estimate", "", ""]


def test_the_document_of_a_text_has_no_messages():
    assert "messages" not in document(TOKENS["text"])
    assert document(TOKENS["conversation"])["parts"]["tool_result"] == 30_000


def test_what_was_fetched_is_its_path_in_a_pipe():
    assert piped(TOKENS["fetched"]) == "/home/carol/.cache/scopes/tokens/o200k_base.tiktoken\n"
