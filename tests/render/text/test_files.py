from __future__ import annotations

from dataclasses import replace

import pytest

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SAMPLES

FILES = SAMPLES["files"]


def test_files_are_a_row_each_with_the_last_touch():
    """S1-20."""
    assert piped(FILES["files"]).split("\t") == [
        "src/login.py",
        "edit:2,read:1",
        "2",
        "2025-12-31T22:31:00Z",
        "planner\n",
    ]


def test_people_see_when_a_file_was_touched_last(at_one_moment):
    lines = seen_lines(FILES["files"])
    assert lines[4].split()[1:-1] == ["src/login.py", "r1", "e2", "1h", "ago", "planner"]
    assert lines[-1] == "operations: r read, e edit"
    assert "src/login.py  1 read, 2 edit" in seen(FILES["files"], 120)


def test_paths_are_relative_to_the_project_and_cut_at_their_start():
    """D11: 18 of 19 rows began with the same directories, and the names of the files were cut off."""
    (row,) = FILES["files"].files
    paths = ("/home/carol/shop/src/login.py", f"/home/carol/shop/{'deep/' * 20}tests/test_login.py", "/etc/hosts")
    found = replace(FILES["files"], files=tuple(replace(row, path=path) for path in paths), cwd="/home/carol/shop")
    lines = seen_lines(found, 80)
    shown = [line.split()[1] for line in lines[4:7]]
    assert (shown[0], shown[2]) == ("src/login.py", "/etc/hosts")
    assert shown[1].startswith("…/deep/")
    assert shown[1].endswith("/tests/test_login.py")
    assert piped(found).split("\t")[0] == paths[0]


@pytest.mark.parametrize(
    ("branch", "branches", "title"),
    [
        (None, ("fix", "main"), "Files of conv-001, all 2 branches"),
        (None, ("main",), "Files of conv-001"),
        ("fix", ("fix",), "Files of conv-001/fix"),
    ],
)
def test_the_title_tells_which_branches_are_covered(branch, branches, title):
    """D7: files covered all branches and blame the active one, without a word."""
    found = replace(FILES["files"], branch=branch, branches=branches)
    assert seen_lines(found)[1].strip("│ ") == title


def test_without_files_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(FILES["no-files"]) == ["conv-001 touched no files."]
    assert piped(FILES["no-files"]) == ""
