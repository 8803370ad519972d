"""`scopes why`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.code_links.why import WhyRequest
from scopes.code_links.why import why as run_why
from scopes.render.progress import progress

_MORE = 5


def why(
    context: typer.Context,
    target: Annotated[
        str, typer.Argument(metavar="FILE[:LINE[-LINE]]", help="The file, and the line or lines; default: all of it")
    ],
    revision: Annotated[
        str | None, typer.Option("--rev", metavar="REV", help="The commit of the project; default: the working tree")
    ] = None,
    candidates: Annotated[
        bool, typer.Option("--candidates", help="Name further turns that may have written a line")
    ] = False,
    count: Annotated[
        int | None, typer.Option("-n", min=1, metavar="N", help="How many candidates: 5 if not given")
    ] = None,
) -> int:
    """Show which prompt a line of code is from.

    Goes from a line through git blame to the commit, and from there to the turn of a conversation that wrote it: what
    was asked for, the end of the answer that an approval such as `yes` agreed to, and the evidence. Sessions that were
    imported are enough: nothing has to be recorded while an agent works. Turns are counted by prompts. The turn is the
    one that wrote the line; another one may have made the commit, see scopes log --commit.

    Levels: certain: an edit has the line and at least half of the lines around it that its commit added, and its
    conversation made the commit or wrote a quarter of it. likely: an edit has the line, and nothing contradicts.
    other-session: as certain, but another conversation made the commit. near: an edit has only the lines around it, or
    only the line, in a file that the conversation of the commit has not edited there.
    commit-only: the commit is of a conversation, but no edit has the line; often a command wrote it, which is shown.
    unsure: only candidates. none.

    In a pipe each answer is a row, and a template is filled for each; the level of a candidate is candidate. Lines
    may also be given as editors and web pages write them: FILE:1-3,5, FILE:12:5, FILE:12:5-14:2, FILE#L12-L20. Columns
    are not used, and a file whose name looks like that is meant if it exists.

    Adjacent lines with the same answer are shown together. A line that is too short to look up, such as `}`, is shown
    with those above or below it, unless it has an answer of its own, or letters or digits and no edit has it.

    A line that is not committed yet is looked up in the edits since HEAD. Lines that were moved, copied or reformatted
    are followed to where they were written, and commits in the file that blame.ignoreRevsFile names are skipped. A file
    that was moved between an edit and its first commit is likely that of the edits with half of its lines. Git runs no
    program that the repository names. The first run reads the edits of all conversations into the index.

    What other programs say about a commit is one more piece of evidence, and a candidate where nothing else links it:
    notes of git-ai in the project (refs/notes/ai), and records of Agent Trace in the file .agent-trace/traces.jsonl of
    its top directory, one JSON object a line; those of scopes export --format agent-trace can be put there too. They
    name a session or conversation, which has to be in the store. scopes log --commit shows them with their source.

    Exit code 1 means that none of the lines has an answer of the levels certain, likely or other-session.

    Examples:
      scopes why src/app.py:42
      scopes why src/app.py:40-60,75 --candidates
      scopes why src/app.py --rev v1.2 --json
      scopes why src/app.py:42 -n 3
      scopes why src/app.py --format '{lines} {conversation} {prompt}'
    """
    invocation: Invocation = context.obj
    more = count if count is not None else _MORE if candidates else 0
    request = WhyRequest(target=target, cwd=invocation.cwd, revision=revision, candidates=more)
    with progress(invocation.output(), "indexing edits") as meter:

        def on_progress(done: int, total: int) -> None:
            meter.expect(lambda: total)
            meter(1 if done else 0)

        found = run_why(invocation.repository(), invocation.index_directory, request, on_progress)
    return invocation.show(found)
