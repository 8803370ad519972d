from __future__ import annotations

from dataclasses import replace

import pytest

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import BRANCHES, OPERATION, SAMPLES, branch, message_id

BRANCH = SAMPLES["branch"]


def test_a_new_branch_is_its_name_in_a_pipe():
    """A script writes: branch=$(scopes branch conv-001 --purpose analysis)."""
    assert piped(BRANCH["created"]) == "analysis/security-review\n"


def test_a_new_branch_shows_its_parent_and_that_it_is_active():
    assert seen_lines(BRANCH["created"])[0] == "created conv-001/analysis/security-review from main; it is active now"
    assert seen_lines(BRANCH["created-aside"])[0] == "created conv-001/try from main"


def test_a_branch_that_begins_before_the_tip_names_the_message():
    line = seen_lines(replace(BRANCH["created-aside"], start=message_id("prompt")))[0]
    assert line == "created conv-001/try at message prompt22 of main"
    shown = seen(replace(SAMPLES["message"]["appended-to-new-branch"], start=message_id("prompt")))
    assert (
        " ".join(shown.split())
        .removesuffix(" undo with: scopes undo")
        .endswith(", created at message prompt22 of main; it is active now")
    )


@pytest.mark.parametrize("name", ["created", "switched", "abandoned", "rewound"])
def test_a_change_with_an_operation_prints_how_to_undo_it(name):
    assert seen_lines(BRANCH[name])[1:] == ["undo with: scopes undo"]
    assert seen_lines(BRANCH[name], hints=False)[1:] == []


@pytest.mark.parametrize("name", ["switched-already", "revived-already", "rewound-nowhere"])
def test_a_command_that_changed_nothing_has_no_undo_hint(name):
    assert len(seen_lines(BRANCH[name])) == 1
    assert "already" in seen(BRANCH[name])


def test_a_narrow_list_does_not_truncate_branch_names(at_one_moment):
    lines = seen_lines(BRANCH["list"], 80)
    assert "Purpose" not in lines[3]
    assert "Agent" not in lines[3]
    assert all(row.name in "".join(lines) for row in BRANCHES)


def test_a_piped_list_is_a_row_each():
    rows = [row.split("\t") for row in piped(BRANCH["list"]).splitlines()]
    time = "2025-12-31T23:58:00Z"
    assert rows[0] == ["main", "3", "3", "", "", "active", "", time, BRANCHES[0].tip, "", ""]
    assert rows[2][:8] == [
        "analysis/conflict-resolution", "2", "5", "conflict-resolution", "general-purpose", "active", "*", time,
    ]  # fmt: skip


def test_rewind_prints_how_many_messages_were_removed_and_the_new_tip():
    assert seen_lines(BRANCH["rewound"])[0] == "rewound 2 messages; conv-001/main ends with prompt22 now"
    assert seen_lines(BRANCH["rewound-to-nothing"])[0] == "rewound 1 message; conv-001/main is empty now"


def test_switching_names_the_branch_before():
    assert seen_lines(BRANCH["switched"])[0] == "conv-001/main is active now; before it was analysis/security-review"


def test_abandoning_names_the_branch_that_is_active_now():
    assert seen_lines(BRANCH["abandoned"])[0] == "conv-001/fix is abandoned; the active branch is main"


@pytest.mark.parametrize("name", ["switched", "switched-already", "abandoned", "rewound", "rewound-nowhere"])
def test_in_a_pipe_a_changed_branch_is_its_name(name):
    assert piped(BRANCH[name]) == f"{BRANCH[name].branch}\n"


def test_thousands_are_grouped_on_a_terminal_only(at_one_moment):
    many = replace(BRANCH["list"], branches=(branch("main", 12345, 12345, active=True),))
    assert "12,345" in seen(many)
    assert "\t12345\t" in piped(many)


def test_operation_ids_are_in_json_only():
    assert OPERATION not in seen(BRANCH["created"]) + piped(BRANCH["created"])
