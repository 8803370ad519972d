"""Format the answers of `why` as JSON: one object for adjacent lines with the same answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.code_links.why_result import Why, WhyAnswer, WhyLines


@to_wire.register
def format_why(result: Why) -> dict[str, object]:
    """Return all answers in one object."""
    return {"kind": "why-file", "file": result.file, "lines": [to_wire(each) for each in result.items]}


@to_wire.register
def format_why_lines(result: WhyLines) -> dict[str, object]:
    """Return the answer for adjacent lines; `origin` is the place of the first one in its commit."""
    commit = result.commit
    return without_none(
        kind="why",
        file=result.file,
        line=result.line,
        last_line=result.last_line,
        commit=None if commit is None else commit.id,
        subject=None if commit is None else commit.subject,
        author=None if commit is None else commit.author,
        time=None if commit is None else commit.time,
        origin=None if commit is None else {"path": commit.path, "line": commit.line},
        level=result.level,
        answers=[_answer(each) for each in result.answers],
        also=list(result.also),
        candidates=[{**_answer(each), "level": "candidate"} for each in result.candidates] or None,
    )


def _answer(answer: WhyAnswer) -> dict[str, object]:
    return without_none(
        conversation=answer.conversation,
        branch=answer.branch,
        message=answer.message,
        turn=answer.turn,
        prompt=answer.prompt,
        agreed_to=answer.agreed_to,
        longer_prompt=answer.longer_prompt,
        how=answer.how,
        share=answer.share,
        call_id=answer.call_id,
        seconds_before=answer.seconds_before,
        command=answer.command,
        made_commit=answer.made,
    )
