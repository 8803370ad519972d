"""The fast decoder of records, msgspec: what it accepts, it decodes as the ordinary decoder does, text of numbers included."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scopes import fast_json
from scopes.importers.formats.json_lines import walk_records
from scopes.importers.formats.lossless_json import (
    MAX_DEPTH,
    NOT_DECODED,
    InexactNumber,
    RepeatedKeys,
    decode,
    decode_fast,
    find_text_field,
)

pytest.importorskip("msgspec")

TOKENS = st.sampled_from([
    "0", "-0", "1", "-1", "1.0", "1.5", "0.10", "1e5", "1E5", "1e+16", "1e400", "NaN", "Infinity", "-Infinity", "00", "01",
    str(2**63), str(2**64 - 1), str(2**64), str(-(2**63) - 1), "9" * 400, "9" * 4301, "0.00001", "123456789.125", "5e-324",
    "-0.0", '"a"', '"\\u0061"', '"\\/"', '"\\ud83d"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\u001F"', '"\x7f"', '"\t"',
    '"\u2028"', '"\U0001f600"', "true", "false", "null", "True", "", " 1", "1 ",
])  # fmt: skip
NAMES = st.sampled_from(['"a"', '"b"', '"\\u0061"', '""', '"a b"', '"' + "long" * 20 + '"', "a", "1"])


def containers(inner):
    members = st.lists(st.tuples(NAMES, inner), max_size=4)
    objects = members.map(lambda pairs: "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}")
    spaced = members.map(lambda pairs: "{ " + ", ".join(f"{name}: {value}" for name, value in pairs) + "}")
    arrays = st.lists(inner, max_size=4).map(lambda items: "[" + ",".join(items) + "]")
    return objects | spaced | arrays


JSON_TEXTS = st.recursive(TOKENS, containers, max_leaves=15)
BYTES = JSON_TEXTS.map(str.encode) | st.binary(max_size=20) | JSON_TEXTS.map(lambda text: text.encode()[:-1])


@pytest.fixture(autouse=True)
def fast_library():
    before = fast_json.library
    fast_json.enable()
    yield
    fast_json.library = before


def facts(value):
    """Return a value with its types, its order, and the texts and pairs that only the lossless types have."""
    if isinstance(value, RepeatedKeys):
        return "repeated", [(key, facts(item)) for key, item in value.items()], [(k, facts(v)) for k, v in value.pairs]
    if isinstance(value, dict):
        return "dict", [(key, facts(item)) for key, item in value.items()]
    if isinstance(value, list):
        return "list", [facts(item) for item in value]
    return type(value), value.token if isinstance(value, InexactNumber) else repr(value)


@given(BYTES)
@example(b'{"a":1,"a":1}')
@example(b'{"a":{"b":1.0,"c":[1e5]}}')
@example("\ufeff{}".encode())
@example(b"\xff")
@example(b'"\xed\xa0\x80"')
@example(b"[" * 1000 + b"]" * 1000)
def test_what_the_fast_decoder_accepts_is_decoded_as_by_the_ordinary_one(document):
    value = decode_fast(document)
    if value is not NOT_DECODED:
        assert facts(value) == facts(decode(document.decode()))


@given(st.lists(BYTES | st.sampled_from([b"", b" ", b"\r", b'{"a":1}{"b":2}']), max_size=6), st.booleans())
def test_records_are_equal_with_and_without_the_fast_decoder(lines, ends):
    data = b"\n".join(lines) + b"\n" * ends

    def read():
        return [
            (record.line, record.number, record.span, record.problem, facts(record.value))
            for record in walk_records(BytesIO(data), len(data))
        ]

    with_library = read()
    fast_json.library = None
    without_library = read()
    fast_json.enable()
    assert with_library == without_library


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_the_limit_of_nesting_is_that_of_the_ordinary_decoder(levels, brackets):
    inner, begin = ("[]", "[") if brackets == "[]" else ("{}", '{"k":')
    document = (begin * (levels - 1) + inner + brackets[1] * (levels - 1)).encode()
    assert (decode_fast(document) is NOT_DECODED) == (levels > MAX_DEPTH)


@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1])
def test_a_large_document_has_the_same_limit_of_nesting(levels):
    document = b'["%s",%s%s]' % (b"x" * 5000, b"[" * (levels - 1), b"]" * (levels - 1))
    assert (decode_fast(document) is NOT_DECODED) == (levels > MAX_DEPTH)


def test_a_document_after_a_large_one_is_compared_with_its_own_bytes():
    large = b'["%s"]' % (b"x" * (2 << 20))
    assert decode_fast(large) == ["x" * (2 << 20)]
    assert decode_fast(b'{"a":[1,2]}') == {"a": [1, 2]}
    assert decode_fast(b'{"a": 1}') is NOT_DECODED


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
        lambda items: st.lists(items) | st.dictionaries(st.text(), items),
    )
)
def test_a_compact_document_of_plain_values_is_decoded_fast(value):
    document = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    assert decode_fast(document) == value


def test_an_inexact_number_in_a_compact_document_keeps_its_text():
    value = decode_fast(b'{"cost":0.10,"ratio":0.5,"limit":1e5}')
    assert [facts(item) for item in value.values()] == [(InexactNumber, "0.10"), (float, "0.5"), (InexactNumber, "1e5")]


@pytest.mark.parametrize("document", [b'{"a":1,"a":1}', b'{"a": 1}', b'"\\u0061"', b"-0", b"NaN", b"\xff", b""])
def test_a_document_that_would_lose_something_is_left_to_the_ordinary_decoder(document):
    assert decode_fast(document) is NOT_DECODED


@given(BYTES)
@example(b'{"a":"x","a":null}')
@example(b'{"\\u0061":"x"}')
@example(b'{"b":{"a":"x"}}')
@example(b'{"a":"x"}{"a":"y"}')
def test_a_field_found_without_decoding_the_rest_is_that_of_the_document(document):
    found = find_text_field(document, "a")
    try:
        value = decode(document.decode())
    except (ValueError, RecursionError):
        return
    if found is not NOT_DECODED:
        assert isinstance(value, dict)
        assert found == (value.get("a") if isinstance(value.get("a"), str) else None)


def test_a_line_whose_content_is_known_keeps_its_place_among_the_records():
    data = b'\n{"a":1}\n{"a":2}\n\n{"a":3}'
    read = list(walk_records(BytesIO(data), len(data)))
    skipped = list(walk_records(BytesIO(data), len(data), lambda line: b"2" in line))
    assert [record.span for record in skipped] == [record.span for record in read]
    assert [record.value for record in skipped] == [{"a": 1}, None, {"a": 3}]


@pytest.mark.parametrize("document", [b'{"a":[1,"x"]}', b"1", b'""'])
def test_the_end_of_a_line_is_no_part_of_the_document_but_other_blanks_are(document):
    assert decode_fast(document + b"\n") == decode_fast(document) == json.loads(document)
    for line in (document + b"\n\n", document + b"\r\n", document + b" \n", b"\n" + document, b"\n"):
        assert decode_fast(line) is NOT_DECODED
