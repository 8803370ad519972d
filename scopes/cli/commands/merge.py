"""`scopes merge`, `rebase`, `cherry-pick` and `mr`: bring messages of one branch to another, and ask for it."""

from __future__ import annotations

from shlex import quote
from typing import Annotated, TypeAlias

from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    Abort,
    Continue,
    Reason,
    Skip,
    Text,
    TextOption,
    Texts,
    WhereBranch,
    argument,
    author_of,
    option,
)
from scopes.cli.words import find_conversation, read_where, split_branch, split_place, split_source
from scopes.conversation.merge import (
    MergeOptions,
    abort_merge,
    close_merge_request,
    continue_merge,
    find_merge_request_anywhere,
    list_merge_requests,
    merge_request,
    open_merge_request,
    show_merge_request,
)
from scopes.conversation.merge import merge as run_merge
from scopes.conversation.rebase import (
    abort_cherry_pick,
    abort_rebase,
    continue_cherry_pick,
    continue_rebase,
    skip_cherry_pick,
    skip_rebase,
)
from scopes.conversation.rebase import cherry_pick as run_cherry_pick
from scopes.conversation.rebase import rebase as run_rebase
from scopes.errors import Invalid, NotFound
from scopes.history.names import list_branch_tips, resolve_conversation, resolve_with_latest
from scopes.store.repository import Repository

REQUEST = "mr/"
Target: TypeAlias = Annotated[Text, option("--target BRANCH", "Where to (default: the active branch)")]
RequestWords: TypeAlias = Annotated[Texts, argument("[CONV] NUMBER", "The merge request: its number, or its id")]


def merge(
    invocation: Invocation,
    words: Annotated[Texts, argument("[CONV] [SOURCE]", "The branch, merge request or conversation to merge")] = None,
    message: TextOption = None,
    go_on: Continue = False,
    abort: Abort = False,
    source: Annotated[Text, option("--source BRANCH", "The branch to merge")] = None,
    target: Target = None,
    strategy: Annotated[Text, option("--strategy NAME", "automatic, ours, theirs or manual")] = None,
    strict: Annotated[bool, option("--strict", "Stop for files that both sides changed, too")] = False,
    no_ff: Annotated[bool, option("--no-ff", "Make a merge message in any case")] = False,
    allow_unrelated: Annotated[bool, option("--allow-unrelated", "Merge histories that share no message")] = False,
    branch: WhereBranch = None,
    request: Annotated[bool, option("--request", hidden=True)] = False,
    no_edit: Annotated[bool, option("--no-edit", hidden=True)] = False,  # noqa: ARG001 - git's, and the default
) -> int:
    """Merge a branch into another.

    Two different values for one thing, such as a decision, are a conflict: the merge stops with exit code 3, the target
    does not move, and a conflict-resolution branch becomes the active one. New messages on both sides are no conflict.

    Examples:
      scopes merge try
      scopes merge conv-001 --source analysis/security-review --target main
      scopes merge mr/3
      scopes merge --continue
    """
    options = MergeOptions(
        strategy=strategy or "automatic", fast_forward=not no_ff, strict=strict, allow_unrelated=allow_unrelated,
        message=message,
    )  # fmt: skip
    is_new = bool(source or target or request) or options != MergeOptions()
    given = [*(words or ())]
    if go_on or abort:
        step = "--continue" if go_on else "--abort"
        if go_on and abort:
            raise Invalid("--continue and --abort cannot be combined", hint="leave out --continue or --abort")
        if is_new or len(given) > 1:
            raise Invalid(f"{step} takes no source and no options of a merge", hint=f"scopes merge [CONV] {step}")
        conversation, branch = split_branch(given[0] if given else LATEST, branch)
        run = continue_merge if go_on else abort_merge
        return invocation.show(run(invocation.repository(), conversation, branch))
    if branch is not None:
        raise Invalid("--branch needs --continue or --abort", hint="use --target to name the branch to merge into")
    repository = invocation.repository()
    conversation, source = _split_merge(repository, given, source)
    if request or source.startswith(REQUEST):
        if target is not None or strict or allow_unrelated:
            raise Invalid("a merge request has its own target", hint="leave out --target, --strict, --allow-unrelated")
        name = source.removeprefix(REQUEST)
        if conversation == LATEST:
            conversation = find_merge_request_anywhere(repository, name)
        return invocation.show(merge_request(repository, conversation, name, options=options))
    dry_run = invocation.dry_run
    return invocation.show(run_merge(repository, conversation, source, target=target, options=options, dry_run=dry_run))


def _split_merge(repository: Repository, words: list[str], source: str | None) -> tuple[str, str]:
    """Return the conversation and what is merged into it; a single word is what is merged.

    Raises:
        Invalid: nothing is named to merge, or too much.
    """
    if len(words) > (2 if source is None else 1):
        form = " ".join(map(quote, words[:2])) if len(words) == 3 else "CONV SOURCE"
        target = quote(words[2]) if len(words) == 3 else "BRANCH"
        hint = f"scopes merge {form} --target {target}"
        raise Invalid(f"too many arguments: {words[-1]}", hint=hint)
    if source:
        return (words[0] if words else LATEST), source
    if len(words) == 1 and words[0].startswith(REQUEST):
        return LATEST, words[0]
    conversation, name = split_source(repository, words)
    latest = resolve_conversation(repository, conversation if name else LATEST)
    if name is None and conversation not in {LATEST, latest}:
        return LATEST, conversation  # the whole of another conversation
    if name is None:
        branches = ", ".join(each for each in list_branch_tips(repository, latest) if each != "main")
        hint = f"branches of {latest}: {branches}" if branches else f"create one: scopes branch {quote(latest)} NAME"
        raise Invalid("merge needs a branch to merge", hint=hint)
    return conversation, name


def rebase(
    invocation: Invocation,
    where: Annotated[str, argument("WHERE", "The branch that is moved")] = LATEST,
    go_on: Continue = False,
    skip: Skip = False,
    abort: Abort = False,
    onto: Annotated[Text, option("--onto MESSAGE", "The new base: a branch, main~2, an id")] = None,
    from_base: Annotated[bool, option("--from-base", "All messages since the merge base, as git")] = False,
    branch: WhereBranch = None,
) -> int:
    """Move a branch's own messages onto another base.

    The messages keep their ids. A conflict stops it with exit code 3, as in a merge.

    Examples:
      scopes rebase try --onto main
      scopes rebase --continue
    """
    step = _step(begin=onto is not None, go_on=go_on, skip=skip, abort=abort, missing="no new base given: --onto")
    if from_base and onto is None:
        raise Invalid("--from-base needs --onto", hint=f"leave it out with --{step}")
    repository = invocation.repository()
    conversation, branch = split_branch(read_where(repository, where), branch)
    if onto is None:
        run = {"continue": continue_rebase, "skip": skip_rebase}.get(step)
        resumed = abort_rebase if run is None else run
        return invocation.show(resumed(repository, conversation, branch))
    dry_run = invocation.dry_run
    return invocation.show(
        run_rebase(repository, conversation, onto=onto, branch=branch, from_base=from_base, dry_run=dry_run)
    )


def cherry_pick(
    invocation: Invocation,
    words: Annotated[
        Texts, argument("[WHERE] MESSAGE...", "Where to copy to, and the messages: ids, fix~2 or tags")
    ] = None,
    go_on: Continue = False,
    skip: Skip = False,
    abort: Abort = False,
    branch: WhereBranch = None,
) -> int:
    """Copy single messages onto a branch.

    They keep their ids; those that the branch has already are left out. A conflict stops it with exit code 3.

    Examples:
      scopes cherry-pick try~1
      scopes cherry-pick conv-001/main fq7x2m 9ce2kd
    """
    repository = invocation.repository()
    if go_on or skip or abort:
        place, messages = ([*(words or ()), LATEST][0], [*(words or ())][1:])
    else:
        place, messages = _split_picked(repository, words or [])
    step = _step(begin=bool(messages), go_on=go_on, skip=skip, abort=abort, missing="no message given")
    conversation, branch = split_branch(place, branch)
    if messages:
        dry_run = invocation.dry_run
        return invocation.show(run_cherry_pick(repository, conversation, messages, branch=branch, dry_run=dry_run))
    run = {"continue": continue_cherry_pick, "skip": skip_cherry_pick}.get(step)
    return invocation.show((abort_cherry_pick if run is None else run)(repository, conversation, branch))


def _split_picked(repository: Repository, words: list[str]) -> tuple[str, list[str]]:
    """Split the words `[WHERE] MESSAGE...`; without WHERE messages are copied onto the latest conversation.

    Raises:
        NotFound: the only word is neither a conversation nor a message.
        Invalid: it is a message of another conversation, so it is not clear where to copy it.
    """
    place, messages = split_place(repository, words)
    if place != LATEST or not messages or words[0] == LATEST:
        return place, messages
    if find_conversation(repository, messages[0]) is not None:
        return messages[0], messages[1:]
    try:
        found = resolve_with_latest(repository, messages[0]).conversation
    except NotFound as error:
        raise NotFound(f"there is no message {messages[0]!a}", hint=error.hint) from error
    latest = resolve_conversation(repository, LATEST)
    if found != latest:
        hint = f"name where to copy it: scopes cherry-pick {quote(latest)} {quote(messages[0])}"
        raise Invalid(f"{messages[0]} is a message of {found}", hint=hint)
    return LATEST, messages


def _step(*, begin: bool, go_on: bool, skip: bool, abort: bool, missing: str) -> str:
    """Return what is asked for: "begin", "continue", "skip" or "abort".

    Raises:
        Invalid: nothing, with the error `missing`, or several things.
    """
    asked = {"begin": begin, "continue": go_on, "skip": skip, "abort": abort}
    steps = [name for name, given in asked.items() if given]
    if not steps:
        raise Invalid(missing, hint="or give one of --continue, --skip and --abort")
    if len(steps) > 1:
        hint = "start a new one, or give one of --continue, --skip and --abort"
        raise Invalid("several steps are given at once", hint=hint)
    return steps[0]


def mr_open(
    invocation: Invocation,
    words: Annotated[Texts, argument("[CONV] [BRANCH]", "The branch (default: the active one)")] = None,
    message: TextOption = None,
    target: Annotated[str, option("--target BRANCH", "Where to (default: main)")] = "main",
    source: Annotated[Text, option("--source", hidden=True)] = None,
    title: Annotated[Text, option("--title", hidden=True)] = None,
) -> int:
    """Ask for a branch to be merged.

    The first line of -m is the title (default: the name of the branch). Nothing is merged yet: merge mr/N does that.

    Examples:
      scopes mr open try -m 'Use SQLite'
      scopes mr open conv-001 try --target main
    """
    repository = invocation.repository()
    place, names = split_place(repository, words or ())
    conversation, branch = split_branch(place, source)
    names = [*filter(None, [branch]), *names]
    if len(names) > 1:
        raise Invalid(f"too many arguments: {names[1]}", hint="scopes mr open [CONV] [BRANCH]")
    if not names:
        from scopes.history.names import resolve_branch

        names = [resolve_branch(repository, conversation, None)[1]]
    first, _, rest = (message or "").strip().partition("\n")
    if title is not None:
        first, rest = title, message or ""
    author = author_of(invocation)
    return invocation.show(
        open_merge_request(
            repository, conversation, names[0], title=first or names[0] if title is None else title, target=target,
            message=rest, requester=author,
        )
    )  # fmt: skip


def mr_list(
    invocation: Invocation,
    conversation: Annotated[Text, argument("[CONV]", "The conversation (default: all)")] = None,
    state: Annotated[Text, option("--state STATE", "open, merged, closed or all")] = None,
) -> int:
    """List merge requests, newest first.

    A request is merged when its target has all messages of its source, whoever merged it and however.

    Examples:
      scopes mr
      scopes mr list --state all
    """
    return invocation.show(list_merge_requests(invocation.repository(), conversation, state=state))


def mr_show(invocation: Invocation, words: RequestWords = None) -> int:
    """Show a request, and what its merge would do.

    Examples:
      scopes mr show 3
      scopes show mr/3
    """
    repository = invocation.repository()
    return invocation.show(show_merge_request(repository, *_split_request(repository, words)))


def mr_close(invocation: Invocation, words: RequestWords = None, reason: Reason = "") -> int:
    """Close a merge request without merging.

    Examples:
      scopes mr close 3 --reason 'not needed'
      scopes mr close conv-001 3
    """
    repository = invocation.repository()
    conversation, name = _split_request(repository, words)
    author = author_of(invocation)
    return invocation.show(close_merge_request(repository, conversation, name, reason=reason, author=author))


def _split_request(repository: Repository, words: list[str] | None) -> tuple[str, str]:
    """Split the words `CONV REQUEST`, or REQUEST alone, into conversation and request."""
    given = [word.removeprefix(REQUEST) for word in words or ()]
    if not given or len(given) > 2:
        raise Invalid("name one merge request", hint="list them: scopes mr list --state all")
    return (given[0], given[1]) if given[1:] else (find_merge_request_anywhere(repository, given[0]), given[0])
