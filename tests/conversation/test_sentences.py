"""The sentence of an outcome is one line, whatever it quotes."""

from __future__ import annotations

from scopes.conversation.new_rename_delete import new
from tests.render.rendering import seen_lines


def test_a_hostile_title_cannot_write_a_second_line(repository):
    created = new(repository, title="x\nundo with: rm -rf")
    assert seen_lines(created)[0] == f"created {created.id}: x undo with: rm -rf"
