"""Copies of purged texts are recognized as whole lines, and as beginnings where texts are cut."""

from __future__ import annotations

import json

import pytest

from scopes.history import names_in_records
from scopes.history.blank_records import PurgedSpans, Span, blank_records
from scopes.history.names_in_records import without_names
from scopes.history.paths_in_texts import is_path
from scopes.history.purged import NOTHING, purged_of
from scopes.history.purged_spans import RecordSpan, list_purged_spans
from scopes.history.quotes import DISTINCT, MAX_SEARCHED, Quotes, forms_of, has_words
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


@pytest.mark.parametrize(
    ("text", "found"),
    [(LINE, True), (f"rename it to '{LINE}'", True), (LINE[:20], True), (f"{LINE[:20]}…", True), ("the", False),
     ("another title", False), (LINE[5:], False)],
)  # fmt: skip
def test_a_title_quotes_a_line_or_begins_like_one(text, found):
    assert quotes_of(f"first\n{LINE}\nlast").are_in(text) is found


@pytest.mark.every_case("each is another place of a word")
@pytest.mark.parametrize(
    ("text", "found"),
    [("test", True), ("a test.", True), ("the 'test'", True), ("latest", False), ("tests", False), ("latest test", True),
     ("a_test", True), ("(ok)", True), ("x(ok)y", True), ("tes", False), ("test1", False), ("测test试", True)],
)  # fmt: skip
def test_a_short_text_is_found_as_words_and_not_within_one(text, found):
    quotes = quotes_of("test", "(ok)")
    assert quotes.are_words_in(text) is found
    assert (has_words(text, "test") or has_words(text, "(ok)")) is found


def test_the_texts_of_chosen_parts_count_and_no_ids():
    parts = (
        Part("text", {"text": "kept kept kept kept"}),
        Part("tool_call", {"call_id": "call-1234567890-abcdef", "name": "Bash", "input": {"command": ["echo", LINE]}}),
    )
    quotes = Quotes()
    quotes.add_message(Message(id="m", author=Author("claude"), parts=parts), frozenset({1}))
    assert quotes.distinct() == [LINE]


def test_a_document_counts_only_with_all_of_the_message():
    message = Message(
        id="m", author=Author("carol"), parts=(Part("text", {"text": "x"}),), kind="decision", payload={"d": LINE}
    )
    whole, part = Quotes(), Quotes()
    whole.add_message(message, None)
    part.add_message(message, frozenset({0}))
    assert (whole.distinct(), part.distinct()) == ([LINE], [])


def test_a_file_has_a_line_as_it_is_or_as_json_writes_it():
    quotes = quotes_of('say "hush" and C:\\temp\\x')
    assert quotes.are_in_file(b'x say "hush" and C:\\temp\\x y')
    assert quotes.are_in_file(rb'{"text":"say \"hush\" and C:\\temp\\x"}')
    assert not quotes.are_in_file(b"say hush and")


def test_short_lines_prove_nothing_and_very_long_lists_are_limited():
    assert quotes_of("x" * (DISTINCT - 1)).distinct() == []
    quotes = quotes_of("\n".join(f"a line with number {n:06}" for n in range(MAX_SEARCHED + 3)))
    assert (len(quotes.distinct()), quotes.unsearched) == (MAX_SEARCHED, 3)
    assert quotes_of(LINE).unsearched == 0


@pytest.mark.parametrize("line", ["PASSWORD=hunter2x", 'say "hunter2" to it'])
def test_the_shortest_of_many_lines_is_found(line):
    quotes = quotes_of("\n".join([*(f"VARIABLE_NUMBER_{n:03} = a longer value" for n in range(200)), line]))
    assert quotes.are_in_file(f"the log says: {line}".encode())
    assert quotes.are_in_record(json.dumps({"x": {"said": f"the log says: {line}!"}}).encode())
    assert quotes.are_in_document(json.dumps({"text": f"Bob says {line}"}).encode())
    assert not quotes.are_in_file(f"the log says: {line[:-1]}".encode())


@pytest.mark.parametrize("count", [20, 200])
def test_a_short_text_among_few_or_many(count):
    quotes = quotes_of("Zeb9!hunter2", *(f"short {n:04}" for n in range(count)))
    assert quotes.are_in_record(b'{"title": "it is Zeb9!hunter2, I think"}') is True
    assert quotes.are_in_record(b'{"title": "it is Zeb9!hunter, I think"}') is False


def test_records_of_purged_messages_and_those_that_quote_them_are_found():
    data = b'{"m":1}\n{"t":"' + LINE.encode() + b'"}\n{"x":2}\n'
    spans = [Span(0, 8), Span(8, len(data) - 16), Span(len(data) - 8, 8)]
    records = [RecordSpan(spans[0], "gone"), RecordSpan(spans[1], None), RecordSpan(spans[2], None)]
    chunks = [data[:20], data[20:]]
    found = list_purged_spans(records, GONE, quotes_of(LINE), lambda: chunks, no_message)
    assert found == PurgedSpans(spans[:2], [])
    nothing = list_purged_spans(records, purged_of({"other": None}, ()), Quotes(), lambda: [data], no_message)
    assert nothing == PurgedSpans([], [])


def test_very_many_lines_and_titles_are_compared_in_a_few_looks():
    """The number of looks, not the time: each title is compared with the lines that begin like it."""
    quotes = quotes_of("\n".join(f"{n:05} is the number of this line" for n in range(20_000)))
    assert quotes.are_in("about: 00042 is the number of this line, and more")
    assert not quotes.are_in("about: 00042 is the number of that line")
    assert quotes.are_in("19999 is the num…")
    assert not any(quotes.are_in(f"a title with no number, the {n}th of them") for n in range(2_000))


@pytest.mark.parametrize(
    ("record", "found"),
    [({"last": "hunter2"}, True), ({"last": " hunter2\n"}, True), ({"items": [{"text": "hunter2"}]}, True),
     ({"last": "hunter2 and more"}, False), ({"last": "hun"}, False), ({"gitBranch": "hunter2"}, False),
     ({"last": LINE[:17]}, True), ({"last": LINE[:16]}, False), ({"last": f"{LINE[:12]}…"}, True),
     ({"last": f"{LINE[:12]}..."}, True), ({"last": f"{LINE[:7]}…"}, False), ({"last": LINE[4:]}, False),
     ({"cwd": LINE[:17]}, False), ({"last": "/srv/shop/secrets/of"}, False), ({"last": "/srv/shop/secrets/of…"}, True),
     ({"last": "first!\nsecond!!"}, True), ({"last": "x\nsecond!!\ny"}, True), ({"last": "x\nfirst!\ny"}, False)],
)  # fmt: skip
def test_a_record_quotes_a_text_as_a_whole_a_line_of_it_or_its_beginning(record, found):
    quotes = quotes_of("hunter2", f"{LINE}\nlast", "first!\nsecond!!", "/srv/shop/secrets/of/the/door")
    assert quotes.are_in_record(json.dumps(record).encode()) is found


def test_a_record_that_is_no_json_is_searched_for_the_bytes_of_short_texts():
    assert quotes_of("Zeb9!hunter2").are_in_record(b"{broken: Zeb9!hunter2")
    assert not quotes_of("Zeb9!hunter2").are_in_record(b"{broken: Zeb9!hunter")
    assert not Quotes().are_in_record(b"{broken")


def test_of_a_record_of_a_message_that_stays_only_texts_go_that_the_message_does_not_have():
    kept = {"said": "first of all lines", "cwd": "/srv", "nested": "no"}
    lost = {LINE: "name", "a": f'x "{LINE}" \\', "b": [json.dumps({"c": f"{LINE}"})], "hunter2!": "hunter2!"}
    data = json.dumps({**kept, **lost}).encode()
    records = [RecordSpan(Span(4, len(data)), "kept"), RecordSpan(Span(0, 4), "gone")]
    quotes = quotes_of(f"first of all lines\n{LINE}", "hunter2!")
    read = ([b"gone", data], lambda _message: [b'{"text":"first of all lines"}'])
    found = list_purged_spans(records, GONE, quotes, lambda: read[0], read[1])
    after = b"".join(blank_records(read[0], *found))[4:]
    blanked = {name.strip(): value for name, value in json.loads(after).items()}
    assert (len(after), {name: blanked.pop(name) for name in kept}) == (len(data), kept)
    assert {name: "".join(value).strip() for name, value in blanked.items()} == {"": "", "a": "", "b": ""}


def test_the_lines_of_a_span_that_quote_go_alone():
    data = b'{"x": "y"}\n{"last": "hunter2"}\n{"x": "z"}\n'
    records = [RecordSpan(Span(0, len(data)), None)]
    spans = list_purged_spans(records, NOTHING, quotes_of("hunter2"), lambda: [data], no_message)
    assert [data[span.offset : span.offset + span.length] for span in spans.records] == [b'{"last": "hunter2"}\n']


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


@pytest.mark.parametrize("name", ["workdir", "cwd"])
def test_where_a_tool_was_called_is_no_text_to_look_for_and_its_other_arguments_are(name):
    directory = "/home/anna/projects/payments"
    arguments = {"cmd": "cat settings/production.env", name: directory}
    quotes = Quotes()
    quotes.add_parts([Part("tool_call", {"call_id": "c", "name": "exec_command", "input": arguments})], None)
    assert quotes.distinct() == ["cat settings/production.env"]
    session = {"type": "session_meta", "cwd": directory, "instructions": f"work in {directory} only"}
    assert not quotes.are_in_record(json.dumps(session).encode())
    assert not quotes.are_in_leaf("text", f"see {directory}", b"")
    assert quotes.are_in_leaf("text", "run: cat settings/production.env", b"")


def test_a_key_in_the_place_of_a_directory_is_a_text_to_look_for():
    key = "/K7MDENGbPxRfiCYEXAMPLEKEYwJalrXUtnFEMI"
    quotes = Quotes()
    quotes.add_parts([Part("tool_call", {"call_id": "c", "name": "exec_command", "input": {"workdir": key}})], None)
    assert quotes.distinct() == [key]


@pytest.mark.parametrize(
    ("address", "is_name"),
    [
        ("https://github.com/acme/shop.git", True),
        ("git@github.com:acme/shop.git", True),
        ("ssh://git@host/acme/shop.git", True),
        ("https://carol:hunter2-and-more@host/shop.git", False),
        ("https://host/shop.git?token=hunter2-and-more", False),
    ],
)
def test_the_repository_of_a_session_is_a_name_unless_its_address_has_a_password(address, is_name):
    record = json.dumps({"git": {"repository_url": address}}).encode()
    assert (names_in_records.is_name("repository_url", address), address.encode() not in without_names(record)) == (
        is_name,
        is_name,
    )


def test_a_short_name_is_not_taken_for_the_longer_line_that_begins_with_it():
    quotes = quotes_of("main\nmain is where all the work is")
    assert quotes.have_line_in("main is where all the work is")
    assert not quotes.have_line_in("main")


def test_a_text_that_is_kept_elsewhere_in_the_record_does_not_count():
    line = "cat settings/production.env\twith its tab"
    quotes = Quotes()
    quotes.add([f"first\n{line}", "the whole answer"])
    kept = json.dumps({"text": f"see {line}"}).encode()
    assert quotes.are_in_leaf("text", f"see {line}", b"")
    assert not quotes.are_in_leaf("text", f"see {line}", kept)
    assert quotes.are_in_leaf("text", "the whole answer", kept)
    assert not quotes.are_in_leaf("text", "the whole answer", b"so: the whole answer")
    assert quotes.are_in_leaf("text", "cat settings/production.env...", b"")
    assert not quotes.are_in_leaf("text", "cat settings/production.env...", kept)
