"""`hooks run`: what the hook of an agent starts at the end of a turn, and a hook of git after a commit.

The agent waits for this process, so it only reads its input and starts another one, which has no terminal, none of the
agent's streams and a process group of its own: the agent cannot wait for it, and does not end it with its own children.
Whatever happens, the exit code is 0 and nothing is printed, except the answer to Cursor that a prompt may be sent. What
went wrong is in `hooks.log`.

This path imports neither typer nor rich, and before the second process begins no JSON either.
"""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress

from scopes.errors import Invalid, ScopesError
from scopes.live.turn_order import TurnOrder
from scopes.store.projects import find_reflog_end, state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scopes.store.projects import ReflogEnd

    _Begin = tuple[ReflogEnd | None, TurnOrder]

_GIT = "git"  # its hooks leave files, and no input
_CURSOR = "cursor"  # its hooks report each event, and only the last one of a turn starts the second process
_GIT_TURN = "git-turn"  # the hook that adds a trailer waits for what is printed
# Agents give paths, and the last prompt and answer, which a context of a million tokens limits to some megabytes. The
# plugin of OpenCode gives the whole session, in which a tool may have printed 50 kB a thousand times.
MAX_INPUT = 16 << 20
_MAX_EXPORT = {"opencode": 128 << 20}
_HINTS = {"opencode": "opencode export SESSION > FILE, and then: scopes import FILE"}
_PROMPT = b"beforeSubmitPrompt"
_FIRST_SECONDS = 2.0  # to wait for the first byte
_NEXT_SECONDS = 0.5  # to wait for more, if the agent does not close its end
_ALL_SECONDS = 8.0  # agents end a hook after 10
_NICENESS = 5
_MAX_DESCRIPTORS = 1024
_MAX_HEAD = 8192  # bytes of the input in which the directory is looked for


class HookCall:
    """The words after `hooks run`: a target, `--store PATH`, and for `notify` of Codex the input itself."""

    __slots__ = ("argument", "store", "target")

    def __init__(self, words: list[str]) -> None:
        self.target = words[0]
        self.store: str | None = None
        self.argument: str | None = None
        rest = iter(words[1:])
        for word in rest:
            if word == "--store":
                self.store = next(rest, None)
            elif word.startswith("--store="):
                self.store = word.partition("=")[2]
            elif word.startswith("{"):
                self.argument = word


def run_hook(words: list[str], environ: Mapping[str, str], guard: Callable[..., int]) -> int:
    """Start the process that records a turn, and return 0.

    `guard` runs an action, and gives an exception of it to a second function.
    """
    call = HookCall(words)
    if call.target == _GIT_TURN:
        from scopes.cli.hook_recorder import print_turn

        return guard(
            lambda: int(print_turn(call.store, environ)),
            lambda error: log_failure(words, environ, error),
        )
    limit = _MAX_EXPORT.get(call.target, MAX_INPUT)
    data = _read_input(limit) if call.argument is None else call.argument.encode("utf-8", "surrogateescape")
    if call.target == _CURSOR and not _keep_event(words, data, limit, environ, guard):
        return 0
    started, ready = os.pipe()
    if os.fork():
        os.close(ready)
        os.read(started, 1)  # until the other process has left this group, which the agent may kill at once
        return 0
    try:
        os.setsid()
        begin = None if call.target == _GIT else _see_turn(call, data, environ)  # while the agent waits
        os.close(ready)
        _detach(None if begin is None else begin[1].descriptor)
        guard(lambda: _record(call, data, limit, environ, begin), lambda error: log_failure(words, environ, error))
    finally:
        os._exit(0)


def _keep_event(
    words: list[str], data: bytes, limit: int, environ: Mapping[str, str], guard: Callable[..., int]
) -> int:
    """Keep an event of Cursor, while it waits so that their order stays; return 1 if a turn has ended.

    A prompt is only sent if the answer of its hook allows it.
    """
    if _PROMPT in data:
        with suppress(OSError):
            os.write(1, b'{"continue": true}\n')
    if len(data) > limit:
        return 1  # the second process writes into the log that it is too large
    from scopes.live.cursor_journal import append_event

    return guard(
        lambda: int(append_event(data, environ)),
        lambda error: log_failure(words, environ, error),
    )


def log_failure(words: list[str], environ: Mapping[str, str], error: BaseException) -> int:
    """Write into the log why a turn was not recorded; return 0."""
    text = error.message if isinstance(error, ScopesError) else f"{type(error).__name__}: {error}"
    from scopes.live.event_log import HOOK_LOG, EventLog

    log = EventLog(state_directory(environ), file_name=HOOK_LOG, target=words[0])
    log.write("failed", error=text, hint=error.hint if isinstance(error, ScopesError) else None)
    return 0


def _see_turn(call: HookCall, data: bytes, environ: Mapping[str, str]) -> _Begin:
    """Return where the reflog of the project ends, and the place of the turn among those of the directory."""
    locks = os.path.join(state_directory(environ), "hooks")
    return _find_reflog_end(data), TurnOrder(locks, call.target.encode("utf-8", "surrogateescape"), _read_path(data))


def _find_reflog_end(data: bytes) -> ReflogEnd | None:
    """Return where the reflog of the project ends: commits that follow are not those of the turn.

    The directory is that in the input, or the current one.
    """
    path = _read_path(data)
    with suppress(OSError, ValueError):
        return find_reflog_end(os.fsdecode(path) if path[:1] == b"/" and b"\\" not in path else os.getcwd())
    return None


def _read_path(data: bytes) -> bytes:
    """Return the directory in the input, which is not read as JSON yet; empty if there is none."""
    start = data.find(b'"cwd"', 0, _MAX_HEAD)
    value = data[start + 5 : start + 5 + _MAX_HEAD].lstrip(b" \t\r\n:")[:_MAX_HEAD] if start >= 0 else b""
    return value[1:].partition(b'"')[0] if value[:1] == b'"' else b""


def _record(
    call: HookCall,
    data: bytes,
    limit: int,
    environ: Mapping[str, str],
    begin: tuple[ReflogEnd | None, TurnOrder] | None,
) -> int:
    if begin is None:
        from scopes.cli.hook_recorder import record_commits

        return int(record_commits(call.store, environ))
    if len(data) > limit:
        hint = _HINTS.get(call.target, "scopes import")
        raise Invalid(f"the input of the hook is larger than {limit >> 20} MiB", hint=hint)
    from scopes.cli.hook_recorder import record_turn

    return int(record_turn(call.target, call.store, data, environ, *begin))


def _read_input(limit: int) -> bytes:
    """Return standard input up to its end, or what has come until the agent writes no more.

    Of more than `limit` bytes only the beginning is kept. The rest is read too: an agent must not find a broken pipe.
    """
    descriptor = sys.stdin.fileno()
    if os.isatty(descriptor):
        return b""
    pieces: list[bytes] = []
    size, begin = 0, time.monotonic()
    end = begin + _FIRST_SECONDS
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        piece = os.read(descriptor, 1 << 20) if ready else b""
        if not piece:
            break
        if size <= limit:
            pieces.append(piece)
        size += len(piece)
        end = min(begin + _ALL_SECONDS, time.monotonic() + _NEXT_SECONDS)
    return b"".join(pieces)


def _detach(kept: int | None) -> None:
    """Leave the agent's streams, and every descriptor that it may be waiting for, except one of our own."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.closerange(3, kept or _MAX_DESCRIPTORS)
    os.closerange((kept or _MAX_DESCRIPTORS) + 1, _MAX_DESCRIPTORS)
    os.nice(_NICENESS)
