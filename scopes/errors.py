"""The exceptions that scopes raises, with their exit codes and kinds.

    ScopesError               exit   kind
    ├── Refused                 1    refused         not allowed in this state; nothing was changed
    │   ├── NoAvailableAgents   1    no-agents       nobody is available who is to get a message
    │   └── SecretsFound        1    secrets         what would leave the store has possible secrets
    ├── Invalid                 2    invalid         an argument, a name or a message is malformed
    ├── Conflicted              3    conflicted      stopped on open conflicts
    ├── NotFound                4    not-found       no such conversation, branch, message, operation, setting
    │   └── MissingObject       7    missing-object  an object that others name is not in the store
    ├── Ambiguous               5    ambiguous       a prefix that matches several things
    ├── Busy                    6    busy            another process holds the lock or moved the ref; retry
    ├── Corrupt                 7    corrupt         stored data cannot be read
    │   ├── TooNew              7    too-new         written by a newer scopes
    │   ├── CannotImport        7    cannot-import   a source is not in the format it claims
    │   │   └── NothingToImport 1    no-transcripts  a folder has no transcript
    ├── Inaccessible            8    inaccessible    disk full, read-only, permission, owner
    └── BudgetExhausted         9    budget          stopped at a limit with a partial result

`hint` says what the user can do. Exceptions of other libraries are translated where those libraries are called.
"""

from __future__ import annotations


class ScopesError(Exception):
    """Base class: a one-line message and an optional hint that tells the user what to do."""

    kind = "error"
    exit_code = 1
    retryable = False

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Refused(ScopesError):
    """The operation is not allowed in this state; nothing was changed."""

    kind = "refused"


class NoAvailableAgents(Refused):
    """Nobody is available who is to get a message; it was not sent (S4-31)."""

    kind = "no-agents"


class SecretsFound(Refused):
    """What would leave the store has possible secrets; the message names their places and rules, never a value."""

    kind = "secrets"


class Invalid(ScopesError):
    """An argument, a name or a message is malformed."""

    kind = "invalid"
    exit_code = 2


class Conflicted(ScopesError):
    """The operation stopped because conflicts are open."""

    kind = "conflicted"
    exit_code = 3


class NotFound(ScopesError):
    """No object of this name exists."""

    kind = "not-found"
    exit_code = 4


class MissingObject(NotFound):
    """An object that a ref or another object names is not in the store: not what a user named is missing."""

    kind = "missing-object"
    exit_code = 7


class Ambiguous(ScopesError):
    """A prefix matches several things; the hint lists them."""

    kind = "ambiguous"
    exit_code = 5


class Busy(ScopesError):
    """Another process holds the lock of the store, or keeps changing the same ref."""

    kind = "busy"
    exit_code = 6
    retryable = True


class Corrupt(ScopesError):
    """Stored data cannot be read."""

    kind = "corrupt"
    exit_code = 7


class TooNew(Corrupt):
    """The data was written by a newer version of scopes."""

    kind = "too-new"


class CannotImport(Corrupt):
    """A source of an import is not in the format it claims."""

    kind = "cannot-import"


class NothingToImport(CannotImport):
    """A folder has no transcript."""

    kind = "no-transcripts"
    exit_code = 1


class Inaccessible(ScopesError):
    """The disk is full or read-only, or a permission or an owner prevents access; or a remote does not answer.

    `retryable` is set where the network failed.
    """

    kind = "inaccessible"
    exit_code = 8


class BudgetExhausted(ScopesError):
    """The operation stopped at a limit; completed work is kept."""

    kind = "budget"
    exit_code = 9


def check_not_negative(number: int | None, what: str, hint: str) -> None:
    """Check a number that a user gave; None is valid.

    Raises:
        Invalid: it is negative.
    """
    if number is not None and number < 0:
        raise Invalid(f"invalid {what} {number}: must not be negative", hint=hint)
