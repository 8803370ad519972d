"""Prove that both sides ran the same commands on the same text: the results are then equal, though not recorded."""

from __future__ import annotations

from collections.abc import Sequence

from scopes.merge.file_steps import Step
from scopes.merge.file_texts import follow_steps
from scopes.model.file_edits import is_complete


def ran_same_commands(steps: Sequence[Step], others: Sequence[Step], base: str | None) -> bool:
    """Return True if two sides had an equal text, and changed it by the same commands and edits from there on."""
    sides = [[step for step in each if step.changes_file] for each in (steps, others)]
    starts = [next((at for at, step in enumerate(side) if step.command is not None), None) for side in sides]
    if None in starts or any(step.shared for side in sides for step in side):
        return False
    ends = [side[start:] for side, start in zip(sides, starts, strict=True)]
    texts = [follow_steps(side[:start], base) for side, start in zip(sides, starts, strict=True)]
    if texts[0].text is None or any(text.deleted or text.formatter is not None for text in texts):
        return False
    known = all(
        step.command is not None or (step.edit is not None and is_complete(step.edit)) for end in ends for step in end
    )
    done = [[(step.command, step.edit) for step in end] for end in ends]
    return known and texts[0].text == texts[1].text and done[0] == done[1]
