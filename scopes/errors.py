"""Every refusal that scopes can raise, as a tree.

    ScopesError               exit   kind
    ├── Refused                 1    refused         a rule says no; nothing was changed
    ├── Invalid                 2    invalid         an argument, a name or a message is malformed
    ├── Conflicted              3    conflicted      stopped on open conflicts
    ├── NotFound                4    not-found       no such conversation, branch, message, operation, setting
    ├── Ambiguous               5    ambiguous       a prefix that fits several things
    ├── Busy                    6    busy            somebody else holds the store or moved the ref; try again
    ├── Corrupt                 7    corrupt         stored data that cannot be read
    │   ├── TooNew              7    too-new         written by a newer scopes
    │   └── CannotImport        7    cannot-import   a source that is not what it says it is
    ├── Inaccessible            8    inaccessible    disk full, read-only, permission, owner
    └── BudgetExhausted         9    budget          stopped at a limit, with a partial result

Each is raised with its cure in `hint`. Foreign exceptions are translated once, at the border of their package.
"""

from __future__ import annotations


class ScopesError(Exception):
    """A refusal with one line that names the thing and, where there is one, the cure."""

    kind = "error"
    exit_code = 1
    retryable = False

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Refused(ScopesError):
    """A rule says no; nothing was changed."""

    kind = "refused"


class Invalid(ScopesError):
    """An argument, a name or a message is malformed."""

    kind = "invalid"
    exit_code = 2


class Conflicted(ScopesError):
    """Stopped on open conflicts."""

    kind = "conflicted"
    exit_code = 3


class NotFound(ScopesError):
    """There is no such thing."""

    kind = "not-found"
    exit_code = 4


class Ambiguous(ScopesError):
    """A prefix that fits several things; the hint lists them."""

    kind = "ambiguous"
    exit_code = 5


class Busy(ScopesError):
    """Somebody else holds the store, or keeps moving the same ref."""

    kind = "busy"
    exit_code = 6
    retryable = True


class Corrupt(ScopesError):
    """Stored data that cannot be read."""

    kind = "corrupt"
    exit_code = 7


class TooNew(Corrupt):
    """Written by a newer version of scopes."""

    kind = "too-new"


class CannotImport(Corrupt):
    """A source that is not what it says it is."""

    kind = "cannot-import"


class Inaccessible(ScopesError):
    """The disk, a permission or an owner is in the way."""

    kind = "inaccessible"
    exit_code = 8


class BudgetExhausted(ScopesError):
    """Stopped at a limit; what was done until then is kept."""

    kind = "budget"
    exit_code = 9
