"""Render the commits of a conversation: a table, or on a terminal a line for each with its evidence below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, short_time
from scopes.render.view import Column, Span, View
from scopes.result import counted, plural

if TYPE_CHECKING:
    from scopes.code_links.link import CodeLink
    from scopes.conversation.commits import CommitRow, ConversationCommits
    from scopes.render.color import Style

_COLUMNS = (
    Column("Commit"), Column("Authored"), Column("Role"), Column("Level"), Column("Turn"), Column("Message"),
    Column("Evidence"), Column("Subject"), Column("State"),
)  # fmt: skip
_LEVELS: dict[str, Style] = {"certain": "good", "likely": "warn", "candidate": "dim"}
_INDENT = 9


@render_text.register
def render_conversation_commits(result: ConversationCommits, view: View) -> None:
    """Write a row for each turn of a link; on a terminal a line for each commit, with its links and earlier forms."""
    if not view.terminal:
        view.rows(_COLUMNS, [cells for row in result.commits for link in row.links for cells in _cells(row, link)])
        return
    if not result.commits:
        view.line(f"No commit of this project is linked to {result.conversation}.")
        return
    shown = {row.commit for row in result.commits}
    current = [row for row in result.commits if row.replaced_by not in shown]
    view.line(f"{counted(len(current), 'commit')} of ", Span(result.conversation, "branch"))
    for row in current:
        gone = (Span(f" ({_describe_gone(row)})", "dim"),) if row.is_gone else ()
        name = Span(row.commit[:SHORT_ID_LENGTH], "id")
        view.line(name, " ", row.subject, "  ", short_time(view, row.authored), *gone)
        for link in row.links:
            level = Span(link.level, _LEVELS.get(link.level, ""))
            view.hanging(level, f" {link.role}{_turns(link)}: {_evidence(link)}", indent=_INDENT)
        for earlier in result.commits:
            if earlier.replaced_by == row.commit:
                text = f"replaces {earlier.commit[:SHORT_ID_LENGTH]} {earlier.subject}"
                view.hanging(Span(text, "dim"), indent=_INDENT)


def _cells(row: CommitRow, link: CodeLink) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each turn of a link, or of the link if its turn is not known.

    The evidence is about all turns of the link together; each row has it, so that a script may read any one.
    """
    evidence = _evidence(link)
    turns: list[tuple[str, str]] = [(str(each.number), each.message) for each in link.turns]
    for turn, message in turns or [("" if link.turn is None else str(link.turn), link.message or "")]:
        yield (
            row.commit,
            row.authored or "",
            link.role,
            link.level,
            turn,
            message,
            evidence,
            row.subject,
            _state(row),
        )


def _state(row: CommitRow) -> str:
    if row.replaced_by is not None:
        return f"replaced by {row.replaced_by}"
    return "gone" if row.is_gone else "current"


def _describe_gone(row: CommitRow) -> str:
    """Return why a commit is not one of the project any more; that which replaced it is not shown."""
    if row.replaced_by is not None:
        return f"replaced by {row.replaced_by[:SHORT_ID_LENGTH]}"
    return "on no branch of this project"


def _turns(link: CodeLink) -> str:
    """Return ` in turn 2` or ` in turns 1, 2`."""
    numbers = [str(each.number) for each in link.turns] or ([] if link.turn is None else [str(link.turn)])
    return f" in {plural(len(numbers), 'turn')} {', '.join(numbers)}" if numbers else ""


def _evidence(link: CodeLink) -> str:
    return "; ".join(each.text for each in link.evidence)
