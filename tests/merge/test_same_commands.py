"""Two sides that ran the same commands have the same text: drawn histories, with sed as the oracle."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scopes.merge.file_steps import Step
from scopes.merge.same_commands import ran_same_commands
from scopes.model.file_edits import FileEdit, Replacement, apply_edit
from tests.support.examples import examples

BASE = "one\ntwo\nthree\n"
SCRIPTS = ["s/one/1/", "s/t/T/g", "s/1/one/", "s/e$/E/"]
REPLACEMENTS = [("two", "2"), ("one", "1"), ("three", "one")]

with_programs = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def edit(old, new, **fields):
    return Step("m", "claude", "Edit", FileEdit("f", "edit", replacements=(Replacement(old, new),), **fields))


def whole(text):
    return Step("m", "claude", "Write", FileEdit("f", "create", after=text))


def command(script):
    return Step("m", "claude", "Bash sed -i", command=f"/work: sed -i '{script}' f")


def read(text):
    return Step("m", "claude", "Read", FileEdit("f", "read", after=text))


UNKNOWN = Step("m", "claude", "Bash python3")
FORMATTED = Step("m", "claude", "Bash gofmt -w", formats=True)
SED = [command(script) for script in SCRIPTS]
EDITS = [edit(*pair) for pair in REPLACEMENTS]
STEPS = st.sampled_from([*SED, *SED, *EDITS, *EDITS, whole("one\n"), UNKNOWN, FORMATTED, read(BASE)])
SIDES = st.lists(STEPS, max_size=4)


def run(steps, text):
    """Return what sed and the edits make of a text; None if an edit does not fit or a program is unknown."""
    for step in steps:
        if step.command is not None:
            script = step.command.split("'")[1]
            done = subprocess.run(["sed", script], input=text.encode(), capture_output=True, check=True)
            text = done.stdout.decode()
        elif step.edit is None:
            return None
        elif step.edit.op != "read":
            text = apply_edit(step.edit, text)
        if text is None:
            return None
    return text


@with_programs
@given(SIDES, SIDES, SIDES)
@example([EDITS[0]], [EDITS[0]], [SED[0], EDITS[1]])
@example([EDITS[0], EDITS[1]], [EDITS[1], EDITS[0]], [SED[1]])
@example([SED[0]], [SED[2]], [SED[0]])
@example([EDITS[2]], [], [SED[2]])
def test_sides_that_are_called_equal_have_equal_texts_in_sed(first, second, both):
    """The sides begin with their own steps, and go on with the same ones."""
    sides = [*first, *both], [*second, *both]
    if ran_same_commands(*sides, BASE):
        texts = [run(side, BASE) for side in sides]
        assert texts[0] == texts[1]
        assert UNKNOWN not in [*sides[0], *sides[1]]


@with_programs
@given(SIDES, SIDES)
def test_the_answer_is_the_same_for_both_orders_of_the_sides(first, second):
    assert ran_same_commands(first, second, BASE) == ran_same_commands(second, first, BASE)


@given(st.lists(st.sampled_from([*SED, *EDITS[:1]]), max_size=4), st.lists(st.sampled_from(EDITS[:2]), max_size=2))
def test_a_side_is_equal_to_itself_if_it_has_a_command_and_a_known_text_before(after, before):
    side = [*before, SED[0], *after]
    expected = run(before, BASE) is not None
    assert ran_same_commands(side, side, BASE) == expected


@pytest.mark.parametrize(
    ("first", "second", "base", "equal"),
    [
        ([SED[0]], [SED[0]], BASE, True),
        ([SED[0]], [SED[0]], None, False),
        ([whole("x\n"), SED[0]], [whole("x\n"), SED[0]], None, True),
        ([whole("x\n"), SED[0]], [SED[0]], "x\n", True),
        ([edit("one", "x", before=BASE), SED[0]], [edit("one", "x", before=BASE), SED[0]], None, True),
        ([SED[0], SED[1]], [SED[1], SED[0]], BASE, False),
        ([SED[0], SED[0]], [SED[0]], BASE, False),
        ([SED[0]], [], BASE, False),
        ([], [], BASE, False),
        (EDITS[:1], EDITS[:1], BASE, False),
        ([read(BASE), SED[0]], [SED[0]], BASE, True),
        ([SED[0], read("1\n")], [SED[0]], BASE, True),
        ([SED[0], EDITS[0]], [SED[0], EDITS[0]], BASE, True),
        ([SED[0], EDITS[0]], [SED[0], EDITS[1]], BASE, False),
        ([SED[0], UNKNOWN], [SED[0], UNKNOWN], BASE, False),
        ([UNKNOWN, SED[0]], [UNKNOWN, SED[0]], BASE, False),
        ([UNKNOWN, whole("x\n"), SED[0]], [whole("x\n"), SED[0]], BASE, True),
        ([FORMATTED, SED[0]], [FORMATTED, SED[0]], BASE, False),
        ([SED[0], FORMATTED], [SED[0], FORMATTED], BASE, False),
        ([Step("m", "a", "rm", FileEdit("f", "delete")), SED[0]], [SED[0]], "", False),
        ([SED[0]._replace(shared=True)], [SED[0]._replace(shared=True)], BASE, False),
        ([SED[0], EDITS[0]._replace(shared=True)], [SED[0], EDITS[0]._replace(shared=True)], BASE, False),
        ([SED[0], edit("a", "b")._replace(edit=FileEdit("f", "edit"))],) * 2 + (BASE, False),
        ([SED[0]._replace(message="n", agent="codex", time="2026-01-01T00:00:00Z")], [SED[0]], BASE, True),
        ([SED[0]], [SED[0]._replace(command="/other: sed -i 's/one/1/' f")], BASE, False),
        ([SED[0]], [SED[0]], "binary \0\n", False),
    ],
)  # fmt: skip
def test_only_known_steps_of_the_same_order_from_one_known_text_are_the_same(first, second, base, equal):
    """Who ran a command, and when, does not matter; the directory does."""
    assert ran_same_commands(first, second, base) is equal
    assert ran_same_commands(second, first, base) is equal
