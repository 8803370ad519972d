"""The forms of names that have one meaning each, whatever else has the name.

refs/heads/BRANCH   refs/tags/TAG   refs/remotes/REMOTE/BRANCH   the whole id of a message or commit
"""

from __future__ import annotations

from typing import Final

from scopes.ids import is_message_id, is_oid

LONG_FORMS: Final = "refs/"
HEADS_FORM: Final = "refs/heads/"
TAGS_FORM: Final = "refs/tags/"
REMOTES_FORM: Final = "refs/remotes/"


def is_whole_id(text: str) -> bool:
    """Return True for the form of a whole message id or commit id."""
    return is_message_id(text) or is_oid(text)


def is_misleading(name: str) -> bool:
    """Return True for a name that no branch should have: of the form of a whole id, or of one of the long forms."""
    return is_whole_id(name) or name.startswith(LONG_FORMS)
