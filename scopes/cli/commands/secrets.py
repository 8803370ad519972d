"""`scopes secrets list` and `allow`, and `redact`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypedDict

from scopes.cli.invocation import Invocation
from scopes.cli.options import Reason, Text, Texts, argument, option
from scopes.cli.progress import counted
from scopes.errors import Invalid
from scopes.purge.redact import redact as run_redact
from scopes.secrets.allow import allow, disallow
from scopes.secrets.list import explain, explain_rules, list_secrets
from scopes.secrets.scan import FindOutside, Progress, SecretRow
from scopes.store.repository import Repository
from scopes.sync.outgoing_secrets import find_outgoing_secrets, find_outside_messages
from scopes.sync.outgoing_sources import find_source_secrets


class Finders(TypedDict):
    """What a scan for secrets needs of the command line: where the index is, and what else leaves the store."""

    index_directory: str
    find_outside: FindOutside
    on_progress: Progress


def secrets_list(
    invocation: Invocation,
    words: Annotated[Texts, argument("[WHERE...]", "The conversations (default: all)")] = None,
    include_all: Annotated[bool, option("-a, --all", "Also allowed ones")] = False,
    rules: Annotated[bool, option("--rules [RULE]", "List the rules, or explain one")] = False,
) -> int:
    """List possible secrets, and the rules.

    A row for each secret: its id, rule, number of places, the first place, and the command that takes it out of what a
    push sends. The secrets themselves are not printed. --rules ID explains a secret like a rule. The exit code is 1 if
    there is a secret that is not allowed.

    Examples:
      scopes secrets
      scopes secrets list conv-001
      scopes secrets list --rules github-token
    """
    repository = invocation.repository()
    given = [word.partition("/")[0] for word in words or ()]
    if rules and len(given) > 1:
        raise Invalid("name one rule", hint="list them: scopes secrets list --rules")
    if rules and not given:
        return invocation.show(explain_rules(repository, index_directory=invocation.index_directory))
    with finders_of(invocation) as finders:
        if rules:
            return invocation.show(explain(repository, given[0], **finders, find_elsewhere=find_elsewhere))
        return invocation.show(list_secrets(repository, given, open_only=not include_all, **finders))


def secrets_allow(
    invocation: Invocation,
    secret: Annotated[str, argument("ID", "The id of the secret, or a unique prefix of it")],
    reason: Reason = "",
    remove: Annotated[bool, option("--remove", "Take it off the list again")] = False,
) -> int:
    """Let a secret leave, because it is none.

    For samples, public keys and revoked tokens: it is neither refused nor masked any more. undo takes that back.

    Examples:
      scopes secrets allow 3fa9 --reason 'example of the manual'
      scopes secrets allow 3fa9 --remove
    """
    if remove and reason:
        raise Invalid("--remove cannot be combined with --reason", hint="leave out one of them")
    if remove:
        return invocation.show(disallow(invocation.repository(), secret))
    with finders_of(invocation) as finders:
        return invocation.show(
            allow(invocation.repository(), secret, reason=reason or None, **finders, find_elsewhere=find_elsewhere)
        )


def redact(
    invocation: Invocation,
    conversation: Annotated[str, argument("CONV", "The conversation")],
    name: Annotated[Text, option("--id NAME", "The id of the copy")] = None,
) -> int:
    """Copy a conversation with its secrets masked.

    The copy has all branches, tags and the title; the original stays as it is. Share the copy, and keep or purge the
    original. Messages with a secret get new ids in the copy.

    Examples:
      scopes redact conv-001
      scopes redact conv-001 --id public --dry-run
    """
    return invocation.show(run_redact(invocation.repository(), conversation, conversation_id=name))


@contextmanager
def finders_of(invocation: Invocation) -> Iterator[Finders]:
    """Yield what a scan needs, with a progress bar of conversations."""
    with counted(invocation, "scanning for secrets") as on_progress:
        yield {
            "index_directory": invocation.index_directory,
            "find_outside": find_outside_messages,
            "on_progress": on_progress,
        }


def find_elsewhere(repository: Repository) -> list[SecretRow]:
    """Search everything that a push would send, original files included."""
    return [*find_outgoing_secrets(repository), *find_source_secrets(repository)]
