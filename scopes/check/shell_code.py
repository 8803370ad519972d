"""Find texts that a shell runs as code although they are no scripts: subscripts in strings, prompts, callbacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from scopes.check.shell_state import Word
from scopes.lazy_patterns import compile_lazily

_SUBSCRIPT: Final = compile_lazily(r"\w+\[[^\]]{0,9}(?:\$\(|`)")
_QUOTED_SUBSCRIPT: Final = compile_lazily(r"'\w+\[[^'\]]{0,9}(?:\$\(|`)")
_PROMPT: Final = compile_lazily(r"PS4=\S{0,99}(?:\$\(|`)")
_SPECIAL: Final = compile_lazily(r"(?:BASH_ENV|PROMPT_COMMAND|BASH_ALIASES)(?:\[[^\]]{0,99}\])?\+?=")
_TAKING_NAMES: Final = frozenset(
    {"test", "[", "read", "mapfile", "readarray", "wait", "let", "getopts", "local", "export"}
)
_CALLBACKS: Final = {"mapfile": "C", "readarray": "C", "compgen": "CWF", "complete": "CWF"}
_REFERENCE: Final = compile_lazily(r"(?:declare|typeset|local)\s(?:[^;=]*\s)?-[a-zA-Z]*n")
_LOADED: Final = compile_lazily(
    r"BASH_ENV|BASH_FUNC_.*|PROMPT_COMMAND|LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|PERL5OPT|RUBYOPT"
)
_OPTIONS_OF_NODE: Final = compile_lazily(r"-r\b|--(?:require|import|loader|experimental-loader)\b|\$")
NOT_FOUND: Final = frozenset({"command_not_found_handle", "command_not_found_handler"})


def find_code(words: tuple[Word, ...], text: str) -> str | None:
    """Return why a command may run a text that is not read; None if it does not."""
    name = words[0].value if words else None
    if "@P}" in text:
        return "${...@P} runs the substitutions in a value"
    values = [word.value for word in words[1:] if word.value is not None]
    takes_names = name in _TAKING_NAMES or (name == "printf" and values[:1] == ["-v"])
    if takes_names and any(_SUBSCRIPT.match(value.partition("=")[2] or value) for value in values):
        return "a subscript runs commands"
    if any(re.match(rf"-\w*[{_CALLBACKS[name]}]", value) for value in values) if name in _CALLBACKS else False:
        return f"{name} runs a text as code"
    return None


def find_assigned_code(text: str) -> str | None:
    """Return why an assignment, a declaration or a test may run a text that is not read; None if it does not."""
    if _REFERENCE.match(text):
        return "a variable refers to another one"
    if _QUOTED_SUBSCRIPT.search(text):
        return "arithmetic may run a value as code"
    if _SPECIAL.match(text.removeprefix("export ")) or _PROMPT.search(text):
        return "a variable holds code that shells run"
    return None


def find_loaded_code(environment: Iterable[tuple[str, str | None]]) -> str | None:
    """Return why the variables that a command gets make it run a text or a file that is not read; None if not."""
    for name, value in environment:
        if _LOADED.fullmatch(name) and value != "":
            return f"a program runs what {name} names"
        if name == "NODE_OPTIONS" and (value is None or _OPTIONS_OF_NODE.search(value)):
            return "node runs what NODE_OPTIONS names"
    return None
