"""31 kinds of secrets are found in every form that one decoding undoes; hex and wrapped lines are documented misses."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.secret_scan import prefilter
from scopes.secret_scan.escapes import BYTE_PATTERN, NO_USUAL_ESCAPE, TEXT_PATTERN, byte_of, character_of
from scopes.secret_scan.scan import scan_document, scan_text
from tests.support.examples import examples
from tests.support.planted import FORMS, KINDS, MISSED, encoded, in_json

ENGINES = ["re", "re2"]


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """Both engines of the prefilter; RE2 is optional."""
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(prefilter, "_searches", lambda _size: prefilter._by_re())


def test_thirty_one_kinds_are_planted():
    assert len(KINDS) == 31
    assert len(FORMS) + len(MISSED) >= 13


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("form", FORMS)
def test_every_kind_is_found_in_a_form(form):
    for kind, secret in KINDS:
        text = FORMS[form](secret)
        found = scan_text(text)
        assert [each.rule for each in found] in ([kind], ["auth-header"]), (kind, text)
        assert found[0].value == secret or encoded(f"user:{secret}").startswith(found[0].value[:40]), kind
        assert prefilter.may_hold_secret(json.dumps({"parts": [{"text": text}]}).encode()), kind


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("form", MISSED)
def test_what_the_manual_says_is_missed_is_missed(form):
    """A key that is written in parts or in hex is not found: each would make false alarms of ordinary text."""
    assert [kind for kind, secret in KINDS if scan_text(MISSED[form](secret))] == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_a_value_behind_a_key_is_found_in_json_inside_of_json(levels):
    text = in_json('{"password": "aB3dE5gH7jK9mN1pQ2rS4t"}', levels)
    assert [(each.rule, each.value) for each in scan_text(text)] == [("assigned-secret", "aB3dE5gH7jK9mN1pQ2rS4t")]


def test_a_value_behind_a_name_is_found_in_a_document():
    document = {"input": {"password": "aB3dE5gH7jK9mN1pQ2rS4t", "cmd": "ls"}, "x": ["a", {"api_key": "short"}]}
    (found,) = scan_document(document)
    assert found.path == ("input", "password")
    assert found.found == ("assigned-secret", 0, 22, "aB3dE5gH7jK9mN1pQ2rS4t")


@pytest.mark.parametrize("name", ["encrypted_content", "signature", "thoughtSignature"])
def test_opaque_texts_are_scanned_for_prefixes_alone(name):
    opaque = encoded("".join(map(chr, range(128, 200)))).rstrip("=") + encoded(KINDS[5][1]).rstrip("=")
    assert list(scan_document({name: opaque})) == []
    assert len(list(scan_document({"text": opaque}))) == 1
    (found,) = scan_document({name: f"{opaque}/{KINDS[10][1]}"})
    assert found.found.rule == "stripe-key"


def test_names_of_members_are_scanned_too():
    (found,) = scan_document({"env": {KINDS[5][1]: "1"}})
    assert found.found.value == KINDS[5][1]


def test_the_data_of_an_image_is_not_decoded():
    data = encoded(f"\x89PNG\r\n\x1a\n\0 token {KINDS[5][1]}")
    assert list(scan_document({"type": "image", "data": data})) == []
    assert len(list(scan_document({"type": "file", "data": data}))) == 1


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("form", ["utf-16", "colors inside"])
@pytest.mark.parametrize(("nul", "escape"), [("\ufffd", "\ufffd"), ("\\x00", "\\x1b"), ("\\u0000", "\\u001b")])
def test_a_secret_is_found_behind_what_a_prompt_or_a_subject_has_for_a_control_character(form, nul, escape):
    """A prompt has U+FFFD for a NUL or an escape, a subject has its number."""
    for kind, secret in KINDS:
        text = FORMS[form](secret).replace("\0", nul).replace("\x1b", escape)
        assert [each.rule for each in scan_text(text)] == [kind], text
        assert prefilter.may_hold_secret(json.dumps({"text": text}, ensure_ascii=False).encode()), text


PIECES = [
    "\\", "n", '"', "t", "u", "U", "x", "0", "002d", "2d", "e", "E", "[", "1;31m", "]8;;", "\x07", "%", "=", "^", "@",
    "\n", "\x1b", "\x00", "\x9b", "\ufffd", "\u00ad", "\u2010", "\uff21", "\uff3f", "/", "_", ".", "-", "5F", "a",
]  # fmt: skip


@given(text=st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
@settings(max_examples=examples(2400), deadline=None)
def test_the_usual_escapes_of_json_are_left_as_they_are_before_any_other_test(text):
    r"""That `\n` and `\"` are told at once makes decoding fast, and changes nothing of what it returns."""
    in_text, in_bytes = TEXT_PATTERN, BYTE_PATTERN
    assert NO_USUAL_ESCAPE in in_text
    slow_text, slow_bytes = in_text.replace(NO_USUAL_ESCAPE, ""), in_bytes.replace(NO_USUAL_ESCAPE.encode(), b"")
    assert re.sub(slow_text, character_of, text) == re.sub(in_text, character_of, text)
    assert re.sub(slow_bytes, byte_of, text.encode()) == re.sub(in_bytes, byte_of, text.encode())
