"""Words that name a place: a conversation, a branch, a message, or several of them.

Commands split what follows their name into WHERE and WHAT here; what a place is, `scopes.history.names` says.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from shlex import quote

from scopes.cli.options import LATEST
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.store.projects import normalise_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.ids import ConversationId
    from scopes.store.repository import Repository


def read_where(repository: Repository, text: str) -> str:
    """Return a place with its conversation: `HEAD~2` is `@~2`, and a branch of the latest one is `@/BRANCH`."""
    from scopes.history.names import find_latest_with_branch

    text = replace_head(text)
    latest = find_latest_with_branch(repository, text)
    return text if latest is None else f"{latest}/{text}"


def split_place(repository: Repository, words: Sequence[str]) -> tuple[str, list[str]]:
    """Split the words `[WHERE] NAME...` into the place (default: the latest conversation) and the names.

    The first word is the place if it is a conversation or CONV/BRANCH; a single word only with the whole id of the
    conversation.
    """
    from scopes.history.names import resolve_conversation, split_steps, split_time

    first = words[0] if words else LATEST
    is_place = is_whole_conversation(repository, first) and split_steps(first)[1] == 0 and split_time(first)[1] is None
    is_place = is_place or (len(words) > 1 and find_conversation(repository, first) is not None)
    place, names = (first, words[1:]) if is_place else (LATEST, words)
    if not any(name.startswith("HEAD") for name in names):
        return place, [*names]
    conversation = resolve_conversation(repository, place.partition("/")[0])
    return place, [replace_head(name, conversation) for name in names]


def find_conversation(repository: Repository, text: str) -> ConversationId | None:
    """Return the conversation of a word `CONV` or `CONV/BRANCH`; None if it is a branch, message or file.

    Raises:
        Ambiguous: it may be several conversations.
    """
    from scopes.history.names import find_latest_with_branch

    if find_latest_with_branch(repository, text) is not None:
        return None
    try:
        from scopes.history.names import resolve_conversation

        found: ConversationId = resolve_conversation(repository, text.partition("/")[0])
    except NotFound:
        return None
    return found


def is_whole_conversation(repository: Repository, word: str | None) -> bool:
    """Return True if a word is `@` or the whole id of a conversation, or begins so before a `/`.

    Where a place and a text may follow, any other single word is the text.
    """
    from scopes.history.names import conversation_ids, parse_latest

    name = (word or "").partition("/")[0]
    return parse_latest(name) is not None or name in conversation_ids(repository)


def replace_head(text: str, conversation: str | None = None) -> str:
    """Return a revision with `HEAD` at its start replaced by the conversation (default: the latest), as in `HEAD~2`."""
    is_head = text == "HEAD" or text.startswith(("HEAD~", "HEAD^", "HEAD@", "HEAD.."))
    return f"{conversation or LATEST}{text[4:]}" if is_head else text


def names_revision(repository: Repository, text: str) -> bool:
    """Return True if a word names a conversation or a message, or several, without a conversation before it."""
    try:
        from scopes.history.names import resolve_revision

        resolve_revision(repository, text)
    except NotFound:
        return False
    except Ambiguous:
        return True
    return True


def split_source(repository: Repository, words: Sequence[str]) -> tuple[str, str | None]:
    """Split the words `[CONV] [NAME]` into a conversation and what is named in it.

    `CONV NAME` are both; `CONV/BRANCH` is a branch of CONV; `CONV` alone names nothing; any other single word is a name
    in the latest conversation.
    """
    if len(words) != 1:
        return (words[0], words[1]) if words else (LATEST, None)
    conversation = find_conversation(repository, words[0])
    if conversation is None:
        return LATEST, words[0]
    _, slash, branch = words[0].partition("/")
    return conversation, branch if slash else None


def split_messages(repository: Repository, words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Split the words `[CONV[/BRANCH]] MESSAGE...` into the place, if there is one, and the messages.

    Raises:
        Ambiguous: the first word may be several conversations.
    """
    from scopes.history.handles import resolve_scope

    first, *rest = words
    if rest:
        with suppress(NotFound, Invalid):
            resolve_scope(repository, first)
            return first, rest
    return None, words


def find_messages(repository: Repository, words: Sequence[str], *, one: bool = False) -> list[tuple[str, str]]:
    """Return the place and the message of each of the words `[CONV[/BRANCH]] MESSAGE...`, which may be only `one`.

    Raises:
        NotFound, Ambiguous: there is no such message, or there are several.
        Invalid: there is none or too many, or a word names a whole conversation.
    """
    from scopes.history.messages import header_of
    from scopes.history.names import conversation_ids, resolve_with_latest
    from scopes.store.objects import read_commit

    place, messages = split_messages(repository, words)
    if one and len(messages) > 1:
        raise Invalid(f"too many arguments: {' '.join(messages[1:])}", hint="put the text into quotes")
    if place is not None:
        return [(place, message) for message in messages]
    found: list[tuple[str, str]] = []
    for word in messages:
        if word == LATEST or word in conversation_ids(repository):
            raise Invalid("no message given", hint=f"list them: scopes log {quote(word)}")
        revision = resolve_with_latest(repository, replace_head(word))
        branch = "" if revision.branch is None else f"/{revision.branch}"
        found.append((f"{revision.conversation}{branch}", header_of(read_commit(repository, revision.oid)).id))
    return found


def is_path(text: str) -> bool:
    """Return True if the value of --project is a directory, and neither an address nor a name."""
    has_form = not text or os.sep in text or text in {".", ".."} or text.startswith("~")
    return has_form and normalise_url(text) is None


def split_branch(conversation: str, branch: str | None) -> tuple[str, str | None]:
    """Split CONV/BRANCH into conversation and branch; the branch may be given separately instead.

    Raises:
        Invalid: two different branches are given.
    """
    name, _, named_branch = conversation.partition("/")
    if branch and named_branch and branch != named_branch:
        hint = f"give {name} and one branch"
        raise Invalid(f"the branch is given twice: {named_branch!a} and {branch!a}", hint=hint)
    return name, branch or named_branch or None


def require_branch(conversation: str, branch: str | None) -> tuple[str, str]:
    """Split CONV/BRANCH as `split_branch` does.

    Raises:
        Invalid: no branch is given, or two.
    """
    name, given = split_branch(conversation, branch)
    if given is None:
        raise Invalid("no branch given", hint=f"list them: scopes branch {quote(name)}")
    return name, given
