"""Where the inputs of Cursor's hooks are kept: a file for each conversation in the state directory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from scopes.errors import Invalid
from scopes.importers.formats.cursor.names import NAME
from scopes.store.projects import state_directory

_CONVERSATION = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


def journal_of(conversation: str, environ: Mapping[str, str]) -> str:
    """Return the path of the file of a conversation.

    Raises:
        Invalid: the id could be a path.
    """
    if not _CONVERSATION.fullmatch(conversation):
        raise Invalid(f"{conversation[:100]!a} is not the id of a conversation of Cursor")
    return os.path.join(state_directory(environ), NAME, f"{conversation}.jsonl")
