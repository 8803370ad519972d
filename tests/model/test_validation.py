"""Validating messages from users and programs: what is accepted, and the messages of refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.ids import MessageId
from scopes.model.message import (
    AUTHOR_KINDS,
    KINDS,
    TYPED_KINDS,
    Author,
    FileTouch,
    Part,
    decode,
    encode,
)
from scopes.model.validation import PAYLOADS, check_message, check_payload
from tests.support.documents import json_values
from tests.support.store import ROOT

ID = MessageId("a" * 26)
NOW = "2026-01-01T12:00:00.000Z"
DOCUMENTS = {
    "proposal": {"entity_type": "service", "entity_id": "api", "changes": [{"field_path": "port", "after": 80}]},
    "analysis": {"subject": "auth", "finding": "weak"},
    "collaboration-request": {"type": "handoff", "context": ""},
    "decision": {"topic": "format", "decision": "git"},
    "priority": {"task": "fix", "urgency": "high"},
    "method": {"goal": "speed", "approach": "cache"},
}


def check(**document):
    return check_message({"author": "carol", "text": "hi", **document}, message_id=ID, now=NOW)


def trouble(document):
    with pytest.raises(Invalid) as caught:
        check_message(document, message_id=ID, now=NOW)
    assert caught.value.exit_code == 2
    assert caught.value.hint == "see: scopes help append"
    assert "\n" not in caught.value.message
    return caught.value.message


# What is accepted


def test_the_minimal_message_has_an_author_and_a_text():
    message = check()
    assert (message.id, message.author, message.kind, message.text, message.time) == (
        ID,
        Author("carol", "agent"),
        "plain",
        "hi",
        NOW,
    )


def test_every_field_is_read():
    fields = {
        name: f"the {name}" for name in ("reply_to", "work_item", "task", "tool", "model", "status", "stop_reason")
    }
    files = [{"path": "b", "op": "rename", "from": "a", "content_hash": "sha256:00"}]
    parts = [{"type": "tool_call", "name": "Edit", "input": {"z": 1, "a": 2}}]
    message = check(
        author={"name": "erin", "kind": "human"},
        kind="answer",
        time="2026-02-01",
        activity="file_edit",
        to=["x", "y", "x"],
        files=files,
        parts=parts,
        **fields,
    )
    assert (message.author, message.kind, message.time, message.activity) == (
        Author("erin", "human"),
        "answer",
        "2026-02-01",
        "file_edit",
    )
    assert message.to == ("x", "y")
    assert message.files == (FileTouch("b", "rename", "sha256:00", "a"),)
    assert message.parts == (
        Part("text", {"text": "hi"}),
        Part("tool_call", {"name": "Edit", "input": {"z": 1, "a": 2}}),
    )
    assert {name: getattr(message, name) for name in fields} == fields


@pytest.mark.parametrize("text", ["", " ", "\n", "\0", "x" * 100_000, "\u202e", "--- a\n+++ b"])
def test_any_text_is_accepted_as_text(text):
    """B-11, B-14: texts are not interpreted."""
    assert check(text=text).text == text
    assert decode(encode(check(text=text))).text == text


def test_one_recipient_may_be_a_name():
    assert check(to="dave").to == ("dave",)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "root" and kind not in TYPED_KINDS])
def test_every_kind_except_root_is_accepted(kind):
    assert check(kind=kind).kind == kind


@pytest.mark.parametrize(
    "names",
    [
        ("author.kind", AUTHOR_KINDS),
        ("files.op", ("read", "create", "edit", "delete", "rename", "mention")),
        ("activity", ("agent_action", "file_edit", "decision", "blocker_resolved")),
    ],
)
def test_the_literals_of_validation_equal_the_constants_of_message(names):
    field, values = names
    for value in values:
        document = {
            "author.kind": {"author": {"name": "x", "kind": value}},
            "files.op": {"files": [{"path": "a", "op": value}]},
        }
        check(**document.get(field, {field: value}))
    with pytest.raises(Invalid):
        check(
            **{
                "author.kind": {"author": {"name": "x", "kind": "new"}},
                "files.op": {"files": [{"path": "a", "op": "new"}]},
            }.get(field, {field: "new"})
        )


def test_unknown_fields_are_kept_everywhere():
    """S4-23."""
    message = check(
        priority_hint=5,
        parts=[{"type": "smell", "notes": ["oak"]}],
        kind="decision",
        decision=DOCUMENTS["decision"] | {"new": [1]},
    )
    assert message.extra == {"priority_hint": 5}
    assert message.parts[1] == Part("smell", {"notes": ["oak"]})
    assert message.payload["new"] == [1]


def test_reserved_fields_are_dropped():
    """A caller cannot retract another's message by a field, nor choose an id or version."""
    message = check(id="x", v=99, amends="b" * 26, retracts="b" * 26)
    assert (message.id, message.amends, message.retracts, dict(message.extra)) == (ID, None, None, {})


# Typed kinds


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_typed_message_has_its_payload(kind):
    message = check(kind=kind, **{kind.replace("-", "_"): DOCUMENTS[kind]})
    assert DOCUMENTS[kind].items() <= {**message.payload, "changes": DOCUMENTS[kind].get("changes")}.items()
    assert decode(encode(message)) == message
    assert set(PAYLOADS) == set(DOCUMENTS) == TYPED_KINDS


@pytest.mark.parametrize(
    ("kind", "defaults"),
    [
        (
            "proposal",
            {"request_type": "review", "changes": [{"field_path": "port", "operation": "update", "after": 80}]},
        ),
        ("analysis", {"aspect": "general", "requests_feedback": False}),
        ("collaboration-request", {"urgency": "normal"}),
    ],
)
def test_missing_fields_get_defaults_or_stay_absent(kind, defaults):
    """S4-24, S4-25, S4-26."""
    payload = check_payload(kind, DOCUMENTS[kind])
    assert payload == DOCUMENTS[kind] | defaults
    assert None not in payload.values()


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_typed_message_without_its_payload_is_refused(kind):
    field = kind.replace("-", "_")
    for document in ({}, {field: None}, {field: "text"}, {field: []}):
        assert f"needs the field '{field}'" in trouble({"author": "carol", "text": "x", "kind": kind, **document})


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind, document in DOCUMENTS.items() for field in document]
)
def test_a_missing_required_field_is_named(kind, field):
    with pytest.raises(Invalid, match=f"the {kind} is not valid: {field}: is required$"):
        check_payload(kind, {key: value for key, value in DOCUMENTS[kind].items() if key != field})


@pytest.mark.parametrize(
    ("kind", "wrong", "where"),
    [
        ("analysis", {"confidence": 1.01}, "confidence"),
        ("analysis", {"confidence": -0.1}, "confidence"),
        ("analysis", {"confidence": float("nan")}, "confidence"),
        ("analysis", {"confidence": "0.5"}, "confidence"),
        ("analysis", {"finding": ""}, "finding"),
        ("proposal", {"changes": []}, "changes"),
        ("proposal", {"changes": [{"field_path": ""}]}, r"changes\.0\.field_path"),
        ("proposal", {"changes": [{"field_path": "a", "operation": "explode"}]}, r"changes\.0\.operation"),
        ("proposal", {"request_type": "beg"}, "request_type"),
        ("collaboration-request", {"type": "chat"}, "type"),
        ("collaboration-request", {"urgency": "now"}, "urgency"),
        ("priority", {"urgency": "whenever"}, "urgency"),
    ],
)
def test_an_invalid_field_is_named(kind, wrong, where):
    with pytest.raises(Invalid, match=f"the {kind} is not valid: {where}: must (be|not be) "):
        check_payload(kind, DOCUMENTS[kind] | wrong)


# What is refused


@pytest.mark.parametrize("document", [None, [], 5, "text", True, [{"author": "carol"}]])
def test_a_document_that_is_not_an_object_is_refused(document):
    """C-28."""
    assert trouble(document) == "the message is not valid: must be an object"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "author: "),
        ({"author": "carol"}, "text or parts is required"),
        ({"author": "", "text": "x"}, "an author needs a name"),
        ({"author": " ", "text": "x"}, "an author needs a name"),
        ({"author": "x" * 201, "text": "x"}, "at most 200 bytes"),
        ({"author": {"kind": "human"}, "text": "x"}, "author.name: "),
        ({"author": 5, "text": "x"}, "author: "),
        ({"author": "a", "text": 5}, "text: "),
        ({"author": "a", "text": "x", "kind": "root"}, "kind 'root' is not one of: prompt, "),
        ({"author": "a", "text": "x", "kind": "Plain"}, "kind 'Plain' is not one of"),
        ({"author": "a", "text": "x", "kind": "\x1b[31m"}, "kind '\\x1b[31m' is not one of"),
        ({"author": "a", "text": "x", "time": "yesterday"}, "is not an RFC 3339 time"),
        ({"author": "a", "text": "x", "time": 5}, "time: "),
        ({"author": "a", "text": "x", "parts": "x"}, "parts: "),
        ({"author": "a", "parts": [{"text": "x"}]}, "parts.0.type: "),
        ({"author": "a", "parts": [{"type": ""}]}, "parts.0.type: "),
        ({"author": "a", "parts": [{"type": "tool_result", "call_id": ["c"]}]}, "call_id of a part is neither a text"),
        ({"author": "a", "parts": [{"type": "tool_result", "exit_code": {}}]}, "exit_code of a part is neither a text"),
        ({"author": "a", "text": "x", "files": [{"path": "", "op": "edit"}]}, "files.0.path: "),
        ({"author": "a", "text": "x", "files": [{"path": "a"}]}, "files.0.op: "),
        ({"author": "a", "text": "x", "files": [{"path": "a", "op": "edit", "new": 1}]}, "files.0.new: "),
        ({"author": "a", "text": "x", "to": [""]}, "an author needs a name"),
        ({"author": "a", "text": "x", "to": 5}, "to: "),
        ({"author": "a", "text": "x", "activity": "sleep"}, "activity: "),
        ({"author": "a", "text": "x", "reply_to": ""}, "reply_to: "),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_first_invalid_field_is_named(document, words):
    """C-28."""
    assert words in trouble(document)


def test_an_error_does_not_repeat_the_input():
    """The input may be secret or very long."""
    assert "secret" not in trouble({"author": {"name": ["secret"]}, "text": "secret"})


@pytest.mark.parametrize("field", ["model", "author", "to", "task"])
def test_a_lone_surrogate_is_kept_in_texts_and_refused_in_names(field):
    """B-13: decided once."""
    trouble({"author": "a", "text": "x", field: "\ud800"})
    message = check(text="\ud800", parts=[{"type": "tool_result", "output": ["\udfff"]}])
    again = decode(encode(message))
    assert (again.text, again.parts[1].fields) == ("\ud800", {"output": ["\udfff"]})


names = st.sampled_from(
    ["author", "text", "parts", "kind", "files", "to", "time", "decision", "id", "v", "type", "name", "path", "op"]
)


@given(
    st.dictionaries(
        names, json_values | st.lists(st.dictionaries(names, json_values, max_size=3), max_size=2), max_size=6
    )
)
def test_any_document_becomes_a_storable_message_or_is_refused(document):
    """C-28."""
    try:
        message = check_message(document, message_id=ID, now=NOW)
    except Invalid:
        return
    assert decode(encode(message)) == message


@given(st.sampled_from(sorted(PAYLOADS)), json_values)
def test_any_payload_is_accepted_or_refused(kind, document):
    try:
        payload = check_payload(kind, document)
    except Invalid:
        return
    json.dumps(payload)


def test_deeply_nested_documents_do_not_crash():
    """C-23."""
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    try:
        message = check(new=deep)
        with pytest.raises(Invalid, match="nested deeper"):
            encode(message)
    finally:
        while isinstance(deep, list):
            deep = deep.pop()


def test_nothing_else_imports_pydantic():
    """Importing it takes longer than an append."""
    code = "import sys, scopes.store.transactions, scopes.model.message, scopes.conversation.append; print('pydantic' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("kind", "field"), [("decision", "topic"), ("decision", "decision"), ("method", "goal"), ("priority", "task")]
)
@pytest.mark.parametrize("blank", [" ", "\n", "\u3000"])
def test_a_blank_name_in_a_typed_message_is_refused(kind, field, blank):
    """Nobody could name it again, to withdraw the decision for example."""
    document = {"author": "carol", "text": "x", "kind": kind, kind: {**DOCUMENTS[kind], field: blank}}
    assert f"{field}: must not be blank" in trouble(document)


@pytest.mark.parametrize("operation", ["update", "UPDATE", " Update "])
def test_an_operation_is_accepted_as_the_specification_writes_it(operation):
    """S4-24."""
    change = {"field_path": "status", "operation": operation, "before": None, "after": "done"}
    stored = check_payload("proposal", {"entity_type": "task", "entity_id": "t1", "changes": [change]})
    assert stored["changes"] == [{"field_path": "status", "operation": "update", "before": None, "after": "done"}]


def test_a_value_that_is_not_given_stays_absent():
    """S4-24: null means that there was no value, and absent that nobody says."""
    change = {"field_path": "status", "after": "done"}
    stored = check_payload("proposal", {"entity_type": "task", "entity_id": "t1", "changes": [change]})
    assert "before" not in stored["changes"][0]


@pytest.mark.parametrize(("category", "stored"), [("BUG_FIX", "bug-fix"), ("cleanup", "cleanup"), (None, None)])
def test_a_category_is_one_of_the_specification(category, stored):
    """S4-24."""
    document = {"entity_type": "task", "entity_id": "t1", "changes": [{"field_path": "x"}], "category": category}
    assert check_payload("proposal", document).get("category") == stored
    with pytest.raises(Invalid, match="category"):
        check_payload("proposal", {**document, "category": "nonsense"})


@pytest.mark.parametrize(
    ("kind", "document", "stored"),
    [
        ("collaboration-request", {"type": "PEER_REVIEW", "context": "c", "urgency": "HIGH"}, ("peer-review", "high")),
        ("collaboration-request", {"type": "Joint-Analysis", "context": "c"}, ("joint-analysis", "normal")),
        ("priority", {"task": "t", "urgency": " Critical "}, (None, "critical")),
    ],
)
def test_types_and_urgencies_are_read_in_any_case(kind, document, stored):
    """As the specification writes them: S4-26."""
    payload = check_payload(kind, document)
    assert (payload.get("type"), payload["urgency"]) == stored
    with pytest.raises(Invalid, match="urgency: must be 'low', 'normal', 'high' or 'critical'"):
        check_payload(kind, {**document, "urgency": "soon"})
