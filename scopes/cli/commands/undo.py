"""`scopes undo`, `redo` and `operations`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli.invocation import Invocation
from scopes.cli.options import LATEST, Limit, Text, argument, option
from scopes.conversation.undo import list_operations, show_operation
from scopes.conversation.undo import redo as run_redo
from scopes.conversation.undo import undo as run_undo
from scopes.handover.registration import follow_undo
from scopes.history.transaction import find_recorded_operation


def undo(
    invocation: Invocation,
    name: Annotated[Text, argument("[OPERATION|CONV]", "An operation (default: your last), or a conversation")] = None,
    include_all: Annotated[bool, option("-a, --all", "What anybody did, not only you")] = False,
) -> int:
    """Undo your last command.

    It takes back the last thing that you did, all of a command in one step. What somebody else, a hook, acp or import
    --watch recorded is taken back only if you name the operation or give -a. Repeat it to go further back; redo reverts
    it.

    Examples:
      scopes undo
      scopes undo --dry-run
      scopes undo @{2}
      scopes undo conv-001
    """
    repository = invocation.repository()
    if name is not None and name.startswith("@") and name != LATEST:
        name = find_recorded_operation(repository, name)[1].id
    undone = run_undo(repository, name, any_actor=include_all, dry_run=invocation.dry_run)
    return invocation.show(follow_undo(repository, undone))


def redo(
    invocation: Invocation,
    conversation: Annotated[Text, argument("[CONV]", "Only what was undone in this conversation")] = None,
    include_all: Annotated[bool, option("-a, --all", "What anybody undid, not only you")] = False,
) -> int:
    """Redo what you undid last.

    After several undos it can be repeated. After any other operation of yours there is nothing to redo; messages that
    you add do not count.

    Examples:
      scopes redo
      scopes redo --dry-run
    """
    repository = invocation.repository()
    redone = run_redo(repository, conversation=conversation, any_actor=include_all, dry_run=invocation.dry_run)
    return invocation.show(follow_undo(repository, redone))


def operations(
    invocation: Invocation,
    operation: Annotated[Text, argument("[OPERATION]", "A prefix of its id, or its place: @, @{3}")] = None,
    limit: Limit = None,
    include_all: Annotated[bool, option("-a, --all", "Those of every actor")] = False,
) -> int:
    """List operations, or show what one changed.

    They are yours, newest first. @ is the newest operation of all, @{2} the second before it and @{yesterday} the last
    one before that time: --at takes the same names. Adding a message is not an operation, but undo takes it back, too.

    Examples:
      scopes op -n 20
      scopes op @{3}
      scopes operations --json
      scopes log conv-001 --at @{1}
    """
    repository = invocation.repository()
    if operation is not None:
        return invocation.show(show_operation(repository, operation))
    actor = None if include_all else repository.caller.actor
    return invocation.show(list_operations(repository, limit=limit, actor=actor))
