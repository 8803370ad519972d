"""`scopes branch`, `switch`, `rename`, `tag`, `rewind` and `delete`."""

from __future__ import annotations

import shlex
from shlex import quote
from typing import Annotated

from scopes.cli.invocation import Invocation
from scopes.cli.options import LATEST, Force, Text, Texts, WhereBranch, argument, option
from scopes.cli.words import read_where, require_branch, split_branch, split_place
from scopes.conversation.branch import (
    abandon,
    delete_tag,
    find_previous_branch,
    list_branches,
    list_tags,
)
from scopes.conversation.branch import branch as create_branch
from scopes.conversation.branch import rewind as run_rewind
from scopes.conversation.branch import switch as run_switch
from scopes.conversation.branch import tag as run_tag
from scopes.conversation.new_rename_delete import delete as run_delete
from scopes.conversation.new_rename_delete import delete_branch, rename_branch, rename_conversation, rename_title
from scopes.errors import Invalid, NotFound
from scopes.history.names import Revision, resolve_conversation, resolve_revision, split_steps, split_time
from scopes.store.repository import Repository

NUMBERED = "conv-"  # a mistyped id does not become the name of a branch


def branch(
    invocation: Invocation,
    words: Annotated[Texts, argument("[CONV] [NAME]", "The conversation, and the name of the branch")] = None,
    include_all: Annotated[bool, option("-a, --all", "Also hidden branches, and those of ended conflicts")] = False,
    force: Force = False,
    agent: Annotated[Text, option("--agent NAME", "Who owns the new branch")] = None,
    purpose: Annotated[Text, option("--purpose PURPOSE", "analysis, alternative-solution, verification, ...")] = None,
    start: Annotated[Text, option("--from MESSAGE", "Where it begins (default: the active branch)")] = None,
    delete: Annotated[bool, option("-d, --delete", "Delete the branch")] = False,
    move: Annotated[bool, option("-m, --move", "Rename: branch -m OLD NEW")] = False,
    hide: Annotated[bool, option("--hide", "Leave it out of lists, keep its history")] = False,
    unhide: Annotated[bool, option("--unhide", "Show it in lists again")] = False,
    name: Annotated[Text, option("--name", hidden=True)] = None,
    delete_unmerged: Annotated[bool, option("-D", hidden=True)] = False,
    move_anyway: Annotated[bool, option("-M", hidden=True)] = False,
) -> int:
    """List, create, rename, hide or delete branches.

    It does not switch to a new branch: switch -c does. Without NAME the name is PURPOSE/AGENT. -f replaces a branch; -d
    -f, or -D, deletes one with messages that no other branch has.

    Examples:
      scopes branch
      scopes branch try
      scopes branch -d try
      scopes branch conv-001 --purpose alternative-solution --agent general-purpose
    """
    delete, force, move = delete or delete_unmerged, force or delete_unmerged or move_anyway, move or move_anyway
    if [delete, move, hide, unhide].count(True) > 1:
        raise Invalid("several things to do are given at once", hint="one of --delete, --move, --hide and --unhide")
    repository = invocation.repository()
    place, names = split_place(repository, words or ())
    if name is not None:
        names.append(name)
    conversation, base = split_branch(place, None)
    creates = names or purpose is not None or agent is not None or start is not None
    if not (delete or move or hide or unhide or creates):
        return invocation.show(list_branches(repository, conversation, include_hidden=include_all))
    with repository.as_caller(full_branch_names=True):
        if move:
            old, new = _renamed(repository, conversation, base, names)
            return invocation.show(rename_branch(repository, conversation, old, new))
        if delete or hide or unhide:
            if len(names) > 1:
                raise Invalid(f"too many arguments: {names[1]}", hint="name one branch")
            conversation, chosen = require_branch(place, names[0] if names else None)
            if delete:
                dry_run = invocation.dry_run
                return invocation.show(delete_branch(repository, conversation, chosen, force=force, dry_run=dry_run))
            return invocation.show(abandon(repository, conversation, chosen, revive=unhide))
        if len(names) == 2 and start is None:
            start = names.pop()  # as in git
        if len(names) > 1:
            raise Invalid(f"too many arguments: {names[-1]}", hint="scopes branch [CONV] NAME --from MESSAGE")
        if not names and purpose is None and agent is None:
            form = f"scopes branch {quote(conversation)} NAME --from {quote(start or 'BRANCH')}"
            raise Invalid("the new branch has no name", hint=f"{form}, or give --purpose or --agent")
        if names and names[0].startswith(NUMBERED) and place == LATEST:
            resolve_conversation(repository, names[0])
        created = create_branch(
            repository,
            conversation,
            purpose=purpose,
            agent=agent,
            start=start,
            base=base,
            name=names[0] if names else None,
            switch=False,
            force=force,
        )
    return invocation.show(created)


def _renamed(repository: Repository, conversation: str, branch: str | None, names: list[str]) -> tuple[str, str]:
    """Return the old and the new name of `branch -m [OLD] NEW`; without OLD it is the active branch."""
    given = [*filter(None, [branch]), *names]
    if len(given) == 1:
        from scopes.history.names import resolve_branch

        given.insert(0, resolve_branch(repository, conversation, None)[1])
    if len(given) != 2:
        raise Invalid("give the old and the new name", hint="scopes branch -m OLD NEW")
    return given[0], given[1]


def switch(
    invocation: Invocation,
    words: Annotated[Texts, argument("[CONV] BRANCH", "The branch; with -c where it begins may follow")] = None,
    create: Annotated[bool, option("-c, --create", "Create the branch, here or at a message")] = False,
    branch: Annotated[Text, option("-b, --branch", hidden=True)] = None,
    agent: Annotated[Text, option("--to", hidden=True)] = None,
    directory: Annotated[Text, option("--directory", hidden=True)] = None,
) -> int:
    """Make another branch the active one.

    Commands such as append, log and merge use the active branch if none is named. `switch -` makes the branch active
    that was active before. checkout is the same command, and checkout -b is switch -c.

    Examples:
      scopes switch try
      scopes switch conv-001 main
      scopes switch -c try main~3
      scopes switch -
    """
    if agent is not None:
        from scopes.cli.commands.resume import resume

        return resume(invocation, "/".join(words or ()) or None, agent=agent, directory=directory, only_print=True)
    repository = invocation.repository()
    place, names = split_place(repository, words or ())
    conversation, base = split_branch(place, None)
    names = [*([] if create else filter(None, [base])), *filter(None, [branch]), *names]
    if not names:
        raise Invalid("no branch given", hint=f"list them: scopes branch {quote(conversation)}")
    if create or (branch is not None and branch not in _branches(repository, conversation)):
        if len(names) > 2:
            raise Invalid(f"too many arguments: {names[2]}", hint="scopes switch -c [CONV] NAME [MESSAGE]")
        start = names[1] if names[1:] else None
        base = base if create else None
        return invocation.show(
            create_branch(repository, conversation, name=names[0], start=start, base=base, switch=True)
        )
    if names[1:]:
        raise Invalid(f"too many arguments: {names[1]}", hint="scopes switch [CONV] BRANCH; -c creates one")
    if names[0] == "-":
        names = [find_previous_branch(repository, conversation)]
    return invocation.show(run_switch(repository, conversation, names[0]))


def _branches(repository: Repository, conversation: str) -> list[str]:
    return [each.name for each in list_branches(repository, conversation, include_hidden=True).branches]


def rename(
    invocation: Invocation,
    where: Annotated[str, argument("WHERE", "The conversation, or one of its branches")],
    new: Annotated[Text, argument("NEW", "The new id of the conversation, or name of the branch")] = None,
    title: Annotated[Text, option("--title TEXT", "Give a title; '' removes it")] = None,
    branch: WhereBranch = None,
) -> int:
    """Rename a conversation or a branch.

    Examples:
      scopes rename conv-001 login
      scopes rename conv-001/try sqlite
      scopes rename @ --title 'Login on Safari'
    """
    if (new is None) == (title is None):
        raise Invalid("give a new name, or a title with --title", hint="see: scopes help rename")
    repository = invocation.repository()
    conversation, branch = split_branch(read_where(repository, where), branch)
    if title is not None:
        return invocation.show(rename_title(repository, conversation, title))
    if branch is not None:
        return invocation.show(rename_branch(repository, conversation, branch, new or ""))
    try:
        return invocation.show(rename_conversation(repository, conversation, new or ""))
    except Invalid as error:
        title_hint = f"to set the title: {shlex.join(['scopes', 'rename', conversation, '--title', new or ''])}"
        error.hint = "\n".join(filter(None, (title_hint, error.hint)))
        raise


def tag(
    invocation: Invocation,
    words: Annotated[
        Texts, argument("[WHERE] [NAME] [MESSAGE]", "The tag, and its message (default: the last one)")
    ] = None,
    force: Force = False,
    delete: Annotated[bool, option("-d, --delete", "Delete the tag")] = False,
    branch: WhereBranch = None,
) -> int:
    """Tag a message, or list the tags.

    A tag is a fixed name for a message, and can be used wherever a message is named. -f moves a tag.

    Examples:
      scopes tag
      scopes tag good
      scopes tag good main~3
      scopes tag -d good
    """
    repository = invocation.repository()
    place, names = split_place(repository, words or ())
    conversation, branch = split_branch(place, branch)
    if not names and not delete:
        return invocation.show(list_tags(repository, conversation))
    if len(names) == len(words or ()) > 2:
        resolve_conversation(repository, names[0])
    if not names or len(names) > (1 if delete else 2):
        raise Invalid(f"too many arguments: {names[-1]}" if names else "no tag given", hint="see: scopes help tag")
    if delete:
        return invocation.show(delete_tag(repository, conversation, names[0]))
    if len(names) == 2:
        names = _order(repository, conversation, *names)
    message = names[1] if names[1:] else None
    return invocation.show(run_tag(repository, conversation, names[0], message, branch=branch, force=force))


def _order(repository: Repository, conversation: str, first: str, second: str) -> list[str]:
    """Return the name of a tag, and its message; they may come in the other order, as in `tag MESSAGE NAME`.

    Raises:
        NotFound: neither is a message, and the first is no conversation either.
    """
    found = [_find(repository, conversation, word) for word in (first, second)]
    if found == [None, None]:
        resolve_conversation(repository, first)
    tags = [name for name, _ in list_tags(repository, conversation).tags]
    is_message = [
        revision is not None and (split_steps(word)[1] > 0 or (revision.branch is None and word not in tags))
        for word, revision in zip((first, second), found, strict=True)
    ]
    return [second, first] if is_message == [True, False] else [first, second]


def _find(repository: Repository, conversation: str, word: str) -> Revision | None:
    try:
        return resolve_revision(repository, word, resolve_conversation(repository, conversation))
    except NotFound:
        return None


def rewind(
    invocation: Invocation,
    words: Annotated[
        Texts, argument("[WHERE] [MESSAGE]", "The branch, and the message that becomes its last one")
    ] = None,
    limit: Annotated[int | None, option("-n, --limit N", "By N messages (default: 1)", least=0)] = None,
    branch: WhereBranch = None,
) -> int:
    """Move a branch back to an earlier message.

    Without MESSAGE it is moved back by one message, or by -n, as log shows them. What a merge brought goes together
    with the merge, or not at all. undo restores the branch.

    Examples:
      scopes rewind -n 2
      scopes rewind conv-001 main~4
      scopes rewind --dry-run
    """
    repository = invocation.repository()
    place, names = split_place(repository, words or ())
    if place == LATEST and len(names) == 1:
        base, _ = split_steps(split_time(names[0])[0])
        named, rest = split_place(repository, (read_where(repository, base),))
        if not rest:  # a branch, or a message named by one
            place, names = named, [] if base == names[0] else names
    if len(names) > 1:
        raise Invalid(f"too many arguments: {names[1]}", hint="scopes rewind [WHERE] [MESSAGE]")
    to = names[0] if names else None
    conversation, branch = split_branch(place, branch)
    dry_run = invocation.dry_run
    return invocation.show(run_rewind(repository, conversation, branch=branch, to=to, count=limit, dry_run=dry_run))


def delete(
    invocation: Invocation,
    conversations: Annotated[list[str], argument("CONV", "The conversations")],
) -> int:
    """Delete conversations; undo brings them back.

    They go to the trash with all their branches, until gc --expire empties it. list --deleted lists it.

    Examples:
      scopes delete conv-007
      scopes delete conv-007 conv-008 --dry-run
    """
    repository = invocation.repository()
    names = [resolve_conversation(repository, each) for each in dict.fromkeys(conversations)]
    for name in names:
        invocation.show(run_delete(repository, name, dry_run=invocation.dry_run))
    return 0
