"""Asking for a text in the user's own editor, as git does: a file, a command, and what stands above the line."""

from __future__ import annotations

import os
import subprocess
import tempfile

from scopes.cli.invocation import Invocation
from scopes.errors import Inaccessible, Refused
from scopes.sanitize import clean

# The environment is the user's own. A store may have come from somebody else, so its settings name no program to run.
_VARIABLES = ("GIT_EDITOR", "VISUAL", "EDITOR")
_LINE = "# ------------------------ >8 ------------------------"
_BELOW = "# Write above the line. What is below it is for reading; an empty text changes nothing."


def edit_text(call: Invocation, about: str, *, name: str) -> str:
    """Let the user write a text, with `about` below it as comments; nothing written is an empty text.

    Raises:
        Refused: no editor is named, or it failed.
        Inaccessible: the file cannot be written or read.
    """
    command = next((call.environ[variable] for variable in _VARIABLES if call.environ.get(variable)), None)
    if command is None:
        raise Refused("there is no editor to write in", hint="set EDITOR, or give the text: --value TEXT")
    try:
        with tempfile.TemporaryDirectory(prefix="scopes-") as directory:
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(_page(about))
            _run(call, command, path)
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return file.read().split(_LINE)[0].strip()
    except OSError as error:
        raise Inaccessible(f"cannot keep the text to edit: {error.strerror}") from error


def _page(about: str) -> str:
    comments = "".join(f"# {line}".rstrip() + "\n" for line in clean(about).split("\n"))
    return f"\n{_LINE}\n{_BELOW}\n#\n{comments}"


def _run(call: Invocation, command: str, path: str) -> None:
    """Run the editor where the user sees it; a command of several words is one for the shell, as git has it."""
    call.stdout.flush()
    words = ["/bin/sh", "-c", f'{command} "$@"', command, path]
    screen = call.stdout if call.stdout.isatty() else call.stderr
    done = subprocess.run(words, check=False, stdout=screen)
    if done.returncode:
        hint = "the conflict is as it was; check EDITOR, or give the text: --value TEXT"
        raise Refused(f"the editor {command!r} ended with {done.returncode}", hint=hint)
