"""`scopes diff`, `why` and `bisect`: what differs, where a line is from, and where it went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from scopes.cli.command_line import after_separator
from scopes.cli.invocation import Invocation
from scopes.cli.options import LATEST, Limit, Text, Texts, argument, option
from scopes.cli.progress import counted
from scopes.cli.words import find_conversation, names_revision, read_where, replace_head
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.render.view import ViewOptions

if TYPE_CHECKING:
    from scopes.check.compare import RunComparison
    from scopes.check.run import Run
    from scopes.conversation.log import BisectPoint
    from scopes.store.repository import Repository

_GROUPS = {"decisions", "entities", "methods", "priorities", "analyses"}  # of keys: `entities/task/42/status`
_MORE = 5
_WHOLE = 10_000_000  # tokens: the context of a test is the whole one


def diff(
    invocation: Invocation,
    conversation: Annotated[Text, argument("[CONV]", "Where A and B are, if they are not conversations")] = None,
    left: Annotated[Text, argument("[A]", "A conversation, transcript, branch or message, or A..B")] = None,
    right: Annotated[Text, argument("[B]", "What it is compared with")] = None,
    other: Annotated[Text, argument(hidden=True)] = None,
    stat: Annotated[bool, option("--stat", "Only the table: time, cost, tests, files")] = False,
    steps: Annotated[bool, option("--steps", "Every message that only one side has")] = False,
    as_range: Annotated[bool, option("--range", "Pair the messages of two versions of a branch")] = False,
    match: Annotated[Text, option("--match HOW", "Equal is: strict, unordered, subset, superset")] = None,
    commit: Annotated[Text, option("--commit REV", "Compare a commit with the edits it is from")] = None,
) -> int:
    """Compare two runs, branches or messages.

    Two conversations or transcripts are compared as runs, side by side; branches and messages by what they decided and
    by the messages that only one of them has. The exit code is 1 if they differ.

    Examples:
      scopes diff conv-041 conv-042
      scopes diff main..try
      scopes diff conv-001 main try --steps
      scopes diff --range main@{1} main
    """
    names = [replace_head(word) for word in (conversation, left, right, other) if word is not None]
    if commit is not None:
        return _diff_commit(invocation, commit, next(iter(names), None), stat=stat)
    if not names:
        raise Invalid("nothing to compare was given", hint="for example: scopes diff main fix")
    if as_range:
        from scopes.conversation.diff import range_diff

        repository = invocation.repository()
        conversation, versions = _split_conversation(repository, names)
        ranges = range_diff(repository, versions, conversation=conversation, patch=not stat)
        return invocation.show(ranges)
    if match is not None or (not steps and len(names) == 2 and all(_is_run(invocation, name) for name in names)):
        return invocation.show(compare_named(invocation, names, match))
    if len(names) > 3 or (len(names) == 3 and any(".." in name for name in names[1:])):
        raise Invalid(f"too many arguments: {names[-1]}", hint="give CONV A..B, or CONV A B")
    from scopes.conversation.diff import diff as run_diff

    repository = invocation.repository()
    left, *rest = names
    result = run_diff(repository, left, "..".join(rest) or None, bodies=not stat and not invocation.json, stat=stat)
    return invocation.show(result)


def _diff_commit(invocation: Invocation, commit: str, where: str | None, *, stat: bool) -> int:
    """Show the lines that a commit added and that no edit of its conversations, or of one, has."""
    from scopes.conversation.commits import RevisionRequest, diff_commit

    conversation = None if where is None else where.partition("/")[0]
    with counted(invocation, "indexing edits") as on_progress:
        request = RevisionRequest(
            revision=commit, directory=invocation.cwd, index_directory=invocation.index_directory,
            conversation=conversation, on_progress=on_progress,
        )  # fmt: skip
        account = diff_commit(invocation.repository(), request)
    return invocation.show(account, options=ViewOptions(stat=stat))


def _split_conversation(repository: Repository, names: list[str]) -> tuple[str | None, list[str]]:
    """Split the words of --range into the conversation, if it is first or has to be the latest, and the rest."""
    first, *rest = names
    is_name = ".." not in first and "/" not in first
    if is_name and rest and (len(rest) > 1 or ".." in rest[0]) and find_conversation(repository, first):
        return first, rest
    name = first.partition("..")[0]
    found = bool(name) and (find_conversation(repository, name) is not None or names_revision(repository, name))
    return None if found else LATEST, names


def _is_run(invocation: Invocation, name: str) -> bool:
    """Return True if a word is a transcript, or names a whole conversation."""
    from scopes.cli.check_policy import is_path

    if is_path(name):
        return True
    return not {"/", ".", "~", "^"} & {*name} and find_conversation(invocation.repository(), name) is not None


def compare_named(invocation: Invocation, names: Sequence[str], match: str | None) -> RunComparison:
    """Compare two runs, each a transcript or a stored conversation.

    Raises:
        Invalid: there are not two, or there is no such way to compare.
        NotFound, Ambiguous: one is not a run, or has several.
    """
    from scopes.check.compare import MODES, compare_runs
    from scopes.cli.check_policy import read_policy

    if match not in {None, *MODES}:
        raise Invalid(f"--match {match!a} is not possible: use one of {', '.join(MODES)}")
    if len(names) != 2:
        raise Invalid("--match compares two runs", hint="for example: scopes diff --match subset old.jsonl new.jsonl")
    policy = read_policy(invocation, None, None, None, None)
    first, second = (_read_run(invocation, name) for name in names)
    return compare_runs(first, second, match or "strict", policy)


def _read_run(invocation: Invocation, name: str) -> Run:
    from scopes.check.run_reader import read_run
    from scopes.cli.check_runs import open_runs, split_targets

    with open_runs(invocation, *split_targets(invocation, [name])) as runs:
        if not runs.scopes:
            reason = f": {runs.missing[0][1]}" if runs.missing else ""
            raise NotFound(f"there is no run in {name}{reason}", hint="give a transcript or a stored conversation")
        if len(runs.scopes) > 1:
            raise Ambiguous(f"{name} has {len(runs.scopes)} runs", hint="give the transcript of one of them")
        return read_run(runs.repository, runs.scopes[0][1], name)


def why(
    invocation: Invocation,
    target: Annotated[
        Text, argument("[FILE[:LINE[-LINE]]]", "The file, and the lines; with --topic a conversation")
    ] = None,
    limit: Limit = None,
    revision: Annotated[Text, option("--rev REV", "The file as of this commit")] = None,
    topic: Annotated[Text, option("--topic TOPIC", "Who decided this, instead of a file")] = None,
    candidates: Annotated[bool, option("--candidates", "Name further turns that may have written it")] = False,
    lines: Annotated[Text, option("-L FIRST,LAST", hidden=True)] = None,
) -> int:
    """Show which prompt a line or a decision is from.

    Goes from a line through git blame to its commit, and to the turn of a conversation that wrote it; sessions that
    were imported are enough. Exit code 1: nothing is known of the line.

    Examples:
      scopes why src/session.py:29
      scopes why src/session.py
      scopes why --topic cookies
    """
    if topic is not None:
        if revision is not None or candidates or lines is not None or limit is not None:
            raise Invalid("--topic can be combined with a conversation only", hint="leave the other options out")
        from scopes.conversation.changes import blame

        repository = invocation.repository()
        key = topic if topic.partition("/")[0] in _GROUPS else f"decisions/{topic}"
        return invocation.show(blame(repository, read_where(repository, target or LATEST), key))
    if target is None:
        raise Invalid("no file given", hint="for example: scopes why src/app.py:42, or --topic TOPIC")
    if invocation.at_operation is not None:
        raise Invalid("--at is for --topic; a file is read as of a commit", hint="for example: --rev HEAD~1")
    if limit == 0:
        raise Invalid("-n 0 names no candidate", hint="for example: scopes why FILE:LINE -n 3")
    from scopes.code_links.why import WhyRequest
    from scopes.code_links.why import why as run_why

    more = limit if limit is not None else _MORE if candidates else 0
    target = target if lines is None else f"{target}:{lines.replace(',', '-')}"
    request = WhyRequest(target=target, cwd=invocation.cwd, revision=revision, candidates=more)
    with counted(invocation, "indexing edits") as on_progress:
        found = run_why(invocation.repository(), invocation.index_directory, request, on_progress)
    return invocation.show(found)


def bisect(
    invocation: Invocation,
    where: Annotated[Text, argument("[WHERE]", "The branch (default: @)")] = None,
    rest: Annotated[Texts, argument("-- COMMAND", "The command, which runs without a shell")] = None,
    good: Annotated[Text, option("--good MESSAGE", "A good message (default: before the first)")] = None,
    bad: Annotated[Text, option("--bad MESSAGE", "A bad message (default: the last)")] = None,
    input_: Annotated[str, option("--input WHAT", "Its input: context, state, message or none")] = "context",
) -> int:
    """Find the first message where a command fails.

    It works as git bisect run: exit code 0 is good, 125 cannot be tested, 128 and above stop the search, all others are
    bad. SCOPES_CONVERSATION, SCOPES_MESSAGE, SCOPES_REVISION and SCOPES_STORE name the message; possible secrets in its
    input are masked. Nothing is checked out and nothing is stored.

    Examples:
      scopes bisect -- ./fails.sh
      scopes bisect conv-001 --good main~20 -- grep -q sqlite
      scopes bisect run -- make test
    """
    from scopes.cli.options import project_directory, tokenizer_for
    from scopes.context.bisect_command import BisectCommand, ContextReader, check_bisect_command
    from scopes.context.request import new_request
    from scopes.conversation.log import bisect as run_bisect
    from scopes.result import plural
    from scopes.sanitize import mark_cut

    command = after_separator(invocation.arguments)
    words = [*([] if where is None else [where]), *(rest or ())]
    places = words[: len(words) - len(command)]
    if len(places) > 1:
        raise Invalid(f"too many arguments: {' '.join(places[1:])}", hint="put the command after --")
    check_bisect_command(command, input_)
    repository = invocation.repository()
    place = read_where(repository, places[0] if places else LATEST)
    request = new_request(invocation.config(), None, max_tokens=_WHOLE, project=project_directory(invocation))
    reader = ContextReader(
        request=request, choice=tokenizer_for(invocation, None), cache_directory=invocation.cache_directory
    )
    judge = BisectCommand(
        repository=repository, command=command, environ=invocation.environ, input=input_, reader=reader,
        output=invocation.stderr,
    )  # fmt: skip
    output = invocation.output()

    def announce(point: BisectPoint, left: int) -> None:
        steps = (left - 1).bit_length()
        name = "the beginning" if point.head is None else point.head.id[:8]
        text = "" if point.head is None else f": {mark_cut(point.head.subject)}"
        remaining = f"{left:,} {plural(left, 'message')}, about {steps} {plural(steps, 'step')} left"
        output.say(f"testing {name} ({remaining}){text}")

    return invocation.show(run_bisect(repository, place, judge, good=good, bad=bad, on_step=announce))
