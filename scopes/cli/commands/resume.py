"""`scopes resume`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from scopes.cli.invocation import Invocation
from scopes.cli.options import Text, argument, option, tokenizer_for
from scopes.cli.words import read_where
from scopes.errors import Inaccessible, Invalid, NotFound
from scopes.handover.agent_programs import PROGRAMS
from scopes.handover.checkout import CheckedOut, CheckoutRequest, checkout, plan_checkout
from scopes.handover.resume import ResumeRequest, Resumption, User, naming, quote_word, shell_line
from scopes.handover.resume import resume as plan_resume
from scopes.handover.writers import find_writer
from scopes.hosts.agents import find_program
from scopes.secret_scan.shown import without_secrets

if TYPE_CHECKING:
    from scopes.tokens.count import TokenizerChoice


def resume(
    invocation: Invocation,
    where: Annotated[Text, argument("[WHERE]", "The conversation or branch (default: @)")] = None,
    agent: Annotated[Text, option("--in AGENT", "Go on in this agent instead")] = None,
    prompt: Annotated[str, option("--prompt TEXT", "What to ask at once")] = "",
    directory: Annotated[Text, option("--directory DIR", "Where the agent works (default: as before)")] = None,
    new: Annotated[bool, option("--new", "A new session, even if its own is there")] = False,
    only_print: Annotated[bool, option("--print", "Make ready, print the command, start nothing")] = False,
) -> int:
    """Go on with a conversation in its agent.

    The agent's own session is opened if it has every message; else a new one begins with the recorded history, fenced
    as data, in its first prompt. --in writes the conversation as a session of another agent, whose messages go to a
    branch AGENT/N. In a pipe nothing is started.

    Examples:
      scopes resume
      scopes resume conv-039
      scopes resume @/try --in codex
      scopes resume --dry-run
    """
    only_print = only_print or invocation.dry_run or invocation.wants_data
    only_print = only_print or not (invocation.interactive and invocation.stdout.isatty())
    place = None if where is None else read_where(invocation.repository(), where)
    request = ResumeRequest(where=place, agent=agent, new=new, prompt=prompt, directory=directory)
    if agent is not None and agent in PROGRAMS and not only_print:
        _find_program(invocation, PROGRAMS[agent].program)
    found = _make_ready(invocation, request, tokenizer_for(invocation, None))
    if only_print:
        return invocation.show(found)
    with naming(f"{found.conversation}/{found.branch}"):
        return _start(invocation, found)


def _make_ready(invocation: Invocation, request: ResumeRequest, tokenizer: TokenizerChoice) -> Resumption | CheckedOut:
    """Return how to go on; for another agent, its session is written unless this is a dry run.

    Raises:
        Invalid: the agent takes no prompt.
        As `plan_resume`, `plan_checkout` and `checkout`.
    """
    store = () if invocation.store is None else ("--store", os.path.abspath(invocation.store))
    user = User(invocation.environ, invocation.home, store)
    repository = invocation.repository()
    writer = None if request.agent is None else find_writer(request.agent)
    place = request.where
    if writer is None or writer.name in PROGRAMS:
        found = plan_resume(repository, request, tokenizer, user)
        if writer is None or found.session == "own":
            return found
        place = f"{found.conversation}/{found.branch}"
    written = CheckoutRequest(
        where=place or "@", agent=writer.name, directory=request.directory, here=invocation.cwd,
        secrets=invocation.secrets,
    )  # fmt: skip
    session = checkout(plan_checkout(repository, written, tokenizer, user), user, dry_run=invocation.dry_run)
    if not request.prompt:
        return session
    if writer.name not in PROGRAMS:
        raise Invalid(f"{writer.name} takes no first prompt", hint="leave out --prompt")
    words = (*session.command, *PROGRAMS[writer.name].prompt_words(request.prompt))
    return replace(session, command=words, shell=shell_line(session.directory, " ".join(map(quote_word, words))))


def _find_program(invocation: Invocation, name: str) -> str:
    program = find_program(name, invocation.environ.get("PATH"))
    if program is None:
        hint = "go on in another agent: --in AGENT, or repeat the command with --print to see what to run"
        raise NotFound(f"{name} is not in PATH", hint=hint)
    return program


def _start(invocation: Invocation, found: Resumption | CheckedOut) -> int:
    """Become the agent; return only if it cannot be started.

    Raises:
        NotFound: its program is not in PATH.
        Inaccessible: it, or the directory, cannot be used.
    """
    program = _find_program(invocation, found.command[0])
    where = "" if found.directory is None else f" in {without_secrets(found.directory)}"
    if isinstance(found, CheckedOut):
        what = "a session that was written for it"
    else:
        what = "its session" if found.session == "own" else f"a new session ({found.reason})"
    for note in found.notes:
        invocation.output().note(note)
    branch = f"{found.conversation}/{without_secrets(found.branch)}"
    invocation.output().say(f"opening {branch} in {found.agent}: {what}{where}")
    try:
        if found.directory is not None:
            os.chdir(found.directory)
        invocation.stdout.flush()
        os.execve(program, found.command, dict(invocation.environ))  # noqa: S606 - the agent that the user asked for
    except OSError as error:
        raise Inaccessible(f"cannot start {program}: {error.strerror}", hint="see: scopes doctor") from error
