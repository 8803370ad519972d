"""Canonical JSON. The file of vectors is the contract between machines; properties are tested too."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Corrupt, Invalid
from scopes.importers.formats.records import decode
from scopes.model.canonical_json import (
    MAX_DEPTH,
    MAX_DIGITS,
    Foreign,
    dump,
    load,
    load_distinct,
    without_none,
)

VECTORS_PATH = os.path.join(os.path.dirname(__file__), "vectors", "canonical.json")
with open(VECTORS_PATH, encoding="ascii") as vector_file:
    VECTORS = json.load(vector_file)

TEXT = st.text(st.characters(exclude_categories=())).filter(lambda text: not has_split_pair(text))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


def has_split_pair(text):
    """Return True if two halves of a surrogate pair are adjacent."""
    return any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in itertools.pairwise(text))


def field_from_outside(name, text):
    """Return the field that importers store for a JSON text."""
    try:
        field = {name: decode(text)}
    except (ValueError, RecursionError):
        return {f"{name}_text": text}
    return {key: Foreign(value) for key, value in field.items()}


def with_fields_from_outside(value):
    """Replace each key `@name` by the field for the JSON text below it."""
    if isinstance(value, list):
        return [with_fields_from_outside(item) for item in value]
    if not isinstance(value, dict):
        return value
    document = {}
    for key, item in value.items():
        document |= field_from_outside(key[1:], item) if key.startswith("@") else {key: with_fields_from_outside(item)}
    return document


def nested(levels, inner="[]"):
    """Write JSON of that many levels."""
    return "[" * (levels - 1) + inner + "]" * (levels - 1)


def cases(section):
    return [pytest.param(case, id=case["name"]) for case in VECTORS[section]]


@pytest.mark.parametrize("case", cases("documents"))
def test_each_vector_is_encoded_as_specified(case):
    data = dump(with_fields_from_outside(case["value"]))
    assert data == case["line"].encode() + b"\n"
    assert hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest() == case["oid"]


@pytest.mark.parametrize("case", cases("documents"))
def test_each_vector_is_decoded_as_by_any_json_parser(case):
    data = case["line"].encode() + b"\n"
    assert load(data) == json.loads(data)


@pytest.mark.parametrize("case", cases("unreadable"))
def test_each_invalid_vector_is_refused_with_a_one_line_message(case):
    """C-25, C-27 and D-37, for stored documents."""
    with pytest.raises(Corrupt, match=r"\Astored data cannot be read: [^\n]+\Z"):
        load(bytes.fromhex(case["hex"]))


def test_git_computes_the_object_ids_of_the_vectors(tmp_path):
    for number, case in enumerate(VECTORS["documents"]):
        (tmp_path / str(number)).write_bytes(case["line"].encode() + b"\n")
    names = "".join(f"{number}\n" for number in range(len(VECTORS["documents"])))
    command = ["git", "hash-object", "--no-filters", "--stdin-paths"]
    hashed = subprocess.run(command, cwd=tmp_path, input=names, capture_output=True, text=True, check=True).stdout
    assert hashed.split() == [case["oid"] for case in VECTORS["documents"]]


@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONIOENCODING": "latin-1"},
        {"PYTHONHASHSEED": "random", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns", "PYTHONINTMAXSTRDIGITS": "0"},
    ],
    ids=["C locale", "UTF-8 locale", "Turkish locale"],
)
def test_hash_seed_locale_time_zone_and_digit_limit_change_no_byte(surroundings):
    """P11, for the bytes of a blob."""
    program = f"""
import hashlib, json
from scopes.importers.formats.records import decode
from scopes.model.canonical_json import Foreign, dump
{inspect.getsource(field_from_outside)}
{inspect.getsource(with_fields_from_outside)}
values = [with_fields_from_outside(case["value"]) for case in json.load(open({VECTORS_PATH!r}, "rb"))["documents"]]
values.append({{f"k{{n}}": n for n in range(99)}})
print(hashlib.sha1(b"".join(map(dump, values))).hexdigest())
"""
    lines = [case["line"] for case in VECTORS["documents"]]
    lines.append("{" + ",".join(sorted(f'"k{n}":{n}' for n in range(99))) + "}")
    expected = hashlib.sha1("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), **surroundings}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (run.stdout.strip(), run.stderr) == (expected, "")


@given(JSON)
def test_a_decoded_value_equals_the_encoded_one(value):
    assert load(dump(value)) == value


@given(JSON)
def test_encoding_decoded_bytes_gives_the_same_bytes(value):
    data = dump(value)
    assert dump(load(data)) == data
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1


@given(st.text(st.sampled_from('{}[]":,-+.eE019 aN\\u\n')))
def test_any_foreign_text_can_be_stored(text):
    """C-28: foreign input never raises."""
    document = load(dump(field_from_outside("input", text)))
    assert document in ({"input_text": text}, {"input": document.get("input")})


@given(st.dictionaries(TEXT, st.integers()))
def test_the_insertion_order_of_keys_does_not_matter(members):
    backwards = dict(reversed(members.items()))
    assert dump(members) == dump(backwards)
    assert list(load(dump(Foreign(backwards)))) == list(backwards)


def test_two_halves_of_a_surrogate_pair_become_one_character():
    """B-13."""
    assert dump("\ud83d\ude00") == dump("\U0001f600") == '"\U0001f600"\n'.encode()
    assert (
        dump({"a": 1, "\ud83d\ude00": Foreign(["\ud83d\ude00", 1])})
        == '{"a":1,"\U0001f600":["\U0001f600",1]}\n'.encode()
    )


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), float("-inf"), 10**MAX_DIGITS, -(10**MAX_DIGITS)],
    ids=["NaN", "infinity", "minus infinity", "too long", "negative and too long"],
)
def test_numbers_that_json_cannot_represent_are_refused(number):
    """C-24 and C-25."""
    for value in (number, [number], {"a": Foreign({"b": number})}):
        with pytest.raises(Invalid, match="cannot be stored"):
            dump(value)


def test_integers_go_up_to_4300_digits():
    """C-24."""
    longest = "-" + "9" * MAX_DIGITS
    assert load(dump(int(longest))) == int(longest)
    with pytest.raises(Corrupt, match="out of range"):
        load(longest.encode() + b"9\n")


def test_a_stored_integer_of_5000_digits_is_refused_on_reading():
    """C-24."""
    with pytest.raises(Corrupt, match="out of range"):
        load(b"[" + b"1" * 5000 + b"]\n")


@pytest.mark.parametrize("container", [lambda inner: [inner], lambda inner: {"k": inner}], ids=["lists", "objects"])
def test_containers_nest_200_levels_deep(container):
    """P15 and C-23."""
    value = container(0)
    for _ in range(MAX_DEPTH - 1):
        value = container(value)
    assert load(dump(value)) == value
    for too_deep in (container(value), Foreign(container(value)), Foreign([Foreign(value)])):
        with pytest.raises(Invalid, match="deeper than 200 levels"):
            dump(too_deep)


def test_the_depth_of_foreign_json_counts_from_its_own_root():
    value = Foreign(json.loads(nested(MAX_DEPTH)))
    for _ in range(MAX_DEPTH):
        value = [value]
    assert load(dump(value)) == json.loads(nested(2 * MAX_DEPTH))


def test_surrogates_are_joined_at_any_depth():
    value = Foreign(json.loads(nested(MAX_DEPTH, '["\\ud83d"]')))
    for _ in range(MAX_DEPTH):
        value = {"\ud83d\ude00": value}
    assert dump(value).count("\U0001f600".encode()) == MAX_DEPTH


@given(st.lists(st.text(st.characters(), max_size=3), min_size=1, max_size=5), st.none() | st.integers())
def test_a_list_of_texts_is_encoded_like_any_other_list(texts, last):
    """It is not copied; an item of another kind at the end makes it an ordinary one."""
    alone, mixed = dump(texts), dump([*texts, last])
    assert mixed == alone[:-2] + b"," + dump(last)[:-1] + b"]\n"
    assert dump({"key": texts}) == b'{"key":' + alone[:-1] + b"}\n"


def test_a_list_of_texts_counts_as_a_level():
    for texts in ([], ["text"]):
        value = texts
        for _ in range(MAX_DEPTH - 1):
            value = [value]
        assert load(dump(value)) == value
        with pytest.raises(Invalid, match="nested"):
            dump([value])


def test_a_value_that_contains_itself_is_refused():
    loop = []
    loop.append(loop)
    for value in (loop, Foreign(loop)):
        with pytest.raises(Invalid, match="deeper"):
            dump(value)


def test_depth_of_a_hundred_thousand_is_refused_without_a_crash():
    """C-23."""
    with pytest.raises(Corrupt, match="nested too deeply"):
        load(nested(100_000).encode())


@pytest.mark.parametrize("members", [{1: 1}, {"a": 1, 2: 2}, {None: 1}, {b"a": 1}, {"a": {True: 1}}], ids=repr)
def test_keys_that_are_not_text_are_refused(members):
    for value in (members, Foreign(members)):
        with pytest.raises(Invalid, match="key that is not text"):
            dump(value)


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, (1, 2), 1j, object], ids=lambda value: type(value).__name__)
def test_values_that_are_not_json_are_refused(value):
    for holder in (value, [value], {"a": Foreign([value])}):
        with pytest.raises(Invalid, match=f"of type {type(value).__name__} cannot"):
            dump(holder)


def test_encoding_does_not_modify_the_value():
    value = {"b": ["\ud83d\ude00"], "a": Foreign({"d": 1, "c": 2})}
    dump(value)
    assert list(value) == ["b", "a"]
    assert value["b"] == ["\ud83d\ude00"]
    assert value["a"] == Foreign({"d": 1, "c": 2})


def test_decoding_keeps_the_stored_key_order():
    """A foreign subtree can be wrapped and written back unchanged."""
    data = b'{"a":1,"input":{"z":1,"b":2}}\n'
    document = load(data)
    assert dump(document | {"input": Foreign(document["input"])}) == data


def test_decoding_accepts_other_spellings_of_json():
    assert load(b' {"b": 1,\r\n "a": "\\u00e9"} ') == {"b": 1, "a": "\u00e9"}


@pytest.mark.slow
def test_a_message_of_64_mebibytes_is_encoded_and_decoded():
    """B-15 and P15."""
    text = "\u00e9" * (32 << 20)
    assert load(dump({"text": text})) == {"text": text}


def test_only_none_is_left_out():
    assert without_none(a=None, b=0, c="", d=[], e=False) == {"b": 0, "c": "", "d": [], "e": False}


BLANKS = st.text(" \t\r\n", max_size=3)


@given(
    BLANKS, st.sampled_from(['{"a":[1]}', "[]", '"x"', "1", "{", "1 2", ""]), BLANKS, st.sampled_from(["", "x", "\x00"])
)
def test_a_document_is_read_in_one_line_as_with_blanks_around_it(before, document, after, rest):
    """A line as `dump` writes it is read without looking for blanks; the result and the errors are the same."""
    text = before + document + after + rest
    try:
        expected = json.loads(text)
    except json.JSONDecodeError as error:
        with pytest.raises(Corrupt, match=f"invalid JSON at character {error.pos}$"):
            load(text.encode())
    else:
        assert load(text.encode()) == expected


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":1}', '{"a":{"b":1,"b":2}}', '[{"a":1,"\\u0061":2}]', '{"a":1, "a" : ":"}'], ids=str
)
def test_a_key_twice_is_refused_if_another_program_may_have_written_it(text):
    with pytest.raises(Corrupt, match="has a key twice"):
        load_distinct(text.encode() + b"\n")
    assert load(text.encode() + b"\n")


@pytest.mark.parametrize("text", ['{"a":{"a":1},"b":"a"}', '[{"a":1},{"a":1}]', '"a"', "1.5", "{}"], ids=str)
def test_a_document_without_a_key_twice_is_read_as_any_other(text):
    assert load_distinct(text.encode() + b"\n") == load(text.encode() + b"\n") == json.loads(text)


@pytest.mark.parametrize(
    "data", [b"{", b"\xff", b"[NaN]", b"[1e999]", b"[" * 100_000, b"9" * 5000], ids=lambda d: str(d[:6])
)
def test_what_cannot_be_read_is_refused_with_distinct_keys_too(data):
    with pytest.raises(Corrupt, match="stored data cannot be read"):
        load_distinct(data)
