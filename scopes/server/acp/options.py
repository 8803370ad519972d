"""What the user asks of a proxy, and where the record is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from scopes.errors import Inaccessible, Invalid

if TYPE_CHECKING:
    from scopes.context.history_block import HistoryBlock
    from scopes.store.repository import Repository

Continue: TypeAlias = Literal["first", "always", "never"]
Inject: TypeAlias = Literal["auto", "always", "never"]
OpenStore: TypeAlias = "Callable[[bool], Repository]"  # True: create it if it does not exist
BuildHistory: TypeAlias = "Callable[[Repository, str], HistoryBlock]"
CONTINUE: Final[tuple[Continue, ...]] = ("first", "always", "never")
INJECT: Final[tuple[Inject, ...]] = ("auto", "always", "never")
MEMORY: Final = ("project", "all", "none")  # as in `context.history_block`, which is loaded later
WAY_SECONDS: Final = 30.0  # for each way to continue
HISTORY_MESSAGES: Final = 50
HISTORY_TOKENS: Final = 8_000
MAX_LINE_BYTES: Final = 256 << 20


class RecordingTarget(NamedTuple):
    """Where the record is, and the agent's names: that of its program, and the one that the user gave.

    command: its `command_key`, for the log
    """

    open_store: OpenStore
    store_path: str
    program: str
    agent: str | None = None
    command: str | None = None

    def open_for_writing(self, *, create: bool = True) -> Repository:
        """Return the store.

        Raises:
            ScopesError, OSError: it cannot be opened now; `Inaccessible` instead of `Invalid`, which is of a message.
        """
        try:
            return self.open_store(create)
        except Invalid as error:
            raise Inaccessible(error.message, error.hint) from error


class RecordOptions(NamedTuple):
    """What is recorded: keys and passwords or not."""

    redact: bool = False


class ContinueOptions(NamedTuple):
    """How sessions are continued.

    which: continue the first new session of the editor, every one, or none.
    conversation: the conversation or branch to continue; None: the newest of the agent and the directory.
    fork: begin with a fork of the agent's session, or if it has no session/fork with a new one, on a branch of its own.
    inject: put history in if the agent has no memory, always, or never.
    """

    which: Continue = "first"
    conversation: str | None = None
    fork: bool = False
    inject: Inject = "auto"


class Connection(NamedTuple):
    """The directory of `acp.log`, the editor's two descriptors, and the longest line that is accepted."""

    log_directory: str
    stdin: int = 0
    stdout: int = 1
    max_line_bytes: int = MAX_LINE_BYTES


def unchanged(value: Any) -> Any:
    """Return a value as it is."""
    return value


def program_name(command: str) -> str:
    """Return the name of an agent that does not give one: that of its program."""
    return os.path.basename(command) or "agent"


def command_key(command: Sequence[str]) -> str:
    """Return a name for the command of an agent that is the same each time and has none of its words."""
    return sha256("\0".join(command).encode("utf-8", "surrogateescape")).hexdigest()[:12]
