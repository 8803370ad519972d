"""Files that a run wrote and whose commands a program runs because an option, an operand or its input names them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final

from scopes.check.shell_command import Redirection
from scopes.check.shell_files import Written
from scopes.check.shell_state import Input, State, Word, resolve
from scopes.check.shell_wrappers import SHELLS, WRAPPERS, program_of
from scopes.lazy_patterns import compile_lazily

_VIM: Final = compile_lazily(r"-[A-Za-z]*[uSs]")
_SECURE: Final = compile_lazily(r"-[A-Za-z0-9]*F")
_OPTIONS: Final[Mapping[str, re.Pattern[str]]] = {  # options whose value is a file with commands
    "gdb": compile_lazily(r"--?(?:x|comm\w*|ix|init-comm\w*|ex|iex|eval-command)"),
    "lldb": compile_lazily(r"-[sSo]|--source(?:-\w+)*"),
    "sqlite3": compile_lazily(r"--?init"),
    "psql": compile_lazily(r"-f|--file"),
    "cmake": compile_lazily(r"-[PC]"),
    "tmux": compile_lazily(r"-\w*f"),
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "view", "gvim"), _VIM),
    **dict.fromkeys(("scp", "sftp", "ssh"), _SECURE),
}
_READING: Final = frozenset({"gdb", "lldb", "sqlite3", "psql", "mysql", "mariadb", "ed", "ex", "vi", "vim", "tclsh"})
_OPERANDS: Final = frozenset({"prove"})
_QUERIES: Final = frozenset({"sqlite3", "psql", "mysql", "mariadb"})
_RUNS: Final = compile_lazily(
    r"(?im)^\s*\.(?:sh|sy|re|im|on|o|lo)|^\s*(?:system|source)\s|\\[!.]|\\i|\\copy.*program|\bedit\s*\(|load_extension"
)
_COMPILERS: Final = frozenset(
    {"cc", "gcc", "g++", "c++", "clang", "clang++", "tcc", "rustc", "ghc", "gccgo", "gfortran"}
)
_NO_PROGRAM: Final = frozenset({"-c", "-S", "-E", "-fsyntax-only"})
_JUDGED: Final = SHELLS | WRAPPERS.keys() | {"rm", "find", "git", "npm", "xargs", "curl", "wget", "mv", "docker"}


def find_opaque_named(words: tuple[Word, ...], redirections: tuple[Redirection, ...], state: State) -> str | None:
    """Return why a program runs a file which was written before, or is a link to another one; None if not."""
    if _is_link(words[0].text, state):
        return "the program is a link that was made before"
    program = program_of(words)
    for path in _named(program, words, redirections):
        written = state.files.find(resolve(state.directory, path))
        if written is not None and not (program in _QUERIES and _is_query(written)):
            return f"{program} runs a file that was written before"
    return None


def _is_link(name: str, state: State) -> bool:
    """Return True for a link to a program of another name; in a directory of PATH, only to one that rules know."""
    for link, target in state.files.links.items():
        own, other = posixpath.basename(link), posixpath.basename(target or "")
        if own == other:
            continue
        if link == resolve(state.directory, name) if "/" in name else own == name and other in _JUDGED:
            return True
    return False


def _is_query(written: Written) -> bool:
    return written.is_known and not any(_RUNS.search(text) for text in written.texts)


def _named(program: str, words: tuple[Word, ...], redirections: tuple[Redirection, ...]) -> Iterator[str]:
    if program in _READING:
        yield from (each.target for each in redirections if each.kind == "read" and each.target is not None)
    if program in _OPERANDS:
        yield from (word.text for word in words[1:])
    pattern = _OPTIONS.get(program)
    if pattern is None:
        return
    for number, word in enumerate(words[1:], 1):
        name, equals, value = word.text.partition("=")
        following = words[number + 1].text if number + 1 < len(words) else ""
        if pattern.fullmatch(name):
            yield value if equals else re.sub(r"^\s*source\s+", "", following)
        elif (match := pattern.match(word.text)) is not None:
            yield word.text[match.end() :]
        elif program == "sqlite3" and (read := re.match(r"\s*\.re\w*\s+['\"]?([^'\"]+)", word.text)) is not None:
            yield read[1]


def note_compiled(words: tuple[Word, ...], given: Input | None, state: State) -> None:
    """Remember that a compiler made a program of a source which the run wrote, or which it reads from a pipe."""
    if program_of(words) not in _COMPILERS or not _NO_PROGRAM.isdisjoint(word.text for word in words):
        return
    texts = [word.text for word in words[1:]]
    is_own = any(state.files.find(resolve(state.directory, text)) is not None for text in texts if text[:1] != "-")
    if is_own or (given is not None and "-" in texts):
        output = next((texts[n + 1] for n, text in enumerate(texts[:-1]) if text == "-o"), None)
        attached = next((text[2:] for text in texts if text.startswith("-o") and len(text) > 2), None)
        stems = [posixpath.splitext(posixpath.basename(text))[0] for text in texts if text.endswith((".rs", ".hs"))]
        for name in (output or attached,) if output or attached else ("a.out", *stems):
            if (path := resolve(state.directory, name)) is not None:
                state.files.write(path, None)
