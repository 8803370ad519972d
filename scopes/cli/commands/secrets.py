"""`scopes secrets scan`, `list`, `allow` and `explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.ids import ConversationId
from scopes.render.progress import progress
from scopes.secret_scan.clearance import Gate
from scopes.secrets.allow import allow, disallow
from scopes.secrets.list import explain, explain_rules, list_secrets
from scopes.secrets.scan import FindOutside, ScannedMessages, SecretRow, scan
from scopes.secrets.scan_cache import SecretPlace
from scopes.store.repository import Repository


def secrets_scan(
    context: typer.Context,
    conversations: Annotated[
        list[str] | None, typer.Argument(metavar="[CONV...]", help="The conversations (default: all)")
    ] = None,
    include_all: Annotated[bool, typer.Option("--all", help="All conversations, which is the default")] = False,
) -> int:
    """Look for secrets in conversations.

    The scan covers all that a push sends: messages, titles, names of branches, tags, merge requests, commits and the
    directory in which a session began. So every secret for which push can refuse a conversation is listed.

    Secrets are about 50 kinds of keys, tokens and passwords. They are recognized by fixed prefixes, published checksums
    and names such as password= in front of a value, never by how random a text looks. They are found:
    as plain text; in JSON inside of JSON, argument lists, name and value pairs, and diffs;
    after escapes such as %0A or ^I, control sequences and letters of other scripts;
    with Unicode, hex or octal escapes, percent encoding, quoted-printable, wide letters or dashes of other scripts;
    with terminal colors, control sequences, hyperlinks, UTF-16, invisible characters, soft line breaks or Markdown
    backslashes between their characters; and in base64 (also of UTF-16), base32 and Basic headers.
    Logins in URLs and after curl -u are secrets, too. A private key extends from its BEGIN line to its END line, or to
    the end of the text. If a title or subject was cut within a secret of a message, the part that is left is not listed
    here, but is replaced wherever it would leave the store.

    Not found are: secrets in hex, byte dumps, lists of characters, HTML entities, character names, base85 or UTF-7;
    compressed, encrypted, reversed or encoded twice (base64 of base64, %2570); divided by line breaks, HTML tags,
    backspaces or quotes of a program, as in wrapped base64, or spread over two texts; directly after an ASCII letter or
    digit; with control characters inside other than NUL and those of terminals, or with invisible characters of
    notation (U+1BCA0, U+1D173); with look-alike letters of other scripts; base32 in lower case; tokens in a URL without
    a digit; Basic headers of logins of fewer than 16 characters; text inside of the bytes of an image; base64 after
    other bytes in a signature; and kinds without a fixed form.
    A value after a name such as password= is not found if it has fewer than 20 characters, fewer than 10 different
    ones, or not both a letter and a digit; if it has a character such as & and neither the value nor a header such as
    'Password: x' is in quotes (the reports of check and acp --redact hide many of those), or such a character and a $;
    if it is in triple quotes, backquotes or quotes with a prefix such as b or f; or if there is no sign such as = in
    front of it, or more than three spaces before the value or between name and sign.
    So a scan lowers the risk and does not remove it: revoke a key that an agent has seen.

    Secrets are not printed. Each has an id, which differs from store to store. Conversations that have not changed
    since the last scan are not read again. The exit code is 1 if a secret was found that is not allowed, and 0
    otherwise.

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
    context: typer.Context,
    open_only: Annotated[bool, typer.Option("--open", help="Leave out allowed secrets")] = False,
) -> int:
    """List the secrets of all conversations.

    A row for each secret: its id, its rule, the number of places, the first place, who allowed it, and the command that
    removes it from what a push sends. A name is changed or deleted: tag --delete, rename --title, rename --branch. For
    a message, scopes redact creates a copy of the conversation without the secret. Conversations that have changed
    since the last scan are scanned first. Ids and the allow-list reveal nothing about the secrets.

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
    context: typer.Context,
    secret: Annotated[str, typer.Argument(metavar="SECRET", help="Its id, or a unique prefix of it")],
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why it may leave")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it from the allow-list")] = False,
) -> int:
    """Let a secret leave, because it is none.

    For samples, public keys and revoked tokens. An allowed secret is neither refused nor replaced in pushes, exports,
    contexts, history or the answers of scopes mcp. The allow-list is stored as keyed hashes. scopes undo reverts a
    change of it.

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
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[RULE|SECRET]", help="A rule, or the id of a secret (default: all rules)")
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
    """Search what a push sends of a conversation in addition to messages; imported only if one has changed."""
    from scopes.sync.outgoing_secrets import find_outside_messages

    find: FindOutside = find_outside_messages
    return find(repository, conversation, scanned, gate)


def _find_elsewhere(repository: Repository) -> list[SecretRow]:
    """Search everything that a push would send, original files included; imported only when needed."""
    from scopes.sync.outgoing_secrets import find_outgoing_secrets

    found: list[SecretRow] = find_outgoing_secrets(repository)
    from scopes.sync.outgoing_sources import find_source_secrets

    files: list[SecretRow] = find_source_secrets(repository)
    return [*found, *files]


@contextmanager
def _scanning(invocation: Invocation) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar of conversations; yields a function that takes how many are done, and of how many."""
    with progress(invocation.output(), "scanning for secrets") as meter:

        def on_progress(done: int, total: int) -> None:
            meter.expect(lambda: total)
            meter(1 if done else 0)

        yield on_progress
