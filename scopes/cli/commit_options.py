"""`--commit` and `--commits`: what log, diff and show need of the project around the current directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from scopes.cli.invocation import Invocation
from scopes.cli.options import LATEST
from scopes.ids import MessageId
from scopes.render.progress import progress

if TYPE_CHECKING:
    from scopes.conversation.commits import RevisionRequest
    from scopes.conversation.log import CommitTurn

Progress: TypeAlias = "Callable[[int, int], None]"


@contextmanager
def index_progress(invocation: Invocation) -> Iterator[Progress]:
    """Show how many conversations are read into the index of edits."""
    with progress(invocation.output(), "indexing edits") as meter:

        def on_progress(done: int, total: int) -> None:
            meter.expect(lambda: total)
            meter(1 if done else 0)

        yield on_progress


def find_commit_messages(
    invocation: Invocation, revision: str, where: str
) -> tuple[str, Mapping[MessageId, CommitTurn]]:
    """Return the conversation and the messages of the turns that a commit is from; `where` may name the conversation.

    Raises:
        NotFound: there is no such commit, or no conversation is linked to it.
    """
    with index_progress(invocation) as on_progress:
        request = revision_request(invocation, revision, conversation_of(where), on_progress)
        from scopes.conversation.commits import find_commit_turns

        found = find_commit_turns(invocation.repository(), request)
    invocation.add_notes(found.notes)
    return found.conversation, found.messages


def revision_request(
    invocation: Invocation, revision: str, conversation: str | None, on_progress: Progress
) -> RevisionRequest:
    """Return the request for a commit of the project around the current directory."""
    from scopes.conversation.commits import RevisionRequest

    return RevisionRequest(
        revision=revision, directory=invocation.cwd, index_directory=invocation.index_directory,
        conversation=conversation, on_progress=on_progress,
    )  # fmt: skip


def conversation_of(where: str) -> str | None:
    """Return the conversation in the first argument of a command; None for the latest one, which is the default."""
    return None if where == LATEST else where.partition("/")[0]
