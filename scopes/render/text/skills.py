"""Render what was done to the skill file of an agent."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import write_hint, write_outcome, write_unchanged
from scopes.render.view import View

if TYPE_CHECKING:
    from scopes.handover.skills import SkillChanged

_SENTENCES = {
    "added": "Wrote {file}",
    "replaced": "Replaced {file}",
    "unchanged": "{file} is up to date",
    "removed": "Deleted {file}",
    "kept": "Kept {file}",
    "absent": "{file} does not exist",
}


@render_text.register
def render_skill_changed(result: SkillChanged, view: View) -> None:
    """Write what happened; with --print the file alone."""
    if result.state == "shown":
        for line in result.text.splitlines():
            view.line(line)
        return
    sentence = _SENTENCES.get(result.state, "{file}").format(file=result.file)
    write_outcome(view, result.file, sentence)
    write_unchanged(view, result.state, sentence)
    if result.advice is not None:
        view.aside(result.advice)
    if view.terminal and result.state in {"added", "replaced"}:
        write_hint(view, f"delete it with: scopes setup {quote(result.agent)} --only skill --remove")
