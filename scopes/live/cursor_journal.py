"""Keep the inputs of the hooks of Cursor in a file for each conversation, which is imported at the end of a turn.

Cursor's own databases change with its versions, and an import reads them; the inputs of its hooks are documented.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Mapping

from scopes.clock import now
from scopes.errors import Invalid
from scopes.store.projects import state_directory

_MARK, _NAME, _STOP = "scopes_hook", "cursor", "stop"  # as `scopes.importers.formats.cursor_hooks` reads them
_CONVERSATION = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")
_KEPT = frozenset({
    "conversation_id", "generation_id", "hook_event_name", "model", "cursor_version", "workspace_roots",
    "transcript_path",
    "prompt", "attachments", "text", "duration", "duration_ms", "file_path", "edits", "command", "output",
    "sandbox", "cwd",
    "tool_name", "tool_input", "result_json", "status", "loop_count", "trigger",
})  # fmt: skip


def journal_of(conversation: str, environ: Mapping[str, str]) -> str:
    """Return the path of the file of a conversation, in the state directory.

    Raises:
        Invalid: the id could be a path.
    """
    if not _CONVERSATION.fullmatch(conversation):
        raise Invalid(f"{conversation[:100]!a} is not the id of a conversation of Cursor")
    return os.path.join(state_directory(environ), _NAME, f"{conversation}.jsonl")


def append_event(data: bytes, environ: Mapping[str, str]) -> bool:
    """Append an event to the file of its conversation; return True if it ends a turn.

    Fields that are not known are left out, as is `user_email`: they may be about the person.

    Raises:
        Invalid: it is not the input of a hook.
        OSError: it cannot be written.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the input of the hook is not JSON: {error}") from error
    conversation = document.get("conversation_id") if isinstance(document, dict) else None
    if not isinstance(conversation, str):
        raise Invalid("the input of the hook names no conversation")
    path = journal_of(conversation, environ)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    kept = {name: value for name, value in document.items() if name in _KEPT}
    line = json.dumps({_MARK: _NAME, "time": now(), "input": kept}).encode("ascii") + b"\n"
    descriptor = _open_locked(path)
    try:
        size = os.fstat(descriptor).st_size
        if os.write(descriptor, line) < len(line):  # a full disk: no half line stays before the next one
            os.ftruncate(descriptor, size)
            raise OSError(28, "No space left on device")
    finally:
        os.close(descriptor)
    return bool(document.get("hook_event_name") == _STOP)


def _open_locked(path: str) -> int:
    """Open the file to append, and lock it; again if it was renamed meanwhile, because its conversation was deleted."""
    while True:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
