"""Random forks of a file in the shapes of Claude Code and Codex, compared with `git merge-file` on the real texts."""

from __future__ import annotations

import random
import subprocess
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from scopes.merge.file_comparison import compare_steps
from scopes.merge.file_steps import Step, mark_shared
from scopes.model.file_edits import edits_of_call
from scopes.model.message import Part
from tests.support.examples import examples

KEY = "files/f.py="
PATH = "f.py"
SIZE = 40


def claude_edit(lines, new, start, stop, rng):
    """Return the steps of an Edit, at times without the text before it; None if its old text is not unique."""
    first, last = max(start - 1, 0), min(stop + 1, len(lines))
    old = "".join(lines[first:last])
    text = "".join(lines)
    if not old or text.count(old) != 1:
        return None
    added = "".join(new)[len("".join(lines[:first])) :]
    kept = len("".join(lines[last:]))
    arguments = {"file_path": PATH, "old_string": old, "new_string": added[: len(added) - kept]}
    structured = {"filePath": PATH, "originalFile": text} if rng.random() < 0.7 else {}
    return call("Edit", arguments, structured)


def codex_patch(lines, new):
    """Return the steps of a patch that is reported with line numbers only."""
    diff = "".join(list(unified_diff(lines, new, n=3))[2:])
    structured = {"changes": {PATH: {"type": "update", "unified_diff": diff}}}
    return call("apply_patch", {}, structured)


def call(name, arguments, structured):
    part = Part("tool_call", {"call_id": "c", "name": name, "input": arguments})
    return [edit._replace(path=KEY) for edit in edits_of_call(part, structured)]


def draw_change(rng, lines, name):
    """Return random lines made of others, and the range of the old lines that was replaced."""
    start = rng.randrange(len(lines) + 1)
    stop = min(start + rng.randrange(3), len(lines))
    added = [f"{rng.choice((name, 'both'))} {rng.randrange(6)}\n" for _ in range(rng.randrange(3))]
    return [*lines[:start], *added, *lines[stop:]], start, stop


def draw_step(rng, lines, name, number):
    """Return the next real text of a side, and the recorded step; a command records nothing about the text."""
    message = f"{name}{number}"
    form = rng.choice(("edit", "edit", "edit", "patch", "patch", "write", "read", "command"))
    if form == "read":
        content = {"content": "".join(lines), "startLine": 1, "numLines": len(lines), "totalLines": len(lines)}
        edits = call("Read", {"file_path": PATH}, {"type": "text", "file": {"filePath": PATH, **content}})
        return lines, Step(message, name, "Read", edits[0])
    new, start, stop = draw_change(rng, lines, name)
    if new == lines or not new:
        return lines, None
    if form == "command":
        return new, Step(message, name, "Bash sed -i")
    if form == "write":
        structured = {"type": "update", "originalFile": "".join(lines)} if rng.random() < 0.7 else {}
        edits = call("Write", {"file_path": PATH, "content": "".join(new)}, structured)
    else:
        edits = codex_patch(lines, new) if form == "patch" else claude_edit(lines, new, start, stop, rng)
    return (lines, None) if not edits else (new, Step(message, name, form, edits[0]))


def draw_side(rng, base, name, picked):
    """Return the real text of a side at its end, and its steps; `picked` is an edit of both sides."""
    lines, steps = base, []
    place = rng.randrange(3)
    for number in range(rng.randrange(1, 5)):
        if picked is not None and number == place:
            old, new, step = picked
            text = "".join(lines)
            if text.count(old) == 1:
                lines = text.replace(old, new).splitlines(keepends=True)
                steps.append(step)
        lines, step = draw_step(rng, lines, name, number)
        if step is not None:
            steps.append(step)
    return lines, steps


def merge_with_git(base, target, source):
    """Merge three texts with git; return True if it finds no conflict, and the merged text."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("target", "base", "source")]
        for path, text in zip(paths, (target, base, source), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        done = subprocess.run(["git", "merge-file", "-p", *paths], capture_output=True, check=False)
    return done.returncode == 0, done.stdout.decode()


def draw_case(seed):
    """Return the real texts of base, target and source, and the steps of both sides; some have a picked edit."""
    rng = random.Random(seed)
    base = [f"line {number if rng.random() < 0.9 else 0}\n" for number in range(rng.randrange(4, SIZE))]
    picked = None
    if rng.random() < 0.3:
        old = rng.choice(base)
        new = f"{old}picked 1\npicked 2\n"
        before = {"originalFile": "".join(base)} if rng.random() < 0.5 else {}
        edits = call("Edit", {"file_path": PATH, "old_string": old, "new_string": new}, {"filePath": PATH, **before})
        picked = old, new, Step("picked", "other", "Edit", edits[0])
    (target, target_steps), (source, source_steps) = (draw_side(rng, base, name, picked) for name in "ts")
    shared = {step.message for step in target_steps} & {step.message for step in source_steps}
    if picked is not None and not shared and any(step.message == "picked" for step in [*target_steps, *source_steps]):
        return draw_case(seed + 1_000_000)  # the edit is at home on one side, and its record would be of another text
    steps = [mark_shared(each, (), shared) for each in (target_steps, source_steps)]
    before = "".join(base) if rng.random() < 0.5 else None
    return ("".join(base), "".join(target), "".join(source)), steps, before


def find_false_statement(seed):
    """Return what a comparison states that the real texts refute; None if it is right or unknown."""
    (base, target, source), steps, before = draw_case(seed)
    if not all(steps):
        return None
    found = compare_steps(KEY, *steps, before)
    clean, merged = merge_with_git(base, target, source)
    match found.outcome:
        case "same" if target != source:
            return "same", found.note
        case "compatible" if not clean or found.merged not in {None, merged}:
            return "compatible", found.note
        case "overlap" if clean and target == source:
            return "overlap", found.note
    return None


@pytest.mark.parametrize("seed", range(examples(60)))
def test_no_statement_about_random_forks_is_false(seed):
    assert find_false_statement(seed) is None
