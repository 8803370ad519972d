"""What is folded in a transcript, and under which line."""

from __future__ import annotations

import pytest

from scopes.exporters.markdown import write_document, write_files, write_part
from scopes.model.message import FileTouch, Part
from tests.exporters.building import call, result
from tests.exporters.sections import foreign_html


def summary(part):
    """Return the line that a folded part shows."""
    return write_part(part).splitlines()[1].removeprefix("<summary>").removesuffix("</summary>")


def body(part):
    """Return what is below that line."""
    return write_part(part).partition("</summary>\n\n")[2].removesuffix("\n\n</details>")


def test_text_stands_for_itself():
    assert write_part(Part("text", {"text": "\n\n  a *b*\n\n"})) == "  a *b*"
    assert write_part(Part("text", {})) == ""


def test_a_call_shows_its_tool_and_how_its_input_begins():
    part = call("1", "Edit", input={"path": "a.py", "text": "x" * 100})
    assert summary(part) == 'Tool call: Edit: {"path": "a.py", "text": "' + "x" * 54 + "…"
    assert body(part) == '```json\n{\n  "path": "a.py",\n  "text": "' + "x" * 100 + '"\n}\n```'


def test_a_call_that_takes_text_shows_it_as_it_is():
    part = call("1", "apply_patch", input_text="*** Begin\n-a\n+```")
    assert summary(part) == "Tool call: apply_patch: *** Begin"
    assert body(part) == "````\n*** Begin\n-a\n+```\n````"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"output": "one\ntwo"}, "Result: one"),
        ({"output": "gone", "is_error": True, "exit_code": 2}, "Error (exit code 2): gone"),
        ({"output": "", "exit_code": 0}, "Result (exit code 0)"),
        ({"output_text": '{"a":1.0}'}, 'Result: {"a":1.0}'),
        ({"output": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "Result: a"),
        ({"output": {"rows": [1, 2]}}, 'Result: {"rows": [1, 2]}'),
        ({"output": []}, "Result: []"),
        ({}, "Result"),
    ],
)
def test_a_result_shows_how_it_ended_and_how_it_begins(fields, expected):
    assert summary(result("1", **fields)) == expected


def test_a_result_of_texts_is_read_as_one():
    assert body(result("1", output=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])) == "```\na\nb\n```"


def test_nothing_is_cut():
    long = "\n".join(f"line {number}" for number in range(5000))
    assert body(result("1", output=long)) == f"```\n{long}\n```"


def test_reasoning_keeps_its_markup_and_without_text_is_not_shown():
    part = Part("reasoning", {"text": "**First**, look.\n\n- at `a`", "opaque": "c2ln"})
    assert summary(part) == "Reasoning: **First**, look."
    assert body(part) == "**First**, look.\n\n- at `a`"
    assert write_part(Part("reasoning", {"opaque": "c2ln"})) == ""


def test_files_are_named_and_their_patches_folded():
    assert write_part(Part("image", {"media_type": "image/png", "data": "aaaa"})) == "*[image image/png]*"
    assert write_part(Part("file", {"path": "a_b.txt"})) == r"*[file a\_b.txt]*"
    part = Part("file_ref", {"path": "a`b.py", "op": "edit", "patch": "-a\n+b"})
    assert write_part(part).startswith("Files: edit `` a`b.py ``\n\n<details>\n<summary>Patch</summary>\n\n```diff\n-a")
    assert write_part(Part("file_ref", {"path": "a.py", "op": "read"})) == "Files: read `a.py`"
    assert (
        write_files((FileTouch("b", "rename", source="a"), FileTouch("c", "read")))
        == "Files: rename `b` from `a`, read `c`"
    )


def test_what_is_unknown_is_shown_as_json():
    part = Part("hologram", {"depth": 3})
    assert summary(part) == 'hologram: {"depth": 3}'
    assert body(part) == '```json\n{\n  "depth": 3\n}\n```'


def test_a_document_is_named_by_its_kind():
    assert write_document("decision", {"topic": "é"}) == (
        '<details>\n<summary>Document: decision</summary>\n\n```json\n{\n  "topic": "é"\n}\n```\n\n</details>'
    )


@pytest.mark.parametrize("hostile", ["</summary></details>", "```\n</details>", "<!--", "&lt;b>", "\n\n<b>\n"])
def test_no_part_breaks_out(hostile):
    parts = (
        call("1", hostile, input={hostile: hostile}), call("1", hostile, input_text=hostile), result("1", output=hostile, exit_code=hostile),
        Part("reasoning", {"text": hostile}), Part(hostile, {"x": hostile}), Part("image", {"media_type": hostile, "path": hostile}),
        Part("file_ref", {"path": hostile, "op": hostile, "patch": hostile}),
    )  # fmt: skip
    assert [foreign_html(write_part(part)) for part in parts] == [[]] * len(parts)
