"""Only a gate makes `Cleared`, doors write nothing else, and a gate refuses, redacts or lets pass."""

from __future__ import annotations

import ast
import json
import typing
from collections.abc import Iterable
from contextlib import AbstractContextManager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import SecretsFound
from scopes.exporters.atomic_save import write_file
from scopes.exporters.export import ExportedFile
from scopes.secret_scan.clearance import Cleared, Gate, count_placeholders, without_store
from tests.support.planted import FORMS, KINDS, MIXED, encoded
from tests.test_architecture import ROOT, walk_sources

TOKEN, KEY = KINDS[1][1], KINDS[10][1]
WRITERS = {"os.open", "os.fdopen", "open", "Path.write_text", "Path.write_bytes"}


def identify(rule, value):
    return f"{abs(hash((rule, value))):032x}"[:32]


def gate(mode, allowed=()):
    return Gate(mode, identify, allowed)


def calls_of(name):
    """Return the files in which something of this name is called."""
    calls = ((str(source), node) for source, node in walk_sources(name.lower()) if isinstance(node, ast.Call))
    return {source for source, node in calls if ast.unparse(node.func).rpartition(".")[2] == name}


def test_only_the_gate_makes_what_may_leave():
    assert calls_of("Cleared") == {"scopes/secret_scan/clearance.py"}
    with pytest.raises(TypeError, match="only a gate"):
        Cleared(TOKEN.encode(), object())


def test_the_doors_take_nothing_but_what_was_cleared():
    """Mypy holds the callers to these types."""
    names = {each.__name__: each for each in (AbstractContextManager, Cleared, Iterable)}
    assert typing.get_type_hints(write_file, names)["pieces"] == Iterable[Cleared]
    assert typing.get_type_hints(ExportedFile, names)["pieces"] == Iterable[Cleared]


def test_tools_answer_through_the_gate_alone():
    assert calls_of("CallToolResult") == {"scopes/server/mcp/answers.py"}
    assert not calls_of("json_line") & {"scopes/server/mcp/resources.py", "scopes/server/mcp/reading.py"}


def test_exports_write_files_in_two_places():
    """Both take Cleared: reports go through `write_file`, and the session of another agent is never replaced."""
    sources = sorted((ROOT / "scopes" / "exporters").glob("*.py"))
    opening = {
        str(source)
        for source, node in walk_sources("open", "write", sources=sources)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in WRITERS
    }
    assert opening == {"scopes/exporters/atomic_save.py"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", range(0, 30, 7))
def test_a_refusal_names_place_rule_and_line_and_not_the_secret(form, number):
    _, secret = KINDS[number]
    with pytest.raises(SecretsFound) as refusal:
        gate("refuse").clear(f"one\n{FORMS[form](secret)}".encode(), "message k3x9")
    assert refusal.value.exit_code == 1
    assert "message k3x9, line " in refusal.value.message
    assert secret not in refusal.value.message
    assert secret not in refusal.value.hint


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", range(30))
def test_nothing_of_a_secret_is_left_in_a_redacted_line(form, number):
    _, secret = KINDS[number]
    line = json.dumps({"text": FORMS[form](secret), "n": 1.5, "list": [True, None]}).encode() + b"\n"
    cleared = gate("redact").clear_line(line, "x")
    document = json.loads(cleared)
    assert (document["n"], document["list"]) == (1.5, [True, None])
    assert "[redacted:" in document["text"]
    assert cleared.endswith(b"\n")
    for hidden in (secret, encoded(f"user:{secret}")):
        assert hidden.encode() not in cleared
    assert gate("refuse").clear_line(cleared, "x") == cleared


def test_what_is_allowed_passes_and_the_rest_does_not():
    allowed = {identify("github-token", TOKEN)}
    assert gate("refuse", allowed).clear(TOKEN.encode(), "x").data == TOKEN.encode()
    assert gate("redact", allowed).clear_text(f"{TOKEN} {KEY}", "x").startswith(f"{TOKEN} [redacted:stripe-key:")
    with pytest.raises(SecretsFound, match="stripe-key"):
        gate("refuse", allowed).clear(f"{TOKEN} {KEY}".encode(), "x")


def test_one_error_names_all_leaks():
    door = gate("refuse")
    for number, (_, secret) in enumerate(KINDS[:7]):
        door.inspect(json.dumps({"parts": [{"text": f"a\n{secret}"}]}).encode(), f"message {number}")
    with pytest.raises(SecretsFound) as refusal:
        door.refuse_leaks()
    assert refusal.value.message.startswith(
        "7 possible secrets would leave the store: message 0, line 2: aws-access-key"
    )
    assert refusal.value.message.count("message ") == 5
    assert refusal.value.message.endswith("; and 2 more")


def test_a_name_is_refused_for_the_beginning_of_a_secret_that_it_cuts():
    door = gate("refuse")
    door.inspect_text(f"see {TOKEN[:20]}", "the text")
    door.inspect_name(f"see {TOKEN[:20]}", "the title")
    with pytest.raises(SecretsFound, match=r"^a possible secret would leave the store: the title, line 1"):
        door.refuse_leaks()


def test_a_part_of_a_secret_that_was_let_pass_is_let_pass_in_a_name():
    door = gate("refuse", {identify("github-token", TOKEN)})
    assert not door.inspect(json.dumps({"text": f"see {TOKEN}"}).encode(), "message 1")
    door.inspect_name(f"see {TOKEN[:20]}", "the title")
    assert door.clear_inspected(b"x").data == b"x"
    door.inspect_name(f"see {KEY[:20]}", "the title")
    with pytest.raises(SecretsFound, match="stripe-key"):
        door.clear_inspected(b"x")


def test_what_was_only_inspected_is_not_taken_for_redacted():
    with pytest.raises(ValueError, match="cannot be redacted"):
        gate("redact").clear_inspected(TOKEN.encode())
    door = gate("allow")
    assert not door.inspect(TOKEN.encode(), "x")
    assert door.clear_inspected(TOKEN.encode()).data == TOKEN.encode()


def test_secrets_pass_once_if_they_are_let():
    assert gate("allow").clear(TOKEN.encode(), "x").data == TOKEN.encode()
    assert gate("allow").clear_line(TOKEN.encode(), "x") == TOKEN.encode()


@given(st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=30), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)))  # fmt: skip
def test_a_document_without_secrets_is_returned_as_it_is(value):
    assert gate("redact").clear_document(value, "x") == value
    data = json.dumps(value, ensure_ascii=True).encode()
    assert gate("refuse").clear_line(data, "x") is data


def test_bytes_that_are_no_text_pass_unchanged():
    data = bytes(range(256)) * 3
    assert gate("redact").clear(data, "x").data == data
    assert gate("redact").clear(data + TOKEN.encode(), "x").data.startswith(data + b"[redacted:github-token:")


def test_placeholders_are_counted_once_for_each_secret():
    door = gate("redact")
    text = door.clear_text(f"{TOKEN} {KEY} {TOKEN}\npassword={MIXED[:30]}", "x")
    assert (door.redacted, count_placeholders(text)) == (3, 3)


def test_without_a_store_a_placeholder_names_the_rule_alone():
    assert without_store().clear_text(f"use {TOKEN}", "x") == "use [redacted:github-token]"


@pytest.mark.parametrize(("different", "end"), [(1, ""), (5, ""), (7, "; and 2 more")])
def test_a_refusal_counts_what_it_names_and_says_how_many_more_there_are(different, end):
    """The same secret at the same place, as in a title that two files have, is one."""
    gate = Gate("refuse", lambda _rule, value: value[:4])
    for number in [*range(different), *range(different)]:
        gate.inspect_text(KINDS[1][1], f"message {number}")
    with pytest.raises(SecretsFound) as caught:
        gate.refuse_leaks()
    message = caught.value.message
    named = message.partition(": ")[2].removesuffix(end).split("; ")
    assert message.startswith("a possible secret" if different == 1 else f"{different} possible secrets")
    assert (message.endswith(end), len(named)) == (True, min(different, 5))


def test_what_encodes_cleared_texts_may_leave_also_after_redaction():
    door = gate("redact")
    cleared = door.clear_document({"key": TOKEN}, "a row")
    assert door.clear_encoded(repr(cleared).encode()).data == repr(cleared).encode()
    refusing = gate("refuse")
    refusing.inspect_text(TOKEN, "a row")
    with pytest.raises(SecretsFound):
        refusing.clear_encoded(b"x")
