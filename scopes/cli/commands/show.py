"""`scopes conv show`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated, Literal

import typer

from scopes.cli.arguments import LATEST, ScopeOrLatestArgument, names_revision
from scopes.cli.invocation import Invocation
from scopes.conversation.show import RECENT, read_drawing
from scopes.conversation.show import show as run_show
from scopes.errors import Ambiguous, NotFound
from scopes.history.names import could_be_id, find_copies, split_steps, split_time
from scopes.render.mermaid_view import as_mermaid
from scopes.render.view_options import ViewOptions
from scopes.store.repository import Repository


def show(
    context: typer.Context,
    where: ScopeOrLatestArgument = LATEST,
    form: Annotated[
        Literal["text", "mermaid"] | None,
        typer.Option("--format", metavar="FORM", help="text, or mermaid for a gitGraph"),
    ] = None,
    recent: Annotated[
        int, typer.Option("--recent", "-n", min=0, metavar="N", help="Number of recent messages")
    ] = RECENT,
    include_hidden: Annotated[
        bool, typer.Option("--all", "--abandoned", help="Include abandoned branches and those of ended conflicts")
    ] = False,
    commits: Annotated[
        bool, typer.Option("--commits", help="The commits of the project that it made or wrote, with the evidence")
    ] = False,
    show_signature: Annotated[
        bool, typer.Option("--show-signature", help="Check the signatures of the recent messages with git")
    ] = False,
) -> int:
    """Show participants, branches and recent activity.

    Also project, models, time span, tokens of the last context (as recorded with its answer), the UUID and the id
    of the imported session. CONV/BRANCH shows one branch. The message count of a branch starts at its fork point; the
    total is added where it differs.

    --commits searches the project around the current directory. made: a call of the turn ran git commit; wrote: edits
    of the turns have lines of the commit, as scopes why answers, or a command may have written its files. Both may be
    different turns. certain and likely say how sure that is: lines alone are likely if the commit was made after the
    session had ended. What hooks have recorded (scopes hooks install git) counts before what is found afterwards. In a
    pipe and with --fields each turn of a link is a row: commit, authored, role, level, turn, message, evidence,
    subject, state. The evidence of a link with several turns is that of all of them together. The state is current,
    gone (no branch has the commit), or what it was replaced by, as when it was amended.

    --show-signature adds a line with what git says about the signature of a recent message that has one, as in log; cat
    has the option for a single message.

    Examples:
      scopes show
      scopes conv show conv-001/main
      scopes conv show conv-001 --format mermaid > branches.mmd
      scopes conv show conv-001 --json
      scopes show conv-001 --commits
      scopes show conv-001 --commits --fields commit,role,level,turn
    """
    invocation: Invocation = context.obj
    repository = invocation.repository()
    if commits:
        from scopes.cli.commit_options import index_progress

        with index_progress(invocation) as on_progress:
            from scopes.conversation.commits import show_commits

            found = show_commits(
                repository, where.partition("/")[0], directory=invocation.cwd,
                index_directory=invocation.index_directory, on_progress=on_progress,
            )  # fmt: skip
        return invocation.show(found)
    try:
        view = run_show(repository, where, recent=recent, include_hidden=include_hidden)
    except NotFound as error:
        if "/" in where or not may_name_message(where) or not _names_message(repository, where):
            raise
        option = " --show-signature" if show_signature else ""
        hint = f"print it: scopes cat {quote(where)}{option}"
        raise NotFound(f"{where!a} is a message, not a conversation", hint=hint) from error
    if show_signature:
        from scopes.conversation.verify import with_signatures

        view = with_signatures(repository, view, invocation.cwd)
    if form == "mermaid":
        return invocation.show(as_mermaid(view, read_drawing(repository, view)))
    return invocation.show(view, options=ViewOptions(details=invocation.verbose))


def _names_message(repository: Repository, text: str) -> bool:
    """Return True if a text that names no conversation, whatever else it may be called, names a message or several."""
    if not could_be_id(text):
        return names_revision(repository, text)
    try:
        return bool(find_copies(repository, text))
    except Ambiguous:
        return True


def may_name_message(text: str) -> bool:
    """Return True if a text may name a message without `CONV/` before it: by its id, or by steps or a time."""
    return could_be_id(text) or text.startswith(LATEST) or split_steps(text)[1] > 0 or split_time(text)[1] is not None
