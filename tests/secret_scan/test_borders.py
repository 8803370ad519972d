"""A secret is found whatever it is glued to: an escape, a letter of another script, a sign of a diff, an underscore."""

from __future__ import annotations

import json
from base64 import b32encode, b64encode, b85encode
from unicodedata import name

import pytest

from scopes.secret_patterns import redact
from scopes.secret_scan import prefilter
from scopes.secret_scan.clearance import Gate, without_store
from scopes.secret_scan.cut_ends import find_cut_ends
from scopes.secret_scan.scan import scan_text
from tests.support.examples import sample
from tests.support.planted import BORDERS, ESCAPED, INSIDE, KINDS, MIXED, UPPER, encoded, leaked_parts, with_crc32

TOKEN = with_crc32("ghp_", MIXED[:30])
IN_FRONT = [
    "TOKENS\\n", "a\\t", "a\\r", "a\\b", "a\\f", "a\\v", "a\\\\n", "a\\x0a", "a\\u000a", "a\\u00e9", "a\\012", "x%0A", "x%0d%0a", "t=3D",
    "密钥", "clé", "é", "ключ", "-", "+", "\n-", "\\n-", "my_", "the-", "__", "\x1b[31m", "a\\x1b[1;31m", "a\\u001b[31m", "(", "=",
]  # fmt: skip
FIXED = [each for each in KINDS if each[1].startswith(("ghp_", "npm_", "AKIA", "gsk_", "hf_", "xoxb-", "dapi"))]


@pytest.fixture(params=["re", "re2"])
def engine(request, monkeypatch):
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setattr(prefilter, "_searches", lambda _size: prefilter._by_re())


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("before", IN_FRONT)
def test_every_kind_is_found_behind_what_is_no_part_of_it(before):
    for kind, secret in KINDS:
        text = f"{before}{secret} and more"
        assert [(each.rule, each.value[-12:]) for each in scan_text(text)] == [(kind, secret[-12:])], text
        assert prefilter.may_hold_secret(json.dumps({"text": text}, ensure_ascii=False).encode()), text
        assert secret not in redact(text), text


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("before", BORDERS)
def test_a_secret_behind_what_a_terminal_or_a_program_writes_is_found_and_replaced(before):
    """Most of them end with a letter or a digit, which is no part of the secret."""
    for kind, secret in sample(KINDS, 8):
        text = f"see{before}{secret} and more"
        assert [(each.rule, each.value[-12:]) for each in scan_text(text)] == [(kind, secret[-12:])], text
        assert leaked_parts(kind, secret, without_store().clear_text(text, "x")) == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("inside", INSIDE)
def test_what_is_not_shown_divides_no_secret(inside):
    for kind, secret in sample(KINDS, 8):
        text = f"see x{inside}{secret[:3]}{inside}{secret[3:9]}{inside}{secret[9:]}{inside} and more"
        assert [(each.rule, each.value[-12:]) for each in scan_text(text)] == [(kind, secret[-12:])], text
        assert secret[9:] not in without_store().clear_text(text, "x")


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("escape", ESCAPED)
def test_the_signs_of_a_secret_may_be_escaped(escape):
    for kind, secret in sample(KINDS, 8):
        text = "".join(escape(each) if each in "_-." else each for each in secret)
        assert [(each.rule, each.value[-12:]) for each in scan_text(f"see {text} x")] == [(kind, secret[-12:])], text


@pytest.mark.usefixtures("engine")
def test_a_key_in_the_output_of_a_tool_that_is_json_inside_of_json_is_found():
    output = json.dumps({"output": f"TOKENS\n{TOKEN}\n", "code": 0})
    assert [each.value for each in scan_text(output)] == [TOKEN]
    assert [each.value for each in scan_text(json.dumps({"result": output}))] == [TOKEN]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("behind", ["_", "-x", "_backup", "-", "密", "é", "\\n", "\\u000a", "%0A", '"'])
def test_a_secret_of_a_fixed_length_ends_before_an_underscore_or_a_hyphen(behind):
    for kind, secret in FIXED:
        (found,) = scan_text(f"see {secret}{behind}")
        assert (found.rule, found.value.rstrip("-")[: len(secret)]) == (kind, secret)


@pytest.mark.parametrize(
    "text", [f"a{TOKEN}", f"9{TOKEN}", f"task-sk-{MIXED[:20]}", f"x{KINDS[0][1]}", f"{KINDS[0][1]}A"]
)
def test_what_is_the_inside_of_a_longer_word_is_no_secret(text):
    assert scan_text(text) == []


@pytest.mark.parametrize("before", ["\\n", "-", "+", "\\t", "\\x0a", "%0A", "密钥", "key_", "id/"])
def test_base64_is_read_behind_what_looks_like_a_part_of_it(before):
    text = f"{before}{encoded(f'the token is {TOKEN} so')} x"
    assert [each.value for each in scan_text(text)] == [TOKEN]
    assert encoded(f"the token is {TOKEN}")[8:40] not in without_store().clear_text(text, "x")


@pytest.mark.parametrize("before", ["\\n", "-", "\\t", "\\r"])
def test_base64_is_not_shown_behind_what_looks_like_a_part_of_it(before):
    hidden = encoded(f"the token is {TOKEN}")
    assert hidden[8:40] not in redact(f"{before}{hidden} x")


@pytest.mark.usefixtures("engine")
def test_a_secret_with_the_backslashes_of_markdown_is_found():
    for kind, secret in KINDS:
        text = "by " + secret.replace("_", "\\_").replace("-", "\\-").replace(".", "\\.")
        assert [each.rule for each in scan_text(f"{text} x")] == [kind]
        assert secret[-12:] not in without_store().clear_text(f"{text} x", "x")


AWS = "AKIA" + UPPER[:16]
BLOB = encoded(f"AWS={AWS} and GH={TOKEN} in one file")


def gate(mode, *allowed):
    return Gate(mode, lambda rule, value: f"{rule} {value}", allowed)


def test_all_secrets_of_one_run_of_base64_are_listed():
    assert {each.value for each in scan_text(f"conf {BLOB}")} == {AWS, TOKEN}
    assert len({(each.start, each.end) for each in scan_text(f"conf {BLOB}")}) == 1


@pytest.mark.parametrize("allowed", [f"aws-access-key {AWS}", f"github-token {TOKEN}"])
def test_base64_with_two_secrets_does_not_leave_if_one_of_them_is_allowed(allowed):
    door = gate("refuse", allowed)
    assert door.first_leak(f"conf {BLOB}", "x") is not None
    shown = gate("redact", allowed).clear_text(f"conf {BLOB} end", "x")
    assert BLOB[8:60] not in shown
    assert shown.count("[redacted:") == 1
    assert shown.endswith(" end")


def test_base64_with_two_secrets_leaves_if_both_are_allowed():
    both = (f"aws-access-key {AWS}", f"github-token {TOKEN}")
    assert gate("refuse", *both).first_leak(BLOB, "x") is None
    assert gate("redact", *both).clear_text(BLOB, "x") == BLOB


def test_a_secret_that_two_forms_of_a_text_have_is_listed_once():
    text = "sk-proj-" + MIXED[:45] + "%2D" + MIXED[:10]
    assert [each.value for each in scan_text(f"a {text} b")] == ["sk-proj-" + MIXED[:45] + "-" + MIXED[:10]]


@pytest.mark.timeout(20)
def test_lines_of_base64_that_end_with_a_byte_that_is_no_text_are_read_in_time():
    """The end of each was searched from every place in it: 60 such lines took 41 seconds."""
    from base64 import b64encode

    line = b64encode(b"a" * 4_497 + b"\xff").decode()
    assert find_cut_ends("\n".join([line] * 240)) == []


def lines_of(text, width):
    return [text[at : at + width] for at in range(0, len(text), width)]


def encoded_utf_16(sign):
    return b64encode(sign.encode("utf-16-be")).decode().rstrip("=")


UNSEEN = {
    "html entities": lambda secret: "".join(f"&#{ord(each)};" for each in secret),
    "percent twice": lambda secret: "".join(f"%25{ord(each):02X}" for each in secret),
    "base64 twice": lambda secret: encoded(encoded(f"the token is {secret} so")),
    "glued to a letter": lambda secret: f"x{secret}",
    "utf-7": lambda secret: "".join(f"+{encoded_utf_16(each)}-" for each in secret),
    "base32 in small letters": lambda secret: b32encode(f"token is {secret} so".encode()).decode().lower(),
    "base64 in lines": lambda secret: "\n".join(lines_of(encoded(f"the token is {secret} so"), 24)),
    "base85": lambda secret: b85encode(secret.encode()).decode(),
    "overstruck": lambda secret: "".join(f"{each}\b{each}" for each in secret),
    "html tags inside": lambda secret: f"{secret[:9]}<wbr>{secret[9:]}",
    "concatenated": lambda secret: f'"{secret[:12]}" + "{secret[12:]}"',
    "names of characters": lambda secret: "".join(f"\\N{{{name(each)}}}" for each in secret),
    "a list of characters": lambda secret: json.dumps(list(secret)),
    "a list of codes": lambda secret: json.dumps(list(secret.encode())),
    "a dump of bytes": lambda secret: "\n".join(f"{each.encode().hex(' ')}  {each}" for each in lines_of(secret, 8)),
    "backwards": lambda secret: secret[::-1],
    "other letters": lambda secret: secret.translate({ord(each): ord("\u0430") for each in "aeoupxAPX"}),
}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("form", UNSEEN)
def test_what_the_manual_lists_as_not_found_is_not_found(form):
    assert [kind for kind, secret in KINDS if scan_text(UNSEEN[form](secret))] == []


def test_a_password_of_fewer_than_20_characters_is_hidden_in_reports_alone():
    text = "DB_PASSWORD=hunter2hunter2"
    assert scan_text(text) == []
    assert redact(text) == "DB_PASSWORD=[redacted assigned-secret]"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("color", ["\x1b[31m", "\x1b(B", "\x1b[1;38:5:1m"])
def test_a_secret_behind_a_color_is_found_in_the_base64_of_a_terminal(color):
    for kind, secret in sample(KINDS, 8):
        for text in (f"{color}{secret}\x1b[0m", f"$ env\n{color}{secret}"):
            for encode in (text.encode(), text.encode("utf-16-le")):
                shown = f"output: {b64encode(encode).decode()}"
                assert [each.rule for each in scan_text(shown)] == [kind], text
                assert prefilter.may_hold_secret(json.dumps({"text": shown}).encode()), text
