"""Copies of purged texts are recognized by whole lines of 16 characters and more."""

from __future__ import annotations

import json

import pytest

from scopes.history.blank_records import Span, blank_records
from scopes.history.purged import purged_of
from scopes.history.purged_spans import RecordSpan, list_purged_spans
from scopes.history.quotes import DISTINCT, MAX_SEARCHED, Quotes
from scopes.model.message import Author, Message, Part

LINE = "the password of the database is hunter2"
GONE = purged_of({"gone": None}, ())


def no_message(_message):
    return ()


def quotes_of(*texts):
    quotes = Quotes()
    for text in texts:
        quotes.add(text)
    return quotes


def test_the_texts_of_chosen_parts_count_and_no_ids():
    parts = (
        Part("text", {"text": "kept kept kept kept"}),
        Part("tool_call", {"call_id": "call-1234567890-abcdef", "name": "Bash", "input": {"command": ["echo", LINE]}}),
    )
    quotes = Quotes()
    quotes.add_message(Message(id="m", author=Author("claude"), parts=parts), frozenset({1}))
    assert quotes.lines() == [LINE]


def test_a_document_counts_only_with_all_of_the_message():
    message = Message(
        id="m", author=Author("carol"), parts=(Part("text", {"text": "x"}),), kind="decision", payload={"d": LINE}
    )
    whole, part = Quotes(), Quotes()
    whole.add_message(message, None)
    part.add_message(message, frozenset({0}))
    assert (whole.lines(), part.lines()) == ([LINE], [])


def test_a_file_has_a_line_as_it_is_or_as_json_writes_it():
    quotes = quotes_of('say "hush" and C:\\temp\\x')
    assert quotes.are_in_bytes(b'x say "hush" and C:\\temp\\x y')
    assert quotes.are_in_bytes(rb'{"text":"say \"hush\" and C:\\temp\\x"}')
    assert not quotes.are_in_bytes(b"say hush and")


def test_short_lines_prove_nothing_and_very_long_lists_are_limited():
    assert quotes_of("x" * (DISTINCT - 1)).lines() == []
    quotes = quotes_of("\n".join(f"a line with number {n:06}" for n in range(MAX_SEARCHED + 3)))
    assert (len(quotes.lines()), quotes.unsearched) == (MAX_SEARCHED, 3)
    assert quotes_of(LINE).unsearched == 0


def test_of_a_record_of_a_message_that_stays_only_texts_go_that_the_message_does_not_have():
    kept = {"said": "first of all lines", "cwd": "/srv", "nested": "no"}
    lost = {
        LINE: "name",
        "a": f'x "{LINE}" \\',
        "b": [json.dumps({"c": LINE})],
    }
    data = json.dumps({**kept, **lost}).encode()
    records = [RecordSpan(Span(4, len(data)), "kept"), RecordSpan(Span(0, 4), "gone")]
    quotes = quotes_of(f"first of all lines\n{LINE}")
    read = ([b"gone", data], lambda _message: [b'{"text":"first of all lines"}'])
    found = list_purged_spans(records, GONE, quotes, lambda: read[0], read[1])
    after = b"".join(blank_records(read[0], *found))[4:]
    blanked = {name.strip(): value for name, value in json.loads(after).items()}
    assert (len(after), {name: blanked.pop(name) for name in kept}) == (len(data), kept)
    assert {name: "".join(value).strip() for name, value in blanked.items()} == {"": "name", "a": "", "b": ""}


@pytest.mark.parametrize(
    ("title", "is_own", "is_other"),
    [(LINE, True, True), (f"rename it to '{LINE}'", True, True), (f"{LINE[:20]}…", True, False), ("hunter2", True, False),
     ("the", False, False), ("another title", False, False)],
)  # fmt: skip
def test_a_title_has_a_line_or_begins_like_one_of_its_conversation(title, is_own, is_other):
    quotes = quotes_of(f"hunter2\n{LINE}\nlast")
    assert (quotes.are_in_title(title), quotes.are_in(title)) == (is_own, is_other)


@pytest.mark.parametrize(
    ("record", "found"),
    [({"last": LINE}, True), ({"items": [{"text": f"so: {LINE}"}]}, True), ({"last": LINE[:20]}, False),
     ({"cwd": LINE}, False), ({"repository_url": "git@github.com:acme/shop.git"}, False),
     ({"repository_url": "https://carol:hunter2-and-more@host/shop.git"}, True)],
)  # fmt: skip
def test_a_record_has_a_line_anywhere_but_where_the_session_ran(record, found):
    urls = ("git@github.com:acme/shop.git", "https://carol:hunter2-and-more@host/shop.git")
    assert quotes_of(LINE, *urls).are_in_record(json.dumps(record).encode()) is found


def test_the_path_of_a_file_is_no_text_to_look_for_and_a_key_in_its_place_is():
    key = "/K7MDENGbPxRfiCYEXAMPLEKEYwJalrXUtnFEMI"
    assert quotes_of("/home/anna/projects/payments", key).lines() == [key]


def test_names_in_documents_are_no_copies():
    quotes = quotes_of("payments-service-v2")
    document = {"branch": "payments-service-v2", "text": "refs/heads/conv-001/payments-service-v2"}
    assert not quotes.are_in_document(json.dumps(document).encode())
    changed = quotes.without_copies({**document, "summary": "on payments-service-v2"}, "[purged]")
    assert changed == {**document, "summary": "[purged]"}
