"""The files of a change, and their content afterwards if it is known."""

from __future__ import annotations

from hashlib import sha256

import pytest

from scopes.importers.formats.codex.patches import touched_by_call, touched_by_changes, touched_by_patch
from scopes.model.message import FileTouch, Part

PATCH = """*** Begin Patch
*** Add File: tea.py
+PRICE = 4
+
*** Update File: till.py
@@
-a
+b
*** Update File: old.py
*** Move to: new.py
@@
-a
+b
*** Delete File: milk.py
*** End Patch
"""


def digest(text):
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def test_a_patch_names_its_files_in_order():
    assert touched_by_patch(PATCH) == (
        FileTouch("tea.py", "create", digest("PRICE = 4\n\n")),
        FileTouch("till.py", "edit"),
        FileTouch("new.py", "rename", source="old.py"),
        FileTouch("milk.py", "delete"),
    )


def test_a_file_that_is_added_last_has_its_content():
    assert touched_by_patch("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch") == (
        FileTouch("a", "create", digest("x\n")),
    )


def test_an_empty_file_has_the_content_of_an_empty_file():
    assert touched_by_patch("*** Begin Patch\n*** Add File: a\n*** End Patch")[0].content_hash == digest("")


@pytest.mark.parametrize("patch", ["*** Add File: a\n+x\n", "*** Add File: a\n+x\ny\n*** End Patch"])
def test_a_truncated_patch_has_no_content(patch):
    assert touched_by_patch(patch) == (FileTouch("a", "create"),)


@pytest.mark.parametrize("patch", ["", "*** Begin Patch", "*** Move to: x", "*** End Patch\n*** End Patch", "+x\n-y"])
def test_text_that_is_not_a_patch_touches_nothing(patch):
    assert touched_by_patch(patch) == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"input_text": PATCH},
        {"input": {"input": PATCH}},
        {"input": {"command": ["apply_patch", PATCH]}},
        {"input": {"cmd": f"apply_patch <<'EOF'\n{PATCH}EOF\n"}},
        {"input": {"type": "exec", "command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF\n"]}},
    ],
)
def test_a_patch_is_found_in_any_call(fields):
    assert len(touched_by_call(Part("tool_call", fields))) == 4


@pytest.mark.parametrize("given", [None, 7, {"cmd": "ls"}, {"cmd": 7}, [["x"]], {"a": {"b": PATCH}}])
def test_a_call_without_a_patch_touches_nothing(given):
    assert touched_by_call(Part("tool_call", {"input": given})) == ()


def test_a_reported_change_has_the_operation_for_each_path():
    changes = {
        "/shop/tea.py": {"type": "add", "content": "PRICE = 4\n"},
        "/shop/till.py": {"type": "update", "unified_diff": "@@", "move_path": None},
        "/shop/old.py": {"type": "update", "unified_diff": "@@", "move_path": "/shop/new.py"},
        "/shop/milk.py": {"type": "delete", "content": "x"},
    }
    assert touched_by_changes(changes) == (
        FileTouch("/shop/tea.py", "create", digest("PRICE = 4\n")),
        FileTouch("/shop/till.py", "edit"),
        FileTouch("/shop/new.py", "rename", source="/shop/old.py"),
        FileTouch("/shop/milk.py", "delete"),
    )


@pytest.mark.parametrize("change", [None, 7, {}, {"type": "new"}, {"type": 7}, []])
def test_a_change_of_another_shape_is_ignored(change):
    assert touched_by_changes({"a": change}) == ()


def test_an_addition_without_content_has_no_hash():
    assert touched_by_changes({"a": {"type": "add", "content": 7}}) == (FileTouch("a", "create"),)


def test_content_with_half_a_surrogate_pair_has_a_hash():
    (touched,) = touched_by_changes({"a": {"type": "add", "content": "\ud800"}})
    assert touched.content_hash.startswith("sha256:")
