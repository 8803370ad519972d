"""`scopes secrets scan`, `list`, `allow` and `explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated

from scopes.cli import usage
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.ids import ConversationId
from scopes.loading import load
from scopes.render.progress import progress
from scopes.secret_scan.clearance import Gate
from scopes.secrets.allow import allow, disallow
from scopes.secrets.list import explain, explain_rules, list_secrets
from scopes.secrets.scan import FindOutside, ScannedMessages, SecretRow, scan
from scopes.secrets.scan_cache import SecretPlace
from scopes.store.repository import Repository


def secrets_scan(
    context: usage.Context,
    conversations: Annotated[
        list[str] | None, usage.Argument(metavar="[CONV...]", help="The conversations (default: all)")
    ] = None,
    include_all: Annotated[bool, usage.Option("--all", help="All conversations, which is the default")] = False,
) -> int:
    """Look for secrets in conversations.

    Searched is all that a push sends: messages, titles, names of branches, tags, merge requests, commits and the
    directory where a session began. So the list has every id that push can refuse.

    Finds about 50 kinds of keys, tokens and passwords, by their fixed beginnings and published checksums, and values
    behind names such as password=; never by how random a text looks. They are found as they are, in JSON inside of
    JSON, in lists of arguments and pairs of names and values, in diffs, behind escapes such as %0A or ^I, control
    sequences and letters of other scripts; with Unicode, hex or octal escapes, percent signs, quoted-printable or wide
    letters; with colors, other control sequences and hyperlinks of a terminal, UTF-16, invisible characters, soft line
    ends or the backslashes of Markdown between their characters; with dashes of other scripts, in base64 (of UTF-16
    too), in base32 and in Basic headers. Logins in URLs and behind curl -u count, too.
    A private key counts from its BEGIN line to its END line, or to the end of the text. What a limit has left of a
    secret of a message, as in a title, is not listed: it is replaced wherever it would leave.

    Not found are secrets in hex, dumps of bytes, lists of characters, HTML entities, names of characters, base85 or
    UTF-7, compressed, encrypted, backwards, or encoded twice (base64 of base64, %2570); those that line breaks, tags of
    HTML, backspaces or the quotes of a program divide, as lines divide long base64, or that are in parts in two texts;
    those directly behind an ASCII letter or digit of another word; with control characters other than NUL and those of
    terminals, or invisible characters of notation (U+1BCA0, U+1D173) inside; with letters of other scripts that only
    look like theirs; base32 in small letters; tokens in a URL without a digit; values behind names such as password= of
    fewer than 20 characters or 10 different ones, without a letter and a digit, with signs such as & unless they or a
    header such as 'Password: x' are in quotes (the reports of check and acp --redact hide many of those too), with such
    a sign and a $, in three quotes, backquotes or quotes with a letter such as b or f in front, without a sign such as
    = or with more than three blanks in front of it, or in front of the name; Basic headers of logins of fewer than 16
    characters; texts inside of the bytes of an image, and base64 after other bytes in a signature; and kinds without a
    fixed form. So it lowers the risk and does not remove it: revoke a key that an agent has seen.

    No secret is printed: each has an id, which is another one in every store. A conversation that has not changed since
    the last scan is not read again. The exit code is 1 if something was found that is not allowed, and 0 otherwise.
    With RE2 (pip install 'scopes-ai[secrets]') a scan is twice as fast.

    Examples:
      scopes secrets scan
      scopes secrets scan conv-001 conv-002 --json
    """
    invocation: Invocation = context.obj
    if conversations and include_all:
        raise Invalid("--all cannot be combined with conversations", hint="leave out one of them")
    with _scanning(invocation) as on_progress:
        result = scan(
            invocation.repository(),
            conversations or (),
            index_directory=invocation.index_directory,
            find_outside=_find_outside,
            on_progress=on_progress,
        )
    return invocation.show(result)


def secrets_list(
    context: usage.Context,
    open_only: Annotated[bool, usage.Option("--open", help="Leave out those that are allowed")] = False,
) -> int:
    """List the secrets of all conversations.

    A row for each secret: its id, its rule, in how many places it is, the first of them, who allowed it, and the
    command after which that conversation leaves without it. A name is changed or deleted: tag --delete, rename --title,
    rename --branch. Of a message, scopes redact makes a copy without it. What has changed since the last scan is
    scanned first. Ids and the allow-list say nothing about the secrets.

    Examples:
      scopes secrets list
      scopes secrets list --open --json
    """
    invocation: Invocation = context.obj
    with _scanning(invocation) as on_progress:
        found = list_secrets(
            invocation.repository(),
            index_directory=invocation.index_directory,
            open_only=open_only,
            find_outside=_find_outside,
            on_progress=on_progress,
        )
    return invocation.show(found)


def secrets_allow(
    context: usage.Context,
    secret: Annotated[str, usage.Argument(metavar="SECRET", help="Its id, or a unique prefix of it")],
    reason: Annotated[str | None, usage.Option("--reason", metavar="TEXT", help="Why it may leave")] = None,
    remove: Annotated[bool, usage.Option("--remove", help="Take it off the list again")] = False,
) -> int:
    """Let a secret leave, because it is none.

    For samples, public keys and revoked tokens. It then passes every door: exports, contexts, history, the answers of
    scopes mcp. The list is kept in the store as a keyed hash; undo takes a change of it back.

    Examples:
      scopes secrets allow 3f2a91c0 --reason 'the sample of the documentation'
      scopes secrets allow 3f2a91c0 --remove
    """
    invocation: Invocation = context.obj
    if remove and reason is not None:
        raise Invalid("--remove cannot be combined with --reason", hint="leave out one of them")
    if remove:
        return invocation.show(disallow(invocation.repository(), secret))
    with _scanning(invocation) as on_progress:
        result = allow(
            invocation.repository(),
            secret,
            index_directory=invocation.index_directory,
            reason=reason,
            find_outside=_find_outside,
            on_progress=on_progress,
            find_elsewhere=_find_elsewhere,
        )
    return invocation.show(result)


def secrets_explain(
    context: usage.Context,
    name: Annotated[
        str | None, usage.Argument(metavar="[RULE|SECRET]", help="A rule, or the id of a secret (default: all rules)")
    ] = None,
) -> int:
    """Explain a rule, or where a secret is.

    Examples:
      scopes secrets explain
      scopes secrets explain github-token
      scopes secrets explain 3f2a91c0
    """
    invocation: Invocation = context.obj
    repository, directory = invocation.repository(), invocation.index_directory
    if name is None:
        return invocation.show(explain_rules(repository, index_directory=directory))
    with _scanning(invocation) as on_progress:
        result = explain(
            repository,
            name,
            index_directory=directory,
            find_outside=_find_outside,
            on_progress=on_progress,
            find_elsewhere=_find_elsewhere,
        )
    return invocation.show(result)


def _find_outside(
    repository: Repository, conversation: ConversationId, scanned: ScannedMessages, gate: Gate
) -> Iterable[SecretPlace]:
    """Search what a push sends of a conversation beside messages; loaded only if a conversation has changed."""
    find: FindOutside = load("scopes.sync.outgoing_secrets:find_outside_messages")
    return find(repository, conversation, scanned, gate)


def _find_elsewhere(repository: Repository) -> list[SecretRow]:
    """Search all that a push would send; it is loaded only if it is needed."""
    found: list[SecretRow] = load("scopes.sync.outgoing_secrets:find_outgoing_secrets")(repository)
    files: list[SecretRow] = load("scopes.sync.outgoing_sources:find_source_secrets")(repository)
    return [*found, *files]


@contextmanager
def _scanning(invocation: Invocation) -> Iterator[Callable[[int, int], None]]:
    """Show how many conversations were scanned."""
    with progress(invocation.output(), "scanning for secrets") as meter:

        def on_progress(done: int, total: int) -> None:
            meter.expect(lambda: total)
            meter(1 if done else 0)

        yield on_progress
