"""Copies of purged texts are recognized by whole lines of 16 characters and more."""

from __future__ import annotations

import json
import random

import pytest

from scopes.history.sources import NOTHING, purged_of
from scopes.importers.purged_texts import (
    DISTINCT,
    MAX_SEARCHED,
    ByteSearch,
    Quotes,
    RecordSpan,
    Span,
    forms_of,
    is_path,
    list_purged_spans,
)
from scopes.model.message import Part
from scopes.purge.rewrite_records import is_copied_in, quotes_in_title, without_copies

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
    quotes.add_parts(parts, frozenset({1}))
    assert quotes.lines() == [LINE]


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


@pytest.mark.parametrize(("more", "goes"), [({"cwd": LINE}, False), ({"result": f"x {LINE}"}, True)])
def test_a_record_of_a_message_that_stays_goes_if_it_has_a_line_that_the_message_does_not_have(more, goes):
    data = json.dumps({"said": "first of all lines", **more}).encode()
    records = [RecordSpan(Span(0, len(data)), "kept")]
    quotes = quotes_of(f"first of all lines\n{LINE}")
    found = list_purged_spans(
        records, GONE, quotes, lambda: [data], lambda _message: [b'{"text":"first of all lines"}']
    )
    assert found == [records[0].span] * goes


@pytest.mark.parametrize(
    ("title", "is_own", "is_other"),
    [(LINE, True, True), (f"rename it to '{LINE}'", True, True), (f"{LINE[:20]}…", True, False), ("hunter2", True, False),
     ("the", False, False), ("another title", False, False)],
)  # fmt: skip
def test_a_title_has_a_line_or_begins_like_one_of_its_conversation(title, is_own, is_other):
    quotes = quotes_of(f"hunter2\n{LINE}\nlast")
    assert quotes_in_title(quotes, title, is_own=True) is is_own
    assert quotes_in_title(quotes, title, is_own=False) is is_other


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
    assert not is_copied_in(quotes, json.dumps(document).encode())
    changed = without_copies(quotes, {**document, "summary": "on payments-service-v2"})
    assert changed == {**document, "summary": "[purged]"}


@pytest.mark.parametrize("line", ["PASSWORD=hunter2x", 'say "hunter2" to it'])
def test_the_shortest_of_many_lines_is_found(line):
    quotes = quotes_of("\n".join([*(f"VARIABLE_NUMBER_{n:03} = a longer value" for n in range(200)), line]))
    assert quotes.are_in_bytes(f"the log says: {line}".encode())
    assert quotes.are_in_record(json.dumps({"x": {"said": f"the log says: {line}!"}}).encode())
    assert is_copied_in(quotes, json.dumps({"text": f"Bob says {line}"}).encode())
    assert not quotes.are_in_bytes(f"the log says: {line[:-1]}".encode())


def test_records_of_purged_messages_and_those_that_quote_them_are_found():
    data = b'{"m":1}\n{"t":"' + LINE.encode() + b'"}\n{"x":2}\n'
    spans = [Span(0, 8), Span(8, len(data) - 16), Span(len(data) - 8, 8)]
    records = [RecordSpan(spans[0], "gone"), RecordSpan(spans[1], None), RecordSpan(spans[2], None)]
    chunks = [data[:20], data[20:]]
    found = list_purged_spans(records, GONE, quotes_of(LINE), lambda: chunks, no_message)
    assert found == spans[:2]
    nothing = list_purged_spans(records, purged_of({"other": None}, ()), Quotes(), lambda: [data], no_message)
    assert nothing == []


def test_the_lines_of_a_span_that_quote_go_alone():
    data = b'{"x": "y"}\n{"last": "%b"}\n{"x": "z"}\n' % LINE.encode()
    records = [RecordSpan(Span(0, len(data)), None)]
    spans = list_purged_spans(records, NOTHING, quotes_of(LINE), lambda: [data], no_message)
    assert [data[span.offset : span.offset + span.length] for span in spans] == [b'{"last": "%b"}\n' % LINE.encode()]


@pytest.mark.parametrize("line", ["a\tb", "a\x08b\x0cc\rd", "Tür", 'Ünï/cödé "x"', "𝄞 \\ \ud800"])
def test_every_way_in_which_json_writes_a_line_is_a_form_of_it(line):
    forms = [*forms_of(line)]
    assert json.dumps(line)[1:-1].encode() in forms
    assert json.dumps(line, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace") in forms
    assert json.dumps(line)[1:-1].replace("/", "\\/").encode() in forms


@pytest.mark.parametrize(
    ("text", "found"),
    [("/home/ann/shop", True), ("~/shop/.config/a_b-1.py", True), ("../../Makefile", True), ("./src/größe.txt", True),
     ("/srv/shop/secret/.env", True), ("/c/Users/AnnSmith2/Documents/", True), ("/srv/AbstractFactoryBean.java", True),
     ("src/a/b.py", False), ("/one", False), ("~name/x/y", False), ("/home/ann/my shop", False), ("//home/ann", False),
     ("/K7MDENGbPxRfiCYEXAMPLE/KEY", False), ("/bPxRfiCY/EXAMPLE", False), ("/srv/wJalrXUtnFEMI7K7MDENG", False),
     ("/srv/x/" + "y" * 64, False), ("/srv/p=w/x", False)],
)  # fmt: skip
def test_a_path_begins_as_one_and_has_ordinary_names(text, found):
    assert is_path(text) is found


@pytest.mark.parametrize("letters", [b"ab", b"abcdefgh"])
def test_many_byte_strings_are_found_as_each_alone_would_be(letters):
    chance = random.Random(repr(letters))
    for _ in range(300):
        data = bytes(chance.choices(letters, k=chance.randint(0, 150)))
        starts = [chance.randint(0, len(data)) for _ in range(chance.randint(1, 9))]
        wanted = [bytes(chance.choices(letters, k=chance.randint(15, 20))) for _ in range(9)]
        wanted += [data[start : start + chance.randint(15, 40)] for start in starts if start + 15 <= len(data)]
        assert set(ByteSearch(wanted).walk(data)) == {each for each in wanted if each in data}
