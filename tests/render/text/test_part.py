from __future__ import annotations

import pytest

from scopes.model.message import FileTouch, Part
from scopes.render.text.part import document_lines, format_files, part_line, write_document, write_part
from scopes.render.view import PlainView


def line(kind, **fields):
    """A part in one line."""
    return "".join(span.text for span in part_line(Part(kind, fields)))


def whole(kind, **fields):
    """A part in all its lines."""
    pieces: list[str] = []
    write_part(PlainView(pieces.append), Part(kind, fields))
    return "".join(pieces)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": "Bash", "input": {"command": "ls"}}, "→ Bash ls"),
        ({"name": "Bash", "input": "ls"}, "→ Bash ls"),
        ({"name": "Bash", "input_text": "ls\npwd"}, "→ Bash ls …"),
        ({"name": "Bash"}, "→ Bash"),
        ({"input": {}}, "→ unknown tool"),
        ({"name": {"odd": 1}, "input": 0}, '→ {"odd": 1} 0'),
    ],
)
def test_a_call_names_its_tool_and_its_main_argument(fields, expected):
    assert line("tool_call", **fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"output": "done"}, "← done"),
        ({"output_text": "a\nb"}, "← a · 2 lines"),
        ({"output": {"ok": True}}, '← {"ok": true}'),
        ({"output": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "← a · 2 lines"),
        ({"output": [{"type": "image"}]}, '← [{"type": "image"}]'),
        ({"output": []}, "← []"),
        ({"output": "x", "is_error": True}, "← error: x"),
        ({"output": "x", "is_error": "yes", "exit_code": 0}, "← x"),
        ({}, "← (no output)"),
    ],
)
def test_a_result_prints_whether_it_failed_and_how_it_begins(fields, expected):
    assert line("tool_result", **fields) == expected


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("reasoning", {"text": "first\nsecond"}, "thinking, 12 characters: first …"),
        ("reasoning", {"text": 7}, "thinking: (not written down by its agent)"),
        ("image", {"media_type": "image/png", "data": "AAAA"}, "[image image/png]"),
        ("file", {"path": "a.pdf"}, "[file a.pdf]"),
        ("file_ref", {"path": "a.py", "op": "edit"}, "[edit a.py]"),
        ("raw", {"anything": 1}, "[raw, 15 B of JSON]"),
    ],
)
def test_every_other_part_prints_its_type(kind, fields, expected):
    assert line(kind, **fields) == expected


def test_a_long_line_is_cut_at_a_thousand_characters():
    assert len(line("tool_call", name="Bash", input="x" * 1_000_000)) < 1100


def test_a_whole_call_has_one_line_per_field():
    given = {"file_path": "a.py", "old_string": "x\n\ny\n", "deep": {"a": [1]}, "n": 1, "none": None}
    assert whole("tool_call", name="Edit", input=given).splitlines() == [
        "→ Edit",
        "    file_path: a.py",
        "    old_string:",
        "        x",
        "",
        "        y",
        "    deep:",
        "        {",
        '          "a": [',
        "            1",
        "          ]",
        "        }",
        "    n: 1",
        "    none:",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"), [({"input_text": "ls\npwd"}, "ls\n    pwd"), ({"input": [1]}, "[\n      1\n    ]")]
)
def test_an_input_without_fields_is_shown_unchanged(fields, expected):
    assert whole("tool_call", name="Bash", **fields) == f"→ Bash\n    {expected}\n"


def test_a_whole_result_keeps_its_lines():
    assert whole("tool_result", output_text="a\n\tb\n") == "← result:\n    a\n    \tb\n"


def test_reasoning_and_patches_are_below_their_headings():
    assert whole("reasoning", text="a\nb") == "thinking:\n    a\n    b\n"
    assert whole("file_ref", path="a.py", op="edit", patch="+x") == "[edit a.py]\n    +x\n"
    assert whole("file_ref", path="a.py") == "[a.py]\n"


def test_the_bytes_of_an_image_are_not_shown():
    assert whole("image", media_type="image/png", data="A" * 1000) == "[image image/png]\n"


def test_an_unknown_part_shows_all_its_fields():
    assert whole("hologram", depth=3) == '[hologram]\n    {\n      "depth": 3\n    }\n'


def test_a_payload_has_one_line_per_field():
    lines = [
        "".join(span.text for span in line) for line in document_lines({"field_path": "a", "n": 1, "long": "x\ny"})
    ]
    assert lines == ["field path: a", "n: 1", "long: x …"]


def test_a_whole_document_unfolds_what_has_several_lines():
    pieces: list[str] = []
    write_document(PlainView(pieces.append), {"topic": "db", "reasons": ["a"], "none": None, "text": "x\ny"})
    assert "".join(pieces) == 'topic: db\nreasons:\n    [\n      "a"\n    ]\nnone: \ntext:\n    x\n    y\n'


def test_touched_files_are_listed_with_their_operations():
    files = (FileTouch("a.py", "edit"), FileTouch("b.py", "rename", source="c.py"))
    assert format_files(files) == "edit a.py, rename b.py from c.py"
    assert format_files(()) == ""


DIFF = {"type": "diff", "path": "app.py", "oldText": "a\nb\n", "newText": "a\nc\n"}


def test_the_result_of_an_edit_shows_what_was_changed():
    """An edit behind `scopes acp` has no output, only texts before and after."""
    shown = whole("tool_result", structured={"diffs": [DIFF]})
    lines = [line.strip() for line in shown.splitlines()]
    assert lines == ["← result:", "--- app.py", "+++ app.py", "@@ -1,2 +1,2 @@", "a", "-b", "+c"]


def test_a_new_file_is_shown_as_added_and_the_output_comes_first():
    new = {**DIFF, "oldText": None}
    lines = [line.strip() for line in whole("tool_result", output="done", structured={"diffs": [new]}).splitlines()]
    assert lines[:4] == ["← result:", "done", "--- /dev/null", "+++ app.py"]
    assert lines[-2:] == ["+a", "+c"]


@pytest.mark.parametrize(
    "odd", [None, "x", {"diffs": "x"}, {"diffs": [1, {}, {"path": 1, "newText": 2}]}, {"diffs": None}]
)
def test_odd_changes_of_a_result_show_nothing(odd):
    assert whole("tool_result", structured=odd).strip() == whole("tool_result").strip()
