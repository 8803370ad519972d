"""Laws of the comparison of a contested file, for random steps of both sides."""

from __future__ import annotations

import subprocess
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.merge.file_comparison import compare_steps
from scopes.merge.file_steps import Step
from scopes.merge.file_texts import follow_steps
from scopes.model.file_edits import FileEdit, Replacement, parse_unified
from tests.support.examples import examples

KEY = "files/a="
FORMS = ("before", "replacement", "hunks", "whole")
lines = st.lists(st.sampled_from(["a", "b", "c", "d", "same", ""]), max_size=9)
changes = st.lists(
    st.tuples(st.sampled_from([*FORMS, "delete", "command"]), st.integers(0, 9), st.integers(0, 2), lines), max_size=4
)
laws = settings(max_examples=examples(240), deadline=None)


def hunks_between(old, new):
    """Return the hunks, with three lines of context, that lead from some lines to others."""
    diff = "\n".join(unified_diff(old, new, lineterm="", n=3))
    return parse_unified(diff.partition("@@")[1] + diff.partition("@@")[2])


def joined(text_lines):
    return "".join(f"{line}\n" for line in text_lines)


def make_steps(name, base, drawn):
    """Return steps in drawn forms, each of which replaces some lines by others."""
    steps, now = [], list(base)
    for number, (form, first, count, added) in enumerate(drawn):
        start = min(first, len(now))
        new = [*now[:start], *added, *now[start + count :]]
        if form == "hunks" and new == now:
            continue
        whole = (Replacement(joined(now), joined(new)),)
        edit = {
            "before": FileEdit(KEY, "edit", before=joined(now), replacements=whole),
            "replacement": FileEdit(KEY, "edit", replacements=whole),
            "hunks": FileEdit(KEY, "edit", hunks=hunks_between(now, new)),
            "whole": FileEdit(KEY, "edit", after=joined(new)),
            "delete": FileEdit(KEY, "delete"),
            "command": None,
        }[form]
        steps.append(Step(f"{name}{number}", name, "Edit", edit))
        now = {"delete": [], "command": now}.get(form, new)
    return steps


def merges_cleanly(base, target, source):
    """Merge three texts with git; return True if it finds no conflict, and the merged text."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("target", "base", "source")]
        for path, text in zip(paths, (target, base, source), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        done = subprocess.run(["git", "merge-file", "-p", *paths], capture_output=True, check=False)
    return done.returncode == 0, done.stdout.decode()


@laws
@given(lines, changes, changes)
def test_the_verdict_is_the_same_with_the_sides_swapped(base, target, source):
    steps = make_steps("t", base, target), make_steps("s", base, source)
    for before in (joined(base), None):
        found, swapped = compare_steps(KEY, *steps, before), compare_steps(KEY, *reversed(steps), before)
        assert found.outcome == swapped.outcome
        assert [each.base for each in found.ranges] == [each.base for each in swapped.ranges]


@laws
@given(lines, changes, changes)
def test_equal_texts_are_the_same_and_compatible_ones_merge_cleanly_in_git(base, target, source):
    steps = make_steps("t", base, target), make_steps("s", base, source)
    found = compare_steps(KEY, *steps, joined(base))
    here, there = (follow_steps(each, joined(base)) for each in steps)
    if here.text is None or there.text is None:
        assert found.outcome in {"unknown", "same"}
    elif (here.text, here.deleted) == (there.text, there.deleted):
        assert found.outcome == "same"
    elif here.deleted or there.deleted:
        assert found.outcome == "overlap"
    else:
        clean, merged = merges_cleanly(joined(base), here.text, there.text)
        assert found.outcome == ("compatible" if clean else "overlap")
        assert found.merged == merged or not clean


@laws
@given(lines, changes, changes)
def test_patches_that_lead_to_equal_texts_do_not_overlap(base, target, source):
    """The texts are not recorded; the patches of the source end with the text of the target.

    Line numbers of patches that were made one after the other may be those of different texts: then it is unknown.
    """
    patches = [[("hunks", *drawn[1:]) for drawn in side] for side in (target, source)]
    steps = [make_steps(name, base, side) for name, side in zip("ts", patches, strict=True)]
    texts = [follow_steps(each, joined(base)).text.split("\n")[:-1] for each in steps]
    back = hunks_between(texts[1], texts[0])
    if back:
        steps[1].append(Step("last", "s", "Edit", FileEdit(KEY, "edit", hunks=back)))
    if all(steps):
        assert compare_steps(KEY, *steps).outcome in {"same", "compatible", "unknown"}
