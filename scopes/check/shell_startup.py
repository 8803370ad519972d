"""Files that programs run by themselves: those that a shell reads at its start, programs in usual places, git's own."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from scopes.check.shell_files import Files
from scopes.check.shell_scripts import shell_options
from scopes.check.shell_state import State, Word, resolve
from scopes.check.shell_wrappers import SHELLS, program_of
from scopes.lazy_patterns import compile_lazily

_ALWAYS: Final = {"zsh": (".zshenv",), "fish": ("config.fish",), "tcsh": (".tcshrc", ".cshrc"), "csh": (".cshrc",)}
_INTERACTIVE: Final = frozenset({".bashrc", "bash.bashrc", ".zshrc", ".kshrc", ".mkshrc", ".shrc"})
_LOGIN: Final = frozenset(
    {".bash_profile", ".bash_login", ".profile", "profile", ".zprofile", ".zlogin", ".bashrc", ".bash_logout"}
)
_LOGGING_IN: Final = frozenset({"-l", "--login", "--log"})
_START_FILES: Final = ("--rcfile", "--init-file")
# Directories of programs that nearly every PATH has.
_PROGRAMS: Final = compile_lazily(
    r"(?:~|/root|/(?:home|Users)/[^/]+)/(?:(?:\.local/|\.cargo/|go/|\.npm-global/)?bin|\.asdf/shims|\.pyenv/shims)"
    r"|(?:/usr(?:/local)?|/opt/[^/]+)?/s?bin|(?:.*/)?(?:node_modules/\.|\.?venv/)bin"
)


def find_opaque_start(
    words: tuple[Word, ...], state: State, environment: Sequence[tuple[str, str | None]]
) -> str | None:
    """Return why a command may be a shell that runs a start-up file which was written; None if it is not."""
    program, files = program_of(words), state.files
    if program not in SHELLS or not (files.written or files.is_full):
        return None
    options = shell_options(words[1:])
    given = {name for name, _ in options.given}
    names = {*_ALWAYS.get(program, ())}
    if options.has("i"):
        names |= _INTERACTIVE
    if options.has("l") or given & _LOGGING_IN:
        names |= _LOGIN
    paths = [value.text for name, value in options.given if name in _START_FILES and value is not None]
    paths += [value or "" for name, value in environment if name == "ENV"] if options.has("i") else []
    if not names.isdisjoint(files.names) or any(files.find(resolve(state.directory, path)) for path in paths):
        return f"{program} runs a file at its start that was written before"
    return None


def find_in_usual_places(name: str, files: Files) -> str | None:
    """Return the file in a directory of programs that was written under a name; None if there is none."""
    found = files.find_name(name)
    return next((path for path in found if _PROGRAMS.fullmatch(posixpath.dirname(path))), None)
